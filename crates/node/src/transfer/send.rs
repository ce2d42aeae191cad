//! A file this node sends.

use bytes::Bytes;
use manyhands_core::{ErrorCode, ToolError};
use manyhands_hands::local;
use manyhands_wire::{
    CHUNK, HEADER, Params, TransferCompleteParams, TransferMetaParams, TransferSendEvent, WINDOW,
};
use serde_json::json;
use tokio::sync::{oneshot, watch};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{IDLE, TransferDeps, on_disk, request_id, transfer_timed_out};
use crate::writer::ConnectionClosed;

/// Number of chunks read ahead while earlier ones are sent.
const READ_AHEAD: usize = 4;

/// Sending half: what the gateway says about a file being sent.
pub(super) struct Sending {
    start: Option<oneshot::Sender<u64>>,
    acknowledged: watch::Sender<u64>,
}

/// Receiving half.
pub(super) struct SendControl {
    start: oneshot::Receiver<u64>,
    acknowledged: watch::Receiver<u64>,
}

impl Sending {
    pub(super) fn new() -> (Self, SendControl) {
        let (start, started) = oneshot::channel();
        let (acknowledged, received) = watch::channel(0);
        let sending = Self {
            start: Some(start),
            acknowledged,
        };
        let control = SendControl {
            start: started,
            acknowledged: received,
        };
        (sending, control)
    }

    pub(super) fn start(&mut self, offset: u64) {
        if let Some(start) = self.start.take() {
            // Set before the start is sent: the sender would otherwise take the offset for bytes in flight.
            self.acknowledged.send_replace(offset);
            let _ = start.send(offset);
        }
    }

    pub(super) fn acknowledged(&mut self, bytes: u64) {
        // Never backwards: acknowledgements may arrive out of order after a reconnect.
        self.acknowledged.send_if_modified(|known| {
            let more = bytes > *known;
            *known = bytes.max(*known);
            more
        });
    }
}

/// Why a file was not sent completely.
enum SendError {
    /// Cancelled, or the connection is lost: nothing to report.
    Stopped,
    /// Reported to the gateway.
    Failed(ToolError),
}

impl From<ConnectionClosed> for SendError {
    fn from(_: ConnectionClosed) -> Self {
        Self::Stopped
    }
}

