//! A server that misbehaves.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use manyhands_upstream::{
    Era, Hooks, McpClient, ServerNotification, Status, Transport, Upstream, UpstreamError,
};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::TryRecvError;
use tokio_util::sync::CancellationToken;

use crate::support::{LONG, Obliging, hooks, names, node, runs, text, until, upstream};

fn hostile() -> Upstream {
    upstream(node(&["hostile.mjs"]))
}

async fn call(server: &Upstream, name: &str) -> Result<Value, UpstreamError> {
    server.call_tool(name, json!({ "a": 1 }), &hooks()).await
}

#[tokio::test]
async fn unknown_fields_are_preserved() {
    let server = hostile();
    let meta = json!({ "example.com/trace": "t", "progressToken": "mine", "io.modelcontextprotocol/protocolVersion": "x" });
    let with = Hooks {
        meta: meta.as_object().cloned().unwrap(),
        ..hooks()
    };
    let answer = server.call_tool("echo", json!({}), &with).await.unwrap();
    assert_eq!(
        answer["content"],
        json!([{ "type": "hologram", "depth": 3 }])
    );
    assert_eq!(answer["unheardOf"], json!({ "kept": true }));
    assert_eq!(answer["_meta"], json!({ "example.com/trace": "t" }));
    let error = call(&server, "nothing").await.unwrap_err();
    let UpstreamError::Rpc(error) = error else {
        panic!("{error}");
    };
    assert_eq!(
        (error.code, error.message.as_str()),
        (-32602, "no tool nothing")
    );
}

#[tokio::test]
async fn a_silent_program_times_out_and_its_request_is_cancelled() {
    let server = hostile();
    let brief = Hooks {
        timeout: Some(Duration::from_millis(200)),
        ..hooks()
    };
    let error = server
        .call_tool("silence", json!({}), &brief)
        .await
        .unwrap_err();
    assert!(
        matches!(error, UpstreamError::TimedOut(_)) && error.retryable(),
        "{error}"
    );
    let stopped = Hooks {
        cancel: CancellationToken::new(),
        ..hooks()
    };
    let cancel = stopped.cancel.clone();
    let (error, ()) = tokio::join!(server.call_tool("silence", json!({}), &stopped), async {
        call(&server, "echo").await.unwrap();
        cancel.cancel();
    });
    assert!(matches!(error, Err(UpstreamError::Cancelled)));
    // Whoever goes away takes the request back too.
    let cancelled =
        tokio::time::timeout(Duration::from_millis(100), call(&server, "silence")).await;
    assert!(cancelled.is_err());
    let cancelled: Vec<u64> =
        serde_json::from_str(text(&call(&server, "cancelled").await.unwrap())).unwrap();
    assert_eq!(cancelled.len(), 3, "{cancelled:?}");
    assert_eq!(server.status(), Status::Ready);
}

#[tokio::test]
async fn garbage_between_messages_is_ignored() {
    let server = hostile();
    assert_eq!(text(&call(&server, "garbage").await.unwrap()), "still here");
    assert_eq!(text(&call(&server, "twice").await.unwrap()), "first");
    call(&server, "echo").await.unwrap();
}

#[tokio::test]
async fn a_reply_of_a_hundred_megabytes_fails_alone() {
    let server = hostile();
    let pid = text(&call(&server, "pid").await.unwrap()).to_owned();
    let (huge, other) = tokio::join!(call(&server, "huge"), async {
        server
            .call_tool(
                "silence",
                json!({}),
                &Hooks {
                    timeout: Some(Duration::from_secs(1)),
                    ..hooks()
                },
            )
            .await
    });
    let huge = huge.unwrap_err();
    assert!(matches!(huge, UpstreamError::TooLarge { .. }), "{huge}");
    assert!(matches!(other, Err(UpstreamError::TimedOut(_))));
    assert_eq!(
        text(&call(&server, "pid").await.unwrap()),
        pid,
        "the same program goes on"
    );
    let request = json!({ "big": "x".repeat(17 * 1024 * 1024) });
    let refused = server
        .call_tool("echo", request, &hooks())
        .await
        .unwrap_err();
    assert!(
        matches!(
            refused,
            UpstreamError::TooLarge {
                what: "the request",
                ..
            }
        ),
        "{refused}"
    );
}

