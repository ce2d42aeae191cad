//! Scripts that want too much: each ends with the right fault, and leaves nothing behind.

use std::time::Duration;

use crate::stage::Stage;
use manyhands_script::{Fault, FaultKind};
use serde_json::json;

/// `code` ends so, and the next run is fine.
async fn ends(stage: &Stage, code: &str, kind: FaultKind) -> Fault {
    let report = stage.run(code).await;
    let fault = report.outcome.expect_err(code);
    assert_eq!(fault.kind, kind, "{code}: {fault:?}");
    stage.is_healthy().await;
    fault
}

fn short_of_time() -> Stage {
    let mut stage = Stage::new();
    stage.limits.cpu = Duration::from_millis(100);
    stage
}

#[tokio::test]
async fn what_does_not_end_runs_out_of_processor_time() {
    for code in [
        "while (true) {}",
        "for (;;) try { for (;;) {} } catch {} finally { continue }",
        "/(a+)+$/.test('a'.repeat(40) + 'b')",
        "(function spin() { Promise.resolve().then(spin) })(); await new Promise(() => {})",
        "async function f() { for (;;) await null } await f()",
        "const spin = () => queueMicrotask(spin); spin(); await new Promise(() => {})",
        "class T { get then() { return f => f(new T) } } await new T",
        "throw {get message() { for (;;) {} }, toString() { for (;;) {} }, toJSON() { for (;;) {} }}",
        "return {toJSON() { for (;;) {} }}",
        "setInterval(() => { for (;;) {} }, 1); await new Promise(() => {})",
        "[1, 2].sort(() => { for (;;) {} })",
        "function* g() { for (;;) yield 1 } for (const x of g()) ;",
        "new Proxy({}, {get() { for (;;) {} }}).x",
        "}); for (;;) {} (async () => {",
    ] {
        let fault = ends(&short_of_time(), code, FaultKind::Cpu).await;
        assert!(fault.message.contains("100ms"), "{fault:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_interrupted_is_killed_when_its_time_is_up() {
    let mut stage = Stage::new();
    stage.limits.memory = 2 << 30;
    stage.timeout = Duration::from_millis(400);
    let report = loop {
        let code = "console.log('before'); for (;;) new Array(3e8) + ''";
        let report = stage.run(code).await;
        if !report.logs.is_empty() || stage.timeout > Duration::from_secs(10) {
            break report;
        }
        stage.timeout *= 4; // this machine was too slow to begin with it
    };
    assert_eq!(report.outcome.unwrap_err().kind, FaultKind::Timeout);
    assert_eq!(report.logs[0].text, "before");
    stage.is_healthy().await;
}

#[tokio::test]
async fn what_never_looks_at_the_time_is_stopped_by_the_system() {
    let mut stage = short_of_time();
    stage.limits.memory = 2 << 30;
    let fault = ends(&stage, "for (;;) new Array(3e8) + ''", FaultKind::Cpu).await;
    assert!(fault.message.contains("100ms"), "{fault:?}");
}

#[tokio::test]
async fn waiting_costs_no_processor_time_but_ends_with_the_timeout() {
    let mut stage = short_of_time();
    stage.timeout = Duration::from_millis(700);
    for code in [
        "await callTool('s', 'never')",
        "await new Promise(r => setTimeout(r, 1e9))",
        "setInterval(() => {}, 20); await new Promise(() => {})",
    ] {
        ends(&stage, code, FaultKind::Timeout).await;
    }
}

#[tokio::test]
async fn memory_is_bounded_however_it_is_asked_for() {
    let mut stage = Stage::new();
    stage.limits.memory = 16 << 20;
    for code in [
        "const a = []; for (;;) a.push({a: [1, 2, 3]})",
        "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)",
        "let s = 'x'; for (;;) s += s",
        "new ArrayBuffer(4 * 2 ** 30)",
        "new Uint8Array(2 ** 31)",
        "const m = new Map; for (let i = 0; ; i++) m.set(i, [i])",
        "const keep = []; (function bomb() { keep.push(new Promise(bomb)) })(); for (;;) keep.push(Promise.resolve().then(() => keep))",
        "const all = []; for (;;) all.push(async () => all)",
        "let a = 1n; for (;;) a = a << 100000n | a",
        "const a = []; for (;;) { a.push(new Function2()) } function Function2() { this.x = new Array(1000).fill(this) }",
        "await callTool('s', 'big', {bytes: 12000000}).then(async x => { const all = [x]; for (;;) all.push(await callTool('s', 'big', {bytes: 4000000})) })",
    ] {
        let report = stage.run(code).await;
        let fault = report.outcome.expect_err(code);
        // A text or a number can be too long before memory is short, and says so itself.
        let too_long = fault.kind == FaultKind::Thrown
            && (fault.message.contains("too") || fault.name == "RangeError");
        assert!(
            fault.kind == FaultKind::Memory || too_long,
            "{code}: {fault:?}"
        );
        stage.is_healthy().await;
    }
    let fault = ends(
        &stage,
        "const a = []; for (;;) a.push([a.length])",
        FaultKind::Memory,
    )
    .await;
    assert!(fault.message.contains("16 MiB"), "{fault:?}");
    let report = stage
        .run("const a = new Array(1e5).fill(7); return a.length")
        .await;
    assert_eq!(report.outcome, Ok(json!(100_000)), "the control");
    let report = stage
        .run("try { new ArrayBuffer(1e9) } catch (e) { return 'caught' }")
        .await;
    assert_eq!(report.outcome, Ok(json!("caught")));
    let report = stage.run("throw null").await;
    assert_eq!(report.outcome.unwrap_err().kind, FaultKind::Thrown);
}

#[tokio::test]
async fn a_deep_stack_is_an_error_and_no_crash() {
    let stage = Stage::new();
    for code in [
        "(function f() { f() })()",
        "const f = () => [1].map(f); f()",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)",
        "JSON.parse('['.repeat(1e6))",
        "const p = new Proxy({}, {get: (t, k, r) => r[k]}); p.x",
        "let r = '('.repeat(5e4) + ')'.repeat(5e4); new RegExp(r)",
        "const o = {get x() { return this.x }}; o.x",
        "class A { constructor() { new A } } new A",
        "String({toString() { return String(this) }})",
    ] {
        ends(&stage, code, FaultKind::Thrown).await;
    }
    let deep = format!("return {}1{}", "(".repeat(40_000), ")".repeat(40_000));
    let report = stage.run(&deep).await;
    if let Err(fault) = report.outcome {
        assert!(
            matches!(fault.kind, FaultKind::Thrown | FaultKind::Syntax),
            "{fault:?}"
        );
    }
    stage.is_healthy().await;
}

#[tokio::test]
async fn timers_are_bounded() {
    let stage = Stage::new();
    let fault = ends(
        &stage,
        "for (;;) setTimeout(() => {}, 1e6)",
        FaultKind::Thrown,
    )
    .await;
    assert!(
        fault.message.contains("10000 timers wait already"),
        "{fault:?}"
    );
    let code =
        "for (let i = 0; i < 30000; i++) clearTimeout(setTimeout(() => {}, 1)); return 'fine'";
    assert_eq!(stage.run(code).await.outcome, Ok(json!("fine")));
    let mut stage = short_of_time();
    stage.timeout = Duration::from_secs(30);
    let code = "function more() { setTimeout(more); setTimeout(more) } more(); await new Promise(() => {})";
    let report = stage.run(code).await;
    let fault = report.outcome.unwrap_err();
    assert!(
        matches!(fault.kind, FaultKind::Cpu | FaultKind::Thrown),
        "{fault:?}"
    );
    stage.is_healthy().await;
}

#[tokio::test]
async fn the_log_is_cut_and_the_script_goes_on() {
    let mut stage = Stage::new();
    let report = stage
        .run("for (let i = 0; i < 50000; i++) console.log(i); return 'done'")
        .await;
    assert_eq!(report.outcome, Ok(json!("done")));
    assert!(report.logs_cut);
    assert_eq!(report.logs.len(), 10_000);
    assert_eq!(report.logs[9_999].text, "9999");

    let report = stage
        .run("console.log('é'.repeat(1e6)); console.log('more'); return 1")
        .await;
    assert!(report.logs_cut && report.outcome.is_ok());
    assert_eq!(report.logs.len(), 1);
    assert_eq!(report.logs[0].text.len(), 256 << 10);

    stage.limits.log_bytes = 10;
    let report = stage
        .run("console.log('12345'); console.log('67890'); return 1")
        .await;
    assert!(
        !report.logs_cut && report.logs.len() == 2,
        "exactly full is not cut: {report:?}"
    );
    let report = stage
        .run("console.log('12345'); console.log('67890'); console.log('x')")
        .await;
    assert!(report.logs_cut && report.logs.len() == 2, "{report:?}");
    stage.is_healthy().await;
}

#[tokio::test]
async fn calls_are_counted_and_no_more_are_made_than_allowed() {
    let mut stage = Stage::new();
    stage.limits.calls = 100;
    for code in [
        "for (;;) await callTool('s', 'say', {})",
        "for (;;) try { await callTool('s', 'fail') } catch {}",
        "await Promise.all(Array.from({length: 101}, () => callTool('s', 'say', {})))",
        "for (;;) callTool('s', 'never').catch(() => {})",
        "for (;;) codeExec.readArtifact('x')",
    ] {
        let before = stage.host.asked.lock().unwrap().len();
        let fault = ends(&stage, code, FaultKind::Calls).await;
        assert!(fault.message.contains("more than 100 calls"), "{fault:?}");
        let made = stage.host.asked.lock().unwrap().len() - before;
        assert!(made <= 100, "{code}: {made}");
    }
    let code = "for (let i = 0; i < 100; i++) await callTool('s', 'say', {}); return 'all'";
    let report = stage.run(code).await;
    assert_eq!((report.outcome, report.calls), (Ok(json!("all")), 100));
}

#[tokio::test]
async fn oversized_frames_are_refused() {
    let mut stage = Stage::new();
    let report = stage
        .run("try { await callTool('s', 'say', {x: 'x'.repeat(17e6)}) } catch (e) { return [e.name, e.message.includes('the limit is')] }")
        .await;
    assert_eq!(report.outcome, Ok(json!(["RangeError", true])));
    let report = stage
        .run("try { await callTool('s', 'big', {bytes: 17e6}) } catch (e) { return e.code }")
        .await;
    assert_eq!(report.outcome, Ok(json!("RESULT_TOO_LARGE")));
    let report = stage
        .run("return (await callTool('s', 'big', {bytes: 15000000})).length")
        .await;
    assert_eq!(report.outcome, Ok(json!(15_000_000)), "the control");
    let report = stage
        .run("let a = {}; for (let i = 0; i < 200; i++) a = {a}; try { await callTool('s', 'say', a) } catch (e) { return e.code }")
        .await;
    assert_eq!(report.outcome, Ok(json!("INVALID_ARGUMENTS")));
    let fault = ends(&stage, "return 'x'.repeat(17e6)", FaultKind::Output).await;
    assert!(
        fault.message.contains("17000002 bytes of JSON"),
        "{fault:?}"
    );
    stage.limits.output = 1000;
    ends(&stage, "return 'x'.repeat(1000)", FaultKind::Output).await;
    let report = stage.run("return 'x'.repeat(998)").await;
    assert!(report.outcome.is_ok());
    stage.limits.calls_at_once = 1;
    stage.limits.memory = 40 << 20;
    let code = "const x = 'x'.repeat(9e6); await Promise.all([1, 2, 3, 4, 5, 6].map(() => callTool('s', 'never', {x})))";
    ends(&stage, code, FaultKind::Memory).await;
}

#[tokio::test]
async fn large_answers_and_large_calls_cross_without_blocking_each_other() {
    let mut stage = Stage::new();
    stage.limits.memory = 1 << 30;
    let report = stage
        .run(
            "const x = 'x'.repeat(2e6);
             const all = await Promise.all(Array.from({length: 17}, (_, i) => callTool('s', 'say', {x, i})));
             return all.every((a, i) => a.i === i && a.x.length === 2e6)",
        )
        .await;
    assert_eq!(report.outcome, Ok(json!(true)));
    stage.is_healthy().await;
}
