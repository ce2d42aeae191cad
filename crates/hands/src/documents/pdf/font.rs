//! The meaning and width of a font's codes.

use std::collections::HashMap;

use super::file::PdfFile;
use super::glyphs;
use super::object::{Dict, Lexer, Object};
use crate::documents::{Extraction, StopCause};

/// Maximum entries of a font's table.
const MAX_ENTRIES: usize = 200_000;

/// The parts of a font that matter for text.
pub(super) struct Font {
    /// Whether its codes have two bytes.
    wide: bool,
    /// Its ToUnicode map: first code, last code, meaning of the first.
    meanings: Vec<(u32, u32, String)>,
    /// The meaning of one-byte codes without a map.
    bytes: Option<Vec<Option<char>>>,
    /// Whether codes are UTF-16.
    utf16: bool,
    widths: HashMap<u32, f64>,
    usual_width: f64,
}

impl Font {
    pub(super) fn read(
        file: &PdfFile<'_>,
        dict: &Dict,
        work: &mut Extraction<'_>,
    ) -> Result<Self, StopCause> {
        let kind = file.get(dict, "Subtype", work)?;
        let wide = kind.name() == Some("Type0");
        let encoding = file.get(dict, "Encoding", work)?;
        let mut meanings = Vec::new();
        if let Some(table) = dict.get("ToUnicode")
            && let Some((_, Some(bytes))) = file.stream(table, work)?
        {
            meanings = to_unicode(&bytes, work)?;
        }
        let name = encoding.name().unwrap_or_default();
        let mut font = Self {
            wide,
            meanings,
            bytes: None,
            utf16: wide && (name.contains("UCS2") || name.contains("UTF16")),
            widths: HashMap::new(),
            usual_width: 500.0,
        };
        match wide {
            true => font.wide_widths(file, dict, work)?,
            false => {
                font.bytes = Some(simple(file, &encoding, work)?);
                font.narrow_widths(file, dict, work)?;
            }
        }
        Ok(font)
    }

    fn narrow_widths(
        &mut self,
        file: &PdfFile<'_>,
        dict: &Dict,
        work: &mut Extraction<'_>,
    ) -> Result<(), StopCause> {
        let first = file.get(dict, "FirstChar", work)?.number().unwrap_or(0.0) as u32;
        if let Object::List(widths) = file.get(dict, "Widths", work)? {
            for (index, width) in (0..256).zip(&widths) {
                if let Some(width) = file.resolve(width, work)?.number() {
                    self.widths.insert(first.saturating_add(index), width);
                }
            }
        }
        Ok(())
    }

    fn wide_widths(
        &mut self,
        file: &PdfFile<'_>,
        dict: &Dict,
        work: &mut Extraction<'_>,
    ) -> Result<(), StopCause> {
        self.usual_width = 1000.0;
        let Object::List(inner) = file.get(dict, "DescendantFonts", work)? else {
            return Ok(());
        };
        let inner = inner
            .first()
            .map(|one| file.resolve(one, work))
            .transpose()?;
        let Some(Object::Dict(inner)) = inner else {
            return Ok(());
        };
        if let Some(width) = file.get(&inner, "DW", work)?.number() {
            self.usual_width = width;
        }
        let Object::List(list) = file.get(&inner, "W", work)? else {
            return Ok(());
        };
        // `first [w w w]` or `first last w`.
        let mut rest = list.as_slice();
        while let [first, second, more @ ..] = rest
            && self.widths.len() < MAX_ENTRIES
        {
            work.step(1)?;
            let first = first.number().unwrap_or(0.0) as u32;
            match file.resolve(second, work)? {
                Object::List(each) => {
                    for (index, width) in each.iter().enumerate().take(MAX_ENTRIES) {
                        let code = first.saturating_add(index as u32);
                        self.widths.insert(code, width.number().unwrap_or(1000.0));
                    }
                    rest = more;
                }
                last => {
                    let last = last.number().unwrap_or(0.0) as u32;
                    let width = more.first().and_then(Object::number).unwrap_or(1000.0);
                    for code in (first..=last).take(65_536) {
                        self.widths.insert(code, width);
                    }
                    rest = more.get(1..).unwrap_or_default();
                }
            }
        }
        Ok(())
    }

