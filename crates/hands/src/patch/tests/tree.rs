//! Patches applied to the files of a jail: all of it or nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use manyhands_guard::{Jail, RelPath};
use tempfile::TempDir;

use super::*;

type Files<'a> = &'a [(&'a str, &'a str)];

/// Everything beneath a directory: content of files, `None` for directories.
type Snapshot = BTreeMap<PathBuf, Option<(Vec<u8>, u32)>>;

fn tree(files: Files<'_>) -> (TempDir, Jail) {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let jail = Jail::open(dir.path()).unwrap();
    (dir, jail)
}

fn snapshot(root: &Path) -> Snapshot {
    fn visit(root: &Path, dir: &Path, seen: &mut Snapshot) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_owned();
            let meta = fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                seen.insert(name, None);
                visit(root, &path, seen);
            } else {
                let content = fs::read(&path).unwrap_or_default();
                seen.insert(name, Some((content, meta.permissions().mode())));
            }
        }
    }
    let mut seen = Snapshot::new();
    visit(root, root, &mut seen);
    seen
}

fn contents(root: &Path) -> BTreeMap<String, String> {
    let files = snapshot(root).into_iter().filter_map(|(path, found)| {
        let content = String::from_utf8(found?.0).unwrap();
        Some((path.to_str().unwrap().to_owned(), content))
    });
    files.collect()
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

/// `patch` turns the files `before` into `after`, as git does, and reports `actions`.
#[track_caller]
fn check_tree(before: Files<'_>, patch: &str, after: Files<'_>, actions: &[(&str, &str)]) {
    let (dir, jail) = tree(before);
    let done = apply_to_dir(&jail, &RelPath::root(), &parse(patch).unwrap()).unwrap();
    let said: Vec<_> = done
        .iter()
        .map(|f| (f.path.as_str(), f.action.as_str()))
        .collect();
    assert_eq!(said, actions);
    let owned = |files: Files<'_>| -> BTreeMap<String, String> {
        files
            .iter()
            .map(|(n, c)| ((*n).to_owned(), (*c).to_owned()))
            .collect()
    };
    assert_eq!(contents(dir.path()), owned(after));
    let (theirs, _) = tree(before);
    let output = git(theirs.path(), &["apply"], patch);
    assert!(output.status.success(), "git: {output:?}");
    assert_eq!(contents(theirs.path()), owned(after), "git");
}

/// `patch` is refused with `expect` and changes nothing; git refuses it too.
#[track_caller]
fn check_refused(before: Files<'_>, patch: &str, expect: &str) {
    let (dir, jail) = tree(before);
    refused_in(&dir, &jail, patch, expect);
    let (theirs, _) = tree(before);
    assert!(!git(theirs.path(), &["apply"], patch).status.success());
}

#[track_caller]
fn refused_in(dir: &TempDir, jail: &Jail, patch: &str, expect: &str) {
    let seen = snapshot(dir.path());
    let error = apply_to_dir(jail, &RelPath::root(), &parse(patch).unwrap()).unwrap_err();
    assert!(error.to_string().contains(expect), "{error}");
    assert_eq!(snapshot(dir.path()), seen, "a refusal left traces");
}

const MODIFY_A: &str = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+A\n";
const CREATE_N: &str = "diff --git a/d/e/n b/d/e/n\nnew file mode 100644\n--- /dev/null\n+++ b/d/e/n\n@@ -0,0 +1 @@\n+n\n";
const DELETE_B: &str = "--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n";
const RENAME_C: &str =
    "diff --git a/c b/x/c2\nsimilarity index 100%\nrename from c\nrename to x/c2\n";

#[test]
fn one_patch_modifies_creates_deletes_renames_and_copies() {
    let copy = "diff --git a/c b/c3\nsimilarity index 50%\ncopy from c\ncopy to c3\n--- a/c\n+++ b/c3\n@@ -1 +1,2 @@\n c\n+more\n";
    check_tree(
        &[("a", "a\n"), ("b", "b\n"), ("c", "c\n"), ("z", "z\n")],
        &[MODIFY_A, CREATE_N, DELETE_B, copy, RENAME_C].concat(),
        &[
            ("a", "A\n"),
            ("c3", "c\nmore\n"),
            ("d/e/n", "n\n"),
            ("x/c2", "c\n"),
            ("z", "z\n"),
        ],
        &[
            ("a", "modified"),
            ("d/e/n", "created"),
            ("b", "deleted"),
            ("c3", "copied"),
            ("x/c2", "renamed"),
        ],
    );
}

