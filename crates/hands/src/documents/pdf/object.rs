//! PDF objects and their parser.

use std::collections::HashMap;

/// Maximum nesting of arrays and dictionaries.
const MAX_DEPTH: usize = 32;
/// Maximum entries of an array or dictionary; the rest is skipped.
const MAX_ENTRIES: usize = 1 << 20;

pub(super) type Dict = HashMap<String, Object>;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Object {
    Null,
    Bool(bool),
    Number(f64),
    Text(Vec<u8>),
    Name(String),
    List(Vec<Object>),
    Dict(Dict),
    /// A reference to another object.
    Ref(u32),
    /// Any other keyword, such as an operator.
    Word(String),
}

impl Object {
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Object]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(found) if found == word)
    }
}

/// Parses objects one after the other.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The next object; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Object> {
        self.object(0)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn skip_blank(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'%' => {
                    let rest = &self.bytes[self.at..];
                    let line = rest.iter().position(|b| matches!(b, b'\n' | b'\r'));
                    self.at += line.unwrap_or(rest.len());
                }
                byte if is_blank(byte) => self.at += 1,
                _ => break,
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Object> {
        self.skip_blank();
        let byte = self.peek()?;
        match byte {
            b'/' => {
                self.at += 1;
                Some(Object::Name(self.name()))
            }
            b'(' => {
                self.at += 1;
                Some(Object::Text(self.literal()))
            }
            b'<' if self.bytes.get(self.at + 1) == Some(&b'<') => {
                self.at += 2;
                Some(self.dict(depth))
            }
            b'<' => {
                self.at += 1;
                Some(Object::Text(self.hex()))
            }
            b'[' => {
                self.at += 1;
                Some(self.list(depth))
            }
            b'>' if self.bytes.get(self.at + 1) == Some(&b'>') => {
                self.at += 2;
                Some(Object::Word(">>".to_owned()))
            }
            b']' | b'{' | b'}' | b'>' | b')' => {
                self.at += 1;
                Some(Object::Word(char::from(byte).to_string()))
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => Some(self.number_or_ref()),
            _ => {
                let word = self.regular();
                let word = String::from_utf8_lossy(word);
                Some(match &*word {
                    "true" => Object::Bool(true),
                    "false" => Object::Bool(false),
                    "null" => Object::Null,
                    _ => Object::Word(word.into_owned()),
                })
            }
        }
    }

    fn regular(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let ends = |byte: &u8| is_blank(*byte) || is_delimiter(*byte);
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn name(&mut self) -> String {
        let raw = self.regular();
        let (mut name, mut at) = (Vec::with_capacity(raw.len()), 0);
        while at < raw.len() {
            let escaped = (raw[at] == b'#').then(|| raw.get(at + 1..at + 3)).flatten();
            let escaped = escaped.and_then(|two| Some(hex(two[0])? << 4 | hex(two[1])?));
            at += if escaped.is_some() { 3 } else { 1 };
            name.push(escaped.unwrap_or(raw[at - 1]));
        }
        String::from_utf8_lossy(&name).into_owned()
    }

    fn literal(&mut self) -> Vec<u8> {
        let (mut text, mut open) = (Vec::new(), 1_usize);
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' => open += 1,
                b')' => {
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                }
                b'\\' => {
                    self.escape(&mut text);
                    continue;
                }
                _ => {}
            }
            text.push(byte);
        }
        text
    }

    fn escape(&mut self, text: &mut Vec<u8>) {
        let Some(byte) = self.peek() else {
            return;
        };
        self.at += 1;
        match byte {
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'b' => text.push(8),
            b'f' => text.push(12),
            b'\n' => {}
            b'\r' => self.at += usize::from(self.peek() == Some(b'\n')),
            b'0'..=b'7' => {
                let mut value = u32::from(byte - b'0');
                for _ in 0..2 {
                    match self.peek() {
                        Some(digit @ b'0'..=b'7') => value = value * 8 + u32::from(digit - b'0'),
                        _ => break,
                    }
                    self.at += 1;
                }
                text.push(value as u8);
            }
            other => text.push(other),
        }
    }

    fn hex(&mut self) -> Vec<u8> {
        let rest = &self.bytes[self.at..];
        let length = memchr::memchr(b'>', rest).unwrap_or(rest.len());
        self.at += (length + 1).min(rest.len());
        let digits: Vec<u8> = rest[..length]
            .iter()
            .filter_map(|byte| hex(*byte))
            .collect();
        let pair = |two: &[u8]| two[0] << 4 | two.get(1).copied().unwrap_or(0);
        digits.chunks(2).map(pair).collect()
    }

    fn list(&mut self, depth: usize) -> Object {
        let mut list = Vec::new();
        while depth < MAX_DEPTH
            && let Some(object) = self.object(depth + 1)
        {
            if object.is("]") {
                break;
            }
            if object.is("endobj") {
                self.at -= "endobj".len(); // it was never closed
                break;
            }
            if list.len() < MAX_ENTRIES {
                list.push(object);
            }
        }
        Object::List(list)
    }

    fn dict(&mut self, depth: usize) -> Object {
        let mut dict = Dict::new();
        while depth < MAX_DEPTH
            && let Some(key) = self.object(depth + 1)
        {
            let key = match key {
                Object::Name(name) => name,
                Object::Word(word) if word == ">>" => break,
                _ => continue, // out of step: go on with the next name
            };
            let before = self.at;
            match self.object(depth + 1) {
                Some(Object::Word(word)) if word == ">>" => break,
                Some(Object::Word(word)) if word == "endobj" || word == "stream" => {
                    self.at = before;
                    break;
                }
                Some(value) if dict.len() < MAX_ENTRIES => drop(dict.insert(key, value)),
                Some(_) => {}
                None => break,
            }
        }
        Object::Dict(dict)
    }

    fn number(&mut self) -> Option<f64> {
        let raw = self.regular();
        let text = std::str::from_utf8(raw).ok()?;
        let plain = text.parse::<f64>().ok().filter(|number| number.is_finite());
        // Some writers emit two signs, or a sign in the middle.
        plain.or_else(|| text.trim_start_matches(['-', '+']).parse().ok())
    }

    fn number_or_ref(&mut self) -> Object {
        let from = self.at;
        let Some(number) = self.number() else {
            if self.at == from {
                self.at += 1;
            }
            return Object::Number(0.0);
        };
        let whole = number >= 0.0 && number.fract() == 0.0 && number <= f64::from(u32::MAX);
        if whole {
            // `12 0 R` is one object; two numbers without an R are two.
            let mut ahead = self.clone();
            ahead.skip_blank();
            let digits = ahead.regular();
            ahead.skip_blank();
            let generation =
                !digits.is_empty() && digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit);
            if generation && ahead.peek() == Some(b'R') {
                ahead.at += 1;
                if ahead
                    .peek()
                    .is_none_or(|byte| is_blank(byte) || is_delimiter(byte))
                {
                    self.at = ahead.at;
                    return Object::Ref(number as u32);
                }
            }
        }
        Object::Number(number)
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 12 | b'\r' | b' ')
}

fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%'
    )
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}
