//! The audit log: queries and verification.

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
use crate::http::patterns;

/// Filter of the list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    /// Only tools matching this pattern.
    tool: Option<String>,
    /// Only calls of this caller key.
    caller: Option<String>,
    /// Only calls for this agent.
    agent: Option<String>,
    /// Only this call, by the id in its `x-manyhands-call` response header.
    #[schemars(regex(pattern = patterns::UUID))]
    call: Option<String>,
    /// Only `ok` or `error`.
    status: Option<AuditStatus>,
    /// Only entries after this number.
    after: Option<i64>,
    /// Only entries before this number, for the next page.
    before: Option<i64>,
    /// Maximum number; 100 by default, at most 1000.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
}

/// A list of audit entries.
#[derive(Serialize, JsonSchema)]
pub struct AuditList {
    /// Entries, newest first.
    entries: Vec<AuditRecord>,
}

/// Lists entries, newest first.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    which: Result<Query<AuditQuery>, QueryRejection>,
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
        call: call.map_err(|_| ToolError::parameter("call", "must be a call id"))?,
        status: which.status,
        after_seq: which.after,
        before_seq: which.before,
        limit: Some(limit),
    };
    let entries = gateway.store.audit().query(&filter).await?;
    answer(AuditList { entries })
}

/// Verifies the whole chain.
pub async fn verify(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ChainVerdict> {
    let verdict = gateway.store.audit().verify(VerifyFrom::Genesis).await?;
    answer(verdict)
}
