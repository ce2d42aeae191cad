//! `code-execution_execute`: what a script can do, and what it cannot.

use serde_json::{Value, json};

use crate::harness::{Gateway, eventually};

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
fn an_error_names_its_line() {
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
fn a_script_has_the_rights_of_its_caller() {
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
fn a_forbidden_call_of_a_script_is_refused_and_audited() {
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
fn a_script_ends_at_a_call_that_needs_approval_and_runs_once_it_is_given() {
    let gateway = Gateway::with_config(
        "[[policy.rules]]\ntools = [\"gsv__WriteFile\"]\ndecision = \"ask\"\n",
    );
    for (path, decision) in [("yes.md", "approve"), ("no.md", "deny")] {
        // It tries to go on as if the call had failed.
        let code = format!(
            "console.log('begun'); try {{ await callTool('gsv', 'WriteFile', {{ path: '{path}', content: 'x' }}); return 'written' }} \
             catch (e) {{ return e.code }} finally {{ console.log('went on') }}"
        );
        let said = run(&gateway, &code);
        assert_eq!(said["code"], "approval_required", "{said}");
        let id = said["details"]["approvalId"].as_str().expect("an id");
        let error = said["error"].as_str().expect("an error");
        assert!(
            error.contains("gsv__WriteFile") && error.contains(&format!("approval id {id}")),
            "{error}"
        );
        assert_eq!(said["details"]["logs"], json!(["begun"]), "{said}");
        assert_eq!(gateway.read(path), None, "nothing was done");
        let again = run(&gateway, &code);
        assert_eq!(again["details"]["approvalId"], id, "the same question");
        let decided = gateway.post(
            &format!("/api/approvals/{id}"),
            &json!({ "decision": decision }),
        );
        assert_eq!(decided.json()["ok"], true);
        let said = run(&gateway, &code);
        let expected = match decision {
            "approve" => "written",
            _ => "approval_denied",
        };
        assert_eq!(said["result"]["result"], expected, "{said}");
        assert_eq!(gateway.read(path).is_some(), decision == "approve");
    }
}

#[test]
fn reading_an_artifact_in_a_script_asks_where_the_tool_would() {
    let gateway = Gateway::with_config(
        "[[policy.rules]]\ntools = [\"gateway_read_artifact\"]\ndecision = \"ask\"\n",
    );
    let new = json!({ "filename": "a.txt", "content": "alpha", "fileType": "txt" });
    let kept = gateway.call("gateway_write_artifact", new);
    let id = kept["result"]["id"].as_str().expect("an id");
    let code = format!("return (await codeExec.readArtifact('{id}')).content");
    let said = run(&gateway, &code);
    assert_eq!(said["code"], "approval_required", "{said}");
    let approval = said["details"]["approvalId"].as_str().expect("an id");
    let path = format!("/api/approvals/{approval}");
    gateway.post(&path, &json!({ "decision": "approve" }));
    assert_eq!(returned(&gateway, &code), "alpha");
}

#[test]
fn a_value_without_json_form_is_refused_by_its_path() {
    let gateway = Gateway::start();
    for (code, words) in [
        (
            "return { a: { b: 1n } }",
            "a BigInt cannot be returned as JSON at `a.b`: convert it with Number() or String()",
        ),
        (
            "const a = { list: [] }; a.list.push(a); return a",
            "a value that refers to itself cannot be returned as JSON at `list[0]`",
        ),
    ] {
        let said = run(&gateway, code);
        assert_eq!(said["code"], "failed", "{said}");
        assert!(
            said["error"].as_str().is_some_and(|e| e.contains(words)),
            "{said}"
        );
    }
    let code = "const u = new URL('/a?q=1', 'https://example.com'); u.searchParams.set('q', 'é'); \
        return [u.href, atob(btoa('x')), structuredClone(new Map([[1, 2]])).get(1), \
        new TextDecoder().decode(new TextEncoder().encode('é')), crypto.randomUUID().length, new URLSearchParams({ a: 1 }).get('a')]";
    assert_eq!(
        returned(&gateway, code),
        json!(["https://example.com/a?q=%C3%A9", "x", 2, "é", 36, "1"])
    );
}

#[test]
fn a_script_of_a_read_only_token_changes_nothing() {
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
