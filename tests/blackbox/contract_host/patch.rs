//! `tool::apply_patch`.

use super::*;

const PATCHED: [&str; 3] = ["files", "patched", "path"];

fn patch(path: &str, text: &str) -> Value {
    json!({ "path": path, "patch": text })
}

/// The file's report: path, action, hunks as (line, offset).
fn report(c: &Contract, path: &str, action: &str, hunks: &[(u64, i64)]) -> Value {
    let hunks: Vec<Value> = hunks
        .iter()
        .map(|(line, offset)| json!({ "line": line, "offset": offset }))
        .collect();
    json!({ "path": c.shown(&format!("workspace/{path}")), "action": action, "hunks": hunks })
}

#[test]
fn the_texts_own_example_is_applied_although_its_counts_are_wrong() {
    let c = Contract::new();
    c.put(
        "workspace/src/version.ts",
        "const version = \"1.0.0\";\nexport { version };\n",
    );
    let text = "@@ -1,3 +1,3 @@\n-const version = \"1.0.0\";\n+const version = \"1.1.0\";\n";
    let said = c.gives(APPLY_PATCH, patch("src/version.ts", text), &PATCHED);
    let expect = json!({
        "patched": true,
        "path": c.shown("workspace/src/version.ts"),
        "files": [report(&c, "src/version.ts", "modified", &[(1, 0)])],
    });
    assert_eq!(said, expect);
    let now = "const version = \"1.1.0\";\nexport { version };\n";
    assert_eq!(c.raw("workspace/src/version.ts").as_deref(), Some(now));
    c.refuses(
        APPLY_PATCH,
        patch("src/version.ts", text),
        "conflict",
        &["hunk 1", "already"],
    );
    let absolute = c.shown("workspace/src/version.ts");
    let back = "--- a/other/name\n+++ b/other/name\n@@ -1 +1 @@\n-const version = \"1.1.0\";\n+const version = \"1.0.0\";\n";
    c.gives(APPLY_PATCH, patch(&absolute, back), &PATCHED);
    assert!(
        c.raw("workspace/src/version.ts")
            .is_some_and(|text| text.contains("1.0.0")),
        "the path decides, not the name"
    );
}

#[test]
fn hunks_find_their_places_and_say_how_far_they_moved() {
    let c = Contract::new();
    let lines =
        |from: u32, to: u32| -> String { (from..=to).map(|n| format!("line {n}\n")).collect() };
    let moved = format!("{}{}", "new\n".repeat(5), lines(1, 40));
    c.put("workspace/a.txt", &moved);
    let text = "--- a/a.txt\n+++ b/a.txt\n@@ -3,3 +3,3 @@\n line 3\n-line 4\n+LINE 4\n line 5\n@@ -30,3 +30,4 @@\n line 30\n line 31\n+between\n line 32\n";
    let said = c.gives(APPLY_PATCH, patch("a.txt", text), &PATCHED);
    assert_eq!(
        said["files"],
        json!([report(&c, "a.txt", "modified", &[(8, 5), (35, 5)])])
    );
    let expect = moved
        .replace("line 4\n", "LINE 4\n")
        .replace("line 31\n", "line 31\nbetween\n");
    assert_eq!(c.raw("workspace/a.txt"), Some(expect));
    let far = format!("{}target\n", "x\n".repeat(1_200));
    c.put("workspace/far.txt", &far);
    let text = "--- a/far.txt\n+++ b/far.txt\n@@ -1 +1 @@\n-target\n+hit\n";
    c.refuses(
        APPLY_PATCH,
        patch("far.txt", text),
        "conflict",
        &["hunk 1", "1000 lines"],
    );
    let near = text.replace("@@ -1 +1 @@", "@@ -201 +201 @@");
    let said = c.gives(APPLY_PATCH, patch("far.txt", &near), &PATCHED);
    assert_eq!(
        said["files"][0]["hunks"],
        json!([{ "line": 1_201, "offset": 1_000 }]),
        "the stated limit"
    );
}

