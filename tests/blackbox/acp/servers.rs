//! MCP servers that an editor names for a session: started on its machine, there for that session only.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::editor::{Editor, prompt};
use crate::harness::{Gateway, Home, eventually};
use crate::http::Request;
use crate::mcp::{self, Era};

const SERVER: &str = include_str!("server.py");

const SCRIPT: &str = r#"
models: [demo]
turns:
  - when: { user: echo }
    calls: [{ name: acp-notes__echo, arguments: { text: tea } }]
  - when: { user: second }
    calls: [{ name: acp-notes-2__echo, arguments: { text: milk } }]
  - when: { user: change }
    calls: [{ name: acp-notes__change_it, arguments: { text: all } }]
  - when: { user: about }
    calls: [{ name: acp-notes__about, arguments: {} }]
  - when: { user: fail }
    calls: [{ name: acp-notes__fail, arguments: {} }]
  - when: { user: wrong }
    calls: [{ name: acp-notes__echo, arguments: { text: 5 } }]
  - when: { user: script }
    calls: [{ name: code-execution_execute, arguments: { code: "return await callTool('acp-notes', 'echo', { text: 'script' })" } }]
  - when: { result_of: acp-notes__echo }
    text: Done.
  - when: { result_of: acp-notes-2__echo }
    text: Done.
  - when: { result_of: acp-notes__change_it }
    text: Done.
  - when: { result_of: acp-notes__about }
    text: Done.
  - when: { result_of: acp-notes__fail }
    text: Done.
  - when: { result_of: code-execution_execute }
    text: Done.
"#;

/// A gateway whose model calls the editor's tools, and a folder for the editor.
fn stage(more: &str) -> (Gateway, PathBuf) {
    let home = Home::new();
    std::fs::write(home.outside("turns.yaml"), SCRIPT).expect("the script");
    std::fs::write(home.outside("server.py"), SERVER).expect("the server");
    let folder = home.outside("project");
    std::fs::create_dir(&folder).expect("a folder");
    let settings = format!(
        "[models]\ndefault = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {:?}\n{more}",
        home.outside("turns.yaml")
    );
    (Gateway::on(home.with_config(&settings)), folder)
}

/// The server as an editor names it; it notes its process in `note`.
fn server(gateway: &Gateway, name: &str, note: &str) -> Value {
    let script = gateway.home.outside("server.py");
    let note = gateway.home.outside(note);
    let env = [json!({ "name": "GIVEN", "value": "by the editor" })];
    json!({ "name": name, "command": "python3", "args": [script, note], "env": env })
}

fn new(folder: &PathBuf, servers: &[Value]) -> Value {
    json!({ "cwd": folder, "mcpServers": servers })
}

#[track_caller]
fn opened(editor: &mut Editor, folder: &PathBuf, servers: &[Value]) -> String {
    let made = editor.ask("session/new", new(folder, servers));
    let id = made["result"]["sessionId"].as_str();
    id.unwrap_or_else(|| panic!("{made}")).to_owned()
}

/// Says something that leads to one call: how it ended, and what the editor is shown of it.
#[track_caller]
fn called(editor: &mut Editor, session: &str, text: &str) -> (String, String) {
    editor.told.clear();
    let ended = editor.ask("session/prompt", prompt(session, text));
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    let of_call = |told: &&Value| told["sessionUpdate"] == "tool_call_update";
    let last = editor.told.iter().rfind(of_call);
    let last = last.unwrap_or_else(|| panic!("no call: {:?}", editor.told));
    let shown = last["content"][0]["content"]["text"].as_str();
    let status = last["status"].as_str().expect("a status");
    (status.to_owned(), shown.unwrap_or_default().to_owned())
}

fn is_running(gateway: &Gateway, note: &str) -> bool {
    let pid = std::fs::read_to_string(gateway.home.outside(note)).expect("its process");
    std::path::Path::new("/proc")
        .join(pid.trim())
        .join("exe")
        .exists()
}

