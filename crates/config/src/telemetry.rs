//! OpenTelemetry.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Export of traces, metrics and logs to an OpenTelemetry collector. The standard `OTEL_*` environment variables take
/// precedence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// Base URL of an OTLP/HTTP receiver, such as `http://127.0.0.1:4318`. Without one nothing is exported. Default:
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`.
    #[schemars(extend("x-check" = "url", "x-restart" = true))]
    pub endpoint: Option<String>,
    /// HTTP headers to send with every export, such as `authorization`.
    #[schemars(extend("x-secret" = true, "x-restart" = true))]
    pub headers: BTreeMap<String, String>,
    /// Name of this gateway in exported data. Default: `manyhands`.
    #[schemars(extend("x-restart" = true))]
    pub service_name: Option<String>,
    /// Percentage of new traces to record. Requests that belong to a trace follow their caller's decision.
    #[schemars(range(min = 0, max = 100), extend("x-restart" = true))]
    pub sample_percent: u32,
    /// Export traces.
    #[schemars(extend("x-restart" = true))]
    pub traces: bool,
    /// Export metrics, the same ones as at `/metrics`.
    #[schemars(extend("x-restart" = true))]
    pub metrics: bool,
    /// Export logs, with the level of `log.level`.
    #[schemars(extend("x-restart" = true))]
    pub logs: bool,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            endpoint: None,
            headers: BTreeMap::new(),
            service_name: None,
            sample_percent: 100,
            traces: true,
            metrics: true,
            logs: true,
        }
    }
}