#[test]
fn a_directory_takes_creations_deletions_and_renames_together() {
    let c = Contract::new();
    c.put("workspace/p/keep.txt", "one\ntwo\n");
    c.put("workspace/p/old name.txt", "same\n");
    c.put("workspace/p/gone.txt", "bye\n");
    let text = "diff --git a/keep.txt b/keep.txt\n--- a/keep.txt\n+++ b/keep.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n\
        diff --git a/sub/new.txt b/sub/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/sub/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n\
        diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n\
        diff --git a/old name.txt b/new name.txt\nsimilarity index 100%\nrename from old name.txt\nrename to new name.txt\n";
    let before = c.everything();
    let broken = text.replace("-bye", "-hello");
    c.refuses(
        APPLY_PATCH,
        patch("p", &broken),
        "conflict",
        &["gone.txt", "hunk 1"],
    );
    assert_eq!(c.everything(), before, "no part of it was applied");
    let said = c.gives(APPLY_PATCH, patch("p", text), &PATCHED);
    assert_eq!(said["path"], c.shown("workspace/p"));
    let mut renamed = report(&c, "p/new name.txt", "renamed", &[]);
    renamed["from"] = json!(c.shown("workspace/p/old name.txt"));
    let mut files = said["files"].as_array().expect("files").clone();
    files.sort_by_key(|file| file["action"].to_string());
    let created = &files[0];
    let seen = (&created["action"], &created["path"]);
    assert_eq!(
        seen,
        (
            &json!("created"),
            &json!(c.shown("workspace/p/sub/new.txt"))
        )
    );
    assert_eq!(files[1]["action"], "deleted");
    assert_eq!(files[2], report(&c, "p/keep.txt", "modified", &[(1, 0)]));
    assert_eq!(files[3], renamed);
    let now = [
        "keep.txt",
        "sub/new.txt",
        "new name.txt",
        "gone.txt",
        "old name.txt",
    ]
    .map(|name| c.raw(&format!("workspace/p/{name}")));
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        now,
        [
            text("one\nTWO\n"),
            text("a\nb\n"),
            text("same\n"),
            None,
            None
        ]
    );
    let alone = "--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+made\n";
    c.gives(APPLY_PATCH, patch("fresh.txt", alone), &PATCHED);
    assert_eq!(
        c.raw("workspace/fresh.txt"),
        text("made\n"),
        "one new file, by its own path"
    );
    c.refuses(
        APPLY_PATCH,
        patch("fresh.txt", alone),
        "conflict",
        &["already exists"],
    );
}

#[test]
fn line_endings_and_missing_newlines_survive() {
    let c = Contract::new();
    let lf = "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
    let crlf = lf.replace('\n', "\r\n");
    let marker = "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n\\ No newline at end of file\n";
    let adds = "@@ -1,3 +1,3 @@\n one\n two\n-three\n\\ No newline at end of file\n+three\n";
    let takes = "@@ -1,3 +1,3 @@\n one\n two\n-three\n+three\n\\ No newline at end of file\n";
    for (before, text, after) in [
        ("one\ntwo\nthree\n", lf, "one\nTWO\nthree\n"),
        ("one\r\ntwo\r\nthree\r\n", lf, "one\r\nTWO\r\nthree\r\n"),
        ("one\r\ntwo\r\nthree\r\n", &crlf, "one\r\nTWO\r\nthree\r\n"),
        ("one\ntwo\nthree\n", &crlf, "one\nTWO\nthree\n"),
        ("one\ntwo\nthree", lf, "one\nTWO\nthree"),
        ("one\ntwo\nthree", marker, "one\nTWO\nthree"),
        ("one\ntwo\nthree", adds, "one\ntwo\nthree\n"),
        ("one\ntwo\nthree\n", takes, "one\ntwo\nthree"),
    ] {
        c.put("workspace/a.txt", before);
        c.gives(APPLY_PATCH, patch("a.txt", text), &PATCHED);
        assert_eq!(
            c.raw("workspace/a.txt").as_deref(),
            Some(after),
            "{before:?} {text:?}"
        );
    }
}

