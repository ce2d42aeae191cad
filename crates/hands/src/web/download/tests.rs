use std::fs;

use tempfile::TempDir;

use super::super::fake::{FakeServer, answer, guarded, ok, open, redirect};
use super::*;

fn jail() -> (TempDir, Jail) {
    let dir = tempfile::tempdir().unwrap();
    let jail = Jail::open(dir.path()).unwrap();
    (dir, jail)
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn names(dir: &TempDir) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn get(server: &FakeServer) -> FetchRequest {
    let mut request = FetchRequest::get(server.url("/file"));
    request.max_bytes = DOWNLOAD_LIMIT;
    request
}

#[tokio::test]
async fn a_body_is_saved_with_its_digest() {
    let body: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let server = FakeServer::answering(ok("application/zip", &body)).await;
    let (dir, jail) = jail();
    let to = path("a/b/file.zip");
    let saved = download(&open(), get(&server), None, &jail, &to)
        .await
        .unwrap();
    assert_eq!(fs::read(dir.path().join("a/b/file.zip")).unwrap(), body);
    let digest = hex::encode(Sha256::digest(&body));
    assert_eq!(
        saved,
        Downloaded {
            path: to.clone(),
            bytes: 3_000_000,
            sha256: digest,
            content_type: Some("application/zip".into()),
            status: 200,
            url: server.url("/file"),
        }
    );
    let other = FakeServer::answering(ok("text/plain", "")).await;
    let saved = download(&open(), get(&other), None, &jail, &to)
        .await
        .unwrap();
    assert_eq!(
        (
            saved.bytes,
            fs::read(dir.path().join("a/b/file.zip")).unwrap().len()
        ),
        (0, 0)
    );
    assert!(saved.sha256.starts_with("e3b0c442"));
}

/// What was there stays, and nothing else is left behind.
#[tokio::test]
async fn a_download_that_fails_changes_nothing() {
    let big = "x".repeat(1000);
    let chunked =
        format!("HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n3e8\r\n{big}\r\n0\r\n\r\n");
    for (name, reply, part) in [
        (
            "not found",
            answer(404, "", "no such\nfile"),
            "answered 404, so nothing was saved: no such file",
        ),
        ("server error", answer(500, "", ""), "answered 500"),
        ("not modified", answer(304, "", ""), "answered 304"),
        (
            "too large by its word",
            answer(200, "", &big),
            "larger than 999 bytes",
        ),
        (
            "too large",
            chunked.clone().into_bytes(),
            "larger than 999 bytes",
        ),
        (
            "cut short",
            b"HTTP/1.1 200 X\r\ncontent-length: 900\r\n\r\nhalf".to_vec(),
            "failed",
        ),
        (
            "redirected away",
            redirect(302, "http://10.0.0.1/"),
            "not on the public internet",
        ),
    ] {
        let server = FakeServer::answering(reply).await;
        let (dir, jail) = jail();
        fs::write(dir.path().join("f"), "old").unwrap();
        let mut request = get(&server);
        request.max_bytes = 999;
        let error = download(&open(), request, None, &jail, &path("f"))
            .await
            .unwrap_err();
        assert!(error.to_string().contains(part), "{name}: {error}");
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"old", "{name}");
        assert_eq!(names(&dir), ["f"], "{name}");
    }
    let server = FakeServer::answering(chunked).await;
    let (_dir, jail) = jail();
    let mut request = get(&server);
    request.max_bytes = 1000;
    let saved = download(&open(), request, None, &jail, &path("f"))
        .await
        .unwrap();
    assert_eq!(saved.bytes, 1000, "control");
}

#[tokio::test]
async fn a_target_that_cannot_be_written_is_seen_before_anything_is_sent() {
    let server = FakeServer::answering(ok("text/plain", "x")).await;
    let (dir, jail) = jail();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("d")).unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join("out")).unwrap();
    for to in [path("d"), RelPath::root(), path("out/f")] {
        let refused = download(&open(), get(&server), None, &jail, &to).await;
        assert!(
            matches!(refused, Err(FetchError::Jail(_))),
            "{to}: {refused:?}"
        );
    }
    assert!(server.received().is_empty());
    assert!(names(&outside).is_empty());
    let refused = download(&guarded(), get(&server), None, &jail, &path("f")).await;
    assert!(matches!(
        refused,
        Err(FetchError::Egress(EgressError::Private { .. }))
    ));
    assert_eq!(names(&dir), ["d", "out"]);
    assert!(server.received().is_empty());
    assert!(
        download(&open(), get(&server), None, &jail, &path("f"))
            .await
            .is_ok()
    );
}
