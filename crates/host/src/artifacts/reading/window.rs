//! A window over text that comes in pieces.

use manyhands_core::ToolError;

use super::{Page, Part, past_the_end};

/// Takes the characters of one page out of what is pushed.
pub(super) struct Window {
    page: Page,
    /// Characters still to be passed over.
    skip: u64,
    /// Characters still to be taken.
    left: usize,
    content: String,
    more: bool,
}

impl Window {
    pub(super) fn new(page: Page) -> Self {
        Self {
            page,
            skip: page.offset,
            left: page.limit,
            content: String::new(),
            more: false,
        }
    }

    /// Takes what belongs to the page; whether it wants more.
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

    pub(super) fn finish(self) -> Result<Part, ToolError> {
        if self.skip > 0 {
            return Err(past_the_end(self.page.offset - self.skip, "characters"));
        }
        let taken = (self.page.limit - self.left) as u64;
        Ok(Part {
            content: self.content,
            next: self.more.then_some(self.page.offset + taken),
        })
    }
}

/// How many characters were passed, at most `count`, and what comes after them.
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

/// Text that a serialiser writes, until the page is full.
impl std::io::Write for Window {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // Values are written in whole characters.
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
    /// Whether the page is full and there is more.
    pub(super) fn is_full(&self) -> bool {
        self.more
    }
}