#[test]
fn a_patch_that_does_not_apply_says_which_hunk_and_why_and_changes_nothing() {
    let c = Contract::new();
    c.put("workspace/a.txt", "one\ntwo\nthree\nfour\nfive\n");
    c.put("workspace/d/b.txt", "b\n");
    c.link(c.gateway.home.outside(""), "workspace/up");
    let good = "@@ -1 +1 @@\n-one\n+ONE\n";
    let second = format!("{good}@@ -4,2 +4,2 @@\n four\n-5\n+FIVE\n");
    let several = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n--- a/d/b.txt\n+++ b/d/b.txt\n@@ -1 +1 @@\n-b\n+B\n";
    let renames =
        "diff --git a/a.txt b/c.txt\nsimilarity index 100%\nrename from a.txt\nrename to c.txt\n";
    let climbing = "--- a/../../canary\n+++ b/../../canary\n@@ -1 +1 @@\n-canary\n+evil\n";
    let linked = "--- a/up/canary\n+++ b/up/canary\n@@ -1 +1 @@\n-canary\n\\ No newline at end of file\n+evil\n";
    let makes = "--- /dev/null\n+++ b/up/new\n@@ -0,0 +1 @@\n+evil\n";
    let table: [(&str, &str, &str, &[&str]); 14] = [
        (
            "a.txt",
            &second,
            "conflict",
            &[
                "a.txt",
                "hunk 2",
                "line 5",
                "\"5\\n\"",
                "\"five\\n\"",
                "nothing was changed",
            ],
        ),
        (
            "a.txt",
            "@@ -1 +1 @@\n-six\n+SIX\n",
            "conflict",
            &["hunk 1", "does not apply"],
        ),
        (
            "a.txt",
            several,
            "invalid_arguments",
            &["path", "2 files", "directory"],
        ),
        ("a.txt", renames, "invalid_arguments", &["renames"]),
        (
            "a.txt",
            "nothing here",
            "invalid_arguments",
            &["patch", "no hunk"],
        ),
        ("a.txt", "", "invalid_arguments", &["patch"]),
        (
            "a.txt",
            "*** Begin Patch\n*** End Patch\n",
            "invalid_arguments",
            &["patch", "not a unified diff"],
        ),
        (
            "missing.txt",
            good,
            "not_found",
            &["missing.txt", "no such file", "/dev/null"],
        ),
        (".", good, "invalid_arguments", &["names no file"]),
        ("../canary", good, "invalid_arguments", &["path", "'..'"]),
        (
            "/etc/passwd",
            good,
            "invalid_arguments",
            &["path", "outside"],
        ),
        (".", climbing, "invalid_arguments", &["canary"]),
        ("up/canary", linked, "invalid_arguments", &["outside"]),
        (
            "d",
            "--- a/nope.txt\n+++ b/nope.txt\n@@ -1 +1 @@\n-x\n+y\n",
            "not_found",
            &["nope.txt"],
        ),
    ];
    for (path, text, code, words) in table {
        c.refuses(APPLY_PATCH, patch(path, text), code, words);
    }
    for text in [linked, makes] {
        let before = c.everything();
        let said = c.gateway.call(APPLY_PATCH, patch(".", text));
        assert_eq!(said["ok"], false, "{said}");
        assert_ne!(said["code"], "internal", "{said}");
        assert_eq!(c.everything(), before, "no link leads a patch outside");
    }
    c.gives(APPLY_PATCH, patch("a.txt", good), &PATCHED);
    c.gives(
        APPLY_PATCH,
        patch(".", &several.replace("one", "ONE").replace("+ONE", "+two")),
        &PATCHED,
    );
    assert_eq!(
        c.raw("workspace/d/b.txt").as_deref(),
        Some("B\n"),
        "the control: several, by their directory"
    );
}
