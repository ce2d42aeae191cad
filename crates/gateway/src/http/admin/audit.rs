//! The audit: looked at, and verified.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use manyhands_core::Pattern;
use manyhands_store::{AuditFilter, AuditStatus, VerifyFrom};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::query;
use crate::gateway::Gateway;
use crate::http::asker::Owner;
use crate::http::refusal::{Answer, answer};

/// Which entries to show.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// Only tools that fit this pattern.
    tool: Option<String>,
    /// Only this caller's key.
    caller: Option<String>,
    /// Only `ok` or `error`.
    status: Option<AuditStatus>,
    /// Only entries after this number.
    after: Option<i64>,
    /// How many at most; 100 when not said, 1000 at most.
    #[schemars(range(max = 1000))]
    limit: Option<u32>,
}

/// Entries, newest first.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    which: Result<Query<Which>, QueryRejection>,
) -> Answer {
    let which = query(which)?;
    let filter = AuditFilter {
        tool: which.tool.map(Pattern::new),
        caller: which.caller,
        status: which.status,
        after_seq: which.after,
        before_seq: None,
        limit: Some(which.limit.unwrap_or(100).min(1_000)),
    };
    let entries = gateway.store.audit().query(&filter).await?;
    answer(json!({ "entries": entries }))
}

/// Checks the whole chain.
pub async fn verify(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer {
    let verdict = gateway.store.audit().verify(VerifyFrom::Genesis).await?;
    answer(json!(verdict))
}
