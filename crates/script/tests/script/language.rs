//! What a script can say, and how it is answered.

use crate::stage::{Stage, check, fault};
use manyhands_script::{FaultKind, HostRequest, Level};
use serde_json::json;

#[tokio::test]
async fn a_script_awaits_and_returns_at_its_top() {
    check("return await Promise.resolve(6 * 7);", json!(42)).await;
    check(
        "const a = await 1; { return {a, b: [a, null, 'x']}; }",
        json!({"a": 1, "b": [1, null, "x"]}),
    )
    .await;
    check("#!/usr/bin/env node\nreturn 1 // the end", json!(1)).await;
    check(
        "'use strict'; return this === undefined || typeof this",
        json!("object"),
    )
    .await;
    check("", json!(null)).await;
    check("let x = 1;", json!(null)).await;
    check("return undefined", json!(null)).await;
}

#[tokio::test]
async fn modern_javascript_is_there() {
    check(
        "class A { #x = 2; get x() { return this.#x ** 10 } static of() { return new A } }
         const {x, ...rest} = {x: A.of().x, y: [1, [2, [3]]].flat(Infinity)?.at(-1) ?? 0};
         const words = 'a-b'.replaceAll('-', '_').match(/(?<w>[a-z])_/).groups.w;
         async function* g() { yield 1; yield 2 } let sum = 0; for await (const n of g()) sum += n;
         label: for (;;) { break label }
         return [x, rest, words, sum, Object.groupBy([1, 2, 3], n => n % 2 ? 'odd' : 'even'), 10n ** 2n === 100n,
           new Intl_or_not().ok, [3, 1, 2].toSorted(), structured({a: new Date(0)})];
         function Intl_or_not() { this.ok = typeof Date.now() }
         function structured(v) { return JSON.parse(JSON.stringify(v)) }",
        json!([1024, {"y": 3}, "a", 3, {"odd": [1, 3], "even": [2]}, true, "number", [1, 2, 3], {"a": "1970-01-01T00:00:00.000Z"}]),
    )
    .await;
}

#[tokio::test]
async fn tools_are_called_and_answer_with_plain_values() {
    let stage = Stage::new();
    let report = stage
        .run("return await callTool('mail', 'say', {q: 'é', deep: {list: [1]}});")
        .await;
    assert_eq!(report.outcome, Ok(json!({"q": "é", "deep": {"list": [1]}})));
    assert_eq!(report.calls, 1);
    let asked = stage.host.asked.lock().unwrap().clone();
    let expect = HostRequest::Tool {
        server: "mail".into(),
        tool: "say".into(),
        arguments: json!({"q": "é", "deep": {"list": [1]}}),
    };
    assert_eq!(asked, [expect]);
    check("return await callTool('s', 'say')", json!({})).await;
}

#[tokio::test]
async fn a_failed_call_can_be_caught_with_its_code() {
    check(
        "try { await callTool('s', 'fail', {}) } catch (e) {
           return [e instanceof Error, e.name, e.code, e.message, Object.keys(e)] }",
        json!([
            true,
            "ToolError",
            "NOT_FOUND",
            "there is no such thing",
            ["code"]
        ]),
    )
    .await;
    let fault = fault(
        "let x = 1;\n  await callTool('s', 'fail')",
        FaultKind::Thrown,
    )
    .await;
    assert_eq!(fault.name, "ToolError");
    assert_eq!(fault.message, "NOT_FOUND: there is no such thing");
    assert_eq!((fault.line, fault.column), (Some(2), Some(9)), "{fault:?}");
}