#[test]
fn an_editors_server_is_started_in_the_sessions_folder_and_its_tools_are_called() {
    let (gateway, folder) = stage("");
    let config = std::fs::read(gateway.home.path().join("config.toml")).expect("the settings");
    let mut editor = Editor::start_with(&gateway, &[], &[("EDITORS_SECRET", "s3cret")]);
    let session = opened(&mut editor, &folder, &[server(&gateway, "Notes", "pid")]);
    assert_eq!(
        called(&mut editor, &session, "echo"),
        ("completed".to_owned(), "echo tea".to_owned())
    );
    let (_, about) = called(&mut editor, &session, "about");
    let about: Value = serde_json::from_str(&about).unwrap_or_else(|e| panic!("{e}: {about}"));
    let real = folder.canonicalize().expect("the folder");
    assert_eq!(about["cwd"], json!(real));
    assert_eq!(
        about["env"],
        json!(["by the editor", null, null]),
        "and no secrets"
    );
    let (status, failed) = called(&mut editor, &session, "fail");
    assert_eq!(status, "failed");
    assert!(failed.contains("it cannot be done"), "{failed}");
    // The path is the usual one: arguments are checked, calls are in the audit, scripts reach it too.
    let (status, wrong) = called(&mut editor, &session, "wrong");
    assert_eq!(status, "failed");
    assert!(wrong.contains("text"), "{wrong}");
    let (_, scripted) = called(&mut editor, &session, "script");
    assert!(scripted.contains("echo script"), "{scripted}");
    let audited = gateway.audit();
    let call = audited
        .iter()
        .find(|entry| entry["tool"] == "acp-notes__echo");
    assert!(
        call.is_some_and(|call| call.to_string().contains(&*session) || call["agent"] == "main"),
        "{call:?}"
    );
    assert_eq!(
        std::fs::read(gateway.home.path().join("config.toml")).expect("the settings"),
        config
    );
    editor.close();
}

#[test]
fn a_tool_that_may_change_something_is_asked_about_at_the_editor() {
    let (gateway, folder) = stage("");
    let mut editor = Editor::start(&gateway, &[]);
    let session = opened(&mut editor, &folder, &[server(&gateway, "notes", "pid")]);
    let asked = |editor: &Editor| editor.told.iter().any(|told| told["options"].is_array());
    called(&mut editor, &session, "echo");
    assert!(!asked(&editor), "reading is free");
    editor.answer = "reject";
    assert_eq!(called(&mut editor, &session, "change").0, "failed");
    assert!(asked(&editor));
    editor.answer = "allow";
    let closed = editor.ask("session/close", json!({ "sessionId": session }));
    assert!(closed["result"].is_object(), "{closed}");
    // A call that was denied stays denied in its conversation.
    let session = opened(&mut editor, &folder, &[server(&gateway, "notes", "pid")]);
    assert_eq!(
        called(&mut editor, &session, "change"),
        ("completed".to_owned(), "change.it all".to_owned())
    );
    editor.close();
}

#[test]
fn an_editors_server_is_there_for_its_session_only_and_goes_with_it() {
    let (gateway, folder) = stage("");
    let mut editor = Editor::start(&gateway, &[]);
    let first = opened(&mut editor, &folder, &[server(&gateway, "notes", "one")]);
    let bare = opened(&mut editor, &folder, &[]);
    let second = opened(&mut editor, &folder, &[server(&gateway, "notes", "two")]);
    assert_eq!(
        called(&mut editor, &first, "echo").0,
        "completed",
        "the control"
    );
    // Another session does not reach it, and has its own under another name.
    for other in [&bare, &second] {
        let (status, shown) = called(&mut editor, other, "echo");
        assert_eq!(status, "failed", "{shown}");
        assert!(shown.contains("belongs to another session"), "{shown}");
    }
    assert_eq!(called(&mut editor, &second, "second").1, "echo milk");
    // Nobody else sees or calls it, the owner included.
    let direct = gateway.call("acp-notes__echo", json!({ "text": "x" }));
    assert_eq!(direct["code"], "forbidden", "{direct}");
    for path in ["/api/tools", "/api/nodes", "/api/servers"] {
        let listed = gateway.get(path).text();
        assert!(!listed.contains("acp-notes"), "{path}: {listed}");
    }
    let listed = mcp::request(
        Era::Stateless,
        "tools/list",
        json!({}),
        Some(&gateway.owner),
    );
    assert!(!gateway.send(&listed).text().contains("acp-notes"));
    // It ends with its session, or with the editor.
    assert!(is_running(&gateway, "one") && is_running(&gateway, "two"));
    let closed = editor.ask("session/close", json!({ "sessionId": first }));
    assert!(closed["result"].is_object(), "{closed}");
    assert!(!is_running(&gateway, "one") && is_running(&gateway, "two"));
    let load = |servers: &[Value]| {
        let mut params = new(&folder, servers);
        params["sessionId"] = json!(first);
        params
    };
    let loaded = editor.ask("session/load", load(&[]));
    assert!(loaded["result"].is_object(), "{loaded}");
    assert_eq!(
        called(&mut editor, &first, "echo").0,
        "failed",
        "it was not named again"
    );
    let loaded = editor.ask("session/load", load(&[server(&gateway, "notes", "three")]));
    assert!(loaded["result"].is_object(), "{loaded}");
    assert_eq!(called(&mut editor, &first, "echo").0, "completed");
    editor.close();
    eventually("the servers end", || {
        !is_running(&gateway, "two") && !is_running(&gateway, "three")
    });
    let gone = gateway.call("acp-notes__echo", json!({ "text": "x" }));
    assert_eq!(gone["code"], "unknown_tool", "{gone}");
}

