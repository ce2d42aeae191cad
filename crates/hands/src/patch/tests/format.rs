//! What is read as a patch, and what is not.

use super::*;

/// The parts of a patch as (change, old name, new name, hunks).
type Part<'a> = (FileChange, Option<&'a str>, Option<&'a str>, usize);

#[track_caller]
fn reads(text: &str, expect: &[Part<'_>]) {
    let patch = parse(text).unwrap();
    let seen: Vec<Part<'_>> = patch
        .files
        .iter()
        .map(|f| (f.change(), f.old_name(), f.new_name(), f.hunk_count()))
        .collect();
    assert_eq!(seen, expect, "{text}");
}

#[track_caller]
fn refuses(text: &str, expect: &str) {
    let error = parse(text).unwrap_err().to_string();
    assert!(error.contains(expect), "{error:?} for {text}");
}

const HUNK: &str = "@@ -1 +1 @@\n-a\n+b\n";

#[test]
fn the_example_of_the_manual_applies() {
    let patch = "@@ -1,3 +1,3 @@\n-const version = \"1.0.0\";\n+const version = \"1.1.0\";\n";
    let original = "const version = \"1.0.0\";\nexport default version;\n";
    let expect = original.replace("1.0.0", "1.1.0");
    check(original, patch, Ok(&expect), Git::Refuses);
}

#[test]
fn names_are_read_as_tools_write_them() {
    let rows = [
        ("--- a/f", "+++ b/f", "f", "f"),
        ("--- f", "+++ f", "f", "f"),
        (
            "--- a/f\t2026-11-15 10:00:00.000000000 +0100",
            "+++ b/f\t2026-11-15 10:01:00 +0100",
            "f",
            "f",
        ),
        (
            "--- a/f 2026-11-15 10:00:00.1 +0100",
            "+++ b/f 2026-11-15 10:00:00",
            "f",
            "f",
        ),
        (
            "--- a/my file.txt\t",
            "+++ b/my file.txt\t",
            "my file.txt",
            "my file.txt",
        ),
        (
            r#"--- "a/t\303\251 \"q\" \\.x""#,
            r#"+++ "b/t\303\251 \"q\" \\.x""#,
            "té \"q\" \\.x",
            "té \"q\" \\.x",
        ),
        ("--- a/x", "+++ a/x", "a/x", "a/x"),
        ("--- b/x", "+++ b/x", "b/x", "b/x"),
        ("--- b/x", "+++ a/x", "x", "x"),
        ("--- i/x", "+++ w/x", "x", "x"),
        ("--- c/x", "+++ w/x", "x", "x"),
        ("--- a/b/x", "+++ b/b/x", "b/x", "b/x"),
        ("--- x.orig", "+++ x", "x.orig", "x"),
        ("--- a/x 10:00", "+++ b/x 10:00", "x 10:00", "x 10:00"),
    ];
    for (minus, plus, old, new) in rows {
        for newline in ["\n", "\r\n"] {
            let text = format!("{minus}\n{plus}\n{HUNK}").replace('\n', newline);
            reads(&text, &[(FileChange::Modify, Some(old), Some(new), 1)]);
        }
    }
}

#[test]
fn creation_and_deletion_are_seen() {
    let new = "@@ -0,0 +1 @@\n+a\n";
    let deleted = "@@ -1 +0,0 @@\n-a\n";
    let rows = [
        (format!("--- /dev/null\n+++ b/f\n{new}"), FileChange::Create),
        (format!("--- /dev/null\n+++ f\n{new}"), FileChange::Create),
        (
            format!("--- /dev/null\t2026-01-01\n+++ b/f\n{new}"),
            FileChange::Create,
        ),
        (
            format!(
                "--- x/f\t1970-01-01 00:00:00.000000000 +0000\n+++ f\t2026-11-15 10:00:00 +0000\n{new}"
            ),
            FileChange::Create,
        ),
        (
            format!(
                "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..7898192\n--- /dev/null\n+++ b/f\n{new}"
            ),
            FileChange::Create,
        ),
        (
            "diff --git a/f b/f\nnew file mode 100755\nindex 0000000..e69de29\n".into(),
            FileChange::Create,
        ),
        (
            format!("--- a/f\n+++ /dev/null\n{deleted}"),
            FileChange::Delete,
        ),
        (
            format!(
                "--- f\t2026-11-15 10:00:00 +0000\n+++ y/f\t1970-01-01 01:00:00.000000000 +0100\n{deleted}"
            ),
            FileChange::Delete,
        ),
        (
            format!(
                "diff --git a/f b/f\ndeleted file mode 100644\nindex 7898192..0000000\n--- a/f\n+++ /dev/null\n{deleted}"
            ),
            FileChange::Delete,
        ),
        (
            "diff --git a/f b/f\ndeleted file mode 100644\nindex e69de29..0000000\n".into(),
            FileChange::Delete,
        ),
    ];
    for (text, change) in rows {
        let hunks = usize::from(text.contains("@@"));
        let expect = match change {
            FileChange::Create => (change, None, Some("f"), hunks),
            _ => (change, Some("f"), None, hunks),
        };
        reads(&text, &[expect]);
    }
}

#[test]
fn git_headers_are_understood() {
    let rows = [
        (
            "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
            (FileChange::Rename, Some("x"), Some("y"), 0),
        ),
        (
            "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\nindex 1..2 100644\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
            (FileChange::Rename, Some("x"), Some("y"), 1),
        ),
        (
            "diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to \"y\\tz\"\n",
            (FileChange::Copy, Some("x"), Some("y\tz"), 0),
        ),
        (
            "diff --git a/a b/b\nold mode 100644\nnew mode 100755\n",
            (FileChange::Modify, None, None, 0),
        ),
        (
            "diff --git a/my f b/my f\nold mode 100644\nnew mode 100755\n",
            (FileChange::Modify, Some("my f"), Some("my f"), 0),
        ),
        (
            "diff --git \"a/t\\303\\251\" \"b/t\\303\\251\"\nold mode 100644\nnew mode 100755\n",
            (FileChange::Modify, Some("té"), Some("té"), 0),
        ),
        (
            "diff --git x x\nold mode 100644\nnew mode 100755\n",
            (FileChange::Modify, Some("x"), Some("x"), 0),
        ),
        (
            "diff --git b/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
            (FileChange::Create, None, Some("b/x"), 1),
        ),
        (
            "diff --git i/x w/x\nnew file mode 100644\n--- /dev/null\n+++ w/x\n@@ -0,0 +1 @@\n+a\n",
            (FileChange::Create, None, Some("x"), 1),
        ),
    ];
    for (text, expect) in rows {
        reads(text, &[expect]);
        reads(&text.replace('\n', "\r\n"), &[expect]);
    }
}

#[test]
fn files_of_a_patch_are_distinguished() {
    let part = |name: &str| format!("--- a/{name}\n+++ b/{name}\n{HUNK}");
    let modify = |name: &'static str, hunks| (FileChange::Modify, Some(name), Some(name), hunks);
    reads(&(part("x") + &part("y")), &[modify("x", 1), modify("y", 1)]);
    // The count is too large, and the next header looks like a removed and an added line.
    let miscounted = part("x").replace("-1 +1", "-1,9 +1,9") + &part("y");
    reads(&miscounted, &[modify("x", 1), modify("y", 1)]);
    let moved = "diff --git a/o b/p\nsimilarity index 100%\nrename from o\nrename to p\n";
    let rename = (FileChange::Rename, Some("o"), Some("p"), 0);
    reads(&(moved.to_owned() + &part("y")), &[rename, modify("y", 1)]);
    let log = format!(
        "commit 1234\nAuthor: me\n\n    subject\n\ndiff --git a/x b/x\nindex 1..2 100644\n{}\
         @@ -9 +9 @@ fn x() {{\n-c\n+d\n\ncommit 5678\n\n    - a list\n    + of things\n\n\
         Index: y\n=====\n{}",
        part("x"),
        part("y")
    );
    reads(&log, &[modify("x", 2), modify("y", 1)]);
}

#[test]
fn text_around_a_patch_is_skipped() {
    let patch = named("@@ -1,2 +1,2 @@\n-a\n+b\n c\n");
    let rows = [
        format!("Here is the patch:\n\n```diff\n{patch}```\n\n- it changes a\n"),
        format!("{patch}-- \n2.47.3\n"),
        format!("{patch}-- \n2.39.5 (Apple Git-154)\n\n"),
        format!("{patch}\n\n"),
        format!("From: x\nSubject: y\n---\n f | 2 +-\n\n{patch}Only in x: y\n"),
        format!("{patch}\nDone.\n"),
        patch.trim_end().to_owned(),
    ];
    for text in rows {
        assert_eq!(
            apply_text("a\nc\n", &text).as_deref(),
            Ok("b\nc\n"),
            "{text}"
        );
        let miscounted = text.replace("-1,2 +1,2", "-1,7 +1,5");
        assert_eq!(
            apply_text("a\nc\n", &miscounted).as_deref(),
            Ok("b\nc\n"),
            "{miscounted}"
        );
        let miscounted = text.replace("-1,2 +1,2", "-1 +1");
        assert_eq!(
            apply_text("a\nc\n", &miscounted).as_deref(),
            Ok("b\nc\n"),
            "{miscounted}"
        );
    }
}

#[test]
fn miscounted_hunks_are_counted_again() {
    let rows = [
        "@@ -1,9 +1,9 @@\n a\n-b\n+B\n c\n",
        "@@ -1 +1 @@\n a\n-b\n+B\n c\n",
        "@@ -1,2 +1,2 @@\n a\n-b\n+B\n c\n",
        "@@ -1,0 +1,0 @@\n-b\n+B\n",
        "@@ -1,3 +1,2 @@\n a\n-b\n+B\n c\n\n\n",
    ];
    for hunk in rows {
        assert_eq!(
            apply_text("a\nb\nc\n", &named(hunk)).as_deref(),
            Ok("a\nB\nc\n"),
            "{hunk}"
        );
    }
    let two = "@@ -1,7 +1,7 @@\n-a\n+A\n@@ -3,7 +3,7 @@\n-c\n+C\n";
    assert_eq!(apply_text("a\nb\nc\n", two).as_deref(), Ok("A\nb\nC\n"));
}

#[test]
fn a_line_without_prefix_is_not_the_quiet_end_of_a_hunk() {
    let hunk = named("@@ -1,3 +1,3 @@\n a\nb\n-c\n+C\n");
    refuses(&hunk, "line 5: begins with none of space, - and +");
    reads(
        &hunk.replace("\nb\n", "\n b\n"),
        &[(FileChange::Modify, Some("f"), Some("f"), 1)],
    );
}

#[test]
fn other_formats_are_refused_with_advice() {
    let rows = [
        ("", "there is no hunk"),
        ("just some words\n", "there is no hunk"),
        (
            "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\n",
            "line 1: the '*** Begin Patch' format is not a unified diff\nsend --- a/name",
        ),
        (
            "*** f\t2026\n--- f\t2026\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n",
            "a context diff is not",
        ),
        (
            "diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n",
            "a combined diff",
        ),
        (
            "diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo0000\n",
            "line 3: binary patches",
        ),
        (
            "diff --git a/f b/f\nBinary files a/f and b/f differ\n",
            "line 2: binary patches",
        ),
        (
            "Binary files x/f and y/f differ\n",
            "line 1: binary patches",
        ),
        (
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n",
            "symbolic links",
        ),
        (
            "diff --git a/l b/l\nindex 1..2 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-x\n+/etc/passwd\n",
            "symbolic links",
        ),
        (
            "diff --git a/s b/s\nindex 1..2 160000\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n",
            "submodules",
        ),
        (
            "--- a/f\n+++ b/f\n@@ here @@\n-a\n+b\n",
            "line 3: is not a hunk header",
        ),
        ("@@\n-a\n+b\n", "line 1: is not a hunk header"),
        (
            "@@ -99999999999 +1 @@\n-a\n+b\n",
            "line 1: is not a hunk header",
        ),
        (
            "--- a/f\n+++ b/f\n-a\n+b\n",
            "line 1: there is no hunk under this file header",
        ),
        ("@@ -1 +1 @@\n", "line 1: the hunk has no lines"),
        (
            "@@ -1 +1 @@\n\\ No newline at end of file\n-a\n",
            "must follow a line of the hunk",
        ),
        ("@@ -1 +1 @@\n a\n", "changes nothing"),
        ("diff --git a/f b/f\nindex 1..2 100644\n", "changes nothing"),
        (
            "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
            "both names are /dev/null",
        ),
        (
            "--- \"a/\\q\"\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
            "line 1: the file name cannot be read",
        ),
        (
            "--- \"a/\\377\"\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
            "line 1: the file name cannot be read",
        ),
        (
            "diff --git a/f b/f\nold mode rwx\nnew mode 100755\n",
            "is not a file mode",
        ),
        ("diff --git a/f b/g\nrename from f\n", "needs both"),
    ];
    for (text, expect) in rows {
        refuses(text, expect);
    }
}

#[test]
fn limits_hold() {
    let header = "@@ -0,0 +1 @@\n+";
    let most = format!(
        "{header}{}\n",
        "x".repeat(MAX_PATCH_BYTES - header.len() - 1)
    );
    assert_eq!(most.len(), MAX_PATCH_BYTES);
    reads(&most, &[(FileChange::Modify, None, None, 1)]);
    refuses(&format!("{most}\n"), "over the limit of 4194304");

    let files = |count: usize| named(HUNK).repeat(count);
    assert_eq!(parse(&files(MAX_FILES)).unwrap().files.len(), MAX_FILES);
    refuses(&files(MAX_FILES + 1), "more than 1000 files");

    let hunks = |count: usize| HUNK.repeat(count);
    reads(
        &hunks(MAX_HUNKS),
        &[(FileChange::Modify, None, None, MAX_HUNKS)],
    );
    refuses(&hunks(MAX_HUNKS + 1), "more than 10000 hunks");
}
