//! Sources of a transfer.

use std::path::Path;
use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::StreamExt as _;
use manyhands_core::{AgentId, ErrorCode, ToolError};
use manyhands_hands::local::mime_of;
use manyhands_host::workspace::{OpenFile, Workspace};
use manyhands_wire::{
    CHUNK, HEADER, TransferAckEvent, TransferCancelEvent, TransferSendEvent, TransferStartEvent,
};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::{Meta, hex};
use crate::node::{ConnectedNode, FromNode, TransferClaim};
use crate::tool::failure;

/// A piece of a file, or its end.
pub(super) enum SourceChunk {
    /// A binary frame, including its header.
    Frame(Bytes),
    /// The end, with the hash of the whole file if the source knows it.
    End(Option<String>),
}

/// The source of a file.
pub(super) enum TransferSource {
    Node(NodeSource),
    Workspace(Box<WorkspaceSource>),
}

/// A file on a node.
pub(super) struct NodeSource {
    id: u32,
    node: Arc<ConnectedNode>,
    path: String,
    messages: mpsc::Receiver<FromNode>,
    /// Whether the node still has to be told how the transfer ended.
    open: bool,
    _claim: TransferClaim,
}

impl Drop for NodeSource {
    fn drop(&mut self) {
        self.abort(true);
    }
}

/// A file in a workspace.
pub(super) struct WorkspaceSource {
    id: u32,
    opened: OpenFile,
    mime: Option<&'static str>,
    hasher: Sha256,
    rest: Bytes,
}

impl TransferSource {
    pub(super) fn node(id: u32, node: Arc<ConnectedNode>, path: &str) -> Self {
        let (messages, claim) = node.claim_transfer(id);
        Self::Node(NodeSource {
            id,
            node,
            path: path.to_owned(),
            messages,
            open: true,
            _claim: claim,
        })
    }

    pub(super) async fn workspace(
        id: u32,
        workspace: &Workspace,
        agent: &AgentId,
        path: &str,
    ) -> Result<Self, ToolError> {
        let opened = workspace
            .open(agent, path)
            .await
            .map_err(|e| named("source", e))?;
        let mut source = WorkspaceSource {
            id,
            opened,
            mime: None,
            hasher: Sha256::new(),
            rest: Bytes::new(),
        };
        source.rest = source.read().await?.unwrap_or_default();
        source.mime = mime_of(&source.rest, Path::new(path));
        Ok(Self::Workspace(Box::new(source)))
    }

    /// Returns whether its connection is lost.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Node(source) if source.node.closed().is_cancelled())
    }

    /// Returns the metadata of the file.
    pub(super) async fn meta(&mut self) -> Result<Meta, ToolError> {
        match self {
            Self::Node(source) => source.meta().await,
            Self::Workspace(source) => Ok(Meta {
                size: source.opened.size,
                mime: source.mime.map(str::to_owned),
                version: Some(source.opened.version.clone()),
            }),
        }
    }

    /// Returns whether the gateway has to compute the hash, because the source does not.
    pub(super) fn must_be_hashed(&self) -> bool {
        matches!(self, Self::Node(source) if !source.node.is_checked())
    }

    /// Starts sending at `offset`.
    pub(super) async fn start(&mut self, offset: u64) -> Result<(), ToolError> {
        match self {
            Self::Node(source) => {
                let start = TransferStartEvent {
                    transfer_id: source.id,
                    offset: (offset > 0).then_some(offset),
                };
                source.node.send_message(&start).await
            }
            Self::Workspace(source) => source.pass(offset).await,
        }
    }

    /// Returns the next piece. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<SourceChunk, ToolError> {
        match self {
            Self::Node(source) => source.next().await,
            Self::Workspace(source) => source.next().await,
        }
    }

    /// Reports how many bytes the destination has stored.
    pub(super) async fn taken(&mut self, bytes: u64) -> Result<(), ToolError> {
        match self {
            Self::Node(source) if source.node.is_checked() => {
                let ack = TransferAckEvent {
                    transfer_id: source.id,
                    bytes,
                };
                source.node.send_message(&ack).await
            }
            _ => Ok(()),
        }
    }

    /// Cancels the transfer; `keep` says that it may be resumed.
    pub(super) fn abort(&mut self, keep: bool) {
        if let Self::Node(source) = self {
            source.abort(keep);
        }
    }

    /// Marks the transfer as complete.
    pub(super) fn done(&mut self) {
        if let Self::Node(source) = self {
            source.open = false;
        }
    }
}

