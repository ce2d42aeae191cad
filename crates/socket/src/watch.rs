//! `process.watch`: streams the output of a node's background process.
//!
//! Opening a watch calls the node's `Process` tool to read its log, so rights, rules, approvals and
//! the audit apply. Further output is polled piece by piece as the client has room for it, and each
//! piece is sent only while the same call would still be allowed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use manyhands_config::Decision;
use manyhands_core::{AgentId, CallRequest, ErrorCode, Invoke as _, Question, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_guard::{RedactStream, Redactor};
use manyhands_node_registry::ProcessWatch;
use manyhands_wire::{ErrorShape, Payload, ProcessOutputEvent, ProcessWatchParams};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::task::AbortOnDropHandle;

use super::shape::shape;
use super::socket::MAX_QUEUED;

/// Processes one socket may watch.
const MAX_WATCHES: usize = 8;
/// Delay between two polls, of the node or of the queue.
const BETWEEN: Duration = Duration::from_millis(100);
/// Queue slots reserved for responses and other events.
const ROOM: usize = MAX_QUEUED / 2;
/// Largest accepted piece, in bytes: 16,000 characters of up to four bytes.
const MAX_PIECE: usize = 64_000;
/// Characters of a node's error message that are forwarded.
const MAX_WORDS: usize = 1_000;

/// The open watches of one socket; dropping it ends them.
pub(super) struct Watches {
    open: Mutex<HashMap<String, AbortOnDropHandle<()>>>,
    slots: Arc<Semaphore>,
}

impl Default for Watches {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            slots: Arc::new(Semaphore::new(MAX_WATCHES)),
        }
    }
}

impl Watches {
    fn open(&self) -> MutexGuard<'_, HashMap<String, AbortOnDropHandle<()>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        self.slots.clone().try_acquire_owned().map_err(|_| {
            let message = format!("this socket already watches {MAX_WATCHES} processes");
            ToolError::new(ErrorCode::Unavailable, message)
                .hint("close another watch with `process.unwatch` and retry")
        })
    }

    /// Ends a watch; returns whether it was running.
    pub(super) fn end(&self, id: &str) -> bool {
        let ended = self.open().remove(id);
        ended.is_some_and(|watch| !watch.is_finished())
    }
}

/// Opens a watch. Output starts when the returned sender is dropped, which happens after the
/// response. `None` if the node does not support watching.
pub(super) async fn open(
    gateway: &Arc<Gateway>,
    admitted: &Admitted,
    params: ProcessWatchParams,
    watches: &Watches,
    outbox: &mpsc::Sender<Message>,
) -> Result<Option<(String, oneshot::Sender<()>)>, ErrorShape> {
    let node = gateway.nodes.find(&params.node_id).map_err(shape)?;
    if !node.can_be_watched() {
        return Ok(None);
    }
    let slot = watches.slot().map_err(shape)?;
    let id = gateway.nodes.new_id();
    let watched = node.watch(id.clone(), params.session_id.clone());
    let watched = watched.map_err(shape)?;
    let call = WatchedCall {
        tool: watched.tool(),
        arguments: json!({ "action": "log", "sessionId": params.session_id, "limit": 1 }),
    };
    let request = CallRequest::new(&call.tool, call.arguments.clone(), admitted.caller.clone());
    gateway.invoke(admitted, request).await.map_err(shape)?;
    let (answered, after) = oneshot::channel();
    let watch = Watch {
        id: id.clone(),
        gateway: gateway.clone(),
        admitted: admitted.clone(),
        decided: call.decision(gateway, admitted).map_err(shape)?,
        call,
        outbox: outbox.clone(),
        filter: StreamRedactor::new(gateway.redactor()),
    };
    let task = async move {
        let _ = after.await;
        watch.follow(watched, params.from).await;
        // The permit is held until the task ends, so that finished watches free their slot.
        drop(slot);
    };
    let mut open = watches.open();
    open.retain(|_, watch| !watch.is_finished());
    open.insert(id.clone(), AbortOnDropHandle::new(tokio::spawn(task)));
    Ok(Some((id, answered)))
}

