//! The bytes of a file as they come, without known secrets, and as text.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use manyhands_core::ToolError;
use manyhands_guard::{RedactStream, Redactor};
use manyhands_store::StoreError;

use crate::artifacts::failure;

/// How much is looked at to tell text from other bytes.
const LOOK: usize = 8 * 1024;

/// The bytes of a file as they come.
pub(crate) struct Source {
    pieces: BoxStream<'static, Result<Bytes, StoreError>>,
    mask: Option<RedactStream>,
    /// Looked at and not yet given.
    ahead: Vec<u8>,
    /// The beginning of a character whose end has not come.
    partial: Vec<u8>,
}

impl Source {
    pub(crate) fn new(
        pieces: BoxStream<'static, Result<Bytes, StoreError>>,
        redactor: &Redactor,
    ) -> Self {
        Self {
            pieces,
            mask: Some(redactor.stream()),
            ahead: Vec::new(),
            partial: Vec::new(),
        }
    }

    /// Whether it begins like text.
    pub(crate) async fn is_text(&mut self) -> Result<bool, ToolError> {
        while self.ahead.len() < LOOK {
            match self.bytes_behind().await? {
                Some(piece) => self.ahead.extend(piece),
                None => break,
            }
        }
        let look = &self.ahead[..self.ahead.len().min(LOOK)];
        let whole = look.len() == self.ahead.len() && self.mask.is_none();
        Ok(!look.contains(&0)
            && match std::str::from_utf8(look) {
                Ok(_) => true,
                // A character may be cut where the look ends.
                Err(error) => error.error_len().is_none() && !whole,
            })
    }

    /// The next bytes; `None` at the end.
    pub(crate) async fn bytes(&mut self) -> Result<Option<Vec<u8>>, ToolError> {
        if !self.ahead.is_empty() {
            return Ok(Some(std::mem::take(&mut self.ahead)));
        }
        self.bytes_behind().await
    }

    async fn bytes_behind(&mut self) -> Result<Option<Vec<u8>>, ToolError> {
        loop {
            let Some(mask) = &mut self.mask else {
                return Ok(None);
            };
            let shown = match self.pieces.try_next().await.map_err(|e| failure(&e))? {
                Some(piece) => mask.push(&piece),
                None => self
                    .mask
                    .take()
                    .map(RedactStream::finish)
                    .unwrap_or_default(),
            };
            if !shown.is_empty() {
                return Ok(Some(shown));
            }
        }
    }

    /// The next piece of text; `None` at the end. What is not UTF-8 is shown as U+FFFD.
    pub(crate) async fn text(&mut self) -> Result<Option<String>, ToolError> {
        loop {
            let Some(bytes) = self.bytes().await? else {
                let rest = std::mem::take(&mut self.partial);
                return Ok((!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned()));
            };
            self.partial.extend_from_slice(&bytes);
            let end = whole(&self.partial);
            let text = String::from_utf8_lossy(&self.partial[..end]).into_owned();
            self.partial.drain(..end);
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
    }

    /// All bytes, if they are no more than `most`.
    pub(super) async fn all(mut self, most: usize) -> Result<Option<Vec<u8>>, ToolError> {
        let mut all = Vec::new();
        while let Some(piece) = self.bytes().await? {
            all.extend_from_slice(&piece);
            if all.len() > most {
                return Ok(None);
            }
        }
        Ok(Some(all))
    }
}

/// How many bytes there are before a character at the end that is not complete.
fn whole(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let length = match bytes[at] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return bytes.len(),
        };
        return if back < length { at } else { bytes.len() };
    }
    bytes.len()
}
