//! What the folder store must do, as tests.

use std::os::unix::fs::{MetadataExt as _, symlink};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::path::Path;
use object_store::{
    Attribute, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions,
    UpdateVersion,
};
use tempfile::TempDir;

use super::{Disk, blob_path};
use crate::error::StoreError;

fn disk() -> (TempDir, Disk) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("blobs")).unwrap();
    let disk = Disk::open(&dir.path().join("blobs")).unwrap();
    (dir, disk)
}

fn at(text: &str) -> Path {
    blob_path(text).unwrap()
}

async fn put(disk: &Disk, path: &str, text: &'static str) -> UpdateVersion {
    disk.put(&at(path), text.into()).await.unwrap().into()
}

async fn read(disk: &Disk, path: &str) -> Result<Bytes, Error> {
    disk.get(&at(path)).await?.bytes().await
}

async fn names(disk: &Disk, prefix: Option<&str>) -> Vec<String> {
    let prefix = prefix.map(at);
    let listed: Vec<_> = disk.list(prefix.as_ref()).try_collect().await.unwrap();
    listed
        .into_iter()
        .map(|meta| meta.location.to_string())
        .collect()
}

#[tokio::test]
async fn odd_names_round_trip_exactly() {
    let (dir, disk) = disk();
    let odd = [
        "with space",
        "ünï/çödé.md",
        "100%",
        "a%20b",
        "%2E%2E",
        "a..b",
        "..a",
        "#1",
        "what?",
        "[x]{y}",
        "back\\slash",
        "tilde~",
        "quote\"'",
        "*",
        "a:b",
        "日本/語",
        ".hidden",
        "dir.md/x",
    ];
    for name in odd {
        put(&disk, name, "content").await;
        assert_eq!(read(&disk, name).await.unwrap(), "content", "{name}");
        assert!(dir.path().join("blobs").join(name).is_file(), "{name}");
    }
    let mut listed = names(&disk, None).await;
    listed.sort();
    let mut expect = odd.map(str::to_owned);
    expect.sort();
    assert_eq!(listed, expect);
    for name in odd {
        disk.delete(&at(name)).await.unwrap();
    }
    assert!(names(&disk, None).await.is_empty());
    let left = std::fs::read_dir(dir.path().join("blobs")).unwrap().count();
    assert_eq!(left, 0, "empty folders go with their last blob");
}

