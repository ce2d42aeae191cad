//! Backups that were damaged, or made to harm, as tests.

use std::io::{Read as _, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::manifest::{Hashing, MANIFEST, Manifest};
use super::tests::{NOW, lived_in, restoring, saving};
use super::{Backup, Overwrite, Restore, backup, restore};
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
            StoreError::Corrupt { .. } | StoreError::Schema { .. } | StoreError::Full
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
    let unpacked = |bytes: &[u8]| {
        let mut all = Vec::new();
        GzDecoder::new(bytes)
            .read_to_end(&mut all)
            .map(|_| all)
            .ok()
    };
    for at in [good.len() / 3, good.len() / 2, good.len() - 6] {
        // A few bits of a compressed stream mean nothing, such as those of codes that do not occur.
        let damaged = (at..good.len()).find_map(|at| {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            (unpacked(&bytes) != unpacked(&good)).then_some((at, bytes))
        });
        let (at, bytes) = damaged.unwrap();
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

/// One member as an attacker writes it.
struct Crafted<'a> {
    kind: tar::EntryType,
    name: &'a [u8],
    content: &'a [u8],
    /// What the header claims.
    size: u64,
}

impl<'a> Crafted<'a> {
    fn file(name: &'a str, content: &'a [u8]) -> Self {
        Self {
            kind: tar::EntryType::Regular,
            name: name.as_bytes(),
            content,
            size: content.len() as u64,
        }
    }

    fn of(kind: tar::EntryType, name: &'a str) -> Self {
        Self {
            kind,
            ..Self::file(name, b"")
        }
    }
}

/// A backup that is consistent in itself but was made to harm: `members` in order, and a manifest
/// that fits them unless `manifest` changes it.
fn crafted(members: &[Crafted<'_>], manifest: impl Fn(&mut Manifest)) -> Vec<u8> {
    let mut out = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut listed = Vec::new();
    for member in members {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(member.kind);
        header.set_mode(0o4777);
        header.set_size(member.size);
        // Written by hand: the builder would refuse to climb.
        let (name, long) = match member.name.len() > 100 {
            true => (&b"././@LongLink"[..], true),
            false => (member.name, false),
        };
        if long {
            let mut first = tar::Header::new_gnu();
            first.set_entry_type(tar::EntryType::GNULongName);
            first.set_size(member.name.len() as u64);
            first.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name);
            first.set_cksum();
            out.append(&first, member.name).unwrap();
        } else {
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name);
        }
        if matches!(member.kind, tar::EntryType::Symlink | tar::EntryType::Link) {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        out.append(&header, member.content).unwrap();
        let mut hashing = Hashing::new(member.content);
        std::io::copy(&mut hashing, &mut std::io::sink()).unwrap();
        listed.push(hashing.member(&String::from_utf8_lossy(member.name)));
    }
    let mut made = Manifest::new("1", NOW, listed);
    manifest(&mut made);
    let text = serde_json::to_vec(&made).unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o600);
    header.set_size(text.len() as u64);
    out.append_data(&mut header, MANIFEST, text.as_slice())
        .unwrap();
    let mut gz = out.into_inner().unwrap();
    gz.flush().unwrap();
    gz.finish().unwrap()
}

/// A database of ours, after `statements` were run on it.
async fn database(statements: &'static str) -> Vec<u8> {
    let home = crate::testing::TestHome::new();
    home.open().await.close().await.unwrap();
    if !statements.is_empty() {
        home.raw(statements).await;
    }
    let copy = home.path().join("copy.db");
    crate::sql::snapshot_into(&home.path().join("manyhands.db"), &copy)
        .await
        .unwrap();
    std::fs::read(copy).unwrap()
}

fn unchanged(_: &mut Manifest) {}