impl NodeSource {
    fn abort(&mut self, keep: bool) {
        if std::mem::take(&mut self.open) && self.node.is_checked() {
            self.node.try_send_message(&TransferCancelEvent {
                transfer_id: self.id,
                keep,
            });
        }
    }

    async fn receive(&mut self) -> Result<FromNode, ToolError> {
        tokio::select! {
            biased;
            messages = self.messages.recv() => messages.ok_or_else(|| self.node.closed_error()),
            () = self.node.closed().cancelled() => Err(self.node.closed_error()),
        }
    }

    async fn meta(&mut self) -> Result<Meta, ToolError> {
        let send = TransferSendEvent {
            transfer_id: self.id,
            path: self.path.clone(),
        };
        self.node.send_message(&send).await?;
        let FromNode::Meta(meta) = self.receive().await? else {
            return Err(self.out_of_turn());
        };
        if let Some(error) = meta.error {
            return Err(failure(meta.code.as_deref(), format!("source: {error}")));
        }
        let size = meta.size.ok_or_else(|| self.out_of_turn())?;
        Ok(Meta {
            size,
            mime: meta.mime,
            version: meta.version.filter(|_| self.node.is_checked()),
        })
    }

    async fn next(&mut self) -> Result<SourceChunk, ToolError> {
        match self.receive().await? {
            FromNode::Frame(frame) => Ok(SourceChunk::Frame(frame)),
            FromNode::Complete(complete) => match complete.error {
                Some(error) => Err(failure(
                    complete.code.as_deref(),
                    format!("source: {error}"),
                )),
                None => Ok(SourceChunk::End(complete.sha256)),
            },
            _ => Err(self.out_of_turn()),
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

impl WorkspaceSource {
    /// Reads the next bytes of the file.
    async fn read(&mut self) -> Result<Option<Bytes>, ToolError> {
        if !self.rest.is_empty() {
            return Ok(Some(std::mem::take(&mut self.rest)));
        }
        match self.opened.bytes.next().await {
            Some(read) => read.map(Some).map_err(|e| self.opened.failed(e)),
            None => Ok(None),
        }
    }

    /// Skips what the destination already has, but includes it in the hash.
    async fn pass(&mut self, mut left: u64) -> Result<(), ToolError> {
        while left > 0 {
            let Some(mut bytes) = self.read().await? else {
                break;
            };
            let passed = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            self.hasher.update(bytes.split_to(passed));
            self.rest = bytes;
            left -= passed as u64;
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<SourceChunk, ToolError> {
        let Some(mut bytes) = self.read().await? else {
            let sha256 = std::mem::take(&mut self.hasher).finalize();
            return Ok(SourceChunk::End(Some(hex(&sha256))));
        };
        self.rest = bytes.split_off(bytes.len().min(CHUNK));
        self.hasher.update(&bytes);
        let mut frame = BytesMut::with_capacity(HEADER + bytes.len());
        frame.put_u32_le(self.id);
        frame.put(bytes);
        Ok(SourceChunk::Frame(frame.freeze()))
    }
}

/// An error of a workspace file, naming this tool's parameter instead of `path`.
pub(super) fn named(parameter: &str, mut error: ToolError) -> ToolError {
    for problem in &mut error.problems {
        problem.parameter = parameter.to_owned();
    }
    match error.problems.is_empty() {
        true => error,
        false => ToolError {
            hint: error.hint,
            ..ToolError::problems(error.problems)
        },
    }
}
