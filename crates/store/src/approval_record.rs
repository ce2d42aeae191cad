//! A question to the owner, as a record and as a row.

use manyhands_core::{AgentId, ApprovalId, CallId, Effects, Taint, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::columns::effects_from;
use crate::error::StoreError;
use crate::sql::Row;

/// How far a question has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    /// Nobody has answered.
    Pending,
    /// The owner agreed; not used yet.
    Approved,
    /// The owner refused.
    Denied,
    /// The one call that was agreed to has run.
    Used,
    /// Too late for an answer or for its use.
    Expired,
    /// Whoever asked goes on without it.
    Withdrawn,
}

impl ApprovalState {
    const ALL: [Self; 6] = [
        Self::Pending,
        Self::Approved,
        Self::Denied,
        Self::Used,
        Self::Expired,
        Self::Withdrawn,
    ];

    /// The word used in records and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Used => "used",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// How far an approval reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalScope {
    /// The one call that was shown.
    #[default]
    Once,
    /// Calls like it in the same conversation, until that is reset.
    Conversation,
    /// Calls like it from now on: the proposed rule was added to the policy.
    Always,
}

impl ApprovalScope {
    const ALL: [Self; 3] = [Self::Once, Self::Conversation, Self::Always];

    /// The word used in records and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Conversation => "conversation",
            Self::Always => "always",
        }
    }
}

/// A question to put to the owner.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApproval {
    /// Its id, used if the question is new.
    pub id: ApprovalId,
    /// Who asks: the caller's key.
    pub caller: String,
    /// What the owner calls them.
    pub caller_name: String,
    /// On whose behalf.
    pub agent: AgentId,
    /// The conversation it is asked in.
    pub session: Option<String>,
    /// Which tool.
    pub tool: String,
    /// Exactly what will run.
    pub arguments: Value,
    /// Hex SHA-256 over caller, agent, tool, canonical arguments and conversation.
    pub fingerprint: String,
    /// What the tool does to the world.
    pub effects: Effects,
    /// Which rule asked.
    pub rule: String,
    /// Why: the owner's words beside the rule.
    pub reason: Option<String>,
    /// The rule that would allow calls like this one, as JSON.
    pub proposal: Option<Value>,
    /// The untrusted text that was read before.
    pub taint: Taint,
    /// When the question, and any answer, stops being good.
    pub expires: Timestamp,
}

/// A question and how far it has come.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRecord {
    /// Its id.
    pub id: ApprovalId,
    /// Who asks: the caller's key.
    pub caller: String,
    /// What the owner calls them.
    pub caller_name: String,
    /// On whose behalf.
    #[schemars(with = "String")]
    pub agent: AgentId,
    /// The conversation it is asked in.
    pub session: Option<String>,
    /// Which tool.
    pub tool: String,
    /// Exactly what will run.
    pub arguments: Value,
    /// Hex SHA-256 over caller, agent, tool, canonical arguments and conversation.
    pub fingerprint: String,
    /// What the tool does to the world.
    pub effects: Effects,
    /// Which rule asked.
    pub rule: String,
    /// Why: the owner's words beside the rule.
    pub reason: Option<String>,
    /// When it was asked.
    pub created: Timestamp,
    /// When the question, and any answer, stops being good.
    pub expires: Timestamp,
    /// How far it has come.
    pub state: ApprovalState,
    /// Who answered.
    pub decided_by: Option<String>,
    /// When.
    pub decided_at: Option<Timestamp>,
    /// The call that used the approval.
    pub used_by_call: Option<CallId>,
    /// The rule that would allow calls like this one; "always" adds it to the policy.
    pub proposal: Option<Value>,
    /// The untrusted text that was read before the call was requested.
    pub tainted_by: Option<String>,
    /// How far the approval reaches.
    pub scope: ApprovalScope,
    /// What the owner said with the answer; the model receives it.
    pub message: Option<String>,
}

/// Separates the rule from its reason in their column.
pub(crate) const PART: char = '\u{1f}';

impl NewApproval {
    /// The rule with its reason, as stored in one column.
    pub(crate) fn rule_and_reason(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{}{PART}{reason}", self.rule),
            None => self.rule.clone(),
        }
    }
}

pub(crate) const COLUMNS: &str =
    "SELECT id, caller, caller_name, agent, session, tool, arguments, fingerprint, effects, rule,
            created, expires, state, decided_by, decided_at, used_by_call, proposal, taint, scope,
            message
     FROM approval";

/// The record in a row, as it stands at `now`.
pub(crate) fn record(row: &Row, now: Timestamp) -> Result<ApprovalRecord, StoreError> {
    let id = row.parsed("id")?;
    let damaged = || StoreError::corrupt(format!("approval {id} is damaged: ask again"));
    let stored = row.text("state")?;
    let stored = ApprovalState::ALL
        .into_iter()
        .find(|state| state.as_str() == stored)
        .ok_or_else(damaged)?;
    let expires = Timestamp(row.int("expires")?);
    let state = match stored {
        ApprovalState::Used | ApprovalState::Withdrawn => stored,
        _ if expires <= now => ApprovalState::Expired,
        _ => stored,
    };
    let call = row.text_or_null("used_by_call")?;
    let asked = row.text("rule")?;
    let (rule, reason) = match asked.split_once(PART) {
        Some((rule, reason)) => (rule.to_owned(), Some(reason.to_owned())),
        None => (asked, None),
    };
    let (proposal, scope) = (row.text_or_null("proposal")?, row.text("scope")?);
    Ok(ApprovalRecord {
        id,
        caller: row.text("caller")?,
        caller_name: row.text("caller_name")?,
        agent: row.parsed("agent")?,
        session: row.text_or_null("session")?,
        tool: row.text("tool")?,
        arguments: serde_json::from_str(&row.text("arguments")?).map_err(|_| damaged())?,
        fingerprint: row.text("fingerprint")?,
        effects: effects_from(&row.text("effects")?).ok_or_else(damaged)?,
        rule,
        reason,
        created: Timestamp(row.int("created")?),
        expires,
        state,
        decided_by: row.text_or_null("decided_by")?,
        decided_at: row.int_or_null("decided_at")?.map(Timestamp),
        used_by_call: call
            .map(|call| call.parse().map_err(|_| damaged()))
            .transpose()?,
        proposal: proposal
            .map(|rule| serde_json::from_str(&rule).map_err(|_| damaged()))
            .transpose()?,
        tainted_by: row.text_or_null("taint")?,
        scope: ApprovalScope::ALL
            .into_iter()
            .find(|one| one.as_str() == scope)
            .ok_or_else(damaged)?,
        message: row.text_or_null("message")?,
    })
}
