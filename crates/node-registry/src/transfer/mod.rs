//! File transfers between nodes, and between a node and a workspace.
//!
//! The gateway asks the source for metadata, offers the file to the destination and relays the
//! pieces: never more than what the destination has stored plus one window, so memory use does not
//! depend on how slow an end is. If a connection breaks, the transfer waits for it and continues
//! where the destination stopped. The file appears under its name only when all of it has arrived
//! and its hash is right.

mod destination;
mod end;
mod source;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use manyhands_core::{AgentId, CallContext, ErrorCode, Progress, Step, Taint, ToolError};
use manyhands_host::workspace::{Author, Workspace};
use manyhands_wire::WINDOW;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::Nodes;
use destination::{Destination, WorkspaceDestination};
use source::{SourceChunk, TransferSource};

pub use end::TransferEnd;

/// How long to wait for a disconnected node.
const BACK_WITHIN: Duration = Duration::from_secs(60);
/// How long a transfer may make no progress.
const STALLED: Duration = Duration::from_secs(60);
/// The most transfers at once.
const MAX_TRANSFERS: usize = 64;
/// How often a connection may break without a byte of progress in between.
const MAX_CUTS: u32 = 10;
/// The interval of progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Runs file transfers.
#[derive(Clone)]
pub struct Transfers {
    nodes: Arc<Nodes>,
    workspace: Workspace,
    running: Arc<Semaphore>,
    next: Arc<AtomicU32>,
}

/// A completed transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transferred {
    /// Its size.
    pub bytes: u64,
    /// Its media type.
    pub mime: Option<String>,
    /// Its hash, in hex.
    pub sha256: Option<String>,
    /// How often it was resumed.
    pub resumed: u32,
}

/// Metadata of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Meta {
    size: u64,
    mime: Option<String>,
    version: Option<String>,
}

/// Why an attempt failed.
enum AttemptError {
    /// A connection was lost after so many bytes.
    Cut { error: ToolError, received: u64 },
    /// A permanent error.
    Failed(ToolError),
}

impl From<ToolError> for AttemptError {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

impl Transfers {
    /// Transfers between nodes and workspaces.
    pub fn new(nodes: Arc<Nodes>, workspace: Workspace) -> Self {
        Self {
            nodes,
            workspace,
            running: Arc::new(Semaphore::new(MAX_TRANSFERS)),
            next: Arc::new(AtomicU32::new(1)),
        }
    }

    /// The author of the written file, with the taint of what they read and of the file itself. A
    /// file of a node is untrusted text, unless the owner copies it by hand.
    fn author(&self, from: &TransferEnd, context: &CallContext) -> Author {
        let author = Author::of(context);
        match from {
            TransferEnd::Workspace { path } => {
                author.copying(&self.workspace.taint_of(&context.agent, path))
            }
            TransferEnd::Node { .. } if context.caller.actor.is_none() => author,
            TransferEnd::Node { .. } => author.copying(&Taint::by(from.to_string())),
        }
    }

    /// Resolves `gsv:workspace/PATH` to `PATH` of the workspace, the form the spec uses, unless a
    /// file really exists at `workspace/PATH`.
    pub async fn resolve_workspace_path(&self, end: TransferEnd, agent: &AgentId) -> TransferEnd {
        let (TransferEnd::Workspace { path }, Some(below)) = (&end, end.without_workspace()) else {
            return end;
        };
        match self.workspace.has_file(agent, path).await {
            true => end,
            false => below,
        }
    }

    /// Transfers a file and returns when it is in place.
    pub async fn run(
        &self,
        from: &TransferEnd,
        to: &TransferEnd,
        context: &CallContext,
    ) -> Result<Transferred, ToolError> {
        let Ok(_permit) = self.running.try_acquire() else {
            let message = format!("too many transfers are running (limit {MAX_TRANSFERS})");
            return Err(ToolError::new(ErrorCode::Unavailable, message)
                .hint("wait for one to finish, then retry"));
        };
        let trip = TransferRun {
            all: self,
            from,
            to,
            agent: &context.agent,
            author: self.author(from, context),
            progress: &context.progress,
        };
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => {
                Err(ToolError::new(ErrorCode::Cancelled, "the transfer was cancelled")
                    .hint("call again within a day to resume a transfer to a node"))
            }
            carried = trip.run() => carried,
        }
    }
}