#[test]
fn renames_may_change_swap_and_make_room() {
    let rename = |from: &str, to: &str| {
        format!(
            "diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n"
        )
    };
    check_tree(
        &[("a", "1\n2\n3\n")],
        &(rename("a", "b") + "--- a/a\n+++ b/b\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n"),
        &[("b", "1\ntwo\n3\n")],
        &[("b", "renamed")],
    );
    check_tree(
        &[("a", "a\n"), ("b", "b\n")],
        &(rename("a", "b") + &rename("b", "a")),
        &[("a", "b\n"), ("b", "a\n")],
        &[("b", "renamed"), ("a", "renamed")],
    );
    check_tree(
        &[("a", "a\n")],
        &(rename("a", "b")
            + "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+new\n"),
        &[("a", "new\n"), ("b", "a\n")],
        &[("b", "renamed"), ("a", "created")],
    );
}

#[test]
fn copies_start_from_the_file_before_the_patch() {
    let copy = "diff --git a/a b/c\nsimilarity index 100%\ncopy from a\ncopy to c\n";
    check_tree(
        &[("a", "a\n")],
        &format!("diff --git a/a b/a\n{MODIFY_A}{copy}"),
        &[("a", "A\n"), ("c", "a\n")],
        &[("a", "modified"), ("c", "copied")],
    );
}

#[test]
fn two_parts_for_one_file_build_on_each_other() {
    check_tree(
        &[("a", "a\n")],
        &(MODIFY_A.to_owned() + "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-A\n+AA\n"),
        &[("a", "AA\n")],
        &[("a", "modified"), ("a", "modified")],
    );
}

#[test]
fn empty_files_are_made_and_removed() {
    check_tree(
        &[("gone", "")],
        "diff --git a/new b/new\nnew file mode 100644\nindex 0000000..e69de29\n\
         diff --git a/gone b/gone\ndeleted file mode 100644\nindex e69de29..0000000\n",
        &[("new", "")],
        &[("new", "created"), ("gone", "deleted")],
    );
    // Emptied is not deleted.
    check_tree(
        &[("a", "a\n")],
        "--- a/a\n+++ b/a\n@@ -1 +0,0 @@\n-a\n",
        &[("a", "")],
        &[("a", "modified")],
    );
}

#[test]
fn one_bad_part_leaves_every_file_as_it_was() {
    let before = &[("a", "a\n"), ("b", "b\n"), ("c", "c\n")];
    let valid = [RENAME_C, CREATE_N, MODIFY_A, DELETE_B].concat();
    let rows = [
        (
            "--- a/c\n+++ b/c\n@@ -1 +1 @@\n-no\n+x\n",
            "c: hunk 1 does not apply at line 1",
        ),
        (
            "--- a/gone\n+++ b/gone\n@@ -1 +1 @@\n-no\n+x\n",
            "gone: there is no such file",
        ),
        (
            "--- /dev/null\n+++ b/c\n@@ -0,0 +1 @@\n+x\n",
            "c: already exists",
        ),
        (
            "--- /dev/null\n+++ b/a/x\n@@ -0,0 +1 @@\n+x\n",
            "a/x: is a file where a directory was expected",
        ),
        (
            "--- a/c\n+++ /dev/null\n@@ -1 +0,0 @@\n-other\n",
            "c: hunk 1 does not apply",
        ),
        (
            "diff --git a/c b/a\nsimilarity index 100%\nrename from c\nrename to a\n",
            "a: already exists",
        ),
        (
            "diff --git a/c b/a\nsimilarity index 100%\ncopy from c\ncopy to a\n",
            "a: already exists",
        ),
        (
            "diff --git a/no b/x\nsimilarity index 100%\nrename from no\nrename to x\n",
            "no: there is no such file",
        ),
    ];
    for (bad, expect) in rows {
        check_refused(before, bad, expect);
        let valid = valid.replace(RENAME_C, if bad.contains("a/c") { "" } else { RENAME_C });
        if expect != "c: already exists" {
            check_refused(before, &format!("{valid}{bad}"), expect);
            check_refused(before, &format!("{bad}{valid}"), expect);
        }
    }
}

#[test]
fn deleting_removes_no_line_it_does_not_name() {
    let (dir, jail) = tree(&[("b", "b\nmore\n")]);
    refused_in(
        &dir,
        &jail,
        DELETE_B,
        "b: the patch deletes the file but not all of its lines",
    );
}

