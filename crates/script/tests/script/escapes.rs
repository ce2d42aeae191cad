//! Ways out that other sandboxes had, tried here. Each try answers with what it got hold of.

use crate::stage::{Stage, check, program};
use manyhands_guard::{Program, Supervisor};
use manyhands_script::{FaultKind, sandbox};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Text that became code would answer this.
const OUT: &str = "return 'out'";

#[tokio::test]
async fn nothing_but_the_language_and_the_bridge_is_there() {
    let report = Stage::new()
        .run("return Object.getOwnPropertyNames(globalThis).filter(n => !(n in {})).sort()")
        .await;
    let names = report.outcome.unwrap();
    let expect: Vec<&str> = "AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array \
        Boolean DOMException DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array \
        Float64Array Function Infinity Int16Array Int32Array Int8Array InternalError Iterator JSON Map Math NaN Number Object \
        Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String SuppressedError Symbol SyntaxError \
        TextDecoder TextEncoder TypeError URIError URL URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap \
        WeakRef WeakSet atob btoa callTool clearInterval clearTimeout codeExec console crypto decodeURI decodeURIComponent encodeURI \
        encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt performance queueMicrotask setInterval \
        setTimeout structuredClone undefined unescape"
        .split_whitespace()
        .collect();
    assert_eq!(names, json!(expect));
    check(
        "return [typeof fetch, typeof require, typeof process, typeof module, typeof std, typeof os, typeof WebAssembly,
           typeof XMLHttpRequest, typeof Deno, typeof Bun, typeof scriptArgs, typeof print, typeof gc, typeof navigator]
           .every(t => t === 'undefined')",
        json!(true),
    )
    .await;
}

#[tokio::test]
async fn text_never_becomes_code() {
    for constructor in [
        "Function",
        "eval",
        "(0, eval)",
        "globalThis.eval",
        "this.constructor.constructor",
        "({}).constructor.constructor",
        "(() => {}).constructor",
        "callTool.constructor",
        "console.log.constructor",
        "codeExec.readArtifact.constructor",
        "(async () => {}).constructor",
        "(function* () {}).constructor",
        "(async function* () {}).constructor",
        "Object.getPrototypeOf(async function () {}).constructor",
        "Object.getPrototypeOf(Object.getPrototypeOf(async function* () {})).constructor",
        "Object.getPrototypeOf(Object.getPrototypeOf(function* () {})).constructor",
        "Reflect.get(Function.prototype, 'constructor')",
        "Object.getOwnPropertyDescriptor(Function.prototype, 'constructor').value",
        "Array.constructor",
        "Symbol.iterator.constructor.constructor",
        "new Error().constructor.constructor",
        "(await callTool('s', 'say', {a: 1})).constructor.constructor",
        "(await callTool('s', 'fail').catch(e => e)).constructor.constructor",
        "Promise.resolve().then.constructor",
        "new Proxy(Function, {})",
        "Function.bind(null)",
        "(class extends Function {})",
        "Reflect.construct.bind(null, Function, [\"return 'out'\"])",
    ] {
        let code = format!(
            "let make; try {{ make = {constructor} }} catch (e) {{ make = () => {{ throw e }} }} const got = [];
             for (const use of [() => make({OUT:?}), () => new make({OUT:?}), () => make({OUT:?})(), () => make.call(null, {OUT:?})]) {{
               try {{ const f = use(); got.push(typeof f === 'function' ? await f() : await f) }} catch (e) {{ got.push(e.name) }}
             }}
             return got.includes('out') || got.some(g => g && g.next) ? 'OUT' : 'in'"
        );
        check(&code, json!("in")).await;
    }
    // The control: the same loop finds out what does become code.
    check(
        "const make = () => () => 'out'; return make()()",
        json!("out"),
    )
    .await;
}

#[tokio::test]
async fn modules_cannot_be_loaded() {
    for name in [
        "fs",
        "std",
        "os",
        "qjs:os",
        "/etc/passwd",
        "data:text/javascript,export default 1",
        "./x.js",
    ] {
        check(
            &format!(
                "try {{ await import({name:?}); return 'loaded' }} catch (e) {{ return 'refused' }}"
            ),
            json!("refused"),
        )
        .await;
    }
}

