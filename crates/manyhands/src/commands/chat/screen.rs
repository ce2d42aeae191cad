//! Renders a turn. On a terminal, the reply is rendered Markdown with a spinner below it. Elsewhere the reply goes to
//! stdout as it is, and everything else to stderr.

use std::io::IsTerminal;

use manyhands_terminal::style::Style;
use manyhands_terminal::{diff, output, wrap};
use serde_json::Value;

use super::calls::{self, Entry, RowLook, ToolCall, ToolEnd, ended, lines};
use super::view::View;

/// Maximum number of tool calls that `/show` can show again.
const MAX_CALLS: usize = 500;
/// Line width without a terminal.
const WIDTH: usize = 160;
/// Rows of a diff that are shown; `/show` shows all.
const MAX_DIFF: usize = 40;

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
    /// The view, on a terminal.
    view: Option<View>,
    /// The question whose answer is awaited: its last line is repeated below what is printed meanwhile.
    asking: Option<String>,
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
            view: match mode {
                Mode::Silent => None,
                // With stderr redirected, notes go there and must not be mixed into the view.
                _ => width.and(View::on_terminal()),
            },
            asking: None,
            entries: Vec::new(),
            count: 0,
        }
    }

    /// Whether there is a view that has to be redrawn regularly.
    pub fn is_live(&self) -> bool {
        self.view.is_some()
    }

    /// Columns of a row, and whether styles are shown.
    pub fn size(&self) -> (usize, bool) {
        match &self.view {
            Some(view) => (view.width(), view.styled()),
            None => (self.width, false),
        }
    }

    /// Starts a new turn; `about` is shown beside the spinner.
    pub fn begin(&mut self, about: &str) {
        self.printed.clear();
        self.gap = false;
        if let Some(view) = &mut self.view {
            view.begin(about);
            self.width = view.width();
        }
    }

    /// Ends the turn.
    pub fn end(&mut self) {
        self.asking = None;
        self.end_line();
        if let Some(view) = &mut self.view {
            view.end();
        }
    }

    /// Redraws what moves.
    pub fn tick(&mut self) {
        if self.asking.is_none()
            && let Some(view) = &mut self.view
        {
            view.tick();
        }
    }

    /// The model is reasoning.
    pub fn thinking(&mut self) {
        if let Some(view) = &mut self.view {
            view.set_thinking(true);
        }
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
        if let Some(view) = &mut self.view {
            view.finish();
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
        if !std::mem::take(&mut self.open_line) {
            return;
        }
        match &mut self.view {
            Some(view) => view.finish(),
            None => output::print_chunk("\n"),
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
        // A long conversation must not keep the results of all its calls.
        if self.entries.len() == MAX_CALLS {
            self.entries.remove(0);
        }
        self.entries.push(entry);
        self.end_line();
        self.show_running();
    }

    /// Shows the calls that are running, on a terminal only: a line that is redrawn would be two lines in a file.
    fn show_running(&mut self) {
        if self.view.is_none() {
            return;
        }
        let running = self.entries.iter().filter(|entry| entry.end.is_none());
        let rows = running.map(|entry| self.line(entry)).collect();
        if let Some(view) = &mut self.view {
            view.set_running(rows);
        }
    }

    /// Shows complete lines of a tool's output on a terminal.
    pub fn tool_output(&mut self, id: &str, text: &str) {
        let Some(view) = &self.view else { return };
        let (width, styled) = (self.width, view.styled());
        let open = |e: &&mut Entry| e.call.id == id && e.end.is_none();
        let Some(entry) = self.entries.iter_mut().find(open) else {
            return;
        };
        let lines = lines(&mut entry.printed, text);
        let rows = lines.iter().map(|line| {
            let line = wrap::cut(&output::one_line(line), width.saturating_sub(2));
            format!("  {}", Style::DIM.paint(&line, styled))
        });
        let rows: Vec<String> = rows.collect();
        if !rows.is_empty() {
            self.aside(&rows);
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
        let line = self.line(&self.entries[at]);
        if self.view.is_none() {
            return self.note(&line);
        }
        // The line of the running call disappears together with this.
        let mut rows = vec![line];
        rows.extend(self.diff_of(&self.entries[at]));
        self.show_running();
        self.aside(&rows);
    }

    /// The changes a call made, indented below its line.
    fn diff_of(&self, entry: &Entry) -> Vec<String> {
        let (Some(view), Some(end)) = (&self.view, &entry.end) else {
            return Vec::new();
        };
        let changes = match &end.diff {
            Some(diff) => Some(diff.clone()),
            // Older gateways send none; the arguments of an edit say the same.
            None if end.ok => super::changes::of_call(&entry.call.tool, &entry.call.arguments),
            None => None,
        };
        let changes = changes.unwrap_or_default();
        let rows = diff::rows(
            &changes,
            self.width.saturating_sub(4),
            MAX_DIFF,
            view.styled(),
        );
        rows.into_iter().map(|row| format!("    {row}")).collect()
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
        let Some(view) = &self.view else {
            self.before_aside();
            return output::print_dimmed(text);
        };
        let spans = [wrap::StyledText::new(output::one_line(text), Style::DIM)];
        let rows = wrap::rows(&spans, self.width, view.styled());
        self.aside(&rows);
    }

    /// Prints a note that must be noticed.
    pub fn remark(&mut self, text: &str) {
        self.before_aside();
        if let Some(view) = &mut self.view {
            view.pause();
        }
        output::print_note(text);
        if self.asking.is_none()
            && let Some(view) = &mut self.view
        {
            view.resume();
        }
    }

    /// Prints a question and leaves its last line open. Nothing is redrawn until `answered`.
    pub fn ask(&mut self, text: &str) {
        self.before_aside();
        if let Some(view) = &mut self.view {
            view.pause();
        }
        output::print_question(text);
        self.asking = Some(text.lines().last().unwrap_or_default().to_owned());
    }

    /// The question is answered, or not asked any more.
    pub fn answered(&mut self) {
        if self.asking.take().is_some()
            && let Some(view) = &mut self.view
        {
            view.resume();
        }
    }

    /// Prints rows beside the reply.
    fn aside(&mut self, rows: &[String]) {
        self.end_line();
        let Some(view) = &mut self.view else { return };
        match &self.asking {
            None => view.aside(rows),
            Some(question) => {
                output::print_question("\n");
                view.aside(rows);
                output::print_question(question);
            }
        }
    }

    /// Formats a tool call in full.
    pub fn show(&self, number: usize) -> Option<String> {
        let entry = self.entries.iter().find(|entry| entry.number == number)?;
        let arguments = serde_json::to_string_pretty(&entry.call.arguments).unwrap_or_default();
        let given = match &entry.end {
            None => "still running".to_owned(),
            Some(end) => format!("{}\n{}", ended(end), end.shown),
        };
        let diff = entry.end.as_ref().and_then(|end| end.diff.as_deref());
        let diff = diff.map(|diff| format!("\n{diff}")).unwrap_or_default();
        Some(format!("{} {arguments}\n{given}{diff}", entry.call.tool))
    }

    fn before_aside(&mut self) {
        if self.mixed {
            self.end_line();
        }
    }

    fn print(&mut self, text: &str) {
        if text.is_empty() || self.mode == Mode::Silent {
            return;
        }
        match &mut self.view {
            Some(view) => view.push(text),
            None => output::print_chunk(text),
        }
        self.printed.push_str(text);
        self.open_line = !text.ends_with('\n');
    }

    /// Formats a tool call on one line.
    fn line(&self, entry: &Entry) -> String {
        let look = RowLook {
            numbered: self.mode == Mode::Interactive,
            width: self.width,
            on_view: self.view.is_some(),
            styled: self.view.as_ref().is_some_and(View::styled),
        };
        calls::row(entry, look)
    }
}

/// The rest of `whole` after `printed`; `None` if it does not start with it.
fn rest<'a>(printed: &str, whole: &'a str) -> Option<&'a str> {
    whole.strip_prefix(printed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn screen(mode: Mode) -> Screen {
        Screen {
            width: 60,
            mixed: false,
            view: None,
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
                outcome: None,
                exit_code: None,
                diff: None,
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
