//! The parts of a ZIP file, as office formats are packed: stored or deflated, never trusted.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};

use flate2::bufread::DeflateDecoder;

use super::{DocumentError, Stop, Work, damaged};

/// How many parts a document may have.
const MAX_PARTS: usize = 20_000;
/// The end of the list of parts: its own length, and the longest comment behind it.
const END: usize = 22;
const MAX_COMMENT: usize = 65_535;

/// One part, packed.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Where its own header is.
    at: usize,
    packed: usize,
    method: u16,
    encrypted: bool,
}

/// A ZIP file by the names of its parts.
pub(super) struct Archive<'a> {
    bytes: &'a [u8],
    parts: HashMap<String, Part>,
}

impl<'a> Archive<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, Stop> {
        if !bytes.starts_with(b"PK") {
            return Err(DocumentError::Unknown.into());
        }
        let tail = bytes.len().saturating_sub(END + MAX_COMMENT);
        let found = memchr::memmem::rfind(&bytes[tail..], b"PK\x05\x06");
        let end = found.ok_or_else(|| damaged("the list of its parts is missing"))? + tail;
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

    /// The names of the parts that begin and end like this, those with smaller numbers first.
    pub(super) fn like(&self, start: &str, end: &str) -> Vec<&str> {
        let all = self.parts.keys().map(String::as_str);
        let mut found: Vec<&str> = all
            .filter(|name| name.starts_with(start) && name.ends_with(end))
            .collect();
        found.sort_by_key(|name| (name.len(), *name));
        found
    }

    /// A part as it is unpacked; at most as much as there is room for, which the reader counts.
    pub(super) fn part(&self, name: &str, room: usize) -> Result<Unpacked<'a>, Stop> {
        let missing = || damaged(format!("{name} is missing"));
        let part = self.parts.get(name).ok_or_else(missing)?;
        if part.encrypted {
            return Err(DocumentError::Encrypted.into());
        }
        let lengths = u16_at(self.bytes, part.at + 26).zip(u16_at(self.bytes, part.at + 28));
        let (name_length, extra) = lengths.ok_or_else(missing)?;
        let from = part.at + 30 + usize::from(name_length) + usize::from(extra);
        let packed = self.bytes.get(from..).ok_or_else(missing)?;
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

    /// The whole of a small part.
    pub(super) fn whole(
        &self,
        name: &str,
        most: usize,
        work: &mut Work<'_>,
    ) -> Result<Vec<u8>, Stop> {
        let mut part = self.part(name, most.min(work.room()))?;
        let mut whole = Vec::new();
        // Damaged at its end it may still be of use.
        let _ = part.read_to_end(&mut whole);
        work.unpack(whole.len())?;
        Ok(whole)
    }
}

/// What a part unpacks to.
pub(super) type Unpacked<'a> = BufReader<Counted<'a>>;

/// Counts what is read, and ends with an error where it is too much.
pub(super) struct Counted<'a> {
    reader: Box<dyn Read + 'a>,
    left: usize,
    read: usize,
}

impl Counted<'_> {
    /// Bytes read since this was last called.
    pub(super) fn newly_read(&mut self) -> usize {
        std::mem::take(&mut self.read)
    }

    pub(super) fn is_full(&self) -> bool {
        self.left == 0
    }
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
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

/// An entry of the list of parts, and where the next one is.
fn listed(bytes: &[u8], at: usize) -> Option<(String, Part, usize)> {
    if bytes.get(at..at + 4)? != b"PK\x01\x02" {
        return None;
    }
    let [name, extra, comment] = [28, 30, 32].map(|place| u16_at(bytes, at + place));
    let (name, extra, comment) = (name?, extra?, comment?);
    let from = at + 46;
    let to = from + usize::from(name);
    let part = Part {
        at: u32_at(bytes, at + 42)?,
        packed: u32_at(bytes, at + 20)?,
        method: u16_at(bytes, at + 10)?,
        encrypted: u16_at(bytes, at + 8)? & 1 == 1,
    };
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
