//! Coming and going a thousand times.

use std::time::Duration;

use manyhands_upstream::{McpClient, Status, Upstream, UpstreamDeps, UpstreamError};
use serde_json::json;

use crate::support::{deps, hooks, program, stdio, until};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Processes of ours, those that wait to be reaped included.
fn children() -> Vec<String> {
    let me = std::process::id().to_string();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let ours = |stat: &String| {
        let after = stat.rsplit_once(") ").map(|(_, rest)| rest);
        after.and_then(|rest| rest.split(' ').nth(1)) == Some(&me)
    };
    stats.filter(ours).collect()
}

fn small(deps: &UpstreamDeps) -> Upstream {
    Upstream::new(stdio(program("sh"), &["small.sh"]), deps.clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_restarts_leak_nothing() {
    let deps = deps();
    let first = small(&deps);
    first.call_tool("hi", json!({}), &hooks()).await.unwrap();
    first.stop().await;
    until("the end of the first", || children().is_empty()).await;
    let before = descriptors();
    for round in 0..1_000 {
        let server = small(&deps);
        match round % 4 {
            // Stopped in good order.
            0 => {
                server.call_tool("hi", json!({}), &hooks()).await.unwrap();
                server.stop().await;
            }
            // Let go of.
            1 => server
                .call_tool("hi", json!({}), &hooks())
                .await
                .map(drop)
                .unwrap(),
            // Dead by its own hand.
            2 => assert!(server.call_tool("die", json!({}), &hooks()).await.is_err()),
            // Given up while it starts.
            _ => {
                drop(tokio::time::timeout(Duration::from_micros(500), server.ping(&hooks())).await)
            }
        }
    }
    until("the end of the last", || children().is_empty()).await;
    until("the last descriptor", || descriptors() <= before).await;
    assert_eq!(deps.supervisor.running(), 0);
}

#[tokio::test]
async fn a_crash_loop_backs_off_and_ends_when_stopped() {
    let deps = deps();
    let mut description = stdio(program("sh"), &["-c", "exit 7"]);
    description.timeouts.backoff = Duration::from_millis(20);
    description.timeouts.backoff_max = Duration::from_secs(100);
    let server = Upstream::new(description, deps.clone());
    let mut last = 0;
    for _ in 0..4 {
        assert!(server.ping(&hooks()).await.is_err());
        let Status::Failing {
            attempts, error, ..
        } = server.status()
        else {
            panic!("{:?}", server.status());
        };
        assert!(
            attempts > last && error.contains("code 7"),
            "{attempts} {error}"
        );
        last = attempts;
    }
    server.stop().await;
    assert_eq!(server.status(), Status::Stopped);
    until("the end of all", || deps.supervisor.running() == 0).await;
}

#[tokio::test]
async fn a_server_that_crashes_on_every_call_is_not_restarted_for_each() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("starts");
    let script = format!("echo start >> {}; . ./small.sh", log.display());
    let server = Upstream::new(stdio(program("sh"), &["-c", &script]), deps());
    let mut delayed = 0;
    for _ in 0..200 {
        let error = server
            .call_tool("die", json!({}), &hooks())
            .await
            .unwrap_err();
        assert!(error.retryable(), "{error}");
        delayed += usize::from(matches!(error, UpstreamError::Failing { .. }));
    }
    let starts = std::fs::read_to_string(&log).unwrap().lines().count();
    assert!((2..10).contains(&starts), "{starts} starts");
    assert!(delayed > 150, "{delayed}");
    server.stop().await;
}

#[tokio::test]
async fn a_stop_while_it_starts_leaves_no_program() {
    let deps = deps();
    let server = Upstream::new(stdio(program("sh"), &["-c", "sleep 1000"]), deps.clone());
    let asker = server.clone();
    let pending = tokio::spawn(async move { asker.ping(&hooks()).await });
    until("the start", || deps.supervisor.running() == 1).await;
    server.stop().await;
    assert_eq!(deps.supervisor.running(), 0, "gone when the stop returns");
    let error = pending.await.unwrap().unwrap_err();
    assert!(matches!(error, UpstreamError::Stopped), "{error}");
}
