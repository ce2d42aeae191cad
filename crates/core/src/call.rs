//! One call: what is asked, and what the tool may know of its circumstances.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::catalogue::Catalogue;
use crate::error::ToolError;
use crate::id::{AgentId, CallId};
use crate::outcome::Outcome;

/// What a face asks of the path.
#[derive(Debug, Clone)]
pub struct CallRequest {
    /// The tool's canonical name or alias.
    pub tool: String,
    /// Its arguments, as they came.
    pub arguments: Value,
    /// Who asks.
    pub caller: Arc<Caller>,
    /// On whose workspace and behalf.
    pub agent: AgentId,
    /// How long to wait for the owner's approval before coming back empty-handed.
    pub approval_wait: Duration,
    /// A shorter deadline than the tool's own.
    pub deadline: Option<Duration>,
}

impl CallRequest {
    /// A call by `caller` for the main agent, without waiting for approvals.
    pub fn new(tool: impl Into<String>, arguments: Value, caller: Arc<Caller>) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            caller,
            agent: AgentId::main(),
            approval_wait: Duration::ZERO,
            deadline: None,
        }
    }
}

/// What a running tool may know of its call. It cannot tell which face asked.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// This call.
    pub call: CallId,
    /// Who asks.
    pub caller: Arc<Caller>,
    /// On whose workspace and behalf.
    pub agent: AgentId,
    /// Fires when the call should stop.
    pub cancel: CancellationToken,
    /// Whether programs that the call starts may use the network; a rule says so.
    pub network: bool,
}

/// The one door to the tools: faces, agents, jobs and scripts call through it.
#[async_trait]
pub trait Invoke: Send + Sync {
    /// Takes the call down the whole path. Dropping the future cancels the call.
    async fn invoke(&self, request: CallRequest) -> Result<Outcome, ToolError>;
    /// All tools there are now.
    fn catalogue(&self) -> Arc<Catalogue>;
}
