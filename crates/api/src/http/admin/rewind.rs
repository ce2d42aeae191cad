//! Rewinding a session to before a message, so that it can be sent again.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use manyhands_agent::SessionKey;
use manyhands_agent_services::session_key;
use manyhands_core::AgentId;
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Authenticated, answer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::http::object::Json;

/// Where to rewind to.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rewind {
    /// Number of the user message; it and everything after it is removed.
    seq: i64,
}

/// The response after a rewind.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rewound {
    /// The session.
    #[schemars(with = "String")]
    session_key: SessionKey,
    /// Messages removed.
    removed_messages: usize,
    /// Tool calls among them; their effects remain.
    removed_tool_calls: usize,
    /// Archive of the removed messages.
    archived_to: String,
    /// Text of the user message, to be sent again.
    text: String,
}

/// Removes a user message and everything after it; the messages are archived.
pub async fn rewind(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(text): Path<String>,
    what: Result<Json<Rewind>, JsonRejection>,
) -> Answer<Rewound> {
    let seq = body(what)?.seq;
    let key = session_key(&admitted.caller, &AgentId::main(), &text)?;
    let rewound = gateway.minds().rewind(&key, seq).await?;
    gateway
        .note(&admitted.caller, "session.rewind", key.as_str())
        .await?;
    answer(Rewound {
        session_key: key,
        removed_messages: rewound.messages,
        removed_tool_calls: rewound.tool_calls,
        archived_to: rewound.archived_to,
        text: rewound.text,
    })
}
