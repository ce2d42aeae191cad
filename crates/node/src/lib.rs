//! The process that shares a machine with a gateway: it connects, announces its tools, serves calls and transfers,
//! and reconnects after every outage.
//!
//! A call runs once and ends with its connection. Background processes live as long as the node, and their events
//! are resent until the gateway has acknowledged them.

mod backoff;
mod calls;
mod handshake;
mod log;
mod node;
mod outbox;
mod partial_files;
mod run;
mod seen_calls;
mod serve;
mod terminals;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tls;
mod tools;
mod transfer;
mod watches;
mod writer;

use std::path::PathBuf;

use manyhands_core::{NodeId, Secret};

pub use backoff::BackoffPlan;
pub use log::NodeLog;
pub use run::{NodeError, run};
pub use tools::{Confinement, OutputOptions, SandboxMode, ToolSettings, Toolbox, ToolboxError};

/// Where to connect, and as whom.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// URL of the gateway: `http://…`, `https://…`, `ws://…` or `wss://…`.
    pub gateway: String,
    /// The node's token.
    pub token: Secret,
    /// Name of the node.
    pub id: NodeId,
    /// A certificate (DER) that is trusted regardless of its names; for the gateway's own node. Without one the
    /// system's root certificates are used.
    pub pinned_certificate: Option<Vec<u8>>,
    /// Where partially received files are recorded, to remove abandoned ones.
    pub state_dir: Option<PathBuf>,
    /// Delays between reconnects.
    pub backoff: BackoffPlan,
}

impl NodeOptions {
    /// Default options.
    pub fn new(gateway: impl Into<String>, token: Secret, id: NodeId) -> Self {
        Self {
            gateway: gateway.into(),
            token,
            id,
            pinned_certificate: None,
            state_dir: None,
            backoff: BackoffPlan::default(),
        }
    }
}
