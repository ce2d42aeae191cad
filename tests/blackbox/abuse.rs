//! Hostile paths, planted links, nonsense and floods: refused, contained, survived.

use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};

use crate::harness::{Gateway, Home, tree};
use crate::http::{Connection, Request};
use crate::mcp::{self, Era};

const READ: &str = "gsv__ReadFile";
const WRITE: &str = "gsv__WriteFile";
const EDIT: &str = "gsv__EditFile";
const DELETE: &str = "gsv__DeleteFile";

/// What no tool may read or change, around the workspace of `main`.
fn canaries(home: &Home) -> Vec<PathBuf> {
    let places = [
        home.outside("canary"),
        home.outside("dir/canary"),
        home.path().join("canary"),
        home.blob("canary"),
        home.blob("agents/canary"),
        home.blob("agents/main2/canary"),
        home.blob("agents/mai/canary"),
    ];
    for place in &places {
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("folders");
        std::fs::write(place, "canary").expect("a canary");
    }
    places.into()
}

/// Everything that is not the main agent's, with its bytes; what the daemon itself moves left out.
fn elsewhere(home: &Home) -> Vec<(String, Vec<u8>)> {
    let mut all = tree(&home.outside(""));
    let moving = |name: &str| {
        name.starts_with("home/") && !name.starts_with("home/blobs") && !name.ends_with("canary")
            || name.starts_with("home/blobs/agents/main/")
    };
    all.retain(|(name, _)| !moving(name));
    all
}

/// The arguments with which each tool would touch `path`.
fn arguments(tool: &str, path: &str) -> Value {
    match tool {
        WRITE => json!({ "path": path, "content": "evil" }),
        EDIT => json!({ "path": path, "oldString": "canary", "newString": "evil" }),
        _ => json!({ "path": path }),
    }
}

#[test]
fn no_path_leads_out_of_the_workspace() {
    let gateway = Gateway::start();
    canaries(&gateway.home);
    gateway.write("a/inside.md", "inside");
    let home = gateway.home.path().display().to_string();
    let long_name = "n".repeat(256);
    let long_path = "d/".repeat(2_100) + "x";
    let deep = "d/".repeat(64) + "x";
    let absolute = format!("{home}/canary");
    let refused = [
        "..",
        "../",
        "../canary",
        "../../canary",
        "../../../canary",
        "../main2/canary",
        "../mai/canary",
        "a/../../canary",
        "a/../inside.md",
        "a/..",
        "./../canary",
        "a/./../../canary",
        "a//..//..//canary",
        "/etc/passwd",
        "//etc/passwd",
        "/canary",
        "/../canary",
        "canary\0.md",
        "\0",
        "a/\0/b",
        "line\nbreak",
        "tab\there",
        "\u{7f}",
        "\u{1b}[2J",
        &absolute,
        &long_name,
        &long_path,
        &deep,
        ".mh-tmp-x",
        "a/.mh-tmp-1",
        "skills/../../canary",
        "skills/../canary",
        "skills/../../../canary",
    ];
    let before = elsewhere(&gateway.home);
    let inside = tree(&gateway.home.blob("agents/main"));
    let mut socket = gateway.ws();
    for tool in [READ, WRITE, EDIT, DELETE] {
        for path in refused {
            let said = gateway.call(tool, arguments(tool, path));
            assert_eq!(said["ok"], false, "{tool} {path:?}: {said}");
            assert_eq!(said["code"], "invalid_arguments", "{tool} {path:?}: {said}");
            assert_eq!(
                said["problems"][0]["parameter"], "path",
                "{tool} {path:?}: {said}"
            );
            assert!(!said.to_string().contains("canary\"},"), "{said}");
            assert_eq!(
                socket.call(tool, &arguments(tool, path))["code"],
                "invalid_arguments",
                "{tool} {path:?}"
            );
        }
    }
    assert_eq!(elsewhere(&gateway.home), before, "nothing changed outside");
    assert_eq!(
        tree(&gateway.home.blob("agents/main")),
        inside,
        "nor inside"
    );
    assert_eq!(
        gateway.read("a/inside.md").as_deref(),
        Some("inside"),
        "the control"
    );
}

