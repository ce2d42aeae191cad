//! Artifacts, connections and scripts: each claim holds through every interface, the model's included.

use serde_json::{Value, json};

use crate::documents::{pdf, upload};
use crate::harness::{Gateway, Home};
use crate::interfaces::{Caller, FACES};

const READ: &str = "gateway_read_artifact";
const RUN: &str = "code-execution_execute";

/// A call, the code it ends with ("" for a result), and words of what it says.
struct Row {
    tool: &'static str,
    arguments: Value,
    code: &'static str,
    words: &'static str,
}

fn row(tool: &'static str, arguments: Value, code: &'static str, words: &'static str) -> Row {
    Row {
        tool,
        arguments,
        code,
        words,
    }
}

fn rows(gateway: &Gateway) -> Vec<Row> {
    let document = upload(gateway, "a.pdf", pdf(&["first line", "the needle"]));
    let latin = upload(gateway, "latin.txt", b"caf\xe9\n".to_vec());
    let list = br#"{"results": [{"n": "zero"}, {"n": "one"}]}"#.to_vec();
    let data = upload(gateway, "data.json", list);
    let code = |code: &str| json!({ "code": code });
    vec![
        row(
            READ,
            json!({ "file_id": document, "search": "NEEDLE", "context_lines": 0 }),
            "",
            "2:the needle",
        ),
        row(
            READ,
            json!({ "file_id": document, "search": "absent" }),
            "",
            "no line matches",
        ),
        row(READ, json!({ "file_id": latin }), "", "café"),
        row(
            READ,
            json!({ "file_id": data, "json_path": "results.1.n" }),
            "",
            "one",
        ),
        row(
            READ,
            json!({ "file_id": data, "json_path": "results", "array_indices": "0" }),
            "",
            "zero",
        ),
        row(
            READ,
            json!({ "file_id": data, "json_path": "results", "array_indices": "7" }),
            "invalid_arguments",
            "array_indices: there is no element 7",
        ),
        row(
            READ,
            json!({ "file_id": "0192f0c1-2b3c-7abc-8def-0123456789ab" }),
            "not_found",
            "there is no artifact",
        ),
        row(
            RUN,
            json!({ "code": "return 1", "connectionSelections": { "gmial": "x" } }),
            "invalid_arguments",
            "connectionSelections: there is no service",
        ),
        row(
            RUN,
            code("return new URL('/b', 'http://h/a').href + structuredClone('!')"),
            "",
            "http://h/b!",
        ),
        row(
            RUN,
            code("return { a: [1n] }"),
            "failed",
            "a BigInt cannot be returned as JSON at `a[0]`",
        ),
        row(
            RUN,
            code(
                "try { await callTool('gsv', 'WriteFile', { path: 'ask.md', content: 'x' }) } catch { return 'caught' }",
            ),
            "approval_required",
            "(approval id ",
        ),
        row(
            "gateway_invoke",
            json!({ "server": "pets", "tool": "getPet", "arguments": {} }),
            "unknown_tool",
            "did you mean server \"dynamic/pets\"?",
        ),
        row(
            "gateway_write_artifact",
            json!({ "filename": "a.txt", "content": "x", "fileType": "txt", "agentId": "system-coworker-agent" }),
            "",
            "chatId",
        ),
    ]
}

const ASK: &str = "[[policy.rules]]\ntools = [\"gsv__WriteFile\"]\ndecision = \"ask\"\n[[policy.rules]]\ndecision = \"allow\"\n";

/// A home with an OpenAPI document, and its settings.
fn settings(home: &Home) -> String {
    let file = home.outside("pets.json");
    let document = json!({
        "openapi": "3.0.0", "servers": [{ "url": "https://pets.example" }],
        "paths": { "/pets": { "get": { "operationId": "getPet" } } },
    });
    std::fs::write(&file, document.to_string()).expect("the document");
    format!("[mcpServers.pets]\nopenapi = {file:?}\n{ASK}")
}

#[test]
fn every_interface_gives_the_same_for_artifacts_connections_and_scripts() {
    let home = Home::new();
    let settings = settings(&home);
    let gateway = Gateway::on(home.with_config(&settings));
    crate::federation::known(&gateway, "pets");
    let mut caller = Caller::new(&gateway, &gateway.owner);
    for Row {
        tool,
        arguments,
        code,
        words,
    } in rows(&gateway)
    {
        for face in FACES {
            let said = caller.call(face, tool, &arguments);
            let text = format!("{}{}", said.result, said.error);
            let plain = text.replace("\\\"", "\"");
            assert_eq!(
                said.ok,
                code.is_empty(),
                "{face} {tool} {arguments}: {text}"
            );
            assert!(plain.contains(words), "{face} {tool} {arguments}: {text}");
            if let Some(found) = said.code {
                assert_eq!(found, code, "{face} {tool} {arguments}: {text}");
            }
        }
    }
    assert_eq!(gateway.read("ask.md"), None);
}

#[test]
fn a_model_gets_the_same_result() {
    let home = Home::new();
    let settings = settings(&home);
    let gateway = Gateway::on(home.with_config(&settings));
    crate::federation::known(&gateway, "pets");
    let rows = rows(&gateway);
    let home = gateway.stop();
    let calls: Vec<Value> = rows
        .iter()
        .map(|row| json!({ "name": row.tool, "arguments": row.arguments }))
        .collect();
    let turns = json!({ "turns": [{ "when": { "user": "go" }, "calls": calls }, { "when": { "result_of": "gateway_write_artifact" }, "text": "done" }] });
    let script = home.outside("model.yaml");
    std::fs::write(&script, turns.to_string()).expect("a script"); // JSON is YAML
    let models = format!(
        "models.default = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {script:?}\n"
    );
    let gateway = Gateway::on(home.with_config(&format!("{models}{settings}")));
    let end = gateway
        .post("/api/chat", &json!({ "message": "go" }))
        .json();
    assert_eq!(end["result"]["text"], "done", "{end}");
    let history = gateway
        .get("/api/sessions/main/messages")
        .json()
        .to_string();
    let history = history.replace("\\\\\\\"", "\"").replace("\\\"", "\"");
    for Row {
        tool,
        arguments,
        words,
        ..
    } in rows
    {
        assert!(
            history.contains(words),
            "{tool} {arguments}: {words} in {history}"
        );
    }
    assert_eq!(gateway.read("ask.md"), None);
}
