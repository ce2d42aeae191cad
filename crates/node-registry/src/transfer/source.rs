//! Where a file comes from.

use std::path::Path;
use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::StreamExt as _;
use manyhands_core::{AgentId, ErrorCode, ToolError};
use manyhands_hands::local::mime_of;
use manyhands_host::workspace::{Opened, Workspace};
use manyhands_wire::{
    CHUNK, HEADER, TransferAckEvent, TransferCancelEvent, TransferSendEvent, TransferStartEvent,
};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::{Meta, hex};
use crate::node::{FromNode, Given, Node};
use crate::tool::failure;

/// A piece of a file, or its end.
pub(super) enum Piece {
    /// A binary frame, header and all.
    Frame(Bytes),
    /// Everything has come, with the hash of the whole where the source knows it.
    End(Option<String>),
}

/// Where a file comes from.
pub(super) enum Source {
    Node(NodeSource),
    Workspace(Box<WorkspaceSource>),
}

/// A file of a node.
pub(super) struct NodeSource {
    id: u32,
    node: Arc<Node>,
    path: String,
    said: mpsc::Receiver<FromNode>,
    /// The node still has to be told how it ends.
    open: bool,
    _given: Given,
}

impl Drop for NodeSource {
    fn drop(&mut self) {
        self.call_off(true);
    }
}

/// A file of a workspace.
pub(super) struct WorkspaceSource {
    id: u32,
    opened: Opened,
    mime: Option<&'static str>,
    hasher: Sha256,
    rest: Bytes,
}

impl Source {
    pub(super) fn node(id: u32, node: Arc<Node>, path: &str) -> Self {
        let (said, given) = node.give_transfer(id);
        Self::Node(NodeSource {
            id,
            node,
            path: path.to_owned(),
            said,
            open: true,
            _given: given,
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

    /// Whether its connection is no more.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Node(source) if source.node.gone().is_cancelled())
    }

    /// What the file is.
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

    /// Whether nobody else counts the hash of the whole.
    pub(super) fn must_be_hashed(&self) -> bool {
        matches!(self, Self::Node(source) if !source.node.is_checked())
    }

    /// Begins, at `offset`.
    pub(super) async fn start(&mut self, offset: u64) -> Result<(), ToolError> {
        match self {
            Self::Node(source) => {
                let start = TransferStartEvent {
                    transfer_id: source.id,
                    offset: (offset > 0).then_some(offset),
                };
                source.node.tell(&start).await
            }
            Self::Workspace(source) => source.pass(offset).await,
        }
    }

    /// The next piece. May be dropped and asked for again.
    pub(super) async fn next(&mut self) -> Result<Piece, ToolError> {
        match self {
            Self::Node(source) => source.next().await,
            Self::Workspace(source) => source.next().await,
        }
    }

    /// The far end has taken so much.
    pub(super) async fn taken(&mut self, bytes: u64) -> Result<(), ToolError> {
        match self {
            Self::Node(source) if source.node.is_checked() => {
                let ack = TransferAckEvent {
                    transfer_id: source.id,
                    bytes,
                };
                source.node.tell(&ack).await
            }
            _ => Ok(()),
        }
    }

    /// Nothing more is wanted.
    pub(super) fn call_off(&mut self, keep: bool) {
        if let Self::Node(source) = self {
            source.call_off(keep);
        }
    }

    /// Everything came.
    pub(super) fn done(&mut self) {
        if let Self::Node(source) = self {
            source.open = false;
        }
    }
}

impl NodeSource {
    fn call_off(&mut self, keep: bool) {
        if std::mem::take(&mut self.open) && self.node.is_checked() {
            self.node.mention(&TransferCancelEvent {
                transfer_id: self.id,
                keep,
            });
        }
    }

    async fn hear(&mut self) -> Result<FromNode, ToolError> {
        tokio::select! {
            biased;
            said = self.said.recv() => said.ok_or_else(|| self.node.lost()),
            () = self.node.gone().cancelled() => Err(self.node.lost()),
        }
    }

    async fn meta(&mut self) -> Result<Meta, ToolError> {
        let send = TransferSendEvent {
            transfer_id: self.id,
            path: self.path.clone(),
        };
        self.node.tell(&send).await?;
        let FromNode::Meta(meta) = self.hear().await? else {
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

    async fn next(&mut self) -> Result<Piece, ToolError> {
        match self.hear().await? {
            FromNode::Frame(frame) => Ok(Piece::Frame(frame)),
            FromNode::Complete(complete) => match complete.error {
                Some(error) => Err(failure(
                    complete.code.as_deref(),
                    format!("source: {error}"),
                )),
                None => Ok(Piece::End(complete.sha256)),
            },
            _ => Err(self.out_of_turn()),
        }
    }

    fn out_of_turn(&self) -> ToolError {
        let message = format!("node {} answered out of turn", self.node.id());
        ToolError::new(ErrorCode::Failed, message)
    }
}

impl WorkspaceSource {
    /// The next bytes of the file, as they are read.
    async fn read(&mut self) -> Result<Option<Bytes>, ToolError> {
        if !self.rest.is_empty() {
            return Ok(Some(std::mem::take(&mut self.rest)));
        }
        match self.opened.bytes.next().await {
            Some(read) => read.map(Some).map_err(|e| self.opened.failed(e)),
            None => Ok(None),
        }
    }

    /// Reads over what the far end has already; it counts for the hash.
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

    async fn next(&mut self) -> Result<Piece, ToolError> {
        let Some(mut bytes) = self.read().await? else {
            let sha256 = std::mem::take(&mut self.hasher).finalize();
            return Ok(Piece::End(Some(hex(&sha256))));
        };
        self.rest = bytes.split_off(bytes.len().min(CHUNK));
        self.hasher.update(&bytes);
        let mut frame = BytesMut::with_capacity(HEADER + bytes.len());
        frame.put_u32_le(self.id);
        frame.put(bytes);
        Ok(Piece::Frame(frame.freeze()))
    }
}

/// The error of a workspace's file, with the parameter of this tool instead of `path`.
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
