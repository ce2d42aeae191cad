use std::os::unix::fs::symlink;

use sha2::{Digest, Sha256};

use super::*;

const KEY: &str = "key";

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

impl Fixture {
    fn incoming(&self, path: &str, size: u64) -> Result<IncomingFile, LocalError> {
        self.files.incoming(path, size, Some(KEY))
    }

    /// What a file holds once it has gone out and come in again, cut at `cut`.
    fn round(&self, from: &str, to: &str, cut: usize) -> String {
        let mut outgoing = self.files.outgoing(from).unwrap();
        let size = outgoing.size();
        let mut bytes = vec![0; usize::try_from(size).unwrap()];
        outgoing.read(&mut bytes).unwrap();
        let hash = outgoing.finish().unwrap();
        let mut incoming = self.incoming(to, size).unwrap();
        incoming.write(&bytes[..cut]).unwrap();
        drop(incoming);
        let mut incoming = self.incoming(to, size).unwrap();
        assert_eq!(incoming.taken(), cut as u64);
        incoming.write(&bytes[cut..]).unwrap();
        assert_eq!(incoming.finish(Some(&hash)).unwrap(), size);
        self.get(to)
    }
}

#[test]
fn a_file_survives_transfer_in_any_chunks() {
    for fixture in [Fixture::new(), Fixture::jailed()] {
        fixture.put("f", "all of it");
        for cut in [0, 3, 9] {
            assert_eq!(fixture.round("f", "d/g", cut), "all of it");
        }
        assert_eq!(fixture.names(), ["d", "d/g", "f"]);
    }
}

#[test]
fn the_hash_is_of_the_whole_wherever_it_began() {
    let fixture = Fixture::new();
    fixture.put("f", "all of it");
    let mut outgoing = fixture.files.outgoing("f").unwrap();
    outgoing.skip_to(4, &never()).unwrap();
    let mut rest = [0; 9];
    assert_eq!(outgoing.read(&mut rest).unwrap(), 5);
    assert_eq!(&rest[..5], b"of it");
    assert_eq!(outgoing.finish().unwrap(), sha256(b"all of it"));
    let mut outgoing = fixture.files.outgoing("f").unwrap();
    assert!(outgoing.skip_to(10, &never()).is_err(), "past the end");
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    for fixture in [Fixture::new(), Fixture::jailed()] {
        fixture.put("f", "old");
        let mut incoming = fixture.incoming("f", 3).unwrap();
        *incoming.part_file() = fs::File::options().write(true).open("/dev/full").unwrap();
        let failed = incoming.write(b"new").unwrap_err();
        assert!(matches!(failed, LocalError::Full(_)), "{failed}");
        incoming.discard();
        assert_eq!(
            (fixture.get("f"), fixture.names()),
            ("old".to_owned(), vec!["f".to_owned()])
        );
    }
}

#[test]
fn one_adds_to_a_part_at_a_time() {
    for fixture in [Fixture::new(), Fixture::jailed()] {
        let first = fixture.incoming("f", 3).unwrap();
        let second = fixture.incoming("f", 3);
        assert!(matches!(second, Err(LocalError::Busy(_))), "{second:?}");
        drop(first);
        assert!(fixture.incoming("f", 3).is_ok());
    }
}

#[test]
fn more_than_is_wanted_of_a_part_is_of_another_file() {
    let fixture = Fixture::new();
    let mut incoming = fixture.incoming("f", 9).unwrap();
    incoming.write(b"all of it").unwrap();
    drop(incoming);
    assert_eq!(fixture.incoming("f", 4).unwrap().taken(), 0);
}

#[test]
fn without_a_key_no_part_is_kept() {
    for fixture in [Fixture::new(), Fixture::jailed()] {
        let mut incoming = fixture.files.incoming("f", 9, None).unwrap();
        incoming.write(b"half").unwrap();
        assert_eq!(fixture.names().len(), 1);
        drop(incoming);
        assert_eq!(fixture.names(), Vec::<String>::new());
    }
}

#[test]
fn parts_are_neither_found_nor_searched() {
    for fixture in [Fixture::new(), Fixture::jailed()] {
        fixture.put("f", "needle");
        let mut incoming = fixture.incoming("g", 9).unwrap();
        incoming.write(b"needle").unwrap();
        drop(incoming);
        let glob = GlobRequest {
            pattern: "**/*".to_owned(),
            no_ignore: true,
            ..GlobRequest::default()
        };
        assert_eq!(fixture.files.glob(&glob, &never()).unwrap().count, 1);
        let grep = GrepRequest {
            pattern: "needle".to_owned(),
            no_ignore: true,
            ..GrepRequest::default()
        };
        assert_eq!(fixture.files.grep(&grep, &never()).unwrap().count, Some(1));
    }
}

#[test]
fn what_may_not_be_written_is_refused_before_anything_comes() {
    let fixture = Fixture::new();
    fixture.put("d/f", "x");
    fifo(&fixture.at("fifo"));
    symlink("loop", fixture.at("loop")).unwrap();
    let before = fixture.names();
    for path in ["d", "fifo", "loop", "d/f/below", "/"] {
        assert!(fixture.incoming(path, 1).is_err(), "{path}");
    }
    assert_eq!(fixture.names(), before);
    fixture.put("closed/f", "x");
    fs::set_permissions(
        fixture.dir.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    as_ordinary_user(|| {
        let refused = fixture.incoming("closed/f", 1);
        assert!(matches!(refused, Err(LocalError::Denied(_))), "{refused:?}");
    });
    assert!(fixture.incoming("closed/f", 1).is_ok());
}

#[test]
fn only_regular_files_go_out() {
    let fixture = Fixture::new();
    fixture.put("d/f", "x");
    fifo(&fixture.at("fifo"));
    for path in ["d", "fifo", "/dev/zero", "nothing"] {
        assert!(fixture.files.outgoing(path).is_err(), "{path}");
    }
    assert_eq!(fixture.files.outgoing("d/f").unwrap().size(), 1);
}

#[test]
fn only_parts_are_removed_as_parts() {
    for fixture in [Fixture::new(), Fixture::jailed()] {
        fixture.put("f", "x");
        assert!(fixture.files.remove_part(&fixture.at("f")));
        assert_eq!(fixture.names(), ["f"]);
        let incoming = fixture.incoming("g", 9).unwrap();
        let part = incoming.part().to_owned();
        drop(incoming);
        assert_eq!(fixture.names().len(), 2);
        assert!(fixture.files.remove_part(&part));
        assert_eq!(fixture.names(), ["f"]);
    }
}