#[tokio::test]
async fn of_two_edits_of_one_version_one_wins() {
    let (_dir, disk) = disk();
    let first = put(&disk, "a.md", "one").await;
    let update = |version: &UpdateVersion| PutOptions::from(PutMode::Update(version.clone()));
    let second = disk
        .put_opts(&at("a.md"), "two".into(), update(&first))
        .await
        .unwrap();
    let late = disk
        .put_opts(&at("a.md"), "too late".into(), update(&first))
        .await
        .unwrap_err();
    assert!(matches!(late, Error::Precondition { .. }), "{late:?}");
    assert!(matches!(StoreError::from(late), StoreError::Changed { what } if what == "a.md"));
    assert_eq!(read(&disk, "a.md").await.unwrap(), "two");
    assert_eq!(disk.head(&at("a.md")).await.unwrap().e_tag, second.e_tag);
    let gone = disk.put_opts(&at("b.md"), "x".into(), update(&first)).await;
    assert!(matches!(gone, Err(Error::Precondition { .. })));
    assert_eq!(names(&disk, None).await, ["a.md"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_creators_one_wins() {
    let (_dir, disk) = disk();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..100_u32 {
        let disk = disk.clone();
        tasks.spawn(async move {
            let content = Bytes::from(number.to_string());
            let put = disk
                .put_opts(&at("one"), content.into(), PutMode::Create.into())
                .await;
            match put {
                Ok(_) => Some(number),
                Err(Error::AlreadyExists { .. }) => None,
                Err(error) => panic!("{error:?}"),
            }
        });
    }
    let winners: Vec<u32> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(read(&disk, "one").await.unwrap(), winners[0].to_string());
}

#[tokio::test]
async fn parts_of_a_blob_and_conditions_are_honoured() {
    let (_dir, disk) = disk();
    let version = put(&disk, "a.json", "0123456789").await;
    let get = async |options: GetOptions| {
        let found = disk.get_opts(&at("a.json"), options).await?;
        let range = found.range.clone();
        Ok::<_, Error>((found.bytes().await?, range))
    };
    let ranged = |range: GetRange| GetOptions {
        range: Some(range),
        ..GetOptions::default()
    };
    let table = [
        (GetRange::Bounded(2..4), "23", 2..4),
        (GetRange::Bounded(8..99), "89", 8..10),
        (GetRange::Offset(7), "789", 7..10),
        (GetRange::Suffix(2), "89", 8..10),
    ];
    for (range, content, covered) in table {
        let (bytes, range) = get(ranged(range)).await.unwrap();
        assert_eq!((bytes, range), (content.into(), covered));
    }
    assert!(get(ranged(GetRange::Offset(10))).await.is_err());
    let if_match = |tag: Option<String>| GetOptions {
        if_match: tag,
        ..GetOptions::default()
    };
    assert_eq!(get(if_match(version.e_tag)).await.unwrap().0, "0123456789");
    let other = get(if_match(Some("other".to_owned()))).await;
    assert!(matches!(other, Err(Error::Precondition { .. })));
    let meta = disk.head(&at("a.json")).await.unwrap();
    assert_eq!((meta.size, meta.location), (10, at("a.json")));
    let gone = disk.head(&at("b")).await;
    assert!(matches!(gone, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_large_blob_is_read_and_written_in_parts_in_order() {
    let (dir, disk) = disk();
    let mut upload = disk.put_multipart(&at("big")).await.unwrap();
    let parts: Vec<Bytes> = (0..10_u8).map(|n| Bytes::from(vec![n; 300_001])).collect();
    let mut futures: Vec<_> = parts
        .iter()
        .map(|part| upload.put_part(part.clone().into()))
        .collect();
    futures.reverse(); // polled last to first, written first to last
    for part in futures {
        part.await.unwrap();
    }
    assert!(
        names(&disk, None).await.is_empty(),
        "nobody sees half a blob"
    );
    upload.complete().await.unwrap();
    assert!(read(&disk, "big").await.unwrap() == parts.concat());
    let middle = disk.get_range(&at("big"), 299_999..600_100).await.unwrap();
    assert!(middle == parts.concat()[299_999..600_100]);

    let mut dropped = disk.put_multipart(&at("other")).await.unwrap();
    dropped.put_part("x".into()).await.unwrap();
    dropped.abort().await.unwrap();
    assert!(dropped.complete().await.is_err());
    let mut forgotten = disk.put_multipart(&at("third")).await.unwrap();
    forgotten.put_part("x".into()).await.unwrap();
    drop(forgotten);
    assert_eq!(
        std::fs::read_dir(dir.path().join("blobs")).unwrap().count(),
        1
    );
}

#[tokio::test]
async fn listings_follow_folders() {
    let (_dir, disk) = disk();
    for name in ["a", "d/x", "d/e/y", "d2/z"] {
        put(&disk, name, "12").await;
    }
    assert_eq!(names(&disk, Some("d")).await, ["d/x", "d/e/y"]);
    assert!(
        names(&disk, Some("a")).await.is_empty(),
        "nothing is below a blob"
    );
    assert!(names(&disk, Some("nowhere")).await.is_empty());
    let level = disk.list_with_delimiter(Some(&at("d"))).await.unwrap();
    assert_eq!(level.common_prefixes, [at("d/e")]);
    assert_eq!((level.objects.len(), level.objects[0].size), (1, 2));
    let top = disk.list_with_delimiter(None).await.unwrap();
    assert_eq!(top.common_prefixes, [at("d"), at("d2")]);
}

#[tokio::test]
async fn copies_and_renames_keep_every_byte() {
    let (_dir, disk) = disk();
    put(&disk, "a", "content").await;
    disk.copy(&at("a"), &at("d/b")).await.unwrap();
    disk.rename(&at("d/b"), &at("c")).await.unwrap();
    disk.rename(&at("c"), &at("c")).await.unwrap();
    assert_eq!(names(&disk, None).await, ["a", "c"]);
    assert_eq!(read(&disk, "c").await.unwrap(), "content");
    let taken = disk.copy_if_not_exists(&at("c"), &at("a")).await;
    assert!(matches!(taken, Err(Error::AlreadyExists { .. })));
    let taken = disk.rename_if_not_exists(&at("c"), &at("a")).await;
    assert!(matches!(taken, Err(Error::AlreadyExists { .. })));
    let missing = disk.rename(&at("nothing"), &at("a")).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })));
    assert_eq!(names(&disk, None).await, ["a", "c"]);
}

#[tokio::test]
async fn a_planted_link_leads_nowhere() {
    let (dir, disk) = disk();
    let secret = dir.path().join("secret");
    std::fs::write(&secret, "outside").unwrap();
    let blobs = dir.path().join("blobs");
    symlink(&secret, blobs.join("absolute")).unwrap();
    symlink("../secret", blobs.join("climbing")).unwrap();
    symlink("..", blobs.join("up")).unwrap();
    symlink(".", blobs.join("loop")).unwrap();
    put(&disk, "good", "inside").await;
    for name in ["absolute", "climbing", "up/secret"] {
        assert!(read(&disk, name).await.is_err(), "{name}");
        assert!(disk.put(&at(name), "evil".into()).await.is_err(), "{name}");
        assert!(disk.copy(&at(name), &at("stolen")).await.is_err(), "{name}");
        assert!(disk.copy(&at("good"), &at(name)).await.is_err(), "{name}");
        assert!(disk.put_multipart(&at(name)).await.is_err(), "{name}");
    }
    assert!(disk.put(&at("up/new"), "evil".into()).await.is_err());
    let escaped = StoreError::from(read(&disk, "climbing").await.unwrap_err());
    assert!(matches!(escaped, StoreError::Escape { .. }), "{escaped:?}");
    assert!(disk.delete(&at("up/secret")).await.is_err());
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "outside");
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        2,
        "nothing appeared outside"
    );
    assert_eq!(
        names(&disk, None).await,
        ["good"],
        "and no listing is endless"
    );
    disk.delete(&at("climbing")).await.unwrap();
    assert!(secret.exists(), "the link goes, not what it names");
}