#[test]
fn names_that_resemble_parent_paths_are_allowed() {
    let gateway = Gateway::start();
    canaries(&gateway.home);
    let before = elsewhere(&gateway.home);
    let names = [
        "a..b",
        "..a",
        "a..",
        "...",
        "..\\canary",
        "a\\..\\..\\canary",
        "C:\\canary",
        "%2e%2e/canary",
        "..%2fcanary",
        "%2e%2e%2fcanary",
        "..%c0%afcanary",
        "\u{ff0e}\u{ff0e}/canary",
        "\u{2025}/canary",
        "\u{2024}\u{2024}/canary",
        "\u{2215}etc\u{2215}passwd",
        "..\u{200b}/canary",
        "~/canary",
        "$HOME/canary",
        "a b",
        "-rf",
        "e\u{301}.md",
        "\u{e9}.md",
        "con",
        "a:b",
        "*",
        "\u{202e}gpj.md",
        "agents/main/x",
        "file:",
        "skills.md",
    ];
    for name in names {
        gateway.write(name, name);
        assert_eq!(gateway.read(name).as_deref(), Some(name), "{name:?}");
        assert!(
            gateway.home.blob("agents/main").join(name).is_file(),
            "{name:?} is where it says"
        );
    }
    for name in names {
        assert_eq!(
            gateway.read(name).as_deref(),
            Some(name),
            "{name:?} is no other file"
        );
        assert_eq!(
            gateway.call(DELETE, json!({ "path": name }))["ok"],
            true,
            "{name:?}"
        );
    }
    assert_eq!(elsewhere(&gateway.home), before, "nothing changed outside");
}

#[test]
fn planted_links_lead_nowhere_outside() {
    let gateway = Gateway::start();
    let home = &gateway.home;
    canaries(home);
    gateway.write("real/a.md", "inside");
    let main = home.blob("agents/main");
    let link = |target: &Path, name: &str| symlink(target, main.join(name)).expect("a link");
    link(&home.outside("canary"), "absolute");
    link(Path::new("../../../../canary"), "climbing");
    link(Path::new("../../../canary"), "home-canary");
    link(&home.outside("dir"), "outdir");
    link(Path::new("../../.."), "up");
    link(Path::new("/"), "root");
    link(Path::new("/etc/passwd"), "passwd");
    link(Path::new("looped"), "looped");
    link(Path::new("nowhere"), "dangling");
    link(Path::new("/proc/self/root/etc/passwd"), "magic");
    link(Path::new("real/a.md"), "inside.md");
    link(Path::new("real"), "indir");
    let before = elsewhere(home);
    let out = [
        "absolute",
        "climbing",
        "home-canary",
        "outdir",
        "outdir/canary",
        "up/canary",
        "up/owner.token",
        "up/config.toml",
        "up/blobs/agents/main/real/a.md",
        "root/etc/passwd",
        "passwd",
        "magic",
        "looped",
        "up/new.md",
        "outdir/new.md",
        "root/tmp/new.md",
        "looped/x",
    ];
    for path in out {
        for tool in [READ, EDIT, WRITE] {
            let said = gateway.call(tool, arguments(tool, path));
            assert_eq!(said["ok"], false, "{tool} {path}: {said}");
            assert_ne!(said["code"], "internal", "{tool} {path}: {said}");
            let text = said.to_string();
            assert!(
                !text.contains("root:") && !text.contains("canary canary"),
                "{tool} {path}: {said}"
            );
        }
        if path.contains('/') {
            let said = gateway.call(DELETE, json!({ "path": path }));
            assert_eq!(said["ok"], false, "delete {path}: {said}");
        }
    }
    for directory in ["up", "root", "outdir", "up/", "up/blobs", "root/etc"] {
        let said = gateway.call(READ, json!({ "path": directory }));
        assert_eq!(said["ok"], false, "listing {directory}: {said}");
    }
    assert_eq!(elsewhere(home), before, "nothing changed outside");
    assert_eq!(
        gateway.read("real/a.md").as_deref(),
        Some("inside"),
        "the control"
    );
    assert_eq!(
        gateway.read("inside.md").as_deref(),
        Some("inside"),
        "a link that stays inside is followed"
    );
    assert_eq!(
        gateway.read("indir/a.md").as_deref(),
        Some("inside"),
        "and so is a folder"
    );
    let root = gateway.call(READ, json!({}));
    assert_eq!(root["ok"], true, "the root can still be listed: {root}");
    assert!(!root.to_string().contains("canary"), "{root}");
}

