//! A file this node receives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use manyhands_core::{ErrorCode, ToolError};
use manyhands_hands::local::{IncomingFile, LocalError};
use manyhands_wire::{
    Params, Payload, TransferAcceptParams, TransferAckEvent, TransferDoneParams,
    TransferReceiveEvent, WINDOW,
};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{IDLE, Link, Notes, gave_up, on_disk, request_id};
use crate::writer::Outgoing;

/// How many pieces may wait for the disk, however small they are.
const PIECES: usize = 1_024;
/// How many pieces are written before the other end is told.
const AT_ONCE: usize = 2;
/// How often, and after how long each time, a part is tried again that a connection which has
/// just ended still holds.
const TRIES: usize = 50;
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// What the gateway says about a file that is being received.
pub(super) struct Receiving {
    pieces: mpsc::Sender<Piece>,
    room: Arc<Semaphore>,
    keep: Arc<AtomicBool>,
}

/// The other end of it.
pub(super) struct Pieces {
    pieces: mpsc::Receiver<Piece>,
    room: Arc<Semaphore>,
    keep: Arc<AtomicBool>,
}

enum Piece {
    Bytes(Bytes, OwnedSemaphorePermit),
    /// Everything has come.
    End(Option<String>),
    /// More has come than was acknowledged.
    Flood,
}

impl Receiving {
    pub(super) fn new() -> (Self, Pieces) {
        let (pieces, received) = mpsc::channel(PIECES);
        let room = Arc::new(Semaphore::new(window()));
        let keep = Arc::new(AtomicBool::new(true));
        let receiving = Self {
            pieces,
            room: room.clone(),
            keep: keep.clone(),
        };
        let pieces = Pieces {
            pieces: received,
            room,
            keep,
        };
        (receiving, pieces)
    }

    /// Takes the next bytes. A gateway that is told what was taken never sends more than a
    /// window; one that is not has to wait.
    pub(super) async fn take(&mut self, bytes: Bytes, checked: bool) {
        let wanted = u32::try_from(bytes.len().min(window())).unwrap_or(u32::MAX);
        let room = self.room.clone();
        let piece = if checked && bytes.len() <= window() {
            match room.try_acquire_many_owned(wanted) {
                Ok(room) => Piece::Bytes(bytes, room),
                Err(_) => Piece::Flood,
            }
        } else if checked {
            Piece::Flood
        } else {
            match room.acquire_many_owned(wanted).await {
                Ok(room) => Piece::Bytes(bytes, room),
                Err(_) => return,
            }
        };
        let _ = self.pieces.send(piece).await;
    }

    pub(super) async fn end(&mut self, sha256: Option<String>) {
        let _ = self.pieces.send(Piece::End(sha256)).await;
    }

    /// What has come is not wanted any more.
    pub(super) fn do_not_keep(&self) {
        self.keep.store(false, Ordering::Relaxed);
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        // Whoever waits for room waits for nobody.
        self.room.close();
    }
}

/// How taking a file ended.
enum Outcome {
    Placed(u64),
    Failed(ToolError),
    /// Taken back, or the connection is gone.
    Stopped(Option<Box<IncomingFile>>),
}

/// Receives a file: readies its place, writes what comes, and says how it went.
pub(super) async fn receive(
    ask: TransferReceiveEvent,
    link: Link,
    mut pieces: Pieces,
    cancel: CancellationToken,
) {
    let id = ask.transfer_id;
    let opened = open(&ask, &link).await;
    let accept = accept(id, &opened, &link);
    // Whether anybody hears it shows soon enough.
    let _ = link.outgoing.text(accept.encode(&request_id(id))).await;
    let Ok(incoming) = opened else { return };
    let part = incoming.part().to_owned();
    let outcome = write(id, Box::new(incoming), &link, &mut pieces, &cancel).await;
    let kept = match &outcome {
        Outcome::Stopped(_) => pieces.keep.load(Ordering::Relaxed) && key(&ask, &link).is_some(),
        _ => false,
    };
    let outcome = if kept {
        outcome
    } else {
        forget(outcome, part, &link.node.notes).await
    };
    finish(&ask, outcome, &link).await;
}

async fn open(ask: &TransferReceiveEvent, link: &Link) -> Result<IncomingFile, ToolError> {
    if !link.node.toolbox.may_write() {
        let message = "this node is read-only and receives no files";
        return Err(ToolError::new(ErrorCode::Forbidden, message));
    }
    let mut tries = 0;
    loop {
        tries += 1;
        let files = link.node.toolbox.files().clone();
        let (path, size) = (ask.path.clone(), ask.size);
        let resume = key(ask, link).map(str::to_owned);
        let notes = link.node.notes.clone();
        let opened = on_disk(
            move || match files.incoming(&path, size, resume.as_deref()) {
                Err(LocalError::Busy(path)) => Ok(Err(LocalError::Busy(path))),
                opened => {
                    let incoming = opened?;
                    notes.add(incoming.part());
                    Ok(Ok(incoming))
                }
            },
        );
        match opened.await? {
            Ok(incoming) => return Ok(incoming),
            Err(_) if tries < TRIES => sleep(TRY_AGAIN).await,
            Err(busy) => return Err(busy.into()),
        }
    }
}