#[tokio::test]
async fn a_crafted_archive_is_refused_and_writes_nowhere_else() {
    use tar::EntryType;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.tar.gz");
    let good = database("").await;
    let database = || Crafted::file("manyhands.db", &good);
    let deep = format!("blobs/{}x", "d/".repeat(70));
    let long = format!("blobs/{}", "n".repeat(300));
    let endless = format!("blobs/{}", "n/".repeat(6_000));
    let names = [
        "../escaped",
        "blobs/../../escaped",
        "blobs/..",
        "/tmp/manyhands-escaped",
        "blobs//a",
        "./blobs/a",
        "blobs/./a",
        "blobs",
        "blobs/",
        "",
        "stranger",
        "gateway.lock",
        "manyhands.db",
        "manyhands.db-wal",
        "manyhands.db-journal",
        "Manyhands.db",
        "MANYHANDS.DB",
        "Config.toml",
        "config.toml/x",
        "Blobs/a",
        "BLOBS/a",
        "blobs\\a",
        "host/cache/x",
        "host/Workspace/x",
        "host",
        "blobs/.mh-tmp-1-1",
        "blobs/a\nb",
        "blobs/a\u{7f}",
        &deep,
        &long,
        &endless,
    ];
    let mut cases = 0;
    for name in names {
        let bytes = crafted(&[database(), Crafted::file(name, b"evil")], unchanged);
        check_refused(&format!("{name:?}"), &file, &bytes).await;
        cases += 1;
    }
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::Directory,
        EntryType::Continuous,
        EntryType::GNUSparse,
        EntryType::GNULongLink,
        EntryType::XHeader,
        EntryType::XGlobalHeader,
        EntryType::new(b'Z'),
    ] {
        let bytes = crafted(&[database(), Crafted::of(kind, "blobs/x")], unchanged);
        check_refused(&format!("{kind:?}"), &file, &bytes).await;
        cases += 1;
    }
    let raw = Crafted {
        name: b"blobs/\xff\xfe",
        ..Crafted::file("", b"evil")
    };
    let huge = Crafted {
        size: 1 << 50,
        ..Crafted::file("blobs/huge", b"evil")
    };
    let one = || Crafted::file("blobs/a", b"evil");
    let below = Crafted::file("blobs/a/b", b"evil");
    let dangling = Crafted::of(EntryType::GNULongName, "x");
    let more = |what: &[Crafted<'_>]| crafted(what, unchanged);
    let table: [(&str, Vec<u8>); 14] = [
        ("a name that is no text", more(&[database(), raw])),
        ("more than the disk holds", more(&[database(), huge])),
        ("twice the same", more(&[database(), one(), one()])),
        ("a file as a folder", more(&[database(), one(), below])),
        (
            "a name of a name",
            more(&[
                database(),
                dangling,
                Crafted::of(EntryType::GNULongName, "y"),
            ]),
        ),
        ("no database", more(&[one()])),
        (
            "an empty database",
            more(&[Crafted::file("manyhands.db", b"")]),
        ),
        (
            "no database at all",
            more(&[Crafted::file("manyhands.db", b"evil")]),
        ),
        (
            "a manifest of something else",
            crafted(&[database()], |m| m.product = "other".to_owned()),
        ),
        (
            "a manifest of a later form",
            crafted(&[database()], |m| m.format = 99),
        ),
        (
            "a size that is not so",
            crafted(&[database(), one()], |m| m.members[1].size = 5),
        ),
        (
            "a sum that is not so",
            crafted(&[database(), one()], |m| {
                m.members[1].sha256.replace_range(..2, "00")
            }),
        ),
        (
            "a member too many",
            crafted(&[database(), one()], |m| {
                m.members.pop();
            }),
        ),
        (
            "a member too few",
            crafted(&[database()], |m| {
                let first = m.members[0].clone();
                m.members.push(first);
            }),
        ),
    ];
    for (what, bytes) in &table {
        check_refused(what, &file, bytes).await;
        cases += 1;
    }
    assert!(cases > 50, "{cases}");
    assert!(!Path::new("/tmp/manyhands-escaped").exists());

    let fine = format!("blobs/agents/main/{}/x", "long name ".repeat(15));
    let bytes = crafted(
        &[
            database(),
            Crafted::file("blobs/fine", b"fine"),
            Crafted::file(&fine, b"fine"),
            Crafted::file("host/workspace/run.sh", b"#!/bin/sh"),
        ],
        unchanged,
    );
    std::fs::write(&file, bytes).unwrap();
    let there = folder.path().join("home");
    restore(restoring(&file, &there)).await.unwrap();
    assert_eq!(std::fs::read(there.join(&fine)).unwrap(), b"fine");
    for (name, mode) in [
        ("blobs/fine", 0o600),
        ("manyhands.db", 0o600),
        ("host/workspace/run.sh", 0o700),
        ("host/workspace", 0o700),
    ] {
        use std::os::unix::fs::MetadataExt as _;
        let found = std::fs::metadata(there.join(name)).unwrap().mode() & 0o7777;
        assert_eq!(found, mode, "{name}: no mode is taken from an archive");
    }
}