#[tokio::test]
async fn stacks_lead_nowhere() {
    check(
        "let seen = []; Error.prepareStackTrace = (e, frames) => { seen.push(frames); return frames };
         Error.stackTraceLimit = Infinity;
         const held = [new Error('x').stack, await callTool('s', 'fail').catch(e => e.stack)];
         try { null.x } catch (e) { held.push(e.stack) }
         const target = {}; Error.captureStackTrace?.(target); held.push(target.stack ?? '');
         return [seen.length, held.every(s => typeof s === 'string'), typeof held[0].getThis]",
        json!([0, true, "undefined"]),
    )
    .await;
    check(
        "function f() { return [typeof f.caller, typeof arguments.callee, typeof arguments.callee.caller] }
         try { return f() } catch (e) { return e.name }",
        json!(["undefined", "function", "undefined"]),
    )
    .await;
}

#[tokio::test]
async fn the_bridge_cannot_be_changed() {
    check(
        "'use strict'; const tries = [
           () => { callTool = 1 }, () => { globalThis.console = 1 }, () => { delete globalThis.codeExec },
           () => { console.log = 1 }, () => { codeExec.x = 1 }, () => { callTool.x = 1 }, () => { delete codeExec.readArtifact },
           () => { Object.setPrototypeOf(console, {}) }, () => { Object.defineProperty(globalThis, 'callTool', {value: 1}) },
           () => { console.__proto__.x = 1 }, () => { new callTool() }, () => { globalThis.eval = 1 } ];
         return tries.map(t => { try { t(); return 'done' } catch (e) { return e.name } }).join()",
        json!(["TypeError"; 12].join(",")),
    )
    .await;
}

/// A script that turns the language inside out changes it for itself alone: what it asks for and what it returns
/// still arrive.
#[tokio::test]
async fn overriding_the_language_does_not_confuse_the_host() {
    for trick in [
        "JSON.stringify = () => '{\"failed\":{}}'; JSON.parse = () => { throw 1 };",
        "globalThis.JSON = null; globalThis.Error = null; globalThis.TypeError = null; globalThis.Map = null;",
        "globalThis.Promise = function () { throw 1 };",
        "Promise.prototype.then = function () { throw new Error('then') };",
        "Promise.resolve = Promise.reject = () => { throw 1 };",
        "Object.defineProperty(Promise, Symbol.species, {value: function (f) { f(() => {}, () => {}) }});",
        "Object.prototype.toJSON = undefined; Array.prototype.toJSON = undefined;",
        "Array.prototype.push = Array.prototype.map = Array.prototype.join = () => { throw 1 };",
        "Array.prototype[Symbol.iterator] = function* () { throw 1 };",
        "Object.defineProperty(Object.prototype, 'tool', {set() { throw 1 }, get() { return 'poison' }});",
        "Object.defineProperty(Object.prototype, 'resolve', {set() { throw 1 }, get() { throw 1 }});",
        "for (const k of ['value', 'get', 'set', 'writable']) Object.prototype[k] = () => { throw 1 };",
        "Object.prototype.__proto__; Object.defineProperty(Object.prototype, '__proto__', {get() { throw 1 }, set() { throw 1 }});",
        "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => { throw 1 };",
        "Reflect.apply = Object.create = Object.freeze = Object.getPrototypeOf = Object.defineProperty = () => { throw 1 };",
        "String.prototype.toWellFormed = String.prototype.slice = String.prototype.startsWith = () => { throw 1 };",
        "Map.prototype.set = Map.prototype.forEach = Map.prototype.delete = Set.prototype.forEach = () => { throw 1 };",
        "globalThis.String = globalThis.Number = globalThis.Object = globalThis.Array = globalThis.Reflect = undefined;",
        "Symbol.prototype.toString = BigInt.prototype.toString = () => { throw 1 };",
    ] {
        let code = format!(
            "const keep = Symbol.toPrimitive; {trick}
             console.log('said', {{a: [1]}}, 2n);
             let code; try {{ await callTool('s', 'fail', {{}}) }} catch (e) {{ code = e.code }}
             const answer = await callTool('s', 'say', {{n: [1, {{x: 2}}]}});
             return {{code, n: answer.n[1].x, set: [answer.n.length]}}"
        );
        let stage = Stage::new();
        let report = stage.run(&code).await;
        assert_eq!(
            report.outcome,
            Ok(json!({"code": "NOT_FOUND", "n": 2, "set": [2]})),
            "{trick} {:?}",
            report.logs
        );
        assert_eq!(report.logs[0].text, "said {\"a\":[1]} 2n", "{trick}");
        assert_eq!(report.calls, 2, "{trick}");
    }
}

