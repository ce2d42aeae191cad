//! Places on the network that misbehave.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use futures_util::stream::{self, StreamExt};
use manyhands_core::Secret;
use manyhands_guard::HeaderName;
use manyhands_upstream::{
    Credentials, Era, Hooks, McpClient, Server, Status, Transport, UpstreamError,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::support::{hooks, http, text, until, upstream};

/// What a place was asked.
#[derive(Debug, Clone)]
struct ReceivedRequest {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Value,
}

impl ReceivedRequest {
    fn method_name(&self) -> &str {
        self.body["method"].as_str().unwrap_or("")
    }

    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    fn reply(&self, result: Value) -> Response {
        let body = json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result });
        answer(200, "application/json", body.to_string())
    }
}

fn answer(status: u16, kind: &str, body: impl Into<Body>) -> Response {
    let response = Response::builder().status(status);
    let response = response.header("content-type", kind);
    response.body(body.into()).unwrap()
}

type Received = Arc<Mutex<Vec<ReceivedRequest>>>;

/// A place that answers by a function and remembers what it was asked.
struct FakeServer {
    port: u16,
    received: Received,
    _stop: DropGuard,
}

impl FakeServer {
    async fn new(by: impl Fn(ReceivedRequest) -> Response + Clone + Send + Sync + 'static) -> Self {
        Self::at(0, by).await
    }

    async fn at(
        port: u16,
        by: impl Fn(ReceivedRequest) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Received::default();
        let remember = received.clone();
        let handler = async move |request: Request| {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, 1 << 26)
                .await
                .unwrap_or_default();
            let request = ReceivedRequest {
                method: parts.method,
                path: parts.uri.path().to_owned(),
                headers: parts.headers,
                body: serde_json::from_slice(&body).unwrap_or_default(),
            };
            remember.lock().unwrap().push(request.clone());
            by(request)
        };
        let app = axum::Router::new().fallback(handler);
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                served = async { axum::serve(listener, app).await } => served.unwrap(),
                () = stopped.cancelled() => {}
            }
        });
        Self {
            port,
            received,
            _stop: stop.drop_guard(),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().clone()
    }

    fn methods(&self) -> Vec<String> {
        self.received()
            .iter()
            .map(|request| request.method_name().to_owned())
            .collect()
    }
}

/// A decent place of the old era; `special` may answer first.
fn legacy(
    request: &ReceivedRequest,
    special: impl FnOnce(&ReceivedRequest) -> Option<Response>,
) -> Response {
    if let Some(response) = special(request) {
        return response;
    }
    if request.method != Method::POST {
        return answer(405, "text/plain", "");
    }
    match request.method_name() {
        "initialize" => {
            let mut response = request.reply(json!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "place", "version": "0" },
            }));
            let session = "session-1".parse().unwrap();
            response.headers_mut().insert("mcp-session-id", session);
            response
        }
        "server/discover" => answer(400, "text/plain", "no session"),
        "tools/call" => request.reply(json!({ "content": [{ "type": "text", "text": "fine" }] })),
        "tools/list" => request.reply(json!({ "tools": [] })),
        methods if methods.starts_with("notifications/") || methods.is_empty() => {
            answer(202, "text/plain", "")
        }
        _ => request.reply(json!({})),
    }
}

/// Events that come one after the other, and then the end or nothing more.
fn events(all: Vec<String>, stays_open: bool) -> Response {
    let parts = stream::iter(all).map(|text| Ok::<_, Infallible>(Bytes::from(text)));
    let body = if stays_open {
        Body::from_stream(parts.chain(stream::pending()))
    } else {
        Body::from_stream(parts)
    };
    answer(200, "text/event-stream", body)
}

