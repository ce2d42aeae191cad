//! The dashboard and the alerts in `deploy/` use only metrics that there are, and all metrics are described.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::collector::{NotesServer, deploy};
use crate::harness::eventually;
use crate::nodes::fixture::Machine;

/// The metrics in what Prometheus reads.
pub fn names(exposition: &str) -> BTreeSet<String> {
    let types = exposition
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "));
    let names = types.filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

/// The metrics in an expression of PromQL: what is neither a function, a keyword, a label nor a number.
fn metrics(expression: &str) -> BTreeSet<String> {
    let mut plain = expression.to_owned();
    for (open, close) in [('{', '}'), ('[', ']'), ('"', '"')] {
        while let Some(start) = plain.find(open) {
            let length = plain[start + 1..].find(close);
            let end = start + 1 + length.unwrap_or_else(|| panic!("{expression}: unclosed {open}"));
            plain.replace_range(start..=end, " ");
        }
    }
    let mut found = BTreeSet::new();
    let mut rest = plain.as_str();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    while let Some(start) = rest.find(is_word) {
        rest = &rest[start..];
        let (word, after) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
        rest = after.trim_start();
        let grouping = ["by", "without", "on", "ignoring", "group_left"].contains(&word);
        if grouping && rest.starts_with('(') {
            rest = &rest[rest.find(')').expect("a closed list")..]; // labels
            continue;
        }
        let keyword = ["and", "or", "unless", "bool", "offset"].contains(&word);
        // `sum by (le) (...)` has its arguments after the labels.
        let aggregates = rest.starts_with("by ") || rest.starts_with("without ");
        let number = word.starts_with(|c: char| c.is_ascii_digit());
        if !rest.starts_with('(') && !aggregates && !keyword && !number && !grouping {
            let base = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| word.strip_suffix(end));
            found.insert(base.unwrap_or(word).to_owned());
        }
    }
    found
}

/// Every `expr` in a document.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(expression) = fields.get("expr").and_then(Value::as_str) {
                found.push(expression.to_owned());
            }
            fields.values().for_each(|value| expressions(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

#[test]
fn dashboard_and_alerts_use_only_metrics_that_exist() {
    let described: BTreeSet<String> = manyhands_path::DESCRIPTIONS
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let dashboard = fs::read_to_string(deploy().join("grafana-dashboard.json"));
    let dashboard: Value = serde_json::from_str(&dashboard.expect("the dashboard")).expect("JSON");
    let alerts = fs::read_to_string(deploy().join("prometheus-alerts.yml")).expect("the alerts");
    let alerts: Value = serde_saphyr::from_str(&alerts).expect("YAML");
    for (document, least) in [(dashboard, 15), (alerts, 10)] {
        let mut all = Vec::new();
        expressions(&document, &mut all);
        assert!(all.len() >= least, "{all:?}");
        for expression in all {
            let used = metrics(&expression);
            assert!(!used.is_empty(), "{expression}");
            // `up` is Prometheus's own.
            let unknown: Vec<_> = used
                .iter()
                .filter(|name| *name != "up" && !described.contains(*name))
                .collect();
            assert_eq!(unknown, Vec::<&String>::new(), "{expression}");
        }
    }
    assert_eq!(
        metrics("sum by (tool) (rate(calls_total{tool=\"a\"}[5m])) / on (job) b_bucket > 0.5"),
        ["b".to_owned(), "calls_total".to_owned()].into()
    );
}

#[test]
fn every_metric_of_a_gateway_is_described_and_every_described_one_is_there() {
    let server = NotesServer::start();
    let gateway = super::gateway(&server, &[], "");
    let laptop = Machine::lend(&gateway, "laptop");
    let said = gateway
        .post("/api/chat", &json!({ "message": "write it" }))
        .json();
    assert!(said.to_string().contains("Written"), "{said}");
    let socket = gateway.ws();
    eventually("the audit log was verified", || {
        gateway.metric("audit_chain_intact", &[]) == 1.0
    });
    let there = names(&gateway.get("/metrics").text());
    let mut described: BTreeSet<String> = manyhands_path::DESCRIPTIONS
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    assert!(
        described.remove("channel_connected"),
        "it needs a chat account"
    );
    assert_eq!(there, described);
    for (name, labels, value) in [
        ("turns_total", "outcome=\"done\"", 1.0),
        ("turns_running", "", 0.0),
        ("model_requests_total", "model=\"scripted/demo\"", 2.0),
        ("model_tokens_total", "type=\"output\"", 27.0),
        ("model_tokens_total", "type=\"cache_read\"", 90.0),
        ("node_connected", "node=\"laptop\"", 1.0),
        ("mcp_server_up", "server=\"notes\"", 1.0),
        ("approvals_pending", "", 0.0),
    ] {
        assert_eq!(gateway.metric(name, &[labels]), value, "{name}");
    }
    drop((socket, laptop));
    eventually("the node is reported as gone", || {
        gateway.metric("node_connected", &["node=\"laptop\""]) == 0.0
    });
    let text = gateway.get("/metrics").text();
    for name in there {
        assert!(
            text.contains(&format!("# HELP {name} ")),
            "{name} has no description"
        );
    }
}
