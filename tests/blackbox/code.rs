//! `code-execution_execute`: what a script can do, and what it cannot.

use serde_json::{Value, json};

use crate::harness::{Gateway, eventually};
use crate::http::Request;

#[track_caller]
fn run(gateway: &Gateway, code: &str) -> Value {
    gateway.call("code-execution_execute", json!({ "code": code }))
}

/// What a script returned.
#[track_caller]
fn returned(gateway: &Gateway, code: &str) -> Value {
    let said = run(gateway, code);
    assert_eq!(said["ok"], true, "{said}");
    said["result"]["result"].clone()
}

#[test]
fn a_script_awaits_calls_and_returns_plain_values() {
    let gateway = Gateway::start();
    gateway.write("a.md", "alpha");
    let code = "const file = await callTool('gsv', 'ReadFile', { path: 'a.md' }); console.log('read', file.path); return file.content.length;";
    let said = run(&gateway, code);
    assert_eq!(
        (&said["result"]["result"], &said["result"]["calls"]),
        (&json!(5), &json!(1)),
        "{said}"
    );
    assert!(
        said["result"]["logs"].to_string().contains("read"),
        "{said}"
    );
    let caught = "try { await callTool('gsv', 'ReadFile', { path: 'nowhere' }) } catch (e) { return [e instanceof Error, e.code, e.message.length > 0] }";
    assert_eq!(returned(&gateway, caught), json!([true, "not_found", true]));
    let unknown = "try { await callTool('nowhere', 'x', {}) } catch (e) { return typeof e.code }";
    assert_eq!(returned(&gateway, unknown), "string");
    let thrown = run(&gateway, "throw new Error('on purpose')");
    assert!(
        thrown["ok"] == false && thrown.to_string().contains("on purpose"),
        "{thrown}"
    );
    let many = "const all = await Promise.all([...Array(20).keys()].map((n) => callTool('gsv', 'WriteFile', { path: `n/${n}.md`, content: String(n) }))); return all.length";
    assert_eq!(returned(&gateway, many), 20);
    assert_eq!(gateway.read("n/19.md").as_deref(), Some("19"));
}

#[test]
fn a_script_has_nothing_but_tools() {
    let gateway = Gateway::start();
    let names = "return ['fetch', 'require', 'process', 'Deno', 'Bun', 'WebAssembly', 'XMLHttpRequest', 'std', 'os'].filter((name) => name in globalThis)";
    assert_eq!(returned(&gateway, names), json!([]));
    for code in [
        "return await import('fs')",
        "return require('fs')",
        "return fetch('http://127.0.0.1')",
    ] {
        assert_eq!(run(&gateway, code)["ok"], false, "{code}");
    }
}

#[test]
fn files_and_large_results_are_kept_as_artifacts() {
    let gateway = Gateway::start();
    let code = "const a = await codeExec.createArtifact('a.csv', 'x,y\\n1,2\\n', 'csv'); const b = await codeExec.readArtifact(a.id); return [a.success, b.content]";
    assert_eq!(returned(&gateway, code), json!([true, "x,y\n1,2\n"]));
    let large = run(&gateway, "return 'y'.repeat(5000)");
    let result = &large["result"];
    assert!(
        result["artifactId"].is_string() && result.get("result").is_none(),
        "{large}"
    );
    assert!(
        result["preview"]
            .as_str()
            .is_some_and(|preview| preview.len() < 1000),
        "{large}"
    );
    let again = json!({ "code": format!("return (await codeExec.readArtifact('{}')).content.length > 4999", result["artifactId"].as_str().expect("an id")) });
    assert_eq!(
        gateway.call("code-execution_execute", again)["result"]["result"],
        true
    );
    assert_eq!(returned(&gateway, "return 'short'"), "short");
}

#[test]
fn a_mistake_is_shown_where_it_is() {
    let gateway = Gateway::start();
    let said = run(&gateway, "const a = 1;\nconst b = ;\nreturn a");
    assert_eq!(said["ok"], false);
    assert!(
        said.to_string().contains("line 2") || said.to_string().contains("2:"),
        "{said}"
    );
    let said = run(&gateway, "const a = 1;\n\nnothing.there();\n");
    assert!(
        said.to_string().contains("line 3") || said.to_string().contains("3:"),
        "{said}"
    );
}

#[test]
fn a_script_ends_in_its_time_and_the_next_one_runs() {
    let gateway = Gateway::start();
    for timeout in [0, 999, 900_001] {
        let said = gateway.call(
            "code-execution_execute",
            json!({ "code": "return 1", "timeout": timeout }),
        );
        assert_eq!(said["code"], "invalid_arguments", "{timeout}: {said}");
    }
    for code in [
        "while (true) {}",
        "await new Promise(() => {})",
        "const f = () => f(); f()",
        "const a = []; while (true) a.push(new Array(100000).fill(7))",
    ] {
        let said = gateway.call(
            "code-execution_execute",
            json!({ "code": code, "timeout": 1000 }),
        );
        assert_eq!(said["ok"], false, "{code}: {said}");
        assert_eq!(returned(&gateway, "return 1"), 1, "after {code}");
    }
    let long = run(
        &gateway,
        &format!("return '{}'.length", "x".repeat(100_001)),
    );
    assert_eq!(long["ok"], false, "too much code");
}

#[test]
fn no_process_of_a_script_is_left() {
    let gateway = Gateway::start();
    for _ in 0..5 {
        gateway.call(
            "code-execution_execute",
            json!({ "code": "while (true) {}", "timeout": 1000 }),
        );
    }
    let workers = || {
        let own = format!("{}", gateway.daemon.pid());
        let all = std::fs::read_dir("/proc").expect("processes").flatten();
        let ours = all.filter(|entry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            fields.nth(1) == Some(own.as_str()) && String::from_utf8_lossy(&line).contains("script")
        });
        ours.count()
    };
    eventually("only the warm ones are left", || workers() <= 4);
    assert_eq!(returned(&gateway, "return 1"), 1);
}

