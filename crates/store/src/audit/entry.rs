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
    /// The stable code of an error.
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
