//! Read: numbered text, or an image as content for the model.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{LocalError, LocalFiles};

/// Maximum size of an image, of a text without `offset` or `limit`, and of the text that one call
/// returns with them. 10 MB.
pub const READ_LIMIT: u64 = 10 << 20;

/// Bytes of a large file that decide whether it is text.
const HEAD: u64 = 64 << 10;

/// A read request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadRequest {
    /// Where the file is.
    pub path: String,
    /// Lines to skip.
    pub offset: Option<u64>,
    /// Maximum lines.
    pub limit: Option<u64>,
}

/// A read result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ReadResult {
    /// Lines of text.
    Text(TextPart),
    /// An image.
    Image(ImageFile),
}

/// Numbered lines of a text file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextPart {
    /// The absolute path.
    pub path: String,
    /// The lines, each as `{number}\t{text}`, separated by newlines.
    pub content: String,
    /// Number of lines returned.
    pub lines: u64,
    /// Number of lines in the file, if not all were returned and it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    /// Whether more lines follow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// An image, serialised as the content blocks that a model is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFile {
    /// A description.
    pub text: String,
    /// The image in base64.
    pub data: String,
    /// Its MIME type.
    pub mime: &'static str,
}

impl Serialize for ImageFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let blocks = json!([
            { "type": "text", "text": self.text },
            { "type": "image", "data": self.data, "mimeType": self.mime },
        ]);
        let mut shape = serializer.serialize_struct("ImageFile", 1)?;
        shape.serialize_field("content", &blocks)?;
        shape.end()
    }
}

impl LocalFiles {
    /// Reads a file. Lines end at a line feed and are otherwise unchanged: a carriage return before it is
    /// kept, so that an edit can match it. A last line without line feed counts.
    ///
    /// Text is UTF-8. Other content is an image or refused, by its first bytes; for an image `offset` and
    /// `limit` are ignored. A text over [`READ_LIMIT`] needs one of them; it is then streamed, and at most
    /// that much is returned.
    pub fn read(
        &self,
        request: &ReadRequest,
        cancel: &CancellationToken,
    ) -> Result<ReadResult, LocalError> {
        let location = self.locate(&request.path)?;
        let (file, size) = self.open_file(&location)?;
        let read = Reading {
            path: &location.path,
            request,
            cancel,
        };
        if size > READ_LIMIT {
            return read.large(file, size);
        }
        // One byte more, so that a full read does not grow the buffer again.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        let all = (&file).take(READ_LIMIT + 1).read_to_end(&mut bytes);
        all.map_err(|error| LocalError::io(&location.path, error))?;
        if bytes.len() as u64 > READ_LIMIT {
            // It grew, or the system does not know its size.
            return read.large(file, size.max(bytes.len() as u64));
        }
        read.small(&bytes)
    }
}

struct Reading<'a> {
    path: &'a Path,
    request: &'a ReadRequest,
    cancel: &'a CancellationToken,
}

