//! MCP servers over HTTP: previewed, confirmed, added from every source, switched, imported, and their logs.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, eventually};
use crate::http::Request;

/// A server with two tools, which reports its arguments and whether it has its key on standard error.
const SERVER: &str = r#"#!/usr/bin/env python3
import json, os, sys
print("started with", sys.argv[1:], "key:", len(os.environ.get("API_TOKEN", "")), file=sys.stderr, flush=True)
for line in sys.stdin:
    ask = json.loads(line)
    if "id" not in ask:
        continue
    method, answer = ask["method"], {}
    if method == "initialize":
        answer = {"protocolVersion": ask["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    elif method == "tools/list":
        answer = {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("look", "change")]}
    elif method == "tools/call":
        answer = {"content": [{"type": "text", "text": "called " + ask["params"]["name"]}]}
    elif method not in ("ping",):
        print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": answer}), flush=True)
"#;

/// The path of an executable server beside the home.
fn program(home: &Home) -> String {
    let file = home.outside("server.py");
    std::fs::write(&file, SERVER).expect("the server");
    let runs = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&file, runs).expect("its mode");
    file.display().to_string()
}

fn config(gateway: &Gateway) -> String {
    std::fs::read_to_string(gateway.home.path().join("config.toml")).expect("the settings")
}

fn secrets(gateway: &Gateway) -> Value {
    gateway.get("/api/secrets").json()["result"]["names"].clone()
}

#[track_caller]
fn preview(gateway: &Gateway, from: &Value) -> Value {
    let said = gateway.post("/api/servers/preview", from).json();
    assert_eq!(said["ok"], true, "{said}");
    said["result"].clone()
}

/// That adding is refused with this error, and that nothing was stored.
#[track_caller]
fn refused(gateway: &Gateway, new: &Value, code: &str, why: &str) {
    let before = (config(gateway), secrets(gateway));
    let said = gateway.post("/api/servers", new).json();
    assert_eq!(said["code"], code, "{said}");
    assert!(
        said["error"].as_str().unwrap_or_default().contains(why),
        "{said}"
    );
    assert_eq!((config(gateway), secrets(gateway)), before, "{new}");
}

#[track_caller]
fn added(gateway: &Gateway, new: &Value) -> String {
    let said = gateway.post("/api/servers", new).json();
    assert_eq!(said["result"]["added"], true, "{said}");
    said["result"]["name"].as_str().expect("a name").to_owned()
}

#[track_caller]
fn listed(gateway: &Gateway, name: &str) -> Value {
    let all = gateway.get("/api/servers").json();
    let servers = all["result"]["servers"].as_array().expect("servers");
    let one = servers.iter().find(|one| one["name"] == name);
    one.unwrap_or_else(|| panic!("{name}: {all}")).clone()
}

fn put(gateway: &Gateway, path: &str, body: &Value) -> Value {
    let request = Request::new("PUT", path).json(body);
    gateway.send(&request.bearer(&gateway.owner)).json()
}

#[test]
fn a_local_command_runs_only_after_its_exact_words_were_confirmed() {
    let gateway = Gateway::start();
    let program = program(&gateway.home);
    let mut new = json!({
        "name": "mine", "command": program, "args": ["--dir", "a b"],
        "env": { "API_TOKEN": "s3cr3t-value-1234", "REGION": "eu" },
    });
    let shown = preview(&gateway, &new);
    assert_eq!(shown["runs"], json!([program, "--dir", "a b"]));
    assert_eq!(
        (&shown["kind"], &shown["confirm"]),
        (&json!("stdio"), &json!(true))
    );
    assert_eq!(shown["env"], json!(["API_TOKEN", "REGION"]));
    assert_eq!(shown["problems"], json!([]));
    assert_eq!(shown["secrets"][0]["name"], "API_TOKEN", "{shown}");
    assert!(!shown.to_string().contains("s3cr3t-value"), "{shown}");
    assert!(
        !config(&gateway).contains("[mcpServers.mine]"),
        "a preview adds nothing"
    );

    refused(
        &gateway,
        &new,
        "invalid_arguments",
        "will run on the gateway's machine",
    );
    new["confirm"] = json!(true);
    assert_eq!(added(&gateway, &new), "mine");
    let text = config(&gateway);
    assert!(
        text.contains("${mcp/mine/API_TOKEN}") && !text.contains("s3cr3t-value"),
        "{text}"
    );
    assert_eq!(secrets(&gateway), json!(["mcp/mine/API_TOKEN"]));
    eventually("the server follows", || {
        listed(&gateway, "mine")["tools"] == 2
    });
    let called = gateway.call("mine__look", json!({}));
    assert!(called.to_string().contains("called look"), "{called}");
    let noted = gateway
        .audit()
        .into_iter()
        .find(|one| one["tool"] == "server.add");
    let noted = noted.expect("the audit has it");
    assert!(
        noted["summary"]
            .as_str()
            .is_some_and(|text| text.contains("--dir 'a b'")),
        "{noted}"
    );

    let log = || gateway.get("/api/servers/mine/log?lines=5").json()["result"]["lines"].to_string();
    eventually("the server follows", || {
        log().contains("started with ['--dir', 'a b'] key: 17")
    });
    assert_eq!(listed(&gateway, "mine")["log"], true);
    refused(&gateway, &new, "conflict", "already exists");
}