#[test]
fn a_link_swapped_in_mid_call_leads_nowhere() {
    let gateway = Gateway::start();
    let home = &gateway.home;
    gateway.write("d/x.md", "inside");
    let main = home.blob("agents/main");
    let outside = home.outside("trap");
    std::fs::create_dir(&outside).expect("a folder");
    std::fs::write(outside.join("x.md"), "CANARY").expect("a canary");
    symlink(&outside, main.join("link")).expect("a link");
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = {
        let (stop, main) = (stop.clone(), main.clone());
        std::thread::spawn(move || {
            let exchange = rustix::fs::RenameFlags::EXCHANGE;
            let mut swaps = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                let here = rustix::fs::CWD;
                rustix::fs::renameat_with(here, main.join("d"), here, main.join("link"), exchange)
                    .expect("a swap");
                swaps += 1;
            }
            swaps
        })
    };
    let mut connection = Connection::open(gateway.addr).expect("a connection");
    let mut call = |tool: &str, arguments: Value| {
        let request =
            Request::post(&format!("/api/tools/{tool}"), &arguments).bearer(&gateway.owner);
        connection.send(&request).expect("an answer").json()
    };
    let (mut read, mut refused) = (0, 0);
    for round in 0..600 {
        let said = match round % 3 {
            0 => call(READ, json!({ "path": "d/x.md" })),
            1 => call(WRITE, json!({ "path": "d/x.md", "content": "inside" })),
            _ => call(READ, json!({ "path": "d" })),
        };
        assert!(!said.to_string().contains("CANARY"), "{said}");
        assert_ne!(said["code"], "internal", "{said}");
        *(if said["ok"] == true {
            &mut read
        } else {
            &mut refused
        }) += 1;
    }
    stop.store(true, Ordering::Relaxed);
    let swaps = swapper.join().expect("the swapper");
    assert!(
        swaps > 100 && read > 0 && refused > 0,
        "it raced: {swaps} swaps, {read} let through, {refused} refused"
    );
    let trap: Vec<(String, Vec<u8>)> = tree(&outside);
    assert_eq!(
        trap,
        [("x.md".to_owned(), b"CANARY".to_vec())],
        "nothing changed outside"
    );
}

/// Any JSON, with parameter names among its keys and odd texts among its values.
fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        3 => prop::sample::select(vec!["path", "content", "oldString", "newString", "replaceAll", "PATH", "__proto__", ""]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    let text = prop_oneof![
        2 => prop::sample::select(vec!["a.md", "/", "", "..", "skills", "d/", "\u{0}", "\u{feff}", "limits"]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        4 => text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, move |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..5).prop_map(Value::from),
            4 => btree_map(key.clone(), inner, 0..5).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A fixed sequence, so that a failure comes back; nothing is written beside the tests.
fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    )
}

const CODES: [&str; 6] = [
    "invalid_arguments",
    "unknown_tool",
    "not_found",
    "conflict",
    "failed",
    "too_large",
];