#[tokio::test]
async fn an_endless_line_ends_the_connection() {
    let mut description = node(&["hostile.mjs"]);
    description.bounds.message = 1024 * 1024;
    let server = upstream(description);
    let error = call(&server, "endless").await.unwrap_err();
    assert!(matches!(error, UpstreamError::TooLarge { .. }), "{error}");
    call(&server, "echo").await.unwrap();
}

#[tokio::test]
async fn a_crashed_server_fails_its_calls_and_is_restarted() {
    let server = hostile();
    let mut status = server.watch();
    let pid: u32 = text(&call(&server, "pid").await.unwrap()).parse().unwrap();
    let mut notifications = server.changes();
    let (waiting, died) = tokio::join!(call(&server, "silence"), call(&server, "die"));
    for error in [waiting.unwrap_err(), died.unwrap_err()] {
        assert!(
            matches!(error, UpstreamError::Lost(_)) && error.retryable(),
            "{error}"
        );
        assert!(error.to_string().contains("code 3"), "{error}");
        assert!(error.to_string().contains("I cannot go on"), "{error}");
    }
    // It is started again before anybody asks, and its tools may be others.
    let ready = status.wait_for(|s| *s == Status::Ready);
    tokio::time::timeout(LONG, ready).await.unwrap().unwrap();
    let sink = tokio::time::timeout(LONG, notifications.recv())
        .await
        .unwrap();
    assert_eq!(sink.unwrap(), ServerNotification::Tools);
    let second: u32 = text(&call(&server, "pid").await.unwrap()).parse().unwrap();
    assert_ne!(pid, second);
    server.stop().await;
    assert!(!runs(pid) && !runs(second));
    assert_eq!(server.status(), Status::Stopped);
}

#[tokio::test]
async fn changes_are_reported_and_all_pages_are_listed() {
    let server = hostile();
    let before = server.list_tools(&hooks()).await.unwrap();
    assert_eq!(names(&before), ["echo", "silence"], "over two pages");
    let mut notifications = server.changes();
    call(&server, "grow").await.unwrap();
    assert_eq!(
        notifications.recv().await.unwrap(),
        ServerNotification::Tools
    );
    let after = server.list_tools(&hooks()).await.unwrap();
    assert_eq!(names(&after), ["echo", "silence", "grown_2"]);
    let mut endless = node(&["hostile.mjs"]);
    if let Transport::Stdio { env, .. } = &mut endless.transport {
        env.insert("ENDLESS_LIST".into(), "1".into());
    }
    endless.bounds.pages = 20;
    let refused = upstream(endless).list_tools(&hooks()).await.unwrap_err();
    assert!(matches!(refused, UpstreamError::Garbage(_)), "{refused}");
}

#[tokio::test]
async fn server_requests_reach_only_the_handler_of_their_call() {
    let mut description = node(&["hostile.mjs"]);
    let handler = Arc::new(Obliging::default());
    description.capabilities = json!({ "elicitation": {} }).as_object().cloned().unwrap();
    let server = upstream(description);
    let with = Hooks {
        handler: Some(handler.clone()),
        ..hooks()
    };
    let answer = server.call_tool("elicit", json!({}), &with).await.unwrap();
    assert!(text(&answer).contains("Ada"), "{answer}");
    let sampled = server.call_tool("sample", json!({}), &with).await.unwrap();
    assert!(text(&sampled).contains("sampled"));
    assert_eq!(
        handler.methods(),
        ["elicitation/create", "sampling/createMessage"]
    );
    let refused = call(&server, "elicit").await.unwrap();
    assert!(text(&refused).contains("-32601"), "{refused}");
    let unknown = server.call_tool("unknown", json!({}), &with).await.unwrap();
    assert!(text(&unknown).contains("-32601"), "{unknown}");
    assert_eq!(handler.methods().len(), 2);
    let declared = server.peer().unwrap().capabilities["offered"].clone();
    assert_eq!(declared, json!({ "elicitation": {} }));
    let private = server.open_private(Some(handler.clone())).await.unwrap();
    let own = private
        .call_tool("elicit", json!({}), &hooks())
        .await
        .unwrap();
    assert!(text(&own).contains("Ada"), "the connection's own answers");
    assert!(
        private.peer().capabilities["offered"]
            .get("sampling")
            .is_some()
    );
}

