//! Attacks on a jail, and crowds in one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;

use super::{Jail, JailError, WriteMode};
use crate::rel_path::RelPath;

const CANARY: &[u8] = b"canary outside";

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

/// A directory that holds `jail/`, and `outside/canary` and `jail-evil/canary` beside it.
fn yard() -> (TempDir, Jail) {
    let yard = tempfile::tempdir().unwrap();
    for name in ["jail", "outside", "jail-evil"] {
        fs::create_dir(yard.path().join(name)).unwrap();
    }
    for name in ["outside/canary", "jail-evil/canary"] {
        fs::write(yard.path().join(name), CANARY).unwrap();
    }
    let jail = Jail::open(&yard.path().join("jail")).unwrap();
    (yard, jail)
}

#[track_caller]
fn check_outside_untouched(yard: &Path) {
    for dir in ["outside", "jail-evil"] {
        let names: Vec<_> = fs::read_dir(yard.join(dir))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["canary"], "{dir} holds something new");
        assert_eq!(fs::read(yard.join(dir).join("canary")).unwrap(), CANARY);
    }
}

/// `link` leads out: nothing can be done through it.
#[track_caller]
fn check_refused(jail: &Jail, link: &str) {
    let target = path(link);
    let escapes = |error: JailError| assert!(matches!(error, JailError::Escapes), "{error:?}");
    escapes(jail.read(&target, 99).unwrap_err());
    escapes(jail.open_file(&target).unwrap_err());
    escapes(jail.metadata(&target).unwrap_err());
    for mode in [WriteMode::Overwrite, WriteMode::CreateNew] {
        escapes(jail.write(&target, b"overwritten", mode).unwrap_err());
    }
}

#[test]
fn a_symlink_cannot_lead_out() {
    let (yard, jail) = yard();
    let at = |name: &str| yard.path().join("jail").join(name);
    fs::create_dir(at("d")).unwrap();
    fs::write(at("d/inside"), "inside").unwrap();
    symlink(yard.path().join("outside/canary"), at("absolute")).unwrap();
    symlink("../outside/canary", at("climbing")).unwrap();
    symlink("../../outside/canary", at("d/climbing")).unwrap();
    symlink("absolute", at("chained")).unwrap();
    symlink("../jail-evil/canary", at("sibling")).unwrap();
    symlink("../outside", at("dir-out")).unwrap();
    symlink("/proc/self/root", at("magic")).unwrap();
    for link in [
        "absolute",
        "climbing",
        "d/climbing",
        "chained",
        "sibling",
        "dir-out/canary",
    ] {
        check_refused(&jail, link);
    }
    for below in ["dir-out/new", "dir-out/a/b/new", "magic/tmp/mh-jail-test"] {
        assert!(
            jail.write(&path(below), b"x", WriteMode::Overwrite)
                .is_err()
        );
    }
    assert!(jail.list(&path("dir-out")).is_err());
    assert!(jail.sub(&path("dir-out")).is_err());
    assert!(jail.remove_file(&path("dir-out/canary")).is_err());
    check_outside_untouched(yard.path());
    symlink("../d/inside", at("d/round")).unwrap();
    assert_eq!(jail.read(&path("d/round"), 99).unwrap().0, b"inside");
    assert!(
        jail.remove_file(&path("climbing")).unwrap(),
        "the link itself may go"
    );
    check_outside_untouched(yard.path());
}

/// A hard link is the file itself, indistinguishable from a copy of the name; only
/// someone who may already read the file can make one. Writing replaces the name
/// inside and leaves the file outside as it was.
#[test]
fn writing_to_a_hard_link_leaves_the_other_name_alone() {
    let (yard, jail) = yard();
    fs::hard_link(
        yard.path().join("outside/canary"),
        yard.path().join("jail/hard"),
    )
    .unwrap();
    assert_eq!(jail.read(&path("hard"), 99).unwrap().0, CANARY);
    jail.write(&path("hard"), b"mine", WriteMode::Overwrite)
        .unwrap();
    assert_eq!(jail.read(&path("hard"), 99).unwrap().0, b"mine");
    check_outside_untouched(yard.path());
}