/// The call that a watch stands for.
struct WatchedCall {
    tool: String,
    arguments: Value,
}

impl WatchedCall {
    /// The current decision about the call; an error if it is not allowed.
    fn decision(&self, gateway: &Gateway, admitted: &Admitted) -> Result<Decision, ToolError> {
        let catalogue = gateway.path.catalogue();
        let tool = catalogue.resolve(&self.tool).ok_or_else(|| {
            let message = format!("the tool {} no longer exists", self.tool);
            ToolError::new(ErrorCode::UnknownTool, message)
        })?;
        let main = AgentId::main();
        let verdict = gateway.path.authorize(Question {
            arguments: Some(&self.arguments),
            effects: tool.effects_of(&self.arguments, &catalogue),
            ..Question::available(&admitted.caller, &main, tool.spec())
        });
        verdict.refused(tool.spec()).map(|verdict| verdict.decision)
    }
}

/// A running watch.
struct Watch {
    id: String,
    gateway: Arc<Gateway>,
    admitted: Admitted,
    call: WatchedCall,
    /// The decision when the watch was opened.
    decided: Decision,
    outbox: mpsc::Sender<Message>,
    filter: StreamRedactor,
}

impl Watch {
    /// Sends output until the process or the watch ends.
    async fn follow(mut self, mut watched: ProcessWatch, from: Option<u64>) {
        if let Err(error) = self.pieces(&mut watched, from).await {
            let redactor = self.gateway.redactor();
            let text = redactor.text(&error.message).into_owned();
            let last = ProcessOutputEvent {
                watch_id: self.id.clone(),
                at: self.filter.sent,
                next: self.filter.sent,
                ended: Some(true),
                error: Some(text.chars().take(MAX_WORDS).collect()),
                ..ProcessOutputEvent::default()
            };
            self.send(&last).await;
        }
    }

    async fn pieces(
        &mut self,
        watched: &mut ProcessWatch,
        mut from: Option<u64>,
    ) -> Result<(), ToolError> {
        // Polling only while there is room lets a slow client throttle the node instead of filling
        // its own queue.
        loop {
            while self.outbox.capacity() < ROOM {
                sleep(BETWEEN).await;
            }
            let piece = watched.next(from).await?;
            self.recheck()?;
            if let Some(why) = piece.error {
                return Err(ToolError::new(ErrorCode::Failed, why));
            }
            if piece.text.len() > MAX_PIECE || piece.next < piece.at {
                let message = "the node sent a larger piece of output than allowed";
                return Err(ToolError::new(ErrorCode::Failed, message));
            }
            from = Some(piece.next);
            let ended = piece.ended == Some(true);
            let event = self.filter.piece(piece, self.gateway.redactor());
            if ended || !event.text.is_empty() {
                self.send(&event).await;
            }
            if ended {
                return Ok(());
            }
            sleep(BETWEEN).await;
        }
    }

    /// Fails unless the watched call is still allowed.
    fn recheck(&self) -> Result<(), ToolError> {
        let now = self.call.decision(&self.gateway, &self.admitted)?;
        if now == Decision::Allow || now == self.decided {
            return Ok(());
        }
        let message = "the policy changed: this watch needs a new approval";
        Err(ToolError::new(ErrorCode::ApprovalRequired, message))
    }

    async fn send(&self, event: &ProcessOutputEvent) {
        let message = Message::Text(event.encode().into());
        let _ = self.outbox.send(message).await; // the client may have disconnected
    }
}

/// Redacts secrets from a stream of pieces, also where one spans two pieces.
struct StreamRedactor {
    redactor: Arc<Redactor>,
    stream: RedactStream,
    /// Position up to which text was sent. Text held back after it may be the start of a secret.
    sent: u64,
    /// Position at which the last piece ended.
    seen: Option<u64>,
}