#[test]
fn a_script_has_the_rights_of_whoever_runs_it() {
    let gateway = Gateway::start();
    gateway.write("a.md", "alpha");
    let (narrow, _) = gateway.token(json!({ "name": "narrow", "role": "client", "tools": ["code-execution_execute", "gsv__ReadFile"] }));
    let run_as = |token: &str, code: &str| {
        gateway
            .call_as(token, "code-execution_execute", json!({ "code": code }))
            .json()
    };
    let read = "return (await callTool('gsv', 'ReadFile', { path: 'a.md' })).content";
    assert_eq!(run_as(&narrow, read)["result"]["result"], "alpha");
    let write = "try { await callTool('gsv', 'WriteFile', { path: 'b.md', content: 'x' }) } catch (e) { return e.code }";
    assert_eq!(
        run_as(&narrow, write)["result"]["result"],
        "forbidden",
        "{}",
        run_as(&narrow, write)
    );
    assert_eq!(gateway.read("b.md"), None);
    let full = gateway.client("full");
    run_as(&full, write);
    assert_eq!(gateway.read("b.md").as_deref(), Some("x"), "the control");
}

#[test]
fn what_a_script_may_not_call_is_refused_and_on_record() {
    let gateway = Gateway::with_config(
        "[[policy.rules]]\ntools = [\"gsv__WriteFile\"]\ndecision = \"deny\"\n",
    );
    let code = "try { await callTool('gsv', 'WriteFile', { path: 'b.md', content: 'x' }); return 'written' } catch (e) { return e.code }";
    let said = run(&gateway, code);
    assert_ne!(said["result"]["result"], "written", "{said}");
    assert_eq!(gateway.read("b.md"), None);
    let audit = gateway.audit();
    assert!(
        audit.iter().any(|entry| entry["tool"] == "gsv__WriteFile"),
        "the refusal is on record"
    );
}

#[test]
fn what_a_script_calls_waits_for_the_owners_word() {
    let gateway = Gateway::with_config(
        "[[policy.rules]]\ntools = [\"gsv__WriteFile\"]\ndecision = \"ask\"\n",
    );
    for (path, decision, expected) in [
        ("yes.md", "approve", json!(["written", 1])),
        ("no.md", "deny", json!(["approval_denied", true])),
    ] {
        let code = format!(
            "try {{ await callTool('gsv', 'WriteFile', {{ path: '{path}', content: 'x' }}); return ['written', 1] }} catch (e) {{ return [e.code, e instanceof Error] }}"
        );
        let request = Request::post(
            "/api/tools/code-execution_execute",
            &json!({ "code": code }),
        );
        let (request, addr) = (request.bearer(&gateway.owner), gateway.addr);
        let script = std::thread::spawn(move || request.send(addr).json());
        let asked = || {
            let listed = gateway.get("/api/approvals").json();
            let listed = listed["result"]["approvals"].as_array().cloned();
            let mut listed = listed.expect("approvals").into_iter();
            listed.find(|one| one["arguments"]["path"] == path)
        };
        eventually("the owner is asked", || asked().is_some());
        assert_eq!(gateway.read(path), None, "it waits");
        assert!(!script.is_finished());
        let asked = asked().expect("a question");
        assert_eq!(asked["tool"], "gsv__WriteFile", "{asked}");
        let decide = format!("/api/approvals/{}", asked["id"].as_str().expect("an id"));
        let decided = gateway.post(&decide, &json!({ "decision": decision }));
        assert_eq!(decided.json()["ok"], true);
        let said = script.join().expect("an end");
        assert_eq!(said["result"]["result"], expected, "{said}");
    }
    assert_eq!(gateway.read("yes.md").as_deref(), Some("x"));
    assert_eq!(gateway.read("no.md"), None);
}

#[test]
fn a_script_of_a_token_that_only_looks_changes_nothing() {
    let gateway = Gateway::start();
    gateway.write("a.md", "alpha");
    let (looks, _) = gateway.token(json!({ "name": "looks", "role": "read-only" }));
    let acts = gateway.client("acts");
    let code = "const done = [(await callTool('gsv', 'ReadFile', { path: 'a.md' })).content];
        for (const [server, tool, args] of [
            ['gsv', 'WriteFile', { path: 'b.md', content: 'x' }],
            ['gsv', 'EditFile', { path: 'a.md', oldString: 'alpha', newString: 'beta' }],
            ['gsv', 'DeleteFile', { path: 'a.md' }],
        ]) { try { await callTool(server, tool, args); done.push('done') } catch (e) { done.push(e.code) } }
        try { await codeExec.createArtifact('a.txt', 'x', 'txt'); done.push('done') } catch (e) { done.push(e.code) }
        return done";
    let run_as = |token: &str| {
        let said = gateway.call_as(token, "code-execution_execute", json!({ "code": code }));
        said.json()["result"]["result"].clone()
    };
    let no = "forbidden";
    assert_eq!(run_as(&looks), json!(["alpha", no, no, no, no]));
    assert_eq!(gateway.read("a.md").as_deref(), Some("alpha"));
    assert_eq!(gateway.read("b.md"), None);
    assert_eq!(
        run_as(&acts),
        json!(["alpha", "done", "done", "done", "done"]),
        "the control"
    );
    assert_eq!(gateway.read("a.md"), None, "the control");
    assert_eq!(gateway.read("b.md").as_deref(), Some("x"), "the control");
}
