//! OpenTelemetry: what a real OTLP receiver gets from gateways and nodes, and what they cost others while it is away.
//!
//! The receiver decodes requests with the package that OpenTelemetry publishes.

mod collector;
mod dashboards;

use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use crate::federation::known;
use crate::harness::{Gateway, Home, eventually, up};
use crate::http::Request;
use crate::nodes::fixture::Plan;
use collector::{Collector, NotesServer, Span};

/// The trace that the clients of these tests are in.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// A secret of the vault, and a text that is none but is not for others either.
const SECRET: &str = "sk-planted-secret-0123456789";
const PRIVATE: &str = "private words of the owner";

const SCRIPT: &str = r#"
models: [demo]
turns:
  - when: { user: write it }
    calls: [{ id: c1, name: gsv__WriteFile, arguments: { path: note.md, content: "private words of the owner" } }]
    usage: { input: 100, output: 20 }
  - when: { result_of: gsv__WriteFile }
    text: Written, private words of the owner.
    usage: { input: 130, output: 7, cache_read: 90 }
"#;

/// A gateway with a scripted model and an MCP server, whose environment has these variables.
#[track_caller]
fn gateway(server: &NotesServer, variables: &[(&str, &str)], more: &str) -> Gateway {
    let home = Home::new();
    let script = home.outside("script.yaml");
    std::fs::write(&script, SCRIPT).expect("the script");
    let settings = format!(
        "{more}\n[models]\ndefault = \"scripted/demo\"\n[models.providers.scripted]\nkind = \"scripted\"\nscript = {script:?}\n\
         [mcpServers.notes]\nurl = {:?}\n",
        server.url()
    );
    let home = home.with_config(&settings);
    let mut command = up(&home);
    command.envs(variables.iter().copied());
    let gateway = Gateway::from(home, command);
    known(&gateway, "notes");
    gateway
}

/// The variables of a process that exports to `collector` at once.
fn exporting(collector: &Collector) -> Vec<(&'static str, String)> {
    vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()),
        ("OTEL_BSP_SCHEDULE_DELAY", "50".to_owned()),
        ("OTEL_BLRP_SCHEDULE_DELAY", "50".to_owned()),
        ("OTEL_METRIC_EXPORT_INTERVAL", "100".to_owned()),
    ]
}

fn borrowed<'a>(variables: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    let pairs = variables.iter();
    pairs.map(|(name, value)| (*name, value.as_str())).collect()
}

/// Calls a tool within the clients' trace.
#[track_caller]
fn call_in_trace(gateway: &Gateway, tool: &str, arguments: Value) -> Value {
    let request = Request::post(&format!("/api/tools/{tool}"), &arguments)
        .bearer(&gateway.owner)
        .header("traceparent", PARENT)
        .header("tracestate", "vendor=1");
    gateway.send(&request).json()
}

/// The spans of a trace as a tree: service, kind and name, indented below their parents, in the order of their starts.
fn drawn(spans: &[Span], parent: &str, depth: usize) -> String {
    let mut below: Vec<&Span> = spans.iter().filter(|span| span.parent == parent).collect();
    below.sort_by_key(|span| span.began);
    let lines = below.into_iter().map(|span| {
        let (service, kind, name) = (&span.service, &span.kind, &span.name);
        let indent = "  ".repeat(depth);
        let line = format!("{indent}{service} {kind} {name}\n");
        line + &drawn(spans, &span.id, depth + 1)
    });
    lines.collect()
}

const GOLDEN: &str = "\
manyhands internal execute_tool notes__note
  manyhands client tools/call note
manyhands internal execute_tool laptop__Read
  manyhands client tool.invoke Read
    manyhands-node server execute_tool Read
manyhands internal invoke_agent main
  manyhands client chat demo
  manyhands internal execute_tool gsv__WriteFile
  manyhands client chat demo
manyhands server tools/call capabilities_discover
  manyhands internal execute_tool capabilities_discover
manyhands server tools/call note
  manyhands internal execute_tool notes__note
    manyhands client tools/call note
manyhands internal execute_tool code-execution_execute
  manyhands internal execute_tool notes__note
    manyhands client tools/call note
";

