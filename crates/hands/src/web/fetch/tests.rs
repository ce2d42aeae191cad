use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use manyhands_core::Secret;
use manyhands_guard::Method;
use serde_json::json;

use super::super::auth::AuthProfileSettings;
use super::super::fake::{FakeServer, answer, guarded, ok, open, redirect};
use super::super::request::{FetchBody, FetchMethod};
use super::*;

fn get(server: &FakeServer) -> FetchRequest {
    FetchRequest::get(server.url("/page?x=1"))
}

async fn fetched(request: FetchRequest) -> FetchResult {
    fetch(&open(), request, None).await.unwrap()
}

#[tokio::test]
async fn a_page_comes_back_readable_and_raw_when_asked() {
    let html = "<title>T</title><script>x</script><p>Hello <b>you</b></p><a href='/n'>next</a>";
    let server = FakeServer::answering(answer(
        404,
        "content-type: text/html; charset=utf-8\r\netag: \"v1\"\r\nset-cookie: id=canary\r\n",
        html,
    ))
    .await;
    let found = fetched(get(&server)).await;
    assert_eq!(found.url, server.url("/page?x=1"));
    assert_eq!((found.status, found.kind), (404, ContentKind::Page));
    assert_eq!(
        found.content_type.as_deref(),
        Some("text/html; charset=utf-8")
    );
    assert!(found.content.contains("Hello **you**"), "{}", found.content);
    assert_eq!(found.title.as_deref(), Some("T"));
    assert_eq!(found.links[0].url, server.url("/n"));
    assert_eq!(found.full_size, Some(html.len() as u64));
    assert_eq!(found.headers["etag"], "\"v1\"");
    assert!(!format!("{found:?}").contains("canary"));
    assert!(!found.truncated);
    let mut request = get(&server);
    request.decode = Decode::Raw;
    let raw = fetched(request).await;
    assert_eq!((raw.content.as_str(), raw.title), (html, None));
}

#[tokio::test]
async fn text_passes_through_unchanged() {
    for (content_type, body) in [
        (
            "application/json",
            "{\"b\": 1,\n \"a\": [\"<p>\", \"é\"]}\n",
        ),
        ("application/problem+json; charset=utf-8", "{}"),
        ("text/plain", "  two\r\nlines <b>"),
        ("text/csv", "a,b\n"),
        ("image/svg+xml", "<svg/>"),
        ("application/javascript", "x()"),
    ] {
        let server = FakeServer::answering(ok(content_type, body)).await;
        let found = fetched(get(&server)).await;
        assert_eq!(
            (found.content.as_str(), found.kind),
            (body, ContentKind::Text)
        );
    }
    let server = FakeServer::answering(ok("text/plain; charset=iso-8859-1", b"caf\xe9")).await;
    assert_eq!(fetched(get(&server)).await.content, "café");
}

#[tokio::test]
async fn what_has_no_type_is_judged_by_its_look() {
    for (body, kind) in [
        (&b"plain"[..], ContentKind::Text),
        (b"", ContentKind::Text),
        (b" <!DOCTYPE html><p>x", ContentKind::Page),
        (b"\x89PNG\r\n\x1a\n\0\0", ContentKind::Binary),
    ] {
        let server = FakeServer::answering(answer(200, "", body)).await;
        assert_eq!(fetched(get(&server)).await.kind, kind, "{body:?}");
    }
}

#[tokio::test]
async fn binary_content_is_described_and_not_read() {
    let server = FakeServer::answering(ok("image/png", [0; 5000])).await;
    let mut request = get(&server);
    request.max_bytes = 10;
    let found = fetched(request).await;
    assert_eq!(found.content, "binary content, 5000 bytes, image/png");
    assert_eq!((found.full_size, found.truncated), (Some(5000), false));
    let endless = b"HTTP/1.1 200 X\r\ncontent-type: application/zip\r\n\r\nabcdefgh";
    let server = FakeServer::answering(*endless).await;
    assert_eq!(
        fetched(get(&server)).await.content,
        "binary content, 8 bytes, application/zip"
    );
    let mut request = get(&server);
    request.max_bytes = 3;
    let found = fetched(request).await;
    assert_eq!(
        found.content,
        "binary content, more than 3 bytes, application/zip"
    );
    assert!(found.truncated);
}

