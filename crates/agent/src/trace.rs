//! The span of a turn: `invoke_agent NAME`.

use manyhands_telemetry::{Span, SpanKind, TraceContext};

use crate::turn::{Halt, Turn};

/// Starts the span of a turn, in the trace of the input that it answers.
pub(crate) fn begin(turn: &Turn) -> Span {
    let input = &turn.input;
    let asked_in =
        TraceContext::of_fields(input.traceparent.as_deref(), input.tracestate.as_deref());
    let agent = &turn.session.agent;
    let mut span = Span::below(asked_in, SpanKind::Internal, || {
        format!("invoke_agent {agent}")
    });
    span.describe(|span| {
        span.set("gen_ai.operation.name", "invoke_agent")
            .set("gen_ai.agent.name", agent.as_str())
            // Not the session's key, which can contain the phone number of a person in a chat.
            .set("gen_ai.conversation.id", turn.session.id.as_str());
    });
    span
}

/// Describes a turn that stops running, for now or for good.
pub(crate) fn describe(span: &mut Span, turn: &Turn, halt: &Halt) {
    let usage = &turn.progress.usage;
    span.describe(|span| {
        span.set("gen_ai.usage.input_tokens", usage.input_tokens)
            .set("gen_ai.usage.output_tokens", usage.output_tokens)
            .set("manyhands.turn.replies", usage.replies);
    });
    match halt {
        Halt::Failed(failure) => span.fail(failure.kind.word()),
        Halt::Stopped => span.fail("stopped"),
        Halt::Done(_) | Halt::Again | Halt::Suspended | Halt::Parked => {}
    }
}
