//! The text of a configuration with its secrets masked, and back.
//!
//! Only the masked parts differ from the original: values by their keys and forms, and secrets in comments. A masked
//! value that comes back is replaced by what it stands for, and only where it stood: elsewhere, a secret could be sent
//! to somebody who must not have it.

use std::ops::Range;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{MASK, mask, mask_text, walk};
use crate::error::Problem;
use crate::path::KeyPath;
use crate::shape::root;
use crate::toml_value::plain;

/// One masked part of a text.
struct Spot {
    /// The value's path; `None` for a comment.
    path: Option<Vec<String>>,
    range: Range<usize>,
    /// What is shown instead: a string's contents, or a whole comment.
    shown: String,
}

/// One value that is not a table or a list.
struct Leaf {
    path: Vec<String>,
    range: Range<usize>,
    value: Value,
}

/// A parsed text.
struct Parsed<'t> {
    text: &'t str,
    tree: Value,
    leaves: Vec<Leaf>,
    /// Places of all keys.
    keys: Vec<Range<usize>>,
}

/// Masks every secret in the text of a configuration; `None` if it has syntax errors, so that secrets cannot be told
/// from other text.
pub(crate) fn mask_file(text: &str) -> Option<String> {
    let parsed = Parsed::of(text)?;
    // A table's keys are shown, so none of them may be a secret itself.
    let is_secret = |range: &Range<usize>| mask_text(&text[range.clone()]) != text[range.clone()];
    if parsed.keys.iter().any(is_secret) {
        return None;
    }
    let mut shown = text.to_owned();
    for spot in parsed.spots().into_iter().rev() {
        let with = match spot.path {
            Some(_) => quoted(&spot.shown),
            None => spot.shown,
        };
        shown.replace_range(spot.range, &with);
    }
    Some(shown)
}