#[tokio::test]
async fn what_is_too_long_is_cut_visibly_and_on_a_character() {
    let body = "aéééé";
    let server = FakeServer::answering(ok("text/plain; charset=utf-8", body)).await;
    for (max_bytes, max_content, expect, truncated) in [
        (9, 9, "aéééé", false),
        (4, 9, "aé", true),
        (9, 4, "aé", true),
        (0, 9, "", true),
    ] {
        let mut request = get(&server);
        (request.max_bytes, request.max_content) = (max_bytes, max_content);
        let found = fetched(request).await;
        assert_eq!(
            (found.content.as_str(), found.truncated),
            (expect, truncated)
        );
        assert_eq!(found.full_size, Some(9), "the server said so");
    }
}

#[tokio::test]
async fn a_compressed_body_is_bounded_after_decompression() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&vec![b'x'; 50_000_000]).unwrap();
    let packed = gzip.finish().unwrap();
    let headers = "content-type: text/plain\r\ncontent-encoding: gzip\r\n";
    let server = FakeServer::answering(answer(200, headers, packed)).await;
    let mut request = get(&server);
    request.max_bytes = 1000;
    let found = fetched(request).await;
    assert_eq!(found.content, "x".repeat(1000));
    assert!(found.truncated);
    assert_eq!(found.full_size, None, "nobody knows");
}

#[tokio::test]
async fn the_method_body_and_headers_arrive_as_asked() {
    let server = FakeServer::answering(ok("application/json", "{}")).await;
    for method in [
        FetchMethod::Post,
        FetchMethod::Put,
        FetchMethod::Patch,
        FetchMethod::Delete,
    ] {
        let mut request = get(&server);
        request.method = method;
        request.body = Some(FetchBody::from(json!({"a": 1})));
        request.headers.insert("accept".into(), "text/x".into());
        fetched(request).await;
        let received = server.received().pop().unwrap();
        assert_eq!(received.method, method.to_string());
        assert_eq!(received.target, "/page?x=1");
        assert_eq!(received.body, "{\"a\":1}");
        assert_eq!(received.header("content-type"), "application/json");
        assert_eq!(received.header("accept"), "text/x");
        assert!(received.header("user-agent").starts_with("manyhands/"));
    }
}

#[tokio::test]
async fn a_refused_header_keeps_the_request_at_home() {
    let server = FakeServer::answering(ok("text/plain", "reached")).await;
    for name in ["Authorization", "Cookie", "Host", "X-Api-Key"] {
        let mut request = get(&server);
        request.headers.insert(name.into(), "v".into());
        let error = fetch(&open(), request, None).await.unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
    assert!(server.received().is_empty());
    assert_eq!(fetched(get(&server)).await.content, "reached");
}

#[tokio::test]
async fn private_addresses_are_out_of_reach_unless_allowed() {
    let canary = FakeServer::answering(ok("text/plain", "canary")).await;
    let port = canary.port();
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://0x7f.1:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
    ] {
        let error = fetch(&guarded(), FetchRequest::get(&url), None).await;
        assert!(
            matches!(error, Err(FetchError::Egress(EgressError::Private { .. }))),
            "{url}: {error:?}"
        );
    }
    for url in [
        "file:///etc/passwd",
        "ftp://a.b/",
        "http://me:pw@a.b/",
        "nonsense",
    ] {
        let error = fetch(&open(), FetchRequest::get(url), None).await;
        assert!(matches!(error, Err(FetchError::Egress(_))), "{url}");
    }
    assert!(canary.received().is_empty());
    assert_eq!(fetched(get(&canary)).await.content, "canary");
}

#[tokio::test]
async fn a_get_follows_redirects_and_says_where_it_ended() {
    let target = FakeServer::answering(ok("text/plain", "there")).await;
    let server = FakeServer::answering(redirect(302, &target.url("/end"))).await;
    let found = fetched(get(&server)).await;
    assert_eq!(
        (found.url, found.content.as_str()),
        (target.url("/end"), "there")
    );
    let mut request = get(&server);
    request.max_redirects = 0;
    let error = fetch(&open(), request, None).await.unwrap_err();
    assert!(matches!(
        error,
        FetchError::Egress(EgressError::Redirects { max: 0 })
    ));
}

