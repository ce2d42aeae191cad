//! Files on their way: between nodes, and between a node and a workspace.
//!
//! The gateway asks the source what the file is, offers it to the destination, and carries the
//! pieces over: as many as the destination has taken, plus one window. A connection that breaks
//! is waited for, and the transfer goes on from where the destination has it. What it will be
//! called appears only when all of it has come and its hash is right.

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
use source::{Piece, Source};

pub use end::End;

/// How long a node that went may take to come back.
const BACK_WITHIN: Duration = Duration::from_secs(60);
/// How long a transfer may stand still.
const STALLED: Duration = Duration::from_secs(60);
/// How many transfers may run at once.
const MAX_TRANSFERS: usize = 64;
/// How often a connection may break without a byte having come since the last time.
const MAX_CUTS: u32 = 10;
/// How often whoever waits is told how far it is.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// Carries files.
#[derive(Clone)]
pub struct Transfers {
    nodes: Arc<Nodes>,
    workspace: Workspace,
    running: Arc<Semaphore>,
    next: Arc<AtomicU32>,
}

/// A file that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transferred {
    /// Its size.
    pub bytes: u64,
    /// Its media type.
    pub mime: Option<String>,
    /// Its hash, in hex.
    pub sha256: Option<String>,
    /// How often it was taken up again.
    pub resumed: u32,
}

/// What the file is that goes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Meta {
    size: u64,
    mime: Option<String>,
    version: Option<String>,
}

/// Why an attempt ended without the file.
enum Broken {
    /// A connection broke; so many bytes had come.
    Cut { error: ToolError, came: u64 },
    /// It cannot be done.
    Failed(ToolError),
}

impl From<ToolError> for Broken {
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

    /// Who writes the file at its destination: with what they have read, and what the file is. A file
    /// of a node is text from outside, unless the owner copies it by hand.
    fn author(&self, from: &End, context: &CallContext) -> Author {
        let author = Author::of(context);
        match from {
            End::Workspace { path } => {
                author.copying(&self.workspace.taint_of(&context.agent, path))
            }
            End::Node { .. } if context.caller.actor.is_none() => author,
            End::Node { .. } => author.copying(&Taint::by(from.to_string())),
        }
    }

    /// The end that is meant: `gsv:workspace/PATH` is `PATH` of the workspace, as the spec text writes it,
    /// unless a file really stands at `workspace/PATH`.
    pub async fn meant(&self, end: End, agent: &AgentId) -> End {
        let (End::Workspace { path }, Some(below)) = (&end, end.without_workspace()) else {
            return end;
        };
        match self.workspace.has_file(agent, path).await {
            true => end,
            false => below,
        }
    }

    /// Carries a file from one end to the other, and answers when it is there.
    pub async fn run(
        &self,
        from: &End,
        to: &End,
        context: &CallContext,
    ) -> Result<Transferred, ToolError> {
        let Ok(_place) = self.running.try_acquire() else {
            let message = format!("{MAX_TRANSFERS} transfers are running");
            return Err(ToolError::new(ErrorCode::Unavailable, message).hint("wait for one to end"));
        };
        let trip = Trip {
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
                    .hint("what has come to a node is kept for a day and taken up again"))
            }
            carried = trip.run() => carried,
        }
    }
}

/// One file from one end to the other.
struct Trip<'a> {
    all: &'a Transfers,
    from: &'a End,
    to: &'a End,
    agent: &'a AgentId,
    author: Author,
    progress: &'a Progress,
}

