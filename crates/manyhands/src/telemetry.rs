//! Installs the OpenTelemetry exporter of this process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use manyhands_config::Telemetry;
use manyhands_guard::{
    Egress, FetchLimits, GatewayClient, HeaderMap, HeaderName, HeaderValue, Method,
};
use manyhands_telemetry::{Exporter, Options, Process, Transport, TransportError, install};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use uuid::Uuid;

use crate::context::CliContext;
use manyhands_terminal::output;

/// The most bytes read of a collector's response.
const MAX_RESPONSE: u64 = 64 * 1024;

/// Starts exporting if the environment or the settings say so. A configuration that cannot be used is reported and leaves
/// telemetry off: nobody should be without a gateway for want of a collector.
pub fn start(process: Process, settings: Option<&Telemetry>, ctx: &CliContext) -> Option<Exporter> {
    let mut variables = settings.map(variables).unwrap_or_default();
    let given = ctx.environment().into_iter();
    variables.extend(given.filter(|(name, value)| name.starts_with("OTEL_") && !value.is_empty()));
    let instance = ctx.ids.next::<Uuid>().to_string();
    let started = Options::of(&variables, &process, instance).and_then(|options| {
        let connect =
            |url: &str| Collector::new(url).map(|one| Arc::new(one) as Arc<dyn Transport>);
        let start = |options| install(options, ctx.clock.clone(), ctx.ids.clone(), connect);
        options.map(start).transpose()
    });
    started.unwrap_or_else(|why| {
        output::print_note(format!("warning: telemetry is off: {why}"));
        None
    })
}

/// The settings as the variables that they are defaults of.
fn variables(settings: &Telemetry) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut set = |name: &str, value: String| all.insert(name.to_owned(), value);
    if let Some(endpoint) = &settings.endpoint {
        set("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.clone());
    }
    if let Some(service) = &settings.service_name {
        set("OTEL_SERVICE_NAME", service.clone());
    }
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let headers = settings.headers.iter();
    let headers = headers.map(|(name, value)| format!("{name}={}", encoded(value)));
    let headers: Vec<String> = headers.collect();
    set("OTEL_EXPORTER_OTLP_HEADERS", headers.join(","));
    set("OTEL_TRACES_SAMPLER", "parentbased_traceidratio".to_owned());
    let ratio = f64::from(settings.sample_percent) / 100.0;
    set("OTEL_TRACES_SAMPLER_ARG", ratio.to_string());
    let signals = [
        ("OTEL_TRACES_EXPORTER", settings.traces),
        ("OTEL_METRICS_EXPORTER", settings.metrics),
        ("OTEL_LOGS_EXPORTER", settings.logs),
    ];
    for (name, _) in signals.into_iter().filter(|(_, on)| !on) {
        set(name, "none".to_owned());
    }
    all
}

/// A collector's URL for one signal. The client is pinned to its origin and follows no redirects, so the headers go nowhere
/// else.
struct Collector {
    client: GatewayClient,
    url: String,
}

impl Collector {
    fn new(url: &str) -> Result<Self, String> {
        // The URL is not quoted: it may contain a key.
        let wrong = |error| format!("the OTLP endpoint {error}");
        let client = Egress::gateway(url).map_err(wrong)?;
        Ok(Self {
            url: client.base().to_string(),
            client,
        })
    }
}

#[async_trait]
impl Transport for Collector {
    async fn post(
        &self,
        headers: &[(String, String)],
        body: Bytes,
        gzip: bool,
        timeout: Duration,
    ) -> Result<(), TransportError> {
        let limits = FetchLimits {
            total_timeout: Some(timeout),
            max_bytes: Some(MAX_RESPONSE),
            ..FetchLimits::default()
        };
        let headers = request_headers(headers, gzip).map_err(TransportError::Permanent)?;
        let sent = self
            .client
            .fetch(Method::POST, &self.url, headers, Some(body), limits);
        let response = sent.await.map_err(|error| TransportError::Temporary {
            reason: error.to_string(),
            after: None,
        })?;
        let status = response.status;
        let seconds = response.headers.get("retry-after");
        let seconds = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
        // Read to its end, so that the connection can be used again.
        let _ = response.bytes().await;
        let reason = format!("HTTP {}", status.as_u16());
        match status.as_u16() {
            200..=299 => Ok(()),
            // The statuses that the OTLP specification calls retryable.
            429 | 502 | 503 | 504 => Err(TransportError::Temporary {
                reason,
                after: seconds.map(Duration::from_secs),
            }),
            _ => Err(TransportError::Permanent(reason)),
        }
    }
}

fn request_headers(given: &[(String, String)], gzip: bool) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| "a header of the OTLP exporter has an invalid name".to_owned())?;
        let mut value = HeaderValue::try_from(value.as_str())
            .map_err(|_| format!("the OTLP exporter's header {name} has an invalid value"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let protobuf = HeaderValue::from_static("application/x-protobuf");
    headers.insert("content-type", protobuf);
    if gzip {
        headers.insert("content-encoding", HeaderValue::from_static("gzip"));
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_defaults_of_the_standard_variables() {
        let settings = Telemetry {
            endpoint: Some("http://c:4318".to_owned()),
            headers: [("authorization".to_owned(), "Bearer a,b=c".to_owned())].into(),
            sample_percent: 25,
            logs: false,
            ..Telemetry::default()
        };
        let process = Process {
            service: "manyhands",
            host: "desk".to_owned(),
            node: None,
        };
        let options = Options::of(&variables(&settings), &process, "1".to_owned());
        let options = options.unwrap().unwrap();
        let traces = options.traces.unwrap();
        assert_eq!(traces.url, "http://c:4318/v1/traces");
        let header = ("authorization".to_owned(), "Bearer a,b=c".to_owned());
        assert_eq!(traces.headers, [header]);
        assert!(options.metrics.is_some() && options.logs.is_none());
        let off = Options::of(&variables(&Telemetry::default()), &process, "1".to_owned());
        assert!(off.unwrap().is_none());
    }
}
