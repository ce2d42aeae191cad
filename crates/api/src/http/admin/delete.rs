//! Deleting a session with all its messages.

use std::sync::Arc;

use axum::extract::{Path, State};
use manyhands_agent::SessionKey;
use manyhands_agent_services::session_key;
use manyhands_core::AgentId;
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Authenticated, answer};
use schemars::JsonSchema;
use serde::Serialize;

/// The response after a session was deleted.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleted {
    /// Its key.
    #[schemars(with = "String")]
    session_key: SessionKey,
    /// Messages deleted, including those from before its last reset.
    deleted_messages: u64,
    /// Archives deleted.
    deleted_archives: usize,
    /// Pending approvals withdrawn.
    withdrawn_approvals: u64,
}

/// Deletes a session and stops its running turn.
pub async fn delete(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(text): Path<String>,
) -> Answer<SessionDeleted> {
    let key = session_key(&admitted.caller, &AgentId::main(), &text)?;
    let gone = gateway.delete_session(&admitted.caller, &key).await?;
    answer(SessionDeleted {
        session_key: key,
        deleted_messages: gone.messages,
        deleted_archives: gone.archives,
        withdrawn_approvals: gone.questions,
    })
}