#[test]
fn no_arguments_break_any_tool() {
    let gateway = Gateway::start();
    canaries(&gateway.home);
    let before = elsewhere(&gateway.home);
    let tools = vec![READ, WRITE, EDIT, DELETE, "gsv__ConfigGet"];
    let connection = std::cell::RefCell::new(Connection::open(gateway.addr).expect("a connection"));
    let cases = (prop::sample::select(tools), any_json());
    let outcome = runner(1_500).run(&cases, |(tool, arguments)| {
        let request =
            Request::post(&format!("/api/tools/{tool}"), &arguments).bearer(&gateway.owner);
        let response = connection
            .borrow_mut()
            .send(&request)
            .map_err(|e| TestCaseError::fail(e.to_string()))?;
        let said = response.json();
        prop_assert!(response.status < 500, "{} {}", response.status, said);
        let fine = said["ok"] == true || CODES.contains(&said["code"].as_str().unwrap_or_default());
        prop_assert!(fine, "{said}");
        Ok(())
    });
    outcome.expect("every call has an envelope");
    assert_eq!(elsewhere(&gateway.home), before, "nothing changed outside");
    gateway.verify_audit();
}

#[test]
fn no_bytes_break_any_interface() {
    let gateway = Gateway::start();
    let bytes = prop_oneof![
        vec(any::<u8>(), 0..200),
        any_json().prop_map(|value| value.to_string().into_bytes()),
        any::<String>().prop_map(String::into_bytes),
    ];
    let paths = vec![
        "/api/tools/gsv__ReadFile",
        "/api/trigger/x",
        "/api/tokens",
        "/api/policy/explain",
        "/api/approvals/x",
        "/mcp",
        "/api/tools/",
    ];
    let outcome = runner(400).run(&(prop::sample::select(paths), bytes), |(path, bytes)| {
        let request = Request::new("POST", path)
            .body(bytes)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .bearer(&gateway.owner);
        let response = request
            .try_send(gateway.addr)
            .map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert!(
            response.status < 500,
            "{path}: {} {}",
            response.status,
            response.text()
        );
        Ok(())
    });
    outcome.expect("every request is answered");
    let socket = gateway.ws();
    let socket = std::cell::RefCell::new(socket);
    let outcome = runner(300).run(&any_json(), |params| {
        let said = socket.borrow_mut().request("tool.invoke", params);
        prop_assert!(
            said["ok"] == true || said["error"]["code"].as_u64() < Some(500),
            "{said}"
        );
        Ok(())
    });
    outcome.expect("every frame is answered");
    let mut socket = socket.into_inner();
    for text in [
        "",
        "{",
        "[]",
        "null",
        "{\"type\":\"req\"}",
        "{\"type\":\"res\",\"id\":\"1\",\"ok\":true}",
        "{\"type\":\"evt\",\"event\":\"x\"}",
        "\u{0}",
        "{\"type\":\"req\",\"id\":7,\"method\":\"x\"}",
    ] {
        socket.send_text(text);
    }
    assert_eq!(
        socket.request("tools.list", json!({}))["ok"],
        true,
        "the socket goes on"
    );
    socket.send_binary(&[0; 100]);
    assert_eq!(
        socket.closed().code,
        Some(1003),
        "no transfer was given to it"
    );
    alive(&gateway);
}

/// That the gateway still does its work.
#[track_caller]
fn alive(gateway: &Gateway) {
    gateway.write("alive.md", "yes");
    assert_eq!(gateway.read("alive.md").as_deref(), Some("yes"));
    assert_eq!(gateway.send(&Request::get("/readyz")).status, 200);
}

