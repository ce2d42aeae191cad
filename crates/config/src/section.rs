//! Adds a section below the comments of the section before it, and removes it without them.
//!
//! In the default file every section consists of comments. An edit of the TOML tree counts comments as part of what
//! follows them, so it would put a new `[section]` directly below the header of the previous one, between that header
//! and its commented keys, and remove those keys together with it. An edit made here is used only if it means exactly
//! the same as the edit of the tree.

use std::ops::Range;

use crate::path::KeyPath;

/// Moves the section that `edited` adds to `text` below the comments after it; `None` if nothing but a section was
/// added, or it does not split comments from their header.
pub(crate) fn below_comments(text: &str, edited: &str) -> Option<String> {
    let added = added(text, edited)?;
    let section = edited[added.clone()].trim();
    if !section.starts_with('[') {
        return None;
    }
    let (before, after) = (&text[..added.start], &text[added.start..]);
    let end = own_comments(after);
    if after[..end].trim().is_empty() {
        return None;
    }
    let above = format!("{before}{}", &after[..end]);
    let below = after[end..].trim_start_matches(['\r', '\n']);
    let gap = if below.is_empty() { "" } else { "\n" };
    same(
        format!("{}\n\n{section}\n{gap}{below}", above.trim_end()),
        edited,
    )
}

/// Removes the section of `path` with the comments directly above it, and no others; `None` if it has no header of its
/// own or the result would not equal `edited`.
pub(crate) fn without(text: &str, path: &KeyPath, edited: &str) -> Option<String> {
    let (own, below) = (format!("[{path}]"), format!("[{path}."));
    let mut found: Option<Range<usize>> = None;
    let (mut at, mut comment, mut inside) = (0, None, false);
    for line in text.split_inclusive('\n') {
        let (start, content) = (at, line.trim());
        at += line.len();
        if content.starts_with('[') {
            inside = content.starts_with(&own) || (found.is_some() && content.starts_with(&below));
        }
        let says = !content.is_empty() && !content.starts_with('#');
        if inside && says {
            let range = found.get_or_insert(comment.unwrap_or(start)..at);
            range.end = at;
        }
        comment = match content.starts_with('#') {
            true => comment.or(Some(start)),
            false => None,
        };
    }
    let found = found?;
    let (before, after) = (&text[..found.start], &text[found.end..]);
    let after = after.trim_start_matches(['\r', '\n']);
    let rest = match (after.is_empty(), before.trim().is_empty()) {
        (true, false) => format!("{}\n", before.trim_end()),
        _ => format!("{before}{after}"),
    };
    same(rest, edited)
}

fn same(candidate: String, edited: &str) -> Option<String> {
    let meaning = |text: &str| toml::from_str::<toml::Table>(text).ok();
    // The lines were found by their text: in a multi-line string they would mean something else.
    (meaning(&candidate)? == meaning(edited)?).then_some(candidate)
}

/// Range of `edited` that was inserted into `text`; `None` if the edit is anything but one insertion of whole lines.
fn added(text: &str, edited: &str) -> Option<Range<usize>> {
    let lines = |text| str::split_inclusive(text, '\n');
    let same = lines(text)
        .zip(lines(edited))
        .take_while(|(old, new)| old == new);
    let start = same.map(|(line, _)| line.len()).sum();
    let end = start + edited.len().checked_sub(text.len())?;
    (edited.get(end..) == text.get(start..)).then_some(start..end)
}

/// Length of the comments at the start of `after` that belong to the section above: all but those directly above the
/// next header, which explain it.
fn own_comments(after: &str) -> usize {
    let (mut at, mut gap) = (0, 0);
    for line in after.split_inclusive('\n') {
        match line.trim() {
            "" => gap = at + line.len(),
            comment if comment.starts_with('#') => {}
            _ => return gap,
        }
        at += line.len();
    }
    at
}

#[cfg(test)]
mod tests {
    use crate::{default_file, edit};
    use serde_json::json;

    fn set(text: &str) -> String {
        let path = "models.providers.local".parse().unwrap();
        let provider = json!({ "kind": "openai", "base_url": "http://127.0.0.1:1/v1" });
        edit::set(text, &path, &provider).unwrap()
    }

    const SECTION: &str =
        "[models.providers.local]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";

    #[test]
    fn a_new_section_does_not_part_a_header_from_its_commented_keys() {
        let before = default_file();
        let after = set(&before);
        let at = after.find(SECTION).expect("the section");
        let rest = format!("{}{}", &after[..at], &after[at + SECTION.len() + 1..]);
        assert_eq!(rest, before, "everything else is as it was");
        let above = &after[..at];
        let header = above.rfind("\n[").expect("a header");
        let above = &above[header..];
        assert!(above.starts_with("\n[models.retry]\n"), "{above}");
        assert!(above.contains("#retries = "), "{above}");
        assert!(crate::check::check(&after).is_ok());
        let path = "models.providers.local".parse().unwrap();
        assert_eq!(edit::unset(&after, &path), Ok(Some(before)));
    }

    #[test]
    fn the_explanation_of_the_next_section_stays_with_it() {
        let retry = "[models.retry]\n# how often\n#retries = 2\n";
        let log = "# what is logged\n[log]\nlevel = \"info\"\n";
        assert_eq!(
            set(&format!("{retry}\n{log}")),
            format!("{retry}\n{SECTION}\n{log}")
        );
        assert_eq!(
            set("[models]\n# only comments\n"),
            format!("[models]\n# only comments\n\n{SECTION}")
        );
    }

    #[test]
    fn a_removed_section_takes_only_its_own_comments_along() {
        let path = "models.providers.local".parse().unwrap();
        let text = format!(
            "[models.retry]\n#retries = 2\n\n# mine\n{SECTION}# inside\n[models.providers.local.headers]\na = \"b\"\n\n# logs\n[log]\n"
        );
        assert_eq!(
            edit::unset(&text, &path).unwrap().unwrap(),
            "[models.retry]\n#retries = 2\n\n# logs\n[log]\n"
        );
    }

    #[test]
    fn a_section_without_comments_is_placed_as_before() {
        assert_eq!(
            set("[models.retry]\nretries = 2\n\n[log]\nlevel = \"info\"\n"),
            format!("[models.retry]\nretries = 2\n\n{SECTION}\n[log]\nlevel = \"info\"\n")
        );
    }
}
