//! Edits one entry of a JSON file without touching any other byte: comments, trailing commas, indentation and line
//! ends belong to the owner.
//!
//! The text is parsed into spans, and an edit is an insertion, or a replacement, of one range.

use std::ops::Range;

use serde_json::Value;

/// Deeper nesting than any settings file has; the parser is recursive.
const MAX_DEPTH: usize = 128;

/// Returns `text` with the value at `path` set, and the objects above it created where missing.
pub fn set(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let style = Style::of(text);
    let Some(root) = document(text)? else {
        return Ok(style.only(text, path, value));
    };
    let mut object = root;
    let (last, above) = path.split_last().ok_or("no key to set")?;
    for (depth, key) in above.iter().enumerate() {
        let members = object.members(&path[..depth])?;
        match members.iter().rev().find(|member| member.key == *key) {
            Some(member) => object = member.value.clone(),
            None => {
                let inner = path[depth + 1..].iter().rev();
                let value = inner.fold(value.clone(), |value, key| {
                    Value::Object([((*key).to_owned(), value)].into_iter().collect())
                });
                return Ok(style.insert(text, &object, key, &value));
            }
        }
    }
    // Where a key appears twice, programs use the last one.
    let members = object.members(above)?;
    match members.iter().rev().find(|member| member.key == *last) {
        Some(member) => {
            let base = indent_of(text, member.start);
            let one_line = !text[member.value.span.clone()].contains('\n');
            let empty = text[member.value.span.clone()].len() <= 2;
            let shown = match one_line && !empty {
                true => compact(value),
                false => style.pretty(value, base),
            };
            Ok(replaced(text, member.value.span.clone(), &shown))
        }
        None => Ok(style.insert(text, &object, last, value)),
    }
}

/// Returns `text` without the value at `path`; `None` if it was not there.
pub fn remove(text: &str, path: &[&str]) -> Result<Option<String>, String> {
    let mut edited = None;
    // Where a key appears twice, removing only the last one would bring the first one back.
    while let Some(next) = remove_last(edited.as_deref().unwrap_or(text), path)? {
        edited = Some(next);
    }
    Ok(edited)
}

fn remove_last(text: &str, path: &[&str]) -> Result<Option<String>, String> {
    let Some(mut object) = document(text)? else {
        return Ok(None);
    };
    let (last, above) = path.split_last().ok_or("no key to remove")?;
    for (depth, key) in above.iter().enumerate() {
        let members = object.members(&path[..depth])?;
        match members.iter().rev().find(|member| member.key == *key) {
            Some(member) => object = member.value.clone(),
            None => return Ok(None),
        }
    }
    let members = object.members(above)?;
    let Some(at) = members.iter().rposition(|member| member.key == *last) else {
        return Ok(None);
    };
    let member = &members[at];
    let end = member
        .comma
        .map_or(member.value.span.end, |comma| comma + 1);
    let gone = whole_lines(text, member.start..end);
    let mut edited = replaced(text, gone, "");
    // Without its own comma it was the last one, and the comma before it would be one too many.
    if member.comma.is_none()
        && let Some(comma) = at.checked_sub(1).and_then(|before| members[before].comma)
    {
        edited.remove(comma);
    }
    Ok(Some(edited))
}

/// Extends a range to the end of its lines if nothing else is on them, or else over the space before it.
fn whole_lines(text: &str, range: Range<usize>) -> Range<usize> {
    let line = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let blank = |text: &str| text.chars().all(|c| matches!(c, ' ' | '\t' | '\r'));
    let end = text[range.end..].find('\n').map(|at| range.end + at);
    match end {
        Some(end) if blank(&text[line..range.start]) && blank(&text[range.end..end]) => {
            line..end + 1
        }
        _ => {
            let before = text[..range.start].trim_end_matches([' ', '\t']).len();
            let rest = &text[range.end..];
            let after = rest.trim_start_matches(' ');
            // One space stays: the one after `{` in front of another member, or else the one in front of `}`.
            match text[..before].ends_with(',') || after.starts_with('}') {
                true => before..range.end,
                false => range.start..range.end + (rest.len() - after.len()),
            }
        }
    }
}

