//! Dependencies of tools that use agents.

use std::sync::{Arc, OnceLock};

use manyhands_agent::{Minds, Origin};
use manyhands_agent_services::{AgentMailer, People, origin_of};
use manyhands_core::{CallContext, ErrorCode, Ids, ToolError};
use manyhands_host::LiveSettings;
use manyhands_host::workspace::Workspace;
use manyhands_llm::ModelId;
use manyhands_store::Blobs;

/// Dependencies of tools that use agents.
#[derive(Clone)]
pub struct AgentToolDeps {
    /// Set once the gateway is assembled.
    // Late, because agents call tools and some tools use agents.
    pub minds: Arc<OnceLock<Minds>>,
    pub settings: LiveSettings,
    pub ids: Ids,
    pub workspace: Workspace,
    pub blobs: Blobs,
    /// Messages between agents.
    pub post: AgentMailer,
    /// Contacts and to-dos.
    pub people: People,
}

impl AgentToolDeps {
    pub fn minds(&self) -> Result<&Minds, ToolError> {
        self.minds
            .get()
            .ok_or_else(|| ToolError::new(ErrorCode::Unavailable, "the gateway is starting"))
    }
}

/// The caller, recorded as the origin of the turn this call starts.
pub fn caller_origin(context: &CallContext) -> Origin {
    Origin {
        depth: u32::try_from(context.lineage.len()).unwrap_or(u32::MAX),
        tainted: context.taint.clone(),
        lineage: context.lineage.to_vec(),
        ..origin_of(&context.caller)
    }
}

/// The caller as the principal of a task one agent gives another: its text is followed as
/// instructions, while any taint is kept.
pub fn principal(context: &CallContext) -> Origin {
    let origin = caller_origin(context);
    Origin {
        tainted: origin.taint(),
        trusted: true,
        ..origin
    }
}

/// Parses the model a call names.
pub fn agent_model(named: Option<&str>) -> Result<Option<ModelId>, ToolError> {
    let parsed = named.map(str::parse::<ModelId>).transpose();
    parsed.map_err(|e| ToolError::parameter("model", e.to_string()))
}
