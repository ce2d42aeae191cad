//! OpenTelemetry: spans, logs and metrics, exported over OTLP/HTTP in protobuf.
//!
//! Off unless an endpoint is configured. Then nothing here allocates, reads a clock or takes a lock: starting a span is one
//! atomic load, and [`InContext`] polls the future it wraps.
//!
//! The exporter is our own and not the `opentelemetry` crates: spans, logs and metrics need some thirty protobuf fields
//! (`proto`), the metrics are read from the text that `/metrics` serves, so that there is one source of truth, and
//! requests must leave through guard's egress client, which the SDK's exporter cannot use without an adapter as long as
//! this crate.
//!
//! - `context`: which trace the running task belongs to, and the W3C headers that carry it to other processes.
//! - `span`: one timed operation. Recorded in memory when it ends, and exported later by a task of its own.
//! - `pipeline`: bounded queues in between. A full queue drops new records and counts them; calls never wait for the collector.
//! - `export`: batches, retries, and the final flush at shutdown.
//! - `logs`: a `tracing` layer, so that every log event is exported with the trace it belongs to.

mod context;
mod export;
mod logs;
mod metrics;
mod options;
mod pipeline;
mod proto;
mod record;
mod resource;
mod sampler;
mod span;

pub use context::{InContext, TraceContext, carry, current, inject_headers, inject_meta, within};
pub use export::{Exporter, Transport, TransportError, install};
pub use logs::{LogLayer, log_layer};
pub use options::{Options, SignalOptions};
pub use pipeline::{Statistics, is_on, metrics_interval, offer_metrics, redact_with, statistics};
pub use record::{SpanKind, Value};
pub use resource::Process;
pub use span::{Span, span};