/// What each client does, in the order of `GOLDEN`.
#[track_caller]
fn act(gateway: &Gateway, laptop: &crate::nodes::fixture::Machine) {
    let said = call_in_trace(
        gateway,
        "notes__note",
        json!({ "text": format!("{PRIVATE} {SECRET}") }),
    );
    assert_eq!(said["ok"], true, "{said}");
    let file = laptop.file("a.txt");
    std::fs::write(&file, PRIVATE).expect("a file");
    let said = call_in_trace(gateway, "laptop__Read", json!({ "path": file }));
    assert_eq!(said["ok"], true, "{said}");
    let chat = Request::post("/api/chat", &json!({ "message": "write it" }))
        .bearer(&gateway.owner)
        .header("traceparent", PARENT);
    let said = gateway.send(&chat).json();
    assert!(said.to_string().contains("Written"), "{said}");
    // In `_meta`, which says more than the header of a request that several could share.
    let other = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-00";
    for (path, tool, arguments) in [
        (
            "/mcp",
            "capabilities_discover",
            json!({ "request": "read a file" }),
        ),
        ("/mcp/notes", "note", json!({ "text": PRIVATE })),
    ] {
        let params =
            json!({ "name": tool, "arguments": arguments, "_meta": { "traceparent": PARENT } });
        let said = mcp(gateway, path, other, &params);
        assert!(said["result"].is_object(), "{said}");
    }
    let code = json!({ "code": "return await callTool('notes', 'note', { text: 'x' })" });
    let said = call_in_trace(gateway, "code-execution_execute", code);
    assert_eq!(said["ok"], true, "{said}");
}

/// Sends `tools/call` to an MCP endpoint, after a handshake where there are sessions.
#[track_caller]
fn mcp(gateway: &Gateway, path: &str, traceparent: &str, params: &Value) -> Value {
    let request = |body: &Value| {
        Request::post(path, body)
            .bearer(&gateway.owner)
            .header("Accept", "application/json, text/event-stream")
    };
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    } });
    let welcome = gateway.send(&request(&hello));
    let session = welcome
        .header("mcp-session-id")
        .unwrap_or_default()
        .to_owned();
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
    let request = request(&call)
        .header("traceparent", traceparent)
        .header("mcp-protocol-version", "2025-06-18")
        .header("mcp-session-id", &session);
    let text = gateway.send(&request).text();
    let data = text.lines().find_map(|line| line.strip_prefix("data: {"));
    let json = data.map_or(text.clone(), |rest| format!("{{{rest}"));
    serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn one_trace_covers_clients_turns_servers_and_nodes() {
    let (collector, server) = (Collector::start(), NotesServer::start());
    let variables = exporting(&collector);
    let gateway = gateway(&server, &borrowed(&variables), "");
    let ran = gateway.home.cli_with(&["secret", "set", "planted"], SECRET);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut plan = Plan::new(&gateway, "laptop");
    for (name, value) in &variables {
        plan = plan.env(name, value);
    }
    let laptop = plan.lend(&gateway);
    act(&gateway, &laptop);
    let tree = || {
        let mut spans = collector.spans();
        spans.retain(|span| span.trace == TRACE);
        drawn(&spans, "b7ad6b7169203331", 0)
    };
    eventually("all spans of the trace", || tree().len() >= GOLDEN.len());
    assert_eq!(tree(), GOLDEN);
    the_server_was_told_its_trace(&server, &collector.spans());
    attributes_follow_the_conventions(&collector.spans());
    eventually("logs of the node", || {
        let logs = collector.logs();
        logs.iter()
            .any(|log| log["eventName"] == "tool_call_finished" && log["traceId"] == TRACE)
    });
    // Neither arguments nor results, prompts nor answers leave the gateway.
    let raw = collector.raw();
    for words in [SECRET, PRIVATE, "write it", "Written"] {
        assert!(!raw.contains(words), "{words:?} was exported");
    }
    assert!(
        raw.contains("execute_tool notes__note"),
        "what is exported is looked at"
    );
}

