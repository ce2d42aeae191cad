use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::json;

use super::*;
use crate::Matches;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn a_write_makes_the_file_and_what_is_above_it() {
    let fixture = Fixture::new();
    let written = fixture.files.write("a/b/f.txt", "grüße\r\n").unwrap();
    let path = fixture.at("a/b/f.txt").display().to_string();
    assert_eq!(
        serde_json::to_value(&written).unwrap(),
        json!({"path": path, "bytes": 9})
    );
    assert_eq!(fixture.get("a/b/f.txt"), "grüße\r\n");
    let out = fixture.out("new/f").display().to_string();
    fixture.files.write(&out, "x").unwrap();
    assert_eq!(fs::read(fixture.out("new/f")).unwrap(), b"x");
    fixture.files.write("a/b/f.txt", "").unwrap();
    assert_eq!(fixture.get("a/b/f.txt"), "");
    assert_eq!(
        fixture.names(),
        ["a", "a/b", "a/b/f.txt"],
        "nothing is left behind"
    );
}

#[test]
fn an_old_file_keeps_its_mode_and_a_new_one_gets_the_usual() {
    let fixture = Fixture::new();
    fixture.put("usual", "");
    fixture.files.write("new", "x").unwrap();
    assert_eq!(mode(&fixture.at("new")), mode(&fixture.at("usual")));
    for kept in [0o600, 0o754, 0o644] {
        fs::set_permissions(fixture.at("new"), PermissionsExt::from_mode(kept)).unwrap();
        fixture.files.write("new", "two").unwrap();
        assert_eq!(mode(&fixture.at("new")), kept);
        fixture
            .files
            .edit("new", "two", "three", Matches::One)
            .unwrap();
        assert_eq!(mode(&fixture.at("new")), kept);
    }
}

#[test]
fn a_link_is_written_through_and_stays_a_link() {
    let fixture = Fixture::new();
    fixture.put("d/real", "old");
    symlink("d/real", fixture.at("link")).unwrap();
    symlink("link", fixture.at("link-to-link")).unwrap();
    symlink("d/later", fixture.at("early")).unwrap();
    symlink("round", fixture.at("round")).unwrap();
    fixture.files.write("link-to-link", "new").unwrap();
    assert_eq!(fixture.get("d/real"), "new");
    fixture
        .files
        .edit("link", "new", "newer", Matches::One)
        .unwrap();
    assert_eq!(fixture.get("d/real"), "newer");
    fixture.files.write("early", "now").unwrap();
    assert_eq!(fixture.get("d/later"), "now");
    let refused = fixture.files.write("round", "x");
    assert!(
        matches!(refused, Err(LocalError::NotRegular(_))),
        "{refused:?}"
    );
    for link in ["link", "link-to-link", "early", "round"] {
        assert!(fs::symlink_metadata(fixture.at(link)).unwrap().is_symlink());
    }
    assert_eq!(fixture.names().len(), 7);
}

#[test]
fn what_cannot_be_written_stays_as_it_was() {
    let fixture = Fixture::new();
    fixture.put("d/f", "old");
    fifo(&fixture.at("fifo"));
    let before = fixture.names();
    let refused = |path: &str| fixture.files.write(path, "x").unwrap_err();
    assert!(matches!(refused("d"), LocalError::IsDirectory(_)));
    assert!(matches!(refused("/"), LocalError::IsDirectory(_)));
    assert!(matches!(refused("d/f/g"), LocalError::NotDirectory(_)));
    assert!(matches!(refused("d/f/g/h"), LocalError::NotDirectory(_)));
    assert!(matches!(refused("fifo"), LocalError::NotRegular(_)));
    assert!(matches!(refused("/dev/null"), LocalError::NotRegular(_)));
    assert_eq!(
        (fixture.names(), fixture.get("d/f")),
        (before, "old".to_owned())
    );
    fixture.files.write("d/f", "new").unwrap();
    assert_eq!(fixture.get("d/f"), "new");
}