impl StreamRedactor {
    fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            stream: redactor.stream(),
            redactor,
            sent: 0,
            seen: None,
        }
    }

    /// Returns the text that can be sent now: up to where a secret may begin.
    fn piece(&mut self, piece: ProcessOutputEvent, now: Arc<Redactor>) -> ProcessOutputEvent {
        let mut shown = Vec::new();
        let mut at = self.sent;
        if self.seen != Some(piece.at) {
            // A gap: the text held back does not continue here, so it is dropped as not sent.
            (self.stream, at) = (now.stream(), piece.at);
        } else if !Arc::ptr_eq(&self.redactor, &now) {
            let before = std::mem::replace(&mut self.stream, now.stream());
            shown = before.finish();
        }
        self.redactor = now;
        shown.extend(self.stream.push(piece.text.as_bytes()));
        if piece.ended == Some(true) {
            let rest = std::mem::replace(&mut self.stream, self.redactor.stream());
            shown.extend(rest.finish());
        }
        self.seen = Some(piece.next);
        self.sent = piece.next.saturating_sub(self.stream.held_chars());
        ProcessOutputEvent {
            at,
            next: self.sent,
            // Secrets are valid UTF-8, so redaction never splits a character.
            text: String::from_utf8_lossy(&shown).into_owned(),
            ..piece
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_core::Secret;

    const SECRET: &str = "hünter2!hünter2!";

    fn piece(at: u64, text: &str) -> ProcessOutputEvent {
        ProcessOutputEvent {
            at,
            next: at + text.chars().count() as u64,
            text: text.to_owned(),
            ..ProcessOutputEvent::default()
        }
    }

    #[test]
    fn a_secret_split_over_chunks_is_redacted_and_offsets_fit() {
        let redactor = Arc::new(Redactor::new(&[Secret::new(SECRET)]));
        let chars: Vec<char> = SECRET.chars().collect();
        for cut in 0..=chars.len() {
            let mut filter = StreamRedactor::new(redactor.clone());
            let (first, second) = chars.split_at(cut);
            let first = format!("is {}", first.iter().collect::<String>());
            let second = format!("{}.\n", second.iter().collect::<String>());
            let one = filter.piece(piece(10, &first), redactor.clone());
            let two = filter.piece(piece(one_end(&first), &second), redactor.clone());
            assert_eq!(format!("{}{}", one.text, two.text), "is [redacted].\n");
            assert_eq!((one.at, two.at), (10, one.next), "cut at {cut}");
            assert_eq!(two.next, 10 + 3 + chars.len() as u64 + 2);
        }
    }

    fn one_end(first: &str) -> u64 {
        10 + first.chars().count() as u64
    }

    #[test]
    fn held_back_text_counts_as_missing_after_a_gap() {
        let redactor = Arc::new(Redactor::new(&[Secret::new(SECRET)]));
        let mut filter = StreamRedactor::new(redactor.clone());
        let one = filter.piece(piece(0, "see hünt"), redactor.clone());
        assert_eq!((one.text.as_str(), one.next), ("see ", 4));
        let two = filter.piece(piece(50, "on\n"), redactor.clone());
        assert_eq!((two.text.as_str(), two.at, two.next), ("on\n", 50, 53));
        // New secrets count at once, and what was held back for the old ones goes on.
        filter.piece(piece(53, "hünt"), redactor);
        let more = Arc::new(Redactor::new(&[Secret::new("opensesame")]));
        let told = filter.piece(piece(57, "er opensesame\n"), more);
        assert_eq!((told.text.as_str(), told.at), ("hünter [redacted]\n", 53));
    }

    #[test]
    fn at_the_end_all_text_is_flushed() {
        let redactor = Arc::new(Redactor::new(&[Secret::new(SECRET)]));
        let mut filter = StreamRedactor::new(redactor.clone());
        let mut last = piece(0, "hünt");
        last.ended = Some(true);
        let told = filter.piece(last, redactor);
        assert_eq!((told.text.as_str(), told.next), ("hünt", 4));
    }
}
