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

use super::{IDLE, TransferDeps, on_disk, request_id, transfer_timed_out};
use crate::partial_files::PartialFiles;
use crate::writer::Outgoing;

/// Maximum number of chunks queued for the disk, whatever their size.
const MAX_QUEUED: usize = 1_024;
/// Number of chunks written before they are acknowledged.
const WRITE_BATCH: usize = 2;
/// Attempts to open a partial file that a connection which has just ended still holds, and the delay between
/// them.
const TRIES: usize = 50;
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Sending half: what the gateway says about a file being received.
pub(super) struct Receiving {
    chunks: mpsc::Sender<Chunk>,
    permits: Arc<Semaphore>,
    keep_partial: Arc<AtomicBool>,
}

/// Receiving half.
pub(super) struct ChunkReceiver {
    chunks: mpsc::Receiver<Chunk>,
    permits: Arc<Semaphore>,
    keep_partial: Arc<AtomicBool>,
}

enum Chunk {
    Bytes(Bytes, OwnedSemaphorePermit),
    /// Everything has arrived.
    End(Option<String>),
    /// More arrived than was acknowledged.
    Flood,
}

impl Receiving {
    pub(super) fn new() -> (Self, ChunkReceiver) {
        let (chunks, received) = mpsc::channel(MAX_QUEUED);
        // Counts bytes: memory per transfer is bounded by one window, however small the chunks are.
        let permits = Arc::new(Semaphore::new(window()));
        let keep_partial = Arc::new(AtomicBool::new(true));
        let receiving = Self {
            chunks,
            permits: permits.clone(),
            keep_partial: keep_partial.clone(),
        };
        let chunks = ChunkReceiver {
            chunks: received,
            permits,
            keep_partial,
        };
        (receiving, chunks)
    }

    /// Queues the next bytes. A gateway that gets acknowledgements never sends more than a window; for one that does not,
    /// this waits for room.
    pub(super) async fn take(&mut self, bytes: Bytes, checked: bool) {
        let wanted = u32::try_from(bytes.len().min(window())).unwrap_or(u32::MAX);
        let permits = self.permits.clone();
        let chunk = if checked && bytes.len() <= window() {
            match permits.try_acquire_many_owned(wanted) {
                Ok(permits) => Chunk::Bytes(bytes, permits),
                Err(_) => Chunk::Flood,
            }
        } else if checked {
            Chunk::Flood
        } else {
            match permits.acquire_many_owned(wanted).await {
                Ok(permits) => Chunk::Bytes(bytes, permits),
                Err(_) => return,
            }
        };
        let _ = self.chunks.send(chunk).await;
    }

    pub(super) async fn end(&mut self, sha256: Option<String>) {
        let _ = self.chunks.send(Chunk::End(sha256)).await;
    }

    /// The partial file is not needed any more.
    pub(super) fn discard_partial(&self) {
        self.keep_partial.store(false, Ordering::Relaxed);
    }
}

impl Drop for ChunkReceiver {
    fn drop(&mut self) {
        // A sender waiting for room would otherwise wait forever.
        self.permits.close();
    }
}

/// Outcome of a received file.
enum ReceiveOutcome {
    Placed(u64),
    Failed(ToolError),
    /// Cancelled, or the connection is lost.
    Stopped(Option<Box<IncomingFile>>),
}

/// Receives a file: opens it, writes the chunks, and reports the outcome.
pub(super) async fn receive(
    request: TransferReceiveEvent,
    deps: TransferDeps,
    mut chunks: ChunkReceiver,
    cancel: CancellationToken,
) {
    let id = request.transfer_id;
    let opened = open(&request, &deps).await;
    let accept = accept(id, &opened, &deps);
    // A lost connection is noticed below.
    let _ = deps.outgoing.text(accept.encode(&request_id(id))).await;
    let Ok(incoming) = opened else { return };
    let part = incoming.part().to_owned();
    let outcome = write(id, Box::new(incoming), &deps, &mut chunks, &cancel).await;
    let kept = match &outcome {
        ReceiveOutcome::Stopped(_) => {
            chunks.keep_partial.load(Ordering::Relaxed) && key(&request, &deps).is_some()
        }
        _ => false,
    };
    let outcome = if kept {
        outcome
    } else {
        forget(outcome, part, &deps.node.partial_files).await
    };
    finish(&request, outcome, &deps).await;
}

async fn open(
    request: &TransferReceiveEvent,
    deps: &TransferDeps,
) -> Result<IncomingFile, ToolError> {
    if !deps.node.toolbox.may_write() {
        let message = "this node is read-only and cannot receive files";
        return Err(ToolError::new(ErrorCode::Forbidden, message));
    }
    let mut tries = 0;
    loop {
        tries += 1;
        let files = deps.node.toolbox.files().clone();
        let (path, size) = (request.path.clone(), request.size);
        let resume = key(request, deps).map(str::to_owned);
        let partial_files = deps.node.partial_files.clone();
        let opened = on_disk(
            move || match files.incoming(&path, size, resume.as_deref()) {
                Err(LocalError::Busy(path)) => Ok(Err(LocalError::Busy(path))),
                opened => {
                    let incoming = opened?;
                    // Recorded as soon as it exists: a crash must not leave a part that nobody removes.
                    partial_files.add(incoming.part());
                    Ok(Ok(incoming))
                }
            },
        );
        match opened.await? {
            Ok(incoming) => return Ok(incoming),
            // The task of the old connection needs a moment to notice that it is gone.
            Err(_) if tries < TRIES => sleep(RETRY_DELAY).await,
            Err(busy) => return Err(busy.into()),
        }
    }
}

