//! Entries of the audit.

use manyhands_core::{CallId, Effects, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most bytes a summary may have.
pub const MAX_SUMMARY: usize = 2 * 1024;
/// The most bytes any other text may have.
const MAX_TEXT: usize = 512;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditKind {
    /// A call is about to run.
    Started,
    /// A call has ended, successfully or not.
    Finished,
    /// A call was refused.
    Refused,
    /// Something other than a call, such as a start or a new token.
    Event,
}

impl AuditKind {
    pub(super) const ALL: [Self; 4] = [Self::Started, Self::Finished, Self::Refused, Self::Event];

    /// Its name in records and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Finished => "finished",
            Self::Refused => "refused",
            Self::Event => "event",
        }
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum AuditStatus {
    /// It has not ended, or is not a call.
    #[default]
    #[serde(rename = "")]
    None,
    /// With a result.
    #[serde(rename = "ok")]
    Ok,
    /// With an error.
    #[serde(rename = "error")]
    Error,
}

impl AuditStatus {
    pub(super) const ALL: [Self; 3] = [Self::None, Self::Ok, Self::Error];

    /// Its name in records and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Ok => "ok",
            Self::Error => "error",
        }
    }
}

/// A new entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AuditEntryBody")]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// What happened.
    pub kind: AuditKind,
    /// The call.
    pub call: Option<CallId>,
    /// The caller's key.
    pub caller: String,
    /// The agent.
    pub agent: String,
    /// Who decided to make the call, where that was not the caller itself: `agent:main` in a turn, or `job:ID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The session whose turn made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The tool.
    pub tool: String,
    /// Effects of the call.
    pub effects: Effects,
    /// Hex SHA-256 of the canonical arguments.
    pub arguments_digest: String,
    /// A short text, already redacted; cut at 2 KiB.
    pub summary: String,
    /// Its status.
    pub status: AuditStatus,
    /// The stable code of an error, or how the program of a terminal ended, such as `exit 3`.
    pub code: String,
    /// Duration in microseconds.
    pub duration_us: Option<u64>,
}

impl AuditEntry {
    /// An entry of this kind; the caller fills in the rest.
    pub fn new(kind: AuditKind, at: Timestamp) -> Self {
        Self {
            at,
            kind,
            call: None,
            caller: String::new(),
            agent: String::new(),
            actor: None,
            session: None,
            tool: String::new(),
            effects: Effects::default(),
            arguments_digest: String::new(),
            summary: String::new(),
            status: AuditStatus::None,
            code: String::new(),
            duration_us: None,
        }
    }

    /// Truncates its texts and removes what PostgreSQL cannot store: an entry may contain what strangers sent, such as the
    /// name of an unknown tool.
    pub(super) fn bounded(mut self) -> Self {
        sanitize(&mut self.summary, MAX_SUMMARY);
        for text in [
            &mut self.caller,
            &mut self.agent,
            &mut self.tool,
            &mut self.arguments_digest,
            &mut self.code,
        ] {
            sanitize(text, MAX_TEXT);
        }
        for text in [&mut self.actor, &mut self.session].into_iter().flatten() {
            sanitize(text, MAX_TEXT);
        }
        // The column is signed; a larger value would come back negative and break the hash.
        self.duration_us = self.duration_us.map(|us| us.min(i64::MAX as u64));
        self
    }
}

fn sanitize(text: &mut String, limit: usize) {
    text.truncate(text.floor_char_boundary(limit));
    if text.contains('\0') {
        *text = text.replace('\0', " ");
    }
}

/// Separates the parts of the agent's column. No agent, actor or session contains it.
pub(super) const PART: char = '\u{1f}';

impl AuditEntry {
    /// The agent with the actor and the session, as stored in one column: the hash of every chain covers the same
    /// columns.
    pub(super) fn on_behalf(&self) -> String {
        let mut text = self.agent.replace(PART, " ");
        if self.actor.is_some() || self.session.is_some() {
            for part in [&self.actor, &self.session] {
                text.push(PART);
                text.push_str(&part.as_deref().unwrap_or_default().replace(PART, " "));
            }
        }
        text
    }

    /// Reads what [`AuditEntry::on_behalf`] wrote: agent, actor and session.
    pub(super) fn parts(column: &str) -> (String, Option<String>, Option<String>) {
        let mut parts = column.split(PART);
        let agent = parts.next().unwrap_or_default().to_owned();
        let mut part = || {
            parts
                .next()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        (agent, part(), part())
    }
}

/// An entry in its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AuditEntry")]
pub struct AuditRecord {
    /// Its number, from 1 without gaps.
    pub seq: i64,
    /// What happened.
    #[serde(flatten)]
    pub entry: AuditEntry,
    /// The hash that links it to all before it, in hex.
    pub hash: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_actor_and_the_session_share_the_agents_column() {
        let check = |actor: Option<&str>, session: Option<&str>, column: &str| {
            let entry = AuditEntry {
                agent: "main".to_owned(),
                actor: actor.map(str::to_owned),
                session: session.map(str::to_owned),
                ..AuditEntry::new(AuditKind::Event, Timestamp(1))
            };
            assert_eq!(entry.on_behalf(), column);
            let parts = (entry.agent, entry.actor, entry.session);
            assert_eq!(AuditEntry::parts(column), parts);
        };
        check(None, None, "main");
        check(
            Some("agent:main"),
            Some("agent:main:a"),
            "main\u{1f}agent:main\u{1f}agent:main:a",
        );
        check(Some("job:1"), None, "main\u{1f}job:1\u{1f}");
    }

    #[test]
    fn texts_are_cut_between_characters_and_hold_no_nul() {
        let entry = AuditEntry {
            summary: "ü".repeat(MAX_SUMMARY),
            tool: format!("a\0{}", "x".repeat(MAX_TEXT)),
            code: "short".to_owned(),
            ..AuditEntry::new(AuditKind::Event, Timestamp(1))
        }
        .bounded();
        assert_eq!(entry.summary.len(), MAX_SUMMARY);
        assert_eq!((entry.tool.len(), &entry.tool[..2]), (MAX_TEXT, "a "));
        assert_eq!(entry.code, "short");
    }
}