#[test]
fn only_the_owner_adds_a_command_and_no_setting_of_the_machine_comes_with_it() {
    let gateway = Gateway::start();
    let program = program(&gateway.home);
    let command = json!({ "name": "mine", "command": program, "confirm": true });
    let token = gateway.client("phone");
    for path in [
        "/api/servers",
        "/api/servers/preview",
        "/api/servers/import",
    ] {
        let said = gateway.send(&Request::post(path, &command).bearer(&token));
        assert_eq!(said.status, 403, "{path}: {}", said.text());
    }
    // Its folders, its sandbox and documents of this machine are decided in the file.
    for part in ["cwd", "folders", "sandbox", "openapi"] {
        let mut new = command.clone();
        new[part] = json!("/etc");
        refused(&gateway, &new, "invalid_arguments", part);
    }
    let entry = json!({ "name": "mine", "server": { "command": program }, "confirm": true });
    refused(&gateway, &entry, "forbidden", "as an entry");
    let relative = json!({ "name": "mine", "command": "./server.py", "confirm": true });
    refused(&gateway, &relative, "invalid_arguments", "absolute path");
    let pasted = json!({ "mine": { "command": program, "cwd": "/etc" } }).to_string();
    refused(
        &gateway,
        &json!({ "json": pasted }),
        "invalid_arguments",
        "confirm",
    );
    assert_eq!(
        added(&gateway, &json!({ "json": pasted, "confirm": true })),
        "mine"
    );
    assert!(!config(&gateway).contains("/etc"), "{}", config(&gateway));
    // The settings themselves still refuse it.
    let set = json!({ "path": "mcpServers.other", "value": { "command": program } });
    assert_eq!(put(&gateway, "/api/config", &set)["code"], "forbidden");
}

#[test]
fn pasted_json_and_the_directory_ask_for_what_they_need() {
    let gateway = Gateway::start();
    let text = "Add this:\n```json\n{ \"mcpServers\": { \"maps\": { \"url\": \"https://maps.example/<region>/mcp\", \"headers\": { \"X-Api-Key\": \"<YOUR_API_KEY>\" } }, \"other\": { \"url\": \"https://other.example/mcp\" } } }\n```";
    let shown = preview(&gateway, &json!({ "json": text, "name": "maps" }));
    assert_eq!(shown["runs"], json!(["https://maps.example/<region>/mcp"]));
    assert_eq!(shown["servers"], json!(["maps", "other"]));
    assert_eq!(shown["values"][0]["name"], "region", "{shown}");
    let secret = shown["secrets"][0]["name"]
        .as_str()
        .expect("a secret")
        .to_owned();
    assert_eq!(shown["confirm"], false);
    let mut new = json!({ "json": text, "name": "maps" });
    refused(&gateway, &new, "invalid_arguments", "missing values");
    new["values"] = json!({ "region": "eu" });
    refused(&gateway, &new, "invalid_arguments", &secret);
    new["secrets"] = json!({ &secret: "short" });
    refused(
        &gateway,
        &new,
        "invalid_arguments",
        "less than 8 characters",
    );
    new["secrets"] = json!({ "OTHER": "0123456789" });
    refused(
        &gateway,
        &new,
        "invalid_arguments",
        "not a secret of this server",
    );
    new["secrets"] = json!({ &secret: "0123456789-key" });
    assert_eq!(added(&gateway, &new), "maps");
    let written = config(&gateway);
    assert!(written.contains("https://maps.example/eu/mcp"), "{written}");
    assert!(!written.contains("0123456789-key") && !written.contains("other.example"));
    let renamed = json!({ "json": "{ \"url\": \"https://one.example/mcp\" }", "name": "one" });
    assert_eq!(added(&gateway, &renamed), "one");

    let shown = preview(&gateway, &json!({ "directory": "github" }));
    assert_eq!(shown["secrets"][0]["name"], "GITHUB_TOKEN");
    assert!(
        shown["secrets"][0]["url"]
            .as_str()
            .is_some_and(|url| url.starts_with("https://github.com"))
    );
    refused(
        &gateway,
        &json!({ "directory": "github" }),
        "invalid_arguments",
        "GITHUB_TOKEN",
    );
    refused(
        &gateway,
        &json!({ "directory": "gihtub" }),
        "invalid_arguments",
        "not in the directory",
    );
    let files = json!({ "directory": "filesystem", "values": { "DIRECTORY": "/srv/data" } });
    assert_eq!(
        preview(&gateway, &files)["runs"]
            .as_array()
            .and_then(|all| all.last()),
        Some(&json!("/srv/data"))
    );
    refused(&gateway, &files, "invalid_arguments", "confirm");
    let both = json!({ "url": "https://a.example", "command": "x", "name": "a" });
    refused(&gateway, &both, "invalid_arguments", "exactly one");
}

