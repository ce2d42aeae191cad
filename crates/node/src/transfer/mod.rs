//! The node's side of transfers: files it sends and receives.
//!
//! Each transfer runs in its own task with blocking I/O on blocking threads. Partially received files outlive the connection;
//! see [`crate::partial_files`].

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

use crate::node::Node;
use crate::writer::{ConnectionClosed, Outgoing};

use receive::Receiving;
use send::Sending;

/// Maximum number of concurrent transfers.
const MAX_TRANSFERS: usize = 64;
/// A transfer without any message for this long is abandoned.
const IDLE: Duration = Duration::from_secs(600);
/// How long the last chunk may take to reach the disk after the connection is lost.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Dependencies of a connection's transfers.
#[derive(Clone)]
struct TransferDeps {
    node: Arc<Node>,
    outgoing: Outgoing,
    /// Whether the gateway supports hashes, offsets and acknowledgements.
    checked: bool,
}

/// The transfers of one connection.
pub(crate) struct Transfers {
    deps: TransferDeps,
    live: HashMap<u32, ActiveTransfer>,
    tasks: JoinSet<(u32, u64)>,
    started: u64,
    stop: CancellationToken,
}

struct ActiveTransfer {
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
            deps: TransferDeps {
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

    /// Handles a transfer event.
    pub(crate) async fn on_event(
        &mut self,
        kind: EventKind,
        event: Event,
    ) -> Result<(), ConnectionClosed> {
        match kind {
            EventKind::TransferSend => match TransferSendEvent::read(event) {
                Some(request) => self.send(request).await,
                None => Ok(()),
            },
            EventKind::TransferReceive => match TransferReceiveEvent::read(event) {
                Some(request) => self.receive(request).await,
                None => Ok(()),
            },
            EventKind::TransferStart => {
                if let Some(request) = TransferStartEvent::read(event)
                    && let Some(sending) = self.sending(request.transfer_id)
                {
                    // A gateway without resumption sends no offset and expects the whole file.
                    sending.start(request.offset.unwrap_or(0));
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
                if let Some(request) = TransferCancelEvent::read(event) {
                    self.cancel(&request);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Handles a response. An error means that the gateway does not know the transfer, and will not mention it again.
    pub(crate) fn on_response(&mut self, response: &Response) {
        let id = response
            .id
            .strip_prefix(REQUEST)
            .and_then(|id| id.parse().ok());
        if let (Some(transfer_id), false) = (id, response.ok) {
            // Kept: the gateway may have restarted, and resumes the file under a new transfer.
            let keep = true;
            self.cancel(&TransferCancelEvent { transfer_id, keep });
        }
    }

    /// Handles the next bytes of a file. Those of a finished transfer are ignored: they were in flight when it ended.
    pub(crate) async fn take(&mut self, message: Bytes) {
        let Ok(frame) = BinaryFrame::decode(&message) else {
            return;
        };
        let checked = self.deps.checked;
        if let Some(Role::Receiving(receiving)) = self.role(frame.transfer) {
            receiving.take(message.slice(HEADER..), checked).await;
        }
    }

    /// Waits for a transfer to end; never returns if there is none.
    pub(crate) async fn ended(&mut self) {
        match self.tasks.join_next().await {
            Some(Ok((id, number))) => {
                // Its id may have been reused by another transfer meanwhile.
                if self.live.get(&id).is_some_and(|live| live.number == number) {
                    self.live.remove(&id);
                }
            }
            Some(Err(_)) => {}
            None => std::future::pending().await,
        }
    }

    /// Stops all transfers; partially received files are kept.
    pub(crate) async fn close(mut self) {
        self.stop.cancel();
        self.live.clear();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let _ = timeout(CLOSE_TIMEOUT, all).await;
    }

    async fn send(&mut self, request: TransferSendEvent) -> Result<(), ConnectionClosed> {
        if let Err(refused) = self.admit(request.transfer_id) {
            let (error, code) = self.deps.refusal(&refused);
            let answer = TransferMetaParams {
                transfer_id: request.transfer_id,
                error,
                code,
                ..TransferMetaParams::default()
            };
            return self
                .deps
                .outgoing
                .text(answer.encode(&request_id(request.transfer_id)))
                .await;
        }
        let (sending, control) = Sending::new();
        let (id, deps) = (request.transfer_id, self.deps.clone());
        self.start(id, Role::Sending(sending), |cancel| {
            send::send(request, deps, control, cancel)
        });
        Ok(())
    }

    async fn receive(&mut self, request: TransferReceiveEvent) -> Result<(), ConnectionClosed> {
        if let Err(refused) = self.admit(request.transfer_id) {
            let (error, code) = self.deps.refusal(&refused);
            let answer = TransferAcceptParams {
                transfer_id: request.transfer_id,
                error,
                code,
                ..TransferAcceptParams::default()
            };
            return self
                .deps
                .outgoing
                .text(answer.encode(&request_id(request.transfer_id)))
                .await;
        }
        let (receiving, chunks) = Receiving::new();
        let (id, deps) = (request.transfer_id, self.deps.clone());
        self.start(id, Role::Receiving(receiving), |cancel| {
            receive::receive(request, deps, chunks, cancel)
        });
        Ok(())
    }

    fn start<F>(&mut self, id: u32, role: Role, task: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let cancel = self.stop.child_token();
        let task = task(cancel.clone());
        // Numbered, because the gateway may reuse an id while the old task is still ending.
        self.started += 1;
        let number = self.started;
        self.tasks.spawn(async move {
            task.await;
            (id, number)
        });
        let live = ActiveTransfer {
            number,
            cancel,
            role,
        };
        self.live.insert(id, live);
    }

    fn admit(&self, id: u32) -> Result<(), ToolError> {
        if self.live.contains_key(&id) {
            let message = format!("transfer {id} is already running");
            return Err(ToolError::new(ErrorCode::Conflict, message));
        }
        // Counts tasks instead of `live`: a cancelled transfer uses the disk until its task has ended.
        if self.tasks.len() >= MAX_TRANSFERS {
            let message = format!("this node already has {MAX_TRANSFERS} running transfers");
            let busy = ToolError::new(ErrorCode::Unavailable, message);
            return Err(busy.hint("retry when one has finished"));
        }
        Ok(())
    }

    fn cancel(&mut self, request: &TransferCancelEvent) {
        if let Some(live) = self.live.remove(&request.transfer_id) {
            if let (Role::Receiving(receiving), false) = (&live.role, request.keep) {
                // Set before the cancellation: the task reads it as it stops.
                receiving.discard_partial();
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

impl TransferDeps {
    /// Error text, and its code if the gateway supports codes.
    fn refusal(&self, error: &ToolError) -> (Option<String>, Option<String>) {
        let code = self.checked.then(|| error.code.as_str().to_owned());
        (Some(error.text()), code)
    }
}

/// Runs file I/O on a blocking thread.
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

fn transfer_timed_out() -> ToolError {
    let limit = IDLE.as_secs() / 60;
    let message = format!("transfer timed out: no message for {limit} minutes");
    ToolError::new(ErrorCode::DeadlineExceeded, message)
}