/// Egress forwards a body on 307 and 308, wherever they lead; so no redirect is followed.
#[tokio::test]
async fn what_is_sent_to_one_place_is_not_led_to_another() {
    for status in [301, 302, 303, 307, 308] {
        let other = FakeServer::answering(ok("text/plain", "x")).await;
        let server = FakeServer::answering(redirect(status, &other.url("/"))).await;
        let mut request = get(&server);
        request.method = FetchMethod::Post;
        request.body = Some(FetchBody::Text("canary".into()));
        let error = fetch(&open(), request, None).await.unwrap_err();
        assert!(matches!(error, FetchError::Redirected { .. }), "{error}");
        assert!(other.received().is_empty(), "{status}");
        assert_eq!(server.received()[0].body, "canary");
    }
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let server = FakeServer::answering("HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\n").await;
    let unresponsive = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut request = FetchRequest::get(format!("http://{}/", unresponsive.local_addr().unwrap()));
    request.timeout = Duration::from_millis(50);
    let error = fetch(&open(), request, None).await.unwrap_err();
    assert!(matches!(
        error,
        FetchError::Egress(EgressError::TimedOut(_))
    ));
    let error = fetch(&open(), get(&server), None).await.unwrap_err();
    assert!(
        matches!(error, FetchError::Egress(EgressError::Http(_))),
        "half an answer"
    );
}

fn profile(server: &FakeServer, prefix: &str) -> AuthProfile {
    AuthProfile::new(AuthProfileSettings {
        id: "fake".into(),
        scheme: "http".into(),
        host: "127.0.0.1".into(),
        port: Some(server.port()),
        path_prefix: prefix.into(),
        methods: vec![Method::GET],
        header: "X-Key".into(),
        format: "Key {}".into(),
        secret: Secret::new("canary"),
    })
    .unwrap()
}

#[tokio::test]
async fn a_secret_reaches_its_place_and_never_another_origin() {
    let other = FakeServer::answering(ok("text/plain", "other")).await;
    let elsewhere = other.url("/api");
    let server = FakeServer::start(move |received| match received.target.as_str() {
        "/api/away" => redirect(302, &elsewhere),
        "/api/along" => redirect(307, "/api/end"),
        _ => ok("text/plain", "end"),
    })
    .await;
    let whole = profile(&server, "/");
    let ask = async |path: &str, profile: &AuthProfile| {
        fetch(&open(), FetchRequest::get(server.url(path)), Some(profile)).await
    };
    assert_eq!(ask("/api/x", &whole).await.unwrap().content, "end");
    assert_eq!(ask("/api/along", &whole).await.unwrap().content, "end");
    assert!(
        server
            .received()
            .iter()
            .all(|received| received.header("x-key") == "Key canary")
    );
    assert_eq!(ask("/api/away", &whole).await.unwrap().content, "other");
    assert_eq!(other.received().len(), 1);
    assert!(!format!("{:?}", other.received()).contains("canary"));
    let error = fetch(&open(), FetchRequest::get(other.url("/api")), Some(&whole)).await;
    assert!(matches!(
        error,
        Err(FetchError::Auth(AuthError::Mismatch { .. }))
    ));
    assert_eq!(other.received().len(), 1, "and nothing was sent there");
}

/// On its own host too, a redirect could lead the secret beyond the paths it is meant for.
#[tokio::test]
async fn a_secret_for_some_paths_follows_no_redirect() {
    let server = FakeServer::start(|received| match received.target.as_str() {
        "/api/open" => redirect(302, "/others/collect"),
        _ => ok("text/plain", "end"),
    })
    .await;
    let narrow = profile(&server, "/api");
    let ask =
        async |path: &str| fetch(&open(), FetchRequest::get(server.url(path)), Some(&narrow)).await;
    let error = ask("/api/open").await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("auth profile covers only a part"),
        "{error}"
    );
    assert_eq!(server.received().len(), 1);
    assert!(ask("/others/collect").await.is_err());
    assert_eq!(server.received().len(), 1);
    assert_eq!(ask("/api/x").await.unwrap().content, "end");
}
