//! The span of a call: `execute_tool NAME`.

use manyhands_telemetry::{Span, SpanKind, span};

use crate::layer::{Call, CallResult};

/// Starts the span of a call in the current trace.
pub(crate) fn begin() -> Span {
    span(SpanKind::Internal, || "execute_tool".to_owned())
}

/// Describes a call that has ended. Neither arguments nor results are recorded, and a name that no tool has stays out of the
/// span's name: callers could invent any number of them.
pub(crate) fn describe(span: &mut Span, call: &Call, result: &CallResult) {
    span.describe(|span| {
        span.set("gen_ai.operation.name", "execute_tool")
            .set("gen_ai.tool.type", "function")
            .set("gen_ai.agent.name", call.request.agent.as_str())
            .set("manyhands.call.id", call.id.to_string());
        if let Some(tool) = call.found() {
            let name = tool.spec().name.as_str();
            span.rename(format!("execute_tool {name}"))
                .set("gen_ai.tool.name", name);
        }
    });
    if let Err(error) = result {
        span.fail(error.code.as_str());
    }
}