/// Each call of the MCP server names the client span that made it, in its headers and in `_meta`.
#[track_caller]
fn the_server_was_told_its_trace(server: &NotesServer, spans: &[Span]) {
    let calls = server.requests("tools/call");
    assert_eq!(calls.len(), 3, "{calls:?}");
    for call in calls {
        let told = call["meta"]["traceparent"].as_str().expect("a traceparent");
        assert_eq!(call["headers"]["traceparent"], told);
        let parent = spans
            .iter()
            .find(|span| told == format!("00-{TRACE}-{}-01", span.id));
        let parent = parent.unwrap_or_else(|| panic!("{told} is not a span"));
        assert_eq!(
            (&*parent.name, &*parent.kind),
            ("tools/call note", "client")
        );
    }
    let first = &server.requests("tools/call")[0];
    assert_eq!(first["headers"]["tracestate"], "vendor=1");
    assert_eq!(first["meta"]["tracestate"], "vendor=1");
}

#[track_caller]
fn attributes_follow_the_conventions(spans: &[Span]) {
    let find = |name: &str| {
        let found = spans
            .iter()
            .find(|span| span.trace == TRACE && span.name == name);
        found.unwrap_or_else(|| panic!("no span {name}"))
    };
    let chat = find("chat demo");
    for (key, value) in [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("scripted")),
        ("gen_ai.request.model", json!("demo")),
        ("gen_ai.response.finish_reasons", json!(["tool_call"])),
        ("gen_ai.usage.input_tokens", json!(100)),
        ("gen_ai.usage.output_tokens", json!(20)),
    ] {
        assert_eq!(chat.attributes[key], value, "{key} of {chat:?}");
    }
    let turn = find("invoke_agent main");
    assert_eq!(turn.attributes["gen_ai.agent.name"], "main");
    // 100, 130 and 90 from the cache.
    assert_eq!(turn.attributes["gen_ai.usage.input_tokens"], 320);
    let tool = find("execute_tool gsv__WriteFile");
    assert_eq!(tool.attributes["gen_ai.tool.name"], "gsv__WriteFile");
    assert_eq!(tool.attributes["gen_ai.operation.name"], "execute_tool");
    let client = find("tools/call note");
    assert_eq!(client.attributes["mcp.method.name"], "tools/call");
    assert_eq!(client.attributes["gen_ai.tool.name"], "note");
    assert_eq!(client.attributes["mcp.protocol.version"], "2025-06-18");
    assert!(spans.iter().all(|span| !span.failed), "{spans:?}");
}

#[test]
fn failures_are_marked_with_their_kind_and_not_their_text() {
    let (collector, server) = (Collector::start(), NotesServer::start());
    let gateway = gateway(&server, &borrowed(&exporting(&collector)), "");
    let arguments = json!({ "text": PRIVATE, "fail": true });
    let said = call_in_trace(&gateway, "notes__note", arguments);
    assert_eq!(said["ok"], false, "{said}");
    let said = call_in_trace(&gateway, "no_such_tool_of_anybody", json!({}));
    assert_eq!(said["code"], "unknown_tool", "{said}");
    let spans = || {
        let mut spans = collector.spans();
        spans.retain(|span| span.trace == TRACE);
        spans
    };
    eventually("three spans", || spans().len() >= 3);
    let spans = spans();
    let mut kinds: Vec<(&str, &Value)> = spans
        .iter()
        .map(|span| (&*span.name, &span.attributes["error.type"]))
        .collect();
    kinds.sort_by_key(|(name, _)| *name);
    let expected = [
        ("execute_tool", &json!("unknown_tool")),
        ("execute_tool notes__note", &json!("failed")),
        ("tools/call note", &json!("tool_error")),
    ];
    assert_eq!(kinds, expected);
    assert!(spans.iter().all(|span| span.failed));
    let raw = collector.raw();
    assert!(!raw.contains(PRIVATE) && !raw.contains("no_such_tool_of_anybody"));
}

