//! Tool calls as lines of the chat.

use manyhands_terminal::style::Style;
use manyhands_terminal::{output, wrap};
use serde_json::Value;

/// Longer lines of tool output are shown before their end arrives.
const MAX_LINE: usize = 4_096;
/// Arguments that say what a call is about, the most telling first.
const SUBJECTS: [&str; 10] = [
    "command",
    "cmd",
    "path",
    "file_path",
    "query",
    "url",
    "pattern",
    "name",
    "task",
    "message",
];

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The model's call id.
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// Arguments.
    pub arguments: Value,
}

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolEnd {
    /// The model's call id.
    pub id: String,
    /// Whether it succeeded.
    pub ok: bool,
    /// Beginning of the result.
    pub shown: String,
    /// Duration.
    pub took_ms: Option<u64>,
    /// How it ended: `ok`, `failed`, `denied` or `stopped`; absent from older gateways.
    pub outcome: Option<String>,
    /// Exit code of a program.
    pub exit_code: Option<i64>,
    /// What it changed, as a unified diff.
    pub diff: Option<String>,
}

impl ToolEnd {
    /// Whether it did what it was called for.
    fn succeeded(&self) -> bool {
        let is_ok = self
            .outcome
            .as_deref()
            .is_none_or(|outcome| outcome == "ok");
        self.ok && is_ok && self.exit_code.unwrap_or(0) == 0
    }

    /// How it ended, in a word.
    fn word(&self) -> &str {
        match &self.outcome {
            Some(outcome) => outcome,
            None if self.succeeded() => "ok",
            None => "failed",
        }
    }
}

/// A call and its result.
pub struct Entry {
    pub number: usize,
    pub call: ToolCall,
    pub end: Option<ToolEnd>,
    /// An incomplete line of its output.
    pub printed: String,
}

/// How the line of a call looks.
#[derive(Debug, Clone, Copy)]
pub struct RowLook {
    /// With its number, for `/show`.
    pub numbered: bool,
    /// Number of columns.
    pub width: usize,
    /// On the view of a terminal, with icons.
    pub on_view: bool,
    /// With colours.
    pub styled: bool,
}

/// Formats a call on one line.
pub fn row(entry: &Entry, look: RowLook) -> String {
    let number = match look.numbered {
        true => format!("{} ", entry.number),
        false => String::new(),
    };
    let (icon, colour) = match &entry.end {
        Some(end) if look.on_view && end.succeeded() => ("✓", Style::GREEN),
        Some(_) if look.on_view => ("✗", Style::RED),
        _ => ("·", Style::PLAIN),
    };
    let tool = output::one_line(&entry.call.tool);
    let (end, why) = match &entry.end {
        Some(end) if end.ok => (format!(" … {}", ended(end)), String::new()),
        Some(end) => (format!(" … {}", ended(end)), format!(": {}", end.shown)),
        None => (" …".to_owned(), String::new()),
    };
    let taken = wrap::width(&format!("{number}{icon} {tool} {end}")) + 1;
    let room = look.width.saturating_sub(taken).max(16);
    // An error message gets at least half of the remaining width.
    let most = if why.is_empty() { room } else { room / 2 };
    let about = match subject(&entry.call.arguments) {
        Some(subject) if look.on_view => output::one_line(subject.trim()),
        _ => gist(&entry.call.arguments),
    };
    let about = wrap::cut(&about, most);
    let room = room.saturating_sub(wrap::width(&about));
    let why = wrap::cut(&output::one_line(&why), room);
    let paint = |style: Style, text: &str| style.paint(text, look.styled);
    format!(
        "{}{} {} {about}{}{}",
        paint(Style::DIM, &number),
        paint(colour, icon),
        paint(Style::STRONG, &tool),
        paint(Style::DIM, &end),
        paint(Style::RED, &why),
    )
    .trim_end()
    .to_owned()
}

/// How a call ended and how long it took.
pub fn ended(end: &ToolEnd) -> String {
    let mut word = end.word().to_owned();
    if let Some(code) = end.exit_code.filter(|code| *code != 0) {
        word.push_str(&format!(" (exit code {code})"));
    }
    match end.took_ms {
        None => word,
        Some(ms @ 0..10_000) => format!("{word} {ms} ms"),
        Some(ms) => format!("{word} {} s", ms / 1_000),
    }
}

/// Returns the complete lines in `open` plus `more`; the rest stays in `open`. A carriage return restarts a line,
/// as on a terminal.
pub fn lines(open: &mut String, more: &str) -> Vec<String> {
    open.push_str(more);
    let mut whole = Vec::new();
    while let Some(at) = open.find('\n') {
        let rest = open.split_off(at + 1);
        let line = std::mem::replace(open, rest);
        let line = line.trim_end_matches(['\r', '\n']);
        whole.push(line.rsplit('\r').next().unwrap_or_default().to_owned());
    }
    // Progress bars may never send a line break.
    if open.len() > MAX_LINE {
        whole.push(std::mem::take(open));
    }
    whole
}

/// What a call is about, where an argument says so.
fn subject(arguments: &Value) -> Option<&str> {
    let mut values = SUBJECTS.iter().map(|name| arguments[*name].as_str());
    values.find_map(|value| value)
}

/// Short form of a call's arguments: its only text, or all of them.
fn gist(arguments: &Value) -> String {
    let text = match arguments {
        Value::Null => String::new(),
        Value::Object(named) if named.is_empty() => String::new(),
        Value::Object(named) => {
            let mut texts = named.values().filter_map(Value::as_str);
            match (texts.next(), texts.next()) {
                (Some(one), None) => one.to_owned(),
                _ => arguments.to_string(),
            }
        }
        other => other.to_string(),
    };
    output::one_line(text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tool_output_is_shown_in_whole_lines() {
        let mut open = String::new();
        assert!(lines(&mut open, "a").is_empty());
        assert_eq!(
            lines(&mut open, "b\n\nc\r\n10%\r20%\nd"),
            ["ab", "", "c", "20%"]
        );
        assert_eq!(lines(&mut open, "\n"), ["d"]);
        assert_eq!(lines(&mut open, &"x".repeat(5_000)).len(), 1);
        assert_eq!(open, "");
    }

    #[test]
    fn on_a_view_a_call_has_an_icon_and_names_its_subject() {
        let entry = |ok, outcome: Option<&str>, exit_code| Entry {
            number: 2,
            call: ToolCall {
                id: "c".to_owned(),
                tool: "gsv__EditFile".to_owned(),
                arguments: json!({ "oldString": "x", "newString": "y", "path": "a.md" }),
            },
            end: Some(ToolEnd {
                id: "c".to_owned(),
                ok,
                shown: "no".to_owned(),
                took_ms: Some(5),
                outcome: outcome.map(str::to_owned),
                exit_code,
                diff: None,
            }),
            printed: String::new(),
        };
        let look = RowLook {
            numbered: true,
            width: 80,
            on_view: true,
            styled: false,
        };
        for (entry, expect) in [
            (entry(true, None, None), "2 ✓ gsv__EditFile a.md … ok 5 ms"),
            (
                entry(true, Some("ok"), Some(0)),
                "2 ✓ gsv__EditFile a.md … ok 5 ms",
            ),
            (
                entry(true, None, Some(2)),
                "2 ✗ gsv__EditFile a.md … failed (exit code 2) 5 ms",
            ),
            (
                entry(false, Some("denied"), None),
                "2 ✗ gsv__EditFile a.md … denied 5 ms: no",
            ),
        ] {
            assert_eq!(row(&entry, look), expect);
        }
    }
}
