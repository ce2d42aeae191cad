//! Reads parts of a file without loading it: pages, lines, matches and JSON values.
//!
//! Known secrets are removed from the bytes before anything else sees them, since half a secret can
//! no longer be recognised. Offsets and limits count characters of what is shown. Text in other
//! encodings is decoded, and of a document the readable text is used.

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
pub use lines::LineRange;
pub use matches::SearchPattern;
pub use source::TextSource;

use manyhands_core::ToolError;

use window::Window;

/// A part of a longer text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextPart {
    /// The part.
    pub content: String,
    /// The offset of the next part, if there is more.
    pub next: Option<u64>,
}

/// A position and a number of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRange {
    /// Where it begins.
    pub offset: u64,
    /// The most characters returned.
    pub limit: usize,
}

/// A page of the text.
pub async fn page(mut source: TextSource, page: TextRange) -> Result<TextPart, ToolError> {
    let mut window = Window::new(page);
    while let Some(piece) = source.text().await? {
        if !window.push(&piece) {
            break;
        }
    }
    window.finish()
}

/// A page of binary data in base64. Offsets count bytes.
pub async fn bytes(mut source: TextSource, page: TextRange) -> Result<TextPart, ToolError> {
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
    Ok(TextPart {
        content: base64::engine::general_purpose::STANDARD.encode(&held),
        next: more.then_some(next),
    })
}

fn past_the_end(size: u64, what: &str) -> ToolError {
    ToolError::parameter(
        "offset",
        format!("is past the end: there are {size} {what}"),
    )
}

/// Entry point of `make fuzz`.
pub fn fuzz_path(document: &serde_json::Value, path: &str) {
    let _ = path::find(document, path); // only termination matters
}

#[cfg(test)]
mod tests;
