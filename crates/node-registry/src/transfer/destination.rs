//! Destinations of a transfer.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use manyhands_core::{AgentId, ErrorCode, ToolError};
use manyhands_host::workspace::{Author, Upload, Workspace};
use manyhands_wire::{HEADER, TransferCancelEvent, TransferEndEvent, TransferReceiveEvent};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::source::named;
use super::{Meta, hex};
use crate::node::{ConnectedNode, FromNode, TransferClaim};
use crate::tool::failure;

/// The destination of a file.
pub(super) enum Destination {
    Node(NodeDestination),
    Workspace(Box<WorkspaceDestination>),
}

/// A file on a node.
pub(super) struct NodeDestination {
    id: u32,
    node: Arc<ConnectedNode>,
    path: String,
    messages: mpsc::Receiver<FromNode>,
    /// Bytes sent, and bytes reported as stored.
    sent: u64,
    acknowledged: u64,
    /// Whether the node still has to be told how the transfer ended.
    open: bool,
    _claim: TransferClaim,
}

impl Drop for NodeDestination {
    fn drop(&mut self) {
        self.abort(true);
    }
}

/// A file in a workspace.
pub(super) struct WorkspaceDestination {
    workspace: Workspace,
    agent: AgentId,
    path: String,
    author: Author,
    upload: Option<Upload>,
    /// The resume key of what has arrived so far.
    resume: Option<String>,
    hasher: Sha256,
    written: u64,
    acknowledged: u64,
}

impl Destination {
    pub(super) fn node(id: u32, node: Arc<ConnectedNode>, path: &str) -> Self {
        let (messages, claim) = node.claim_transfer(id);
        Self::Node(NodeDestination {
            id,
            node,
            path: path.to_owned(),
            messages,
            sent: 0,
            acknowledged: 0,
            open: true,
            _claim: claim,
        })
    }

    pub(super) fn workspace(
        workspace: &Workspace,
        agent: &AgentId,
        path: &str,
        author: Author,
    ) -> Self {
        Self::Workspace(Box::new(WorkspaceDestination {
            workspace: workspace.clone(),
            agent: agent.clone(),
            path: path.to_owned(),
            author,
            upload: None,
            resume: None,
            hasher: Sha256::new(),
            written: 0,
            acknowledged: 0,
        }))
    }

    /// Returns whether its connection is lost.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Node(to) if to.node.closed().is_cancelled())
    }

    /// Offers the file and returns how many bytes of it are already there.
    pub(super) async fn offer(
        &mut self,
        meta: &Meta,
        resume: Option<String>,
    ) -> Result<u64, ToolError> {
        match self {
            Self::Node(to) => to.offer(meta, resume).await,
            Self::Workspace(to) => to.offer(meta, resume).await,
        }
    }

    /// Sends a piece.
    pub(super) async fn put(&mut self, frame: Bytes) -> Result<(), ToolError> {
        match self {
            Self::Node(to) => {
                to.sent += (frame.len() - HEADER) as u64;
                to.node.send_file_chunk(readdressed(frame, to.id)).await
            }
            Self::Workspace(to) => to.put(frame.slice(HEADER..)).await,
        }
    }

    /// Waits until more bytes are stored than reported before, and returns how many.
    pub(super) async fn taken(&mut self) -> Result<u64, ToolError> {
        match self {
            Self::Node(to) => to.taken().await,
            Self::Workspace(to) if to.written > to.acknowledged => {
                to.acknowledged = to.written;
                Ok(to.written)
            }
            Self::Workspace(_) => std::future::pending().await,
        }
    }

    /// Completes the file: moves it into place if its hash is right, and returns its size.
    pub(super) async fn finish(&mut self, sha256: Option<&str>) -> Result<u64, ToolError> {
        match self {
            Self::Node(to) => to.finish(sha256).await,
            Self::Workspace(to) => to.finish(sha256).await,
        }
    }

    /// Cancels the transfer and discards what arrived.
    pub(super) async fn abort(&mut self) {
        match self {
            Self::Node(to) => to.abort(false),
            Self::Workspace(to) => to.abandon().await,
        }
    }

    /// Marks the transfer as complete.
    pub(super) fn done(&mut self) {
        if let Self::Node(to) = self {
            to.open = false;
        }
    }
}

impl NodeDestination {
    async fn receive(&mut self) -> Result<FromNode, ToolError> {
        tokio::select! {
            biased;
            messages = self.messages.recv() => messages.ok_or_else(|| self.node.closed_error()),
            () = self.node.closed().cancelled() => Err(self.node.closed_error()),
        }
    }

