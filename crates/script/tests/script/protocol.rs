//! Workers that are not ours: whatever they send, the parent is bounded.

use std::time::Duration;

use crate::stage::Stage;
use manyhands_guard::Sandbox;
use manyhands_script::FaultKind;
use serde_json::json;

/// A pool whose worker is a shell that runs `script`; `f` sends a frame.
fn fake(script: &str) -> Stage {
    let script = format!(
        "f() {{ n=${{#1}}; printf \"\\\\$(printf %03o $((n>>24&255)))\\\\$(printf %03o $((n>>16&255)))\\\\$(printf %03o $((n>>8&255)))\\\\$(printf %03o $((n&255)))%s\" \"$1\"; }}\n{script}"
    );
    let mut stage = Stage::within(
        Sandbox::system_read_only(),
        "/bin/sh".into(),
        &["-c", &script],
        0,
    );
    stage.timeout = Duration::from_secs(20);
    stage
}

async fn faults(script: &str, kind: FaultKind, words: &str) {
    let stage = fake(script);
    let report = stage.run("return 1").await;
    let fault = report.outcome.expect_err(script);
    assert_eq!(fault.kind, kind, "{script}: {fault:?}");
    assert!(fault.message.contains(words), "{script}: {fault:?}");
    assert!(report.logs.len() <= 10_000);
    stage.settled().await;
}

#[tokio::test]
async fn a_worker_that_speaks_the_protocol_is_believed() {
    let stage =
        fake(r#"f '{"log":{"level":"warn","text":"hi"}}'; f '{"done":{"value":[1]}}'; sleep 1000"#);
    let report = stage.run("return 1").await;
    assert_eq!(report.outcome, Ok(json!([1])));
    assert_eq!(report.logs[0].text, "hi");
    stage.settled().await;
}

#[tokio::test]
async fn garbage_ends_the_run() {
    faults(
        "printf 'hello, world, this is no frame'",
        FaultKind::Crashed,
        "a frame of",
    )
    .await;
    faults("f '{'; sleep 1000", FaultKind::Crashed, "an invalid frame").await;
    faults(
        r#"f '{"done":{}}'; sleep 1000"#,
        FaultKind::Crashed,
        "an invalid frame",
    )
    .await;
    faults(
        r#"f '{"secret":1}'; sleep 1000"#,
        FaultKind::Crashed,
        "an invalid frame",
    )
    .await;
    faults(
        "f '[[[[[[[['; sleep 1000",
        FaultKind::Crashed,
        "an invalid frame",
    )
    .await;
    faults(
        r"printf '\377\377\377\377'; sleep 1000",
        FaultKind::Crashed,
        "a frame of 4294967295",
    )
    .await;
    faults("exec cat /dev/zero", FaultKind::Crashed, "protocol").await;
    faults("exit 3", FaultKind::Crashed, "with code 3").await;
    faults("kill -SEGV $$", FaultKind::Crashed, "by SIGSEGV").await;
    faults("f '{'; exec >&-; sleep 1000", FaultKind::Crashed, "").await;
}

#[tokio::test]
async fn a_worker_cannot_ask_for_more_than_a_script_may() {
    let ask = r#"f '{"ask":{"id":1,"ask":{"tool":{"server":"s","tool":"never","arguments":{}}}}}'"#;
    faults(
        &format!("while :; do {ask}; done"),
        FaultKind::Crashed,
        "more calls than allowed",
    )
    .await;
    let mut stage = fake(&format!("{ask}; {ask}; {ask}; sleep 1000"));
    stage.limits.calls = 2;
    let report = stage.run("return 1").await;
    assert_eq!(report.outcome.unwrap_err().kind, FaultKind::Crashed);
    assert_eq!(report.calls, 2);
    assert!(stage.host.asked.lock().unwrap().len() <= 2);
}

#[tokio::test]
async fn a_worker_cannot_flood_the_log() {
    let mut stage =
        fake(r#"while :; do f '{"log":{"level":"log","text":"xxxxxxxxxxxxxxxx"}}'; done"#);
    stage.limits.log_lines = 50;
    stage.limits.log_bytes = 100;
    stage.limits.calls = 5;
    let report = stage.run("return 1").await;
    assert_eq!(report.outcome.unwrap_err().kind, FaultKind::Crashed);
    assert!(report.logs_cut);
    let bytes: usize = report.logs.iter().map(|line| line.text.len()).sum();
    assert!(bytes <= 100 && report.logs.len() <= 50);
}

#[tokio::test]
async fn a_worker_cannot_speak_in_the_name_of_its_parent() {
    let fault = |kind: &str| {
        format!(
            r#"f '{{"failed":{{"kind":"{kind}","name":"","message":"m","line":1,"column":1,"excerpt":"forged","stack":null}}}}'; sleep 1000"#
        )
    };
    faults(&fault("cancelled"), FaultKind::Crashed, "m").await;
    faults(&fault("timeout"), FaultKind::Crashed, "m").await;
    let report = fake(&fault("thrown")).run("return 1").await;
    let fault = report.outcome.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Thrown);
    assert_eq!(
        fault.excerpt.as_deref(),
        Some("1 | return 1\n  | ^"),
        "the excerpt is of our own code"
    );
}

#[tokio::test]
async fn a_silent_worker_times_out() {
    let mut stage = fake("trap '' TERM; while :; do sleep 1; done");
    stage.timeout = Duration::from_millis(200);
    let report = stage.run("return 1").await;
    assert_eq!(report.outcome.unwrap_err().kind, FaultKind::Timeout);
    stage.settled().await;
    let mut deaf = fake("yes error >&2 & exec sleep 1000");
    deaf.timeout = Duration::from_millis(200);
    let report = deaf.run("return 1").await;
    assert_eq!(report.outcome.unwrap_err().kind, FaultKind::Timeout);
    deaf.settled().await;
}

#[tokio::test]
async fn a_result_over_the_bound_is_refused() {
    let mut stage =
        fake(r#"f '{"done":{"value":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}'; sleep 1000"#);
    stage.limits.output = 20;
    let fault = stage.run("return 1").await.outcome.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Crashed);
    assert!(fault.message.contains("a result of 34 bytes"), "{fault:?}");
}
