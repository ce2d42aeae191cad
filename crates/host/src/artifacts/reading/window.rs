//! A window over text that arrives in pieces.

use manyhands_core::ToolError;

use super::{TextPart, TextRange, past_the_end};

/// Extracts one page from the pushed text.
pub(super) struct Window {
    page: TextRange,
    /// Characters still to skip.
    skip: u64,
    /// Characters still to take.
    left: usize,
    content: String,
    more: bool,
}

impl Window {
    pub(super) fn new(page: TextRange) -> Self {
        Self {
            page,
            skip: page.offset,
            left: page.limit,
            content: String::new(),
            more: false,
        }
    }

    /// Takes what belongs to the page; returns whether it wants more.
    pub(super) fn push(&mut self, text: &str) -> bool {
        let mut rest = text;
        if self.skip > 0 {
            let (passed, after) = split(rest, usize::try_from(self.skip).unwrap_or(usize::MAX));
            self.skip -= passed as u64;
            rest = after;
        }
        if rest.is_empty() {
            return true;
        }
        let (taken, after) = split(rest, self.left);
        self.content.push_str(&rest[..rest.len() - after.len()]);
        self.left -= taken;
        self.more = !after.is_empty();
        !self.more
    }

    pub(super) fn finish(self) -> Result<TextPart, ToolError> {
        if self.skip > 0 {
            return Err(past_the_end(self.page.offset - self.skip, "characters"));
        }
        let taken = (self.page.limit - self.left) as u64;
        Ok(TextPart {
            content: self.content,
            next: self.more.then_some(self.page.offset + taken),
        })
    }
}

/// Skips up to `count` characters; returns how many, and the rest.
fn split(text: &str, count: usize) -> (usize, &str) {
    if text.is_ascii() {
        let at = text.len().min(count);
        return (at, &text[at..]);
    }
    let mut passed = 0;
    let mut chars = text.chars();
    while passed < count && chars.next().is_some() {
        passed += 1;
    }
    (passed, chars.as_str())
}

/// Receives the text of a serializer until the page is full.
impl std::io::Write for Window {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // The serializer writes whole characters.
        match self.push(&String::from_utf8_lossy(bytes)) {
            true => Ok(bytes.len()),
            false => Err(std::io::ErrorKind::WriteZero.into()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Window {
    /// Returns whether the page is full and there is more.
    pub(super) fn is_full(&self) -> bool {
        self.more
    }
}