    /// Visits the codes of a text: meaning, width in thousandths of the text size, and whether it is code
    /// 32, which word spacing widens.
    pub(super) fn each(&self, text: &[u8], mut show: impl FnMut(&str, f64, bool)) {
        let size = if self.wide { 2 } else { 1 };
        for code in text.chunks(size) {
            let value = code
                .iter()
                .fold(0_u32, |value, byte| value << 8 | u32::from(*byte));
            let width = self.widths.get(&value).copied().unwrap_or(self.usual_width);
            let mut own = String::new();
            self.meaning(value, &mut own);
            show(&own, width, size == 1 && value == 32);
        }
    }

    fn meaning(&self, code: u32, into: &mut String) {
        let index = self.meanings.partition_point(|(first, ..)| *first <= code);
        let entry = index
            .checked_sub(1)
            .and_then(|index| self.meanings.get(index));
        if let Some((first, last, text)) = entry
            && code <= *last
        {
            // Within a range, the last character counts up.
            let mut chars = text.chars();
            let end = chars.next_back().map(u32::from);
            into.push_str(chars.as_str());
            into.extend(end.and_then(|end| char::from_u32(end + (code - first))));
            return;
        }
        if self.utf16 {
            into.extend(char::from_u32(code));
        } else if let Some(bytes) = &self.bytes {
            into.extend(bytes.get(code as usize).copied().flatten());
        }
    }
}

/// The meaning of a one-byte font's codes.
fn simple(
    file: &PdfFile<'_>,
    encoding: &Object,
    work: &mut Extraction<'_>,
) -> Result<Vec<Option<char>>, StopCause> {
    let (base, differences) = match encoding {
        Object::Name(name) => (name.clone(), Vec::new()),
        Object::Dict(dict) => {
            let base = file.get(dict, "BaseEncoding", work)?;
            let differences = match file.get(dict, "Differences", work)? {
                Object::List(list) => list,
                _ => Vec::new(),
            };
            (base.name().unwrap_or_default().to_owned(), differences)
        }
        _ => (String::new(), Vec::new()),
    };
    let mut meanings = glyphs::base(&base);
    let mut code = 0_usize;
    for entry in &differences {
        work.step(1)?;
        match entry {
            Object::Number(number) => code = *number as usize,
            Object::Name(name) => {
                if let Some(meaning) = meanings.get_mut(code) {
                    *meaning = glyphs::named(name).or(*meaning);
                }
                code += 1;
            }
            _ => {}
        }
    }
    Ok(meanings)
}

/// Parses a ToUnicode map, sorted by code.
fn to_unicode(
    bytes: &[u8],
    work: &mut Extraction<'_>,
) -> Result<Vec<(u32, u32, String)>, StopCause> {
    let mut lexer = Lexer::new(bytes, 0);
    let (mut meanings, mut operands): (Vec<(u32, u32, String)>, Vec<Object>) = Default::default();
    while let Some(object) = lexer.next() {
        work.step(1)?;
        if meanings.len() >= MAX_ENTRIES {
            break;
        }
        let Object::Word(word) = &object else {
            operands.push(object);
            continue;
        };
        match word.as_str() {
            "endbfchar" => {
                for pair in operands.chunks_exact(2) {
                    if let [Object::Text(code), Object::Text(text)] = pair {
                        meanings.push((number(code), number(code), utf16(text)));
                    }
                }
            }
            "endbfrange" => {
                for three in operands.chunks_exact(3) {
                    let [Object::Text(first), Object::Text(last), to] = three else {
                        continue;
                    };
                    let (first, last) = (number(first), number(last));
                    match to {
                        Object::Text(text) => meanings.push((first, last, utf16(text))),
                        Object::List(each) => {
                            for (code, text) in (first..=last).zip(each) {
                                if let Object::Text(text) = text {
                                    meanings.push((code, code, utf16(text)));
                                }
                            }
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        operands.clear();
    }
    meanings.sort_by_key(|(first, ..)| *first);
    Ok(meanings)
}

fn number(code: &[u8]) -> u32 {
    code.iter()
        .take(4)
        .fold(0, |value, byte| value << 8 | u32::from(*byte))
}

fn utf16(bytes: &[u8]) -> String {
    let units = bytes.chunks(2).map(|two| match two {
        [high, low] => u16::from_be_bytes([*high, *low]),
        [one] => u16::from(*one),
        _ => 0,
    });
    let text = char::decode_utf16(units.take(64)).filter_map(Result::ok);
    text.filter(|c| *c != '\0').collect()
}
