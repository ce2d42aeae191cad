//! The span of a request to an MCP server: `METHOD TARGET`.

use manyhands_telemetry::{Span, SpanKind, current, span};
use serde_json::{Map, Value};

use crate::error::UpstreamError;

/// Starts the span of a request in the current trace. The gateway's own listings and checks belong to none and get no span:
/// each would be a trace of its own, every few seconds.
pub(crate) fn begin(
    method: &str,
    params: &Map<String, Value>,
    server: &str,
    version: &str,
    is_line: bool,
) -> Span {
    if current().is_none() {
        return Span::none();
    }
    let target = || match method {
        "tools/call" | "prompts/get" => params.get("name").and_then(Value::as_str),
        _ => None,
    };
    let mut span = span(SpanKind::Client, || match target() {
        Some(target) => format!("{method} {target}"),
        None => method.to_owned(),
    });
    span.describe(|span| {
        span.set("mcp.method.name", method)
            .set("mcp.protocol.version", version)
            .set("network.transport", if is_line { "pipe" } else { "tcp" })
            .set("manyhands.mcp.server", server);
        match method {
            "tools/call" => span
                .set("gen_ai.operation.name", "execute_tool")
                .set_some("gen_ai.tool.name", target()),
            "prompts/get" => span.set_some("gen_ai.prompt.name", target()),
            _ => span,
        };
    });
    span
}

/// Describes a request that has ended.
pub(crate) fn describe(span: &mut Span, id: u64, answer: &Result<Value, UpstreamError>) {
    span.describe(|span| {
        span.set("jsonrpc.request.id", id.to_string());
        if let Err(UpstreamError::Rpc(error)) = answer {
            span.set("rpc.response.status_code", error.code.to_string());
        }
    });
    match answer {
        Err(error) => span.fail(error_type(error)),
        Ok(result) if result.get("isError") == Some(&Value::Bool(true)) => span.fail("tool_error"),
        Ok(_) => {}
    }
}

fn error_type(error: &UpstreamError) -> &'static str {
    match error {
        UpstreamError::Rpc(_) => "rpc_error",
        UpstreamError::Unreachable(_) | UpstreamError::Failing { .. } => "unreachable",
        UpstreamError::Lost(_) | UpstreamError::Gone(_) => "connection_lost",
        UpstreamError::TimedOut(_) => "timeout",
        UpstreamError::Cancelled | UpstreamError::Stopped => "cancelled",
        UpstreamError::TooLarge { .. } => "too_large",
        UpstreamError::Unauthorized { .. } | UpstreamError::Login(_) => "unauthorized",
        UpstreamError::Http { .. } => "http_error",
        UpstreamError::Garbage(_) => "invalid_response",
        UpstreamError::Busy { .. } => "busy",
    }
}
