//! Reads lines of a text by number.

use manyhands_core::ToolError;

use super::window::Window;
use super::{TextPart, TextRange, TextSource};

/// A range of lines, both included and counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    first: u64,
    last: u64,
}

impl LineRange {
    /// Lines `first` to `last`, both included and counted from 1.
    pub fn new(first: Option<u64>, last: Option<u64>) -> Result<Self, ToolError> {
        let (first, last) = (first.unwrap_or(1), last.unwrap_or(u64::MAX));
        if last < first {
            let message = format!("must not be before start_line, which is {first}");
            return Err(ToolError::parameter("end_line", message));
        }
        Ok(Self { first, last })
    }

    /// A page of the lines, with their line ends.
    pub async fn read(
        self,
        mut source: TextSource,
        page: TextRange,
    ) -> Result<TextPart, ToolError> {
        let mut window = Window::new(page);
        let (mut line, mut empty) = (1_u64, true);
        'pieces: while let Some(piece) = source.text().await? {
            for part in piece.split_inclusive('\n') {
                empty = false;
                if line > self.last || (line >= self.first && !window.push(part)) {
                    break 'pieces;
                }
                if part.ends_with('\n') {
                    line += 1;
                    empty = true;
                }
            }
        }
        // A trailing line end does not start another line.
        let count = if empty { line - 1 } else { line };
        if self.first > count.max(1) {
            let message = format!("there are {count} lines");
            return Err(ToolError::parameter("start_line", message));
        }
        window.finish()
    }
}