impl Reading<'_> {
    fn small(&self, bytes: &[u8]) -> Result<ReadResult, LocalError> {
        let size = bytes.len() as u64;
        if !is_text(bytes) {
            let mime = sniff(bytes);
            if !mime.starts_with("image/") {
                return Err(self.binary(mime, size));
            }
            return Ok(ReadResult::Image(ImageFile {
                text: format!("Image file: {} ({mime}, {size} bytes)", self.name()),
                data: BASE64_STANDARD.encode(bytes),
                mime,
            }));
        }
        let ends = memchr::memchr_iter(b'\n', bytes).count() as u64;
        let total = ends + u64::from(bytes.last().is_some_and(|last| *last != b'\n'));
        let numbered = self.number(bytes, u64::MAX)?;
        Ok(self.text(numbered, Some(total)))
    }

    fn large(&self, mut file: File, size: u64) -> Result<ReadResult, LocalError> {
        let failed = |error| LocalError::io(self.path, error);
        file.rewind().map_err(failed)?;
        let mut head = Vec::new();
        (&file).take(HEAD).read_to_end(&mut head).map_err(failed)?;
        let mime = sniff(&head);
        // The head may end inside a character, which does not make the file binary.
        let whole_characters = match std::str::from_utf8(&head) {
            Err(error) if error.error_len().is_none() => &head[..error.valid_up_to()],
            _ => &head,
        };
        if !is_text(whole_characters) {
            if mime.starts_with("image/") {
                return Err(LocalError::LargeImage {
                    name: self.name(),
                    mime,
                    size,
                });
            }
            return Err(self.binary(mime, size));
        }
        if self.request.offset.is_none() && self.request.limit.is_none() {
            return Err(LocalError::LongText {
                path: self.path.to_owned(),
                size,
            });
        }
        file.rewind().map_err(failed)?;
        match self.number(BufReader::with_capacity(1 << 16, file), READ_LIMIT) {
            Err(LocalError::NotText(_)) => Err(self.binary(mime, size)),
            numbered => Ok(self.text(numbered?, None)),
        }
    }

    /// Skips the lines before the offset and numbers those after it, up to the limit and `budget` bytes.
    /// Memory is bounded by the result.
    fn number(&self, mut reader: impl BufRead, budget: u64) -> Result<Numbered, LocalError> {
        let failed = |error| LocalError::io(self.path, error);
        let (offset, limit) = (
            self.request.offset.unwrap_or(0),
            self.request.limit.unwrap_or(u64::MAX),
        );
        let mut numbered = Numbered::default();
        while numbered.passed < offset {
            if !self.pass_line(&mut reader)? {
                numbered.at_end = true;
                return Ok(numbered);
            }
            numbered.passed += 1;
        }
        let mut line = Vec::new();
        while numbered.lines < limit {
            self.check_cancelled()?;
            line.clear();
            let left = budget.saturating_sub(numbered.content.len() as u64);
            // One byte more than fits, to notice that it does not.
            let mut part = (&mut reader).take(left.saturating_add(1));
            if part.read_until(b'\n', &mut line).map_err(failed)? == 0 {
                break;
            }
            let ended = line.pop_if(|last| *last == b'\n').is_some();
            let cut = !ended && line.len() as u64 > left;
            let text = self.decode(&line, cut)?;
            let number = numbered.passed + numbered.lines + 1;
            if numbered.lines > 0 {
                numbered.content.push('\n');
            }
            numbered.content.push_str(&number.to_string());
            numbered.content.push('\t');
            numbered.content.push_str(text);
            numbered.lines += 1;
            if numbered.content.len() as u64 >= budget {
                break;
            }
        }
        numbered.at_end = reader.fill_buf().map_err(failed)?.is_empty();
        Ok(numbered)
    }

    /// A line as text; the last character of a cut line may be incomplete.
    fn decode<'b>(&self, line: &'b [u8], cut: bool) -> Result<&'b str, LocalError> {
        let text = match std::str::from_utf8(line) {
            Ok(text) => Some(text),
            Err(error) if cut && error.error_len().is_none() => {
                std::str::from_utf8(&line[..error.valid_up_to()]).ok()
            }
            Err(_) => None,
        };
        text.ok_or_else(|| LocalError::NotText(self.path.to_owned()))
    }

    /// Skips a line; false at the end.
    fn pass_line(&self, reader: &mut impl BufRead) -> Result<bool, LocalError> {
        let mut some = false;
        loop {
            self.check_cancelled()?;
            let buffered = match reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffered => buffered.map_err(|error| LocalError::io(self.path, error))?,
            };
            if buffered.is_empty() {
                return Ok(some);
            }
            some = true;
            let (used, ended) = match memchr::memchr(b'\n', buffered) {
                Some(at) => (at + 1, true),
                None => (buffered.len(), false),
            };
            reader.consume(used);
            if ended {
                return Ok(true);
            }
        }
    }

    fn text(&self, numbered: Numbered, total: Option<u64>) -> ReadResult {
        let end = numbered.passed + numbered.lines;
        let total = total.or(numbered.at_end.then_some(end));
        ReadResult::Text(TextPart {
            path: self.path.display().to_string(),
            content: numbered.content,
            lines: numbered.lines,
            total_lines: total.filter(|total| *total != numbered.lines),
            truncated: !numbered.at_end,
        })
    }

    fn check_cancelled(&self) -> Result<(), LocalError> {
        if self.cancel.is_cancelled() {
            return Err(LocalError::Cancelled);
        }
        Ok(())
    }

    fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    fn binary(&self, mime: &'static str, size: u64) -> LocalError {
        LocalError::Binary {
            name: self.name(),
            mime,
            size,
        }
    }
}

#[derive(Default)]
struct Numbered {
    passed: u64,
    lines: u64,
    content: String,
    at_end: bool,
}

fn is_text(whole_characters: &[u8]) -> bool {
    std::str::from_utf8(whole_characters).is_ok()
}

fn sniff(bytes: &[u8]) -> &'static str {
    infer::get(bytes).map_or("application/octet-stream", |kind| kind.mime_type())
}
