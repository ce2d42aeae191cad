//! Taking back what was said in a session, so that it can be said anew.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use manyhands_agent::SessionKey;
use manyhands_agent_services::session_key;
use manyhands_core::AgentId;
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Asker, answer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::http::object::Json;

/// What to take back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rewind {
    /// The number of the user's message from which on everything is taken back.
    seq: i64,
}

/// What was taken back.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rewound {
    /// The session.
    #[schemars(with = "String")]
    session_key: SessionKey,
    /// How many messages.
    removed_messages: usize,
    /// How many calls of tools were among them; what they did stays done.
    removed_tool_calls: usize,
    /// Where all of it is kept.
    archived_to: String,
    /// What the user's message said, to be said anew.
    text: String,
}

/// Takes back everything from a user's message on; it is archived.
pub async fn rewind(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    Path(text): Path<String>,
    what: Result<Json<Rewind>, JsonRejection>,
) -> Answer<Rewound> {
    let seq = body(what)?.seq;
    let key = session_key(&asker.caller, &AgentId::main(), &text)?;
    let rewound = gateway.minds().rewind(&key, seq).await?;
    gateway
        .note(&asker.caller, "session.rewind", key.as_str())
        .await?;
    answer(Rewound {
        session_key: key,
        removed_messages: rewound.messages,
        removed_tool_calls: rewound.tool_calls,
        archived_to: rewound.archived_to,
        text: rewound.text,
    })
}
