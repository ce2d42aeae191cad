//! The same call gives the same outcome whichever face it is made through.

mod paths;

use serde_json::{Value, json};

use crate::harness::{Gateway, Ran, steady};
use crate::http::Request;
use crate::mcp::{self, Era, Pipe};
use crate::socket::Socket;

/// What every face says about a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub ok: bool,
    pub result: Value,
    pub error: String,
    /// MCP has no place for it.
    pub code: Option<String>,
}

impl Said {
    fn of_envelope(envelope: &Value) -> Self {
        let known = [
            "ok",
            "result",
            "content",
            "error",
            "code",
            "problems",
            "retryAfterMs",
            "details",
        ];
        let keys = envelope
            .as_object()
            .unwrap_or_else(|| panic!("no envelope: {envelope}"))
            .keys();
        for key in keys {
            assert!(known.contains(&key.as_str()), "{key} in {envelope}");
        }
        Self {
            ok: envelope["ok"] == true,
            result: steady(&envelope["result"]),
            error: steady(&envelope["error"])
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            code: Some(envelope["code"].as_str().unwrap_or_default().to_owned()),
        }
    }

    fn of_mcp(answer: &Value) -> Self {
        if let Some(error) = answer["error"]["message"].as_str() {
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
            return Self::failed(error);
        }
        let result = &answer["result"];
        let text = result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("no text: {answer}"));
        if result["isError"] == true {
            assert!(result.get("structuredContent").is_none(), "{answer}");
            return Self::failed(text);
        }
        let shown: Value = serde_json::from_str(text).expect("the text is the value as JSON");
        assert_eq!(
            shown, result["structuredContent"],
            "text and structured content are one value"
        );
        Self {
            ok: true,
            result: steady(&shown),
            error: String::new(),
            code: None,
        }
    }

    fn failed(error: &str) -> Self {
        let error = steady(&json!(error))
            .as_str()
            .unwrap_or_default()
            .to_owned();
        Self {
            ok: false,
            result: Value::Null,
            error,
            code: None,
        }
    }

    fn same_as(&self, other: &Self) -> bool {
        let codes = (&self.code, &other.code);
        let same_code = matches!(codes, (None, _) | (_, None)) || self.code == other.code;
        same_code && (self.ok, &self.result, &self.error) == (other.ok, &other.result, &other.error)
    }
}

/// All ways to make one call with one token.
pub const FACES: [&str; 9] = [
    "HTTP tools",
    "HTTP trigger",
    "command line call",
    "command line trigger",
    "WebSocket",
    "MCP 2025-11-25",
    "MCP 2026-07-28",
    "MCP stdio 2025-11-25",
    "MCP stdio 2026-07-28",
];

/// One caller on every face at once.
pub struct Caller<'a> {
    gateway: &'a Gateway,
    token: String,
    pipes: [Pipe; 2],
}

impl<'a> Caller<'a> {
    pub fn new(gateway: &'a Gateway, token: &str) -> Self {
        Self {
            gateway,
            token: token.to_owned(),
            pipes: [Era::Initialize, Era::Stateless].map(|era| Pipe::start(gateway, era, token)),
        }
    }

