//! What the tools of minds stand on.

use std::sync::{Arc, OnceLock};

use manyhands_agent::{Minds, Origin};
use manyhands_agent_services::{AgentMailer, People, origin_of};
use manyhands_core::{CallContext, ErrorCode, Ids, ToolError};
use manyhands_host::LiveSettings;
use manyhands_host::workspace::Workspace;
use manyhands_llm::ModelId;
use manyhands_store::Blobs;

/// What the tools of minds stand on.
#[derive(Clone)]
pub struct MindGround {
    /// There once the gateway is put together.
    pub minds: Arc<OnceLock<Minds>>,
    pub settings: LiveSettings,
    pub ids: Ids,
    pub workspace: Workspace,
    pub blobs: Blobs,
    /// Messages between agents.
    pub post: AgentMailer,
    /// Contacts, and what is to be done for them.
    pub people: People,
}

impl MindGround {
    pub(super) fn minds(&self) -> Result<&Minds, ToolError> {
        self.minds
            .get()
            .ok_or_else(|| ToolError::new(ErrorCode::Unavailable, "the gateway is starting"))
    }
}

/// Whoever calls, as the turn remembers them that the call begins.
pub(super) fn asker(context: &CallContext) -> Origin {
    Origin {
        depth: u32::try_from(context.lineage.len()).unwrap_or(u32::MAX),
        tainted: context.taint.clone(),
        lineage: context.lineage.to_vec(),
        ..origin_of(&context.caller)
    }
}

/// Whoever calls, in whose name an agent gives another a task: words to be followed, with what
/// may have come from outside remembered.
pub(super) fn principal(context: &CallContext) -> Origin {
    let asker = asker(context);
    Origin {
        tainted: asker.taint(),
        trusted: true,
        ..asker
    }
}

/// A model that a call names.
pub(super) fn model(named: Option<&str>) -> Result<Option<ModelId>, ToolError> {
    let parsed = named.map(str::parse::<ModelId>).transpose();
    parsed.map_err(|e| ToolError::parameter("model", e.to_string()))
}