#[test]
fn rights_on_the_file_and_its_directory_both_count() {
    as_ordinary_user(|| {
        let fixture = Fixture::new();
        fixture.put("f", "old");
        fixture.put("closed/g", "old");
        let set = |path: &str, mode| {
            fs::set_permissions(fixture.at(path), PermissionsExt::from_mode(mode)).unwrap();
        };
        set("f", 0o444);
        set("closed", 0o555);
        let before = fixture.names();
        for path in ["f", "closed/g", "closed/new", "closed/new/h"] {
            let refused = fixture.files.write(path, "new");
            assert!(
                matches!(refused, Err(LocalError::Denied(_))),
                "{path}: {refused:?}"
            );
        }
        for path in ["f", "closed/g"] {
            let refused = fixture.files.edit(path, "old", "new", Matches::One);
            assert!(
                matches!(refused, Err(LocalError::Denied(_))),
                "{path}: {refused:?}"
            );
            assert_eq!(fixture.get(path), "old");
        }
        assert_eq!(fixture.names(), before);
        set("f", 0o644);
        set("closed", 0o755);
        for path in ["f", "closed/g", "closed/new/h"] {
            fixture.files.write(path, "new").unwrap();
            assert_eq!(fixture.get(path), "new");
        }
    });
}

#[test]
fn an_edit_replaces_exactly() {
    let fixture = Fixture::new();
    for (text, old, new, matches, expect, count) in [
        ("a b c", "b", "$& $1 \\n", Matches::One, "a $& $1 \\n c", 1),
        ("a\r\nb", "a\r\n", "x\r\n", Matches::One, "x\r\nb", 1),
        ("a a a", "a", "b", Matches::All, "b b b", 3),
    ] {
        fixture.put("f", text);
        let edited = fixture.files.edit("f", old, new, matches).unwrap();
        let path = fixture.at("f").display().to_string();
        assert_eq!(
            serde_json::to_value(&edited).unwrap(),
            json!({"path": path, "replacements": count})
        );
        assert_eq!(fixture.get("f"), expect);
    }
}

#[test]
fn an_edit_that_is_not_clear_changes_nothing() {
    let fixture = Fixture::new();
    fixture.put("f", "a a a");
    fixture.put("bin", b"a\xff");
    let refused = |path: &str, old: &str| {
        let refused = fixture.files.edit(path, old, "b", Matches::One);
        refused.unwrap_err().to_string()
    };
    let ambiguous = refused("f", "a");
    assert!(ambiguous.contains("found 3 times") && ambiguous.contains("replaceAll: true"));
    assert!(refused("f", "z").starts_with("oldString not found"));
    assert!(refused("f", "").starts_with("oldString: must not be empty"));
    assert!(refused("bin", "a").contains("is not UTF-8 text"));
    assert!(refused("gone", "a").contains("no such file"));
    assert_eq!(fixture.get("f"), "a a a");
    assert_eq!(fs::read(fixture.at("bin")).unwrap(), b"a\xff");
    assert_eq!(fixture.names(), ["bin", "f"]);
}

#[test]
fn an_edit_loses_to_whoever_wrote_meanwhile() {
    type Meanwhile = fn(&Path);
    let cases: [(Meanwhile, Option<&str>); 4] = [
        // The same size, and maybe within one tick of the clock.
        (
            |path| fs::write(path, "their text").unwrap(),
            Some("their text"),
        ),
        (
            |path| {
                let beside = path.with_extension("new");
                fs::write(&beside, "replaced").unwrap();
                fs::rename(&beside, path).unwrap();
            },
            Some("replaced"),
        ),
        (|path| fs::remove_file(path).unwrap(), None),
        (|_| {}, Some("our worlds")),
    ];
    for fixture in [Fixture::new(), Fixture::jailed()] {
        for (meanwhile, expect) in &cases {
            fixture.put("f", "our words.");
            let path = fixture.at("f");
            let edited = fixture
                .files
                .edit_with("f", "words.", "worlds", Matches::One, || meanwhile(&path));
            let there = fs::read_to_string(&path).ok();
            assert_eq!(there.as_deref(), *expect);
            match edited {
                Ok(edited) => assert_eq!((edited.replacements, *expect), (1, Some("our worlds"))),
                Err(error) => {
                    assert!(matches!(error, LocalError::Changed(_)), "{error:?}");
                    assert_ne!(*expect, Some("our worlds"));
                }
            }
            assert!(fixture.names().len() <= 1, "{:?}", fixture.names());
        }
    }
}

#[test]
fn of_two_edits_of_one_text_one_wins() {
    let fixture = Fixture::new();
    fixture.put("f", "0");
    let done = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let old = fixture.get("f");
                    let new = (old.parse::<u32>().unwrap() + 1).to_string();
                    if fixture.files.edit("f", &old, &new, Matches::One).is_ok() {
                        done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(fixture.get("f"), done.into_inner().to_string());
}
