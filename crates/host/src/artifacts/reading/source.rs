//! A file as a stream of bytes without known secrets, or of text in whatever encoding it is.

use bytes::Bytes;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use manyhands_core::ToolError;
use manyhands_guard::{RedactStream, Redactor};
use manyhands_store::StoreError;

/// How much is examined to tell text from binary data and to detect the encoding.
const LOOK: usize = 8 * 1024;
/// The piece size for texts in memory.
const PIECE: usize = 64 * 1024;

/// The bytes of a file as a stream.
pub struct TextSource {
    pieces: BoxStream<'static, Result<Bytes, StoreError>>,
    mask: Option<RedactStream>,
    /// Examined and not yet returned.
    ahead: Vec<u8>,
    looked: bool,
    /// Set once the encoding is known; until then everything was ASCII.
    decoder: Option<Decoder>,
    /// Removes secrets from decoded text whose bytes do not show them, such as UTF-16.
    second: Option<RedactStream>,
    ended: bool,
}

/// The guess from the beginning of a file.
enum ContentGuess {
    Binary,
    /// ASCII so far; the encoding shows later.
    Ascii,
    Text(&'static Encoding),
}

impl TextSource {
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

    /// A source from a text in memory.
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

    /// Returns whether it begins like text.
    pub async fn is_text(&mut self) -> Result<bool, ToolError> {
        self.inspect()
            .await
            .map(|look| !matches!(look, ContentGuess::Binary))
    }

    /// Returns its first bytes.
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

    async fn inspect(&mut self) -> Result<ContentGuess, ToolError> {
        self.fill(LOOK).await?;
        // Judge a fixed amount, however large the pieces are, so that the result does not depend on
        // how the file is stored.
        let look = &self.ahead[..self.ahead.len().min(LOOK)];
        let whole = look.len() == self.ahead.len() && self.mask.is_none();
        Ok(look_at(look, whole))
    }

    fn decode_as(&mut self, encoding: &'static Encoding) {
        if encoding == UTF_8 {
            self.second = None; // in UTF-8 the first mask sees every secret
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
            // The mask holds back bytes that could be the beginning of a secret; it is dropped only
            // at the end, which releases them.
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

    /// Returns the next piece of text; `None` at the end. Undecodable bytes become U+FFFD.
    pub async fn text(&mut self) -> Result<Option<String>, ToolError> {
        if !std::mem::replace(&mut self.looked, true) {
            match self.inspect().await? {
                ContentGuess::Text(encoding) => self.decode_as(encoding),
                ContentGuess::Binary => self.decode_as(UTF_8),
                ContentGuess::Ascii => {}
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
                        // Checked above, so nothing is lost.
                        return Ok(Some(String::from_utf8(ascii).unwrap_or_default()));
                    }
                    Some(first) => {
                        self.ahead = first;
                        // The first bytes beyond ASCII: read enough after them to guess the
                        // encoding, since the beginning of the file said nothing.
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
        // Bytes of UTF-16 do not show a secret to the first mask, so decoded text is searched
        // again.
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
        // Secrets are replaced by whole characters, and only whole characters are held back.
        String::from_utf8(shown)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Returns all of the text, or a little over `most` bytes of it, and whether that is all.
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

/// Tells text from binary data by its beginning; `whole` says that there is no more.
fn look_at(look: &[u8], whole: bool) -> ContentGuess {
    if let Some((encoding, _)) = Encoding::for_bom(look) {
        return ContentGuess::Text(encoding);
    }
    // A zero byte occurs in UTF-16 and in binary data, but not in other text.
    if look.contains(&0) {
        return wide(look).map_or(ContentGuess::Binary, ContentGuess::Text);
    }
    if look.is_ascii() {
        // Terminal escapes are common in logs. Other control characters are common only in binary
        // data.
        let odd = look.iter().filter(|byte| is_odd(**byte)).count();
        return if odd * 20 > look.len() {
            ContentGuess::Binary
        } else {
            ContentGuess::Ascii
        };
    }
    match std::str::from_utf8(look) {
        Ok(_) => return ContentGuess::Text(UTF_8),
        // The last character may be cut off by the limit.
        Err(error) if error.error_len().is_none() && !whole => return ContentGuess::Text(UTF_8),
        Err(_) => {}
    }
    match look.iter().any(|byte| is_odd(*byte)) {
        true => ContentGuess::Binary,
        false => ContentGuess::Text(guess(look)),
    }
}

/// Control characters that do not occur in text.
fn is_odd(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1b) || byte == 0x7f
}

/// Detects UTF-16 without a byte order mark: in most scripts, nearly every unit of spaces, digits
/// and line ends has a zero byte.
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

/// Guesses the encoding of text that is not all ASCII.
fn guess(look: &[u8]) -> &'static Encoding {
    let (mut good, mut bad) = (0, 0);
    for chunk in look.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    // Text in other encodings hardly ever looks like UTF-8, and UTF-8 with a damaged byte is still
    // UTF-8.
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
