//! What programs in the background print, for whoever watches them.
//!
//! Each question of the gateway is a task that waits until there is something to tell, and tells it
//! once. Nothing is kept for a watch: a gateway that asks late finds what is still in memory.

use std::collections::HashMap;
use std::sync::Arc;

use manyhands_core::{ErrorCode, ToolError};
use manyhands_hands::jobs::{Followed, JobError};
use manyhands_wire::{Payload, ProcessOutputEvent, ProcessWatchEvent};
use tokio::task::{AbortHandle, JoinSet};

use crate::run::Node;
use crate::writer::{Gone, Outgoing};

/// How many questions may wait at once.
const MAX_WATCHES: usize = 64;
/// How many characters are told at a time.
const PIECE: usize = 16_000;

/// The watches of one connection, which end with it.
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

    /// Answers a question when there is something to tell. One that is asked anew counts once.
    pub(crate) async fn ask(
        &mut self,
        ask: ProcessWatchEvent,
        node: &Arc<Node>,
        outgoing: &Outgoing,
    ) -> Result<(), Gone> {
        self.end(&ask.watch_id);
        if self.open.len() >= MAX_WATCHES {
            return outgoing
                .text(failed(ask.watch_id, &too_many()).encode())
                .await;
        }
        let watch = ask.watch_id.clone();
        let task = self.tasks.spawn(tell(ask, node.clone(), outgoing.clone()));
        self.open.insert(watch, task);
        Ok(())
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn end(&mut self, watch: &str) {
        if let Some(task) = self.open.remove(watch) {
            task.abort();
        }
    }

    /// Waits for a question to be answered; for ever when there is none.
    pub(crate) async fn ended(&mut self) {
        match self.tasks.join_next().await {
            Some(_) => self.open.retain(|_, task| !task.is_finished()),
            None => std::future::pending().await,
        }
    }
}

async fn tell(ask: ProcessWatchEvent, node: Arc<Node>, outgoing: Outgoing) {
    let told = match next(&ask, &node).await {
        Ok(piece) => ProcessOutputEvent {
            watch_id: ask.watch_id,
            at: piece.at,
            next: piece.next,
            text: piece.text,
            ended: piece.ended.then_some(true),
            error: None,
        },
        Err(error) => failed(ask.watch_id, &error.into()),
    };
    // A connection that has ended takes no answer, and nobody waits for one.
    let _ = outgoing.text(told.encode()).await;
}

async fn next(ask: &ProcessWatchEvent, node: &Node) -> Result<Followed, JobError> {
    let session = ask.session_id.parse()?;
    node.toolbox.jobs().follow(session, ask.from, PIECE).await
}

fn failed(watch_id: String, error: &ToolError) -> ProcessOutputEvent {
    ProcessOutputEvent {
        watch_id,
        ended: Some(true),
        error: Some(error.text()),
        ..ProcessOutputEvent::default()
    }
}

fn too_many() -> ToolError {
    let message = format!("{MAX_WATCHES} programs are watched on this node already");
    ToolError::new(ErrorCode::Unavailable, message).hint("close another terminal first")
}