/// Replaces masked parts of `text` by what they stand for in `before`. A text with syntax errors is returned unchanged.
pub(crate) fn unmask_file(text: &str, before: &str) -> Result<String, Vec<Problem>> {
    let (Some(new), Some(old)) = (Parsed::of(text), Parsed::of(before)) else {
        return Ok(text.to_owned());
    };
    let (spots, masked) = (old.spots(), walk(&old.tree, Some(root())));
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut problems = Vec::new();
    for leaf in &new.leaves {
        let Some(shown) = leaf.value.as_str().filter(|text| text.contains(MASK)) else {
            continue;
        };
        // A value that always contained asterisks.
        if at(&old.tree, &leaf.path) == Some(&leaf.value) {
            continue;
        }
        let stood = stood_at(&leaf.path, &new.tree, &masked);
        let spot = stood.and_then(|path| {
            let mut spots = spots.iter();
            spots.find(|spot| spot.path.as_ref() == Some(&path) && spot.shown == shown)
        });
        match spot {
            Some(spot) => edits.push((leaf.range.clone(), before[spot.range.clone()].to_owned())),
            None => {
                let key = leaf
                    .path
                    .iter()
                    .fold(KeyPath::default(), |key, one| key.join(one));
                let line = text[..leaf.range.start].matches('\n').count() + 1;
                let message =
                    format!("`{key}` is masked and its value is not known here; enter it again");
                problems.push(Problem::at(line, key, message));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut comments: Vec<&Spot> = spots.iter().filter(|spot| spot.path.is_none()).collect();
    for range in new.comments() {
        let found = comments
            .iter()
            .position(|spot| spot.shown == text[range.clone()]);
        if let Some(found) = found {
            let spot = comments.remove(found);
            edits.push((range, before[spot.range.clone()].to_owned()));
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut whole = text.to_owned();
    for (range, with) in edits.into_iter().rev() {
        whole.replace_range(range, &with);
    }
    Ok(whole)
}

/// Where the value at `path` of the new text stood in the old one. Entries of lists have no identity, so an entry with
/// a masked part must be unchanged otherwise.
fn stood_at(path: &[String], new: &Value, masked: &Value) -> Option<Vec<String>> {
    for depth in 0..path.len() {
        let Some(Value::Array(entries)) = at(new, &path[..depth]) else {
            continue;
        };
        let Some(Value::Array(before)) = at(masked, &path[..depth]) else {
            return None;
        };
        let index: usize = path[depth].parse().ok()?;
        let entry = entries.get(index)?;
        let index = match entry.is_object() {
            true => before.iter().position(|old| old == entry)?,
            false if entries == before => index,
            false => return None,
        };
        let mut stood = path.to_vec();
        stood[depth] = index.to_string();
        return Some(stood);
    }
    Some(path.to_vec())
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| match value {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

impl<'t> Parsed<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let (document, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return None;
        }
        let mut parsed = Self {
            text,
            tree: Value::Null,
            leaves: Vec::new(),
            keys: Vec::new(),
        };
        parsed.tree = parsed.table(document.get_ref(), &mut Vec::new())?;
        parsed.leaves.sort_by_key(|leaf| leaf.range.start);
        Some(parsed)
    }

    fn table(&mut self, table: &DeTable<'_>, path: &mut Vec<String>) -> Option<Value> {
        let mut object = Map::new();
        for (key, value) in table {
            let name = key.get_ref().to_string();
            self.keys.push(key.span());
            path.push(name.clone());
            let value = self.value(value, path)?;
            object.insert(name, value);
            path.pop();
        }
        Some(Value::Object(object))
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, path: &mut Vec<String>) -> Option<Value> {
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, path),
            DeValue::Array(list) => {
                let mut entries = Vec::new();
                for (index, entry) in list.iter().enumerate() {
                    path.push(index.to_string());
                    entries.push(self.value(entry, path)?);
                    path.pop();
                }
                Some(Value::Array(entries))
            }
            leaf => {
                let leaf = plain(leaf).ok()?;
                self.leaves.push(Leaf {
                    path: path.clone(),
                    range: value.span(),
                    value: leaf.clone(),
                });
                Some(leaf)
            }
        }
    }

    /// The parts to mask, in their order.
    fn spots(&self) -> Vec<Spot> {
        let masked = walk(&self.tree, Some(root()));
        let mut spots: Vec<Spot> = Vec::new();
        for leaf in &self.leaves {
            let shown = shown_at(&masked, &leaf.path);
            if let Some(shown) = shown.filter(|shown| leaf.value != **shown) {
                spots.push(Spot {
                    path: Some(leaf.path.clone()),
                    range: leaf.range.clone(),
                    shown: shown.to_owned(),
                });
            }
        }
        for range in self.comments() {
            let text = &self.text[range.clone()];
            let shown = mask_comment(text);
            if shown != text {
                spots.push(Spot {
                    path: None,
                    range,
                    shown,
                });
            }
        }
        spots.sort_by_key(|spot| spot.range.start);
        spots
    }

    /// Places of all comments: a `#` outside of keys and values.
    fn comments(&self) -> Vec<Range<usize>> {
        let mut taken: Vec<Range<usize>> =
            self.leaves.iter().map(|leaf| leaf.range.clone()).collect();
        taken.extend(self.keys.iter().cloned());
        taken.sort_by_key(|range| range.start);
        let (mut found, mut from, mut taken) = (Vec::new(), 0, taken.into_iter().peekable());
        while let Some(start) = self.text[from..].find('#').map(|start| from + start) {
            while taken.peek().is_some_and(|range| range.end <= start) {
                taken.next();
            }
            if let Some(inside) = taken.peek().filter(|range| range.start <= start) {
                from = inside.end;
                continue;
            }
            let end = self.text[start..]
                .find('\n')
                .map_or(self.text.len(), |end| start + end);
            found.push(start..end);
            from = end;
        }
        found
    }
}

/// The masked text at `path`, or of what is masked as a whole around it.
fn shown_at<'v>(masked: &'v Value, path: &[String]) -> Option<&'v str> {
    let mut value = masked;
    for key in path {
        if value == MASK {
            return Some(MASK);
        }
        value = at(value, std::slice::from_ref(key))?;
    }
    value.as_str()
}

