//! Spans: timed operations, recorded when they end.

use std::future::Future;

use crate::context::{InContext, TraceContext, current, within};
use crate::pipeline::{Pipeline, pipeline};
use crate::record::{Parent, SpanKind, SpanRecord, Value};

/// The most attributes of a span, as OpenTelemetry limits them by default.
const MAX_ATTRIBUTES: usize = 128;

/// An operation in progress. It ends when it is dropped, and does nothing while telemetry is off.
#[must_use = "a span ends when it is dropped"]
pub struct Span(Option<Box<Active>>);

struct Active {
    pipeline: &'static Pipeline,
    context: TraceContext,
    /// `None` if the trace is not sampled: the context is passed on all the same, so that no later process starts a trace of
    /// its own.
    record: Option<SpanRecord>,
}

/// Starts a span in the current trace, or in a new one.
pub fn span(kind: SpanKind, name: impl FnOnce() -> String) -> Span {
    match pipeline() {
        None => Span(None),
        Some(pipeline) => start(pipeline, current(), kind, name),
    }
}

fn start(
    pipeline: &'static Pipeline,
    parent: Option<TraceContext>,
    kind: SpanKind,
    name: impl FnOnce() -> String,
) -> Span {
    if pipeline.traces.capacity == 0 {
        // The exporter takes no spans; what came in is still passed on by whoever carries it.
        return Span(None);
    }
    let trace = match &parent {
        Some(parent) => parent.trace,
        None => pipeline.ids.random(),
    };
    let above = parent.as_ref().map(|parent| parent.sampled);
    let sampled = pipeline.sampler.samples(above, &trace);
    let context = TraceContext {
        trace,
        span: pipeline.ids.random(),
        sampled,
        state: parent.as_ref().and_then(|parent| parent.state.clone()),
        remote: false,
    };
    let record = sampled.then(|| SpanRecord {
        trace,
        span: context.span,
        parent: parent.as_ref().map(|parent| Parent {
            span: parent.span,
            remote: parent.remote,
        }),
        state: context.state.clone(),
        name: name(),
        kind,
        began: pipeline.now(),
        ended: 0,
        attributes: Vec::with_capacity(8),
        failed: false,
    });
    Span(Some(Box::new(Active {
        pipeline,
        context,
        record,
    })))
}

impl Span {
    /// A span that records nothing.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Starts a span below `parent`, which may be of another process.
    pub fn below(
        parent: Option<TraceContext>,
        kind: SpanKind,
        name: impl FnOnce() -> String,
    ) -> Self {
        match pipeline() {
            None => Self(None),
            Some(pipeline) => start(pipeline, parent.or_else(current), kind, name),
        }
    }

    fn record(&mut self) -> Option<&mut SpanRecord> {
        self.0.as_mut()?.record.as_mut()
    }

    /// Lets `describe` add attributes, if the span is recorded. What is costly to compute belongs in here.
    pub fn describe(&mut self, describe: impl FnOnce(&mut Attributes<'_>)) {
        if let Some(record) = self.record() {
            describe(&mut Attributes(record));
        }
    }

    /// Marks the span as failed. `kind` is of few values, such as an error code; messages may quote what users wrote.
    pub fn fail(&mut self, kind: &str) {
        self.describe(|span| {
            span.0.failed = true;
            span.set("error.type", kind);
        });
    }

    /// The context that work within this span belongs to.
    pub fn context(&self) -> Option<TraceContext> {
        self.0.as_ref().map(|active| active.context.clone())
    }

    /// Polls `future` within this span.
    pub fn run<F: Future>(&self, future: F) -> InContext<F> {
        within(self.context(), future)
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(active) = self.0.take()
            && let Some(mut record) = active.record
        {
            // The clock may have been set back meanwhile; a span must not end before it began.
            record.ended = active.pipeline.now().max(record.began);
            active.pipeline.traces.push(record);
        }
    }
}

/// The attributes of a recorded span.
pub struct Attributes<'a>(&'a mut SpanRecord);

impl Attributes<'_> {
    /// Adds or replaces an attribute.
    pub fn set(&mut self, key: &'static str, value: impl Into<Value>) -> &mut Self {
        let value = value.into();
        let attributes = &mut self.0.attributes;
        match attributes.iter().position(|(known, _)| *known == key) {
            Some(at) => attributes[at].1 = value,
            None if attributes.len() < MAX_ATTRIBUTES => attributes.push((key, value)),
            None => {}
        }
        self
    }

    /// Adds an attribute if there is a value.
    pub fn set_some(&mut self, key: &'static str, value: Option<impl Into<Value>>) -> &mut Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    /// Renames the span, once its target is known.
    pub fn rename(&mut self, name: String) -> &mut Self {
        self.0.name = name;
        self
    }
}
