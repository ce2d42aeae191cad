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

use super::{IDLE, Link, gave_up, on_disk, request_id};
use crate::writer::Gone;

/// How many chunks are read at a time, while those before them are sent.
const AHEAD: usize = 4;

/// What the gateway says about a file that is being sent.
pub(super) struct Sending {
    start: Option<oneshot::Sender<u64>>,
    acknowledged: watch::Sender<u64>,
}

/// The other end of it.
pub(super) struct Orders {
    start: oneshot::Receiver<u64>,
    acknowledged: watch::Receiver<u64>,
}

impl Sending {
    pub(super) fn new() -> (Self, Orders) {
        let (start, started) = oneshot::channel();
        let (acknowledged, heard) = watch::channel(0);
        let sending = Self {
            start: Some(start),
            acknowledged,
        };
        let orders = Orders {
            start: started,
            acknowledged: heard,
        };
        (sending, orders)
    }

    pub(super) fn start(&mut self, offset: u64) {
        if let Some(start) = self.start.take() {
            self.acknowledged.send_replace(offset);
            let _ = start.send(offset);
        }
    }

    pub(super) fn acknowledged(&mut self, bytes: u64) {
        self.acknowledged.send_if_modified(|known| {
            let more = bytes > *known;
            *known = bytes.max(*known);
            more
        });
    }
}

/// Why a file is not sent to its end.
enum Broken {
    /// The gateway took it back, or is gone: nobody is told.
    Stopped,
    /// The gateway is told.
    Failed(ToolError),
}

impl From<Gone> for Broken {
    fn from(_: Gone) -> Self {
        Self::Stopped
    }
}

impl From<ToolError> for Broken {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

/// Sends a file: says what it is, waits to be told to begin, and says how it went.
pub(super) async fn send(
    ask: TransferSendEvent,
    link: Link,
    mut orders: Orders,
    cancel: CancellationToken,
) {
    let id = ask.transfer_id;
    let files = link.node.toolbox.files().clone();
    let path = ask.path.clone();
    let opened = on_disk(move || files.outgoing(&path)).await;
    let answer = meta(id, &opened, &link);
    if link
        .outgoing
        .text(answer.encode(&request_id(id)))
        .await
        .is_err()
    {
        return;
    }
    let Ok(file) = opened else { return };
    let sent = tokio::select! {
        sent = stream(id, file, &link, &mut orders) => sent,
        () = cancel.cancelled() => Err(Broken::Stopped),
    };
    let mut about = json!({ "transferId": id, "path": ask.path });
    let complete = match sent {
        Ok((complete, bytes)) => {
            about["bytes"] = bytes.into();
            link.node.log.info("a file was sent", about);
            complete
        }
        Err(Broken::Stopped) => return,
        Err(Broken::Failed(error)) => {
            about["why"] = error.text().into();
            link.node.log.warn("a file was not sent", about);
            let (error, code) = link.refusal(&error);
            TransferCompleteParams {
                transfer_id: id,
                error,
                code,
                sha256: None,
            }
        }
    };
    let complete = complete.encode(&request_id(id));
    let _ = link.outgoing.text_behind_frames(complete).await;
}

fn meta(
    transfer_id: u32,
    opened: &Result<local::OutgoingFile, ToolError>,
    link: &Link,
) -> TransferMetaParams {
    match opened {
        Ok(file) => TransferMetaParams {
            transfer_id,
            size: Some(file.size()),
            mime: file.mime().map(str::to_owned),
            version: link.checked.then(|| file.version().to_owned()),
            error: None,
            code: None,
        },
        Err(error) => {
            let (error, code) = link.refusal(error);
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
    link: &Link,
    orders: &mut Orders,
) -> Result<(TransferCompleteParams, u64), Broken> {
    let start = timeout(IDLE, &mut orders.start).await;
    let offset = start.map_err(|_| gave_up())?.map_err(|_| Broken::Stopped)?;
    if offset > 0 {
        let dropped = CancellationToken::new();
        let _dropped = dropped.clone().drop_guard();
        file = on_disk(move || file.skip_to(offset, &dropped).map(|()| file)).await?;
    }
    let mut sent = offset;
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
            if link.checked {
                room_for(after, orders).await?;
            }
            link.outgoing.frame(frame).await?;
            sent = after;
        }
    };
    let sha256 = on_disk(move || file.finish()).await?;
    let complete = TransferCompleteParams {
        transfer_id: id,
        sha256: link.checked.then_some(sha256),
        ..TransferCompleteParams::default()
    };
    Ok((complete, sent - offset))
}

/// Waits until no more than a window is on its way when `after` bytes have been sent.
async fn room_for(after: u64, orders: &mut Orders) -> Result<(), Broken> {
    let mut acknowledged = orders.acknowledged.clone();
    let room = acknowledged.wait_for(|taken| after <= taken.saturating_add(WINDOW));
    match timeout(IDLE, room).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) => Err(Broken::Stopped),
        Err(_) => {
            let message = "the other end took nothing more";
            Err(ToolError::new(ErrorCode::DeadlineExceeded, message).into())
        }
    }
}

type Read = (local::OutgoingFile, Vec<Bytes>);

/// The next chunks, each as the frame it travels in.
fn read_ahead(id: u32, mut file: local::OutgoingFile) -> Result<Read, local::LocalError> {
    let mut frames = Vec::with_capacity(AHEAD);
    while frames.len() < AHEAD && file.at() < file.size() {
        let left = usize::try_from(file.size() - file.at()).unwrap_or(usize::MAX);
        let mut frame = vec![0; HEADER + left.min(CHUNK)];
        frame[..HEADER].copy_from_slice(&id.to_le_bytes());
        file.read(&mut frame[HEADER..])?;
        frames.push(Bytes::from(frame));
    }
    Ok((file, frames))
}
