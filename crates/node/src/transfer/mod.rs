//! The node's side of transfers: files it sends and files it receives.
//!
//! Each runs in a task of its own that reads or writes the disk where it holds nobody up. What
//! has come of a file outlives the connection; see [`notes`].

mod notes;
mod receive;
mod send;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use manyhands_core::{ErrorCode, ToolError};
use manyhands_hands::local::LocalError;
use manyhands_wire::{
    BinaryFrame, Event, EventKind, HEADER, Params, Payload, Response, TransferAcceptParams,
    TransferAckEvent, TransferCancelEvent, TransferEndEvent, TransferMetaParams,
    TransferReceiveEvent, TransferSendEvent, TransferStartEvent,
};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::run::Node;
use crate::writer::{Gone, Outgoing};

pub(crate) use notes::Notes;
use receive::Receiving;
use send::Sending;

/// How many transfers there may be at once.
const MOST: usize = 64;
/// A transfer that nothing is heard of for this long is over.
const IDLE: Duration = Duration::from_secs(600);
/// How long the last piece may take to reach the disk when the connection is gone.
const CLOSED_WITHIN: Duration = Duration::from_secs(5);

/// What every transfer of a connection works with.
#[derive(Clone)]
struct Link {
    node: Arc<Node>,
    outgoing: Outgoing,
    /// Whether the gateway knows hashes, offsets and acknowledgements.
    checked: bool,
}

/// The transfers of one connection.
pub(crate) struct Transfers {
    link: Link,
    live: HashMap<u32, Live>,
    tasks: JoinSet<(u32, u64)>,
    started: u64,
    stop: CancellationToken,
}

struct Live {
    number: u64,
    cancel: CancellationToken,
    role: Role,
}

enum Role {
    Sending(Sending),
    Receiving(Receiving),
}

impl Transfers {
    pub(crate) fn new(node: Arc<Node>, outgoing: Outgoing, checked: bool) -> Self {
        Self {
            link: Link {
                node,
                outgoing,
                checked,
            },
            live: HashMap::new(),
            tasks: JoinSet::new(),
            started: 0,
            stop: CancellationToken::new(),
        }
    }

