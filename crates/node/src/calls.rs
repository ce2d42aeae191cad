//! The calls of one connection, each in its own task.

use std::any::Any;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use manyhands_core::{ErrorCode, Progress, ToolError};
use manyhands_guard::{Live, Redactor};
use manyhands_telemetry::{Span, SpanKind, TraceContext};
use manyhands_wire::{
    Params, Payload, TERMINAL_TOOL, ToolInvokeEvent, ToolOutputEvent, ToolResultParams,
};
use serde_json::{Value, json};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::node::Node;
use crate::seen_calls::SeenCalls;
use crate::tools::OutputOptions;
use crate::writer::{ConnectionClosed, Outgoing};

/// Maximum number of concurrent calls.
const MAX_CALLS: usize = 256;
/// Maximum size of a response: a gateway accepts 16 MiB by default, minus some margin.
const MAX_RESPONSE: usize = 15 * 1024 * 1024;

/// The calls of one connection. Dropping it cancels them: the gateway has already reported their failure to the
/// callers.
pub(crate) struct Calls {
    tasks: JoinSet<()>,
    running: HashMap<String, CancellationToken>,
    /// The call of each task.
    of_task: HashMap<Id, String>,
    all: CancellationToken,
    _cancel_all: DropGuard,
}

impl Calls {
    pub(crate) fn new() -> Self {
        let all = CancellationToken::new();
        Self {
            tasks: JoinSet::new(),
            running: HashMap::new(),
            of_task: HashMap::new(),
            _cancel_all: all.clone().drop_guard(),
            all,
        }
    }

    /// Starts a call, unless it is a duplicate or there are too many.
    pub(crate) async fn start(
        &mut self,
        request: ToolInvokeEvent,
        node: &Arc<Node>,
        seen_calls: &mut SeenCalls,
        outgoing: &Outgoing,
    ) -> Result<(), ConnectionClosed> {
        // Remembered before it starts: the gateway resends after a reconnect, and no call may run twice.
        if !seen_calls.insert_new(&request.call_id) {
            return match self.running.contains_key(&request.call_id) {
                // Still running here: its result answers the duplicate as well.
                true => Ok(()),
                false => {
                    outgoing
                        .text(answer(request.call_id, Err(duplicate())))
                        .await
                }
            };
        }
        // After the duplicate check: a resent call must not be refused because of a limit that it fills
        // itself.
        if self.running.len() >= MAX_CALLS {
            return outgoing
                .text(answer(request.call_id, Err(too_many())))
                .await;
        }
        // A child, so that dropping `Calls` cancels this call together with all others.
        let cancel = self.all.child_token();
        self.running.insert(request.call_id.clone(), cancel.clone());
        let call_id = request.call_id.clone();
        let work = traced(request, node.clone(), outgoing.clone(), cancel);
        let task = self.tasks.spawn(work).id();
        self.of_task.insert(task, call_id);
        Ok(())
    }

    /// Cancels a call that nobody waits for any more.
    pub(crate) fn cancel(&mut self, call_id: &str) {
        // The entry stays until the task ends, because a cancelled call still reports how far it came.
        if let Some(cancel) = self.running.get(call_id) {
            cancel.cancel();
        }
    }

    /// Waits for a call to end; never returns if none is running.
    pub(crate) async fn ended(&mut self) {
        let task = match self.tasks.join_next_with_id().await {
            Some(Ok((task, ()))) => task,
            // A panicked task frees its slot as well.
            Some(Err(error)) => error.id(),
            None => std::future::pending().await,
        };
        if let Some(call_id) = self.of_task.remove(&task) {
            self.running.remove(&call_id);
        }
    }
}

/// Runs a call in its span, which belongs to the trace of the gateway's call.
async fn traced(
    request: ToolInvokeEvent,
    node: Arc<Node>,
    outgoing: Outgoing,
    cancel: CancellationToken,
) {
    let caller = TraceContext::of_fields(
        request.traceparent.as_deref(),
        request.tracestate.as_deref(),
    );
    // Not named after the tool yet: the gateway may ask for one that this node does not have.
    let mut span = Span::below(caller, SpanKind::Server, || "execute_tool".to_owned());
    span.describe(|span| {
        span.set("gen_ai.operation.name", "execute_tool")
            .set("gen_ai.tool.type", "function")
            .set("manyhands.call.id", request.call_id.as_str());
        if node.toolbox.has(&request.tool) {
            span.rename(format!("execute_tool {}", request.tool))
                .set("gen_ai.tool.name", request.tool.as_str());
        }
    });
    let failure = span.run(run(request, node, outgoing, cancel)).await;
    if let Some(code) = failure {
        span.fail(code.as_str());
    }
}