fn replaced(text: &str, range: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

/// The white space at the start of the line of `at`.
fn indent_of(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let line = text[line..].trim_start_matches('\u{feff}');
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// A value on one line.
fn compact(value: &Value) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let members = map
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), compact(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(compact).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// How the owner writes: line ends and indentation.
struct Style {
    newline: &'static str,
    indent: String,
}

impl Style {
    fn of(text: &str) -> Self {
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let indents = text.lines().filter_map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            // The first key on a line of its own; a line of a comment may be indented by anything.
            (rest.starts_with('"') && rest.len() < line.len())
                .then(|| line[..line.len() - rest.len()].to_owned())
        });
        let indent = indents.into_iter().next();
        Self {
            newline,
            indent: indent.unwrap_or_else(|| "  ".to_owned()),
        }
    }

    /// The text of a file that has no value yet.
    fn only(&self, text: &str, path: &[&str], value: &Value) -> String {
        let value = path.iter().rev().fold(value.clone(), |value, key| {
            Value::Object([((*key).to_owned(), value)].into_iter().collect())
        });
        let content = text.strip_prefix('\u{feff}').unwrap_or(text);
        let gap = match content.is_empty() || content.ends_with('\n') {
            true => "",
            false => self.newline,
        };
        format!("{text}{gap}{}{}", self.pretty(&value, ""), self.newline)
    }

    /// A value on several lines, whose last line is indented by `base`.
    fn pretty(&self, value: &Value, base: &str) -> String {
        let Value::Object(map) = value else {
            return compact(value);
        };
        if map.is_empty() {
            return "{}".to_owned();
        }
        let inner = format!("{base}{}", self.indent);
        let members = map.iter().map(|(key, value)| {
            let key = Value::from(key.as_str());
            format!("{inner}{key}: {}", self.pretty(value, &inner))
        });
        let members = members.collect::<Vec<_>>();
        let (newline, between) = (self.newline, format!(",{}", self.newline));
        format!("{{{newline}{}{newline}{base}}}", members.join(&between))
    }

    /// Inserts a member at the start of an object: one insertion, and no comma is added to a line of the owner's.
    fn insert(&self, text: &str, object: &SyntaxNode, key: &str, value: &Value) -> String {
        let open = object.span.start + 1;
        let key = Value::from(key);
        let first = object.members(&[]).ok().and_then(|members| members.first());
        let comma = if first.is_some() { "," } else { "" };
        let Some(line_end) = rest_is_comment(&text[open..]).map(|end| open + end) else {
            if &text[open..object.span.end] == "}" {
                let base = indent_of(text, object.span.start);
                let inner = format!("{base}{}", self.indent);
                let (newline, shown) = (self.newline, self.pretty(value, &inner));
                let member = format!("{newline}{inner}{key}: {shown}{newline}{base}");
                return replaced(text, open..open, &member);
            }
            // Everything on one line stays on one line.
            let space = if text[open..].starts_with(' ') {
                " "
            } else {
                ""
            };
            let member = format!("{space}{key}: {}{comma}", compact(value));
            return replaced(text, open..open, &member);
        };
        let inner = match first {
            Some(first) if is_first_on_line(text, first.start) => {
                indent_of(text, first.start).to_owned()
            }
            _ => format!("{}{}", indent_of(text, object.span.start), self.indent),
        };
        let member = format!(
            "{}{inner}{key}: {}{comma}",
            self.newline,
            self.pretty(value, &inner)
        );
        replaced(text, line_end..line_end, &member)
    }
}

fn is_first_on_line(text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |at| at + 1);
    text[line..at].trim().is_empty()
}

/// The end of the line, without its line break, if there is only space and complete comments before it.
fn rest_is_comment(text: &str) -> Option<usize> {
    let line = &text[..text.find('\n')?];
    let line = line.strip_suffix('\r').unwrap_or(line);
    let mut scan = Scan { text: line, at: 0 };
    scan.space().ok()?;
    (scan.at == line.len()).then_some(line.len())
}