impl From<ToolError> for SendError {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

/// Sends a file: announces it, waits for the start, streams it, and reports the outcome.
pub(super) async fn send(
    request: TransferSendEvent,
    deps: TransferDeps,
    mut control: SendControl,
    cancel: CancellationToken,
) {
    let id = request.transfer_id;
    let files = deps.node.toolbox.files().clone();
    let path = request.path.clone();
    let opened = on_disk(move || files.outgoing(&path)).await;
    // A file that cannot be opened is reported in the same message, so the gateway waits for one answer only.
    let answer = meta(id, &opened, &deps);
    if deps
        .outgoing
        .text(answer.encode(&request_id(id)))
        .await
        .is_err()
    {
        return;
    }
    let Ok(file) = opened else { return };
    let sent = tokio::select! {
        sent = stream(id, file, &deps, &mut control) => sent,
        () = cancel.cancelled() => Err(SendError::Stopped),
    };
    let mut about = json!({ "transferId": id, "path": request.path });
    let complete = match sent {
        Ok((complete, bytes)) => {
            about["bytes"] = bytes.into();
            deps.node.log.info("file_sent", "sent a file", about);
            complete
        }
        // The gateway cancelled it or is gone: a report would reach nobody.
        Err(SendError::Stopped) => return,
        Err(SendError::Failed(error)) => {
            about["why"] = error.text().into();
            deps.node
                .log
                .warn("file_send_failed", "failed to send a file", about);
            let (error, code) = deps.refusal(&error);
            TransferCompleteParams {
                transfer_id: id,
                error,
                code,
                sha256: None,
            }
        }
    };
    let complete = complete.encode(&request_id(id));
    // Behind the file's frames: as a text it would overtake them.
    let _ = deps.outgoing.text_behind_frames(complete).await;
}

fn meta(
    transfer_id: u32,
    opened: &Result<local::OutgoingFile, ToolError>,
    deps: &TransferDeps,
) -> TransferMetaParams {
    match opened {
        Ok(file) => TransferMetaParams {
            transfer_id,
            size: Some(file.size()),
            mime: file.mime().map(str::to_owned),
            version: deps.checked.then(|| file.version().to_owned()),
            error: None,
            code: None,
        },
        Err(error) => {
            let (error, code) = deps.refusal(error);
            TransferMetaParams {
                transfer_id,
                error,
                code,
                ..TransferMetaParams::default()
            }
        }
    }
}

async fn stream(
    id: u32,
    mut file: local::OutgoingFile,
    deps: &TransferDeps,
    control: &mut SendControl,
) -> Result<(TransferCompleteParams, u64), SendError> {
    // The gateway starts it only once the destination has accepted.
    let start = timeout(IDLE, &mut control.start).await;
    let offset = start
        .map_err(|_| transfer_timed_out())?
        .map_err(|_| SendError::Stopped)?;
    if offset > 0 {
        // Skipping hashes the part that the other end already has, which takes a while for a large file.
        // Stops the blocking task if this future is dropped by a cancellation.
        let dropped = CancellationToken::new();
        let _dropped = dropped.clone().drop_guard();
        file = on_disk(move || file.skip_to(offset, &dropped).map(|()| file)).await?;
    }
    let mut sent = offset;
    // Read while the previous chunks are being sent, to keep disk and network busy.
    let mut next = spawn_blocking(move || read_ahead(id, file));
    let file = loop {
        let read = (&mut next).await;
        let read = read.map_err(|e| ToolError::internal(e.to_string()))?;
        let (file, frames) = read.map_err(ToolError::from)?;
        if frames.is_empty() {
            break file;
        }
        next = spawn_blocking(move || read_ahead(id, file));
        for frame in frames {
            let after = sent + (frame.len() - HEADER) as u64;
            // Only gateways with the addition acknowledge; others would stall the transfer here.
            if deps.checked {
                wait_for_window(after, control).await?;
            }
            deps.outgoing.frame(frame).await?;
            sent = after;
        }
    };
    let sha256 = on_disk(move || file.finish()).await?;
    let complete = TransferCompleteParams {
        transfer_id: id,
        sha256: deps.checked.then_some(sha256),
        ..TransferCompleteParams::default()
    };
    Ok((complete, sent - offset))
}

/// Waits until at most one window is unacknowledged after `after` bytes.
async fn wait_for_window(after: u64, control: &mut SendControl) -> Result<(), SendError> {
    let mut acknowledged = control.acknowledged.clone();
    let permits = acknowledged.wait_for(|taken| after <= taken.saturating_add(WINDOW));
    match timeout(IDLE, permits).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) => Err(SendError::Stopped),
        Err(_) => {
            let message = "the receiver stopped accepting data";
            Err(ToolError::new(ErrorCode::DeadlineExceeded, message).into())
        }
    }
}

type Read = (local::OutgoingFile, Vec<Bytes>);

/// Reads the next chunks, each as a complete frame.
fn read_ahead(id: u32, mut file: local::OutgoingFile) -> Result<Read, local::LocalError> {
    let mut frames = Vec::with_capacity(READ_AHEAD);
    while frames.len() < READ_AHEAD && file.at() < file.size() {
        let left = usize::try_from(file.size() - file.at()).unwrap_or(usize::MAX);
        let mut frame = vec![0; HEADER + left.min(CHUNK)];
        // Header and content share one buffer, so that no chunk is copied again.
        frame[..HEADER].copy_from_slice(&id.to_le_bytes());
        file.read(&mut frame[HEADER..])?;
        frames.push(Bytes::from(frame));
    }
    Ok((file, frames))
}