    /// Takes an event that is about a transfer.
    pub(crate) async fn hear(&mut self, kind: EventKind, event: Event) -> Result<(), Gone> {
        match kind {
            EventKind::TransferSend => match TransferSendEvent::read(event) {
                Some(ask) => self.send(ask).await,
                None => Ok(()),
            },
            EventKind::TransferReceive => match TransferReceiveEvent::read(event) {
                Some(ask) => self.receive(ask).await,
                None => Ok(()),
            },
            EventKind::TransferStart => {
                if let Some(ask) = TransferStartEvent::read(event)
                    && let Some(sending) = self.sending(ask.transfer_id)
                {
                    sending.start(ask.offset.unwrap_or(0));
                }
                Ok(())
            }
            EventKind::TransferAck => {
                if let Some(ack) = TransferAckEvent::read(event)
                    && let Some(sending) = self.sending(ack.transfer_id)
                {
                    sending.acknowledged(ack.bytes);
                }
                Ok(())
            }
            EventKind::TransferEnd => {
                if let Some(end) = TransferEndEvent::read(event)
                    && let Some(Role::Receiving(receiving)) = self.role(end.transfer_id)
                {
                    receiving.end(end.sha256).await;
                }
                Ok(())
            }
            EventKind::TransferCancel => {
                if let Some(ask) = TransferCancelEvent::read(event) {
                    self.cancel(&ask);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes an answer. One that says no is about a transfer that the gateway knows nothing of,
    /// and nothing more will be heard of it.
    pub(crate) fn answered(&mut self, answer: &Response) {
        let id = answer
            .id
            .strip_prefix(REQUEST)
            .and_then(|id| id.parse().ok());
        if let (Some(transfer_id), false) = (id, answer.ok) {
            let keep = true;
            self.cancel(&TransferCancelEvent { transfer_id, keep });
        }
    }

    /// Takes the next bytes of a file. Those of a transfer that is over are passed by: they were
    /// on their way when it ended.
    pub(crate) async fn take(&mut self, message: Bytes) {
        let Ok(frame) = BinaryFrame::decode(&message) else {
            return;
        };
        let checked = self.link.checked;
        if let Some(Role::Receiving(receiving)) = self.role(frame.transfer) {
            receiving.take(message.slice(HEADER..), checked).await;
        }
    }

    /// Waits for a transfer to end; for ever when there is none.
    pub(crate) async fn ended(&mut self) {
        match self.tasks.join_next().await {
            Some(Ok((id, number))) => {
                // Its number may have been given to another transfer since.
                if self.live.get(&id).is_some_and(|live| live.number == number) {
                    self.live.remove(&id);
                }
            }
            Some(Err(_)) => {}
            None => std::future::pending().await,
        }
    }

    /// Ends all of them; what has come of files stays.
    pub(crate) async fn close(mut self) {
        self.stop.cancel();
        self.live.clear();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let _ = timeout(CLOSED_WITHIN, all).await;
    }

    async fn send(&mut self, ask: TransferSendEvent) -> Result<(), Gone> {
        if let Err(refused) = self.admit(ask.transfer_id) {
            let (error, code) = self.link.refusal(&refused);
            let answer = TransferMetaParams {
                transfer_id: ask.transfer_id,
                error,
                code,
                ..TransferMetaParams::default()
            };
            return self
                .link
                .outgoing
                .text(answer.encode(&request_id(ask.transfer_id)))
                .await;
        }
        let (sending, orders) = Sending::new();
        let (id, link) = (ask.transfer_id, self.link.clone());
        self.start(id, Role::Sending(sending), |cancel| {
            send::send(ask, link, orders, cancel)
        });
        Ok(())
    }

    async fn receive(&mut self, ask: TransferReceiveEvent) -> Result<(), Gone> {
        if let Err(refused) = self.admit(ask.transfer_id) {
            let (error, code) = self.link.refusal(&refused);
            let answer = TransferAcceptParams {
                transfer_id: ask.transfer_id,
                error,
                code,
                ..TransferAcceptParams::default()
            };
            return self
                .link
                .outgoing
                .text(answer.encode(&request_id(ask.transfer_id)))
                .await;
        }
        let (receiving, pieces) = Receiving::new();
        let (id, link) = (ask.transfer_id, self.link.clone());
        self.start(id, Role::Receiving(receiving), |cancel| {
            receive::receive(ask, link, pieces, cancel)
        });
        Ok(())
    }

    fn start<F>(&mut self, id: u32, role: Role, task: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let cancel = self.stop.child_token();
        let task = task(cancel.clone());
        self.started += 1;
        let number = self.started;
        self.tasks.spawn(async move {
            task.await;
            (id, number)
        });
        let live = Live {
            number,
            cancel,
            role,
        };
        self.live.insert(id, live);
    }

    fn admit(&self, id: u32) -> Result<(), ToolError> {
        if self.live.contains_key(&id) {
            let message = format!("transfer {id} is under way already");
            return Err(ToolError::new(ErrorCode::Conflict, message));
        }
        if self.tasks.len() >= MOST {
            let message = format!("{MOST} transfers are under way on this node");
            let busy = ToolError::new(ErrorCode::Unavailable, message);
            return Err(busy.hint("try again when one has ended"));
        }
        Ok(())
    }

    fn cancel(&mut self, ask: &TransferCancelEvent) {
        if let Some(live) = self.live.remove(&ask.transfer_id) {
            if let (Role::Receiving(receiving), false) = (&live.role, ask.keep) {
                receiving.do_not_keep();
            }
            live.cancel.cancel();
        }
    }

    fn role(&mut self, id: u32) -> Option<&mut Role> {
        self.live.get_mut(&id).map(|live| &mut live.role)
    }

    fn sending(&mut self, id: u32) -> Option<&mut Sending> {
        match self.role(id) {
            Some(Role::Sending(sending)) => Some(sending),
            _ => None,
        }
    }
}

impl Link {
    /// An error as a transfer tells it: its text, and its code to those who know codes.
    fn refusal(&self, error: &ToolError) -> (Option<String>, Option<String>) {
        let code = self.checked.then(|| error.code.word().to_owned());
        (Some(error.text()), code)
    }
}

/// Runs work on the disk where it holds nobody up.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LocalError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|e| ToolError::internal(e.to_string()))?;
    Ok(done?)
}

const REQUEST: &str = "transfer-";

fn request_id(transfer: u32) -> String {
    format!("{REQUEST}{transfer}")
}

fn gave_up() -> ToolError {
    let limit = IDLE.as_secs() / 60;
    let message = format!("nothing was heard of the transfer for {limit} minutes");
    ToolError::new(ErrorCode::DeadlineExceeded, message)
}
