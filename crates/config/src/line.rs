//! Enables and disables lines of the default file in place.
//!
//! The default file lists every key as `#key = default` below its explanation. An edit of the TOML tree would add a new key
//! elsewhere, and remove the explanation together with an old one. An edit made here is used only if it
//! means exactly the same as the edit of the tree.

use std::ops::Range;

use serde_json::Value;

use crate::path::KeyPath;
use crate::shape::root;
use crate::toml_value::inline;

/// Enables the line `#key = ...` of `path` with `value`; `None` if there is no such line or the result would not
/// equal `edited`.
pub(crate) fn turned_on(text: &str, path: &KeyPath, value: &Value, edited: &str) -> Option<String> {
    let (key, header) = split(path)?;
    let line = find(text, &header, &format!("#{key} = "))?;
    let on = format!("{key} = {}", inline(value).ok()?);
    same(replaced(text, line, &on), edited)
}

/// Disables the line of `path` and shows its default; `None` if it has no explanation or the result would not
/// equal `edited`.
pub(crate) fn turned_off(text: &str, path: &KeyPath, edited: &str) -> Option<String> {
    let (key, header) = split(path)?;
    let line = find(text, &header, &format!("{key} = "))?;
    let above = text[..line.start].lines().next_back()?;
    // A line that the owner wrote is removed instead of being commented out.
    if !above.starts_with("# ") {
        return None;
    }
    let mut shape = root();
    for segment in path.segments() {
        let (_, child) = shape.keys().iter().find(|(k, _)| k == segment)?;
        shape = child;
    }
    let off = format!("#{key} = {}", inline(shape.default.as_ref()?).ok()?);
    same(replaced(text, line, &off), edited)
}

fn split(path: &KeyPath) -> Option<(&str, String)> {
    let (key, above) = path.segments().split_last()?;
    Some((key, above.join(".")))
}

/// Range of the first line under `[header]` that starts with `start`, without its line break.
fn find(text: &str, header: &str, start: &str) -> Option<Range<usize>> {
    let mut section = "";
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end();
        if let Some((name, _)) = content.strip_prefix('[').and_then(|l| l.split_once(']')) {
            section = name.trim();
        }
        if section == header && content.starts_with(start) {
            return Some(at..at + content.len());
        }
        at += line.len();
    }
    None
}

fn replaced(text: &str, line: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..line.start], &text[line.end..])
}

fn same(candidate: String, edited: &str) -> Option<String> {
    let meaning = |text: &str| toml::from_str::<toml::Table>(text).ok();
    // The line was found by its text: in a multi-line string it would mean something else.
    (meaning(&candidate)? == meaning(edited)?).then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(text: &str, edited: &str, expect: Option<&str>) {
        let path = "log.level".parse().unwrap();
        let on = turned_on(text, &path, &json!("warn"), edited);
        assert_eq!(on.as_deref(), expect);
    }

    #[test]
    fn a_line_is_turned_on_only_where_it_means_the_edit() {
        let edited = "[log]\nlevel = \"warn\"\n";
        check("[log]\n#level = \"info\"\n", edited, Some(edited));
        check("[log]\n\n[limits]\n#level = \"info\"\n", edited, None);
        check("[log]\n# level = prose\n", edited, None);
        check("#level = \"info\"\n[log]\n", edited, None);
        check("[log]\n#level = \"info\"\nlevel = \"off\"\n", edited, None);
        let text = "reason = '''\n[log]\n#level = \"x\"\n'''\n";
        check(text, &format!("{text}[log]\nlevel = \"warn\"\n"), None);
    }

    #[test]
    fn a_line_is_turned_off_only_where_it_is_explained() {
        let path = "log.level".parse().unwrap();
        let off = |text: &str| turned_off(text, &path, "[log]\n");
        assert_eq!(
            off("[log]\n# how much\nlevel = \"warn\"\n").as_deref(),
            Some("[log]\n# how much\n#level = \"info\"\n")
        );
        assert_eq!(off("[log]\nlevel = \"warn\"\n"), None);
    }
}
