//! The rows at the bottom of the terminal that are redrawn while something runs.

use std::io::Write;

use crate::wrap::{terminal_size, width, without_style};

/// Begins and ends an update that the terminal shows at once; terminals without this ignore it.
const UPDATE: (&str, &str) = ("\u{1b}[?2026h", "\u{1b}[?2026l");

/// Rows that are redrawn in place, below those that are final.
#[derive(Default)]
pub struct LiveRows {
    drawn: Vec<String>,
}

impl LiveRows {
    /// Prints final rows above the live ones, and replaces the live ones.
    pub fn show(&mut self, done: &[String], live: Vec<String>) {
        let (columns, height) = terminal_size().unwrap_or((80, 24));
        let text = self.update(done, live, columns, height);
        if text.is_empty() {
            return;
        }
        let mut out = std::io::stdout();
        // A terminal that is gone is not a failure: the turn goes on.
        let _ = write!(out, "{}{text}{}", UPDATE.0, UPDATE.1);
        let _ = out.flush();
    }

    /// Removes the live rows.
    pub fn clear(&mut self) {
        self.show(&[], Vec::new());
    }

    /// Composes an update; nothing if it changes nothing.
    fn update(
        &mut self,
        done: &[String],
        live: Vec<String>,
        columns: usize,
        height: usize,
    ) -> String {
        // Rows that have left the screen cannot be redrawn.
        let hidden = live.len().saturating_sub(height.saturating_sub(1).max(1));
        let live: Vec<String> = live.into_iter().skip(hidden).collect();
        let all: Vec<&String> = done.iter().chain(&live).collect();
        let same = self
            .drawn
            .iter()
            .zip(&all)
            .take_while(|(old, new)| old == *new);
        let same = same.count();
        if done.is_empty() && same == self.drawn.len() && same == live.len() {
            return String::new();
        }
        // Writing starts in the first row that changes, or in the last one, where the cursor has to end.
        let last = |count: usize| count.saturating_sub(1);
        let from = same.min(last(self.drawn.len())).min(last(all.len()));
        // The cursor is at the end of the last row; without rows, at the beginning of an empty one. A terminal that
        // became narrower has broken rows into more.
        let below = self.drawn[from..].iter().map(|row| physical(row, columns));
        let up = last(below.sum());
        let mut text = String::new();
        if up > 0 {
            text.push_str(&format!("\u{1b}[{up}A"));
        }
        text.push('\r');
        for (at, row) in all.iter().enumerate().skip(from) {
            text.push_str(row);
            // Cleared after it is written, not before, so that unchanged text does not flicker.
            text.push_str("\u{1b}[K");
            let is_last = at + 1 == all.len();
            if !is_last || live.is_empty() {
                text.push('\n');
            }
        }
        text.push_str("\u{1b}[J");
        self.drawn = live;
        text
    }
}

/// Number of rows that a text takes on the screen.
fn physical(row: &str, columns: usize) -> usize {
    width(&without_style(row)).div_ceil(columns.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A terminal that understands what is written to it.
    #[derive(Default)]
    struct Screen {
        rows: Vec<String>,
        row: usize,
        column: usize,
    }

    impl Screen {
        fn write(&mut self, text: &str) {
            let mut rest = text;
            while let Some(c) = rest.chars().next() {
                if let Some(after) = rest.strip_prefix("\u{1b}[") {
                    let end = after
                        .find(|c: char| c.is_ascii_alphabetic())
                        .expect("an end");
                    let number: usize = after[..end].parse().unwrap_or(1);
                    match &after[end..=end] {
                        "A" => self.row = self.row.checked_sub(number).expect("a row above"),
                        "K" => self.line().truncate_to_column(),
                        "J" => {
                            self.line().truncate_to_column();
                            let row = self.row;
                            self.rows.truncate(row + 1);
                        }
                        other => panic!("{other}"),
                    }
                    rest = &after[end + 1..];
                    continue;
                }
                match c {
                    '\r' => self.column = 0,
                    '\n' => {
                        self.row += 1;
                        self.column = 0;
                        self.line();
                    }
                    c => {
                        let column = self.column;
                        let line = self.line().rows;
                        let line: &mut String = line;
                        line.truncate(column);
                        line.push(c);
                        self.column += 1;
                    }
                }
                rest = &rest[c.len_utf8()..];
            }
        }

        fn line(&mut self) -> Cursor<'_> {
            while self.rows.len() <= self.row {
                self.rows.push(String::new());
            }
            Cursor {
                column: self.column,
                rows: &mut self.rows[self.row],
            }
        }
    }

    struct Cursor<'a> {
        rows: &'a mut String,
        column: usize,
    }

    impl Cursor<'_> {
        fn truncate_to_column(self) {
            self.rows.truncate(self.column);
        }
    }

    fn owned(rows: &[&str]) -> Vec<String> {
        rows.iter().map(|row| (*row).to_owned()).collect()
    }

    #[test]
    fn the_screen_shows_the_final_rows_and_the_latest_live_ones() {
        let (mut live, mut screen) = (LiveRows::default(), Screen::default());
        let mut all: Vec<String> = Vec::new();
        let steps: &[(&[&str], &[&str])] = &[
            (&[], &["a", "spin 1"]),
            (&[], &["a b", "spin 2"]),
            (&[], &["a b", "c", "spin 3"]),
            (&["a b"], &["c d", "spin 3"]),
            (&["c d", "e"], &[]),
            (&[], &["spin 4"]),
            (&["f"], &["spin 4"]),
            (&[], &["g", "h", "i"]),
            (&[], &["g", "h", "i", "j"]),
            (&[], &["g"]),
            (&["g", "h"], &["g"]),
            (&[], &[]),
            (&["x"], &[]),
        ];
        for (done, rows) in steps {
            screen.write(&live.update(&owned(done), owned(rows), 80, 24));
            all.extend(owned(done));
            let mut expect = all.clone();
            expect.extend(owned(rows));
            let mut shown = screen.rows.clone();
            if rows.is_empty() {
                assert_eq!(
                    shown.pop().as_deref(),
                    Some(""),
                    "the cursor is on a new row"
                );
            }
            assert_eq!(shown, expect, "after {done:?} {rows:?}");
        }
    }

    #[test]
    fn an_unchanged_view_is_not_drawn_again() {
        let mut live = LiveRows::default();
        assert!(!live.update(&[], owned(&["a", "b"]), 80, 24).is_empty());
        assert_eq!(live.update(&[], owned(&["a", "b"]), 80, 24), "");
        let text = live.update(&[], owned(&["a", "c"]), 80, 24);
        assert!(
            !text.contains('a'),
            "only the changed row is written: {text:?}"
        );
    }

    #[test]
    fn more_rows_than_the_screen_has_are_not_drawn() {
        let mut live = LiveRows::default();
        let text = live.update(&[], owned(&["a", "b", "c", "d"]), 80, 3);
        assert!(
            !text.contains('b') && text.contains('c') && text.contains('d'),
            "{text:?}"
        );
    }
}
