//! Edits one entry of a YAML file without touching any other line: a map of entries by name (Goose), or a list of entries
//! with a `name` (Continue), below a key of the top level.
//!
//! Only block style is understood, which is what these programs write. The caller checks that the result means what was
//! intended, so anything else is refused rather than damaged.

use std::ops::Range;

use serde_json::Value;

use crate::Layout;

/// Returns `text` with the entry `name` below `key` set.
pub fn set(
    text: &str,
    key: &str,
    entries: Layout,
    name: &str,
    value: &Value,
) -> Result<String, String> {
    let newline = newline(text);
    let Some(section) = Section::find(text, key, entries)? else {
        let mut added = match text.is_empty() || text.ends_with('\n') || text == "\u{feff}" {
            true => String::new(),
            false => newline.to_owned(),
        };
        added.push_str(&format!("{key}:{newline}"));
        added.push_str(&entry(entries, "  ", name, value, newline));
        return Ok(format!("{text}{added}"));
    };
    let shown = entry(entries, &section.indent, name, value, newline);
    if let Some(old) = section.entry(text, name) {
        return Ok(format!("{}{shown}{}", &text[..old.start], &text[old.end..]));
    }
    let mut before = text[..section.header.end].to_owned();
    if let Some(empty) = &section.empty {
        before.replace_range(empty.clone(), "");
    }
    if !before.ends_with('\n') {
        before.push_str(newline);
    }
    Ok(format!("{before}{shown}{}", &text[section.header.end..]))
}

/// Returns `text` without the entry `name` below `key`; `None` if it was not there.
pub fn remove(
    text: &str,
    key: &str,
    entries: Layout,
    name: &str,
) -> Result<Option<String>, String> {
    let Some(section) = Section::find(text, key, entries)? else {
        return Ok(None);
    };
    let Some(old) = section.entry(text, name) else {
        return Ok(None);
    };
    let mut edited = format!("{}{}", &text[..old.start], &text[old.end..]);
    // A key without a value would be null, which is not what an empty map or list means.
    let others = text[section.body.clone()].len() - old.len();
    let rest = &edited[section.body.start..section.body.start + others];
    if rest.lines().all(is_blank) {
        let none = match entries {
            Layout::Map => " {}",
            Layout::List => " []",
        };
        edited.insert_str(section.colon, none);
    }
    Ok(Some(edited))
}

/// Returns `text` without `key`, if nothing is below it.
pub fn remove_empty(text: &str, key: &str, entries: Layout) -> Result<Option<String>, String> {
    let Some(section) = Section::find(text, key, entries)? else {
        return Ok(None);
    };
    let header = section.header;
    Ok(section
        .empty
        .map(|_| format!("{}{}", &text[..header.start], &text[header.end..])))
}

fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether a line is `key:`, also with the key in quotes; returns what follows the colon.
fn after_key<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let rest = ['"', '\''].iter().find_map(|quote| {
        let rest = line.strip_prefix(*quote)?.strip_prefix(key)?;
        rest.strip_prefix(*quote)
    });
    let rest = rest.or_else(|| line.strip_prefix(key))?;
    let rest = rest.trim_start_matches(' ').strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n'])).then_some(rest)
}

/// The lines below a key of the top level.
struct Section {
    /// The line of the key, with its line break.
    header: Range<usize>,
    /// Where the colon after the key ends.
    colon: usize,
    /// What is between the key and the end of its line, if the section is empty.
    empty: Option<Range<usize>>,
    /// The lines below it.
    body: Range<usize>,
    /// Indentation of its entries.
    indent: String,
    entries: Layout,
}