#[test]
fn a_failing_write_puts_back_those_before_it() {
    // Two names of one file: the second write finds that it changed.
    let (dir, jail) = tree(&[("a", "a\n"), ("m", "a\n"), ("empty/.keep", "")]);
    fs::remove_file(dir.path().join("empty/.keep")).unwrap();
    fs::set_permissions(dir.path().join("a"), PermissionsExt::from_mode(0o750)).unwrap();
    symlink("m", dir.path().join("n")).unwrap();
    let patch = [
        MODIFY_A,
        "--- /dev/null\n+++ b/empty/x/y\n@@ -0,0 +1 @@\n+n\n",
        &MODIFY_A.replace("/a", "/m"),
        &MODIFY_A.replace("/a", "/n"),
    ]
    .concat();
    refused_in(&dir, &jail, &patch, "n: changed since it was read");

    let last = MODIFY_A.to_owned() + CREATE_N + "--- /dev/null\n+++ b/m/x\n@@ -0,0 +1 @@\n+x\n";
    refused_in(
        &dir,
        &jail,
        &last,
        "m/x: is a file where a directory was expected",
    );
}

#[test]
fn names_cannot_leave_the_directory() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("f"), "a\n").unwrap();
    let (dir, jail) = tree(&[("in/f", "a\n"), ("f", "a\n")]);
    symlink(outside.path(), dir.path().join("out")).unwrap();
    let rows = [
        ("../f", "contains '..'"),
        ("in/../../f", "contains '..'"),
        ("/etc/passwd", "is absolute"),
        ("out/f", "leads outside"),
        ("\"x\\001\"", "control character"),
    ];
    for (name, expect) in rows {
        refused_in(
            &dir,
            &jail,
            &format!("--- {name}\n+++ {name}\n@@ -1 +1 @@\n-a\n+b\n"),
            expect,
        );
        refused_in(
            &dir,
            &jail,
            &format!("--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+b\n"),
            expect,
        );
        let rename = format!("diff --git x y\nrename from f\nrename to {name}\n");
        refused_in(&dir, &jail, &rename, expect);
    }
    assert_eq!(
        contents(outside.path()),
        BTreeMap::from([("f".into(), "a\n".into())])
    );
    // Beneath a directory, names begin there.
    let patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";
    apply_to_dir(&jail, &path("in"), &parse(patch).unwrap()).unwrap();
    assert_eq!(fs::read(dir.path().join("in/f")).unwrap(), b"b\n");
    assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"a\n");
}

#[test]
fn a_part_without_names_is_refused_for_a_directory() {
    let (dir, jail) = tree(&[("f", "a\n")]);
    refused_in(
        &dir,
        &jail,
        "@@ -1 +1 @@\n-a\n+b\n",
        "part 1 of the patch names no file",
    );
}

#[test]
fn of_two_names_the_one_that_is_there_is_changed() {
    let patch = "--- f.orig\n+++ f\n@@ -1 +1 @@\n-a\n+b\n";
    let both = parse(patch).unwrap();
    let (dir, jail) = tree(&[("f", "a\n"), ("f.orig", "a\n")]);
    let done = apply_to_dir(&jail, &RelPath::root(), &both).unwrap();
    assert_eq!(done[0].path.as_str(), "f");
    assert_eq!(fs::read(dir.path().join("f.orig")).unwrap(), b"a\n");
    let (_dir, jail) = tree(&[("f.orig", "a\n")]);
    let done = apply_to_dir(&jail, &RelPath::root(), &both).unwrap();
    assert_eq!(done[0].path.as_str(), "f.orig");
}