#[test]
fn an_oversized_request_is_refused_and_the_gateway_survives() {
    let gateway = Gateway::with_config("[limits]\nrequest_bytes = 100000\n");
    let content = |bytes: usize| json!({ "path": "big.md", "content": "x".repeat(bytes) });
    assert_eq!(
        gateway
            .call_as(&gateway.owner, WRITE, content(90_000))
            .status,
        200,
        "the control"
    );
    let said = gateway.call_as(&gateway.owner, WRITE, content(5_000_000));
    assert_eq!(said.status, 413);
    assert_eq!(said.json()["code"], "too_large");
    let over_mcp = mcp::request(
        Era::Stateless,
        "tools/call",
        json!({ "name": WRITE, "arguments": content(5_000_000) }),
        Some(&gateway.owner),
    );
    assert_eq!(gateway.send(&over_mcp).status, 413);
    let mut socket = gateway.ws();
    socket.ask(
        "tool.invoke",
        json!({ "tool": WRITE, "args": content(200_000) }),
    );
    let closed = socket.closed();
    assert_eq!(closed.code, Some(1009), "{closed:?}");
    assert_eq!(
        gateway.read("big.md").map(|text| text.len()),
        Some(90_000),
        "nothing changed"
    );
    let headers = (0..300).fold(Request::get("/healthz"), |request, n| {
        request.header(&format!("X-{n}"), "x")
    });
    assert!(gateway.send(&headers).status >= 400, "too many headers");
    alive(&gateway);
}

#[test]
fn deeply_nested_json_is_refused_and_the_gateway_survives() {
    let gateway = Gateway::start();
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(50_000), "}".repeat(50_000));
    for body in [deep.clone(), objects, format!("{{\"path\":{deep}}}")] {
        let request = Request::new("POST", "/api/tools/gsv__ReadFile")
            .body(body.clone().into_bytes())
            .bearer(&gateway.owner);
        let said = gateway.send(&request);
        assert_eq!(
            (said.status, said.json()["code"].as_str()),
            (400, Some("invalid_arguments"))
        );
        let over_mcp = Request::new("POST", "/mcp")
            .body(body.clone().into_bytes())
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .bearer(&gateway.owner);
        assert!((400..500).contains(&gateway.send(&over_mcp).status));
        let mut socket = gateway.ws();
        socket.send_text(&format!(
            "{{\"type\":\"req\",\"id\":\"1\",\"method\":\"x\",\"params\":{body}}}"
        ));
        let mut told = std::iter::from_fn(|| socket.frame().ok());
        let answer = told.find(|frame| frame["type"] == "res");
        assert_eq!(answer.expect("an answer")["error"]["code"], 400);
    }
    alive(&gateway);
}

#[test]
fn garbage_and_slow_clients_delay_nobody() {
    let gateway = Gateway::start();
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"\0\0\0\0",
        b"GET\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &[0xff; 4_000],
    ] {
        let mut connection = Connection::open(gateway.addr).expect("a connection");
        connection.write(garbage).expect("sent");
        connection.patience(std::time::Duration::from_millis(250));
        if let Ok(said) = connection.read() {
            assert!(said.status >= 400, "{garbage:?}: {}", said.status);
        }
    }
    // Half a request each, and never the rest.
    let mut slow = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(gateway.addr).expect("a connection");
        let head = format!(
            "POST /api/tools/gsv__WriteFile HTTP/1.1\r\nHost: {}\r\nContent-Length: 1000\r\n",
            gateway.addr
        );
        std::io::Write::write_all(&mut stream, head.as_bytes()).expect("sent");
        slow.push(stream);
    }
    // Sockets that never say connect, and one that asks much and reads nothing.
    let silent: Vec<_> = (0..50)
        .map(|_| crate::socket::Socket::open(gateway.addr, &[]).expect("a socket"))
        .collect();
    gateway.write("big.md", &"x".repeat(200_000));
    let mut deaf = gateway.ws();
    for _ in 0..60 {
        deaf.ask(
            "tool.invoke",
            json!({ "tool": READ, "args": { "path": "big.md" } }),
        );
    }
    for _ in 0..20 {
        alive(&gateway);
    }
    drop((slow, silent, deaf));
    alive(&gateway);
}