    pub fn call(&mut self, face: &str, tool: &str, arguments: &Value) -> Said {
        let (gateway, token) = (self.gateway, self.token.as_str());
        let post = |path: String| {
            let response = gateway.send(&Request::post(&path, arguments).bearer(token));
            Said::of_envelope(&response.json())
        };
        match face {
            "HTTP tools" => post(format!("/api/tools/{tool}")),
            "HTTP trigger" => post(format!("/api/trigger/{tool}")),
            "command line call" => {
                of_cli(&gateway.cli(&["--token", token, "call", tool, &arguments.to_string()]))
            }
            "command line trigger" => {
                of_cli(&gateway.cli(&["--token", token, "trigger", tool, &arguments.to_string()]))
            }
            // One for each call: a socket that is not read for a while answers no pings and is closed.
            "WebSocket" => {
                let mut socket = Socket::connect(gateway.addr, token);
                Said::of_envelope(&socket.call(tool, arguments))
            }
            "MCP 2025-11-25" => {
                Said::of_mcp(&mcp::call(gateway, Era::Initialize, token, tool, arguments))
            }
            "MCP 2026-07-28" => {
                Said::of_mcp(&mcp::call(gateway, Era::Stateless, token, tool, arguments))
            }
            "MCP stdio 2025-11-25" => Said::of_mcp(&self.pipes[0].call(tool, arguments)),
            "MCP stdio 2026-07-28" => Said::of_mcp(&self.pipes[1].call(tool, arguments)),
            other => unreachable!("{other}"),
        }
    }
}

fn of_cli(ran: &Ran) -> Said {
    let said = Said::of_envelope(&ran.json());
    assert_eq!(ran.code, Some(i32::from(!said.ok)), "{ran:?}");
    assert_eq!(ran.stderr, "", "scripts read one stream");
    said
}

