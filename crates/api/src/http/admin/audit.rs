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

/// What kind of caller it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// The owner, a guest, or somebody in a chat.
    Person,
    /// An agent in a turn, or a job.
    Agent,
    /// A program with a token.
    Token,
    /// A node.
    Node,
    /// The gateway itself.
    Gateway,
}

/// Who decided to make a call.
#[derive(PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Actor {
    /// Name of the token, agent, job or node; for somebody in a chat, the channel and id.
    name: String,
    /// What it is.
    kind: ActorKind,
}

impl Actor {
    /// The actor of an entry, or else its caller by its key.
    fn of(actor: Option<&str>, caller: &str) -> Self {
        let key = actor.unwrap_or(caller);
        let (kind, name) = key.split_once(':').unwrap_or((key, key));
        // A token's key ends with its id; its name may contain colons.
        let token = || name.rsplit_once(':').map_or(name, |(name, _)| name);
        let (kind, name) = match kind {
            "agent" | "job" => (ActorKind::Agent, name),
            "person" => (ActorKind::Person, name),
            "owner" | "guest" => (ActorKind::Person, token()),
            "node" => (ActorKind::Node, token()),
            "gateway" | "" => (ActorKind::Gateway, "gateway"),
            _ => (ActorKind::Token, token()),
        };
        Self {
            name: name.to_owned(),
            kind,
        }
    }
}

/// An audit entry with who it was.
#[derive(Serialize, JsonSchema)]
pub struct AuditView {
    /// The entry.
    #[serde(flatten)]
    record: AuditRecord,
    /// Who decided to make the call.
    who: Actor,
}

/// A list of audit entries.
#[derive(Serialize, JsonSchema)]
pub struct AuditList {
    /// Entries, newest first.
    entries: Vec<AuditView>,
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
    let entries = entries.into_iter().map(|record| AuditView {
        who: Actor::of(record.entry.actor.as_deref(), &record.entry.caller),
        record,
    });
    answer(AuditList {
        entries: entries.collect(),
    })
}

/// Verifies the whole chain.
pub async fn verify(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ChainVerdict> {
    let verdict = gateway.store.audit().verify(VerifyFrom::Genesis).await?;
    answer(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_decided_is_told_from_the_keys() {
        let check = |actor: Option<&str>, caller: &str, kind: ActorKind, name: &str| {
            let who = Actor::of(actor, caller);
            assert_eq!(
                (who.kind, who.name.as_str()),
                (kind, name),
                "{actor:?} {caller}"
            );
        };
        check(None, "owner:laptop:ID", ActorKind::Person, "laptop");
        check(
            Some("agent:main"),
            "owner:laptop:ID",
            ActorKind::Agent,
            "main",
        );
        check(Some("job:J"), "owner:laptop:ID", ActorKind::Agent, "J");
        check(None, "client:my:script:ID", ActorKind::Token, "my:script");
        check(None, "node:box:ID", ActorKind::Node, "box");
        check(None, "person:telegram:42", ActorKind::Person, "telegram:42");
        check(None, "gateway", ActorKind::Gateway, "gateway");
        check(None, "", ActorKind::Gateway, "gateway");
    }
}
