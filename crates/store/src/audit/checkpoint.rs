//! What retention has removed: everything up to one entry, whose hash is sealed like the head.
//!
//! The entry that announces a removal, the checkpoint and the removal itself are one transaction.
//! So at any moment the chain either begins at its first entry or right after the checkpoint, and
//! without the vault's key nobody can move that point to hide what they removed.

use hmac::Mac as _;
use manyhands_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::chain::{ChainHash, StoredEntry};
use super::entry::{AuditEntry, AuditKind, AuditStatus};
use super::head::HeadKey;
use crate::error::StoreError;
use crate::hex;
use crate::sql::{Row, Statement, Tx};
use crate::vault::keyed;

const SELECT: &str = "SELECT seq, hash, entry, mac FROM audit_checkpoint WHERE id = 1";

/// The tool and code of entries that announce a removal.
pub(super) const AUDIT: &str = "audit";
pub(super) const PRUNED: &str = "audit_pruned";

/// The last removed entry; trusted only after its signature was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// The last entry that is gone.
    pub(super) seq: i64,
    /// Its hash, in hex.
    pub(super) hash: String,
    /// The entry that announced it.
    pub(super) entry: i64,
    mac: String,
}

impl Checkpoint {
    pub(super) fn sign(key: &HeadKey, seq: i64, hash: &ChainHash, entry: i64) -> Self {
        let hash = hex::encode(hash);
        let mac = hex::encode(&mac(key, seq, &hash, entry).finalize().into_bytes());
        Self {
            seq,
            hash,
            entry,
            mac,
        }
    }

    /// Whether this vault signed it.
    pub(super) fn is_genuine(&self, key: &HeadKey) -> bool {
        let claimed = hex::decode::<32>(&self.mac);
        claimed.is_some_and(|claimed| {
            mac(key, self.seq, &self.hash, self.entry)
                .verify_slice(&claimed)
                .is_ok()
        })
    }

    pub(super) async fn read(tx: &mut Tx) -> Result<Option<Self>, StoreError> {
        let row = tx.one(Statement::new(SELECT)).await?;
        row.as_ref().map(Self::from_row).transpose()
    }

    fn from_row(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            seq: row.int("seq")?,
            hash: row.text("hash")?,
            entry: row.int("entry")?,
            mac: row.text("mac")?,
        })
    }

    pub(super) fn upsert(&self) -> Statement {
        Statement::new(
            "INSERT INTO audit_checkpoint (id, seq, hash, entry, mac) VALUES (1, $1, $2, $3, $4)
             ON CONFLICT (id) DO UPDATE
             SET seq = excluded.seq, hash = excluded.hash, entry = excluded.entry, mac = excluded.mac",
        )
        .bind(self.seq)
        .bind(self.hash.as_str())
        .bind(self.entry)
        .bind(self.mac.as_str())
    }

    /// Whether `entry` announces what this seals.
    pub(super) fn is_announced_by(&self, entry: &StoredEntry) -> bool {
        let announcement = entry.announced();
        announcement.is_some_and(|one| one.through == self.seq && one.hash == self.hash)
    }
}

fn mac(key: &HeadKey, seq: i64, hash: &str, entry: i64) -> hmac::Hmac<sha2::Sha256> {
    let mut mac = keyed(&key.0);
    // Another domain than the head's, so that neither signature can be passed off as the other.
    mac.update(b"manyhands audit checkpoint v1\0");
    mac.update(&seq.to_le_bytes());
    mac.update(&entry.to_le_bytes());
    mac.update(hash.as_bytes());
    mac
}

/// What the announcing entry says, as the JSON of its summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Announcement {
    /// The first and the last entry that go.
    pub(super) first: i64,
    pub(super) through: i64,
    pub(super) count: u64,
    /// The hash of the last one.
    pub(super) hash: String,
    /// When the first and the last one were written.
    pub(super) from: String,
    pub(super) to: String,
    /// Where they can still be read, and the SHA-256 of that file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) archive: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) archive_sha256: Option<String>,
}

impl Announcement {
    pub(super) fn entry(&self, at: Timestamp) -> AuditEntry {
        AuditEntry {
            caller: "gateway".to_owned(),
            tool: AUDIT.to_owned(),
            code: PRUNED.to_owned(),
            status: AuditStatus::Ok,
            summary: serde_json::to_string(self).unwrap_or_default(),
            ..AuditEntry::new(AuditKind::Event, at)
        }
        .bounded()
    }
}
