//! A PDF file as numbered objects. The cross-reference table is ignored: the file is scanned, which also
//! works if the table is damaged.

use std::collections::HashMap;

use memchr::memmem;

use super::filter;
use super::object::{Dict, Lexer, Object, is_blank};
use crate::documents::{DocumentError, Extraction, StopCause};

/// Maximum objects.
const MAX_OBJECTS: usize = 1 << 20;
/// Maximum size of object streams, since they stay in memory.
const MAX_OBJECT_BYTES: usize = 48 << 20;
/// Maximum size of a stream.
const MAX_STREAM: usize = 32 << 20;
/// Maximum length of a reference chain.
const MAX_HOPS: usize = 16;

/// The location of an object.
#[derive(Debug, Clone, Copy)]
enum ObjectLocation {
    /// At this offset of the file.
    File(usize),
    /// At this offset of an object stream.
    Packed(usize, usize),
}

/// A stream: its dictionary, and its bytes unless its filter is not for text.
pub(super) type PdfStream = (Dict, Option<Vec<u8>>);

/// The objects of a file.
pub(super) struct PdfFile<'a> {
    bytes: &'a [u8],
    places: HashMap<u32, ObjectLocation>,
    packed: Vec<Vec<u8>>,
    /// The trailers, last one first.
    trailers: Vec<Dict>,
}

impl<'a> PdfFile<'a> {
    pub(super) fn open(bytes: &'a [u8], work: &mut Extraction<'_>) -> Result<Self, StopCause> {
        let mut file = Self {
            bytes,
            places: HashMap::new(),
            packed: Vec::new(),
            trailers: Vec::new(),
        };
        let (mut at, mut streams) = (0, Vec::new());
        while let Some(found) = memmem::find(&bytes[at..], b"obj") {
            let mark = at + found;
            at = mark + 3;
            // Every candidate costs, or a file full of "obj" would scan for free.
            work.step(8)?;
            let Some(number) = number_before(bytes, mark) else {
                continue;
            };
            if file.places.len() >= MAX_OBJECTS {
                break;
            }
            file.places.insert(number, ObjectLocation::File(at));
            // The content of a stream may look like objects, so it is skipped.
            let mut lexer = Lexer::new(bytes, at);
            let object = lexer.next();
            // Unterminated objects each extend to the end of the file: charge for the bytes scanned.
            work.step((lexer.at - at) as u64 / 4)?;
            if let Some(Object::Dict(dict)) = object {
                let kind = dict.get("Type").and_then(Object::name).unwrap_or_default();
                match kind {
                    "ObjStm" => streams.push(number),
                    "XRef" => file.trailers.push(dict.clone()),
                    _ => {}
                }
                if let Some((start, length)) = stream_at(bytes, lexer.at, &dict) {
                    at = at.max(start + length);
                }
            }
        }
        // After the scan: an incremental update appends its trailer at the end.
        file.find_trailers();
        // Strings of an encrypted file decode to garbage instead of failing.
        if file.trailers.iter().any(|one| one.contains_key("Encrypt")) {
            return Err(DocumentError::Encrypted.into());
        }
        for number in streams {
            file.unpack_objects(number, work)?;
        }
        Ok(file)
    }

    fn find_trailers(&mut self) {
        let all = memmem::find_iter(self.bytes, b"trailer").take(1_000);
        let found = all.filter_map(|at| match Lexer::new(self.bytes, at + 7).next() {
            Some(Object::Dict(dict)) => Some(dict),
            _ => None,
        });
        let found: Vec<Dict> = found.collect();
        self.trailers.extend(found);
        self.trailers.reverse();
    }

