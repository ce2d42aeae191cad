//! What the audit says of a call.

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
    /// A call has ended, well or not.
    Finished,
    /// A call was not let through.
    Refused,
    /// Something that is not a call, such as a token made or a start-up.
    Event,
}

impl AuditKind {
    pub(super) const ALL: [Self; 4] = [Self::Started, Self::Finished, Self::Refused, Self::Event];

    /// The word used in records and listings.
    pub fn word(self) -> &'static str {
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
    /// Not said: it has not ended, or is no call.
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

    /// The word used in records and listings.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Ok => "ok",
            Self::Error => "error",
        }
    }
}

/// One entry, as whoever saw it happen tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AuditEntryBody")]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// What happened.
    pub kind: AuditKind,
    /// Which call.
    pub call: Option<CallId>,
    /// Who asked: the caller's key.
    pub caller: String,
    /// On whose behalf.
    pub agent: String,
    /// Which tool.
    pub tool: String,
    /// What the tool does to the world.
    pub effects: Effects,
    /// Hex SHA-256 of the canonical arguments.
    pub arguments_digest: String,
    /// A short text, already redacted; cut at 2 KiB.
    pub summary: String,
    /// How it ended.
    pub status: AuditStatus,
    /// The stable code of an error.
    pub code: String,
    /// How long it took, in microseconds.
    pub duration_us: Option<u64>,
}

impl AuditEntry {
    /// An entry of that kind about nothing in particular; fill in the rest.
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

    /// Within bounds, and without what PostgreSQL cannot store: callers may put what
    /// strangers sent (an unknown tool's name) into an entry.
    pub(super) fn bounded(mut self) -> Self {
        tidy(&mut self.summary, MAX_SUMMARY);
        for text in [
            &mut self.caller,
            &mut self.agent,
            &mut self.tool,
            &mut self.arguments_digest,
            &mut self.code,
        ] {
            tidy(text, MAX_TEXT);
        }
        self.duration_us = self.duration_us.map(|us| us.min(i64::MAX as u64));
        self
    }
}

fn tidy(text: &mut String, limit: usize) {
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
    /// Its place, from 1 without gaps.
    pub seq: i64,
    /// What happened.
    #[serde(flatten)]
    pub entry: AuditEntry,
    /// The hash that ties it to all before it, in hex.
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
