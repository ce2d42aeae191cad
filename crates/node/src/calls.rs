//! The calls of one connection, each in a task of its own.

use std::any::Any;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use manyhands_core::{ErrorCode, Progress, ToolError};
use manyhands_guard::{Live, Redactor};
use manyhands_wire::{Params, Payload, ToolInvokeEvent, ToolOutputEvent, ToolResultParams};
use serde_json::{Value, json};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::memory::Memory;
use crate::run::Node;
use crate::tools::Watched;
use crate::writer::{Gone, Outgoing};

/// How many calls may run at once.
const MAX_CALLS: usize = 256;
/// The longest answer: what a gateway takes, which is 16 MiB unless its owner says otherwise,
/// with some room.
const MAX_ANSWER: usize = 15 * 1024 * 1024;

/// The calls of one connection. Dropped, it cancels them: whoever asked has been told that the
/// node is gone.
pub(crate) struct Calls {
    tasks: JoinSet<()>,
    running: HashMap<String, CancellationToken>,
    /// Which call a task is for.
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

    /// Starts a call, unless it was started before or too many run.
    pub(crate) async fn start(
        &mut self,
        ask: ToolInvokeEvent,
        node: &Arc<Node>,
        memory: &mut Memory,
        outgoing: &Outgoing,
    ) -> Result<(), Gone> {
        if !memory.take(&ask.call_id) {
            return match self.running.contains_key(&ask.call_id) {
                true => Ok(()),
                false => {
                    outgoing
                        .text(answer(ask.call_id, Err(taken_before())))
                        .await
                }
            };
        }
        if self.running.len() >= MAX_CALLS {
            return outgoing.text(answer(ask.call_id, Err(too_many()))).await;
        }
        let cancel = self.all.child_token();
        self.running.insert(ask.call_id.clone(), cancel.clone());
        let call_id = ask.call_id.clone();
        let work = run(ask, node.clone(), outgoing.clone(), cancel);
        let task = self.tasks.spawn(work).id();
        self.of_task.insert(task, call_id);
        Ok(())
    }

    /// Stops a call that nobody waits for any more.
    pub(crate) fn cancel(&mut self, call_id: &str) {
        if let Some(cancel) = self.running.get(call_id) {
            cancel.cancel();
        }
    }

    /// Waits for a call to end; for ever when none runs.
    pub(crate) async fn ended(&mut self) {
        let task = match self.tasks.join_next_with_id().await {
            Some(Ok((task, ()))) => task,
            // Its place is free whatever became of it.
            Some(Err(error)) => error.id(),
            None => std::future::pending().await,
        };
        if let Some(call_id) = self.of_task.remove(&task) {
            self.running.remove(&call_id);
        }
    }
}

async fn run(ask: ToolInvokeEvent, node: Arc<Node>, outgoing: Outgoing, cancel: CancellationToken) {
    let since = node.toolbox.clock().monotonic();
    let watched = ask.output == Some(true);
    let live = watched.then(|| Arc::new(Live::new(&Redactor::default())));
    let progress = live.clone().map_or_else(Progress::default, |live| {
        Progress::default().printing(move |text| live.take(text))
    });
    let output = Watched {
        progress,
        full_output: ask.full_output == Some(true),
    };
    let call = node
        .toolbox
        .call(&ask.tool, ask.args, &ask.call_id, &cancel, output);
    let call = AssertUnwindSafe(call).catch_unwind();
    let told = |text| {
        let call_id = ask.call_id.clone();
        outgoing.mention(ToolOutputEvent { call_id, text }.encode());
    };
    let outcome = match &live {
        None => call.await,
        Some(live) => tokio::select! {
            biased;
            outcome = call => outcome,
            never = live.tell(told) => match never {},
        },
    };
    if let Some(last) = live.and_then(|live| live.finish()) {
        told(last);
    }
    let outcome = outcome.unwrap_or_else(|panic| Err(defect(&*panic)));
    let took = node.toolbox.clock().monotonic().saturating_sub(since);
    let about = json!({
        "tool": ask.tool, "callId": ask.call_id, "ok": outcome.is_ok(),
        "durationMs": millis(took), "code": outcome.as_ref().err().map(|e| e.code.word()),
    });
    node.log.info("call", about);
    // A connection that has ended takes no answer, and nobody waits for one.
    let _ = outgoing.text(answer(ask.call_id, outcome)).await;
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
            code: Some(error.code.word().to_owned()),
            ..ToolResultParams::default()
        },
    };
    let frame = params.encode(&id);
    if frame.len() > MAX_ANSWER && params.error.is_none() {
        return answer(params.call_id, Err(too_large(frame.len())));
    }
    frame
}

fn taken_before() -> ToolError {
    let message = "this call was taken before, and no call runs twice";
    ToolError::new(ErrorCode::Conflict, message).hint("make the call anew to run it again")
}

fn too_many() -> ToolError {
    let message = format!("{MAX_CALLS} calls run on this node already");
    ToolError::new(ErrorCode::Unavailable, message).hint("try again when one has ended")
}

fn too_large(bytes: usize) -> ToolError {
    let message = format!("the result is {bytes} bytes and a node sends at most {MAX_ANSWER}");
    ToolError::new(ErrorCode::TooLarge, message)
        .hint("ask for less with offset and limit, or transfer the file")
}

fn defect(panic: &(dyn Any + Send)) -> ToolError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ToolError::internal(format!("the tool broke: {}", text.unwrap_or("no reason")))
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
        let larger = "x".repeat(MAX_ANSWER);
        let cut = answer("c".to_owned(), Ok(json!({ "data": larger })));
        assert!(cut.contains("\"code\":\"too_large\"") && cut.contains("offset and limit"));
        assert!(cut.len() < 1_000);
    }
}