#[test]
fn exported_metrics_are_those_that_prometheus_reads() {
    let (collector, server) = (Collector::start(), NotesServer::start());
    let settings = format!(
        "[telemetry]\nendpoint = {:?}\nservice_name = \"desk\"\nheaders = {{ authorization = \"Bearer abc\" }}\n",
        collector.url()
    );
    let gateway = gateway(&server, &[("OTEL_METRIC_EXPORT_INTERVAL", "50")], &settings);
    let said = gateway.call("notes__note", json!({ "text": "x" }));
    assert_eq!(said["ok"], true, "{said}");
    let value = || {
        let metrics = collector.metrics();
        let point = metrics
            .iter()
            .rev()
            .find(|metric| metric["name"] == "tool_execution_total")?;
        let points = point["sum"]["dataPoints"].as_array()?.iter();
        let of_note = |point: &&Value| point.to_string().contains("notes__note");
        points.clone().find(of_note)?["asDouble"].as_f64()
    };
    eventually("the call is counted", || value() == Some(1.0));
    let metrics = collector.metrics();
    let last = metrics
        .iter()
        .rev()
        .find(|metric| metric["name"] == "function_call_duration_ms");
    let point = &last.expect("the histogram")["histogram"]["dataPoints"][0];
    let (bounds, counts) = (&point["explicitBounds"], &point["bucketCounts"]);
    let length = |list: &Value| list.as_array().map_or(0, Vec::len);
    assert_eq!((length(bounds), length(counts)), (14, 15), "{point}");
    let served = dashboards::names(&gateway.get("/metrics").text());
    let exported = metrics.iter().filter_map(|metric| metric["name"].as_str());
    let exported: std::collections::BTreeSet<String> = exported.map(str::to_owned).collect();
    assert_eq!(exported, served);
    let requests = collector.requests("/v1/metrics");
    let (first, resource) = (
        &requests[0],
        &requests[0]["message"]["resourceMetrics"][0]["resource"],
    );
    assert_eq!(first["headers"]["authorization"], "Bearer abc");
    assert_eq!(
        collector::attributes(&resource["attributes"])["service.name"],
        "desk"
    );
    let shown = gateway.cli(&["config", "get", "telemetry"]).ok().stdout;
    assert!(!shown.contains("Bearer abc"), "{shown}");
}

#[test]
fn a_stopping_gateway_exports_what_is_queued() {
    let (collector, server) = (Collector::start(), NotesServer::start());
    let url = collector.url();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "3600000"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "3600000"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
    ];
    let gateway = gateway(&server, &variables, "");
    let said = call_in_trace(&gateway, "notes__note", json!({ "text": "x" }));
    assert_eq!(said["ok"], true, "{said}");
    assert_eq!(collector.spans().len(), 0);
    gateway.stop();
    let spans = collector.spans();
    assert_eq!(
        spans.iter().filter(|span| span.trace == TRACE).count(),
        2,
        "{spans:?}"
    );
    assert!(!collector.metrics().is_empty());
    assert!(
        collector
            .logs()
            .iter()
            .any(|log| log["eventName"] == "shutdown_started")
    );
}

#[test]
fn without_a_collector_calls_succeed_and_lost_records_are_counted() {
    let server = NotesServer::start();
    let port = crate::harness::free_address().port();
    let url = format!("http://127.0.0.1:{port}");
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "20"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "10"),
        ("OTEL_LOGS_EXPORTER", "none"),
        ("OTEL_METRICS_EXPORTER", "none"),
    ];
    let gateway = gateway(&server, &variables, "");
    let traces = ["signal=\"traces\""];
    let queued = || gateway.metric("telemetry_queued_records", &traces);
    let dropped = || gateway.metric("telemetry_dropped_records_total", &traces);
    let call = |number: i32| {
        let said = gateway.call("notes__note", json!({ "text": number.to_string() }));
        assert_eq!(said["ok"], true, "{said}");
    };
    call(0);
    gateway.daemon.log.wait_for("telemetry_export_failed");
    (1..40).for_each(call);
    // Two spans each; ten wait, and at most a batch of ten is on its way.
    assert!(queued() <= 10.0, "{}", queued());
    assert!(dropped() >= 60.0, "{}", dropped());
    let failures = gateway
        .daemon
        .log
        .text()
        .matches("telemetry_export_failed")
        .count();
    assert_eq!(failures, 1, "{}", gateway.daemon.log.text());
    // It comes back, and gets what waited.
    let collector = Collector::at(port);
    eventually("what waited", || collector.spans().len() >= 10);
    gateway.daemon.log.wait_for("telemetry_export_restored");
    let lost = dropped();
    let said = call_in_trace(&gateway, "notes__note", json!({ "text": "x" }));
    assert_eq!(said["ok"], true, "{said}");
    eventually("new spans", || {
        collector.spans().iter().any(|span| span.trace == TRACE)
    });
    assert!(dropped() >= lost);
}

