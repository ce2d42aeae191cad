//! Approvals: pending requests and the owner's decisions.

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

use super::approval_context::{self, RuleShown};
use super::{body, query};
use crate::http::object::Json;

/// Filter of the list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalQuery {
    /// Include decided, used and expired ones.
    #[serde(default)]
    all: bool,
}

/// The owner's decision.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// Approve or deny.
    decision: DecisionWord,
    /// Scope of an approval, `once` by default; `conversation` covers similar calls until the
    /// conversation is reset; `always` adds the proposed rule to the policy.
    #[serde(default)]
    scope: ApprovalScope,
    /// Message to the model, with a denial.
    message: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DecisionWord {
    Approve,
    Deny,
}

/// An approval request, with exactly what will run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Id used to decide it.
    id: ApprovalId,
    /// `pending`, `approved`, `denied`, `used`, `expired`, or `withdrawn` if the requester
    /// continued without it.
    state: String,
    /// The tool.
    tool: String,
    /// Arguments of the call.
    arguments: Value,
    /// Effects of the call.
    effects: Effects,
    /// Name of the requester.
    caller: String,
    /// Agent the call is made for.
    agent: String,
    /// Session it belongs to, if any.
    session_key: Option<String>,
    /// The rule that asked.
    rule: String,
    /// When it was requested.
    created_at: String,
    /// When it expires.
    expires_at: String,
    /// Who decided it.
    decided_by: Option<String>,
    /// When it was decided.
    decided_at: Option<String>,
    /// The rule `always` would add, as it would appear in `policy.rules`.
    proposed_rule: Option<Value>,
    /// Untrusted text read before the call was requested.
    tainted_by: Option<String>,
    /// Scope of the approval.
    scope: ApprovalScope,
    /// The owner's message.
    message: Option<String>,
    /// The rule that asked, with its text.
    rule_shown: RuleShown,
    /// The owner's words beside that rule.
    reason: Option<String>,
    /// First line of the message that the agent works on.
    task: Option<String>,
    /// The change of an edit or a patch, as a unified diff.
    diff: Option<String>,
}

/// A list of approval requests.
#[derive(Serialize, JsonSchema)]
pub struct ApprovalList {
    /// Requests, newest first.
    approvals: Vec<Approval>,
}

/// The response with a decided request.
#[derive(Serialize, JsonSchema)]
pub struct ApprovalDecided {
    /// The question.
    approval: Approval,
}

impl Approval {
    async fn of(record: ApprovalRecord, gateway: &Gateway) -> Self {
        Self {
            rule_shown: approval_context::rule(&record, &gateway.settings.current()),
            task: approval_context::task(&record, gateway).await,
            diff: approval_context::diff(&record.arguments),
            reason: record.reason,
            id: record.id,
            state: record.state.as_str().to_owned(),
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

/// Lists pending requests, newest first.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    which: Result<Query<ApprovalQuery>, QueryRejection>,
) -> Answer<ApprovalList> {
    let state = (!query(which)?.all).then_some(ApprovalState::Pending);
    let records = gateway.path.approvals().list(state).await?;
    let mut approvals = Vec::with_capacity(records.len());
    for record in records {
        approvals.push(Approval::of(record, &gateway).await);
    }
    answer(ApprovalList { approvals })
}

/// Decides a request.
pub async fn decide(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
    decision: Result<Json<Decide>, JsonRejection>,
) -> Answer<ApprovalDecided> {
    let given = body(decision)?;
    let decision = match given.decision {
        DecisionWord::Approve => ApprovalDecision::Approve(given.scope),
        DecisionWord::Deny => ApprovalDecision::Deny,
    };
    let id: ApprovalId = id.parse().map_err(|_| {
        Refusal(ToolError::parameter(
            "id",
            "must be an approval id from `manyhands approvals list`",
        ))
    })?;
    let message = given.message.as_deref();
    let record = gateway.decide(&owner.caller, id, decision, message).await?;
    answer(ApprovalDecided {
        approval: Approval::of(record, &gateway).await,
    })
}
