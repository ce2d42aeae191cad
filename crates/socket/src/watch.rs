//! `process.watch`: what a program in the background of a node prints, told as it comes.
//!
//! Opening a watch is a call of the node's `Process` that reads its log: rights, rules, approvals and
//! the audit see that. What follows is asked of the node piece by piece, as the reader has room for it,
//! and a piece is told only while the same call would still be allowed.

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

/// How many programs one socket may watch.
const MAX_WATCHES: usize = 8;
/// The time between two pieces, and between two looks whether there is room for one.
const BETWEEN: Duration = Duration::from_millis(100);
/// How much room answers and events of other kinds are left.
const ROOM: usize = MAX_QUEUED / 2;
/// The largest piece that is taken of a node: 16,000 characters of four bytes.
const MAX_PIECE: usize = 64_000;
/// How much of what a node says went wrong is told.
const MAX_WORDS: usize = 1_000;

/// What one socket watches; dropped, it watches nothing.
pub(super) struct Watches {
    open: Mutex<HashMap<String, AbortOnDropHandle<()>>>,
    places: Arc<Semaphore>,
}

impl Default for Watches {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            places: Arc::new(Semaphore::new(MAX_WATCHES)),
        }
    }
}

impl Watches {
    fn open(&self) -> MutexGuard<'_, HashMap<String, AbortOnDropHandle<()>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        self.places.clone().try_acquire_owned().map_err(|_| {
            let message = format!("this socket watches {MAX_WATCHES} programs already");
            ToolError::new(ErrorCode::Unavailable, message).hint("end one with `process.unwatch`")
        })
    }

    /// Ends a watch; whether there was one.
    pub(super) fn end(&self, id: &str) -> bool {
        let ended = self.open().remove(id);
        ended.is_some_and(|watch| !watch.is_finished())
    }
}

/// Opens a watch. Nothing is told before the sender that comes with its id is dropped, which is
/// after the answer. `None` when the node cannot be watched.
pub(super) async fn open(
    gateway: &Arc<Gateway>,
    asker: &Admitted,
    params: ProcessWatchParams,
    watches: &Watches,
    outbox: &mpsc::Sender<Message>,
) -> Result<Option<(String, oneshot::Sender<()>)>, ErrorShape> {
    let node = gateway.nodes.find(&params.node_id).map_err(shape)?;
    if !node.can_be_watched() {
        return Ok(None);
    }
    let place = watches.place().map_err(shape)?;
    let id = gateway.nodes.fresh();
    let watched = node.watch(id.clone(), params.session_id.clone());
    let watched = watched.map_err(shape)?;
    let look = Look {
        tool: watched.tool(),
        arguments: json!({ "action": "log", "sessionId": params.session_id, "limit": 1 }),
    };
    let request = CallRequest::new(&look.tool, look.arguments.clone(), asker.caller.clone());
    gateway.invoke(asker, request).await.map_err(shape)?;
    let (answered, after) = oneshot::channel();
    let watch = Watch {
        id: id.clone(),
        gateway: gateway.clone(),
        asker: asker.clone(),
        decided: look.decision(gateway, asker).map_err(shape)?,
        look,
        outbox: outbox.clone(),
        clean: Clean::new(gateway.redactor()),
    };
    let task = async move {
        let _ = after.await;
        watch.follow(watched, params.from).await;
        drop(place);
    };
    let mut open = watches.open();
    open.retain(|_, watch| !watch.is_finished());
    open.insert(id.clone(), AbortOnDropHandle::new(tokio::spawn(task)));
    Ok(Some((id, answered)))
}

/// The call that a watch stands for.
struct Look {
    tool: String,
    arguments: Value,
}

impl Look {
    /// What the rules say of it now; the error is what keeps it from being made.
    fn decision(&self, gateway: &Gateway, asker: &Admitted) -> Result<Decision, ToolError> {
        let catalogue = gateway.path.catalogue();
        let tool = catalogue.resolve(&self.tool).ok_or_else(|| {
            let message = format!("there is no tool {} any more", self.tool);
            ToolError::new(ErrorCode::UnknownTool, message)
        })?;
        let main = AgentId::main();
        let verdict = gateway.path.authorize(Question {
            arguments: Some(&self.arguments),
            effects: tool.effects_of(&self.arguments, &catalogue),
            ..Question::available(&asker.caller, &main, tool.spec())
        });
        verdict.refused(tool.spec()).map(|verdict| verdict.decision)
    }
}

/// A watch at work.
struct Watch {
    id: String,
    gateway: Arc<Gateway>,
    asker: Admitted,
    look: Look,
    /// What the rules said when it was opened.
    decided: Decision,
    outbox: mpsc::Sender<Message>,
    clean: Clean,
}

impl Watch {
    /// Tells what is printed until the program ends, or something else ends the watch.
    async fn follow(mut self, mut watched: ProcessWatch, from: Option<u64>) {
        if let Err(error) = self.pieces(&mut watched, from).await {
            let redactor = self.gateway.redactor();
            let text = redactor.text(&error.message).into_owned();
            let last = ProcessOutputEvent {
                watch_id: self.id.clone(),
                at: self.clean.told,
                next: self.clean.told,
                ended: Some(true),
                error: Some(text.chars().take(MAX_WORDS).collect()),
                ..ProcessOutputEvent::default()
            };
            self.tell(&last).await;
        }
    }