#[tokio::test]
async fn blobs_are_private_and_typed_by_their_name() {
    let (dir, disk) = disk();
    let table = [
        ("d/a.md", "text/markdown"),
        ("a.json", "application/json"),
        ("a.yaml", "text/yaml"),
        ("a.yml", "text/yaml"),
        ("a.png", "text/plain"),
        ("none", "text/plain"),
    ];
    for (name, expect) in table {
        put(&disk, name, "x").await;
        let found = disk.get(&at(name)).await.unwrap();
        let seen = found.attributes.get(&Attribute::ContentType).unwrap();
        assert_eq!(seen.as_ref(), expect, "{name}");
    }
    let mode = |name: &str| {
        std::fs::metadata(dir.path().join("blobs").join(name))
            .unwrap()
            .mode()
            & 0o7777
    };
    assert_eq!((mode("d"), mode("d/a.md")), (0o700, 0o600));
}

#[tokio::test]
async fn a_folder_is_neither_a_blob_nor_written_over() {
    let (_dir, disk) = disk();
    put(&disk, "d/x", "1").await;
    assert!(matches!(
        read(&disk, "d").await,
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(
        read(&disk, "d/x/y").await,
        Err(Error::NotFound { .. })
    ));
    assert!(disk.put(&at("d"), "2".into()).await.is_err());
    assert!(disk.put(&at("d/x/y"), "2".into()).await.is_err());
    assert!(matches!(
        disk.delete(&at("d")).await,
        Err(Error::NotFound { .. })
    ));
    assert_eq!(read(&disk, "d/x").await.unwrap(), "1");
}