    async fn offer(&mut self, meta: &Meta, resume: Option<String>) -> Result<u64, ToolError> {
        let offer = TransferReceiveEvent {
            transfer_id: self.id,
            path: self.path.clone(),
            size: meta.size,
            mime: meta.mime.clone(),
            resume: resume.filter(|_| self.node.is_checked()),
        };
        self.node.send_message(&offer).await?;
        let FromNode::Accept(accept) = self.receive().await? else {
            return Err(self.out_of_turn());
        };
        match accept.error {
            Some(error) => Err(failure(
                accept.code.as_deref(),
                format!("destination: {error}"),
            )),
            None => {
                let offset = accept.offset.unwrap_or(0);
                (self.sent, self.acknowledged) = (offset, offset);
                Ok(offset)
            }
        }
    }

    async fn taken(&mut self) -> Result<u64, ToolError> {
        if !self.node.is_checked() && self.sent > self.acknowledged {
            // An older node reports nothing; what its socket accepted counts as stored.
            self.acknowledged = self.sent;
            return Ok(self.sent);
        }
        match self.receive().await? {
            FromNode::Ack(bytes) => {
                self.acknowledged = bytes;
                Ok(bytes)
            }
            FromNode::Done(done) => Err(done.error.map_or_else(
                || self.out_of_turn(),
                |error| failure(done.code.as_deref(), format!("destination: {error}")),
            )),
            _ => Err(self.out_of_turn()),
        }
    }

    async fn finish(&mut self, sha256: Option<&str>) -> Result<u64, ToolError> {
        let end = TransferEndEvent {
            transfer_id: self.id,
            sha256: sha256.filter(|_| self.node.is_checked()).map(str::to_owned),
        };
        self.node.send_after_files(&end).await?;
        loop {
            match self.receive().await? {
                FromNode::Ack(_) => {}
                FromNode::Done(done) => {
                    return match done.error {
                        Some(error) => Err(failure(
                            done.code.as_deref(),
                            format!("destination: {error}"),
                        )),
                        None => Ok(done.bytes_written.unwrap_or(self.sent)),
                    };
                }
                _ => return Err(self.out_of_turn()),
            }
        }
    }

    fn abort(&mut self, keep: bool) {
        if std::mem::take(&mut self.open) && self.node.is_checked() {
            self.node.try_send_message(&TransferCancelEvent {
                transfer_id: self.id,
                keep,
            });
        }
    }

    fn out_of_turn(&self) -> ToolError {
        let message = format!(
            "protocol error: unexpected message from node {}",
            self.node.id()
        );
        ToolError::new(ErrorCode::Failed, message)
    }
}

impl WorkspaceDestination {
    async fn offer(&mut self, meta: &Meta, resume: Option<String>) -> Result<u64, ToolError> {
        if self.upload.is_some() && resume.is_some() && self.resume == resume {
            self.acknowledged = self.written;
            return Ok(self.written);
        }
        self.abandon().await;
        let mime = meta.mime.as_deref();
        let author = self.author.clone();
        let begun = self.workspace.begin(&self.agent, &self.path, mime, author);
        self.upload = Some(begun.await.map_err(|e| named("destination", e))?);
        self.resume = resume;
        self.hasher = Sha256::new();
        (self.written, self.acknowledged) = (0, 0);
        Ok(0)
    }

    async fn put(&mut self, bytes: Bytes) -> Result<(), ToolError> {
        self.hasher.update(&bytes);
        self.written += bytes.len() as u64;
        match &mut self.upload {
            Some(upload) => upload.put(bytes).await,
            None => Err(ToolError::internal("a piece came before the offer")),
        }
    }

    async fn finish(&mut self, sha256: Option<&str>) -> Result<u64, ToolError> {
        let counted = hex(&std::mem::take(&mut self.hasher).finalize());
        if sha256.is_some_and(|expected| expected != counted) {
            // Left unfinished, so that a damaged file never appears under its name.
            let message = "checksum mismatch: the received data differs from what was sent";
            return Err(ToolError::new(ErrorCode::Conflict, message)
                .hint("nothing was written; call again"));
        }
        match self.upload.take() {
            Some(upload) => upload.finish().await?,
            None => return Err(ToolError::internal("the end came before the offer")),
        }
        Ok(self.written)
    }

    async fn abandon(&mut self) {
        if let Some(upload) = self.upload.take() {
            upload.abandon().await;
        }
    }
}

/// The frame with another transfer id. The buffer has no other owner, so nothing is copied.
fn readdressed(frame: Bytes, id: u32) -> Bytes {
    let mut frame = frame
        .try_into_mut()
        .unwrap_or_else(|shared| BytesMut::from(&shared[..]));
    frame[..HEADER].copy_from_slice(&id.to_le_bytes());
    frame.freeze()
}
