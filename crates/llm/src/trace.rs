//! The span of one request to a model: `chat MODEL`.

use manyhands_telemetry::{Span, SpanKind, Value, span};
use url::Url;

use crate::draft::Finished;
use crate::error::{ErrorKind, Fault};
use crate::model::ModelId;
use crate::reply::StopReason;
use crate::request::ModelRequest;
use crate::settings::ProviderKind;
use crate::usage::Spent;

/// Starts the span of a request in the current trace. `endpoint` is where an HTTP API is.
pub(crate) fn begin(
    (model, kind): (&ModelId, ProviderKind),
    request: &ModelRequest,
    max_output: u32,
    endpoint: Option<&Url>,
) -> Span {
    let mut span = span(SpanKind::Client, || format!("chat {}", model.model));
    span.describe(|span| {
        let sampling = &request.sampling;
        span.set("gen_ai.operation.name", "chat")
            .set("gen_ai.provider.name", provider_name(model, kind))
            .set("gen_ai.request.model", model.model.as_str())
            .set("gen_ai.request.max_tokens", max_output)
            .set_some("gen_ai.request.temperature", sampling.temperature)
            .set_some("gen_ai.request.top_p", sampling.top_p)
            .set_some("gen_ai.request.top_k", sampling.top_k)
            .set_some("gen_ai.request.seed", sampling.seed)
            .set_some("gen_ai.conversation.id", request.cache_key.as_deref())
            .set("manyhands.provider", model.provider.as_str());
        if request.output.is_some() {
            span.set("gen_ai.output.type", "json");
        }
        if let Some(endpoint) = endpoint {
            span.set("gen_ai.request.stream", true)
                .set_some("server.address", endpoint.host_str())
                .set_some("server.port", endpoint.port_or_known_default());
        }
    });
    span
}

/// Describes a request that has ended.
pub(crate) fn describe(span: &mut Span, finished: &Result<Finished, Fault>, spent: Option<Spent>) {
    span.describe(|span| {
        if let Ok(finished) = finished {
            let reason = vec![finish_reason(finished.stop).to_owned()];
            span.set("gen_ai.response.finish_reasons", Value::Texts(reason));
        }
        if let Some(Spent { usage, cost }) = spent {
            span.set("gen_ai.usage.input_tokens", usage.total_input())
                .set("gen_ai.usage.output_tokens", usage.output)
                .set("gen_ai.usage.cache_read.input_tokens", usage.cache_read)
                .set(
                    "gen_ai.usage.cache_creation.input_tokens",
                    usage.cache_write,
                )
                .set("gen_ai.usage.reasoning.output_tokens", usage.reasoning)
                .set_some("manyhands.cost.micro_dollars", cost.micro_dollars());
        }
    });
    if let Err(fault) = finished {
        span.fail(error_type(&fault.kind));
    }
}

/// The well-known name of the API that is spoken. Compatible servers speak OpenAI's, and say with their address who they are.
fn provider_name(model: &ModelId, kind: ProviderKind) -> &str {
    match kind {
        ProviderKind::Anthropic => "anthropic",
        ProviderKind::Openai | ProviderKind::OpenaiResponses => "openai",
        ProviderKind::Gemini => "gcp.gemini",
        ProviderKind::Scripted => &model.provider,
    }
}

fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::End => "stop",
        StopReason::Calls => "tool_call",
        StopReason::Length => "length",
    }
}

fn error_type(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::RateLimited { .. } => "rate_limited",
        ErrorKind::Overloaded => "overloaded",
        ErrorKind::Server { .. } => "server",
        ErrorKind::Unreachable => "unreachable",
        ErrorKind::Cut => "cut",
        ErrorKind::Garbage => "garbage",
        ErrorKind::Silent => "timeout",
        ErrorKind::Auth => "auth",
        ErrorKind::BadRequest => "bad_request",
        ErrorKind::ContextOverflow => "context_overflow",
        ErrorKind::Refused => "refused",
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::OverBudget => "over_budget",
        ErrorKind::NotConfigured => "not_configured",
    }
}
