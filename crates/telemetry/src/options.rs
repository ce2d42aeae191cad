//! Options, from the environment variables that OpenTelemetry defines.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::record::Value;
use crate::resource::{Process, attributes, pairs};
use crate::sampler::Sampler;

/// The most records of a signal that wait for export, by default. With at most some kilobytes each, a collector that is down
/// costs a few megabytes.
const DEFAULT_QUEUE: usize = 2_048;
const MAX_QUEUE: usize = 65_536;

/// What is exported, and where to.
#[derive(Debug, Clone)]
pub struct Options {
    /// Spans, unless they are off.
    pub traces: Option<SignalOptions>,
    /// Metrics, unless they are off.
    pub metrics: Option<SignalOptions>,
    /// Log events, unless they are off.
    pub logs: Option<SignalOptions>,
    pub(crate) sampler: Sampler,
    pub(crate) resource: Vec<(String, Value)>,
}

/// How one signal is exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalOptions {
    /// The URL to send to.
    pub url: String,
    /// Headers of each request, which may contain credentials.
    pub headers: Vec<(String, String)>,
    /// Longest time of a request.
    pub timeout: Duration,
    /// Longest delay between a record and its export.
    pub interval: Duration,
    /// The most records that wait; further ones are dropped.
    pub queue: usize,
    /// Whether requests are compressed.
    pub gzip: bool,
}

impl Options {
    /// Reads `variables`. `None` if no endpoint is set or telemetry is disabled; the error names the variable.
    pub fn of(
        variables: &BTreeMap<String, String>,
        process: &Process,
        instance: String,
    ) -> Result<Option<Self>, String> {
        let variables = Variables(variables);
        let disabled = variables.get("OTEL_SDK_DISABLED");
        if disabled.is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let traces = variables.signal(&Signal {
            name: "TRACES",
            path: "v1/traces",
            interval: ("OTEL_BSP_SCHEDULE_DELAY", 5_000),
            queue: Some("OTEL_BSP_MAX_QUEUE_SIZE"),
        })?;
        let metrics = variables.signal(&Signal {
            name: "METRICS",
            path: "v1/metrics",
            interval: ("OTEL_METRIC_EXPORT_INTERVAL", 60_000),
            queue: None,
        })?;
        let logs = variables.signal(&Signal {
            name: "LOGS",
            path: "v1/logs",
            interval: ("OTEL_BLRP_SCHEDULE_DELAY", 1_000),
            queue: Some("OTEL_BLRP_MAX_QUEUE_SIZE"),
        })?;
        if traces.is_none() && metrics.is_none() && logs.is_none() {
            return Ok(None);
        }
        let sampler = match variables.get("OTEL_TRACES_SAMPLER") {
            Some(name) => Sampler::named(name, variables.get("OTEL_TRACES_SAMPLER_ARG"))?,
            None => Sampler::default(),
        };
        let listed = "OTEL_RESOURCE_ATTRIBUTES";
        let given = pairs(listed, variables.get(listed).unwrap_or_default())?;
        let service = variables.get("OTEL_SERVICE_NAME");
        Ok(Some(Self {
            traces,
            metrics,
            logs,
            sampler,
            resource: attributes(process, instance, service, &given),
        }))
    }
}

/// How a signal is named, and what its variables default to.
struct Signal {
    name: &'static str,
    path: &'static str,
    /// The variable of its interval, and the default in milliseconds.
    interval: (&'static str, u64),
    /// The variable of its queue's capacity.
    queue: Option<&'static str>,
}

struct Variables<'a>(&'a BTreeMap<String, String>);

