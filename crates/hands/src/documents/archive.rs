//! ZIP archives, as used by office formats: stored or deflated entries, never trusted.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};

use flate2::bufread::DeflateDecoder;

use super::{DocumentError, Extraction, StopCause, damaged};

/// Maximum entries of a document.
const MAX_PARTS: usize = 20_000;
/// Size of the end-of-directory record, and of the longest comment behind it.
const END: usize = 22;
const MAX_COMMENT: usize = 65_535;

/// A packed entry.
#[derive(Debug, Clone, Copy)]
struct ArchiveEntry {
    /// Offset of its local header.
    at: usize,
    packed: usize,
    method: u16,
    encrypted: bool,
}

/// A ZIP archive, by entry name.
pub(super) struct Archive<'a> {
    bytes: &'a [u8],
    parts: HashMap<String, ArchiveEntry>,
}

impl<'a> Archive<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, StopCause> {
        if !bytes.starts_with(b"PK") {
            return Err(DocumentError::Unknown.into());
        }
        let tail = bytes.len().saturating_sub(END + MAX_COMMENT);
        // Searched from the end: a comment may contain the signature, but the last one is the real
        // one.
        let found = memchr::memmem::rfind(&bytes[tail..], b"PK\x05\x06");
        let end = found.ok_or_else(|| damaged("its directory is missing"))? + tail;
        let count = usize::from(u16_at(bytes, end + 10).unwrap_or(0));
        let mut at = u32_at(bytes, end + 16).unwrap_or(0);
        let mut parts = HashMap::new();
        for _ in 0..count.min(MAX_PARTS) {
            let Some((name, part, next)) = listed(bytes, at) else {
                break;
            };
            parts.insert(name, part);
            at = next;
        }
        Ok(Self { bytes, parts })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.parts.contains_key(name)
    }

    /// The names of entries with this prefix and suffix, in numerical order.
    pub(super) fn like(&self, start: &str, end: &str) -> Vec<&str> {
        let all = self.parts.keys().map(String::as_str);
        let mut found: Vec<&str> = all
            .filter(|name| name.starts_with(start) && name.ends_with(end))
            .collect();
        // By length first, so that slide2 comes before slide10.
        found.sort_by_key(|name| (name.len(), *name));
        found
    }

    /// Unpacks an entry, up to `room` bytes, which the reader counts.
    pub(super) fn part(&self, name: &str, room: usize) -> Result<Unpacked<'a>, StopCause> {
        let missing = || damaged(format!("{name} is missing"));
        let part = self.parts.get(name).ok_or_else(missing)?;
        if part.encrypted {
            return Err(DocumentError::Encrypted.into());
        }
        let lengths = u16_at(self.bytes, part.at + 26).zip(u16_at(self.bytes, part.at + 28));
        let (name_length, extra) = lengths.ok_or_else(missing)?;
        let from = part.at + 30 + usize::from(name_length) + usize::from(extra);
        let packed = self.bytes.get(from..).ok_or_else(missing)?;
        // A wrong size must not read into the next entry, nor fail a truncated file.
        let packed = &packed[..part.packed.min(packed.len())];
        let reader: Box<dyn Read + 'a> = match part.method {
            0 => Box::new(packed),
            8 => Box::new(DeflateDecoder::new(packed)),
            other => {
                return Err(damaged(format!(
                    "{name} is packed in an unknown way ({other})"
                )));
            }
        };
        Ok(BufReader::new(Counted {
            reader,
            left: room,
            read: 0,
        }))
    }

    /// Unpacks a small entry completely.
    pub(super) fn whole(
        &self,
        name: &str,
        most: usize,
        work: &mut Extraction<'_>,
    ) -> Result<Vec<u8>, StopCause> {
        let mut part = self.part(name, most.min(work.room()))?;
        let mut whole = Vec::new();
        // An entry damaged at its end may still be useful.
        let _ = part.read_to_end(&mut whole);
        work.unpack(whole.len())?;
        Ok(whole)
    }
}

/// The content of an entry.
pub(super) type Unpacked<'a> = BufReader<Counted<'a>>;

/// Counts bytes read, and fails when there are too many.
pub(super) struct Counted<'a> {
    reader: Box<dyn Read + 'a>,
    left: usize,
    read: usize,
}

impl Counted<'_> {
    /// Bytes read since the last call.
    pub(super) fn newly_read(&mut self) -> usize {
        std::mem::take(&mut self.read)
    }

    pub(super) fn is_full(&self) -> bool {
        self.left == 0
    }
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // An error instead of an end of file: a truncated part must not look complete.
        if self.left == 0 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let most = into.len().min(self.left);
        let read = self.reader.read(&mut into[..most])?;
        self.left -= read;
        self.read += read;
        Ok(read)
    }
}

/// Parses a directory record; returns the offset of the next one.
fn listed(bytes: &[u8], at: usize) -> Option<(String, ArchiveEntry, usize)> {
    if bytes.get(at..at + 4)? != b"PK\x01\x02" {
        return None;
    }
    let [name, extra, comment] = [28, 30, 32].map(|index| u16_at(bytes, at + index));
    let (name, extra, comment) = (name?, extra?, comment?);
    let from = at + 46;
    let to = from + usize::from(name);
    let part = ArchiveEntry {
        at: u32_at(bytes, at + 42)?,
        packed: u32_at(bytes, at + 20)?,
        method: u16_at(bytes, at + 10)?,
        encrypted: u16_at(bytes, at + 8)? & 1 == 1,
    };
    // Some writers use backslashes.
    let name = String::from_utf8_lossy(bytes.get(from..to)?).replace('\\', "/");
    Some((name, part, to + usize::from(extra) + usize::from(comment)))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(two.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?) as usize)
}