#[tokio::test]
async fn a_session_id_is_sent_with_every_request_and_deleted_at_the_end() {
    let endpoint = FakeServer::new(|request| legacy(&request, |_| None)).await;
    let mut description = http(endpoint.url("/mcp"));
    if let Transport::Http { headers, .. } = &mut description.transport {
        headers.push((HeaderName::from_static("x-api-key"), Secret::new("canary")));
        headers.push((
            HeaderName::from_static("mcp-session-id"),
            Secret::new("forged"),
        ));
    }
    let server = upstream(description);
    let called = server.call_tool("x", json!({}), &hooks()).await.unwrap();
    assert_eq!(text(&called), "fine");
    assert_eq!(server.peer().unwrap().version, "2025-06-18");
    server.stop().await;
    let received = endpoint.received();
    assert!(
        received
            .iter()
            .all(|request| request.header("x-api-key") == "canary")
    );
    let call = received
        .iter()
        .find(|request| request.method_name() == "tools/call")
        .unwrap();
    let listens = received
        .iter()
        .position(|request| request.method == Method::GET);
    let calls = received
        .iter()
        .position(|request| request.method_name() == "tools/call");
    assert!(
        listens < calls,
        "it listens before it calls, since it may be asked"
    );
    assert_eq!(call.header("mcp-session-id"), "session-1");
    assert_eq!(call.header("mcp-protocol-version"), "2025-06-18");
    let last = received
        .iter()
        .find(|request| request.method == Method::DELETE)
        .unwrap();
    assert_eq!(last.header("mcp-session-id"), "session-1");
}

#[tokio::test]
async fn an_expired_session_is_reopened_for_the_same_request() {
    let left = Arc::new(AtomicUsize::new(1));
    let endpoint = FakeServer::new(move |request| {
        let once = || {
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                .is_ok()
        };
        legacy(&request, |request| {
            (request.method_name() == "tools/call" && once())
                .then(|| answer(404, "text/plain", "gone"))
        })
    })
    .await;
    let server = upstream(http(endpoint.url("/mcp")));
    let called = server.call_tool("x", json!({}), &hooks()).await.unwrap();
    assert_eq!(text(&called), "fine");
    let greetings = endpoint
        .methods()
        .iter()
        .filter(|methods| *methods == "initialize")
        .count();
    assert_eq!(greetings, 2);
    assert_eq!(server.status(), Status::Ready);
}

