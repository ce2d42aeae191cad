//! The change that an edit or a patch makes, as a unified diff, from the arguments of its call alone.

use std::fmt::Write as _;

use serde_json::Value;

/// Longest diff, in bytes; longer ones are left out, because the arguments show the change as well.
const MAX: usize = 64 * 1024;
/// Unchanged lines around a change.
const AROUND: usize = 3;

/// The diff of a call with these arguments; `None` if it edits no file.
pub(crate) fn of(arguments: &Value) -> Option<String> {
    let field = |names: &[&str]| names.iter().find_map(|name| arguments[*name].as_str());
    let path = field(&["path", "file_path", "filePath"]);
    let diff = match (
        field(&["oldString", "old_string"]),
        field(&["newString", "new_string"]),
    ) {
        (Some(old), Some(new)) => replaced(path?, old, new),
        _ => field(&["patch", "diff"])
            .filter(|patch| is_patch(patch))?
            .to_owned(),
    };
    (diff.len() <= MAX).then_some(diff)
}

fn is_patch(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("@@") || line.starts_with("*** Begin Patch"))
}

/// One hunk that replaces the lines of `old` by those of `new`. Where in the file it is is not known.
fn replaced(path: &str, old: &str, new: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(one, other)| one == other).count()
    };
    let head = same(&mut before.iter().zip(&after));
    let rest = before.len().min(after.len()) - head;
    let tail = same(&mut before.iter().rev().zip(after.iter().rev())).min(rest);
    let (from, end) = (head.saturating_sub(AROUND), tail.saturating_sub(AROUND));
    let lines = |all: &[&str]| all.len() - from - end;
    let mut diff = format!("--- a/{path}\n+++ b/{path}\n");
    let start = from + 1;
    let _ = writeln!(
        diff,
        "@@ -{start},{} +{start},{} @@",
        lines(&before),
        lines(&after)
    );
    let mut put = |sign: char, all: &[&str]| {
        for line in all {
            let _ = writeln!(diff, "{sign}{line}");
        }
    };
    put(' ', &before[from..head]);
    put('-', &before[head..before.len() - tail]);
    put('+', &after[head..after.len() - tail]);
    put(' ', &before[before.len() - tail..before.len() - end]);
    diff
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_edit_is_a_hunk_with_the_lines_around_it() {
        let edit = |old: &str, new: &str| {
            of(&json!({ "path": "a.md", "oldString": old, "newString": new })).unwrap()
        };
        let head = "--- a/a.md\n+++ b/a.md\n";
        assert_eq!(
            edit("one", "two"),
            format!("{head}@@ -1,1 +1,1 @@\n-one\n+two\n")
        );
        assert_eq!(
            edit("a\nb\nc\nd\nold\nz", "a\nb\nc\nd\nnew\nmore\nz"),
            format!("{head}@@ -2,5 +2,6 @@\n b\n c\n d\n-old\n+new\n+more\n z\n")
        );
        assert_eq!(
            edit("a\na", "a\na\na"),
            format!("{head}@@ -1,2 +1,3 @@\n a\n a\n+a\n")
        );
        assert_eq!(
            edit("gone\nstays", "stays"),
            format!("{head}@@ -1,2 +1,1 @@\n-gone\n stays\n")
        );
    }

    #[test]
    fn a_patch_is_shown_as_it_was_given_and_other_calls_have_none() {
        let patch = "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n";
        assert_eq!(of(&json!({ "patch": patch })).as_deref(), Some(patch));
        for other in [
            json!({ "path": "a.md", "content": "x" }),
            json!({ "patch": { "enabled": true } }),
            json!({ "patch": "no patch" }),
            json!({ "oldString": "x", "newString": "y" }),
            json!({ "path": "a", "oldString": "x", "newString": "y".repeat(MAX) }),
            json!("text"),
        ] {
            assert_eq!(of(&other), None, "{other}");
        }
    }
}