#[tokio::test]
async fn many_calls_run_at_once_and_more_wait_for_their_turn() {
    let mut stage = Stage::new();
    stage.limits.calls_at_once = 8;
    // Each group of eight answers only once all eight are there.
    let report = stage
        .run(
            "const all = await Promise.all(Array.from({length: 8}, (_, i) => callTool('s', 'meet', {of: 8, i})));
             const more = await Promise.all(Array.from({length: 100}, (_, i) => callTool('s', 'say', {i})));
             return [all.map(a => a.i), more.every((m, i) => m.i === i)]",
        )
        .await;
    assert_eq!(report.outcome, Ok(json!([[0, 1, 2, 3, 4, 5, 6, 7], true])));
    assert_eq!(report.calls, 108);
    assert_eq!(stage.host.at_once.lock().unwrap().1, 8);
}

#[tokio::test]
async fn artifacts_are_made_and_read() {
    let stage = Stage::new();
    let report = stage
        .run(
            "const a = await codeExec.createArtifact('e.csv', 'a,b', 'csv');
             const b = await codeExec.createArtifact('e.json', {a: [1]}, 'json');
             return [a.size, b.size, (await codeExec.readArtifact('file_1')).content]",
        )
        .await;
    assert_eq!(report.outcome, Ok(json!([3, 9, "of file_1"])));
    let asked = stage.host.asked.lock().unwrap().clone();
    let made = HostRequest::CreateArtifact {
        filename: "e.csv".into(),
        content: "a,b".into(),
        file_type: Some("csv".into()),
    };
    assert_eq!(asked[0], made);
    let read = HostRequest::ReadArtifact {
        identifier: "file_1".into(),
    };
    assert_eq!(asked[2], read);
}

#[tokio::test]
async fn invalid_arguments_are_explained_and_no_call_is_made() {
    let stage = Stage::new();
    for (code, words) in [
        ("callTool()", "callTool: the first argument"),
        ("callTool('s', 5)", "callTool: the second argument"),
        (
            "callTool('s', 't', 'text')",
            "callTool: the third argument must be an object",
        ),
        (
            "callTool('s', 't', [1])",
            "callTool: the third argument must be an object",
        ),
        (
            "callTool('s', 't', {a: [{'b c': 1n}]})",
            "callTool: a BigInt cannot be passed as JSON at `a[0][\"b c\"]`: convert it with Number() or String()",
        ),
        (
            "const a = {b: {}}; a.b.up = a; callTool('s', 't', a)",
            "callTool: a value that refers to itself cannot be passed as JSON at `b.up`: leave that reference out",
        ),
        ("callTool('s', 't', {a: callTool})", ""),
        (
            "codeExec.createArtifact('', 'x')",
            "createArtifact: the first argument",
        ),
        (
            "codeExec.createArtifact('x.csv', [1], 'csv')",
            "createArtifact: the second argument",
        ),
        ("codeExec.readArtifact()", "readArtifact"),
        (
            "setTimeout('code', 1)",
            "setTimeout: the first argument must be a function",
        ),
    ] {
        let report = stage.run(&format!("{code}; return 'went on'")).await;
        match report.outcome {
            Err(fault) => assert!(
                !words.is_empty() && fault.message.contains(words),
                "{code}: {fault:?}"
            ),
            Ok(_) => assert!(words.is_empty(), "{code}"),
        }
    }
    let asked = stage.host.asked.lock().unwrap().clone();
    assert!(
        asked.len() <= 1,
        "only the one whose function was left out: {asked:?}"
    );
}

