//! What agents need from the gateway around them.

use std::sync::Arc;

use async_trait::async_trait;
use manyhands_core::{AgentId, Caller, Taint, ToolError};
use manyhands_llm::{Delta, ModelError, ModelId, ModelRequest, Models, Reply};
use manyhands_store::ApprovalScope;
use tokio_util::sync::CancellationToken;

use crate::origin::Origin;
use crate::settings::{AgentSettings, TurnLimits};

/// Sends requests to models.
#[async_trait]
pub trait ModelClient: Send + Sync {
    /// The reply to a request; `on` receives it as it is streamed.
    async fn reply(
        &self,
        request: &ModelRequest,
        on: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError>;
}

#[async_trait]
impl ModelClient for Models {
    async fn reply(
        &self,
        request: &ModelRequest,
        on: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        Models::reply(self, request, on, cancel).await
    }
}

/// A skill listed in the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillNote {
    /// Its name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Workspace path of its text.
    pub path: String,
}

/// The environment of agents: configuration, models, callers and files.
#[async_trait]
pub trait AgentEnv: Send + Sync {
    /// The current models.
    fn models(&self) -> Arc<dyn ModelClient>;
    /// The default model.
    fn default_model(&self) -> Option<ModelId> {
        None
    }
    /// The model that gives a conversation its title, if titles are generated. `used` is the model that replied.
    fn title_model(&self, _used: &ModelId) -> Option<ModelId> {
        None
    }
    /// Whether any model provider is configured.
    fn has_models(&self) -> bool {
        true
    }
    /// Whether a provider serves a model; the error lists the providers.
    fn knows(&self, _model: &ModelId) -> Result<(), ToolError> {
        Ok(())
    }
    /// Decides an approval request on behalf of a caller, who must be the owner; returns a description of the decision.
    async fn decide(
        &self,
        _caller: &Caller,
        _approval: &str,
        _verdict: ApprovalReply,
    ) -> Result<String, ToolError> {
        let message = "no approval request is pending";
        Err(ToolError::not_found(message))
    }
    /// The configuration of an agent; `None` if it does not exist.
    fn agent(&self, id: &AgentId) -> Option<AgentSettings>;
    /// Limits of a turn.
    fn limits(&self) -> TurnLimits;
    /// The caller behind an origin, with their current rights.
    fn caller(&self, origin: &Origin) -> Result<Arc<Caller>, ToolError>;
    /// Fails if the caller may not store this many more bytes.
    fn admit(&self, _caller: &Caller, _bytes: u64) -> Result<(), ToolError> {
        Ok(())
    }
    /// A file of an agent's workspace and its taint; `None` if it does not exist.
    async fn file(&self, agent: &AgentId, path: &str) -> Option<(String, Taint)>;
    /// The skills that an agent can use.
    async fn skills(&self, agent: &AgentId) -> Vec<SkillNote>;
    /// Lines about the current situation: machines, zone, version.
    fn facts(&self) -> Vec<String>;
    /// The user's local time.
    fn local_time(&self) -> LocalTime;
    /// Cancelled when the gateway stops: turns are suspended and resume after the next start.
    fn stopping(&self) -> &CancellationToken;
}

/// The owner's answer to an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalReply {
    /// The call may run, and similar calls within the scope.
    Approve(ApprovalScope),
    /// The call may not run; the model receives the message.
    Deny(Option<String>),
}

/// The user's local time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTime {
    /// `2026-11-15`
    pub day: String,
    /// The day before.
    pub day_before: String,
    /// `09:30`
    pub clock: String,
    /// Name of the time zone.
    pub zone: String,
    /// Milliseconds since the user's last midnight.
    pub since_midnight_ms: i64,
}