/// By what the part is found again.
fn key<'a>(ask: &'a TransferReceiveEvent, link: &Link) -> Option<&'a str> {
    ask.resume.as_deref().filter(|_| link.checked)
}

fn accept(
    transfer_id: u32,
    opened: &Result<IncomingFile, ToolError>,
    link: &Link,
) -> TransferAcceptParams {
    let (offset, refused) = match opened {
        Ok(incoming) => (Some(incoming.taken()), None),
        Err(error) => (None, Some(link.refusal(error))),
    };
    let (error, code) = refused.unwrap_or_default();
    TransferAcceptParams {
        transfer_id,
        offset: offset.filter(|offset| link.checked && *offset > 0),
        error,
        code,
    }
}

async fn write(
    id: u32,
    mut incoming: Box<IncomingFile>,
    link: &Link,
    pieces: &mut Pieces,
    cancel: &CancellationToken,
) -> Outcome {
    loop {
        let mut some = Vec::with_capacity(AT_ONCE);
        let count = tokio::select! {
            biased;
            () = cancel.cancelled() => return Outcome::Stopped(Some(incoming)),
            count = timeout(IDLE, pieces.pieces.recv_many(&mut some, AT_ONCE)) => count,
        };
        match count {
            Ok(0) => return Outcome::Stopped(Some(incoming)),
            Ok(_) => {}
            Err(_) => {
                let _ = tokio::task::spawn_blocking(move || incoming.discard()).await;
                return Outcome::Failed(gave_up());
            }
        }
        let before = incoming.taken();
        let step = on_disk(move || put(incoming, some)).await;
        match step {
            Ok(Step::More(next)) => incoming = next,
            Ok(Step::Placed(bytes)) => return Outcome::Placed(bytes),
            Err(error) => return Outcome::Failed(error),
        }
        if link.checked && incoming.taken() > before {
            acknowledge(id, incoming.taken(), &link.outgoing).await;
        }
    }
}

enum Step {
    More(Box<IncomingFile>),
    Placed(u64),
}

/// Writes some pieces; what cannot be written to its end is removed.
fn put(mut incoming: Box<IncomingFile>, pieces: Vec<Piece>) -> Result<Step, LocalError> {
    for piece in pieces {
        let written = match piece {
            Piece::End(sha256) => return incoming.finish(sha256.as_deref()).map(Step::Placed),
            Piece::Bytes(bytes, _room) => incoming.write(&bytes),
            Piece::Flood => Err(incoming.flooded()),
        };
        if let Err(error) = written {
            incoming.discard();
            return Err(error);
        }
    }
    Ok(Step::More(incoming))
}

async fn acknowledge(transfer_id: u32, bytes: u64, outgoing: &Outgoing) {
    let ack = TransferAckEvent { transfer_id, bytes };
    let _ = outgoing.text(ack.encode()).await;
}

/// Removes what has come, and the note about it.
async fn forget(outcome: Outcome, part: std::path::PathBuf, notes: &Notes) -> Outcome {
    let notes = notes.clone();
    let forgotten = tokio::task::spawn_blocking(move || {
        let outcome = match outcome {
            Outcome::Stopped(Some(incoming)) => {
                incoming.discard();
                Outcome::Stopped(None)
            }
            other => other,
        };
        notes.remove(&part);
        outcome
    });
    let lost = |e: tokio::task::JoinError| Outcome::Failed(ToolError::internal(e.to_string()));
    forgotten.await.unwrap_or_else(lost)
}

async fn finish(ask: &TransferReceiveEvent, outcome: Outcome, link: &Link) {
    let mut done = TransferDoneParams {
        transfer_id: ask.transfer_id,
        ..TransferDoneParams::default()
    };
    let mut about = json!({ "transferId": ask.transfer_id, "path": ask.path });
    match outcome {
        Outcome::Stopped(_) => {
            link.node
                .log
                .info("a file was not received to its end", about);
            return;
        }
        Outcome::Placed(bytes) => {
            done.bytes_written = Some(bytes);
            about["bytes"] = bytes.into();
            link.node.log.info("a file was received", about);
        }
        Outcome::Failed(error) => {
            about["why"] = error.text().into();
            link.node.log.warn("a file was not received", about);
            (done.error, done.code) = link.refusal(&error);
        }
    }
    let _ = link
        .outgoing
        .text(done.encode(&request_id(ask.transfer_id)))
        .await;
}

fn window() -> usize {
    usize::try_from(WINDOW).unwrap_or(usize::MAX)
}
