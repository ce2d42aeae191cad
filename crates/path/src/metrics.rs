//! Metrics: every call counted and timed, by tool and how it ended.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

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

static META: Metadata<'static> = Metadata::new("manyhands", Level::INFO, None);

/// The numbers behind `/metrics`. One per gateway, so tests do not share a global.
pub struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    meters: RwLock<HashMap<(String, String), ToolMetrics>>,
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
        recorder.describe_counter(
            "tool_execution_total".into(),
            None,
            "Calls by tool and how they ended.".into(),
        );
        recorder.describe_histogram(
            "function_call_duration_ms".into(),
            None,
            "How long calls took, by tool.".into(),
        );
        Self {
            recorder,
            handle,
            meters: RwLock::default(),
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
        let label = |(key, value): &(&'static str, &str)| Label::new(*key, (*value).to_owned());
        let labels: Vec<Label> = labels.iter().map(label).collect();
        let key = Key::from_parts(name, labels);
        self.recorder.register_gauge(&key, &META)
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
    use crate::testing::Fixture;
    use serde_json::json;

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