#[test]
fn permissions_stay_and_follow() {
    let (dir, jail) = tree(&[("a", "a\n"), ("c", "c\n"), ("plain", "p\n")]);
    let mode = |name: &str| {
        fs::metadata(dir.path().join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    let set = |name: &str, mode| {
        fs::set_permissions(dir.path().join(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    set("a", 0o754);
    set("c", 0o755);
    set("plain", 0o640);
    let patch = [
        MODIFY_A,
        RENAME_C,
        "diff --git a/plain b/plain\nold mode 100644\nnew mode 100755\n",
        "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n",
        CREATE_N,
    ]
    .concat();
    apply_to_dir(&jail, &RelPath::root(), &parse(&patch).unwrap()).unwrap();
    let modes = ["a", "x/c2", "plain", "run", "d/e/n"].map(mode);
    assert_eq!(modes, [0o754, 0o755, 0o750, 0o700, 0o600]);
    let back = "diff --git a/plain b/plain\nold mode 100755\nnew mode 100644\n";
    apply_to_dir(&jail, &RelPath::root(), &parse(back).unwrap()).unwrap();
    assert_eq!(mode("plain"), 0o640);
}

#[test]
fn one_named_file_is_patched_whatever_the_patch_calls_it() {
    let (dir, jail) = tree(&[("src/v", "a\n")]);
    let patch = |text| parse(text).unwrap();
    let done = apply_to_file(&jail, &path("src/v"), &patch(MODIFY_A)).unwrap();
    let expect = FileReport {
        path: path("src/v"),
        from: None,
        action: FileAction::Modified,
        hunks: vec![HunkReport {
            at_line: 1,
            offset: 0,
        }],
    };
    assert_eq!(done, expect);
    apply_to_file(&jail, &path("src/v"), &patch("@@ -1 +1 @@\n-A\n+B\n")).unwrap();
    assert_eq!(fs::read(dir.path().join("src/v")).unwrap(), b"B\n");
    let created = apply_to_file(&jail, &path("n"), &patch(CREATE_N)).unwrap();
    assert_eq!(
        (created.action, created.path.as_str()),
        (FileAction::Created, "n")
    );
    let deleted = apply_to_file(&jail, &path("n"), &patch(&DELETE_B.replace("-b", "-n"))).unwrap();
    assert_eq!(deleted.action, FileAction::Deleted);
    assert_eq!(
        contents(dir.path()),
        BTreeMap::from([("src/v".into(), "B\n".into())])
    );
}

#[test]
fn one_named_file_refuses_what_is_for_others() {
    let (dir, jail) = tree(&[("a", "a\n"), ("c", "c\n")]);
    let seen = snapshot(dir.path());
    let rows = [
        (
            "a",
            MODIFY_A.to_owned() + CREATE_N,
            "the patch changes 2 files",
        ),
        ("c", RENAME_C.to_owned(), "renames or copies"),
        ("a", CREATE_N.to_owned(), "a: already exists"),
        (
            "no",
            MODIFY_A.to_owned(),
            "no: there is no such file\nto create it",
        ),
        ("c", MODIFY_A.to_owned(), "c: hunk 1 does not apply"),
        ("a/x", MODIFY_A.to_owned(), "a/x: there is no such file"),
    ];
    for (name, text, expect) in rows {
        let error = apply_to_file(&jail, &path(name), &parse(&text).unwrap()).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
        assert_eq!(snapshot(dir.path()), seen);
    }
}

#[test]
fn large_files_are_refused() {
    let (dir, jail) = tree(&[]);
    let file = fs::File::create(dir.path().join("a")).unwrap();
    file.set_len(MAX_FILE_BYTES + 1).unwrap();
    let patch = parse("@@ -0,0 +1 @@\n+x\n").unwrap();
    let refused = apply_to_file(&jail, &path("a"), &patch).unwrap_err();
    assert!(matches!(refused, ApplyError::FileTooLarge { .. }));
    assert_eq!(file.metadata().unwrap().len(), MAX_FILE_BYTES + 1);
    file.set_len(MAX_FILE_BYTES).unwrap();
    apply_to_file(&jail, &path("a"), &patch).unwrap();
    assert_eq!(
        fs::metadata(dir.path().join("a")).unwrap().len(),
        MAX_FILE_BYTES + 2
    );
}

#[test]
fn many_large_files_together_are_refused() {
    let (dir, jail) = tree(&[]);
    let mut patch = String::new();
    for number in 0..5 {
        let file = fs::File::create(dir.path().join(format!("f{number}"))).unwrap();
        file.set_len(MAX_FILE_BYTES).unwrap();
        patch += &format!("--- a/f{number}\n+++ b/f{number}\n@@ -0,0 +1 @@\n+x\n");
    }
    let refused = apply_to_dir(&jail, &RelPath::root(), &parse(&patch).unwrap()).unwrap_err();
    assert!(matches!(refused, ApplyError::TotalTooLarge));
    let untouched = |number: i32| {
        let meta = fs::metadata(dir.path().join(format!("f{number}"))).unwrap();
        meta.len() == MAX_FILE_BYTES
    };
    assert!((0..5).all(untouched));
}
