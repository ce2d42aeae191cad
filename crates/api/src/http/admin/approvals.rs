//! Approvals: what waits for the owner, and the owner's answer.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use manyhands_core::{ApprovalId, Effects, Timestamp, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_store::{ApprovalDecision, ApprovalRecord, ApprovalScope, ApprovalState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{body, query};
use crate::http::object::Json;

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
    /// Whether it may run.
    decision: Word,
    /// How far an approval reaches: `once` unless said; `conversation` covers calls like it until the
    /// conversation is reset; `always` adds the proposed rule to the policy.
    #[serde(default)]
    scope: ApprovalScope,
    /// What the model is told with a denial.
    message: Option<String>,
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
pub struct Approval {
    /// Its id, by which it is answered.
    id: ApprovalId,
    /// `pending`, `approved`, `denied`, `used`, `expired`, or `withdrawn` when whoever asked goes on without it.
    state: String,
    /// The tool.
    tool: String,
    /// With what it is called.
    arguments: Value,
    /// What it does to the world.
    effects: Effects,
    /// Who asks, by name.
    caller: String,
    /// On whose behalf.
    agent: String,
    /// The conversation it is asked in, if in one.
    session_key: Option<String>,
    /// Which rule asked.
    rule: String,
    /// When it was asked.
    created_at: String,
    /// Until when it can be answered.
    expires_at: String,
    /// Who answered.
    decided_by: Option<String>,
    /// When.
    decided_at: Option<String>,
    /// The rule that `always` would add, as it would stand in `policy.rules`.
    proposed_rule: Option<Value>,
    /// The untrusted text that was read before the call was requested.
    tainted_by: Option<String>,
    /// How far the approval reaches.
    scope: ApprovalScope,
    /// What the owner said with the answer.
    message: Option<String>,
}

/// Questions to the owner.
#[derive(Serialize, JsonSchema)]
pub struct ApprovalList {
    /// The questions, newest first.
    approvals: Vec<Approval>,
}

/// A question that was answered.
#[derive(Serialize, JsonSchema)]
pub struct ApprovalDecided {
    /// The question.
    approval: Approval,
}

impl From<ApprovalRecord> for Approval {
    fn from(record: ApprovalRecord) -> Self {
        Self {
            id: record.id,
            state: record.state.word().to_owned(),
            tool: record.tool,
            arguments: record.arguments,
            effects: record.effects,
            caller: record.caller_name,
            agent: record.agent.to_string(),
            session_key: record.session,
            rule: record.rule,
            created_at: record.created.rfc3339(),
            expires_at: record.expires.rfc3339(),
            decided_by: record.decided_by,
            decided_at: record.decided_at.map(Timestamp::rfc3339),
            proposed_rule: record.proposal,
            tainted_by: record.tainted_by,
            scope: record.scope,
            message: record.message,
        }
    }
}

/// What waits for an answer, newest first.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    which: Result<Query<Which>, QueryRejection>,
) -> Answer<ApprovalList> {
    let state = (!query(which)?.all).then_some(ApprovalState::Pending);
    let records = gateway.path.approvals().list(state).await?;
    answer(ApprovalList {
        approvals: records.into_iter().map(Approval::from).collect(),
    })
}

/// Answers one question.
pub async fn decide(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
    decision: Result<Json<Decide>, JsonRejection>,
) -> Answer<ApprovalDecided> {
    let given = body(decision)?;
    let decision = match given.decision {
        Word::Approve => ApprovalDecision::Approve(given.scope),
        Word::Deny => ApprovalDecision::Deny,
    };
    let id: ApprovalId = id.parse().map_err(|_| {
        Refusal(ToolError::parameter(
            "id",
            "must be the id of an approval, from `manyhands approvals list`",
        ))
    })?;
    let message = given.message.as_deref();
    let record = gateway.decide(&owner.caller, id, decision, message).await?;
    answer(ApprovalDecided {
        approval: record.into(),
    })
}
