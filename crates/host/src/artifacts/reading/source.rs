//! The bytes of a file as they come, without known secrets, and as text in whatever encoding it is.

use bytes::Bytes;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use manyhands_core::ToolError;
use manyhands_guard::{RedactStream, Redactor};
use manyhands_store::StoreError;

/// How much is looked at to tell text from other bytes, and one encoding from another.
const LOOK: usize = 8 * 1024;
/// How much of a text that is in memory is given at a time.
const PIECE: usize = 64 * 1024;

/// The bytes of a file as they come.
pub struct Source {
    pieces: BoxStream<'static, Result<Bytes, StoreError>>,
    mask: Option<RedactStream>,
    /// Looked at and not yet given.
    ahead: Vec<u8>,
    looked: bool,
    /// Set once the encoding is known; until then everything was ASCII.
    decoder: Option<Decoder>,
    /// Cuts secrets out of text whose bytes do not show them, such as UTF-16.
    second: Option<RedactStream>,
    ended: bool,
}

/// What a file begins with.
enum Look {
    Binary,
    /// ASCII so far, so the encoding shows later.
    Ascii,
    Text(&'static Encoding),
}

impl Source {
    /// Reads `pieces`; `redactor` removes secrets.
    pub fn new(pieces: BoxStream<'static, Result<Bytes, StoreError>>, redactor: &Redactor) -> Self {
        Self {
            pieces,
            mask: Some(redactor.stream()),
            ahead: Vec::new(),
            looked: false,
            decoder: None,
            second: Some(redactor.stream()),
            ended: false,
        }
    }

    /// A text that is in memory.
    pub fn of_text(text: Bytes, redactor: &Redactor) -> Self {
        let starts = (0..text.len()).step_by(PIECE);
        let pieces: Vec<_> = starts
            .map(|from| Ok(text.slice(from..text.len().min(from + PIECE))))
            .collect();
        let mut source = Self::new(stream::iter(pieces).boxed(), redactor);
        source.decode_as(UTF_8);
        source.looked = true;
        source
    }

    /// Whether it begins like text.
    pub async fn is_text(&mut self) -> Result<bool, ToolError> {
        self.look().await.map(|look| !matches!(look, Look::Binary))
    }

    /// What it begins with.
    pub async fn head(&mut self) -> Result<&[u8], ToolError> {
        self.fill(LOOK).await?;
        Ok(&self.ahead)
    }

    async fn fill(&mut self, least: usize) -> Result<(), ToolError> {
        while self.ahead.len() < least {
            match self.bytes_behind().await? {
                Some(piece) => self.ahead.extend(piece),
                None => break,
            }
        }
        Ok(())
    }

    async fn look(&mut self) -> Result<Look, ToolError> {
        self.fill(LOOK).await?;
        let look = &self.ahead[..self.ahead.len().min(LOOK)];
        let whole = look.len() == self.ahead.len() && self.mask.is_none();
        Ok(look_at(look, whole))
    }

    fn decode_as(&mut self, encoding: &'static Encoding) {
        if encoding == UTF_8 {
            self.second = None; // its bytes showed them
        }
        self.decoder = Some(encoding.new_decoder_with_bom_removal());
    }

