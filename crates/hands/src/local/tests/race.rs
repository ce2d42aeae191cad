//! A folder of the jail is swapped with a link to a folder outside, over and over, while the
//! tools look. Nothing outside is ever named or shown, in a result or in an error.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{RenameFlags, renameat_with};

use super::*;

/// Part of every name and every content outside.
const CANARY: &str = "canary";

/// Rounds of all tools. Without the handle, a hundred show a name.
const ROUNDS: usize = 1_500;

/// Tells the racer to stop, also when an assertion fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A folder that a walk has something to say about, whatever it is looked at for: ordinary files,
/// names that a jail cannot open, ignore files that would block, and links.
fn fill(folder: &Path, mark: &str) {
    for at in ["", "deep", "deep/er"] {
        let dir = folder.join(at);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("{mark}.txt")), format!("needle {mark}\n")).unwrap();
        fs::write(dir.join(format!("{mark}\u{1}control")), "needle\n").unwrap();
        let raw = [mark.as_bytes(), b"\xff"].concat();
        fs::write(dir.join(std::ffi::OsStr::from_bytes(&raw)), "needle\n").unwrap();
        symlink(format!("{mark}.txt"), dir.join(format!("{mark}-link"))).unwrap();
        let blocked = dir.join(format!("{mark}-blocked"));
        fs::create_dir(&blocked).unwrap();
        fifo(&blocked.join(".gitignore"));
    }
}

/// Everything the tools say, as one text each.
fn said(files: &LocalFiles, follow_links: bool) -> Vec<String> {
    let json = |value: Result<serde_json::Value, LocalError>| match value {
        Ok(value) => value.to_string(),
        Err(error) => format!("{error} {error:?}"),
    };
    let mut said = Vec::new();
    for base in ["", "door", "door/deep"] {
        let grep = GrepRequest {
            pattern: "needle".to_owned(),
            path: Some(base.to_owned()),
            context: 1,
            follow_links,
            ..GrepRequest::default()
        };
        let glob = GlobRequest {
            pattern: "**/*".to_owned(),
            path: Some(base.to_owned()),
            no_ignore: follow_links,
        };
        let found = files.grep(&grep, &never());
        said.push(json(
            found.map(|found| serde_json::to_value(found).unwrap()),
        ));
        let found = files.glob(&glob, &never());
        said.push(json(
            found.map(|found| serde_json::to_value(found).unwrap()),
        ));
        let read = ReadRequest {
            path: format!("{base}/{CANARY}.txt")
                .trim_start_matches('/')
                .to_owned(),
            ..ReadRequest::default()
        };
        // What the caller itself spelled is no news.
        said.push(match files.read(&read, &never()) {
            Ok(read) => serde_json::to_string(&read).unwrap(),
            Err(_) => String::new(),
        });
        let outgoing = files.outgoing(&read.path);
        assert!(outgoing.is_err(), "{base}: sent {outgoing:?}");
    }
    let root = files.root().unwrap();
    for depth in [crate::files::Depth::One, crate::files::Depth::All] {
        for location in ["", "door"] {
            let location = manyhands_guard::RelPath::parse(location).unwrap();
            said.push(
                match crate::files::list(root.jail(), &location, depth, 1000) {
                    Ok(listing) => format!("{listing:?}"),
                    Err(error) => format!("{error} {error:?}"),
                },
            );
        }
    }
    said
}

