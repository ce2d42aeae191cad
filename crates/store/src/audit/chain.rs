//! Links each entry to all before it.
//!
//! The hash covers the columns as they are stored, so that verification does not have to parse them: an invalid value is
//! a wrong hash, not a parse error.

use manyhands_core::Timestamp;
use sha2::{Digest as _, Sha256};

use super::checkpoint::{AUDIT, Announcement, PRUNED};
use super::entry::{AuditEntry, AuditKind, AuditRecord, AuditStatus};
use crate::columns::{effects_from, effects_text};
use crate::error::StoreError;
use crate::hex;
use crate::sql::{Param, Row};

/// The hash of an entry and all before it.
pub(super) type ChainHash = [u8; 32];

/// The hash before the first entry.
pub(super) const GENESIS: ChainHash = [0; 32];

const DOMAIN: &[u8] = b"manyhands audit entry v1\0";

pub(super) const COLUMNS: &str =
    "SELECT seq, at, kind, call_id, caller, agent, tool, effects, arguments_digest, summary,
            status, code, duration_us, hash
     FROM audit";

pub(super) const INSERT: &str =
    "INSERT INTO audit (seq, at, kind, call_id, caller, agent, tool, effects, arguments_digest,
                        summary, status, code, duration_us, hash)
     VALUES";

/// An entry as its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredEntry {
    pub(super) seq: i64,
    at: i64,
    call: Option<String>,
    duration_us: Option<i64>,
    /// kind, caller, agent, tool, effects, arguments_digest, summary, status, code.
    texts: [String; 9],
}

// The hash covers the texts in this order: changing it breaks every existing chain.
const TEXTS: [&str; 9] = [
    "kind",
    "caller",
    "agent",
    "tool",
    "effects",
    "arguments_digest",
    "summary",
    "status",
    "code",
];

impl StoredEntry {
    pub(super) fn new(seq: i64, entry: &AuditEntry) -> Self {
        Self {
            seq,
            at: entry.at.0,
            call: entry.call.map(|call| call.to_string()),
            duration_us: entry.duration_us.map(u64::cast_signed),
            texts: [
                entry.kind.as_str().to_owned(),
                entry.caller.clone(),
                entry.on_behalf(),
                entry.tool.clone(),
                effects_text(entry.effects),
                entry.arguments_digest.clone(),
                entry.summary.clone(),
                entry.status.as_str().to_owned(),
                entry.code.clone(),
            ],
        }
    }

    /// The entry in a row, and the hash stored beside it.
    pub(super) fn from_row(row: &Row) -> Result<(Self, String), StoreError> {
        let mut texts = <[String; 9]>::default();
        for (text, column) in texts.iter_mut().zip(TEXTS) {
            *text = row.text(column)?;
        }
        let stored = Self {
            seq: row.int("seq")?,
            at: row.int("at")?,
            call: row.text_or_null("call_id")?,
            duration_us: row.int_or_null("duration_us")?,
            texts,
        };
        Ok((stored, row.text("hash")?))
    }

    /// The hash that links this entry to `previous`.
    pub(super) fn link(&self, previous: &ChainHash) -> ChainHash {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update(previous);
        // Numbers have a fixed width and need no length before them, unlike the texts below.
        hash.update(self.seq.to_le_bytes());
        hash.update(self.at.to_le_bytes());
        let duration = self.duration_us.map(i64::to_le_bytes);
        field(&mut hash, duration.as_ref().map(<[u8; 8]>::as_slice));
        field(&mut hash, self.call.as_deref().map(str::as_bytes));
        for text in &self.texts {
            field(&mut hash, Some(text.as_bytes()));
        }
        hash.finalize().into()
    }

    /// The values of its row, in the order of [`INSERT`].
    pub(super) fn values(self, hash: &ChainHash) -> [Param; 14] {
        let [
            kind,
            caller,
            agent,
            tool,
            effects,
            digest,
            summary,
            status,
            code,
        ] = self.texts;
        [
            self.seq.into(),
            self.at.into(),
            kind.into(),
            self.call.into(),
            caller.into(),
            agent.into(),
            tool.into(),
            effects.into(),
            digest.into(),
            summary.into(),
            status.into(),
            code.into(),
            self.duration_us.into(),
            hex::encode(hash).into(),
        ]
    }

    /// The typed record; an error if a column has an invalid value.
    pub(super) fn record(self, hash: String) -> Result<AuditRecord, StoreError> {
        let seq = self.seq;
        let damaged = || {
            StoreError::corrupt(format!(
                "audit entry {seq} is damaged: run `manyhands audit verify`"
            ))
        };
        let [
            kind,
            caller,
            agent,
            tool,
            effects,
            arguments_digest,
            summary,
            status,
            code,
        ] = self.texts;
        let (agent, actor, session) = AuditEntry::parts(&agent);
        let kind = AuditKind::ALL.into_iter().find(|k| k.as_str() == kind);
        let status = AuditStatus::ALL.into_iter().find(|s| s.as_str() == status);
        let call = self.call.map(|call| call.parse().map_err(|_| damaged()));
        let entry = AuditEntry {
            at: Timestamp(self.at),
            kind: kind.ok_or_else(damaged)?,
            call: call.transpose()?,
            caller,
            agent,
            actor,
            session,
            tool,
            effects: effects_from(&effects).ok_or_else(damaged)?,
            arguments_digest,
            summary,
            status: status.ok_or_else(damaged)?,
            code,
            duration_us: self.duration_us.map(i64::cast_unsigned),
        };
        Ok(AuditRecord { seq, entry, hash })
    }