impl<'a> Variables<'a> {
    /// A variable; an empty one counts as unset, as the specification requires.
    fn get(&self, name: &str) -> Option<&'a str> {
        let text = self.0.get(name).map(|text| text.trim());
        text.filter(|text| !text.is_empty())
    }

    /// A variable of one signal, or the general one, and its name.
    fn either(&self, signal: &str, what: &str) -> Option<(String, &'a str)> {
        let own = format!("OTEL_EXPORTER_OTLP_{signal}_{what}");
        let general = format!("OTEL_EXPORTER_OTLP_{what}");
        [own, general].into_iter().find_map(|name| {
            let value = self.get(&name)?;
            Some((name, value))
        })
    }

    fn milliseconds(&self, name: &str, default: u64) -> Result<Duration, String> {
        let Some(text) = self.get(name) else {
            return Ok(Duration::from_millis(default));
        };
        match text.parse() {
            Ok(millis @ 1..) => Ok(Duration::from_millis(millis)),
            _ => Err(format!(
                "{name} {text:?} is not a number of milliseconds from 1"
            )),
        }
    }

    fn capacity(&self, name: Option<&str>) -> Result<usize, String> {
        let Some((name, text)) = name.and_then(|name| Some((name, self.get(name)?))) else {
            return Ok(DEFAULT_QUEUE);
        };
        match text.parse() {
            Ok(size @ 1..=MAX_QUEUE) => Ok(size),
            _ => Err(format!(
                "{name} {text:?} is not a number from 1 to {MAX_QUEUE}"
            )),
        }
    }

    fn signal(&self, signal: &Signal) -> Result<Option<SignalOptions>, String> {
        let Signal {
            name: signal,
            path,
            interval,
            queue,
        } = *signal;
        let exporter = format!("OTEL_{signal}_EXPORTER");
        match self.get(&exporter) {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(other) => {
                return Err(format!("{exporter} {other:?} is unknown; use otlp or none"));
            }
        }
        let own = self.get(&format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"));
        let url = match (own, self.get("OTEL_EXPORTER_OTLP_ENDPOINT")) {
            // As it is; only the general endpoint is a base.
            (Some(own), _) => own.to_owned(),
            (None, Some(base)) => format!("{}/{path}", base.trim_end_matches('/')),
            (None, None) => return Ok(None),
        };
        if let Some((name, protocol)) = self.either(signal, "PROTOCOL")
            && protocol != "http/protobuf"
        {
            return Err(format!(
                "{name} {protocol:?} is not supported; use http/protobuf and the collector's HTTP port, usually 4318"
            ));
        }
        let gzip = match self.either(signal, "COMPRESSION") {
            None | Some((_, "none")) => false,
            Some((_, "gzip")) => true,
            Some((name, other)) => {
                return Err(format!("{name} {other:?} is unknown; use gzip or none"));
            }
        };
        let headers = match self.either(signal, "HEADERS") {
            Some((name, text)) => pairs(&name, text)?,
            None => Vec::new(),
        };
        let timeout = match self.either(signal, "TIMEOUT") {
            Some((name, _)) => self.milliseconds(&name, 0)?,
            None => Duration::from_secs(10),
        };
        Ok(Some(SignalOptions {
            url,
            headers,
            timeout,
            interval: self.milliseconds(interval.0, interval.1)?,
            queue: self.capacity(queue)?,
            gzip,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Options>, String> {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let process = Process {
            service: "manyhands",
            host: "desk".to_owned(),
            node: None,
        };
        Options::of(&variables.collect(), &process, "1".to_owned())
    }

    const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");

    #[test]
    fn telemetry_is_off_without_an_endpoint_or_when_disabled() {
        assert!(read(&[]).unwrap().is_none());
        assert!(read(&[("OTEL_SERVICE_NAME", "x")]).unwrap().is_none());
        assert!(
            read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")])
                .unwrap()
                .is_none()
        );
        assert!(
            read(&[BASE, ("OTEL_SDK_DISABLED", "True")])
                .unwrap()
                .is_none()
        );
        assert!(
            read(&[BASE, ("OTEL_SDK_DISABLED", "no")])
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn each_signal_has_its_own_address() {
        let options = read(&[
            BASE,
            ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "https://logs/in"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=1,authorization=Bearer%20x"),
            ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "b=2"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("OTEL_METRICS_EXPORTER", "none"),
        ]);
        let options = options.unwrap().unwrap();
        let (traces, logs) = (options.traces.unwrap(), options.logs.unwrap());
        assert_eq!(traces.url, "http://c:4318/v1/traces");
        assert_eq!(logs.url, "https://logs/in");
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let general = [pair("a", "1"), pair("authorization", "Bearer x")];
        assert_eq!(traces.headers, general);
        assert_eq!(logs.headers, [pair("b", "2")]);
        assert_eq!(traces.timeout, Duration::from_millis(250));
        assert_eq!(options.metrics, None);
    }

    #[test]
    fn an_unsupported_value_is_refused_by_name() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ("OTEL_TRACES_EXPORTER", "jaeger"),
            ("OTEL_TRACES_SAMPLER", "xray"),
            ("OTEL_BSP_SCHEDULE_DELAY", "0"),
            ("OTEL_BLRP_MAX_QUEUE_SIZE", "70000"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "s3cret"),
            ("OTEL_RESOURCE_ATTRIBUTES", "=x"),
        ] {
            let error = read(&[BASE, (name, value)]).unwrap_err();
            assert!(error.contains(name) && !error.contains("s3cret"), "{error}");
        }
        assert!(read(&[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")]).is_ok());
    }
}