/// Tells the racer to stop, also when an assertion fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A directory is swapped for a link to the outside, over and over, while files
/// below it are read and written 20,000 times.
#[test]
fn a_link_swapped_in_mid_call_never_leads_out() {
    let (yard, jail) = yard();
    let at = |name: &str| yard.path().join("jail").join(name);
    fs::create_dir(at("door")).unwrap();
    fs::write(at("door/canary"), "inside").unwrap();
    symlink("../outside", at("link")).unwrap();
    let done = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    let flips = std::thread::scope(|scope| {
        let racer = scope.spawn(|| {
            let mut flips = 0;
            while !done.load(Ordering::Relaxed) {
                let (door, link) = (at("door"), at("link"));
                renameat_with(CWD, &door, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                flips += 1;
            }
            flips
        });
        let stop = Stop(&done);
        let (canary, new) = (path("door/canary"), path("door/new"));
        for turn in 0..20_000 {
            let outcome = if turn % 16 == 0 {
                jail.write(&new, b"inside", WriteMode::Overwrite).map(drop)
            } else {
                jail.read(&canary, 99)
                    .map(|(bytes, _)| assert_eq!(bytes, b"inside"))
            };
            match outcome {
                Ok(()) => inside += 1,
                Err(_) => refused += 1,
            }
        }
        drop(stop);
        racer.join().unwrap()
    });
    assert!(
        inside > 100 && refused > 100 && flips > 1_000,
        "{inside} inside, {refused} refused, {flips} flips"
    );
    check_outside_untouched(yard.path());
}

#[test]
fn a_thousand_writers_leave_one_complete_file_and_no_temporaries() {
    let (yard, jail) = yard();
    let start = Barrier::new(100);
    std::thread::scope(|scope| {
        for writer in 0..100u8 {
            let (jail, start) = (jail.clone(), &start);
            scope.spawn(move || {
                start.wait();
                for _ in 0..10 {
                    jail.write(&path("d/f"), &[writer; 10_000], WriteMode::Overwrite)
                        .unwrap();
                }
            });
        }
    });
    let (bytes, _) = jail.read(&path("d/f"), 10_000).unwrap();
    assert_eq!(bytes.len(), 10_000);
    assert!(
        bytes.iter().all(|byte| *byte == bytes[0]),
        "two writes were mixed"
    );
    let left = fs::read_dir(yard.path().join("jail/d")).unwrap().count();
    assert_eq!(left, 1);
}

#[test]
fn of_edits_racing_on_one_version_none_is_lost() {
    let (_yard, jail) = yard();
    jail.write(&path("count"), b"100", WriteMode::Overwrite)
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let jail = jail.clone();
            scope.spawn(move || {
                let mut made = 0;
                while made < 20 {
                    let (bytes, meta) = jail.read(&path("count"), 99).unwrap();
                    let next = String::from_utf8(bytes).unwrap().parse::<u32>().unwrap() + 1;
                    let edit = WriteMode::IfVersion(meta.version);
                    match jail.write(&path("count"), next.to_string().as_bytes(), edit) {
                        Ok(_) => made += 1,
                        Err(JailError::Changed) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(jail.read(&path("count"), 99).unwrap().0, b"260");
}

#[test]
fn writers_and_a_cleanup_of_empty_directories_do_not_interfere() {
    let (_yard, jail) = yard();
    let target = path("a/b/f");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..200 {
                    jail.write(&target, b"x", WriteMode::Overwrite).unwrap();
                    jail.remove_file(&target).unwrap();
                    jail.remove_empty_parents(&target).unwrap();
                }
            });
        }
    });
    assert!(jail.list(&RelPath::root()).unwrap().unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_accepted_path_touches_the_outside(text in "(\\.|/|\\.\\.|[ab~]|out|dir|canary|\u{ff0e}\u{ff0f}){0,12}") {
        let (yard, jail) = yard();
        let at = |name: &str| yard.path().join("jail").join(name);
        fs::create_dir(at("dir")).unwrap();
        symlink("../outside", at("out")).unwrap();
        symlink("../../outside", at("dir/out")).unwrap();
        if let Ok(path) = RelPath::parse(&text) {
            if let Ok((bytes, _)) = jail.read(&path, 99) {
                prop_assert_ne!(bytes, CANARY);
            }
            let _ = jail.write(&path, b"changed", WriteMode::Overwrite);
            let _ = jail.remove_file(&path);
            jail.remove_empty_parents(&path).unwrap();
        }
        check_outside_untouched(yard.path());
    }
}
