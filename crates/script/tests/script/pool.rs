//! Workers that wait, and what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use crate::stage::{Stage, program};
use manyhands_script::{FaultKind, Host, Run};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio_util::sync::CancellationToken;

async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_pool_holds_nothing_before_its_first_run_and_keeps_workers_after_it() {
    let stage = Stage::with(program(), &[], 2);
    tokio::task::yield_now().await;
    assert_eq!((stage.pool.waiting(), stage.supervisor.running()), (0, 0));
    assert_eq!(stage.run("return 1").await.outcome, Ok(json!(1)));
    until(|| stage.pool.waiting() == 2).await;
    stage.settled().await;
    assert_eq!(stage.supervisor.running(), 2);
    for n in 0..10 {
        assert_eq!(
            stage.run(&format!("return {n}")).await.outcome,
            Ok(json!(n))
        );
    }
    until(|| stage.pool.waiting() == 2).await;
    stage.settled().await;
    assert_eq!(stage.supervisor.running(), 2, "never more than it keeps");
}

#[tokio::test]
async fn idle_workers_are_stopped() {
    let stage = Stage::with(program(), &[], 1);
    assert_eq!(stage.run("return 1").await.outcome, Ok(json!(1)));
    until(|| stage.pool.waiting() == 1).await;
    stage.settled().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(4 * 60)).await;
    assert_eq!(stage.pool.waiting(), 1, "not so soon");
    tokio::time::advance(Duration::from_secs(2 * 60)).await;
    tokio::time::resume();
    until(|| stage.supervisor.running() == 0).await;
    assert_eq!(stage.pool.waiting(), 0);
    let again = stage.run("return 2").await.outcome;
    assert_eq!(again, Ok(json!(2)), "and the next run starts one");
}

#[tokio::test]
async fn one_run_leaves_nothing_for_the_next() {
    let stage = Stage::with(program(), &[], 1);
    let code = "const before = globalThis.mark; globalThis.mark = 1; Object.prototype.mark2 = 1; return [before ?? null, ({}).mark2]";
    for _ in 0..3 {
        assert_eq!(stage.run(code).await.outcome, Ok(json!([null, 1])));
    }
    assert_eq!(
        stage.run("return ({}).mark2 ?? null").await.outcome,
        Ok(json!(null))
    );
}

#[tokio::test]
async fn a_worker_that_died_while_it_waited_is_replaced() {
    let mark = format!("died-{}", std::process::id());
    let stage = Stage::with(program(), &[&mark], 1);
    assert!(stage.run("return 1").await.outcome.is_ok());
    until(|| stage.pool.waiting() == 1).await;
    stage.settled().await;
    let children = marked(&mark);
    assert!(!children.is_empty());
    for child in children {
        let _ = kill_process(child, Signal::KILL);
    }
    assert_eq!(stage.run("return 2").await.outcome, Ok(json!(2)));
    stage.is_healthy().await;
}

/// Processes that have `mark` among their arguments and are not gone.
fn marked(mark: &str) -> Vec<Pid> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0)
                .any(|word| word == mark.as_bytes())
        })
        .filter_map(Pid::from_raw)
        .collect()
}

#[tokio::test]
async fn cancelling_ends_the_script_and_its_calls() {
    let stage = Arc::new(Stage::new());
    let there = Arc::clone(&stage);
    let run = tokio::spawn(async move {
        there
            .run("console.log('up'); await callTool('s', 'never')")
            .await
    });
    stage.host.waiting.notified().await;
    stage.cancel.cancel();
    let report = run.await.unwrap();
    assert_eq!(report.outcome.unwrap_err().kind, FaultKind::Cancelled);
    assert_eq!((report.logs.len(), report.calls), (1, 1));
    assert_eq!(
        stage.host.at_once.lock().unwrap().0,
        0,
        "the call is dropped"
    );
    stage.is_healthy().await;
}

#[tokio::test]
async fn dropping_a_run_ends_it_too() {
    let mark = format!("dropped-{}", std::process::id());
    let stage = Arc::new(Stage::with(program(), &[&mark], 0));
    let there = Arc::clone(&stage);
    let run = tokio::spawn(async move { there.run("await callTool('s', 'never')").await });
    stage.host.waiting.notified().await;
    assert_eq!(marked(&mark).len(), 1);
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled());
    assert_eq!(stage.host.at_once.lock().unwrap().0, 0);
    stage.is_healthy().await;
    until(|| marked(&mark).is_empty()).await;
}

#[tokio::test]
async fn runs_go_on_beside_each_other_as_far_as_there_is_room() {
    let stage = Arc::new(Stage::new());
    let runs: Vec<_> = (0..8)
        .map(|i| {
            let stage = Arc::clone(&stage);
            tokio::spawn(async move {
                stage
                    .run(&format!(
                        "await callTool('s', 'meet', {{of: 8}}); return {i}"
                    ))
                    .await
            })
        })
        .collect();
    for (i, run) in runs.into_iter().enumerate() {
        assert_eq!(run.await.unwrap().outcome, Ok(json!(i)));
    }
    stage.settled().await;
}

#[tokio::test]
async fn a_worker_that_cannot_start_is_reported() {
    let stage = Stage::with("/no/such/worker".into(), &[], 1);
    let fault = stage.run("return 1").await.outcome.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unavailable);
    assert!(fault.message.contains("/no/such/worker"), "{fault:?}");
    let full = Stage::new();
    let held: Vec<_> = (0..16)
        .map(|_| {
            let sleep = manyhands_guard::Program::new("/bin/sleep").args(["1000"]);
            full.supervisor
                .start(sleep, &CancellationToken::new())
                .unwrap()
        })
        .collect();
    let fault = full.run("return 1").await.outcome.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unavailable, "{fault:?}");
    drop(held);
    until(|| full.supervisor.running() == 0).await;
    full.is_healthy().await;
}

#[tokio::test]
async fn the_end_of_the_pool_is_the_end_of_its_workers() {
    let stage = Stage::with(program(), &[], 2);
    assert!(stage.run("return 1").await.outcome.is_ok());
    until(|| stage.pool.waiting() == 2).await;
    let Stage {
        pool, supervisor, ..
    } = stage;
    drop(pool);
    until(|| supervisor.running() == 0).await;
}

#[tokio::test]
async fn clocks_and_dates_work() {
    let stage = Stage::new();
    let run = Run {
        code: "console.log('a'); await new Promise(r => setTimeout(r, 30)); console.log('b')"
            .into(),
        timeout: Duration::from_secs(60),
        limits: stage.limits,
        host: Arc::clone(&stage.host) as Arc<dyn Host>,
    };
    let report = stage.pool.run(run, CancellationToken::new()).await;
    assert!(
        report.logs[1].at_ms >= report.logs[0].at_ms + 29,
        "{:?}",
        report.logs
    );
    assert!(report.elapsed >= Duration::from_millis(30));
}
