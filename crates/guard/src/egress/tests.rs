use super::fake::{FakeServer, Scripted, body, egress, ok, policy, redirect};
use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::header::HeaderValue;
use std::io::Write;
use std::net::IpAddr;
use tokio::net::TcpListener;

#[tokio::test]
async fn a_private_address_is_refused_until_the_owner_allows_it() {
    let server = FakeServer::answering(ok("hello")).await;
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let request = Request::get(server.url(host));
        let error = egress(&[]).fetch(request.clone()).await.unwrap_err();
        assert!(
            matches!(error, EgressError::Private { .. }),
            "{host}: {error}"
        );
        assert!(error.to_string().contains("`egress.allow_private`"));
        assert!(server.heard().is_empty(), "{host} was reached");
    }
    let allowed = egress(&["127.0.0.0/8", "::1/128"]);
    let request = Request::get(server.url("127.0.0.1"));
    assert_eq!(body(&allowed, request).await.unwrap(), "hello");
    let other = egress(&["10.0.0.0/8"]);
    assert!(
        other
            .fetch(Request::get(server.url("127.0.0.1")))
            .await
            .is_err()
    );
    assert_eq!(server.heard().len(), 1);
}

#[tokio::test]
async fn no_spelling_of_a_private_address_gets_through() {
    let server = FakeServer::answering(ok("reached")).await;
    let port = server.address.port();
    let spellings = [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0x7f.0.0.1",
        "0x7F.1",
        "0177.0.0.1",
        "0177.1",
        "127.0x0.0.1",
        "127.00.0.01",
        "127.255.255.254",
        "0",
        "0.0.0.0",
        "0x0",
        "00",
        "[::]",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:7f00:1]",
        "[::127.0.0.1]",
        "[::7f00:1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "[fe80::1]",
        "[fc00::1]",
        "[fd00::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[100::1]",
        "[2001:db8::1]",
        "１２７.0.0.1",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "%31%32%37.0.0.1",
        "127%2e0%2e0%2e1",
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "[::ffff:a9fe:a9fe]",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "198.18.0.1",
        "255.255.255.255",
        "224.0.0.1",
        "localhost",
        "LOCALHOST",
    ];
    let guarded = egress(&[]);
    for host in spellings {
        let refused = guarded
            .fetch(Request::get(format!("http://{host}:{port}/")))
            .await;
        assert!(
            matches!(refused, Err(EgressError::Private { .. })),
            "{host}: {refused:?}"
        );
    }
    assert!(server.heard().is_empty());
    let open = egress(&["127.0.0.0/8"]);
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "0177.1",
        "[::ffff:7f00:1]",
    ] {
        let request = Request::get(format!("http://{host}:{port}/"));
        assert!(open.fetch(request).await.is_ok(), "control: {host}");
    }
}

#[tokio::test]
async fn only_plain_web_urls_are_sent() {
    let server = FakeServer::answering(ok("hello")).await;
    let open = egress(&["127.0.0.0/8"]);
    let check = async |url: String| open.fetch(Request::get(url)).await.unwrap_err();
    let port = server.address.port();
    for scheme in ["file", "ftp", "gopher", "ws", "data", "javascript"] {
        let error = check(format!("{scheme}://127.0.0.1/")).await;
        assert!(matches!(error, EgressError::Scheme(_)), "{scheme}: {error}");
    }
    for user in ["me@", "me:pw@", ":pw@", "8.8.8.8@"] {
        let error = check(format!("http://{user}127.0.0.1:{port}/")).await;
        assert!(matches!(error, EgressError::Userinfo), "{user}: {error}");
    }
    assert!(matches!(
        check("not a url".to_owned()).await,
        EgressError::Url(_)
    ));
    let mut request = Request::get(server.url("127.0.0.1"));
    request
        .headers
        .insert(HOST, HeaderValue::from_static("internal"));
    assert!(matches!(
        open.fetch(request).await,
        Err(EgressError::Header(_))
    ));
    assert!(server.heard().is_empty());
    assert!(
        open.fetch(Request::get(server.url("127.0.0.1")))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn one_private_address_among_public_ones_is_enough_to_refuse() {
    let server = FakeServer::answering(ok("hello")).await;
    let lookup = Scripted::new(&[&["127.0.0.1", "10.0.0.1"]]);
    let mixed = Egress::new(policy(&["127.0.0.0/8"]), lookup);
    let error = mixed
        .fetch(Request::get(server.url("mixed.test")))
        .await
        .unwrap_err();
    let ten: IpAddr = "10.0.0.1".parse().unwrap();
    assert!(
        matches!(error, EgressError::Private { address, .. } if address == ten),
        "{error}"
    );
    assert!(server.heard().is_empty());
    let lookup = Scripted::new(&[&["127.0.0.1", "127.0.0.1"]]);
    let clean = Egress::new(policy(&["127.0.0.0/8"]), lookup);
    assert!(
        clean
            .fetch(Request::get(server.url("mixed.test")))
            .await
            .is_ok()
    );
}

/// The name answers with a permitted address first and with a private one the next
/// time it is asked: whenever that is, what is connected to is what was checked.
#[tokio::test]
async fn a_name_that_changes_its_answer_gains_nothing() {
    let server = FakeServer::answering(redirect(302, "http://rebind.test:1/")).await;
    let lookup = Scripted::new(&[&["127.0.0.1"], &["10.0.0.1"]]);
    let guarded = Egress::new(policy(&["127.0.0.0/8"]), lookup);
    let error = guarded
        .fetch(Request::get(server.url("rebind.test")))
        .await
        .unwrap_err();
    assert!(matches!(error, EgressError::Private { .. }), "{error}");
    assert_eq!(
        server.heard().len(),
        1,
        "the first answer was permitted and used"
    );
    let lookup = Scripted::new(&[&["127.0.0.1"], &["10.0.0.1"]]);
    let guarded = Egress::new(policy(&["127.0.0.0/8"]), lookup.clone());
    let server = FakeServer::answering(ok("hello")).await;
    let request = Request::get(server.url("rebind.test"));
    assert_eq!(body(&guarded, request).await.unwrap(), "hello");
    assert_eq!(
        lookup.0.lock().unwrap().len(),
        1,
        "one request makes one lookup"
    );
}

#[tokio::test]
async fn a_name_without_address_is_an_error_that_names_it() {
    let guarded = Egress::new(policy(&[]), Scripted::new(&[]));
    let error = guarded
        .fetch(Request::get("http://nowhere.test/"))
        .await
        .unwrap_err();
    assert!(matches!(error, EgressError::Lookup { .. }), "{error}");
    assert!(error.to_string().contains("nowhere.test"));
}

#[tokio::test]
async fn a_bomb_is_stopped_at_the_limit() {
    let bomb = |size: usize| {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&vec![0; size]).unwrap();
        let packed = gzip.finish().unwrap();
        let length = packed.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {length}\r\n\r\n"
        );
        [head.into_bytes(), packed].concat()
    };
    let open = egress(&["127.0.0.1/32"]);
    let server = FakeServer::answering(bomb(50_000_000)).await;
    let error = body(&open, Request::get(server.url("127.0.0.1")))
        .await
        .unwrap_err();
    assert!(
        matches!(error, EgressError::TooLarge { limit: 100_000 }),
        "{error}"
    );
    let server = FakeServer::answering(bomb(99_999)).await;
    let request = Request::get(server.url("127.0.0.1"));
    assert_eq!(body(&open, request.clone()).await.unwrap().len(), 99_999);
    let tight = FetchLimits {
        max_bytes: Some(99_998),
        ..FetchLimits::default()
    };
    let error = body(
        &open,
        Request {
            limits: tight,
            ..request
        },
    )
    .await
    .unwrap_err();
    assert!(
        matches!(error, EgressError::TooLarge { limit: 99_998 }),
        "{error}"
    );
    let server = FakeServer::answering("HTTP/1.1 200 OK\r\ncontent-length: 999999\r\n\r\n").await;
    let error = open
        .fetch(Request::get(server.url("127.0.0.1")))
        .await
        .unwrap_err();
    assert!(
        matches!(error, EgressError::TooLarge { .. }),
        "refused by its own word"
    );
}