impl Trip<'_> {
    async fn run(&self) -> Result<Transferred, ToolError> {
        let (mut resumed, mut cuts, mut furthest, mut kept) = (0, 0, 0, None);
        loop {
            match self.attempt(&mut kept).await {
                Ok(there) => return Ok(Transferred { resumed, ..there }),
                Err(Broken::Failed(error)) => return Err(error),
                Err(Broken::Cut { error, came }) => {
                    cuts = if came > furthest { 0 } else { cuts + 1 };
                    furthest = furthest.max(came);
                    if cuts >= MAX_CUTS {
                        return Err(error);
                    }
                    tracing::info!(event = "transfer_interrupted", from = %self.from, to = %self.to, bytes = came, %error, "transfer interrupted; will resume when the node reconnects");
                    self.wait_for_both(&error).await?;
                    resumed += 1;
                }
            }
        }
    }

    /// Waits until both ends are connected.
    async fn wait_for_both(&self, lost: &ToolError) -> Result<(), ToolError> {
        let mut changes = self.all.nodes.changes();
        let there = |end: &End| match end {
            End::Node { id, .. } => self.all.nodes.find(id.as_str()).is_ok(),
            End::Workspace { .. } => true,
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

    /// Carries the file once. What of it has come into a workspace is `kept` for the next time.
    async fn attempt(
        &self,
        kept: &mut Option<WorkspaceDestination>,
    ) -> Result<Transferred, Broken> {
        // Two ids, since both ends may be one node.
        let id = self.all.next.fetch_add(2, Ordering::Relaxed);
        let mut source = self.source(id).await?;
        let mut destination = match kept.take() {
            Some(kept) => Destination::Workspace(Box::new(kept)),
            None => self.destination(id.wrapping_add(1))?,
        };
        let mut came = 0;
        let carried = self.carry(&mut source, &mut destination, &mut came).await;
        let Err(error) = carried else {
            source.done();
            destination.done();
            return carried.map_err(Broken::Failed);
        };
        // What has come is of use if it can be taken up again.
        let cut = source.is_gone() || destination.is_gone();
        source.call_off(cut);
        if !cut {
            destination.call_off().await;
            return Err(Broken::Failed(error));
        }
        if let Destination::Workspace(destination) = destination {
            *kept = Some(*destination);
        }
        Err(Broken::Cut { error, came })
    }

    async fn source(&self, id: u32) -> Result<Source, ToolError> {
        match self.from {
            End::Node { id: node, path } => {
                let node = self.all.nodes.find(node.as_str())?;
                Ok(Source::node(id, node, path))
            }
            End::Workspace { path } => {
                let workspace = &self.all.workspace;
                Source::workspace(id, workspace, self.agent, path).await
            }
        }
    }

    fn destination(&self, id: u32) -> Result<Destination, ToolError> {
        match self.to {
            End::Node { id: node, path } => {
                let node = self.all.nodes.find(node.as_str())?;
                Ok(Destination::node(id, node, path))
            }
            End::Workspace { path } => {
                let workspace = &self.all.workspace;
                let author = self.author.clone();
                Ok(Destination::workspace(workspace, self.agent, path, author))
            }
        }
    }

    /// Carries one file over. `came` is how much of it the destination has taken.
    async fn carry(
        &self,
        source: &mut Source,
        destination: &mut Destination,
        came: &mut u64,
    ) -> Result<Transferred, ToolError> {
        let meta = in_time(source.meta()).await?;
        let key = self.resume_key(&meta);
        let offset = in_time(destination.offer(&meta, key)).await?;
        if offset > meta.size {
            return Err(self.changed());
        }
        source.start(offset).await?;
        *came = offset;
        let mut told = Instant::now();
        self.tell(*came, &meta);
        let (mut sent, mut hasher) = (offset, source.must_be_hashed().then(Sha256::new));
        let sha256 = loop {
            let step = async {
                let room = sent.saturating_sub(*came) < WINDOW;
                tokio::select! {
                    biased;
                    taken = destination.taken() => taken.map(Moved::Taken),
                    piece = source.next(), if room => piece.map(Moved::Piece),
                }
            };
            match in_time(step).await? {
                Moved::Taken(bytes) => {
                    *came = bytes.min(sent).max(*came);
                    source.taken(*came).await?;
                    if told.elapsed() >= TELL_EVERY {
                        told = Instant::now();
                        self.tell(*came, &meta);
                    }
                }
                Moved::Piece(Piece::Frame(frame)) => {
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
                Moved::Piece(Piece::End(sha256)) => {
                    let counted = hasher.map(|hasher| hex(&hasher.finalize()));
                    break sha256.or(counted);
                }
            }
        };
        if sent != meta.size {
            return Err(self.changed());
        }
        let written = in_time(destination.finish(sha256.as_deref())).await?;
        if written != meta.size {
            let message = format!(
                "{} says that {written} of {} bytes were written",
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
        self.progress.tell(Step {
            done,
            total: Some(meta.size),
            message: None,
        });
    }

    fn changed(&self) -> ToolError {
        let message = format!("{} changed while it was being sent", self.from);
        ToolError::new(ErrorCode::Conflict, message).hint("nothing was written; call again")
    }

    /// Names the file in its present state, where it comes from and where it goes.
    fn resume_key(&self, meta: &Meta) -> Option<String> {
        let version = meta.version.as_ref()?;
        let mut hasher = Sha256::new();
        for part in [&self.from.to_string(), &self.to.to_string(), version] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.update(meta.size.to_le_bytes());
        hasher.update(self.agent.as_str());
        Some(hex(&hasher.finalize()))
    }
}

enum Moved {
    Taken(u64),
    Piece(Piece),
}

/// What does not move for a minute is given up.
async fn in_time<T>(step: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
    timeout(STALLED, step).await.unwrap_or_else(|_| {
        let message = "the transfer timed out: nothing moved for 60 seconds";
        Err(ToolError::new(ErrorCode::DeadlineExceeded, message)
            .hint("call again: what has come is kept for a day and taken up again"))
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
