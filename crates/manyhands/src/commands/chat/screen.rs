//! What a person sees of a turn: the answer on standard output, everything else beside it.

use std::io::IsTerminal;

use serde_json::Value;

use crate::output;

/// How many calls of tools can be shown again.
const KEPT: usize = 500;
/// A longer line is shown before its end comes.
const MAX_LINE: usize = 4_096;
/// How wide a line is where there is no terminal to say so.
const WIDTH: usize = 160;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: the end is printed whole.
    Silent,
    /// The answer as it comes, and a line for each call.
    OneShot,
    /// The same, with numbers by which calls can be shown in full.
    Talk,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The model's id of it.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolEnd {
    /// The model's id of it.
    pub id: String,
    /// Whether it worked.
    pub ok: bool,
    /// The beginning of what it gave.
    pub shown: String,
    /// How long it took.
    pub took_ms: Option<u64>,
}

/// A call and what came of it.
struct Entry {
    number: usize,
    call: ToolCall,
    end: Option<ToolEnd>,
    /// The beginning of a line that it prints.
    printed: String,
}

/// What a person sees.
pub struct Screen {
    mode: Mode,
    /// Both streams go to one terminal, so that lines of one can cut through the other.
    mixed: bool,
    width: usize,
    /// The part of the current reply that was printed.
    said: String,
    /// Whether a line of the answer is open.
    open_line: bool,
    /// Pieces may have been missed: wait for the whole.
    gap: bool,
    /// A line that will be drawn over.
    passing: bool,
    entries: Vec<Entry>,
    count: usize,
}

impl Screen {
    pub fn new(mode: Mode) -> Self {
        let width = output::terminal_width();
        Self {
            mode,
            mixed: width.is_some() && std::io::stdout().is_terminal(),
            width: width.unwrap_or(WIDTH),
            said: String::new(),
            open_line: false,
            gap: false,
            passing: false,
            entries: Vec::new(),
            count: 0,
        }
    }

    /// A new turn begins.
    pub fn begin(&mut self) {
        self.said.clear();
        self.gap = false;
    }

    /// More of the answer.
    pub fn delta(&mut self, text: &str) {
        if !self.gap {
            self.print(text);
        }
    }

    /// A reply is there as a whole; what of it was not printed is printed.
    pub fn whole(&mut self, text: &str) {
        match rest(&self.said, text) {
            Some(rest) => self.print(rest),
            None => {
                self.end_line();
                self.print(text);
            }
        }
        self.end_line();
        self.said.clear();
        self.gap = false;
    }

    /// The reply begins anew.
    pub fn restart(&mut self, because: &str) {
        self.end_line();
        self.said.clear();
        self.note(&format!("the reply begins anew: {because}"));
    }

    /// The connection broke: pieces are missed until the next whole reply.
    pub fn missed(&mut self) {
        self.gap = true;
    }

    /// Ends the line of the answer, if one is open.
    pub fn end_line(&mut self) {
        self.clear();
        if std::mem::take(&mut self.open_line) {
            output::piece("\n");
        }
    }

    /// A tool is called.
    pub fn tool_started(&mut self, call: ToolCall) {
        if self
            .entries
            .iter()
            .any(|e| e.call.id == call.id && e.end.is_none())
        {
            return; // told again after the connection broke
        }
        self.count += 1;
        let entry = Entry {
            number: self.count,
            call,
            end: None,
            printed: String::new(),
        };
        if self.mode != Mode::Silent && self.mixed {
            self.end_line();
            output::redraw(&self.line(&entry));
            self.passing = true;
        }
        if self.entries.len() == KEPT {
            self.entries.remove(0);
        }
        self.entries.push(entry);
    }