#[test]
fn a_server_that_does_not_start_is_named_and_leaves_nothing_behind() {
    let (gateway, folder) = stage("");
    let mut editor = Editor::start(&gateway, &[]);
    let program = |name: &str, command: &str, args: &[&str]| json!({ "name": name, "command": command, "args": args, "env": [] });
    for (bad, why) in [
        (
            program("absent", "no-such-program", &[]),
            "command not found: \"no-such-program\"",
        ),
        (
            program("ends", "/bin/sh", &["-c", "echo no licence >&2; exit 3"]),
            "no licence",
        ),
    ] {
        let servers = [server(&gateway, "good", "good"), bad.clone()];
        let refused = editor.ask("session/new", new(&folder, &servers));
        let message = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(
            message.contains(why) && message.contains(bad["name"].as_str().expect("a name")),
            "{refused}"
        );
    }
    let odd = editor.ask("session/new", new(&PathBuf::from("project"), &[]));
    assert_eq!(odd["error"]["code"], -32602, "{odd}");
    assert!(odd["error"]["message"].to_string().contains("cwd"), "{odd}");
    let nowhere = new(&folder.join("absent"), &[server(&gateway, "notes", "pid")]);
    let nowhere = editor.ask("session/new", nowhere);
    assert!(
        nowhere["error"]["message"].to_string().contains("cwd"),
        "{nowhere}"
    );
    let unknown = editor.ask("session/prompt", prompt("agent:main:acp-1", "echo"));
    assert_eq!(unknown["error"]["code"], -32002, "{unknown}");
    let session = opened(&mut editor, &folder, &[server(&gateway, "notes", "pid")]);
    assert_eq!(
        called(&mut editor, &session, "echo").0,
        "completed",
        "the control"
    );
    eventually("what was started beside it ends", || {
        !gateway.home.outside("good").exists() || !is_running(&gateway, "good")
    });
    editor.close();
}

#[test]
fn an_editors_server_is_offered_again_when_the_gateway_is_back() {
    let (gateway, folder) = stage("");
    let mut editor = Editor::start(&gateway, &[]);
    let session = opened(&mut editor, &folder, &[server(&gateway, "notes", "pid")]);
    assert_eq!(called(&mut editor, &session, "echo").0, "completed");
    let gateway = gateway.restart();
    eventually("it is back", || {
        called(&mut editor, &session, "echo").0 == "completed"
    });
    assert!(is_running(&gateway, "pid"), "the same program");
    editor.close();
}

#[test]
fn only_callers_with_access_to_a_session_add_tools_to_it() {
    let (gateway, _) = stage("");
    let hello = |token: &str, id: &str, session: &str| {
        let mut hello = crate::nodes::player::greeting(id, token);
        hello["client"]["sessionKey"] = json!(session);
        hello
    };
    let greet = |hello: Value| {
        let mut socket = crate::socket::Socket::open(gateway.addr, &[]).expect("a socket");
        let answer = socket.request("connect", hello);
        (socket, answer)
    };
    let (mut socket, taken) = greet(hello(&gateway.owner, "acp-own", "agent:main:mine"));
    assert_eq!(taken["ok"], true, "the control: {taken}");
    let refused = socket.request("tools.list", json!({}));
    assert_eq!(refused["error"]["code"], 403, "it only answers: {refused}");
    let guest = gateway.client("guest");
    let (_socket, taken) = greet(hello(&guest, "acp-own", "mine"));
    assert_eq!(taken["ok"], true, "its own session: {taken}");
    let (node, _) = gateway.token(json!({ "name": "laptop", "role": "node" }));
    let (reader, _) = gateway.token(json!({ "name": "reader", "role": "read-only" }));
    for (token, id, session, code) in [
        (&guest, "acp-own", "agent:main:main", 403),
        (&node, "acp-own", "agent:main:mine", 403),
        (&reader, "acp-own", "agent:main:mine", 403),
        (&gateway.owner, "laptop", "agent:main:mine", 400),
    ] {
        let (_, refused) = greet(hello(token, id, session));
        assert_eq!(refused["error"]["code"], code, "{refused}");
    }
    // Sixteen in one session, and no more.
    let more: Vec<_> = (1..16)
        .map(|_| greet(hello(&gateway.owner, "acp-own", "agent:main:mine")))
        .collect();
    assert!(more.iter().all(|(_, taken)| taken["ok"] == true));
    let (_, full) = greet(hello(&gateway.owner, "acp-own", "agent:main:mine"));
    assert_eq!(full["error"]["code"], 503, "{full}");
    let listed = gateway
        .send(&Request::get("/api/nodes").bearer(&gateway.owner))
        .text();
    assert!(!listed.contains("acp-own"), "{listed}");
}