#[test]
fn a_folder_swapped_for_a_link_shows_nothing_of_where_it_leads() {
    let fixture = Fixture::jailed();
    fill(&fixture.at("door"), "inside");
    fill(&fixture.out(""), CANARY);
    let workspace = manyhands_guard::Jail::open(&fixture.at("")).unwrap();
    symlink(fixture.out(""), fixture.at("link")).unwrap();

    let free = LocalFiles::open(&fixture.out(""), Some(&fixture.out(""))).unwrap();
    let open = search_unconfined(&free);
    assert!(
        open.iter().all(|said| said.contains(CANARY)),
        "the control: {open:?}"
    );

    let done = AtomicBool::new(false);
    let (mut inside, mut swapped) = (0, 0);
    let flips = std::thread::scope(|scope| {
        let racer = scope.spawn(|| {
            let mut flips = 0;
            while !done.load(Ordering::Relaxed) {
                renameat_with(
                    &workspace,
                    "door",
                    &workspace,
                    "link",
                    RenameFlags::EXCHANGE,
                )
                .unwrap();
                flips += 1;
            }
            flips
        });
        let stop = Stop(&done);
        for round in 0..ROUNDS {
            for said in said(&fixture.files, round % 2 == 0) {
                assert!(!said.contains(CANARY), "round {round}: {said}");
                match said.contains("needle inside") || said.contains("inside.txt") {
                    true => inside += 1,
                    false => swapped += 1,
                }
            }
        }
        drop(stop);
        racer.join().unwrap()
    });
    assert!(
        inside > 100 && swapped > 100 && flips > 1_000,
        "{inside} inside, {swapped} swapped, {flips} flips"
    );
}

/// What the same searches say of the folder outside to somebody who may look there.
fn search_unconfined(files: &LocalFiles) -> [String; 4] {
    let grep = GrepRequest {
        pattern: "needle".to_owned(),
        ..GrepRequest::default()
    };
    let glob = GlobRequest {
        pattern: "**/*".to_owned(),
        ..GlobRequest::default()
    };
    let grepped = files.grep(&grep, &never()).unwrap();
    let globbed = files.glob(&glob, &never()).unwrap();
    [
        format!("{:?}", grepped.matches),
        format!("{:?}", grepped.skipped),
        format!("{:?}", globbed.matches),
        format!("{:?}", globbed.skipped),
    ]
}

#[test]
fn ignore_files_count_inside_a_jail_as_they_do_outside() {
    let (free, jailed) = (Fixture::new(), Fixture::jailed());
    for fixture in [&free, &jailed] {
        fixture.put(".gitignore", "*.log\n!kept.log\nbuild/\n/top\n");
        fixture.put(".ignore", "secret\n");
        fixture.put("repo/.gitignore", "\u{feff}target/\n*.tmp\n# c\n!b.tmp\n");
        fs::create_dir(fixture.at("repo/.git")).unwrap();
        fixture.put("repo/sub/.ignore", "!x.tmp\n");
        for path in [
            "a.log",
            "kept.log",
            "top",
            "build/x",
            "secret",
            "repo/a.tmp",
            "repo/b.tmp",
            "repo/c.log",
            "repo/target/x",
            "repo/sub/x.tmp",
            "repo/sub/secret",
            "repo/sub/target",
            "repo/sub/top",
            "d/e/f",
        ] {
            fixture.put(path, "needle");
        }
        symlink("../d", fixture.at("repo/to-d")).unwrap();
        symlink("sub/x.tmp", fixture.at("repo/y.tmp")).unwrap();
    }
    let found = |fixture: &Fixture, base: &str, no_ignore| {
        let glob = GlobRequest {
            pattern: "**/*".to_owned(),
            path: Some(base.to_owned()),
            no_ignore,
        };
        let found = fixture.files.glob(&glob, &never()).unwrap();
        let mut names: Vec<String> = found.matches.iter().map(|m| fixture.below(m)).collect();
        names.sort();
        names
    };
    let git = |fixture: &Fixture| fs::create_dir(fixture.at(".git")).unwrap();
    for top_is_a_repository in [false, true] {
        for (base, no_ignore) in [("", false), ("", true), ("repo", true), ("d", false)] {
            let expect = found(&free, base, no_ignore);
            assert!(!expect.is_empty());
            assert_eq!(
                found(&jailed, base, no_ignore),
                expect,
                "{base:?} {no_ignore}"
            );
        }
        if !top_is_a_repository {
            git(&free);
            git(&jailed);
        }
    }
    // Above the base, a jail looks at nothing.
    assert!(found(&jailed, "repo", false).contains(&"repo/sub/secret".to_owned()));
}