/// One transfer from one end to the other.
struct TransferRun<'a> {
    all: &'a Transfers,
    from: &'a TransferEnd,
    to: &'a TransferEnd,
    agent: &'a AgentId,
    author: Author,
    progress: &'a Progress,
}

impl TransferRun<'_> {
    async fn run(&self) -> Result<Transferred, ToolError> {
        let (mut resumed, mut cuts, mut furthest, mut kept) = (0, 0, 0, None);
        loop {
            match self.attempt(&mut kept).await {
                Ok(there) => return Ok(Transferred { resumed, ..there }),
                Err(AttemptError::Failed(error)) => return Err(error),
                Err(AttemptError::Cut { error, received }) => {
                    // Only breaks without progress count, so a large file over a bad link still
                    // completes.
                    cuts = if received > furthest { 0 } else { cuts + 1 };
                    furthest = furthest.max(received);
                    if cuts >= MAX_CUTS {
                        return Err(error);
                    }
                    tracing::info!(event = "transfer_interrupted", from = %self.from, to = %self.to, bytes = received, %error, "transfer interrupted; will resume when the node reconnects");
                    self.wait_for_both(&error).await?;
                    resumed += 1;
                }
            }
        }
    }

    /// Waits until both ends are connected.
    async fn wait_for_both(&self, lost: &ToolError) -> Result<(), ToolError> {
        // Subscribe before looking, or a reconnect in between would go unnoticed.
        let mut changes = self.all.nodes.changes();
        let there = |end: &TransferEnd| match end {
            TransferEnd::Node { id, .. } => self.all.nodes.find(id.as_str()).is_ok(),
            TransferEnd::Workspace { .. } => true,
        };
        let both = async {
            while !(there(self.from) && there(self.to)) {
                if changes.changed().await.is_err() {
                    break;
                }
            }
        };
        let waited = timeout(BACK_WITHIN, both).await;
        waited.map_err(|_| lost.clone())
    }

    /// Runs the transfer once. A partial file in a workspace is `kept` for the next attempt.
    async fn attempt(
        &self,
        kept: &mut Option<WorkspaceDestination>,
    ) -> Result<Transferred, AttemptError> {
        // Two ids, because both ends may be the same node.
        let id = self.all.next.fetch_add(2, Ordering::Relaxed);
        let mut source = self.source(id).await?;
        let mut destination = match kept.take() {
            Some(kept) => Destination::Workspace(Box::new(kept)),
            None => self.destination(id.wrapping_add(1))?,
        };
        let mut received = 0;
        let carried = self
            .carry(&mut source, &mut destination, &mut received)
            .await;
        let Err(error) = carried else {
            source.done();
            destination.done();
            return carried.map_err(AttemptError::Failed);
        };
        // A partial file is worth keeping only if the transfer can be resumed.
        let cut = source.is_closed() || destination.is_closed();
        source.abort(cut);
        if !cut {
            destination.abort().await;
            return Err(AttemptError::Failed(error));
        }
        if let Destination::Workspace(destination) = destination {
            *kept = Some(*destination);
        }
        Err(AttemptError::Cut { error, received })
    }

    async fn source(&self, id: u32) -> Result<TransferSource, ToolError> {
        match self.from {
            TransferEnd::Node { id: node, path } => {
                let node = self.all.nodes.find(node.as_str())?;
                Ok(TransferSource::node(id, node, path))
            }
            TransferEnd::Workspace { path } => {
                let workspace = &self.all.workspace;
                TransferSource::workspace(id, workspace, self.agent, path).await
            }
        }
    }

    fn destination(&self, id: u32) -> Result<Destination, ToolError> {
        match self.to {
            TransferEnd::Node { id: node, path } => {
                let node = self.all.nodes.find(node.as_str())?;
                Ok(Destination::node(id, node, path))
            }
            TransferEnd::Workspace { path } => {
                let workspace = &self.all.workspace;
                let author = self.author.clone();
                Ok(Destination::workspace(workspace, self.agent, path, author))
            }
        }
    }

    /// Relays one file. `received` is how many bytes the destination has stored.
    async fn carry(
        &self,
        source: &mut TransferSource,
        destination: &mut Destination,
        received: &mut u64,
    ) -> Result<Transferred, ToolError> {
        let meta = in_time(source.meta()).await?;
        let key = self.resume_key(&meta);
        let offset = in_time(destination.offer(&meta, key)).await?;
        if offset > meta.size {
            return Err(self.changed());
        }
        source.start(offset).await?;
        *received = offset;
        let mut acknowledged = Instant::now();
        self.tell(*received, &meta);
        let (mut sent, mut hasher) = (offset, source.must_be_hashed().then(Sha256::new));
        let sha256 = loop {
            let step = async {
                // Flow control: at most one window is in flight. `biased` drains acknowledgements
                // first, or a fast source would starve them.
                let room = sent.saturating_sub(*received) < WINDOW;
                tokio::select! {
                    biased;
                    taken = destination.taken() => taken.map(TransferStep::Taken),
                    piece = source.next(), if room => piece.map(TransferStep::SourceChunk),
                }
            };
            match in_time(step).await? {
                TransferStep::Taken(bytes) => {
                    *received = bytes.min(sent).max(*received);
                    source.taken(*received).await?;
                    if acknowledged.elapsed() >= PROGRESS_INTERVAL {
                        acknowledged = Instant::now();
                        self.tell(*received, &meta);
                    }
                }
                TransferStep::SourceChunk(SourceChunk::Frame(frame)) => {
                    let bytes = frame.len().saturating_sub(manyhands_wire::HEADER);
                    sent += bytes as u64;
                    if sent > meta.size {
                        return Err(self.changed());
                    }
                    if let Some(hasher) = &mut hasher {
                        hasher.update(&frame[manyhands_wire::HEADER..]);
                    }
                    in_time(destination.put(frame)).await?;
                }
                TransferStep::SourceChunk(SourceChunk::End(sha256)) => {
                    let counted = hasher.map(|hasher| hex(&hasher.finalize()));
                    break sha256.or(counted);
                }
            }
        };
        // A file that shrank or grew meanwhile must not be completed: its size and hash no longer
        // belong together.
        if sent != meta.size {
            return Err(self.changed());
        }
        let written = in_time(destination.finish(sha256.as_deref())).await?;
        if written != meta.size {
            let message = format!(
                "{} reports {written} of {} bytes written",
                self.to, meta.size
            );
            return Err(ToolError::new(ErrorCode::Failed, message));
        }
        self.tell(meta.size, &meta);
        Ok(Transferred {
            bytes: meta.size,
            mime: meta.mime,
            sha256,
            resumed: 0,
        })
    }

    fn tell(&self, done: u64, meta: &Meta) {
        self.progress.report(Step {
            done,
            total: Some(meta.size),
            message: None,
        });
    }

    fn changed(&self) -> ToolError {
        let message = format!("{} changed while it was being sent", self.from);
        ToolError::new(ErrorCode::Conflict, message).hint("nothing was written; call again")
    }

    /// A key for the file in its present state with both ends, by which an interrupted transfer is
    /// resumed.
    fn resume_key(&self, meta: &Meta) -> Option<String> {
        let version = meta.version.as_ref()?;
        let mut hasher = Sha256::new();
        for part in [&self.from.to_string(), &self.to.to_string(), version] {
            // Length-prefixed, so that two different sets of parts cannot hash alike.
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.update(meta.size.to_le_bytes());
        hasher.update(self.agent.as_str());
        Some(hex(&hasher.finalize()))
    }
}

enum TransferStep {
    Taken(u64),
    SourceChunk(SourceChunk),
}

/// Fails a step that makes no progress for a minute.
async fn in_time<T>(step: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
    timeout(STALLED, step).await.unwrap_or_else(|_| {
        let message = "the transfer timed out: nothing moved for 60 seconds";
        Err(ToolError::new(ErrorCode::DeadlineExceeded, message)
            .hint("call again within a day to resume"))
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