#[tokio::test]
async fn a_body_that_does_not_end_is_given_up() {
    let server = FakeServer::answering("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await;
    let quick = FetchLimits {
        total_timeout: Some(Duration::from_secs(2)),
        ..FetchLimits::default()
    };
    let mut request = Request::get(server.url("127.0.0.1"));
    request.limits = quick;
    let mut answer = egress(&["127.0.0.1/32"]).fetch(request).await.unwrap();
    assert_eq!(answer.body.chunk().await.unwrap().unwrap(), "half");
    assert!(matches!(
        answer.body.chunk().await,
        Err(EgressError::TimedOut(_))
    ));
    let silent = FakeServer::answering("").await;
    let mut request = Request::get(silent.url("127.0.0.1"));
    request.limits = quick;
    let error = egress(&["127.0.0.1/32"]).fetch(request).await.unwrap_err();
    assert!(matches!(error, EgressError::TimedOut(_)), "{error}");
}

#[tokio::test]
async fn errors_do_not_repeat_the_query() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/?key=canary", listener.local_addr().unwrap());
    drop(listener);
    let error = egress(&["127.0.0.1/32"])
        .fetch(Request::get(url))
        .await
        .unwrap_err();
    assert!(matches!(error, EgressError::Connect { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("canary"));
}

#[tokio::test]
async fn a_gateway_client_talks_to_its_gateway_only() {
    let elsewhere = FakeServer::answering(ok("elsewhere")).await;
    let server = FakeServer::answering(redirect(302, &elsewhere.url("127.0.0.1"))).await;
    let client = Egress::gateway(&server.url("127.0.0.1")).unwrap();
    let get = async |path: &str| {
        let limits = FetchLimits::default();
        client
            .fetch(Method::GET, path, HeaderMap::new(), None, limits)
            .await
    };
    assert_eq!(get("/api/tools?x=1").await.unwrap().status, 302);
    assert!(server.heard()[0].starts_with("GET /api/tools?x=1 "));
    for away in [
        elsewhere.url("127.0.0.1"),
        format!("//{}/", elsewhere.address),
    ] {
        let refused = get(&away).await;
        assert!(matches!(refused, Err(EgressError::Elsewhere(_))), "{away}");
    }
    assert!(elsewhere.heard().is_empty());
    assert_eq!(server.heard().len(), 1);
}

/// The command line pays this on every call.
#[tokio::test]
async fn a_plain_gateway_client_is_ready_at_once() {
    let url = Url::parse("http://127.0.0.1:1/").unwrap();
    let mut fastest = Duration::MAX;
    for _ in 0..50 {
        let start = tokio::time::Instant::now();
        let client = transport();
        client.client(&url).await.unwrap();
        fastest = fastest.min(start.elapsed());
    }
    assert!(fastest < Duration::from_millis(5), "{fastest:?}");
}

#[tokio::test]
async fn a_secure_client_can_be_built() {
    let url = Url::parse("https://127.0.0.1:1/").unwrap();
    assert!(transport().client(&url).await.is_ok());
}

fn transport() -> Transport {
    let resolver = CheckedResolver {
        lookup: Arc::new(SystemLookup),
        reach: Arc::new(Reach::Anywhere),
    };
    Transport::new(resolver, Duration::from_secs(1), 4)
}
