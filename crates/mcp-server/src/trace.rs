//! The span of a client's MCP request: `METHOD TARGET`.

use http::HeaderMap;
use manyhands_telemetry::{Span, SpanKind, TraceContext};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};

use crate::message::Fault;

/// Starts the span of a request in the trace that its `_meta` names, or else in that of the HTTP request it came with.
pub(crate) fn begin(
    method: &str,
    meta: Option<&Map<String, Value>>,
    headers: Option<&HeaderMap>,
) -> Span {
    let parent = meta
        .and_then(TraceContext::of_meta)
        .or_else(|| headers.and_then(TraceContext::of_headers));
    let mut span = Span::below(parent, SpanKind::Server, || method.to_owned());
    span.describe(|span| {
        span.set("mcp.method.name", method);
        if method == "tools/call" {
            span.set("gen_ai.operation.name", "execute_tool");
        }
    });
    span
}

/// The same for a request to `/mcp`.
pub(crate) fn of_request(method: &str, context: &RequestContext<RoleServer>) -> Span {
    let parts = context.extensions.get::<http::request::Parts>();
    let headers = parts.map(|parts| &parts.headers);
    let mut span = begin(method, Some(&context.meta), headers);
    span.describe(|span| {
        let version = headers.and_then(|headers| headers.get("mcp-protocol-version"));
        let transport = if parts.is_some() { "tcp" } else { "pipe" };
        span.set("jsonrpc.request.id", context.id.to_string())
            .set("network.transport", transport)
            .set_some(
                "mcp.protocol.version",
                version.and_then(|version| version.to_str().ok()),
            );
    });
    span
}

/// Adds the tool that was called. Only one that exists: clients could invent any number of names.
pub(crate) fn name_tool(span: &mut Span, tool: &str) {
    span.describe(|span| {
        span.rename(format!("tools/call {tool}"))
            .set("gen_ai.tool.name", tool);
    });
}

/// Describes the response to a request.
pub(crate) fn describe(span: &mut Span, result: &Result<Value, Fault>) {
    match result {
        Ok(result) if result.get("isError") == Some(&Value::Bool(true)) => span.fail("tool_error"),
        Ok(_) => {}
        Err(fault) => {
            span.describe(|span| {
                span.set("rpc.response.status_code", fault.code.to_string());
            });
            span.fail("rpc_error");
        }
    }
}