/// A parsed value and where it is.
#[derive(Debug, Clone)]
struct SyntaxNode {
    span: Range<usize>,
    /// Members, if it is an object.
    object: Option<Vec<Member>>,
}

#[derive(Debug, Clone)]
struct Member {
    key: String,
    start: usize,
    value: SyntaxNode,
    /// Position of the comma after it.
    comma: Option<usize>,
}

impl SyntaxNode {
    fn members(&self, path: &[&str]) -> Result<&[Member], String> {
        let place = match path {
            [] => "the top level".to_owned(),
            path => path.join("."),
        };
        self.object
            .as_deref()
            .ok_or_else(|| format!("{place} is not an object"))
    }
}

/// Parses a whole text; `None` if it has no value.
fn document(text: &str) -> Result<Option<SyntaxNode>, String> {
    let mut scan = Scan { text, at: 0 };
    if text.starts_with('\u{feff}') {
        scan.at = '\u{feff}'.len_utf8();
    }
    scan.space()?;
    if scan.at == text.len() {
        return Ok(None);
    }
    let root = scan.value(0)?;
    scan.space()?;
    match scan.at == text.len() {
        true => Ok(Some(root)),
        false => Err(scan.wrong("unexpected text after the end")),
    }
}

/// A position in a text.
struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl Scan<'_> {
    fn wrong(&self, what: &str) -> String {
        // An unfinished escape can end behind the text.
        let read = self.text.bytes().take(self.at);
        let line = read.filter(|byte| *byte == b'\n').count() + 1;
        format!("invalid JSON: line {line}: {what}")
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Skips white space and comments.
    fn space(&mut self) -> Result<(), String> {
        loop {
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                match comment.find("*/") {
                    Some(end) => self.at += end + 4,
                    None => return Err(self.wrong("unclosed comment")),
                }
            } else if matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                self.at += 1;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<SyntaxNode, String> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("nested too deeply"));
        }
        let start = self.at;
        let object = match self.peek() {
            Some(b'{') => Some(self.object(depth)?),
            Some(b'[') => {
                self.array(depth)?;
                None
            }
            Some(b'"') => {
                self.string()?;
                None
            }
            _ => {
                self.word()?;
                None
            }
        };
        Ok(SyntaxNode {
            span: start..self.at,
            object,
        })
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member>, String> {
        self.at += 1;
        let mut members: Vec<Member> = Vec::new();
        loop {
            self.space()?;
            if self.take(b'}') {
                return Ok(members);
            }
            if members.last().is_some_and(|last| last.comma.is_none()) {
                return Err(self.wrong("expected a comma or }"));
            }
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.wrong("expected a key in double quotes"));
            }
            let key = self.string()?;
            self.space()?;
            if !self.take(b':') {
                return Err(self.wrong("expected a colon"));
            }
            self.space()?;
            let value = self.value(depth + 1)?;
            self.space()?;
            let comma = self.take(b',').then(|| self.at - 1);
            members.push(Member {
                key,
                start,
                value,
                comma,
            });
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), String> {
        self.at += 1;
        let mut more = true;
        loop {
            self.space()?;
            if self.take(b']') {
                return Ok(());
            }
            if !more {
                return Err(self.wrong("expected a comma or ]"));
            }
            self.value(depth + 1)?;
            self.space()?;
            more = self.take(b',');
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None | Some(b'\n') => return Err(self.wrong("unclosed string")),
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let text = self.text.get(start..self.at);
        let parsed = text.and_then(|text| serde_json::from_str(text).ok());
        parsed.ok_or_else(|| self.wrong("invalid string"))
    }

    fn word(&mut self) -> Result<(), String> {
        let rest = &self.text[self.at..];
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
        let end = rest.find(|c| !legal(c)).unwrap_or(rest.len());
        // A number, true, false or null; serde knows the rules.
        if serde_json::from_str::<Value>(&rest[..end]).is_err() {
            return Err(self.wrong("expected a value"));
        }
        self.at += end;
        Ok(())
    }
}
