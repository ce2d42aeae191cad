//! Backups that were damaged, or made to harm, as tests.

use std::io::{Read as _, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::claims::{NOW, lived_in, restoring, saving};
use super::manifest::{Hashing, MANIFEST, Manifest};
use super::{Overwrite, Restore, backup, restore};
use crate::StoreError;
use crate::testing::contents;

/// A backup with its members changed by `change`, and a manifest that fits or does not.
fn altered(file: &Path, change: impl Fn(&str, &mut Vec<u8>) -> bool) -> Vec<u8> {
    let mut archive = tar::Archive::new(GzDecoder::new(std::fs::File::open(file).unwrap()));
    let mut out = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let (name, mut bytes) = (entry.path().unwrap().display().to_string(), Vec::new());
        entry.read_to_end(&mut bytes).unwrap();
        if change(&name, &mut bytes) {
            let mut header = entry.header().clone();
            header.set_size(bytes.len() as u64);
            out.append_data(&mut header, &name, bytes.as_slice())
                .unwrap();
        }
    }
    out.into_inner().unwrap().finish().unwrap()
}

async fn check_refused(what: &str, file: &Path, bytes: &[u8]) {
    let bad = file.with_file_name("bad.tar.gz");
    std::fs::write(&bad, bytes).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("home");
    std::fs::create_dir(&there).unwrap();
    std::fs::write(there.join("mine"), "precious").unwrap();
    let forced = Restore {
        overwrite: Overwrite::Replace,
        ..restoring(&bad, &there)
    };
    let error = restore(forced).await.expect_err(what);
    assert!(
        matches!(
            error,
            StoreError::Corrupt { .. } | StoreError::Schema { .. }
        ),
        "{what}: {error:?}"
    );
    assert_eq!(contents(folder.path()).len(), 1, "{what}: nothing changed");
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "{what}: no scratch stays"
    );
}

#[tokio::test]
async fn a_damaged_backup_is_refused_and_changes_nothing() {
    let (home, _store, _outside, file) = lived_in().await;
    backup(saving(&home, &file)).await.unwrap();
    let good = std::fs::read(&file).unwrap();
    for cut in [0, 1, 100, good.len() / 2, good.len() - 9, good.len() - 1] {
        check_refused(&format!("cut at {cut}"), &file, &good[..cut]).await;
    }
    for at in [good.len() / 3, good.len() / 2, good.len() - 6] {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        check_refused(&format!("flipped at {at}"), &file, &bytes).await;
    }
    let notes = "blobs/agents/main/notes ü %.md";
    let changed = altered(&file, |name, bytes| {
        if name == notes {
            bytes[0] = b'N';
        }
        true
    });
    check_refused("a changed member", &file, &changed).await;
    check_refused(
        "a missing member",
        &file,
        &altered(&file, |name, _| name != notes),
    )
    .await;
    check_refused(
        "no manifest",
        &file,
        &altered(&file, |name, _| name != MANIFEST),
    )
    .await;
    let newer = altered(&file, |name, bytes| {
        if name == MANIFEST {
            let text = String::from_utf8(std::mem::take(bytes)).unwrap();
            *bytes = text.replace("\"format\": 1", "\"format\": 2").into_bytes();
        }
        true
    });
    check_refused("a newer form", &file, &newer).await;
    let there = tempfile::tempdir().unwrap();
    let untouched = altered(&file, |_, _| true);
    std::fs::write(file.with_extension("same"), untouched).unwrap();
    let same = restoring(&file.with_extension("same"), &there.path().join("home"));
    restore(same)
        .await
        .expect("repacked without a change, it is good");
}

/// A backup that is consistent in itself but was made to harm.
fn crafted(kind: tar::EntryType, path: &str) -> Vec<u8> {
    let mut out = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut members = Vec::new();
    for (kind, path) in [(tar::EntryType::Regular, "manyhands.db"), (kind, path)] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o600);
        header.set_size(4);
        // Written by hand: the builder would refuse to climb.
        header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
        if kind == tar::EntryType::Symlink || kind == tar::EntryType::Link {
            header.set_size(0);
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        let size = header.size().unwrap();
        let content = &b"evil"[..usize::try_from(size).unwrap()];
        out.append(&header, content).unwrap();
        let mut hashing = Hashing::new(content);
        std::io::copy(&mut hashing, &mut std::io::sink()).unwrap();
        members.push(hashing.member(path));
    }
    let text = serde_json::to_vec(&Manifest::new("1", NOW, members)).unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o600);
    header.set_size(text.len() as u64);
    out.append_data(&mut header, MANIFEST, text.as_slice())
        .unwrap();
    let mut gz = out.into_inner().unwrap();
    gz.flush().unwrap();
    gz.finish().unwrap()
}

#[tokio::test]
async fn a_crafted_backup_writes_nowhere_else() {
    use tar::EntryType;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.tar.gz");
    let table = [
        (EntryType::Regular, "../escaped"),
        (EntryType::Regular, "blobs/../../escaped"),
        (EntryType::Regular, "/tmp/manyhands-escaped"),
        (EntryType::Regular, "blobs//a"),
        (EntryType::Regular, "./blobs/a"),
        (EntryType::Regular, "blobs"),
        (EntryType::Regular, "stranger"),
        (EntryType::Regular, "gateway.lock"),
        (EntryType::Regular, "manyhands.db"),
        (EntryType::Symlink, "blobs/link"),
        (EntryType::Link, "blobs/link"),
        (EntryType::Char, "blobs/device"),
        (EntryType::Fifo, "blobs/pipe"),
        (EntryType::Directory, "blobs/folder"),
    ];
    for (kind, path) in table {
        check_refused(&format!("{kind:?} {path}"), &file, &crafted(kind, path)).await;
    }
    assert!(!Path::new("/tmp/manyhands-escaped").exists());
    std::fs::write(&file, crafted(EntryType::Regular, "blobs/fine")).unwrap();
    restore(restoring(&file, &folder.path().join("home")))
        .await
        .unwrap();
}