/// Masks a comment, which may be a setting that is switched off.
fn mask_comment(comment: &str) -> String {
    let inner = comment.trim_start_matches('#').trim();
    if let Ok(setting) = inner.parse::<toml::Table>()
        && let Ok(setting) = serde_json::to_value(setting)
        && mask(&setting) != setting
    {
        let key = inner.split('=').next().unwrap_or_default().trim();
        return format!("# {key} = {}", quoted(MASK));
    }
    mask_text(comment)
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# mine # twice\nlisten = \"127.0.0.1:1\" # why\n# api_key = \"sk-old-0123456789\"\n\n[models.providers.a]\nkind = \"openai\"\napi_key = '''sk-real-0123456789'''\nbase_url = \"http://a.example/#x\"\n\n[mcpServers.x]\ncommand = \"npx\"\nargs = [\"--token\", \"s3cr3t-value-1234\", \"plain\"]\nenv = { API_TOKEN = \"s3cr3t-value-5678\", KEEP = \"vault:x\" }\n";

    #[test]
    fn secrets_of_keys_lists_tables_and_comments_are_masked_and_nothing_else() {
        let shown = mask_file(FILE).unwrap();
        for secret in ["sk-old", "sk-real", "s3cr3t"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        let differing: Vec<&str> = shown
            .lines()
            .zip(FILE.lines())
            .filter(|(a, b)| a != b)
            .map(|(a, _)| a)
            .collect();
        assert_eq!(
            differing,
            [
                "# api_key = \"***\"",
                "api_key = \"***\"",
                "args = [\"--token\", \"***\", \"plain\"]",
                "env = { API_TOKEN = \"***\", KEEP = \"***\" }",
            ]
        );
        assert_eq!(mask_file("listen = "), None);
        assert_eq!(mask_file("").as_deref(), Some(""));
    }

    #[test]
    fn what_comes_back_masked_keeps_its_value() {
        let shown = mask_file(FILE).unwrap();
        assert_eq!(unmask_file(&shown, FILE).unwrap(), FILE);
        let changed = shown.replace("127.0.0.1:1", "127.0.0.1:2");
        let expected = FILE.replace("127.0.0.1:1", "127.0.0.1:2");
        assert_eq!(unmask_file(&changed, FILE).unwrap(), expected);
        let new = shown.replacen("api_key = \"***\"\nbase", "api_key = \"vault:a\"\nbase", 1);
        let whole = unmask_file(&new, FILE).unwrap();
        assert!(whole.contains("vault:a") && whole.contains("s3cr3t-value-5678"));
        assert!(!whole.contains("sk-real"));
    }

    #[test]
    fn a_mask_in_another_place_is_refused_with_its_line() {
        let shown = mask_file(FILE).unwrap();
        let check = |from: &str, to: &str, key: &str, line: usize| {
            let moved = shown.replacen(from, to, 1);
            assert_ne!(moved, shown);
            let problems = unmask_file(&moved, FILE).unwrap_err();
            assert_eq!(
                (problems[0].key.as_str(), problems[0].line),
                (key, Some(line))
            );
        };
        check(
            "[models.providers.a]",
            "[models.providers.b]",
            "models.providers.b.api_key",
            7,
        );
        check(
            "\"--token\", ",
            "\"--token\", \"x\", ",
            "mcpServers.x.args.2",
            12,
        );
        check("API_TOKEN", "OTHER", "mcpServers.x.env.OTHER", 13);
    }

    #[test]
    fn entries_of_lists_are_recognised_when_they_move() {
        let list = |first: &str| {
            format!(
                "{first}[[a]]\nname = \"one\"\ntoken = \"t-one-123456\"\n[[a]]\nname = \"two\"\ntoken = \"t-two-123456\"\n"
            )
        };
        let before = list("");
        let shown = mask_file(&before).unwrap();
        let added = format!("[[a]]\nname = \"new\"\n{shown}");
        let whole = unmask_file(&added, &before).unwrap();
        assert_eq!(whole, format!("[[a]]\nname = \"new\"\n{before}"));
        let renamed = shown.replace("\"two\"", "\"three\"");
        assert_eq!(
            unmask_file(&renamed, &before).unwrap_err()[0].key,
            "a.1.token"
        );
    }
}
