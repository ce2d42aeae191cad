//! The reply on a terminal: rendered Markdown, tool calls, and a spinner below them.

use std::time::Duration;

use tokio::time::Instant;

use manyhands_terminal::live::LiveRows;
use manyhands_terminal::markdown::Markdown;
use manyhands_terminal::style::{self, Style};
use manyhands_terminal::wrap;

/// Time between two pictures of the spinner.
pub const FRAME: Duration = Duration::from_millis(100);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Longer rows are hard to read.
const MAX_WIDTH: usize = 120;

/// What was printed last, for the space between text and tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Above {
    Nothing,
    Text,
    Aside,
}

/// The view of a turn.
pub struct View {
    markdown: Markdown,
    live: LiveRows,
    width: usize,
    styled: bool,
    above: Above,
    /// The last row that is final is empty.
    after_blank: bool,
    /// Running tool calls.
    running: Vec<String>,
    /// While the turn runs: since when, and what the spinner says.
    spinner: Option<(Instant, String)>,
    frame: usize,
    /// The model is reasoning.
    thinking: bool,
    /// Nothing is drawn: a question waits for its answer.
    paused: bool,
}

impl View {
    /// A view on the terminal, unless lines cannot be redrawn on it.
    pub fn on_terminal() -> Option<Self> {
        let columns = wrap::terminal_columns().filter(|_| !style::is_dumb())?;
        // The last column stays empty: some terminals wrap there.
        let width = columns.saturating_sub(1).min(MAX_WIDTH);
        let styled = style::on_stdout();
        Some(Self {
            markdown: Markdown::new(width, styled),
            live: LiveRows::default(),
            width,
            styled,
            above: Above::Nothing,
            after_blank: true,
            running: Vec::new(),
            spinner: None,
            frame: 0,
            thinking: false,
            paused: false,
        })
    }

    /// Whether styles are shown.
    pub fn styled(&self) -> bool {
        self.styled
    }

    /// Number of columns for a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Starts the spinner, with this text.
    pub fn begin(&mut self, text: &str) {
        // The terminal may have another size than in the last turn.
        if let Some(fresh) = Self::on_terminal() {
            *self = fresh;
        }
        self.spinner = Some((Instant::now(), text.to_owned()));
        self.draw(&[]);
    }

    /// Stops the spinner.
    pub fn end(&mut self) {
        self.spinner = None;
        self.running.clear();
        self.paused = false;
        self.finish();
        self.live.clear();
    }

    /// Says beside the spinner whether the model is reasoning.
    pub fn set_thinking(&mut self, thinking: bool) {
        self.thinking = thinking;
    }

    /// Adds text of the reply.
    pub fn push(&mut self, text: &str) {
        self.thinking = false;
        let mut rows = self.markdown.push(text);
        self.before_text(&mut rows);
        self.draw(&rows);
    }

    /// Ends the text of a message.
    pub fn finish(&mut self) {
        let mut rows = self.markdown.finish();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        self.before_text(&mut rows);
        self.draw(&rows);
    }

    /// Prints rows beside the reply.
    pub fn aside(&mut self, rows: &[String]) {
        let mut all = Vec::new();
        if self.above == Above::Text {
            all.push(String::new());
        }
        self.above = Above::Aside;
        all.extend_from_slice(rows);
        self.draw(&all);
    }

    /// Replaces the rows of running tool calls.
    pub fn set_running(&mut self, rows: Vec<String>) {
        self.thinking = false;
        self.running = rows;
        self.draw(&[]);
    }

    /// Draws the next picture of the spinner.
    pub fn tick(&mut self) {
        self.frame += 1;
        self.draw(&[]);
    }

    /// Removes what is live, so that something else can be printed; `resume` draws it again.
    pub fn pause(&mut self) {
        self.live.clear();
        self.paused = true;
    }

    /// Draws again.
    pub fn resume(&mut self) {
        self.paused = false;
        self.draw(&[]);
    }

    fn before_text(&mut self, rows: &mut Vec<String>) {
        if rows.is_empty() {
            return;
        }
        if self.above == Above::Aside {
            rows.insert(0, String::new());
        }
        self.above = Above::Text;
    }

    fn draw(&mut self, rows: &[String]) {
        if let Some(last) = rows.last() {
            self.after_blank = last.is_empty();
        }
        let live = match self.paused {
            true => Vec::new(),
            false => self.live_rows(),
        };
        self.live.show(rows, live);
    }

    fn live_rows(&self) -> Vec<String> {
        let mut rows = self.markdown.open();
        if self.above == Above::Aside && !rows.is_empty() {
            rows.insert(0, String::new());
        }
        rows.extend(self.running.iter().cloned());
        if let Some((since, text)) = &self.spinner {
            let below_text = match rows.is_empty() {
                true => self.above == Above::Text && !self.after_blank,
                false => self.running.is_empty(),
            };
            if below_text {
                rows.push(String::new());
            }
            let seconds = since.elapsed().as_secs();
            let frame = Style::CYAN.paint(FRAMES[self.frame % FRAMES.len()], self.styled);
            let doing = if self.thinking { "reasoning · " } else { "" };
            let text = format!("{doing}{text} · {seconds} s · Ctrl-C to stop");
            let text = wrap::cut(&text, self.width.saturating_sub(2));
            rows.push(format!("{frame} {}", Style::DIM.paint(&text, self.styled)));
        }
        rows
    }
}
