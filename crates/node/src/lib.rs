//! The process that lends a machine's hands to a gateway: it dials in, says what it can
//! do, serves calls and transfers, and comes back after every outage.
//!
//! A call runs once and ends with the connection it came over. Programs in the background live
//! as long as the node, and what became of them is told until the gateway has taken it.

mod backoff;
mod calls;
mod dial;
mod log;
mod memory;
mod outbox;
mod run;
mod serve;
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
pub use tools::{Confinement, SandboxMode, ToolSettings, Toolbox, ToolboxError, Watched};

/// Where to dial and as whom.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// The gateway, `http://…`, `https://…`, `ws://…` or `wss://…`.
    pub gateway: String,
    /// The token to show.
    pub token: Secret,
    /// This node's name.
    pub id: NodeId,
    /// A certificate (DER) that is trusted as it is, whatever names it bears; for the node of
    /// the gateway's own machine. Without one the system's roots decide.
    pub pinned_certificate: Option<Vec<u8>>,
    /// Where the node notes the parts of files it has received, to remove those that nobody
    /// comes back for.
    pub state_dir: Option<PathBuf>,
    /// How long to wait before dialing again.
    pub backoff: BackoffPlan,
}

impl NodeOptions {
    /// The ordinary options of a node.
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