#[test]
fn a_pasted_reference_is_not_filled_in_from_the_gateways_environment() {
    let home = Home::new();
    let mut command = crate::harness::up(&home);
    command.env("SERVICE_PASSWORD", "of-the-gateway-itself");
    let gateway = Gateway::from(home, command);
    let text = json!({ "spy": { "url": "https://spy.example/mcp", "headers": { "X-Password": "${SERVICE_PASSWORD}" } } });
    let new = json!({ "json": text.to_string() });
    let shown = preview(&gateway, &new);
    assert_eq!(shown["secrets"][0]["known"], false, "{shown}");
    refused(&gateway, &new, "invalid_arguments", "missing values");
    assert!(!config(&gateway).contains("of-the-gateway"));
}

#[test]
fn servers_and_their_tools_are_switched_off_and_on() {
    let gateway = Gateway::start();
    let program = program(&gateway.home);
    added(
        &gateway,
        &json!({ "name": "mine", "command": program, "confirm": true }),
    );
    eventually("the server follows", || {
        listed(&gateway, "mine")["tools"] == 2
    });
    let works = |tool: &str| gateway.call(tool, json!({}))["ok"] == true;
    let changed = put(
        &gateway,
        "/api/servers/mine",
        &json!({ "disabledTools": ["change"] }),
    );
    assert_eq!(
        changed["result"]["disabledTools"],
        json!(["change"]),
        "{changed}"
    );
    eventually("the server follows", || works("mine__look"));
    assert!(!works("mine__change"));
    let changed = put(
        &gateway,
        "/api/servers/mine",
        &json!({ "disabledTools": [] }),
    );
    assert_eq!(changed["result"]["disabledTools"], json!([]), "{changed}");
    eventually("the server follows", || works("mine__change"));
    let changed = put(&gateway, "/api/servers/mine", &json!({ "enabled": false }));
    assert_eq!(
        (&changed["result"]["enabled"], &changed["result"]["state"]),
        (&json!(false), &json!("off"))
    );
    assert!(!works("mine__look"));
    assert_eq!(
        gateway.get("/api/servers/mine/log").json()["result"]["lines"],
        json!([])
    );
    put(&gateway, "/api/servers/mine", &json!({ "enabled": true }));
    eventually("the server follows", || works("mine__look"));
    let wrong = put(
        &gateway,
        "/api/servers/mine",
        &json!({ "disabledTools": ["*"] }),
    );
    assert_eq!(wrong["code"], "invalid_arguments", "{wrong}");
    assert_eq!(
        put(&gateway, "/api/servers/none", &json!({}))["code"],
        "not_found"
    );
}

#[test]
fn servers_of_other_programs_are_listed_and_imported() {
    let home = Home::new();
    let user = home.outside("user");
    std::fs::create_dir_all(user.join(".cursor")).expect("a folder");
    let program = program(&home);
    let file = json!({ "mcpServers": {
        "mine": { "command": program, "env": { "API_TOKEN": "s3cr3t-value-1234" } },
        "far": { "url": "https://far.example/mcp" },
        "none": {},
    } });
    std::fs::write(user.join(".cursor/mcp.json"), file.to_string()).expect("the file");
    let gateway = Gateway::on(home);
    let found = gateway.get("/api/servers/import").json();
    let cursor = &found["result"]["clients"][0];
    assert_eq!(cursor["client"], "cursor", "{found}");
    assert_eq!(
        cursor["servers"].as_array().map(Vec::len),
        Some(2),
        "{found}"
    );
    assert_eq!(cursor["skipped"][0]["name"], "none");
    assert!(!found.to_string().contains("s3cr3t-value"), "{found}");
    let unconfirmed = json!({ "client": "cursor", "names": ["far", "mine"] });
    let said = gateway.post("/api/servers/import", &unconfirmed).json();
    let message = said["error"].as_str().unwrap_or_default();
    assert!(
        message.starts_with("confirm:") && message.contains("mine"),
        "{said}"
    );
    assert_eq!(secrets(&gateway), json!([]));
    assert!(!config(&gateway).contains("far.example"));
    let want = json!({ "client": "cursor", "names": ["mine", "gone"], "confirm": true });
    let said = gateway.post("/api/servers/import", &want).json();
    assert_eq!(said["result"]["added"], json!(["mine"]), "{said}");
    assert_eq!(said["result"]["skipped"][0]["name"], "gone");
    assert_eq!(secrets(&gateway), json!(["mcp/mine/API_TOKEN"]));
    assert!(!config(&gateway).contains("far.example"));
    eventually("the server follows", || {
        listed(&gateway, "mine")["tools"] == 2
    });
    let again = gateway.post("/api/servers/import", &want).json();
    assert_eq!(again["result"]["added"], json!([]), "{again}");
    let unknown = json!({ "client": "emacs", "names": ["mine"] });
    assert_eq!(
        gateway.post("/api/servers/import", &unknown).json()["code"],
        "not_found"
    );
}