    /// The next bytes; `None` at the end.
    pub async fn bytes(&mut self) -> Result<Option<Vec<u8>>, ToolError> {
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
            let shown = match self.pieces.try_next().await? {
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

    /// The next piece of text; `None` at the end. What cannot be decoded is shown as U+FFFD.
    pub async fn text(&mut self) -> Result<Option<String>, ToolError> {
        if !std::mem::replace(&mut self.looked, true) {
            match self.look().await? {
                Look::Text(encoding) => self.decode_as(encoding),
                Look::Binary => self.decode_as(UTF_8),
                Look::Ascii => {}
            }
        }
        loop {
            if self.ended {
                return Ok(None);
            }
            let mut piece = self.bytes().await?;
            if self.decoder.is_none() {
                match piece {
                    Some(ascii) if ascii.is_ascii() => {
                        // Checked just now, so nothing is lost.
                        return Ok(Some(String::from_utf8(ascii).unwrap_or_default()));
                    }
                    Some(first) => {
                        self.ahead = first;
                        let plain = self.ahead.iter().take_while(|byte| byte.is_ascii());
                        let least = plain.count() + LOOK;
                        self.fill(least).await?;
                        let look = &self.ahead[least - LOOK..];
                        let encoding = guess(&look[..look.len().min(LOOK)]);
                        self.decode_as(encoding);
                        piece = self.bytes().await?;
                    }
                    None => {}
                }
            }
            self.ended = piece.is_none();
            let text = self.decoded(&piece.unwrap_or_default());
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
    }

    fn decoded(&mut self, bytes: &[u8]) -> String {
        let mut text = String::new();
        if let Some(decoder) = &mut self.decoder {
            let mut rest = bytes;
            loop {
                let room = decoder.max_utf8_buffer_length(rest.len());
                text.reserve(room.unwrap_or(rest.len()).max(16));
                let (done, read, _) = decoder.decode_to_string(rest, &mut text, self.ended);
                rest = &rest[read..];
                if done == encoding_rs::CoderResult::InputEmpty {
                    break;
                }
            }
        }
        let Some(second) = &mut self.second else {
            return text;
        };
        let mut shown = second.push(text.as_bytes());
        if self.ended {
            shown.extend(
                self.second
                    .take()
                    .map(RedactStream::finish)
                    .unwrap_or_default(),
            );
        }
        // Secrets are cut out in whole characters, and only whole characters are held back.
        String::from_utf8(shown)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// All of the text, or its beginning of a little over `most` bytes; and whether that is all.
    pub async fn all(&mut self, most: usize) -> Result<(String, bool), ToolError> {
        let mut all = String::new();
        while let Some(piece) = self.text().await? {
            all.push_str(&piece);
            if all.len() > most {
                return Ok((all, false));
            }
        }
        Ok((all, true))
    }
}

/// Tells text from other bytes by how it begins; `whole` says that there is no more.
fn look_at(look: &[u8], whole: bool) -> Look {
    if let Some((encoding, _)) = Encoding::for_bom(look) {
        return Look::Text(encoding);
    }
    if look.contains(&0) {
        return wide(look).map_or(Look::Binary, Look::Text);
    }
    if look.is_ascii() {
        // Terminals' escapes are common in logs; other control characters are as common in data.
        let odd = look.iter().filter(|byte| is_odd(**byte)).count();
        return if odd * 20 > look.len() {
            Look::Binary
        } else {
            Look::Ascii
        };
    }
    match std::str::from_utf8(look) {
        Ok(_) => return Look::Text(UTF_8),
        // A character may be cut where the look ends.
        Err(error) if error.error_len().is_none() && !whole => return Look::Text(UTF_8),
        Err(_) => {}
    }
    match look.iter().any(|byte| is_odd(*byte)) {
        true => Look::Binary,
        false => Look::Text(guess(look)),
    }
}

/// Control characters that no text has.
fn is_odd(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1b) || byte == 0x7f
}

/// UTF-16 without a mark: in most scripts' text, one of the two bytes of nearly every unit is zero for spaces, digits and line ends.
fn wide(look: &[u8]) -> Option<&'static Encoding> {
    let zeros = |first: usize| {
        look.iter()
            .skip(first)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let (even, odd, units) = (zeros(0), zeros(1), look.len() / 2);
    let encoding = match (even, odd) {
        (0, odd) if odd * 10 >= units.max(1) => UTF_16LE,
        (even, 0) if even * 10 >= units.max(1) => UTF_16BE,
        _ => return None,
    };
    let (text, _, wrong) = encoding.decode(&look[..look.len() / 2 * 2]);
    // The last character may be cut in half.
    let wrong = wrong && text.trim_end_matches('\u{fffd}').contains('\u{fffd}');
    let odd = text.chars().any(|c| u8::try_from(c).is_ok_and(is_odd));
    (!wrong && !odd).then_some(encoding)
}

/// The encoding of text that is not all ASCII.
fn guess(look: &[u8]) -> &'static Encoding {
    let (mut good, mut bad) = (0, 0);
    for chunk in look.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    // Text in other encodings hardly ever looks like UTF-8, and UTF-8 with a damaged place is still that.
    if good > 4 * bad.saturating_sub(1) && good > 0 {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(look, true);
    let guessed = detector.guess(None, Utf8Detection::Allow);
    match guessed.is_ascii_compatible() {
        true => guessed,
        false => WINDOWS_1252,
    }
}
