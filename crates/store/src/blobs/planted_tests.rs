//! Links planted in one tree that lead into another, and paths of another tree: no operation
//! follows them, and nothing changes.

use std::os::unix::fs::symlink;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use futures_util::future::BoxFuture;
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt as _, PutMode};
use tempfile::TempDir;

use super::{Blobs, Disk, blob_path};

const CANARY: &str = "of somebody else";

fn at(text: &str) -> Path {
    blob_path(text).unwrap()
}

/// Something done to a blob, given a blob that may be used; gives what it told.
type Operation = fn(Blobs, Path, Path) -> BoxFuture<'static, Result<String, Error>>;

const OPERATIONS: [(&str, Operation); 16] = [
    ("get", |blobs, path, _| {
        Box::pin(async move { text(blobs.get(&path).await?.bytes().await?) })
    }),
    ("get a range", |blobs, path, _| {
        Box::pin(async move { text(blobs.get_range(&path, 0..4).await?) })
    }),
    ("stream", |blobs, path, _| {
        Box::pin(async move {
            let parts: Vec<_> = blobs.get(&path).await?.into_stream().try_collect().await?;
            text(parts.concat().into())
        })
    }),
    ("head", |blobs, path, _| {
        Box::pin(async move { Ok(format!("{:?}", blobs.head(&path).await?)) })
    }),
    ("put", |blobs, path, _| {
        Box::pin(async move { done(blobs.put(&path, "evil".into()).await) })
    }),
    ("create", |blobs, path, _| {
        Box::pin(async move {
            let options = PutMode::Create.into();
            done(blobs.put_opts(&path, "evil".into(), options).await)
        })
    }),
    ("upload", |blobs, path, _| {
        Box::pin(async move {
            let mut upload = blobs.put_multipart(&path).await?;
            upload.put_part("evil".into()).await?;
            done(upload.complete().await)
        })
    }),
    ("create beside", |blobs, path, _| {
        Box::pin(async move { done(blobs.put(&beside(&path), "evil".into()).await) })
    }),
    ("delete", |blobs, path, _| {
        Box::pin(async move { done(blobs.delete(&path).await) })
    }),
    ("list", |blobs, path, _| {
        Box::pin(async move {
            let listed: Vec<_> = blobs.list(Some(&folder(&path))).try_collect().await?;
            Ok(format!("{listed:?}"))
        })
    }),
    ("list one level", |blobs, path, _| {
        Box::pin(async move {
            let listed = blobs.list_with_delimiter(Some(&folder(&path))).await?;
            Ok(format!("{listed:?}"))
        })
    }),
    ("copy from", |blobs, path, mine| {
        Box::pin(async move { done(blobs.copy(&path, &beside(&mine)).await) })
    }),
    ("copy to", |blobs, path, mine| {
        Box::pin(async move { done(blobs.copy(&mine, &path).await) })
    }),
    ("copy to a new name", |blobs, path, mine| {
        Box::pin(async move { done(blobs.copy_if_not_exists(&mine, &beside(&path)).await) })
    }),
    ("rename from", |blobs, path, mine| {
        Box::pin(async move { done(blobs.rename(&path, &beside(&mine)).await) })
    }),
    ("rename to", |blobs, path, mine| {
        Box::pin(async move { done(blobs.rename(&mine, &path).await) })
    }),
];

fn text(bytes: bytes::Bytes) -> Result<String, Error> {
    Ok(String::from_utf8(bytes.into()).unwrap())
}

fn done<T>(result: Result<T, Error>) -> Result<String, Error> {
    result.map(|_| "done".to_owned())
}

fn folder(path: &Path) -> Path {
    let parts: Vec<_> = path.parts().collect();
    Path::from_iter(parts[..parts.len() - 1].iter().cloned())
}

fn beside(path: &Path) -> Path {
    folder(path).join("new")
}

/// Every name beneath `root`; links are named with their targets and not followed.
fn everything(root: &FilePath) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let content = if path.is_symlink() {
                let target = std::fs::read_link(&path).unwrap();
                Some(target.into_os_string().into_encoded_bytes())
            } else if path.is_dir() {
                waiting.push(path.clone());
                None
            } else {
                Some(std::fs::read(&path).unwrap())
            };
            found.push((path, content));
        }
    }
    found.sort();
    found
}

/// Two agents and every other tree, with a canary in all but the first agent's.
async fn house() -> (TempDir, Blobs) {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::open(dir.path()).unwrap();
    for path in [
        "agents/b/secret",
        "agents/b/deep/secret",
        "skills/s/secret",
        "artifacts/secret",
        "archives/secret",
        "top",
    ] {
        disk.put(&at(path), CANARY.into()).await.unwrap();
    }
    disk.put(&at("agents/a/mine"), "mine".into()).await.unwrap();
    (dir, Arc::new(disk))
}

#[track_caller]
fn check(what: &str, before: &[(PathBuf, Option<Vec<u8>>)], dir: &TempDir) {
    assert!(everything(dir.path()) == before, "{what} changed something");
}