#[tokio::test]
async fn a_request_in_flight_when_a_session_expires_is_not_resent() {
    let endpoint = FakeServer::new(|request| {
        legacy(&request, |request| {
            match request.body["params"]["name"].as_str()? {
                "slow" => Some(events(vec![], true)),
                "gone" => Some(answer(404, "text/plain", "gone")),
                _ => None,
            }
        })
    })
    .await;
    let server = upstream(http(endpoint.url("/mcp")));
    server.ping(&hooks()).await.unwrap();
    let named = |name: &str| {
        let named = |request: &&ReceivedRequest| request.body["params"]["name"] == name;
        endpoint.received().iter().filter(named).count()
    };
    let (with, without) = (hooks(), hooks());
    let (slow, caller) = tokio::join!(server.call_tool("slow", json!({}), &with), async {
        until("the slow one", || named("slow") == 1).await;
        server.call_tool("gone", json!({}), &without).await
    });
    assert!(matches!(slow, Err(UpstreamError::Lost(_))), "{slow:?}");
    assert!(caller.is_err());
    assert_eq!((named("slow"), named("gone")), (1, 2));
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_not_followed() {
    let other = FakeServer::new(|request| legacy(&request, |_| None)).await;
    for (target, followed) in [(other.url("/mcp"), false), ("/real".to_owned(), true)] {
        let endpoint = FakeServer::new(move |request| {
            if request.path == "/real" {
                return legacy(&request, |_| None);
            }
            let moved = Response::builder().status(307).header("location", &target);
            moved.body(Body::empty()).unwrap()
        })
        .await;
        let server = upstream(http(endpoint.url("/mcp")));
        let called = server.call_tool("x", json!({}), &hooks()).await;
        assert_eq!(called.is_ok(), followed, "{called:?}");
    }
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn a_legacy_server_cannot_redirect_messages_to_another_origin() {
    let other = FakeServer::new(|_| answer(202, "text/plain", "")).await;
    let elsewhere = other.url("/take");
    for endpoint in [
        elsewhere.as_str(),
        "//127.0.0.2:1/x",
        "http://user@evil/x",
        "file:///x",
    ] {
        let event = format!("event: endpoint\ndata: {endpoint}\n\n");
        let endpoint = FakeServer::new(move |_| events(vec![event.clone()], true)).await;
        let transport = Transport::Sse {
            url: endpoint.url("/sse"),
            headers: Vec::new(),
        };
        let error = upstream(Server::new("test", transport))
            .ping(&hooks())
            .await
            .unwrap_err();
        assert!(matches!(error, UpstreamError::Garbage(_)), "{error}");
        assert_eq!(endpoint.received().len(), 1, "nothing was sent");
    }
    assert!(other.received().is_empty());
    // The control: a place of its own is sent to.
    let event = "event: endpoint\ndata: /take?s=1\n\n".to_owned();
    let endpoint = FakeServer::new(move |request| match request.method {
        Method::GET => events(vec![event.clone()], true),
        _ => answer(202, "text/plain", ""),
    })
    .await;
    let mut description = Server::new(
        "test",
        Transport::Sse {
            url: endpoint.url("/sse"),
            headers: Vec::new(),
        },
    );
    description.timeouts.start = Duration::from_secs(3);
    let silence = upstream(description).ping(&hooks()).await.unwrap_err();
    assert!(matches!(silence, UpstreamError::TimedOut(_)), "{silence}");
    assert!(
        endpoint
            .received()
            .iter()
            .any(|request| request.path == "/take" && request.method_name() == "initialize")
    );
}

/// Has one token, and gets another when the first is refused.
struct Renewed(AtomicUsize);

#[async_trait]
impl Credentials for Renewed {
    async fn headers(&self) -> Result<Vec<(HeaderName, Secret)>, UpstreamError> {
        let token = format!("Bearer {}", self.0.load(Ordering::SeqCst));
        Ok(vec![(
            HeaderName::from_static("authorization"),
            Secret::new(token),
        )])
    }

    async fn refused(
        &self,
        status: u16,
        www_authenticate: Option<String>,
        _: &[(HeaderName, Secret)],
    ) -> Result<bool, UpstreamError> {
        assert_eq!(
            (status, www_authenticate.as_deref()),
            (401, Some("Bearer scope=\"x\""))
        );
        Ok(self.0.fetch_add(1, Ordering::SeqCst) == 0)
    }
}

#[tokio::test]
async fn rejected_credentials_are_renewed_or_reported() {
    let endpoint = FakeServer::new(|request| {
        legacy(&request, |request| {
            let known = request.header("authorization") == "Bearer 1";
            let refused = Response::builder().status(401);
            let refused = refused.header("www-authenticate", "Bearer scope=\"x\"");
            (!known).then(|| refused.body(Body::empty()).unwrap())
        })
    })
    .await;
    let mut description = http(endpoint.url("/mcp"));
    description.credentials = Arc::new(Renewed(AtomicUsize::new(0)));
    let server = upstream(description.clone());
    server.call_tool("x", json!({}), &hooks()).await.unwrap();
    description.credentials = Arc::new(Renewed(AtomicUsize::new(7)));
    for description in [description, http(endpoint.url("/mcp"))] {
        let error = upstream(description).ping(&hooks()).await.unwrap_err();
        let UpstreamError::Unauthorized {
            status,
            www_authenticate,
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(
            (*status, www_authenticate.as_deref()),
            (401, Some("Bearer scope=\"x\""))
        );
        assert!(!error.retryable());
    }
}

#[tokio::test]
async fn oversized_responses_are_refused() {
    let endpoint = FakeServer::new(|request| {
        legacy(&request, |request| {
            match request.body["params"]["name"].as_str()? {
                "huge" => {
                    let chunk = Bytes::from(vec![b'x'; 1 << 20]);
                    let chunks = stream::repeat(chunk).take(100).map(Ok::<_, Infallible>);
                    Some(answer(200, "application/json", Body::from_stream(chunks)))
                }
                "event" => {
                    let chunk = Bytes::from(vec![b'x'; 1 << 20]);
                    let chunks = stream::repeat(chunk).map(Ok::<_, Infallible>);
                    Some(answer(200, "text/event-stream", Body::from_stream(chunks)))
                }
                "empty" => Some(answer(200, "application/json", "")),
                "html" => Some(answer(200, "text/html", "<p>Hello</p>")),
                "deep" => Some(answer(200, "application/json", "[".repeat(1 << 20))),
                "broken" => Some(answer(500, "text/plain", "oh no")),
                _ => None,
            }
        })
    })
    .await;
    let server = upstream(http(endpoint.url("/mcp")));
    let call = async |name: &str| server.call_tool(name, json!({}), &hooks()).await;
    for name in ["huge", "event"] {
        let error = call(name).await.unwrap_err();
        assert!(
            matches!(error, UpstreamError::TooLarge { .. }),
            "{name}: {error}"
        );
    }
    for name in ["empty", "html", "deep"] {
        let error = call(name).await.unwrap_err();
        assert!(
            matches!(error, UpstreamError::Garbage(_)),
            "{name}: {error}"
        );
    }
    let error = call("broken").await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::Http { status: 500, .. }) && error.retryable(),
        "{error}"
    );
    assert_eq!(text(&call("fine").await.unwrap()), "fine", "the control");
}

#[tokio::test]
async fn a_silent_http_server_times_out_and_its_request_is_cancelled() {
    let endpoint = FakeServer::new(|request| {
        legacy(&request, |request| {
            (request.method_name() == "tools/call").then(|| events(vec![], true))
        })
    })
    .await;
    let server = upstream(http(endpoint.url("/mcp")));
    let brief = Hooks {
        timeout: Some(Duration::from_millis(200)),
        ..hooks()
    };
    let error = server.call_tool("x", json!({}), &brief).await.unwrap_err();
    assert!(matches!(error, UpstreamError::TimedOut(_)), "{error}");
    until("the taking back", || {
        endpoint
            .methods()
            .iter()
            .any(|methods| methods == "notifications/cancelled")
    })
    .await;
}

#[tokio::test]
async fn a_broken_stream_is_resumed_at_its_last_event() {
    let endpoint = FakeServer::new(|request| {
        legacy(&request, |request| {
            if request.method == Method::GET && request.header("last-event-id") == "ev-1" {
                let reply = json!({ "id": 3, "result": { "content": [{ "type": "text", "text": "late" }] } });
                return Some(events(vec![format!("id: ev-2\ndata: {reply}\n\n")], false));
            }
            let first = "id: ev-1\nretry: 10\ndata:\n\n".to_owned();
            match request.body["params"]["name"].as_str()? {
                "resumes" => Some(events(vec![first], false)),
                "ends" => Some(events(vec![], false)),
                _ => None,
            }
        })
    })
    .await;
    let server = upstream(http(endpoint.url("/mcp")));
    let late = server
        .call_tool("resumes", json!({}), &hooks())
        .await
        .unwrap();
    assert_eq!(text(&late), "late");
    let lost = server
        .call_tool("ends", json!({}), &hooks())
        .await
        .unwrap_err();
    assert!(
        matches!(lost, UpstreamError::Lost(_)) && lost.retryable(),
        "{lost}"
    );
}

#[tokio::test]
async fn an_unreachable_server_is_failing_until_it_returns() {
    let endpoint = FakeServer::new(|request| legacy(&request, |_| None)).await;
    let mut description = http(endpoint.url("/mcp"));
    description.timeouts.backoff = Duration::from_millis(50);
    let server = upstream(description);
    server.call_tool("x", json!({}), &hooks()).await.unwrap();
    let port = endpoint.port;
    drop(endpoint);
    until("a refusal", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_err()
    })
    .await;
    let error = loop {
        match server.call_tool("x", json!({}), &hooks()).await {
            Ok(_) => tokio::task::yield_now().await,
            Err(error) => break error,
        }
    };
    assert!(error.retryable(), "{error}");
    let endpoint = FakeServer::at(port, |request| legacy(&request, |_| None)).await;
    let back = async {
        while server.call_tool("x", json!({}), &hooks()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(crate::support::LONG, back)
        .await
        .unwrap();
    assert!(endpoint.methods().contains(&"tools/call".to_owned()));
}

#[tokio::test]
async fn modern_requests_have_headers_and_are_cancelled_by_closing_their_stream() {
    let open = Arc::new(AtomicUsize::new(0));
    let count = open.clone();
    let endpoint = FakeServer::new(move |request| match request.method_name() {
        "server/discover" => request.reply(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} }, "serverInfo": { "name": "m", "version": "0" },
        })),
        "tools/call" if request.body["params"]["name"] == "silence" => {
            count.fetch_add(1, Ordering::SeqCst);
            let guard = Closing(count.clone());
            let never = stream::unfold(guard, async |guard| {
                std::future::pending::<()>().await;
                Some((Ok::<_, Infallible>(Bytes::new()), guard))
            });
            let first = stream::iter([Ok(Bytes::from_static(b": hello\n\n"))]);
            answer(
                200,
                "text/event-stream",
                Body::from_stream(first.chain(never)),
            )
        }
        _ => request.reply(json!({ "resultType": "complete", "content": [] })),
    })
    .await;
    let server = upstream(http(endpoint.url("/mcp")));
    server.call_tool("näme", json!({}), &hooks()).await.unwrap();
    assert_eq!(server.peer().unwrap().era, Era::Modern);
    let received = endpoint.received();
    let call = received
        .iter()
        .find(|request| request.method_name() == "tools/call")
        .unwrap();
    assert_eq!(call.header("mcp-method"), "tools/call");
    assert_eq!(call.header("mcp-name"), "=?base64?bsOkbWU=?=");
    assert_eq!(call.header("mcp-protocol-version"), "2026-07-28");
    assert_eq!(call.header("mcp-session-id"), "");
    let meta = &call.body["params"]["_meta"];
    assert_eq!(
        meta["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    assert_eq!(
        meta["io.modelcontextprotocol/clientCapabilities"],
        json!({})
    );
    let brief = Hooks {
        timeout: Some(Duration::from_secs(1)),
        ..hooks()
    };
    let error = server
        .call_tool("silence", json!({}), &brief)
        .await
        .unwrap_err();
    assert!(matches!(error, UpstreamError::TimedOut(_)), "{error}");
    let silence = |request: &ReceivedRequest| request.body["params"]["name"] == "silence";
    assert!(endpoint.received().iter().any(silence));
    until("the close", || open.load(Ordering::SeqCst) == 0).await;
    assert!(
        !endpoint
            .methods()
            .iter()
            .any(|methods| methods.starts_with("notifications/"))
    );
}

/// Counts down when dropped.
struct Closing(Arc<AtomicUsize>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn an_endpoint_without_mcp_is_reported_as_such() {
    let endpoint =
        FakeServer::new(|_| answer(StatusCode::NOT_FOUND.as_u16(), "text/html", "nothing here"))
            .await;
    let error = upstream(http(endpoint.url("/mcp")))
        .ping(&hooks())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
    assert!(!error.retryable());
    let wrong = upstream(http("ftp://127.0.0.1/"))
        .ping(&hooks())
        .await
        .unwrap_err();
    assert!(wrong.to_string().contains("only http and https"), "{wrong}");
}