#[tokio::test]
async fn a_script_that_breaks_its_own_language_breaks_only_itself() {
    let stage = Stage::new();
    for trick in [
        "Object.defineProperty(Promise.prototype, 'constructor', {get() { throw 1 }});",
        "Object.defineProperty(Array.prototype, '0', {set() { throw 1 }, get() { return 'poison' }});",
        "Object.prototype.toJSON = () => { throw 1 };",
        "Object.prototype.then = () => { throw 1 };",
        "Object.defineProperty(Object.prototype, 'then', {get() { throw 1 }});",
    ] {
        let code =
            format!("{trick} const a = await callTool('s', 'say', {{n: [1]}}); return {{a}}");
        let report = stage.run(&code).await;
        let fault = report.outcome.expect_err(trick);
        assert!(
            matches!(fault.kind, FaultKind::Thrown | FaultKind::Output),
            "{trick}: {fault:?}"
        );
        stage.is_healthy().await;
    }
}

#[tokio::test]
async fn proxies_getters_and_conversions_stay_the_scripts_own() {
    check(
        "const trap = new Proxy({}, {get(t, k) { return k === 'toJSON' ? undefined : 'got ' + String(k) },
           ownKeys: () => ['a'], getOwnPropertyDescriptor: () => ({value: 1, enumerable: true, configurable: true})});
         return [await callTool('s', 'say', trap), await callTool('s', 'say', {toJSON: () => ({swapped: true})})]",
        json!([{"a": "got a"}, {"swapped": true}]),
    )
    .await;
    check(
        "const server = {toString: () => 's'}; try { callTool(server, 'say') } catch (e) { return e.name }",
        json!("TypeError"),
    )
    .await;
    for thrown in [
        "{get name() { throw 1 }, get message() { throw 2 }, get stack() { throw 3 }}",
        "Object.create(Error.prototype, {message: {get() { throw 1 }}, stack: {get() { return {} }}})",
        "Object.assign(new Error('m'), {name: {toString() { throw 1 }}, code: Symbol()})",
        "new Proxy(new Error('p'), {get() { throw 1 }, getPrototypeOf() { throw 2 }})",
        "Object.assign(new Error('m'), {stack: 'x (script.js:999999:1)\\n'.repeat(100000)})",
        "Object.assign(new Error(), {message: 'x'.repeat(10000000)})",
        "(() => { const e = new Error('m'); e.stack = 7n; return e })()",
    ] {
        let stage = Stage::new();
        let report = stage.run(&format!("throw {thrown}")).await;
        let fault = report.outcome.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Thrown, "{thrown}: {fault:?}");
        let size = fault.message.len() + fault.stack.as_ref().map_or(0, String::len);
        assert!(size <= 16 << 10, "{thrown}: {size}");
        stage.is_healthy().await;
    }
}

#[tokio::test]
async fn poisoned_names_are_data_on_both_sides() {
    let stage = Stage::new();
    let report = stage
        .run(
            r#"const evil = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 2}}}');
               const back = await callTool('s', 'say', {evil});
               return [({}).polluted === undefined, Object.keys(back.evil), Object.getPrototypeOf(back.evil) === Object.prototype,
                       back.evil.polluted === undefined, ({}).toString === Object.prototype.toString]"#,
        )
        .await;
    assert_eq!(
        report.outcome,
        Ok(json!([
            true,
            ["__proto__", "constructor"],
            true,
            true,
            true
        ]))
    );
    check(
        "const r = await callTool('s', 'say', {then: 'no function', toJSON: 1, constructor: null}); return r.then",
        json!("no function"),
    )
    .await;
}

#[tokio::test]
async fn closing_the_wrapper_early_gains_nothing() {
    let stage = Stage::new();
    let report = stage
        .run("}); globalThis.x = typeof require + typeof process; (async () => { return x")
        .await;
    if let Ok(value) = report.outcome {
        assert_eq!(value, json!("undefinedundefined"));
    }
    let report = stage.run("}); 5; ({").await;
    assert!(report.outcome.is_err(), "{report:?}");
    stage.is_healthy().await;
}

/// What a worker could do if its engine were broken open: nothing, where the same program can do all of it
/// before it shuts itself in.
#[tokio::test]
async fn even_native_code_in_a_worker_reaches_nothing() {
    let could = async |args: &[&str], sandbox| {
        let probe = Program::new(program())
            .args(args.iter().copied())
            .cwd("/")
            .sandbox(sandbox);
        let done = Supervisor::new(1)
            .run(probe, CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(done.stderr.text(), "");
        done.stdout
            .text()
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let free = could(&["probe", "free"], None).await;
    let all = [
        "read", "list", "write", "stat", "listen", "send", "unix", "run", "thread", "signal",
    ];
    assert_eq!(free[..all.len()], all, "the control");
    let alone = could(&["probe", "confined"], None).await;
    assert_eq!(alone, ["variables 0"]);
    let both = could(&["probe", "confined"], Some(sandbox(&program()))).await;
    assert_eq!(both, ["variables 0"]);
}