#[tokio::test]
async fn the_console_is_kept_in_order_also_when_the_script_fails() {
    let stage = Stage::new();
    let report = stage
        .run(
            "console.log('a', 1, {b: [2]}, undefined, null, 3n, Symbol('s'), () => 1, new Map([['k', new Set([1])]]));
             console.error(new TypeError('bad')); console.warn(); console.info('i'); console.debug('d');
             const round = {}; round.round = round; console.log(round, NaN, -0, 'half \\ud800');
             throw new Error('end')",
        )
        .await;
    assert_eq!(report.outcome.unwrap_err().message, "end");
    let lines: Vec<_> = report
        .logs
        .iter()
        .map(|line| (line.level, line.text.as_str()))
        .collect();
    assert_eq!(
        lines[0],
        (
            Level::Log,
            r#"a 1 {"b":[2]} undefined null 3n Symbol(s) [function ] {"k":[1]}"#
        )
    );
    assert!(
        lines[1]
            .1
            .starts_with("TypeError: bad\n    at <anonymous> (script.js:2:"),
        "{}",
        lines[1].1
    );
    assert_eq!(
        &lines[2..5],
        [(Level::Warn, ""), (Level::Info, "i"), (Level::Debug, "d")]
    );
    assert!(
        lines[5].1.starts_with(
            "[not shown: a value that refers to itself cannot be shown as JSON at `round`"
        ),
        "{}",
        lines[5].1
    );
    assert!(
        lines[5].1.ends_with("NaN 0 half \u{fffd}"),
        "{}",
        lines[5].1
    );
    assert!(!report.logs_cut);
}

#[tokio::test]
async fn timers_go_off_in_order_and_are_gone_at_the_end() {
    check(
        "const seen = []; let n = 0;
         setTimeout((a, b) => seen.push(a + b), 5, 'late', '!'); setTimeout(() => seen.push('soon'));
         const never = setTimeout(() => seen.push('never'), 1); clearTimeout(never); clearTimeout(77); clearTimeout('x');
         await new Promise(done => {
           const every = setInterval(() => { seen.push(++n); if (n === 3) { clearInterval(every); done() } }, 10);
         });
         setInterval(() => {}, 1); setTimeout(() => { throw new Error('after the end') }, 50);
         return seen",
        json!(["soon", "late!", 1, 2, 3]),
    )
    .await;
    let fault = fault(
        "setTimeout(() => {\n null.x }, 1); await new Promise(() => {})",
        FaultKind::Thrown,
    )
    .await;
    assert_eq!(
        (fault.name.as_str(), fault.line),
        ("TypeError", Some(2)),
        "{fault:?}"
    );
}

#[tokio::test]
async fn an_error_carries_the_line_and_column_of_the_script() {
    let thrown = fault(
        "const a = 1;\nfunction f() {\n  throw new RangeError('no');\n}\nf();",
        FaultKind::Thrown,
    )
    .await;
    assert_eq!(thrown.name, "RangeError");
    assert_eq!(thrown.message, "no");
    assert_eq!(thrown.line, Some(3));
    let excerpt = thrown.excerpt.unwrap();
    assert!(
        excerpt.starts_with("3 |   throw new RangeError('no');\n  | "),
        "{excerpt}"
    );
    let stack = thrown.stack.unwrap();
    assert!(stack.starts_with("at f (script.js:3:"), "{stack}");
    assert!(stack.contains("(script.js:5:"), "{stack}");
    let first = fault("x.y", FaultKind::Thrown).await;
    assert_eq!((first.line, first.column), (Some(1), Some(1)), "{first:?}");
    assert_eq!(first.message, "x is not defined");
}

#[tokio::test]
async fn a_syntax_error_is_shown_with_its_line() {
    let wrong = fault("const a = 1;\nlet b = ;\n", FaultKind::Syntax).await;
    assert_eq!(
        (wrong.name.as_str(), wrong.line, wrong.column),
        ("SyntaxError", Some(2), Some(9)),
        "{wrong:?}"
    );
    assert_eq!(
        wrong.excerpt.as_deref(),
        Some("2 | let b = ;\n  |         ^")
    );
    let open = fault("if (true) {\n  f(", FaultKind::Syntax).await;
    assert_eq!(open.line, Some(2), "{open:?}");
    fault("import x from 'fs'", FaultKind::Syntax).await;
    fault("export const x = 1", FaultKind::Syntax).await;
    let long = fault(&format!("/*{}*/", "x".repeat(100_000)), FaultKind::Syntax).await;
    assert!(long.message.contains("100004 bytes"), "{long:?}");
    check(&format!("/*{}*/return 1", "x".repeat(99_000)), json!(1)).await;
}

