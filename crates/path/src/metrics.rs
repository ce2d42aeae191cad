//! Metrics: every call counted and timed, by tool and how it ended.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, RwLock};

use async_trait::async_trait;
use manyhands_core::{Clock, ErrorCode};
use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{
    Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};

use crate::layer::{Call, CallResult, Layer, Next};

/// Milliseconds: from what costs nothing to what a person would not wait for.
const BUCKETS: [f64; 14] = [
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 50.0, 100.0, 500.0, 1_000.0, 10_000.0, 60_000.0,
];

/// Every metric, with what it measures.
pub const DESCRIPTIONS: [(&str, &str); 23] = [
    ("tool_execution_total", "Calls by tool and how they ended."),
    ("function_call_duration_ms", "How long calls took, by tool."),
    ("turns_total", "Turns of agents, by how they ended."),
    ("turns_running", "Sessions in which an agent is working."),
    (
        "model_requests_total",
        "Requests to models that used tokens.",
    ),
    ("model_tokens_total", "Tokens used, by model and type."),
    (
        "model_cost_micro_dollars_total",
        "Cost of models with a known price, in millionths of a dollar.",
    ),
    (
        "approvals_pending",
        "Calls that wait for the owner's approval.",
    ),
    ("node_connected", "Whether a node is connected, by node."),
    (
        "mcp_server_up",
        "Whether an MCP server is reachable, by server.",
    ),
    ("channel_connected", "Whether a chat account is connected."),
    ("inbox_messages", "Incoming chat messages, by state."),
    ("outbox_messages", "Outgoing chat messages, by state."),
    ("websocket_connections", "Open WebSocket connections."),
    (
        "evicted_connections",
        "Unauthenticated connections that were closed to make room.",
    ),
    (
        "disk_free_bytes",
        "Free bytes on the disk of the home folder.",
    ),
    (
        "disk_space_low",
        "Whether free disk space is below limits.min_free_bytes.",
    ),
    (
        "audit_chain_intact",
        "Whether the latest entries of the audit log passed the last verification.",
    ),
    (
        "telemetry_exported_records_total",
        "Records that the OpenTelemetry collector accepted, by signal.",
    ),
    (
        "telemetry_dropped_records_total",
        "Records that were not exported: the queue was full, or the collector refused them.",
    ),
    (
        "telemetry_queued_records",
        "Records that wait for export, by signal.",
    ),
    ("build_info", "Version of the gateway; the value is 1."),
    ("process_uptime_seconds", "Time since the gateway started."),
];

static META: Metadata<'static> = Metadata::new("manyhands", Level::INFO, None);

/// The numbers behind `/metrics`. One per gateway, so tests do not share a global.
pub struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    meters: RwLock<HashMap<(String, String), ToolMetrics>>,
    /// What [`states_of`](Self::states_of) has set last, by metric.
    states: Mutex<HashMap<&'static str, BTreeSet<String>>>,
}

#[derive(Clone)]
struct ToolMetrics {
    calls: Counter,
    durations: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        let builder = PrometheusBuilder::new()
            .set_buckets_for_metric(
                Matcher::Full("function_call_duration_ms".to_owned()),
                &BUCKETS,
            )
            .expect("the buckets are a non-empty literal");
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        for (name, what) in DESCRIPTIONS {
            // Which kind a metric is follows from its first use; the recorder keeps one description per name.
            recorder.describe_gauge(name.into(), None, what.into());
        }
        Self {
            recorder,
            handle,
            meters: RwLock::default(),
            states: Mutex::default(),
        }
    }
}

/// The code of a call that gave a result.
const OK: &str = "ok";

impl Metrics {
    /// The text Prometheus reads.
    pub fn render(&self) -> String {
        self.handle.run_upkeep();
        self.handle.render()
    }

    /// A gauge of the gateway's own, such as open sockets.
    pub fn gauge(&self, name: &'static str) -> Gauge {
        self.recorder
            .register_gauge(&Key::from_static_name(name), &META)
    }