#[tokio::test]
async fn an_ambiguous_server_request_reaches_no_handler() {
    let server = hostile();
    let (one, other) = (Arc::new(Obliging::default()), Arc::new(Obliging::default()));
    let with = |handler: &Arc<Obliging>| Hooks {
        handler: Some(handler.clone()),
        cancel: CancellationToken::new(),
        ..hooks()
    };
    let (first, second) = (with(&one), with(&other));
    let (waiting, input) = tokio::join!(server.call_tool("silence", json!({}), &first), async {
        let input = server.call_tool("elicit", json!({}), &second).await;
        first.cancel.cancel();
        input
    });
    assert!(matches!(waiting, Err(UpstreamError::Cancelled)));
    assert!(text(&input.unwrap()).contains("-32601"));
    assert!(one.methods().is_empty() && other.methods().is_empty());
}

#[tokio::test]
async fn a_flood_of_notifications_and_requests_stays_bounded() {
    let server = hostile();
    let logged = Arc::new(Mutex::new(0_usize));
    let count = logged.clone();
    let with = Hooks {
        log: Some(Arc::new(move |_: Map<String, Value>| {
            *count.lock().unwrap() += 1
        })),
        ..hooks()
    };
    let flooded = server.call_tool("flood", json!({}), &with).await.unwrap();
    assert_eq!(text(&flooded), "flooded");
    assert_eq!(*logged.lock().unwrap(), 50_000);
    let mut slow = server.changes();
    let (echo, _) = tokio::join!(call(&server, "echo"), call(&server, "flood"));
    echo.unwrap();
    // Whoever did not read is told that it missed something, and nothing was kept for it.
    assert!(matches!(slow.try_recv(), Err(TryRecvError::Lagged(missed)) if missed > 40_000));
}

#[tokio::test]
async fn progress_reaches_its_caller() {
    let server = hostile();
    let steps = Arc::new(Mutex::new(Vec::new()));
    let sink = steps.clone();
    let with = Hooks {
        progress: Some(Arc::new(move |step: Map<String, Value>| {
            sink.lock().unwrap().push(Value::Object(step));
        })),
        ..hooks()
    };
    server.call_tool("steps", json!({}), &with).await.unwrap();
    let expected: Vec<Value> = (1..=3).map(|n| json!({ "progress": n })).collect();
    assert_eq!(*steps.lock().unwrap(), expected);
}

#[tokio::test]
async fn servers_without_discover_get_the_legacy_handshake() {
    for manner in ["plain", "mute", "brittle"] {
        let mut description = node(&["hostile.mjs", manner]);
        description.timeouts.probe = Duration::from_millis(500);
        let server = upstream(description);
        call(&server, "echo").await.unwrap();
        assert_eq!(server.peer().unwrap().era, Era::Legacy, "{manner}");
        server.stop().await;
    }
}

#[tokio::test]
async fn an_unresponsive_server_is_detected_and_replaced() {
    let mut description = node(&["hostile.mjs"]);
    description.timeouts.health = Duration::from_millis(300);
    let server = upstream(description);
    let pid: u32 = text(&call(&server, "pid").await.unwrap()).parse().unwrap();
    call(&server, "deaf").await.unwrap();
    until("the end of the deaf one", || !runs(pid)).await;
    let second = call(&server, "pid").await.unwrap();
    assert_ne!(text(&second), pid.to_string());
}