/// A call, who makes it, the code it ends with ("" for a result) and its HTTP status.
type Case = (&'static str, &'static str, Value, &'static str, u16);

fn cases() -> Vec<Case> {
    let edit =
        |old: &str, new: &str| json!({ "path": "notes/a.md", "oldString": old, "newString": new });
    vec![
        (
            "owner",
            "gsv__ReadFile",
            json!({ "path": "notes/a.md" }),
            "",
            200,
        ),
        ("owner", "gsv__ReadFile", json!({}), "", 200),
        (
            "owner",
            "gsv__ReadFile",
            json!({ "path": "notes/" }),
            "",
            200,
        ),
        (
            "owner",
            "gsv__ReadFile",
            json!({ "path": "big.txt" }),
            "",
            200,
        ),
        (
            "owner",
            "gsv__WriteFile",
            json!({ "path": "notes/b.md", "content": "é\r\n" }),
            "",
            200,
        ),
        ("owner", "gsv__EditFile", edit("one", "$1 \\n"), "", 200),
        (
            "owner",
            "gsv__DeleteFile",
            json!({ "path": "notes/doomed.md" }),
            "",
            200,
        ),
        (
            "owner",
            "gsv__ConfigGet",
            json!({ "path": "limits.calls_per_minute" }),
            "",
            200,
        ),
        ("owner", "gsv__ConfigGet", json!({}), "", 200),
        (
            "reader",
            "gsv__ReadFile",
            json!({ "path": "notes/a.md" }),
            "",
            200,
        ),
        ("owner", "gsv__Nothing", json!({}), "unknown_tool", 404),
        ("owner", "gsv__readfile", json!({}), "unknown_tool", 404),
        (
            "owner",
            "gsv__ReadFile",
            json!({ "file": "a" }),
            "invalid_arguments",
            400,
        ),
        (
            "owner",
            "gsv__WriteFile",
            json!({}),
            "invalid_arguments",
            400,
        ),
        (
            "owner",
            "gsv__WriteFile",
            json!({ "path": 7, "content": null, "mode": "x" }),
            "invalid_arguments",
            400,
        ),
        (
            "owner",
            "gsv__ReadFile",
            json!({ "path": "../canary" }),
            "invalid_arguments",
            400,
        ),
        (
            "owner",
            "gsv__EditFile",
            edit("two", "x"),
            "invalid_arguments",
            400,
        ),
        (
            "owner",
            "gsv__EditFile",
            edit("three", "x"),
            "invalid_arguments",
            400,
        ),
        (
            "owner",
            "gsv__ConfigGet",
            json!({ "path": "limits.calls_per_minut" }),
            "invalid_arguments",
            400,
        ),
        (
            "owner",
            "gsv__ReadFile",
            json!({ "path": "nowhere.md" }),
            "not_found",
            404,
        ),
        (
            "owner",
            "gsv__DeleteFile",
            json!({ "path": "nowhere.md" }),
            "not_found",
            404,
        ),
        (
            "owner",
            "gsv__ReadFile",
            json!({ "path": "bytes.bin" }),
            "failed",
            422,
        ),
        (
            "owner",
            "gsv__ReadFile",
            json!({ "path": "huge.txt" }),
            "too_large",
            413,
        ),
        (
            "reader",
            "gsv__WriteFile",
            json!({ "path": "notes/c.md", "content": "x" }),
            "forbidden",
            403,
        ),
        (
            "client",
            "gsv__WriteFile",
            json!({ "path": "deny/a.md", "content": "x" }),
            "denied_by_policy",
            403,
        ),
        (
            "client",
            "gsv__WriteFile",
            json!({ "path": "ask/a.md", "content": "x" }),
            "approval_required",
            428,
        ),
        (
            "client",
            "gsv__WriteFile",
            json!({ "path": "ask/never.md", "content": "x" }),
            "approval_denied",
            403,
        ),
    ]
}

const RULES: &str = r#"
[limits]
artifact_bytes = 100000
result_bytes = 4096
calls_per_minute = 3

[[policy.rules]]
decision = "deny"
callers = ["client:*"]
when.path.starts_with = "deny/"
reason = "that is mine"

[[policy.rules]]
decision = "ask"
callers = ["client:*"]
when.path.starts_with = "ask/"

[[policy.rules]]
decision = "allow"
"#;

/// Puts the workspace back to what every call starts from.
fn reset(gateway: &Gateway) {
    gateway.write("notes/a.md", "one\ntwo\r\ntwo");
    gateway.write("notes/doomed.md", "x");
    for extra in [
        "notes/b.md",
        "notes/c.md",
        "deny/a.md",
        "ask/a.md",
        "ask/never.md",
    ] {
        gateway.call("gsv__DeleteFile", json!({ "path": extra }));
    }
}

fn plant(gateway: &Gateway) {
    reset(gateway);
    let place = |name: &str| gateway.home.blob(&format!("agents/main/{name}"));
    std::fs::write(place("bytes.bin"), b"\xff\xfe").expect("a file");
    std::fs::write(place("huge.txt"), vec![b'x'; 100_001]).expect("a file");
    std::fs::write(place("big.txt"), vec![b'x'; 9_000]).expect("a file");
}

#[test]
fn the_same_call_gives_the_same_outcome_on_every_interface() {
    let gateway = Gateway::with_config(RULES);
    plant(&gateway);
    let canary = gateway.home.blob("agents/canary");
    std::fs::write(&canary, "outside").expect("a canary");
    let reader = gateway
        .token(json!({ "name": "reader", "role": "read-only" }))
        .0;
    let client = gateway.client("laptop");
    let mut callers = [
        ("owner", Caller::new(&gateway, &gateway.owner)),
        ("reader", Caller::new(&gateway, &reader)),
        ("client", Caller::new(&gateway, &client)),
    ];
    refuse(
        &gateway,
        &client,
        json!({ "path": "ask/never.md", "content": "x" }),
    );
    for (who, tool, arguments, code, status) in cases() {
        let caller = callers.iter_mut().find(|(name, _)| *name == who);
        let caller = &mut caller.expect("a caller").1;
        reset(&gateway);
        let path = format!("/api/tools/{tool}");
        let response = gateway.send(&Request::post(&path, &arguments).bearer(&caller.token));
        assert_eq!(
            response.status,
            status,
            "{tool} {arguments}: {}",
            response.text()
        );
        let expect = Said::of_envelope(&response.json());
        assert_eq!(
            expect.code.as_deref(),
            Some(code),
            "{tool} {arguments}: {expect:?}"
        );
        assert_eq!(expect.ok, code.is_empty());
        assert_eq!(expect.error.is_empty(), expect.ok, "{expect:?}");
        for face in FACES {
            // A reader and a client with few calls a minute would be held up by their own tries.
            if code.is_empty() && who == "reader" && face != "WebSocket" {
                continue;
            }
            reset(&gateway);
            let said = caller.call(face, tool, &arguments);
            assert!(
                said.same_as(&expect),
                "{face} {tool} {arguments}\n said {said:?}\n not  {expect:?}"
            );
        }
    }
    assert_eq!(
        std::fs::read_to_string(&canary).expect("the canary"),
        "outside"
    );
    for (_, caller) in callers {
        for pipe in caller.pipes {
            assert_eq!(
                pipe.finish(),
                Some(0),
                "a client that closes its end is no failure"
            );
        }
    }
}

/// The owner says no to this call of `token`, before it is made on every face.
fn refuse(gateway: &Gateway, token: &str, arguments: Value) {
    let said = gateway.call_as(token, "gsv__WriteFile", arguments).json();
    let id = said["details"]["approvalId"]
        .as_str()
        .unwrap_or_else(|| panic!("{said}"));
    let denied = gateway.post(
        &format!("/api/approvals/{id}"),
        &json!({ "decision": "deny" }),
    );
    assert_eq!(denied.status, 200, "{}", denied.text());
}

/// Makes calls until one is refused, and says how many were let through.
fn used_up(gateway: &Gateway, token: &str) -> usize {
    let call = || gateway.call_as(token, "gsv__ReadFile", json!({})).status;
    let mut statuses = (0..100).map(|_| call());
    let let_through = statuses.position(|status| status != 200);
    let_through.expect("calls are limited")
}

#[test]
fn an_exceeded_minute_limit_is_the_same_on_every_interface() {
    let gateway = Gateway::with_config("[limits]\ncalls_per_minute = 3\n");
    let token = gateway.client("busy");
    let mut caller = Caller::new(&gateway, &token);
    assert!(used_up(&gateway, &token) >= 3, "the control");
    // A call may have been given back between the last one and this one, on a slow machine.
    let mut refused = |face: &str| {
        (0..10).find_map(|_| {
            used_up(&gateway, &token);
            let said = caller.call(face, "gsv__ReadFile", &json!({}));
            (!said.ok).then_some(said)
        })
    };
    let expect = refused("HTTP tools").expect("a refusal");
    assert_eq!(expect.code.as_deref(), Some("rate_limited"));
    for face in FACES {
        let said = refused(face).unwrap_or_else(|| panic!("{face} refuses nothing"));
        assert!(said.same_as(&expect), "{face}: {said:?}\n not {expect:?}");
    }
}

#[test]
fn an_exceeded_day_limit_is_the_same_on_every_interface() {
    let gateway = Gateway::with_config("[limits]\ncalls_per_day = 1\n");
    let token = gateway.client("laptop");
    let mut caller = Caller::new(&gateway, &token);
    let first = caller.call("HTTP tools", "gsv__ReadFile", &json!({}));
    assert!(first.ok, "the control: {first:?}");
    let expect = caller.call("HTTP tools", "gsv__ReadFile", &json!({}));
    assert_eq!(expect.code.as_deref(), Some("budget_exceeded"));
    for face in FACES {
        let said = caller.call(face, "gsv__ReadFile", &json!({}));
        assert!(said.same_as(&expect), "{face}: {said:?}");
    }
}

#[test]
fn every_interface_lists_the_same_catalogue() {
    let gateway = Gateway::start();
    let patterns = json!({ "name": "c", "role": "client", "tools": ["gsv__*File"] });
    let narrow = gateway.token(patterns).0;
    let node = gateway.token(json!({ "name": "n", "role": "node" })).0;
    for token in [&gateway.owner, &narrow, &node] {
        let http = Request::get("/api/tools").bearer(token);
        let http = gateway.send(&http).json()["result"].clone();
        let cli = gateway.cli(&["--token", token, "tools", "--json"]).ok();
        assert_eq!(http, cli.json(), "the command line shows what HTTP does");
        let listed = http["tools"].as_array().expect("tools").clone();
        let grouped = ["core", "extra", "channel"].map(|group| http["groups"][group].clone());
        let grouped: usize = grouped
            .iter()
            .filter_map(|g| g.as_array())
            .map(Vec::len)
            .sum();
        assert_eq!(grouped, listed.len(), "each tool is in one group");
        let names = |list: &[Value], field: &str| -> Vec<String> {
            let names = list.iter().filter_map(|tool| tool[field].as_str());
            names.map(str::to_owned).collect()
        };
        let own = names(&listed, "name");
        if *token == node {
            assert!(own.is_empty(), "a node calls no tools: {own:?}");
        } else {
            assert!(own.contains(&"gsv__ReadFile".to_owned()), "{own:?}");
            let ws = Socket::connect(gateway.addr, token).request("tools.list", json!({}));
            let ws = ws["payload"]["tools"].as_array().expect("tools").clone();
            assert_eq!(names(&ws, "name"), own);
            same_shapes(&ws, &listed);
        }
        if *token == narrow {
            let fits = |name: &String| name.starts_with("gsv__") && name.ends_with("File");
            assert!(own.len() == 4 && own.iter().all(fits), "{own:?}");
        }
        for era in [Era::Initialize, Era::Stateless] {
            let mut pipe = Pipe::start(&gateway, era, token);
            let piped = pipe.request("tools/list", json!({}));
            let piped = piped["result"]["tools"].as_array().expect("tools").clone();
            for list in [mcp::list(&gateway, era, token), piped] {
                assert_eq!(names(&list, "name"), names(&listed, "wireName"));
                same_shapes(&list, &listed);
            }
        }
    }
}

#[track_caller]
fn same_shapes(list: &[Value], reference: &[Value]) {
    for (tool, reference) in list.iter().zip(reference) {
        for field in ["description", "inputSchema"] {
            assert_eq!(tool[field], reference[field], "{}", tool["name"]);
        }
    }
}

#[test]
fn the_listing_has_effects_and_location_of_a_tool() {
    let gateway = Gateway::start();
    let listed = gateway.get("/api/tools").json();
    let table = [
        ("gsv__ConfigGet", json!(["reads"]), true),
        ("gsv__DeleteFile", json!(["writes"]), false),
        ("gsv__EditFile", json!(["reads", "writes"]), false),
        ("gsv__ReadFile", json!(["reads"]), true),
        ("gsv__WriteFile", json!(["writes"]), false),
    ];
    let mcp = mcp::list(&gateway, Era::Stateless, &gateway.owner);
    let named = |list: &[Value], name: &str| -> Value {
        let found = list.iter().find(|tool| tool["name"] == name);
        found.unwrap_or_else(|| panic!("{name} is listed")).clone()
    };
    let listed = listed["result"]["tools"].as_array().expect("tools");
    for (name, effects, looks_only) in &table {
        let (tool, over_mcp) = (named(listed, name), named(&mcp, name));
        let seen = [
            &tool["family"],
            &tool["runsOn"],
            &tool["group"],
            &tool["wireName"],
        ];
        assert_eq!(seen, ["gsv", "gateway", "core", *name], "{tool}");
        assert_eq!(tool["effects"], *effects, "{name}");
        let hint = &over_mcp["annotations"]["readOnlyHint"];
        assert_eq!(
            (hint, &over_mcp["outputSchema"]["type"]),
            (&json!(looks_only), &json!("object")),
            "{name}"
        );
        assert_eq!(gateway.cli(&["tools", name]).ok().json(), tool);
    }
    let shown = gateway.cli(&["tools"]).ok().stdout;
    for (name, ..) in table {
        assert!(shown.contains(name), "{shown}");
    }
    assert_eq!(gateway.cli(&["tools", "nothing"]).code, Some(1));
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest_one() {
    let gateway = Gateway::start();
    let near = [
        ("gsv__readfile", "gsv__ReadFile"),
        ("gsv::ReadFile", "gsv__ReadFile"),
        ("gsv__WriteFiles", "gsv__WriteFile"),
    ];
    for (asked, meant) in near {
        let said = gateway.call(asked, json!({}));
        assert_eq!(said["code"], "unknown_tool");
        let error = said["error"].as_str().expect("an error");
        assert!(error.contains(asked) && error.contains(meant), "{error}");
    }
    let node_only = gateway
        .token(json!({ "name": "c", "role": "client", "tools": ["gsv__Config*"] }))
        .0;
    let said = gateway
        .call_as(&node_only, "gsv__readfile", json!({}))
        .json();
    assert!(
        !said["error"]
            .as_str()
            .expect("an error")
            .contains("gsv__ReadFile"),
        "what a caller may not see is not named: {said}"
    );
}

#[test]
fn arguments_come_from_standard_input_and_other_agents_have_other_workspaces() {
    let gateway = Gateway::start();
    let arguments = json!({ "path": "a.md", "content": "for helper" }).to_string();
    let ran = gateway.home.cli_with(
        &["call", "gsv__WriteFile", "--agent", "helper", "-"],
        &arguments,
    );
    assert_eq!(ran.ok().json()["result"]["written"], true);
    assert_eq!(gateway.read("a.md"), None, "main's workspace is another");
    let place = gateway.home.blob("agents/helper/a.md");
    assert_eq!(
        std::fs::read_to_string(place).expect("the file"),
        "for helper"
    );
    let mut socket = gateway.ws();
    let read = socket.request(
        "tool.invoke",
        json!({ "tool": "gsv__ReadFile", "args": { "path": "a.md" }, "agentId": "helper" }),
    );
    assert_eq!(read["payload"]["result"]["content"], "for helper");
    let before = crate::harness::tree(&gateway.home.blob(""));
    for agent in ["../main", "Helper", "", "a/b", "."] {
        let ran = gateway.cli(&[
            "call",
            "gsv__WriteFile",
            "--agent",
            agent,
            r#"{"path":"x","content":"x"}"#,
        ]);
        assert_eq!(ran.json()["code"], "invalid_arguments", "{agent}");
        let read = socket.request(
            "tool.invoke",
            json!({ "tool": "gsv__ReadFile", "agentId": agent }),
        );
        assert_eq!(read["error"]["code"], 400, "{agent}: {read}");
    }
    for wrong in ["{", "[]", "7", "\"text\"", "{\"path\":\"x\"} trailing"] {
        let ran = gateway.cli(&["call", "gsv__ReadFile", wrong]);
        assert_eq!(
            (ran.code, ran.json()["code"].as_str()),
            (Some(1), Some("invalid_arguments")),
            "{wrong}"
        );
    }
    assert_eq!(
        crate::harness::tree(&gateway.home.blob("")),
        before,
        "nothing changed"
    );
}

#[test]
fn the_sockets_own_methods_are_calls_like_any_other() {
    let gateway = Gateway::start();
    let mut socket = gateway.ws();
    let written = socket.request(
        "workspace.write",
        json!({ "path": "d/a.md", "content": "hé" }),
    );
    assert_eq!(
        (&written["payload"]["size"], &written["payload"]["written"]),
        (&json!(3), &json!(true))
    );
    let read = socket.request("workspace.read", json!({ "path": "d/a.md" }));
    assert_eq!(read["payload"]["content"], "hé");
    let listed = socket.request("workspace.list", json!({ "path": "d" }));
    assert_eq!(listed["payload"]["files"], json!(["d/a.md"]));
    let root = socket.request("workspace.list", json!({}));
    assert_eq!(root["payload"]["directories"], json!(["d/"]));
    let one = socket.request("config.get", json!({ "path": "limits.calls_per_minute" }));
    assert_eq!(
        one["payload"],
        json!({ "path": "limits.calls_per_minute", "value": 600 })
    );
    let set = socket.request(
        "config.set",
        json!({ "path": "limits.result_bytes", "value": 5000 }),
    );
    assert_eq!(set["payload"]["ok"], true, "{set}");
    let one = socket.request("config.get", json!({ "path": "limits.result_bytes" }));
    assert_eq!(one["payload"]["value"], 5000);
    let wrong = socket.request(
        "config.set",
        json!({ "path": "limits.result_bytes", "value": -1 }),
    );
    assert_eq!(wrong["error"]["code"], 400, "{wrong}");
    let gone = socket.request("workspace.delete", json!({ "path": "d/a.md" }));
    assert_eq!(
        gone["payload"],
        json!({ "path": "d/a.md", "deleted": true })
    );
    let missing = socket.request("workspace.read", json!({ "path": "d/a.md" }));
    assert_eq!(missing["error"]["code"], 404, "{missing}");
    let nothing = socket.request("chat.sned", json!({}));
    assert_eq!(nothing["error"]["code"], 404, "{nothing}");
    let again = socket.request("connect", crate::socket::hello(Some(&gateway.owner)));
    assert_eq!(again["error"]["code"], 103, "{again}");
    let wrong = socket.request("tool.invoke", json!({ "tool": 7 }));
    assert_eq!(wrong["error"]["code"], 400, "{wrong}");
    let still = socket.request("tools.list", json!({}));
    assert_eq!(still["ok"], true, "the socket goes on");
    let audited = gateway.audit();
    for tool in [
        "gsv__WriteFile",
        "gsv__ReadFile",
        "gsv__DeleteFile",
        "config.set",
    ] {
        assert!(
            audited.iter().any(|entry| entry["tool"] == tool),
            "{tool} is in the audit"
        );
    }
}

#[test]
fn mcp_gives_older_clients_sessions_and_reports_what_it_does_not_support() {
    let gateway = Gateway::start();
    let initialize = |version: &str| {
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
        Request::post(
            "/mcp",
            &mcp::message(Era::Initialize, 1, "initialize", params),
        )
        .header("Accept", "application/json, text/event-stream")
        .bearer(&gateway.owner)
    };
    let said = gateway.send(&initialize("2025-11-25"));
    assert_eq!(said.status, 200);
    assert!(said.header("mcp-session-id").is_some());
    let future = mcp::answer(&gateway.send(&initialize("2099-01-01")));
    let offered = &future["result"]["protocolVersion"];
    assert!(
        offered.is_string() && offered != "2099-01-01",
        "an older version is offered: {future}"
    );
    // Without a session there is nothing to end.
    for (method, status) in [("PUT", 405), ("DELETE", 400)] {
        let request = Request::new(method, "/mcp")
            .header("Accept", "text/event-stream")
            .bearer(&gateway.owner);
        assert_eq!(gateway.send(&request).status, status, "{method}");
    }
    let list = |era| mcp::request(era, "tools/list", json!({}), Some(&gateway.owner));
    assert_eq!(
        gateway.send(&list(Era::Stateless)).status,
        200,
        "the control"
    );
    let nothing = mcp::request(
        Era::Stateless,
        "nothing/here",
        json!({}),
        Some(&gateway.owner),
    );
    assert_eq!(
        mcp::answer(&gateway.send(&nothing))["error"]["code"],
        -32601
    );
    let body = mcp::message(Era::Stateless, 1, "tools/list", json!({}));
    let mismatch = Request::post("/mcp", &body)
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .bearer(&gateway.owner);
    assert_eq!(
        gateway.send(&mismatch).status,
        400,
        "headers that contradict the body"
    );
}