#[tokio::test]
async fn every_thrown_value_is_reported() {
    for (code, message) in [
        ("throw 'text'", "text"),
        ("throw null", "null"),
        ("throw undefined", "undefined"),
        ("throw 7", "7"),
        ("throw {a: 1}", r#"{"a":1}"#),
        ("throw () => 1", "[function ]"),
        (
            "class E extends Error { name = 'Mine' } throw new E('m')",
            "m",
        ),
    ] {
        assert_eq!(
            fault(code, FaultKind::Thrown).await.message,
            message,
            "{code}"
        );
    }
}

#[tokio::test]
async fn a_rejection_that_nobody_waited_for_is_an_error_of_the_run() {
    let lost = fault(
        "Promise.reject(new Error('lost'));\nreturn 1",
        FaultKind::Thrown,
    )
    .await;
    assert!(
        lost.message.contains("unhandled promise rejection: lost"),
        "{lost:?}"
    );
    assert_eq!(lost.line, Some(1));
    fault(
        "(async () => { throw new Error('x') })(); await null; return 1",
        FaultKind::Thrown,
    )
    .await;
    check("const p = Promise.reject(1); await null; try { await p } catch { return 'late, but caught' }", json!("late, but caught")).await;
    check("const all = [callTool('s', 'fail'), callTool('s', 'say')]; const r = await Promise.allSettled(all); return r[0].reason.code", json!("NOT_FOUND")).await;
}

#[tokio::test]
async fn an_unresolvable_promise_is_reported_at_once() {
    let stuck = fault("await new Promise(() => {})", FaultKind::Thrown).await;
    assert!(
        stuck.message.contains("a promise that can never settle"),
        "{stuck:?}"
    );
}

#[tokio::test]
async fn a_call_that_was_not_awaited_is_mentioned() {
    let report = Stage::new().run("callTool('s', 'never'); return 1").await;
    assert_eq!(report.outcome, Ok(json!(1)));
    let last = report.logs.last().unwrap();
    assert_eq!(last.level, Level::Warn);
    assert!(last.text.contains("1 call was not awaited"), "{last:?}");
}

#[tokio::test]
async fn what_is_returned_becomes_plain_data_or_is_refused_in_words() {
    check("return [new Map([['a', 1], [2, new Set('xy')]]), new Error('e'), undefined, () => 1, new Date(0), NaN]",
        json!([{"a": 1, "2": ["x", "y"]}, {"name": "Error", "message": "e"}, null, null, "1970-01-01T00:00:00.000Z", null])).await;
    check(
        "return 'half \\ud83d and \\udc00 whole 🎉'",
        json!("half \u{fffd} and \u{fffd} whole 🎉"),
    )
    .await;
    check("return {['\\ud800']: 1}", json!({"\u{fffd}": 1})).await;
    check("return {toJSON() { return 'mine' }}", json!("mine")).await;
    check(
        "BigInt.prototype.toJSON = function () { return Number(this) }; return {n: 5n}",
        json!({"n": 5}),
    )
    .await;
    for (code, words) in [
        (
            "const a = {}; a.self = [a]; return a",
            "a value that refers to itself cannot be returned as JSON at `self[0]`",
        ),
        (
            "return {n: 1n}",
            "a BigInt cannot be returned as JSON at `n`",
        ),
        ("return 1n", "a BigInt cannot be returned as JSON: "),
        ("return () => 1", "the returned value is a function"),
        ("return Symbol()", "the returned value is a symbol"),
        (
            "return [1, 2].map(async x => x)",
            "holds a Promise (at \"0\") that was not awaited",
        ),
        ("return {get x() { throw new Error('getter') }}", "getter"),
        (
            "let a = []; for (let i = 0; i < 300; i++) a = [a]; return a",
            "less deep",
        ),
    ] {
        let fault = fault(code, FaultKind::Output).await;
        assert!(fault.message.contains(words), "{code}: {fault:?}");
    }
}