    /// Registers the objects of an object stream.
    fn unpack_objects(&mut self, number: u32, work: &mut Extraction<'_>) -> Result<(), StopCause> {
        let Some((dict, Some(bytes))) = self.stream(&Object::Ref(number), work)? else {
            return Ok(());
        };
        let retained_bytes: usize = self.packed.iter().map(Vec::len).sum();
        if retained_bytes + bytes.len() > MAX_OBJECT_BYTES {
            return Err(work.full());
        }
        let whole = |key: &str| dict.get(key).and_then(Object::number).unwrap_or(0.0) as usize;
        let (count, first) = (whole("N"), whole("First"));
        let mut lexer = Lexer::new(&bytes, 0);
        let mut found = Vec::new();
        for _ in 0..count.min(MAX_OBJECTS) {
            work.step(2)?;
            let (Some(Object::Number(number)), Some(Object::Number(at))) =
                (lexer.next(), lexer.next())
            else {
                break;
            };
            found.push((number as u32, first.saturating_add(at as usize)));
        }
        let index = self.packed.len();
        self.packed.push(bytes);
        for (number, at) in found {
            if self.places.len() < MAX_OBJECTS {
                self.places
                    .insert(number, ObjectLocation::Packed(index, at));
            }
        }
        Ok(())
    }

    fn lexer(&self, number: u32) -> Option<Lexer<'_>> {
        Some(match *self.places.get(&number)? {
            ObjectLocation::File(at) => Lexer::new(self.bytes, at),
            ObjectLocation::Packed(stream, at) => {
                let bytes = self.packed.get(stream)?;
                Lexer::new(bytes, at.min(bytes.len()))
            }
        })
    }

    /// The object that a reference leads to.
    pub(super) fn resolve(
        &self,
        object: &Object,
        work: &mut Extraction<'_>,
    ) -> Result<Object, StopCause> {
        let mut object = object.clone();
        for _ in 0..MAX_HOPS {
            let Object::Ref(number) = object else {
                return Ok(object);
            };
            let Some(mut lexer) = self.lexer(number) else {
                return Ok(Object::Null);
            };
            let from = lexer.at;
            object = lexer.next().unwrap_or(Object::Null);
            work.step(16 + (lexer.at - from) as u64 / 4)?;
        }
        Ok(Object::Null)
    }

    /// An entry of a dictionary.
    pub(super) fn get(
        &self,
        dict: &Dict,
        key: &str,
        work: &mut Extraction<'_>,
    ) -> Result<Object, StopCause> {
        match dict.get(key) {
            Some(object) => self.resolve(object, work),
            None => Ok(Object::Null),
        }
    }

    /// A dictionary entry that is a dictionary.
    pub(super) fn dict(
        &self,
        dict: &Dict,
        key: &str,
        work: &mut Extraction<'_>,
    ) -> Result<Dict, StopCause> {
        Ok(match self.get(dict, key, work)? {
            Object::Dict(dict) => dict,
            _ => Dict::new(),
        })
    }

    /// The stream that an object refers to.
    pub(super) fn stream(
        &self,
        object: &Object,
        work: &mut Extraction<'_>,
    ) -> Result<Option<PdfStream>, StopCause> {
        let mut object = object.clone();
        for _ in 0..MAX_HOPS {
            let Object::Ref(number) = object else {
                return Ok(None);
            };
            let Some(ObjectLocation::File(at)) = self.places.get(&number).copied() else {
                return Ok(None); // streams are never packed together
            };
            let mut lexer = Lexer::new(self.bytes, at);
            object = lexer.next().unwrap_or(Object::Null);
            work.step(16 + (lexer.at - at) as u64 / 4)?;
            if let Object::Dict(dict) = object {
                return self.unpacked(dict, lexer.at, work).map(Some);
            }
        }
        Ok(None)
    }

    fn unpacked(
        &self,
        dict: Dict,
        after: usize,
        work: &mut Extraction<'_>,
    ) -> Result<PdfStream, StopCause> {
        let mut known = dict.clone();
        if let Some(length) = dict.get("Length") {
            let length = self.resolve(length, work)?;
            known.insert("Length".to_owned(), length);
        }
        let Some((start, length)) = stream_at(self.bytes, after, &known) else {
            return Ok((dict, None));
        };
        let raw = &self.bytes[start..start + length];
        let filters = match self.get(&dict, "Filter", work)? {
            Object::List(list) => list,
            Object::Null => Vec::new(),
            one => vec![one],
        };
        let mut bytes = raw.to_vec();
        // A chain of filters multiplies: a small stream must not unpack without end.
        for filter in filters.iter().take(8) {
            let most = MAX_STREAM.min(work.room());
            let name = self.resolve(filter, work)?;
            match filter::unpack(name.name().unwrap_or_default(), &bytes, most) {
                Some(unpacked) => bytes = unpacked,
                None => return Ok((dict, None)),
            }
            work.unpack(bytes.len())?;
            work.step(bytes.len() as u64 / 64)?;
        }
        Ok((dict, Some(bytes)))
    }

    /// The document catalog.
    pub(super) fn catalog(&self, work: &mut Extraction<'_>) -> Result<Option<Dict>, StopCause> {
        for trailer in &self.trailers {
            if let Object::Dict(root) = self.get(trailer, "Root", work)?
                && root.contains_key("Pages")
            {
                return Ok(Some(root));
            }
        }
        self.of_type("Catalog", work)
            .map(|all| all.into_iter().next())
    }

    /// All dictionaries of a type, by number.
    pub(super) fn of_type(
        &self,
        kind: &str,
        work: &mut Extraction<'_>,
    ) -> Result<Vec<Dict>, StopCause> {
        let mut numbers: Vec<u32> = self.places.keys().copied().collect();
        numbers.sort_unstable();
        let mut found = Vec::new();
        for number in numbers {
            let object = self.resolve(&Object::Ref(number), work)?;
            if let Object::Dict(dict) = object
                && dict.get("Type").and_then(Object::name) == Some(kind)
            {
                found.push(dict);
            }
        }
        Ok(found)
    }
}