/// Runs a call and sends its result; returns the code of its error, if it failed.
async fn run(
    request: ToolInvokeEvent,
    node: Arc<Node>,
    outgoing: Outgoing,
    cancel: CancellationToken,
) -> Option<ErrorCode> {
    // Monotonic: the wall clock may be set while the call runs.
    let since = node.toolbox.clock().monotonic();
    let watched = request.output == Some(true);
    let live = watched.then(|| Arc::new(Live::new(&Redactor::default())));
    let progress = live.clone().map_or_else(Progress::default, |live| {
        Progress::default().with_output(move |text| live.take(text))
    });
    let output = OutputOptions {
        progress,
        full_output: request.full_output == Some(true),
    };
    let (name, id) = (request.tool.as_str(), request.call_id.as_str());
    let call = async {
        match name {
            TERMINAL_TOOL => {
                let terminals = &node.terminals;
                let (args, toolbox) = (request.args, &node.toolbox);
                terminals.run(id, args, toolbox, &outgoing, &cancel).await
            }
            _ => {
                let toolbox = &node.toolbox;
                toolbox.call(name, request.args, id, &cancel, output).await
            }
        }
    };
    // A panic in one tool must not end the node and with it all other calls.
    let call = AssertUnwindSafe(call).catch_unwind();
    let send_output = |text| {
        let call_id = request.call_id.clone();
        outgoing.try_text(ToolOutputEvent { call_id, text }.encode());
    };
    let outcome = match &live {
        None => call.await,
        Some(live) => tokio::select! {
            biased;
            // Biased: once the call has ended, the rest of its output is sent by `finish` below, in order.
            outcome = call => outcome,
            never = live.forward(send_output) => match never {},
        },
    };
    if let Some(last) = live.and_then(|live| live.finish()) {
        send_output(last);
    }
    let outcome = outcome.unwrap_or_else(|panic| Err(tool_panicked(&*panic)));
    let took = node.toolbox.clock().monotonic().saturating_sub(since);
    let about = json!({
        "tool": request.tool, "callId": request.call_id, "ok": outcome.is_ok(),
        "durationMs": millis(took), "code": outcome.as_ref().err().map(|e| e.code.as_str()),
    });
    node.log
        .info("tool_call_finished", "tool call finished", about);
    let failure = outcome.as_ref().err().map(|error| error.code);
    // A closed connection takes no response, and nobody waits for one.
    let _ = outgoing.text(answer(request.call_id, outcome)).await;
    failure
}

fn answer(call_id: String, outcome: Result<Value, ToolError>) -> String {
    let id = call_id.clone();
    let params = match outcome {
        Ok(result) => ToolResultParams {
            call_id,
            result: Some(result),
            ..ToolResultParams::default()
        },
        Err(error) => ToolResultParams {
            call_id,
            error: Some(error.text()),
            code: Some(error.code.as_str().to_owned()),
            ..ToolResultParams::default()
        },
    };
    let frame = params.encode(&id);
    // An oversized frame would close the socket; an error fails only this call.
    if frame.len() > MAX_RESPONSE && params.error.is_none() {
        // Recurses once: an error is far smaller than the limit.
        return answer(params.call_id, Err(too_large(frame.len())));
    }
    frame
}

fn duplicate() -> ToolError {
    let message = "duplicate call id: this call was already received";
    ToolError::new(ErrorCode::Conflict, message).hint("use a new call id to run it again")
}

fn too_many() -> ToolError {
    let message = format!("this node already has {MAX_CALLS} running calls");
    ToolError::new(ErrorCode::Unavailable, message).hint("retry when one has finished")
}

fn too_large(bytes: usize) -> ToolError {
    let message = format!("the result has {bytes} bytes; the limit is {MAX_RESPONSE}");
    ToolError::new(ErrorCode::TooLarge, message)
        .hint("request less with offset and limit, or transfer the file")
}

fn tool_panicked(panic: &(dyn Any + Send)) -> ToolError {
    // `panic!` carries a `&str` if it has only a literal, otherwise a `String`.
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ToolError::internal(format!(
        "internal error (a bug in manyhands): the tool panicked: {}",
        text.unwrap_or("no reason")
    ))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_too_large_for_a_frame_becomes_an_error_with_advice() {
        let largest_image = "x".repeat(10 * 1024 * 1024 * 4 / 3 + 4);
        let fits = answer("c".to_owned(), Ok(json!({ "data": largest_image })));
        assert!(fits.contains("\"result\"") && fits.len() < 16 * 1024 * 1024);
        let larger = "x".repeat(MAX_RESPONSE);
        let cut = answer("c".to_owned(), Ok(json!({ "data": larger })));
        assert!(cut.contains("\"code\":\"too_large\"") && cut.contains("offset and limit"));
        assert!(cut.len() < 1_000);
    }
}