    /// A tool printed something: a person at a terminal sees its lines as they come.
    pub fn tool_output(&mut self, id: &str, text: &str) {
        if self.mode == Mode::Silent || !self.mixed {
            return;
        }
        let open = |e: &&mut Entry| e.call.id == id && e.end.is_none();
        let Some(entry) = self.entries.iter_mut().find(open) else {
            return;
        };
        let lines = lines(&mut entry.printed, text);
        if lines.is_empty() {
            return;
        }
        self.before_aside();
        for line in lines {
            output::aside(&format!(
                "  {}",
                cut(&output::one_line(&line), self.width - 3)
            ));
        }
        if let Some(entry) = self.entries.iter().find(|e| e.call.id == id) {
            output::redraw(&self.line(entry));
            self.passing = true;
        }
    }

    /// A tool has given something.
    pub fn tool_done(&mut self, tool: &str, end: ToolEnd) {
        if self.arguments(&end.id).is_none() {
            self.tool_started(ToolCall {
                id: end.id.clone(),
                tool: tool.to_owned(),
                arguments: Value::Null,
            });
        }
        let Some(at) = self
            .entries
            .iter()
            .position(|e| e.call.id == end.id && e.end.is_none())
        else {
            return;
        };
        self.entries[at].end = Some(end);
        let line = self.line(&self.entries[at]);
        self.note(&line);
    }

    /// The arguments of a call that has not ended.
    pub fn arguments(&self, id: &str) -> Option<&Value> {
        let open = self
            .entries
            .iter()
            .find(|e| e.call.id == id && e.end.is_none());
        open.map(|entry| &entry.call.arguments)
    }

    /// A line beside the answer.
    pub fn note(&mut self, text: &str) {
        if self.mode == Mode::Silent {
            return;
        }
        self.before_aside();
        output::aside(text);
    }

    /// A line beside the answer that has to be seen.
    pub fn remark(&mut self, text: &str) {
        self.before_aside();
        output::remark(text);
    }

    /// Asks something, on a line left open.
    pub fn ask(&mut self, text: &str) {
        self.before_aside();
        output::ask(text);
    }

    /// A call in full.
    pub fn show(&self, number: usize) -> Option<String> {
        let entry = self.entries.iter().find(|entry| entry.number == number)?;
        let arguments = serde_json::to_string_pretty(&entry.call.arguments).unwrap_or_default();
        let given = match &entry.end {
            None => "it has not ended".to_owned(),
            Some(end) => format!("{}\n{}", ended(end), end.shown),
        };
        Some(format!("{} {arguments}\n{given}", entry.call.tool))
    }

    fn before_aside(&mut self) {
        self.clear();
        if self.mixed {
            self.end_line();
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.passing) {
            output::redraw("");
        }
    }

    fn print(&mut self, text: &str) {
        if text.is_empty() || self.mode == Mode::Silent {
            return;
        }
        self.clear();
        output::piece(text);
        self.said.push_str(text);
        self.open_line = !text.ends_with('\n');
    }

    /// A call on one line.
    fn line(&self, entry: &Entry) -> String {
        let number = match self.mode {
            Mode::Talk => format!("{} ", entry.number),
            _ => String::new(),
        };
        let start = format!("{number}· {} ", entry.call.tool);
        let (end, why) = match &entry.end {
            Some(end) if end.ok => (format!(" … {}", ended(end)), String::new()),
            Some(end) => (format!(" … {}", ended(end)), format!(": {}", end.shown)),
            None => (" …".to_owned(), String::new()),
        };
        let taken = start.chars().count() + end.chars().count() + 1;
        let room = self.width.saturating_sub(taken).max(16);
        // A reason gets at least half of what is left.
        let most = if why.is_empty() { room } else { room / 2 };
        let about = cut(&gist(&entry.call.arguments), most);
        let room = room.saturating_sub(about.chars().count());
        format!("{start}{about}{end}{}", cut(&output::one_line(&why), room))
            .trim_end()
            .to_owned()
    }
}

/// The whole lines that there are with `more`; what is left over waits for its end. A carriage
/// return begins a line anew, as on a terminal.
fn lines(open: &mut String, more: &str) -> Vec<String> {
    open.push_str(more);
    let mut whole = Vec::new();
    while let Some(at) = open.find('\n') {
        let rest = open.split_off(at + 1);
        let line = std::mem::replace(open, rest);
        let line = line.trim_end_matches(['\r', '\n']);
        whole.push(line.rsplit('\r').next().unwrap_or_default().to_owned());
    }
    if open.len() > MAX_LINE {
        whole.push(std::mem::take(open));
    }
    whole
}

