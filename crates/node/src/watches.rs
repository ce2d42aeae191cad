//! Output of background processes, for clients that watch them.
//!
//! Each watch request is a task that waits for output and sends it once. Nothing is buffered for a watch: a late
//! request gets what is still in memory.

use std::collections::HashMap;
use std::sync::Arc;

use manyhands_core::{ErrorCode, ToolError};
use manyhands_hands::jobs::{Followed, JobError};
use manyhands_wire::{Payload, ProcessOutputEvent, ProcessWatchEvent};
use tokio::task::{AbortHandle, JoinSet};

use crate::node::Node;
use crate::writer::{ConnectionClosed, Outgoing};

/// Maximum number of open watch requests.
const MAX_WATCHES: usize = 64;
/// Maximum number of characters per response.
const MAX_CHARACTERS: usize = 16_000;

/// The watches of one connection; they end with it.
pub(crate) struct Watches {
    tasks: JoinSet<()>,
    open: HashMap<String, AbortHandle>,
}

impl Watches {
    pub(crate) fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
            open: HashMap::new(),
        }
    }

    /// Answers a watch request once there is output. A repeated request replaces the first.
    pub(crate) async fn watch(
        &mut self,
        request: ProcessWatchEvent,
        node: &Arc<Node>,
        outgoing: &Outgoing,
    ) -> Result<(), ConnectionClosed> {
        // The gateway repeats a request after a reconnect; answering twice would duplicate output.
        self.end(&request.watch_id);
        if self.open.len() >= MAX_WATCHES {
            return outgoing
                .text(failed(request.watch_id, &too_many()).encode())
                .await;
        }
        let watch = request.watch_id.clone();
        let task = self
            .tasks
            .spawn(send_output(request, node.clone(), outgoing.clone()));
        self.open.insert(watch, task);
        Ok(())
    }

    /// Cancels a watch request.
    pub(crate) fn end(&mut self, watch: &str) {
        if let Some(task) = self.open.remove(watch) {
            task.abort();
        }
    }

    /// Waits for a watch request to be answered; never returns if there is none.
    pub(crate) async fn ended(&mut self) {
        match self.tasks.join_next().await {
            Some(_) => self.open.retain(|_, task| !task.is_finished()),
            None => std::future::pending().await,
        }
    }
}

async fn send_output(request: ProcessWatchEvent, node: Arc<Node>, outgoing: Outgoing) {
    let event = match next(&request, &node).await {
        Ok(piece) => ProcessOutputEvent {
            watch_id: request.watch_id,
            at: piece.at,
            next: piece.next,
            text: piece.text,
            ended: piece.ended.then_some(true),
            error: None,
        },
        Err(error) => failed(request.watch_id, &error.into()),
    };
    // A closed connection takes no response, and nobody waits for one.
    let _ = outgoing.text(event.encode()).await;
}

async fn next(request: &ProcessWatchEvent, node: &Node) -> Result<Followed, JobError> {
    let session = request.session_id.parse()?;
    node.toolbox
        .jobs()
        .follow(session, request.from, MAX_CHARACTERS)
        .await
}

fn failed(watch_id: String, error: &ToolError) -> ProcessOutputEvent {
    ProcessOutputEvent {
        watch_id,
        // Ended, so that the gateway does not ask again for what cannot succeed.
        ended: Some(true),
        error: Some(error.text()),
        ..ProcessOutputEvent::default()
    }
}

fn too_many() -> ToolError {
    let message = format!("this node already has {MAX_WATCHES} open watches");
    ToolError::new(ErrorCode::Unavailable, message).hint("close another watch and retry")
}