#[tokio::test]
async fn data_after_the_end_of_an_archive_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.tar.gz");
    let good = database("").await;
    let packed = crafted(&[Crafted::file("manyhands.db", &good)], unchanged);
    let mut plain = Vec::new();
    GzDecoder::new(packed.as_slice())
        .read_to_end(&mut plain)
        .unwrap();
    let with = |tail: &[u8]| {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(&plain).unwrap();
        gz.write_all(tail).unwrap();
        gz.finish().unwrap()
    };
    check_refused("hidden bytes", &file, &with(b"hidden")).await;
    check_refused("endless zeros", &file, &with(&vec![0; 2 << 20])).await;
    std::fs::write(&file, with(&[0; 1024])).unwrap();
    restore(restoring(&file, &folder.path().join("home")))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_database_that_is_not_ours_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.tar.gz");
    for statements in [
        "CREATE TRIGGER evil AFTER INSERT ON token BEGIN DELETE FROM audit; END",
        "CREATE VIEW evil AS SELECT * FROM token",
        "CREATE TABLE evil (x BIGINT)",
        "CREATE INDEX evil ON token (name)",
        "CREATE VIRTUAL TABLE evil USING fts5 (x)",
        "DROP TABLE approval",
        "DROP TRIGGER memory_piece_gone",
        "ALTER TABLE token ADD COLUMN evil TEXT",
        "ALTER TABLE token RENAME TO old; CREATE VIEW token AS SELECT * FROM old",
        "DROP TRIGGER memory_piece_gone; CREATE TRIGGER memory_piece_gone AFTER DELETE ON memory_piece
         BEGIN DELETE FROM audit; END",
        "UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 2",
        "UPDATE _sqlx_migrations SET success = false WHERE version = 2",
        "DELETE FROM _sqlx_migrations WHERE version = 2",
        "DELETE FROM _sqlx_migrations",
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (99, 'later', true, x'00', 0)",
        "DROP TABLE _sqlx_migrations",
        "ALTER TABLE _sqlx_migrations RENAME TO old; CREATE VIEW _sqlx_migrations AS SELECT * FROM old",
        "ANALYZE",
    ] {
        let changed = database(statements).await;
        let bytes = crafted(&[Crafted::file("manyhands.db", &changed)], unchanged);
        check_refused(statements, &file, &bytes).await;
    }
    let mut damaged = database("").await;
    let middle = damaged.len() / 2 / 4096 * 4096;
    damaged[middle..middle + 4096].fill(0xff);
    let bytes = crafted(&[Crafted::file("manyhands.db", &damaged)], unchanged);
    check_refused("a damaged page", &file, &bytes).await;
    let good = database("UPDATE token SET name = 'x'").await;
    let bytes = crafted(&[Crafted::file("manyhands.db", &good)], unchanged);
    std::fs::write(&file, bytes).unwrap();
    restore(restoring(&file, &folder.path().join("home")))
        .await
        .unwrap();
}

#[tokio::test]
async fn tokens_can_be_revoked_in_a_restore_and_an_altered_audit_is_noticed() {
    let (home, store, outside, file) = lived_in().await;
    let minted = crate::token_text::mint_token(&crate::testing::ids());
    let record = crate::TokenRecord {
        id: minted.id,
        name: "owner".to_owned(),
        role: manyhands_core::Role::Owner,
        tools: Vec::new(),
        agents: Vec::new(),
        browser: false,
        hash: minted.hash,
        created: NOW,
        expires: None,
        revoked: None,
        last_used: None,
    };
    store.tokens().insert(&record).await.unwrap();
    std::fs::write(home.path().join("owner.token"), "text").unwrap();
    backup(saving(&home, &file)).await.unwrap();
    let stage_at = async |name: &str| {
        super::stage(restoring(&file, &outside.path().join(name)))
            .await
            .unwrap()
    };
    let verify = async |staged: &super::Staged| {
        let verified = staged.verify_audit(crate::testing::clock(), crate::testing::ids(), None);
        verified.await.unwrap()
    };

    let staged = stage_at("kept").await;
    assert_eq!(staged.live_tokens().await.unwrap(), 1);
    assert!(verify(&staged).await.ok);
    staged.commit().await.unwrap();
    assert!(outside.path().join("kept/owner.token").exists());

    let staged = stage_at("revoked").await;
    staged.revoke_tokens().await.unwrap();
    assert_eq!(staged.live_tokens().await.unwrap(), 0);
    staged.commit().await.unwrap();
    assert!(!outside.path().join("revoked/owner.token").exists());
    assert!(
        store
            .tokens()
            .get(record.id)
            .await
            .unwrap()
            .unwrap()
            .revoked
            .is_none()
    );

    let dropped = stage_at("deep/dropped").await;
    drop(dropped);
    assert!(
        !outside.path().join("deep").exists(),
        "nothing is left behind"
    );

    home.raw("UPDATE audit SET tool = 'other' WHERE seq = 3")
        .await;
    let again = Backup {
        overwrite: Overwrite::Replace,
        ..saving(&home, &file)
    };
    backup(again).await.unwrap();
    let staged = stage_at("altered").await;
    assert!(!verify(&staged).await.ok);
}
