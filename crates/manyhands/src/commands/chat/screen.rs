//! Renders a turn: the reply on stdout, everything else on stderr.

use std::io::IsTerminal;

use serde_json::Value;

use manyhands_terminal::output;

/// Maximum number of tool calls that `/show` can show again.
const MAX_CALLS: usize = 500;
/// Longer lines of tool output are shown before their end arrives.
const MAX_LINE: usize = 4_096;
/// Line width without a terminal.
const WIDTH: usize = 160;

/// How much is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing; the outcome is printed as JSON.
    Silent,
    /// The reply as it streams, and a line per tool call.
    OneShot,
    /// The same, with numbered tool calls for `/show`.
    Interactive,
}

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
}

/// A call and its result.
struct Entry {
    number: usize,
    call: ToolCall,
    end: Option<ToolEnd>,
    /// An incomplete line of its output.
    printed: String,
}

/// The terminal view of a turn.
pub struct Screen {
    mode: Mode,
    /// Both streams go to one terminal, so their lines can interleave.
    mixed: bool,
    width: usize,
    /// The part of the current reply that was printed.
    printed: String,
    /// Whether the last printed line of the reply is unfinished.
    open_line: bool,
    /// Chunks may have been missed: wait for the complete reply.
    gap: bool,
    /// A line that will be redrawn.
    transient: bool,
    entries: Vec<Entry>,
    count: usize,
}

impl Screen {
    pub fn new(mode: Mode) -> Self {
        let width = output::terminal_width();
        Self {
            mode,
            // With one of them redirected, neither can disturb the other.
            mixed: width.is_some() && std::io::stdout().is_terminal(),
            width: width.unwrap_or(WIDTH),
            printed: String::new(),
            open_line: false,
            gap: false,
            transient: false,
            entries: Vec::new(),
            count: 0,
        }
    }

    /// Starts a new turn.
    pub fn begin(&mut self) {
        self.printed.clear();
        self.gap = false;
    }

    /// Prints a chunk of the reply.
    pub fn delta(&mut self, text: &str) {
        // With chunks missing, the complete reply is printed at its end instead.
        if !self.gap {
            self.print(text);
        }
    }

    /// Prints what is missing of a complete reply.
    pub fn whole(&mut self, text: &str) {
        match rest(&self.printed, text) {
            Some(rest) => self.print(rest),
            // The final text differs from the streamed one, such as after a restart: print it in full.
            None => {
                self.end_line();
                self.print(text);
            }
        }
        self.end_line();
        self.printed.clear();
        self.gap = false;
    }

    /// The reply starts over.
    pub fn restart(&mut self, because: &str) {
        self.end_line();
        self.printed.clear();
        self.note(&format!("reply restarted: {because}"));
    }

    /// The connection was lost: chunks are missed until the next complete reply.
    pub fn missed(&mut self) {
        self.gap = true;
    }

    /// Ends the unfinished line of the reply, if any.
    pub fn end_line(&mut self) {
        self.clear();
        if std::mem::take(&mut self.open_line) {
            output::print_chunk("\n");
        }
    }

    /// Shows a started tool call.
    pub fn tool_started(&mut self, call: ToolCall) {
        if self
            .entries
            .iter()
            .any(|e| e.call.id == call.id && e.end.is_none())
        {
            return; // repeated after a reconnect
        }
        self.count += 1;
        let entry = Entry {
            number: self.count,
            call,
            end: None,
            printed: String::new(),
        };
        // Only on a terminal: a line that is redrawn would be two lines in a file.
        if self.mode != Mode::Silent && self.mixed {
            self.end_line();
            output::redraw(&self.line(&entry));
            self.transient = true;
        }
        // A long conversation must not keep the results of all its calls.
        if self.entries.len() == MAX_CALLS {
            self.entries.remove(0);
        }
        self.entries.push(entry);
    }

    /// Shows complete lines of a tool's output on a terminal.
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
            output::print_dimmed(&format!(
                "  {}",
                // A wrapped line could not be redrawn: the cursor only returns to the start of the
                // last row.
                cut(&output::one_line(&line), self.width - 3)
            ));
        }
        if let Some(entry) = self.entries.iter().find(|e| e.call.id == id) {
            output::redraw(&self.line(entry));
            self.transient = true;
        }
    }

    /// Shows the result of a tool call.
    pub fn tool_done(&mut self, tool: &str, end: ToolEnd) {
        // Its start was missed while the connection was down.
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
        // Replaces the transient line that announced the call.
        let line = self.line(&self.entries[at]);
        self.note(&line);
    }

    /// Arguments of a call that is still running.
    pub fn arguments(&self, id: &str) -> Option<&Value> {
        let open = self
            .entries
            .iter()
            .find(|e| e.call.id == id && e.end.is_none());
        open.map(|entry| &entry.call.arguments)
    }

    /// Prints a dimmed note.
    pub fn note(&mut self, text: &str) {
        if self.mode == Mode::Silent {
            return;
        }
        self.before_aside();
        output::print_dimmed(text);
    }

    /// Prints a note that must be noticed.
    pub fn remark(&mut self, text: &str) {
        self.before_aside();
        output::print_note(text);
    }

    /// Prints a prompt and leaves the line open.
    pub fn ask(&mut self, text: &str) {
        self.before_aside();
        output::print_prompt(text);
    }

    /// Formats a tool call in full.
    pub fn show(&self, number: usize) -> Option<String> {
        let entry = self.entries.iter().find(|entry| entry.number == number)?;
        let arguments = serde_json::to_string_pretty(&entry.call.arguments).unwrap_or_default();
        let given = match &entry.end {
            None => "still running".to_owned(),
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
        if std::mem::take(&mut self.transient) {
            output::redraw("");
        }
    }

    fn print(&mut self, text: &str) {
        if text.is_empty() || self.mode == Mode::Silent {
            return;
        }
        self.clear();
        output::print_chunk(text);
        self.printed.push_str(text);
        self.open_line = !text.ends_with('\n');
    }

    /// Formats a tool call on one line.
    fn line(&self, entry: &Entry) -> String {
        let number = match self.mode {
            Mode::Interactive => format!("{} ", entry.number),
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
        // An error message gets at least half of the remaining width.
        let most = if why.is_empty() { room } else { room / 2 };
        let about = cut(&gist(&entry.call.arguments), most);
        let room = room.saturating_sub(about.chars().count());
        format!("{start}{about}{end}{}", cut(&output::one_line(&why), room))
            .trim_end()
            .to_owned()
    }
}

/// Returns the complete lines in `open` plus `more`; the rest stays in `open`. A carriage return restarts a line,
/// as on a terminal.
fn lines(open: &mut String, more: &str) -> Vec<String> {
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

fn ended(end: &ToolEnd) -> String {
    let word = if end.ok { "ok" } else { "failed" };
    match end.took_ms {
        None => word.to_owned(),
        Some(ms @ 0..10_000) => format!("{word} {ms} ms"),
        Some(ms) => format!("{word} {} s", ms / 1_000),
    }
}

/// The rest of `whole` after `printed`; `None` if it does not start with it.
fn rest<'a>(printed: &str, whole: &'a str) -> Option<&'a str> {
    whole.strip_prefix(printed)
}

/// Short form of a call's arguments: its only text, or all of them.
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
            Mode::Interactive,
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
        let line = screen(Mode::Interactive).line(&entry(long, false, "z\u{1b}[2J\n"));
        assert!(line.chars().count() < 60, "{line}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }

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
    fn shown_text_is_not_printed_again() {
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
