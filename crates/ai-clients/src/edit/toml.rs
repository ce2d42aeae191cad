//! Edits one table of a TOML file without touching any other line.
//!
//! A new table goes to the end of the file. An existing one is found by its header, as lines: `toml_edit` would renew
//! the line ends of the whole file. The caller checks that the result means what was intended.

use std::ops::Range;

use serde_json::Value;

/// Returns `text` with the table `[map.name]` set.
pub fn set(text: &str, map: &str, name: &str, value: &Value) -> Result<String, String> {
    let newline = match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    };
    let mut lines = vec![format!("[{map}.{name}]")];
    for (key, value) in value.as_object().into_iter().flatten() {
        lines.push(format!("{} = {}", self::key(key), inline(value)?));
    }
    let table: String = lines
        .iter()
        .map(|line| format!("{line}{newline}"))
        .collect();
    if let Some(old) = lines_of(text, map, name) {
        return Ok(format!("{}{table}{}", &text[..old.start], &text[old.end..]));
    }
    let content = text.trim_start_matches('\u{feff}');
    let gap = match (content.trim().is_empty(), content.ends_with('\n')) {
        (true, _) => String::new(),
        (false, true) => newline.to_owned(),
        (false, false) => newline.repeat(2),
    };
    Ok(format!("{text}{gap}{table}"))
}

/// Returns `text` without the table `[map.name]` and those below it; `None` if it has no header of its own.
pub fn remove(text: &str, map: &str, name: &str) -> Option<String> {
    let old = lines_of(text, map, name)?;
    let (before, after) = (&text[..old.start], &text[old.end..]);
    // The blank line that set it apart goes with it, if it was the last table.
    let before = match after.trim().is_empty() {
        true => {
            let kept = before.trim_end_matches(['\r', '\n']).len();
            let end = before[kept..].find('\n').map_or(kept, |at| kept + at + 1);
            &before[..end]
        }
        false => before,
    };
    Some(format!("{before}{after}"))
}

/// The lines from the header to the last key of the table and of those below it.
fn lines_of(text: &str, map: &str, name: &str) -> Option<Range<usize>> {
    let mut found: Option<Range<usize>> = None;
    let mut inside = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let content = line.trim_start_matches('\u{feff}').trim();
        if let Some(header) = header(content) {
            inside = header.len() >= 2 && header[0] == map && header[1] == name;
            if inside && found.is_none() {
                found = Some(start..at);
            }
        }
        let says = !content.is_empty() && !content.starts_with('#');
        if inside
            && says
            && let Some(found) = &mut found
        {
            found.end = at;
        }
    }
    found
}

/// The path in a header such as `[a."b c"]`.
fn header(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('[')?;
    let end = inner.find(']')?;
    let rest = inner[end + 1..].trim();
    if inner.starts_with('[') || !(rest.is_empty() || rest.starts_with('#')) {
        return None;
    }
    let table: toml::Table = toml::from_str(&format!("[{}]", &inner[..end])).ok()?;
    let mut path = Vec::new();
    let mut table = &table;
    while let Some((key, value)) = table.iter().next() {
        path.push(key.clone());
        table = value.as_table()?;
    }
    Some(path)
}

fn key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match !key.is_empty() && key.chars().all(bare) {
        true => key.to_owned(),
        false => toml::Value::from(key).to_string(),
    }
}

fn inline(value: &Value) -> Result<String, String> {
    Ok(match value {
        Value::Object(map) => {
            let members = map
                .iter()
                .map(|(name, value)| Ok(format!("{} = {}", key(name), inline(value)?)));
            let members: Vec<String> = members.collect::<Result<_, String>>()?;
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(inline).collect::<Result<_, _>>()?;
            format!("[{}]", items.join(", "))
        }
        other => {
            let value = toml::Value::try_from(other).map_err(|e| e.to_string())?;
            value.to_string()
        }
    })
}
