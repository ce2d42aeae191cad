//! Log events for export, with the trace they belong to.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use crate::context::current;
use crate::pipeline::{Pipeline, pipeline};
use crate::record::{LogRecord, Value, bounded};

/// Crates that the exporter's own requests run in: exporting their events would cause more of them.
const TRANSPORT: [&str; 5] = ["h2", "hyper", "hyper_util", "reqwest", "rustls"];

/// Queues every event for export.
pub struct LogLayer(&'static Pipeline);

/// The layer to add to the subscriber; `None` unless logs are exported.
pub fn log_layer() -> Option<LogLayer> {
    let pipeline = pipeline()?;
    (pipeline.logs.capacity > 0).then_some(LogLayer(pipeline))
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let target = metadata.target();
        let krate = target.split("::").next().unwrap_or_default();
        if TRANSPORT.contains(&krate) {
            return;
        }
        let mut fields = LogFields::default();
        event.record(&mut fields);
        fields.attributes.push(("code.namespace", target.into()));
        self.0.logs.push(LogRecord {
            at: self.0.now(),
            level: *metadata.level(),
            event: fields.event,
            body: fields.message,
            attributes: fields.attributes,
            context: current().map(|context| (context.trace, context.span, context.sampled)),
        });
    }
}

#[derive(Default)]
struct LogFields {
    /// The stable name of the event.
    event: Option<String>,
    message: String,
    attributes: Vec<(&'static str, Value)>,
}

impl LogFields {
    fn set(&mut self, field: &Field, value: impl Into<Value>) {
        self.attributes.push((field.name(), value.into()));
    }

    fn text(&mut self, field: &Field, text: &str) {
        match field.name() {
            "event" => self.event = Some(bounded(text).to_owned()),
            "message" => bounded(text).clone_into(&mut self.message),
            _ => self.set(field, text),
        }
    }
}

impl Visit for LogFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }
}