#[tokio::test]
async fn a_link_into_another_tree_is_followed_by_no_operation() {
    let (dir, blobs) = house().await;
    let plant = |link: &str, target: &str| {
        let link = dir.path().join(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
    };
    plant("agents/a/to-b", "../b");
    plant(
        "agents/a/absolute",
        &dir.path().join("agents/b").display().to_string(),
    );
    plant("agents/a/to-agents", "..");
    plant("agents/a/to-skills", "../../skills/s");
    plant("agents/a/to-artifacts", "../../artifacts");
    plant("agents/a/round", "to-b");
    plant("agents/is-b", "b");
    plant("agents/is-artifacts", "../artifacts");
    plant("skills/to-b", "../agents/b");
    plant("templates", "agents/b");
    plant("kin", "archives");
    plant("artifacts/to-b", "../agents/b");
    plant("archives/to-b", "../agents/b");
    let before = everything(dir.path());
    let through = [
        "agents/a/to-b/secret",
        "agents/a/to-b/deep/secret",
        "agents/a/absolute/secret",
        "agents/a/to-agents/b/secret",
        "agents/a/to-skills/secret",
        "agents/a/to-artifacts/secret",
        "agents/a/round/secret",
        "agents/is-b/secret",
        "agents/is-b/deep/secret",
        "agents/is-artifacts/secret",
        "skills/to-b/secret",
        "templates/secret",
        "templates/deep/secret",
        "kin/secret",
        "artifacts/to-b/secret",
        "archives/to-b/secret",
    ];
    let mut tried = 0;
    for path in through {
        assert!(
            dir.path().join(path).exists(),
            "the control: {path} leads there"
        );
        for (name, operation) in OPERATIONS {
            let said = operation(blobs.clone(), at(path), at("agents/a/mine")).await;
            let refused = matches!(said, Err(Error::PermissionDenied { .. }));
            assert!(refused, "{name} {path}: {said:?}");
            check(&format!("{name} {path}"), &before, &dir);
            tried += 1;
        }
    }
    assert_eq!(tried, 16 * 16);
    let listed = blobs
        .list_with_delimiter(Some(&at("agents")))
        .await
        .unwrap();
    assert_eq!(listed.common_prefixes, [at("agents/a"), at("agents/b")]);
    let all: Vec<_> = blobs.list(None).try_collect().await.unwrap();
    assert_eq!(all.len(), 7, "every blob once, under its own name: {all:?}");
}

/// A link to a file is refused like one to a folder; only the link itself can be deleted.
#[tokio::test]
async fn a_link_to_a_file_of_another_tree_is_not_followed() {
    let (dir, blobs) = house().await;
    symlink("../b/secret", dir.path().join("agents/a/f")).unwrap();
    let before = everything(dir.path());
    for (name, operation) in OPERATIONS {
        if name.contains("list") || name.contains("beside") || name.contains("new name") {
            continue; // they are about the folder, which is the agent's own
        }
        if name == "delete" {
            continue;
        }
        let said = operation(blobs.clone(), at("agents/a/f"), at("agents/a/mine")).await;
        assert!(said.is_err(), "{name}: {said:?}");
        check(name, &before, &dir);
    }
    blobs.delete(&at("agents/a/f")).await.unwrap();
    let left = std::fs::read_to_string(dir.path().join("agents/b/secret")).unwrap();
    assert_eq!(left, CANARY, "the link goes, not what it names");
}

#[tokio::test]
async fn a_narrowed_store_refuses_every_path_of_another_tree() {
    let (dir, blobs) = house().await;
    let mine = blobs.scoped(&at("agents/a")).unwrap();
    let before = everything(dir.path());
    for path in [
        "agents/b/secret",
        "agents/b/deep/secret",
        "skills/s/secret",
        "artifacts/secret",
        "archives/secret",
        "agents/ab/new",
    ] {
        for (name, operation) in OPERATIONS {
            let said = operation(mine.clone(), at(path), at("agents/a/mine")).await;
            let refused = matches!(said, Err(Error::PermissionDenied { .. }));
            assert!(refused, "{name} {path}: {said:?}");
            check(&format!("{name} {path}"), &before, &dir);
        }
    }
    for (path, wider) in [("top", true), ("agents/b", false)] {
        let said = mine.get(&at(path)).await;
        assert!(said.is_err(), "{path} {wider}");
        assert!(mine.scoped(&at("agents")).is_err(), "it cannot be widened");
        assert!(mine.scoped(&at("agents/b")).is_err());
    }
    let listed: Vec<_> = mine.list(None).try_collect().await.unwrap();
    let listed: Vec<_> = listed.into_iter().map(|blob| blob.location).collect();
    assert_eq!(listed, [at("agents/a/mine")]);
}

#[tokio::test]
async fn every_operation_works_on_ones_own_blobs() {
    for (name, operation) in OPERATIONS {
        for scope in ["agents/a", "agents", ""] {
            let (_dir, blobs) = house().await;
            let blobs = match scope {
                "" => blobs,
                scope => blobs.scoped(&at(scope)).unwrap(),
            };
            for path in ["agents/a/sub/x", "agents/a/own"] {
                if name != "create" {
                    blobs.put(&at(path), "good".into()).await.unwrap();
                }
                let said = operation(blobs.clone(), at(path), at("agents/a/mine")).await;
                assert!(said.is_ok(), "{name} {path} in {scope:?}: {said:?}");
                let mine = blobs.put(&at("agents/a/mine"), "mine".into()).await;
                mine.unwrap();
                let _ = blobs.delete(&at("agents/a/new")).await;
                let _ = blobs.delete(&at("agents/a/sub/new")).await;
            }
        }
    }
}

/// A tree that becomes empty goes, also while somebody writes into it.
#[tokio::test(flavor = "multi_thread")]
async fn writers_and_deletions_in_a_tree_do_not_interfere() {
    let (dir, blobs) = house().await;
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let blobs = blobs.clone();
        tasks.spawn(async move {
            let path = at(&format!("agents/c/{writer}"));
            for _ in 0..100 {
                blobs.put(&path, "x".into()).await.unwrap();
                blobs.delete(&path).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    assert!(!dir.path().join("agents/c").exists());
}
