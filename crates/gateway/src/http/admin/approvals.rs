//! Approvals: what waits for the owner, and the owner's answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use manyhands_core::{ApprovalId, Effects, Timestamp, ToolError};
use manyhands_store::{ApprovalRecord, ApprovalState, Decision};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{body, query};
use crate::gateway::Gateway;
use crate::http::asker::Owner;
use crate::http::refusal::{Answer, Refusal, answer};

/// Which approvals to list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// Also those already answered, used or expired.
    #[serde(default)]
    all: bool,
}

/// The owner's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// `approve` lets exactly the shown call through, once.
    decision: Word,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Word {
    Approve,
    Deny,
}

/// A question as it is shown: exactly what will run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    id: ApprovalId,
    state: String,
    tool: String,
    arguments: Value,
    effects: Effects,
    caller: String,
    agent: String,
    /// Which rule asked.
    rule: String,
    created_at: String,
    expires_at: String,
    decided_by: Option<String>,
    decided_at: Option<String>,
}

impl From<ApprovalRecord> for Shown {
    fn from(record: ApprovalRecord) -> Self {
        Self {
            id: record.id,
            state: record.state.word().to_owned(),
            tool: record.tool,
            arguments: record.arguments,
            effects: record.effects,
            caller: record.caller_name,
            agent: record.agent.to_string(),
            rule: record.rule,
            created_at: record.created.rfc3339(),
            expires_at: record.expires.rfc3339(),
            decided_by: record.decided_by,
            decided_at: record.decided_at.map(Timestamp::rfc3339),
        }
    }
}

/// What waits for an answer, newest first.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    which: Result<Query<Which>, QueryRejection>,
) -> Answer {
    let state = (!query(which)?.all).then_some(ApprovalState::Pending);
    let records = gateway.path.approvals().list(state).await?;
    let shown: Vec<Shown> = records.into_iter().map(Shown::from).collect();
    answer(json!({ "approvals": shown }))
}

/// Answers one question.
pub async fn decide(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
    decision: Result<Json<Decide>, JsonRejection>,
) -> Answer {
    let (answer_given, what) = match body(decision)?.decision {
        Word::Approve => (Decision::Approve, "approval.approve"),
        Word::Deny => (Decision::Deny, "approval.deny"),
    };
    let id: ApprovalId = id.parse().map_err(|_| {
        Refusal(ToolError::parameter(
            "id",
            "must be the id of an approval, from `manyhands approvals list`",
        ))
    })?;
    let record = gateway
        .path
        .approvals()
        .decide(id, answer_given, &owner.caller.name)
        .await?;
    gateway
        .note(&owner.caller, what, &format!("{id} {}", record.tool))
        .await?;
    answer(json!({ "approval": Shown::from(record) }))
}