#[test]
fn nothing_is_sent_while_telemetry_is_off() {
    let server = NotesServer::start();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("no blocking");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let disabled = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_SDK_DISABLED", "true"),
    ];
    let unset = [("OTEL_SERVICE_NAME", "desk")];
    let wrong = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
    ];
    for variables in [&disabled[..], &unset[..], &wrong[..]] {
        let gateway = gateway(&server, variables, "");
        let said = call_in_trace(&gateway, "notes__note", json!({ "text": "x" }));
        assert_eq!(said["ok"], true, "{said}");
        assert_eq!(gateway.metric("telemetry_exported_records_total", &[]), 0.0);
        let warned = gateway
            .daemon
            .log
            .text()
            .contains("OTEL_EXPORTER_OTLP_PROTOCOL");
        assert_eq!(warned, variables == wrong, "{}", gateway.daemon.log.text());
        gateway.stop();
        assert!(
            listener.accept().is_err(),
            "it connected with {variables:?}"
        );
    }
    for call in server.requests("tools/call") {
        assert!(call["headers"].get("traceparent").is_none(), "{call}");
        assert!(call["meta"].get("traceparent").is_none(), "{call}");
    }
    assert_eq!(server.requests("tools/call").len(), 3);
}

#[test]
fn programs_do_not_inherit_the_exporters_credentials() {
    let (collector, server) = (Collector::start(), NotesServer::start());
    let gateway = gateway(&server, &[], "");
    let laptop = Plan::new(&gateway, "laptop")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=planted")
        .env("PLAIN", "seen")
        .lend(&gateway);
    let seen = laptop.bash(&gateway, "env").to_string();
    assert!(seen.contains("PLAIN=seen"), "{seen}");
    assert!(
        !seen.contains("OTEL_EXPORTER_OTLP") && !seen.contains("TRACEPARENT"),
        "{seen}"
    );
}

#[test]
fn a_sampler_decides_about_new_traces_and_callers_about_theirs() {
    let (collector, server) = (Collector::start(), NotesServer::start());
    let mut variables = exporting(&collector);
    variables.push(("OTEL_TRACES_SAMPLER", "parentbased_always_off".to_owned()));
    let gateway = gateway(&server, &borrowed(&variables), "");
    let said = gateway.call("notes__note", json!({ "text": "untraced" }));
    assert_eq!(said["ok"], true, "{said}");
    let said = call_in_trace(&gateway, "notes__note", json!({ "text": "traced" }));
    assert_eq!(said["ok"], true, "{said}");
    eventually("the spans of the traced call", || {
        collector.spans().len() >= 2
    });
    assert!(collector.spans().iter().all(|span| span.trace == TRACE));
    // The server is told all the same, so that it does not record a piece of an unrecorded trace.
    let untraced = &server.requests("tools/call")[0];
    let told = untraced["headers"]["traceparent"]
        .as_str()
        .expect("a traceparent");
    assert!(told.ends_with("-00") && !told.contains(TRACE), "{told}");
}

/// A Python program of `tests/otlp`, with the packages that it needs.
fn python(program: &str) -> Command {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let target = std::path::Path::new(crate::harness::BINARY)
        .ancestors()
        .nth(2);
    let mut install = Command::new("python3");
    install
        .arg(folder.join("mcp-servers/python"))
        .arg(target.expect("the target"))
        .arg(folder.join("otlp/requirements.txt"));
    let ran = crate::harness::run(install, "");
    assert_eq!(
        ran.code,
        Some(0),
        "the tests need Python 3.11 or newer with venv: {ran:?}"
    );
    let mut command = Command::new(std::path::Path::new(ran.stdout.trim()).join("bin/python"));
    command.arg(folder.join("otlp").join(program));
    command
}