    async fn pieces(
        &mut self,
        watched: &mut ProcessWatch,
        mut from: Option<u64>,
    ) -> Result<(), ToolError> {
        loop {
            while self.outbox.capacity() < ROOM {
                sleep(BETWEEN).await;
            }
            let piece = watched.next(from).await?;
            self.may_go_on()?;
            if let Some(why) = piece.error {
                return Err(ToolError::new(ErrorCode::Failed, why));
            }
            if piece.text.len() > MAX_PIECE || piece.next < piece.at {
                let message = "the node told more at a time than was agreed";
                return Err(ToolError::new(ErrorCode::Failed, message));
            }
            from = Some(piece.next);
            let ended = piece.ended == Some(true);
            let told = self.clean.piece(piece, self.gateway.redactor());
            if ended || !told.text.is_empty() {
                self.tell(&told).await;
            }
            if ended {
                return Ok(());
            }
            sleep(BETWEEN).await;
        }
    }

    /// Whether the call that it stands for would still be made.
    fn may_go_on(&self) -> Result<(), ToolError> {
        let now = self.look.decision(&self.gateway, &self.asker)?;
        if now == Decision::Allow || now == self.decided {
            return Ok(());
        }
        let message = "the rules changed: watching this has to be asked about anew";
        Err(ToolError::new(ErrorCode::ApprovalRequired, message))
    }

    async fn tell(&self, told: &ProcessOutputEvent) {
        let told = Message::Text(told.encode().into());
        let _ = self.outbox.send(told).await; // the peer may have gone
    }
}

/// Cuts secrets out of what is told, also where one lies across two pieces.
struct Clean {
    redactor: Arc<Redactor>,
    stream: RedactStream,
    /// Where what was told ends. What comes after it and is held back may begin a secret.
    told: u64,
    /// Where the last piece ended.
    seen: Option<u64>,
}

impl Clean {
    fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            stream: redactor.stream(),
            redactor,
            told: 0,
            seen: None,
        }
    }

    /// A piece as it is told: from the end of what was told to where a secret may begin.
    fn piece(&mut self, piece: ProcessOutputEvent, now: Arc<Redactor>) -> ProcessOutputEvent {
        let mut shown = Vec::new();
        let mut at = self.told;
        if self.seen != Some(piece.at) {
            // What was held back does not go on here: it counts as left out.
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
        self.told = piece.next.saturating_sub(self.stream.held_chars());
        ProcessOutputEvent {
            at,
            next: self.told,
            // Secrets are text, so that nothing is cut within a character.
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
    fn a_secret_is_cut_out_wherever_it_is_cut_in_two_and_positions_fit_together() {
        let redactor = Arc::new(Redactor::new(&[Secret::new(SECRET)]));
        let chars: Vec<char> = SECRET.chars().collect();
        for cut in 0..=chars.len() {
            let mut clean = Clean::new(redactor.clone());
            let (first, second) = chars.split_at(cut);
            let first = format!("is {}", first.iter().collect::<String>());
            let second = format!("{}.\n", second.iter().collect::<String>());
            let one = clean.piece(piece(10, &first), redactor.clone());
            let two = clean.piece(piece(one_end(&first), &second), redactor.clone());
            assert_eq!(format!("{}{}", one.text, two.text), "is [redacted].\n");
            assert_eq!((one.at, two.at), (10, one.next), "cut at {cut}");
            assert_eq!(two.next, 10 + 3 + chars.len() as u64 + 2);
        }
    }

    fn one_end(first: &str) -> u64 {
        10 + first.chars().count() as u64
    }

    #[test]
    fn what_is_held_back_counts_as_left_out_where_the_text_does_not_go_on() {
        let redactor = Arc::new(Redactor::new(&[Secret::new(SECRET)]));
        let mut clean = Clean::new(redactor.clone());
        let one = clean.piece(piece(0, "see hünt"), redactor.clone());
        assert_eq!((one.text.as_str(), one.next), ("see ", 4));
        let two = clean.piece(piece(50, "on\n"), redactor.clone());
        assert_eq!((two.text.as_str(), two.at, two.next), ("on\n", 50, 53));
        // New secrets count at once, and what was held back for the old ones goes on.
        clean.piece(piece(53, "hünt"), redactor);
        let more = Arc::new(Redactor::new(&[Secret::new("opensesame")]));
        let told = clean.piece(piece(57, "er opensesame\n"), more);
        assert_eq!((told.text.as_str(), told.at), ("hünter [redacted]\n", 53));
    }

    #[test]
    fn at_the_end_everything_is_told() {
        let redactor = Arc::new(Redactor::new(&[Secret::new(SECRET)]));
        let mut clean = Clean::new(redactor.clone());
        let mut last = piece(0, "hünt");
        last.ended = Some(true);
        let told = clean.piece(last, redactor);
        assert_eq!((told.text.as_str(), told.next), ("hünt", 4));
    }
}
