//! The audit: looked at, and verified.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use manyhands_core::{CallId, Pattern, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, answer};
use manyhands_store::{AuditFilter, AuditRecord, AuditStatus, ChainVerdict, VerifyFrom};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::query;
use crate::http::shapes;

/// Which entries to show.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// Only tools that fit this pattern.
    tool: Option<String>,
    /// Only this caller's key.
    caller: Option<String>,
    /// Only calls on behalf of this agent.
    agent: Option<String>,
    /// Only this call, by the id that `x-manyhands-call` of its answer gave.
    #[schemars(regex(pattern = shapes::UUID))]
    call: Option<String>,
    /// Only `ok` or `error`.
    status: Option<AuditStatus>,
    /// Only entries after this number.
    after: Option<i64>,
    /// Only entries before this number: the next page.
    before: Option<i64>,
    /// How many at most; 100 when not said, 1000 at most.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// Entries of the audit.
#[derive(Serialize, JsonSchema)]
pub struct AuditList {
    /// The entries, newest first.
    entries: Vec<AuditRecord>,
}

/// Entries, newest first.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    which: Result<Query<Which>, QueryRejection>,
) -> Answer<AuditList> {
    let which = query(which)?;
    let limit = which.limit.unwrap_or(100);
    if !(1..=1_000).contains(&limit) {
        return Err(ToolError::parameter("limit", "must be 1 to 1000").into());
    }
    let call = which.call.map(|call| call.parse::<CallId>()).transpose();
    let filter = AuditFilter {
        tool: which.tool.map(Pattern::new),
        caller: which.caller,
        agent: which.agent,
        call: call.map_err(|_| ToolError::parameter("call", "must be the id of a call"))?,
        status: which.status,
        after_seq: which.after,
        before_seq: which.before,
        limit: Some(limit),
    };
    let entries = gateway.store.audit().query(&filter).await?;
    answer(AuditList { entries })
}

/// Checks the whole chain.
pub async fn verify(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ChainVerdict> {
    let verdict = gateway.store.audit().verify(VerifyFrom::Genesis).await?;
    answer(verdict)
}
