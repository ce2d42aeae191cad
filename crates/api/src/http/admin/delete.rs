//! Deleting a session, with all that was said in it.

use std::sync::Arc;

use axum::extract::{Path, State};
use manyhands_agent::SessionKey;
use manyhands_agent_services::session_key;
use manyhands_core::AgentId;
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Asker, answer};
use schemars::JsonSchema;
use serde::Serialize;

/// A session that is gone.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleted {
    /// The key it had.
    #[schemars(with = "String")]
    session_key: SessionKey,
    /// How many messages were deleted, also of before it was last begun anew.
    deleted_messages: u64,
    /// How many archives were removed.
    deleted_archives: usize,
    /// How many open questions to the owner were withdrawn.
    withdrawn_approvals: u64,
}

/// Deletes a session; what runs in it is stopped.
pub async fn delete(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    Path(text): Path<String>,
) -> Answer<SessionDeleted> {
    let key = session_key(&asker.caller, &AgentId::main(), &text)?;
    let gone = gateway.delete_session(&asker.caller, &key).await?;
    answer(SessionDeleted {
        session_key: key,
        deleted_messages: gone.messages,
        deleted_archives: gone.archives,
        withdrawn_approvals: gone.questions,
    })
}
