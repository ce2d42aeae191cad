//! How a server comes, is shared and goes.

use std::time::Duration;

use manyhands_guard::Sandbox;
use manyhands_upstream::{McpClient, Status, Transport, UpstreamError};
use serde_json::json;

use crate::support::{hooks, node, program, runs, servers, stdio, text, until, upstream};

#[tokio::test]
async fn it_starts_when_first_used_and_is_shared() {
    let server = upstream(node(&["hostile.mjs"]));
    assert_eq!(server.status(), Status::Idle);
    let pid = async || {
        let answer = server.call_tool("pid", json!({}), &hooks()).await.unwrap();
        text(&answer).to_owned()
    };
    let (one, two, three) = tokio::join!(pid(), pid(), pid());
    assert_eq!(server.status(), Status::Ready);
    assert!(one == two && two == three);
    let private = server.open_private(None).await.unwrap();
    let own = private.call_tool("pid", json!({}), &hooks()).await.unwrap();
    assert_ne!(text(&own), one);
    let own: u32 = text(&own).parse().unwrap();
    drop(private);
    until("the end of the private one", || !runs(own)).await;
    assert_eq!(pid().await, one);
}

#[tokio::test]
async fn private_connections_are_limited_and_end_with_the_server() {
    let mut description = stdio(program("sh"), &["small.sh"]);
    description.bounds.private = 2;
    let server = upstream(description);
    let first = server.open_private(None).await.unwrap();
    let second = server.open_private(None).await.unwrap();
    let refused = server.open_private(None).await.map(drop).unwrap_err();
    assert!(
        matches!(refused, UpstreamError::Busy { max: 2 }),
        "{refused}"
    );
    drop(first);
    let third = server.open_private(None).await.unwrap();
    third.ping(&hooks()).await.unwrap();
    server.stop().await;
    for connection in [second, third] {
        assert!(connection.is_closed());
        let error = connection.ping(&hooks()).await.unwrap_err();
        assert!(matches!(error, UpstreamError::Stopped), "{error}");
    }
    assert!(server.open_private(None).await.is_err());
}

#[tokio::test]
async fn an_idle_server_is_stopped_and_restarted_on_use() {
    let mut description = node(&["hostile.mjs"]);
    description.timeouts.idle = Some(Duration::from_millis(200));
    let server = upstream(description);
    let first = server.call_tool("pid", json!({}), &hooks()).await.unwrap();
    until("rest", || server.status() == Status::Idle).await;
    let pid: u32 = text(&first).parse().unwrap();
    until("its end", || !runs(pid)).await;
    let second = server.call_tool("pid", json!({}), &hooks()).await.unwrap();
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_program_can_be_confined() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "seen").unwrap();
    let script = format!("cat {} >&2; . ./small.sh", secret.path().display());
    let free = stdio(program("sh"), &["-c", &script]);
    let mut confined = free.clone();
    if let Transport::Stdio { sandbox, .. } = &mut confined.transport {
        *sandbox = Some(Sandbox::system_read_only().reading(servers()));
    }
    for (description, seen) in [(free, true), (confined, false)] {
        let server = upstream(description);
        server.ping(&hooks()).await.unwrap();
        let logs = |text: &str| server.stderr().contains(text);
        until("its words", || logs("seen") || logs("denied")).await;
        assert_eq!(logs("seen"), seen, "{}", server.stderr());
        assert_eq!(logs("denied"), !seen, "{}", server.stderr());
        server.stop().await;
    }
}