/// The key by which a partial file is found again.
fn key<'a>(request: &'a TransferReceiveEvent, deps: &TransferDeps) -> Option<&'a str> {
    request.resume.as_deref().filter(|_| deps.checked)
}

fn accept(
    transfer_id: u32,
    opened: &Result<IncomingFile, ToolError>,
    deps: &TransferDeps,
) -> TransferAcceptParams {
    let (offset, refused) = match opened {
        Ok(incoming) => (Some(incoming.taken()), None),
        Err(error) => (None, Some(deps.refusal(error))),
    };
    let (error, code) = refused.unwrap_or_default();
    TransferAcceptParams {
        transfer_id,
        // A gateway without the addition would not understand an offset.
        offset: offset.filter(|offset| deps.checked && *offset > 0),
        error,
        code,
    }
}

async fn write(
    id: u32,
    mut incoming: Box<IncomingFile>,
    deps: &TransferDeps,
    chunks: &mut ChunkReceiver,
    cancel: &CancellationToken,
) -> ReceiveOutcome {
    loop {
        let mut some = Vec::with_capacity(WRITE_BATCH);
        let count = tokio::select! {
            biased;
            // Biased: after a cancellation nothing more is written.
            () = cancel.cancelled() => return ReceiveOutcome::Stopped(Some(incoming)),
            count = timeout(IDLE, chunks.chunks.recv_many(&mut some, WRITE_BATCH)) => count,
        };
        match count {
            Ok(0) => return ReceiveOutcome::Stopped(Some(incoming)),
            Ok(_) => {}
            Err(_) => {
                let _ = tokio::task::spawn_blocking(move || incoming.discard()).await;
                return ReceiveOutcome::Failed(transfer_timed_out());
            }
        }
        // Compared below, so that a chunk without new bytes is not acknowledged twice.
        let before = incoming.taken();
        let step = on_disk(move || put(incoming, some)).await;
        match step {
            Ok(WriteStep::More(next)) => incoming = next,
            Ok(WriteStep::Placed(bytes)) => return ReceiveOutcome::Placed(bytes),
            Err(error) => return ReceiveOutcome::Failed(error),
        }
        // Acknowledged only once written, so that memory stays bounded however slow the disk is.
        if deps.checked && incoming.taken() > before {
            acknowledge(id, incoming.taken(), &deps.outgoing).await;
        }
    }
}

enum WriteStep {
    More(Box<IncomingFile>),
    Placed(u64),
}

/// Writes some chunks; on failure the partial file is removed.
fn put(mut incoming: Box<IncomingFile>, chunks: Vec<Chunk>) -> Result<WriteStep, LocalError> {
    for chunk in chunks {
        let written = match chunk {
            Chunk::End(sha256) => return incoming.finish(sha256.as_deref()).map(WriteStep::Placed),
            Chunk::Bytes(bytes, _room) => incoming.write(&bytes),
            Chunk::Flood => Err(incoming.flooded()),
        };
        if let Err(error) = written {
            incoming.discard();
            return Err(error);
        }
    }
    Ok(WriteStep::More(incoming))
}

async fn acknowledge(transfer_id: u32, bytes: u64, outgoing: &Outgoing) {
    let ack = TransferAckEvent { transfer_id, bytes };
    let _ = outgoing.text(ack.encode()).await;
}

/// Removes a partial file and its record.
async fn forget(
    outcome: ReceiveOutcome,
    part: std::path::PathBuf,
    partial_files: &PartialFiles,
) -> ReceiveOutcome {
    let partial_files = partial_files.clone();
    let forgotten = tokio::task::spawn_blocking(move || {
        let outcome = match outcome {
            ReceiveOutcome::Stopped(Some(incoming)) => {
                incoming.discard();
                ReceiveOutcome::Stopped(None)
            }
            other => other,
        };
        // The record goes last: a crash in between leaves one for a part that is gone, which the sweep
        // removes.
        partial_files.remove(&part);
        outcome
    });
    let lost =
        |e: tokio::task::JoinError| ReceiveOutcome::Failed(ToolError::internal(e.to_string()));
    forgotten.await.unwrap_or_else(lost)
}

async fn finish(request: &TransferReceiveEvent, outcome: ReceiveOutcome, deps: &TransferDeps) {
    let mut done = TransferDoneParams {
        transfer_id: request.transfer_id,
        ..TransferDoneParams::default()
    };
    let mut about = json!({ "transferId": request.transfer_id, "path": request.path });
    match outcome {
        ReceiveOutcome::Stopped(_) => {
            deps.node.log.info(
                "file_receive_stopped",
                "receiving a file was stopped",
                about,
            );
            return;
        }
        ReceiveOutcome::Placed(bytes) => {
            done.bytes_written = Some(bytes);
            about["bytes"] = bytes.into();
            deps.node
                .log
                .info("file_received", "received a file", about);
        }
        ReceiveOutcome::Failed(error) => {
            about["why"] = error.text().into();
            deps.node
                .log
                .warn("file_receive_failed", "failed to receive a file", about);
            (done.error, done.code) = deps.refusal(&error);
        }
    }
    let _ = deps
        .outgoing
        .text(done.encode(&request_id(request.transfer_id)))
        .await;
}

fn window() -> usize {
    usize::try_from(WINDOW).unwrap_or(usize::MAX)
}
