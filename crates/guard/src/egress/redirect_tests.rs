//! Claims about where a request may be led.

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderValue};

use super::fake::{FakeServer, body, egress, ok, redirect};
use super::{EgressError, Request};

#[tokio::test]
async fn a_redirect_to_a_private_place_is_refused() {
    let secret = FakeServer::answering(ok("secret")).await;
    // 127.0.0.1 is permitted here and 127.0.0.2, which reaches the same machine, is not.
    let port = secret.address.port();
    for to in [
        format!("http://127.0.0.2:{port}/"),
        "http://169.254.169.254/latest".to_owned(),
    ] {
        let server = FakeServer::answering(redirect(302, &to)).await;
        let guarded = egress(&["127.0.0.1/32"]);
        let error = guarded
            .fetch(Request::get(server.url("127.0.0.1")))
            .await
            .unwrap_err();
        assert!(
            matches!(error, EgressError::Private { .. }),
            "{to}: {error}"
        );
        assert_eq!(server.heard().len(), 1);
    }
    for to in ["file:///etc/passwd", "http://me:pw@127.0.0.1/"] {
        let server = FakeServer::answering(redirect(302, to)).await;
        let guarded = egress(&["127.0.0.1/32"]);
        assert!(
            guarded
                .fetch(Request::get(server.url("127.0.0.1")))
                .await
                .is_err(),
            "{to}"
        );
    }
    assert!(secret.heard().is_empty());
    let server = FakeServer::answering(redirect(302, &secret.url("127.0.0.1"))).await;
    let answer = egress(&["127.0.0.1/32"])
        .fetch(Request::get(server.url("127.0.0.1")))
        .await;
    let answer = answer.unwrap();
    assert_eq!(answer.final_url.as_str(), secret.url("127.0.0.1"));
    assert_eq!(answer.bytes().await.unwrap(), "secret");
}

#[tokio::test]
async fn the_number_of_redirects_is_limited() {
    let server = FakeServer::answering(redirect(302, "/again")).await;
    let error = egress(&["127.0.0.1/32"])
        .fetch(Request::get(server.url("127.0.0.1")))
        .await
        .unwrap_err();
    assert!(
        matches!(error, EgressError::Redirects { max: 3 }),
        "{error}"
    );
    assert_eq!(server.heard().len(), 4);
}

fn with_secrets(url: String) -> Request {
    let mut request = Request::get(url);
    let mut key = HeaderValue::from_static("canary-key");
    key.set_sensitive(true);
    request.headers.insert("x-api-key", key);
    request.headers.insert(
        AUTHORIZATION,
        HeaderValue::from_static("Bearer canary-token"),
    );
    request
        .headers
        .insert(COOKIE, HeaderValue::from_static("id=canary-cookie"));
    request
        .headers
        .insert("x-plain", HeaderValue::from_static("plain"));
    request
}

#[tokio::test]
async fn secrets_stay_with_the_origin_they_were_meant_for() {
    let open = egress(&["127.0.0.0/8"]);
    let target = FakeServer::answering(ok("done")).await;
    let server = FakeServer::answering(redirect(307, &target.url("127.0.0.1"))).await;
    body(&open, with_secrets(server.url("127.0.0.1")))
        .await
        .unwrap();
    let first = server.heard()[0].clone();
    for secret in ["canary-key", "canary-token", "canary-cookie"] {
        assert!(first.contains(secret), "{secret} reaches its own origin");
    }
    let second = target.heard()[0].clone();
    assert!(!second.contains("canary"), "{second}");
    assert!(second.contains("x-plain: plain"));
    let same = FakeServer::answering(redirect(307, "/next")).await;
    let looped = open.fetch(with_secrets(same.url("127.0.0.1"))).await;
    assert!(looped.is_err());
    assert!(
        same.heard()
            .iter()
            .all(|request| request.contains("canary-token"))
    );
}

#[tokio::test]
async fn the_method_changes_as_the_status_says() {
    let open = egress(&["127.0.0.0/8"]);
    for (status, method, keeps_body) in [
        (301, "GET", false),
        (302, "GET", false),
        (303, "GET", false),
        (307, "POST", true),
        (308, "POST", true),
    ] {
        let target = FakeServer::answering(ok("done")).await;
        let server = FakeServer::answering(redirect(status, &target.url("127.0.0.1"))).await;
        let mut request = Request::new(Method::POST, server.url("127.0.0.1"));
        request.body = Some(Bytes::from_static(b"BODY"));
        body(&open, request).await.unwrap();
        let heard = target.heard()[0].clone();
        assert!(heard.starts_with(method), "{status}: {heard}");
        assert_eq!(heard.ends_with("BODY"), keeps_body, "{status}");
    }
}
