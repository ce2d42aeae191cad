//! The end of the chain: how far it goes and its last hash, signed with a key of the
//! vault, in the database and in a file beside it.
//!
//! The row moves with every commit. The file follows within a second, so it is never
//! ahead of an honest database: if it is, entries were taken away.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use hmac::Mac as _;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::chain::{COLUMNS, ChainHash, GENESIS, StoredEntry};
use super::checkpoint::Checkpoint;
use crate::error::StoreError;
use crate::hex;
use crate::home::{AUDIT_HEAD, replace_file};
use crate::sql::{Row, Statement, Tx};
use crate::vault::keyed;

/// Maximum size of the file; a head has about 150 bytes.
const MAX_FILE: u64 = 4096;

/// The key that signs heads.
#[derive(Clone)]
pub(super) struct HeadKey(pub(super) Zeroizing<[u8; 32]>);

/// A head as it is stored, believed only once its signature was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) seq: i64,
    pub(super) hash: String,
    mac: String,
}

impl Head {
    pub(super) fn sign(key: &HeadKey, seq: i64, hash: &ChainHash) -> Self {
        let hash = hex::encode(hash);
        let mac = hex::encode(&mac(key, seq, &hash).finalize().into_bytes());
        Self { seq, hash, mac }
    }

    /// Whether this vault signed it.
    pub(super) fn is_genuine(&self, key: &HeadKey) -> bool {
        let claimed = hex::decode::<32>(&self.mac);
        claimed.is_some_and(|claimed| {
            mac(key, self.seq, &self.hash)
                .verify_slice(&claimed)
                .is_ok()
        })
    }

    pub(super) fn from_row(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            seq: row.int("seq")?,
            hash: row.text("hash")?,
            mac: row.text("mac")?,
        })
    }

    /// Moves the head, and counts `grown` bytes of entries more.
    pub(super) fn upsert(&self, grown: i64) -> Statement {
        Statement::new(
            "INSERT INTO audit_head (id, seq, hash, mac, bytes) VALUES (1, $1, $2, $3, $4)
             ON CONFLICT (id) DO UPDATE
             SET seq = excluded.seq, hash = excluded.hash, mac = excluded.mac,
                 bytes = audit_head.bytes + excluded.bytes",
        )
        .bind(self.seq)
        .bind(self.hash.as_str())
        .bind(self.mac.as_str())
        .bind(grown)
    }

    /// Puts the copy beside the database. Blocks.
    pub(super) fn write_file(&self, home: &Path) -> io::Result<()> {
        replace_file(&home.join(AUDIT_HEAD), &serde_json::to_vec(self)?)
    }
}

fn mac(key: &HeadKey, seq: i64, hash: &str) -> hmac::Hmac<sha2::Sha256> {
    let mut mac = keyed(&key.0);
    mac.update(b"manyhands audit head v1\0");
    // A fixed length before the text, so that no other pair has the same bytes.
    mac.update(&seq.to_le_bytes());
    mac.update(hash.as_bytes());
    mac
}

pub(super) const SELECT_HEAD: &str = "SELECT seq, hash, mac FROM audit_head WHERE id = 1";

/// The file beside the database.
pub(super) enum HeadFile {
    Missing,
    Damaged,
    Head(Head),
}

impl HeadFile {
    /// Reads the file and checks its signature.
    pub(super) fn read(home: &Path, key: &HeadKey) -> Result<Self, StoreError> {
        let path = home.join(AUDIT_HEAD);
        let read = || {
            let mut bytes = Vec::new();
            // Bounded, because somebody may have put anything in the place of the file.
            File::open(&path)?.take(MAX_FILE).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        match read() {
            Ok(bytes) => Ok(match serde_json::from_slice::<Head>(&bytes) {
                Ok(head) if head.is_genuine(key) => Self::Head(head),
                _ => Self::Damaged,
            }),
            Err::<Vec<u8>, io::Error>(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self::Missing)
            }
            Err(error) => Err(StoreError::io(
                format!("reading {}", path.display()),
                &error,
            )),
        }
    }
}

/// The end of the chain, and what is wrong with it.
pub(super) struct Tail {
    pub(super) seq: i64,
    pub(super) hash: ChainHash,
    pub(super) damage: Option<String>,
}

impl Tail {
    /// Reads the last entry and the head, which must agree.
    pub(super) async fn read(tx: &mut Tx, key: &HeadKey) -> Result<Self, StoreError> {
        let last = tx.one(Statement::new(
            "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1",
        ));
        let (seq, stored) = match last.await? {
            Some(row) => (row.int("seq")?, row.text("hash")?),
            None => (0, hex::encode(&GENESIS)),
        };
        let head = tx.one(Statement::new(SELECT_HEAD)).await?;
        let head = head.as_ref().map(Head::from_row).transpose()?;
        let readable = hex::decode(&stored);
        let damage = match &head {
            _ if readable.is_none() => Some(format!("the hash of entry {seq} is unreadable")),
            // A new home has neither entries nor a head.
            None if seq == 0 => None,
            None => Some("the head of the audit was missing".to_owned()),
            Some(head) if !head.is_genuine(key) => {
                Some("the head of the audit was not signed by this vault".to_owned())
            }
            Some(head) if head.seq == seq && head.hash == stored => None,
            Some(head) => Some(format!(
                "the head of the audit was at entry {} and the last entry was {seq}",
                head.seq
            )),
        };
        Ok(Self {
            seq,
            hash: readable.unwrap_or(GENESIS),
            damage,
        })
    }

    /// Compares the end with the file beside the database, read before it.
    pub(super) async fn compare_with(
        &self,
        tx: &mut Tx,
        key: &HeadKey,
        file: &HeadFile,
    ) -> Result<Option<String>, StoreError> {
        let file = match file {
            HeadFile::Head(file) => file,
            // Nothing was written yet, so there is nothing that a missing file could hide.
            HeadFile::Missing if self.seq == 0 => return Ok(None),
            HeadFile::Missing => return Ok(Some("audit.head was missing".to_owned())),
            HeadFile::Damaged => {
                return Ok(Some("audit.head was not signed by this vault".to_owned()));
            }
        };
        // The file is written after the commit it names, so it may be behind but never ahead.
        if file.seq > self.seq {
            return Ok(Some(format!(
                "entries were removed: audit.head was at {} and the last entry was {}",
                file.seq, self.seq
            )));
        }
        if file.seq == 0 {
            return Ok(None);
        }
        let removed = Checkpoint::read(tx).await?;
        if removed.is_some_and(|removed| removed.is_genuine(key) && file.seq <= removed.seq) {
            return Ok(None); // the file was behind, as after a crash, and retention went past it
        }
        let row = tx.one(Statement::new(COLUMNS).then_with(" WHERE seq = ", file.seq));
        let stored = row.await?.and_then(|row| StoredEntry::from_row(&row).ok());
        Ok(match stored {
            Some((_, hash)) if hash == file.hash => None,
            _ => Some(format!(
                "entry {} was not the one audit.head names",
                file.seq
            )),
        })
    }
}