/// The number in `12 0 obj`, from the offset of `obj`.
fn number_before(bytes: &[u8], mark: usize) -> Option<u32> {
    let back = |mut at: usize, take: fn(u8) -> bool| {
        while at > 0 && take(bytes[at - 1]) {
            at -= 1;
        }
        at
    };
    let digit = |byte: u8| byte.is_ascii_digit();
    let generation_end = back(mark, is_blank);
    let generation = back(generation_end, digit);
    let number_end = back(generation, is_blank);
    let number = back(number_end, digit);
    let fits = generation < generation_end && number_end < generation && number < number_end;
    if !fits || number_end - number > 10 {
        return None;
    }
    std::str::from_utf8(&bytes[number..number_end])
        .ok()?
        .parse()
        .ok()
}

/// The range of a stream's bytes behind `after`: of the length in its dictionary if that is correct,
/// otherwise up to its end marker.
fn stream_at(bytes: &[u8], after: usize, dict: &Dict) -> Option<(usize, usize)> {
    let mut lexer = Lexer::new(bytes, after);
    lexer.skip_blank();
    let rest = bytes.get(lexer.at..)?.strip_prefix(b"stream")?;
    let line = match rest {
        [b'\r', b'\n', ..] => 2,
        [b'\n' | b'\r', ..] => 1,
        _ => 0,
    };
    let start = lexer.at + 6 + line;
    let body = bytes.get(start..)?;
    let declared_length = dict.get("Length").and_then(Object::number);
    let declared_length = declared_length
        .filter(|length| *length >= 0.0)
        .map(|length| length as usize);
    if let Some(length) = declared_length.filter(|length| *length <= body.len()) {
        let mut end = Lexer::new(bytes, start + length);
        end.skip_blank();
        // Many writers get the length wrong; it is trusted only if the end marker follows.
        if bytes[end.at.min(bytes.len())..].starts_with(b"endstream") {
            return Some((start, length));
        }
    }
    let length = memmem::find(body, b"endstream").unwrap_or(body.len());
    Some((start, length))
}