    /// The same with labels. Their values must not be for callers to choose.
    pub fn gauge_of(&self, name: &'static str, labels: &[(&'static str, &str)]) -> Gauge {
        let key = Key::from_parts(name, label_list(labels));
        self.recorder.register_gauge(&key, &META)
    }

    /// Sets the gauges of things that are up (1) or down (0). One that is gone since the last time becomes NaN, which no rule
    /// compares as down.
    pub fn states_of(
        &self,
        name: &'static str,
        label: &'static str,
        states: impl Iterator<Item = (String, bool)>,
    ) {
        let mut known = self.states.lock().expect("no panic while held");
        let mut gone = known.remove(name).unwrap_or_default();
        let mut present = BTreeSet::new();
        for (value, up) in states {
            let gauge = self.gauge_of(name, &[(label, value.as_str())]);
            gauge.set(if up { 1.0 } else { 0.0 });
            gone.remove(&value);
            present.insert(value);
        }
        for value in &gone {
            self.gauge_of(name, &[(label, value.as_str())])
                .set(f64::NAN);
        }
        known.insert(name, present);
    }

    /// Sets a counter of the gateway's own to a total that is counted elsewhere. The values of labels must not be for callers to
    /// choose.
    pub fn total_of(&self, name: &'static str, labels: &[(&'static str, &str)], total: u64) {
        let key = Key::from_parts(name, label_list(labels));
        self.recorder.register_counter(&key, &META).absolute(total);
    }

    /// Counts a call that was refused before its tool was looked up.
    pub(crate) fn count_early_refusal(&self, code: ErrorCode) {
        self.meter("unknown", code.as_str()).calls.increment(1);
    }

    /// `code` is `ok` or the code of the error.
    fn meter(&self, tool: &str, code: &str) -> ToolMetrics {
        let key = (tool.to_owned(), code.to_owned());
        // A read lock first: after a tool's first calls nothing is added any more, and calls must not wait for each
        // other here.
        if let Some(meter) = self.meters.read().expect("no panic while held").get(&key) {
            return meter.clone();
        }
        let tool_label = Label::new("tool", key.0.clone());
        let status = if code == OK { "success" } else { "failure" };
        let labels = vec![
            tool_label.clone(),
            Label::new("status", status),
            Label::new("code", key.1.clone()),
        ];
        let calls_key = Key::from_parts("tool_execution_total", labels);
        let durations_key = Key::from_parts("function_call_duration_ms", vec![tool_label]);
        let meter = ToolMetrics {
            calls: self.recorder.register_counter(&calls_key, &META),
            durations: self.recorder.register_histogram(&durations_key, &META),
        };
        self.meters
            .write()
            .expect("no panic while held")
            .insert(key, meter.clone());
        meter
    }
}

fn label_list(labels: &[(&'static str, &str)]) -> Vec<Label> {
    let labels = labels.iter();
    labels
        .map(|(key, value)| Label::new(*key, (*value).to_owned()))
        .collect()
}

/// Counts and times calls.
pub struct Measure {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Arc<dyn Clock>,
}

#[async_trait]
impl Layer for Measure {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let began = self.clock.monotonic();
        let result = next.run(call).await;
        let took = self.clock.monotonic().saturating_sub(began);
        // Names nobody registered share one label, so a caller cannot grow the table.
        let tool = call
            .found()
            .map_or("unknown", |tool| tool.spec().name.as_str());
        let code = match &result {
            Ok(_) => OK,
            Err(error) => error.code.as_str(),
        };
        let meter = self.metrics.meter(tool, code);
        meter.calls.increment(1);
        meter.durations.record(took.as_secs_f64() * 1_000.0);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::Metrics;
    use crate::testing::Fixture;
    use serde_json::json;

    #[test]
    fn what_is_gone_is_neither_up_nor_down() {
        let metrics = Metrics::default();
        let set = |states: &[(&str, bool)]| {
            let states = states.iter().map(|(name, up)| ((*name).to_owned(), *up));
            metrics.states_of("node_connected", "node", states);
            metrics.render()
        };
        let text = set(&[("a", true), ("b", false)]);
        assert!(text.contains("node_connected{node=\"a\"} 1\n"), "{text}");
        assert!(text.contains("node_connected{node=\"b\"} 0\n"), "{text}");
        let text = set(&[("b", true)]);
        assert!(text.contains("node_connected{node=\"a\"} NaN\n"), "{text}");
        assert!(text.contains("node_connected{node=\"b\"} 1\n"), "{text}");
    }

    #[tokio::test]
    async fn calls_are_counted_by_tool_and_status() {
        let fixture = Fixture::new().await;
        fixture
            .call("test::echo", json!({ "text": "x" }))
            .await
            .unwrap();
        fixture.call("test::echo", json!({})).await.unwrap_err();
        for n in 0..5 {
            fixture
                .call(&format!("nonsense{n}"), json!({}))
                .await
                .unwrap_err();
        }
        let text = fixture.path.metrics().render();
        for line in [
            r#"tool_execution_total{tool="test::echo",status="success",code="ok"} 1"#,
            r#"tool_execution_total{tool="test::echo",status="failure",code="invalid_arguments"} 1"#,
            r#"tool_execution_total{tool="unknown",status="failure",code="unknown_tool"} 5"#,
            r#"function_call_duration_ms_count{tool="test::echo"} 2"#,
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }
}
