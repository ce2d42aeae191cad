//! Reading in a file without ever holding it: pages, lines, matches and values of JSON.
//!
//! Known secrets are cut out of the bytes before anything else looks at them, since half a
//! secret no longer looks like one. Offsets and limits count characters of what is shown.
//! Text in other encodings than UTF-8 is decoded, and of a document the text is read that a person would.

mod copy;
mod document;
mod json;
mod large;
mod lines;
mod matches;
mod path;
mod source;
mod window;

pub use document::{Documents, Extracted, MOST as MAX_DOCUMENT};
pub use json::{Indices, JsonAsk};
pub use lines::Lines;
pub use matches::Pattern;
pub use source::Source;

use manyhands_core::ToolError;

use window::Window;

/// A part of something longer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    /// The part.
    pub content: String,
    /// Where the next one begins, if there is more.
    pub next: Option<u64>,
}

/// Which part: from where, and how many characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Where it begins.
    pub offset: u64,
    /// The most that is returned.
    pub limit: usize,
}

/// A page of the text itself.
pub async fn page(mut source: Source, page: Page) -> Result<Part, ToolError> {
    let mut window = Window::new(page);
    while let Some(piece) = source.text().await? {
        if !window.push(&piece) {
            break;
        }
    }
    window.finish()
}

/// A page of bytes that are not text, in base64. Offsets count bytes.
pub async fn bytes(mut source: Source, page: Page) -> Result<Part, ToolError> {
    use base64::Engine as _;
    let wanted = (page.limit / 4 * 3).max(1);
    let (mut at, mut held, mut more) = (0_u64, Vec::new(), false);
    while let Some(piece) = source.bytes().await? {
        let skip = usize::try_from(page.offset.saturating_sub(at)).unwrap_or(usize::MAX);
        at += piece.len() as u64;
        let rest = piece.get(skip..).unwrap_or_default();
        let take = rest.len().min(wanted - held.len());
        held.extend_from_slice(&rest[..take]);
        if take < rest.len() {
            more = true;
            break;
        }
    }
    if page.offset > at {
        return Err(past_the_end(at, "bytes"));
    }
    let next = page.offset + held.len() as u64;
    Ok(Part {
        content: base64::engine::general_purpose::STANDARD.encode(&held),
        next: more.then_some(next),
    })
}

fn past_the_end(size: u64, what: &str) -> ToolError {
    ToolError::parameter(
        "offset",
        format!("there are {size} {what}, and none at this offset"),
    )
}

/// What `make fuzz` does with a path and a document.
pub fn fuzz_path(document: &serde_json::Value, path: &str) {
    let _ = path::find(document, path); // only that it ends matters
}

#[cfg(test)]
mod tests;