fn ended(end: &ToolEnd) -> String {
    let word = if end.ok { "ok" } else { "failed" };
    match end.took_ms {
        None => word.to_owned(),
        Some(ms @ 0..10_000) => format!("{word} {ms} ms"),
        Some(ms) => format!("{word} {} s", ms / 1_000),
    }
}

/// What of `whole` was not `said`; `None` when something else was.
fn rest<'a>(said: &str, whole: &'a str) -> Option<&'a str> {
    whole.strip_prefix(said)
}

/// What a call is about: its one text, or its arguments.
pub fn gist(arguments: &Value) -> String {
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

fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let Some(most) = room.checked_sub(1) else {
        return String::new();
    };
    let kept: String = text.chars().take(most).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn screen(mode: Mode) -> Screen {
        Screen {
            width: 60,
            mixed: false,
            ..Screen::new(mode)
        }
    }

    fn entry(arguments: Value, ok: bool, shown: &str) -> Entry {
        Entry {
            number: 3,
            call: ToolCall {
                id: "c".to_owned(),
                tool: "laptop__Bash".to_owned(),
                arguments,
            },
            end: Some(ToolEnd {
                id: "c".to_owned(),
                ok,
                shown: shown.to_owned(),
                took_ms: Some(12),
            }),
            printed: String::new(),
        }
    }

    #[test]
    fn a_call_is_one_line() {
        let check = |mode, arguments, ok, shown, expect| {
            assert_eq!(screen(mode).line(&entry(arguments, ok, shown)), expect);
        };
        let uname = || json!({ "command": "uname -a" });
        check(
            Mode::OneShot,
            uname(),
            true,
            "Linux",
            "· laptop__Bash uname -a … ok 12 ms",
        );
        check(
            Mode::Talk,
            uname(),
            true,
            "Linux",
            "3 · laptop__Bash uname -a … ok 12 ms",
        );
        check(
            Mode::OneShot,
            uname(),
            false,
            "no such\nfile",
            "· laptop__Bash uname -a … failed 12 ms: no such\\nfile",
        );
        check(
            Mode::OneShot,
            json!({ "a": 1, "b": true }),
            true,
            "",
            "· laptop__Bash {\"a\":1,\"b\":true} … ok 12 ms",
        );
        check(
            Mode::OneShot,
            json!({}),
            true,
            "",
            "· laptop__Bash  … ok 12 ms",
        );
    }

    #[test]
    fn a_line_is_never_wider_than_the_terminal_and_never_steers_it() {
        let long = json!({ "command": format!("\u{1b}]52;c;x\u{7}{}", "y".repeat(500)) });
        let line = screen(Mode::Talk).line(&entry(long, false, "z\u{1b}[2J\n"));
        assert!(line.chars().count() < 60, "{line}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }

    #[test]
    fn what_a_tool_prints_is_shown_by_whole_lines() {
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
    fn what_was_said_is_not_said_again() {
        assert_eq!(rest("", "abc"), Some("abc"));
        assert_eq!(rest("ab", "abc"), Some("c"));
        assert_eq!(rest("abc", "abc"), Some(""));
        assert_eq!(rest("xy", "abc"), None);
    }

    #[test]
    fn a_call_can_be_shown_in_full_by_its_number() {
        let mut screen = screen(Mode::Silent);
        let Entry { call, end, .. } = entry(json!({ "command": "ls" }), true, "a\nb");
        screen.tool_started(call);
        screen.tool_done("laptop__Bash", end.expect("its end"));
        let shown = screen.show(1).expect("the call");
        assert_eq!(
            shown,
            "laptop__Bash {\n  \"command\": \"ls\"\n}\nok 12 ms\na\nb"
        );
        assert_eq!(screen.show(2), None);
    }
}