    /// When it was written.
    pub(super) fn at(&self) -> Timestamp {
        Timestamp(self.at)
    }

    /// About how many bytes it takes in the database: its texts, its numbers and hash, and its places
    /// in the indexes. The migration and `retention` count the same way.
    pub(super) fn cost(&self) -> i64 {
        let [_, caller, agent, tool, _, digest, summary, _, code] = &self.texts;
        let texts = [caller, agent, tool, digest, summary, code];
        let bytes: usize = texts.into_iter().map(String::len).sum();
        i64::try_from(bytes).unwrap_or(i64::MAX) + 400
    }

    /// The announcement in an entry that announces a removal; `None` for all others.
    pub(super) fn announced(&self) -> Option<Announcement> {
        let [kind, _, _, tool, _, _, summary, _, code] = &self.texts;
        // Kind, tool and code together: callers choose names of unknown tools, and none of them must pass for a
        // removal.
        let announces = kind == AuditKind::Event.as_str() && tool == AUDIT && code == PRUNED;
        announces.then(|| serde_json::from_str(summary).ok())?
    }

    /// The report in an entry that reports damage; `None` for all others.
    pub(super) fn damage(&self) -> Option<&str> {
        let [kind, _, _, tool, _, _, summary, _, code] = &self.texts;
        let is_damage = kind == AuditKind::Event.as_str() && tool == AUDIT && code == DAMAGED;
        is_damage.then_some(summary.as_str())
    }
}

const DAMAGED: &str = "audit_damaged";

/// The entry that puts found damage on record, so that it cannot be forgotten.
pub(super) fn damage_entry(what: String, at: Timestamp) -> AuditEntry {
    AuditEntry {
        caller: "gateway".to_owned(),
        tool: AUDIT.to_owned(),
        summary: what,
        status: AuditStatus::Error,
        code: DAMAGED.to_owned(),
        ..AuditEntry::new(AuditKind::Event, at)
    }
    .bounded()
}

/// The length comes before the content, so that no two rows have the same bytes; NULL has no length.
fn field(hash: &mut Sha256, content: Option<&[u8]>) {
    match content {
        None => hash.update([0]),
        Some(bytes) => {
            hash.update([1]);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ids;
    use manyhands_core::Effects;

    fn entry() -> AuditEntry {
        AuditEntry {
            call: Some(ids().next()),
            caller: "owner".to_owned(),
            agent: "main".to_owned(),
            tool: "tool::shell".to_owned(),
            effects: Effects::RUNS,
            arguments_digest: "ab".to_owned(),
            summary: "ls".to_owned(),
            status: AuditStatus::Ok,
            code: "c".to_owned(),
            duration_us: Some(7),
            ..AuditEntry::new(AuditKind::Finished, Timestamp(9))
        }
    }

    #[test]
    fn every_field_the_place_and_the_past_are_in_the_hash() {
        let base = entry();
        let with = |change: &dyn Fn(&mut AuditEntry)| {
            let mut changed = base.clone();
            change(&mut changed);
            StoredEntry::new(1, &changed).link(&GENESIS)
        };
        let hashes = [
            with(&|_| {}),
            with(&|e| e.at = Timestamp(8)),
            with(&|e| e.kind = AuditKind::Started),
            with(&|e| e.call = None),
            with(&|e| e.caller = "ownerm".to_owned()),
            with(&|e| (e.caller, e.agent) = ("ownerm".to_owned(), "ain".to_owned())),
            with(&|e| e.agent = String::new()),
            with(&|e| e.tool = String::new()),
            with(&|e| e.effects = Effects::READS),
            with(&|e| e.arguments_digest = String::new()),
            with(&|e| e.summary = String::new()),
            with(&|e| e.status = AuditStatus::Error),
            with(&|e| e.code = String::new()),
            with(&|e| e.duration_us = None),
            with(&|e| e.duration_us = Some(8)),
            StoredEntry::new(2, &base).link(&GENESIS),
            StoredEntry::new(1, &base).link(&[1; 32]),
        ];
        let different: std::collections::HashSet<_> = hashes.iter().collect();
        assert_eq!(different.len(), hashes.len());
        assert_eq!(with(&|_| {}), hashes[0], "the same entry has the same hash");
    }

    #[test]
    fn a_record_round_trips_through_its_columns() {
        let base = entry();
        let record = StoredEntry::new(3, &base).record("h".to_owned()).unwrap();
        assert_eq!((record.seq, record.entry), (3, base));
    }
}