impl Section {
    fn find(text: &str, key: &str, entries: Layout) -> Result<Option<Self>, String> {
        let mut at = 0;
        let mut lines = text.split_inclusive('\n');
        let header = loop {
            let Some(line) = lines.next() else {
                return Ok(None);
            };
            let shown = line.trim_start_matches('\u{feff}');
            if let Some(rest) = after_key(shown, key) {
                break (at..at + line.len(), rest);
            }
            at += line.len();
        };
        let (header, rest) = header;
        let (start, mut end) = (header.end, header.end);
        let mut first = None;
        let mut at = start;
        for line in lines {
            at += line.len();
            if is_blank(line) {
                continue;
            }
            let (depth, content) = (indent(line), line.trim());
            // The items of a list may be indented as little as its key.
            let below = depth > 0
                || (entries == Layout::List && (content == "-" || content.starts_with("- ")));
            if !below {
                break;
            }
            first.get_or_insert(depth);
            end = at;
        }
        let plain = rest.split(" #").next().unwrap_or_default().trim();
        let none = ["", "{}", "[]", "null", "~"].contains(&plain);
        if !none {
            return Err(format!("{key} is not written in block style"));
        }
        if first.is_some() && !plain.is_empty() {
            return Err(format!("{key} has both a value and lines below it"));
        }
        let colon = header.end - rest.len();
        let empty = first.is_none().then(|| {
            let value = rest.find(plain).unwrap_or(0);
            colon..colon + value + plain.len()
        });
        Ok(Some(Self {
            header,
            colon,
            empty,
            body: start..end,
            indent: " ".repeat(first.unwrap_or(2)),
            entries,
        }))
    }

    /// The lines of an entry.
    fn entry(&self, text: &str, name: &str) -> Option<Range<usize>> {
        let mut at = self.body.start;
        // The start of the entry being read, and whether it is the one.
        let mut current: Option<(usize, bool)> = None;
        let mut end = at;
        for line in text[self.body.clone()].split_inclusive('\n') {
            let start = at;
            at += line.len();
            if is_blank(line) {
                continue;
            }
            let (depth, content) = (indent(line), line.trim_start_matches(' '));
            let begins = match self.entries {
                Layout::Map => depth <= self.indent.len(),
                Layout::List => depth <= self.indent.len() && content.starts_with('-'),
            };
            if begins {
                if let Some((from, true)) = current {
                    return Some(from..end);
                }
                current = Some((start, false));
            }
            let is_named = match self.entries {
                Layout::Map => begins && after_key(content, name).is_some(),
                Layout::List => {
                    let inner = content.strip_prefix("- ").filter(|_| begins);
                    let inner = inner.map(|inner| inner.trim_start_matches(' '));
                    let direct = inner.or_else(|| {
                        let same = depth == self.indent.len() + 2;
                        same.then_some(content)
                    });
                    direct
                        .and_then(|line| after_key(line, "name"))
                        .is_some_and(|value| value.trim().trim_matches(['"', '\'']) == name)
                }
            };
            if is_named && let Some(current) = &mut current {
                current.1 = true;
            }
            end = at;
        }
        current.and_then(|(from, found)| found.then_some(from..end))
    }
}

/// The lines of a new entry.
fn entry(entries: Layout, indent: &str, name: &str, value: &Value, newline: &str) -> String {
    let mut lines = Vec::new();
    match entries {
        Layout::Map => {
            lines.push(format!("{indent}{name}:"));
            members(&mut lines, &format!("{indent}  "), value);
        }
        Layout::List => {
            lines.push(format!("{indent}- name: {name}"));
            members(&mut lines, &format!("{indent}  "), value);
        }
    }
    lines
        .into_iter()
        .map(|line| format!("{line}{newline}"))
        .collect()
}

fn members(lines: &mut Vec<String>, indent: &str, value: &Value) {
    for (key, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Object(map) if !map.is_empty() => {
                lines.push(format!("{indent}{key}:"));
                members(lines, &format!("{indent}  "), value);
            }
            Value::Array(list) if !list.is_empty() => {
                lines.push(format!("{indent}{key}:"));
                // JSON strings are YAML strings in double quotes.
                lines.extend(list.iter().map(|item| format!("{indent}  - {item}")));
            }
            Value::String(text) if is_plain(text) => lines.push(format!("{indent}{key}: {text}")),
            other => lines.push(format!("{indent}{key}: {other}")),
        }
    }
}

/// Whether a string needs no quotes and cannot be read as anything else.
fn is_plain(text: &str) -> bool {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && !words.contains(&text.to_ascii_lowercase().as_str())
}
