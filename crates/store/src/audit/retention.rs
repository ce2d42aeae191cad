//! Retention: the oldest entries go when they are too old or too many.
//!
//! What goes is a prefix of the chain. It is read and verified first: a broken prefix stays, since
//! removing it would seal the damage. Then it is archived, if the owner wants that, and removed by the
//! writer in one transaction with its checkpoint.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use manyhands_core::Timestamp;
use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use super::Audit;
use super::chain::{COLUMNS, ChainHash, GENESIS, StoredEntry};
use super::checkpoint::{Announcement, Checkpoint};
use super::writer::WriterMessage;
use crate::blobs::Blobs;
use crate::error::StoreError;
use crate::hex;
use crate::sql::{Statement, Tx};

/// Entries that stay whatever the limits are: what happened last is what is looked at.
const LATEST: i64 = 1_000;
/// Entries removed in one transaction: the writer is busy for a few hundredths of a second.
const BATCH: usize = 5_000;
/// Rows in memory at a time.
const PAGE: i64 = 1_000;
/// Where archives go.
const FOLDER: &str = "audit";

/// How much of the audit is kept.
#[derive(Debug, Clone, Default)]
pub struct Retention {
    /// Entries from before this instant go.
    pub before: Option<Timestamp>,
    /// The most that entries may take, in bytes.
    pub max_bytes: Option<u64>,
    /// Where entries are archived before they go.
    pub archive: Option<Blobs>,
}

/// A prefix of the chain that is to be removed.
pub(super) struct Prune {
    /// The last entry that is gone already.
    pub(super) base: i64,
    pub(super) hash: ChainHash,
    pub(super) bytes: i64,
    pub(super) announcement: Announcement,
}

impl Audit {
    /// Removes the oldest entries that `retention` does not keep, a batch at most; how many.
    pub async fn prune(&self, retention: &Retention) -> Result<u64, StoreError> {
        let Some((mut prune, lines)) = self.plan(retention).await? else {
            return Ok(0);
        };
        if let Some(blobs) = &retention.archive {
            let packed = pack(lines).await?;
            let announcement = &mut prune.announcement;
            let place = format!(
                "{FOLDER}/{}-{}.jsonl.gz",
                announcement.first, announcement.through
            );
            announcement.archive_sha256 = Some(hex::encode(&Sha256::digest(&packed)));
            // The archive is on disk before the entries are removed, so a crash can only leave both.
            // The next run writes the same file again under the same name.
            blobs
                .put(&Path::from(place.as_str()), packed.into())
                .await?;
            announcement.archive = Some(place);
        }
        let count = prune.announcement.count;
        let (done, outcome) = oneshot::channel();
        let message = WriterMessage::Prune {
            prune: Box::new(prune),
            done,
        };
        let sent = self.queue.send(message).await;
        sent.map_err(|_| StoreError::Closed)?;
        self.state.urgent.notify_one();
        outcome.await.map_err(|_| StoreError::Closed)??;
        Ok(count)
    }

    /// The entries that go next, verified, and their lines for the archive.
    async fn plan(&self, retention: &Retention) -> Result<Option<(Prune, Vec<u8>)>, StoreError> {
        // Planned on a snapshot without the write lock, because verifying thousands of entries takes a
        // while; the writer checks that nothing moved before it removes them.
        let mut moment = self.sql.moment().await?;
        let planned = self.plan_at(&mut moment, retention).await;
        moment.abandon().await;
        planned
    }

    async fn plan_at(
        &self,
        moment: &mut Tx,
        retention: &Retention,
    ) -> Result<Option<(Prune, Vec<u8>)>, StoreError> {
        let bounds = Statement::new(
            "SELECT COALESCE(MAX(seq), 0) AS last,
                    (SELECT COALESCE(MIN(seq), 0) FROM audit_open) AS open FROM audit",
        );
        let Some(bounds) = moment.one(bounds).await? else {
            return Ok(None);
        };
        let mut end = bounds.int("last")? - LATEST;
        if let open @ 1.. = bounds.int("open")? {
            // A running call is closed by its own later entry; its start must still be there then.
            end = end.min(open - 1);
        }
        let mut excess = match retention.max_bytes {
            Some(most) => excess(moment, most).await?,
            None => 0,
        };
        let base = Checkpoint::read(moment).await?;
        // Removing from a forged start would make the forgery permanent.
        if let Some(base) = &base
            && !base.is_genuine(&self.key)
        {
            return Err(damaged(base.seq));
        }
        let mut plan = PrunePlan::after(base.as_ref())?;
        'pages: while plan.last < end && plan.count < BATCH {
            let select = Statement::new(COLUMNS)
                .then_with(" WHERE seq > ", plan.last)
                .then_with(" AND seq <= ", end)
                .then_with(" ORDER BY seq LIMIT ", PAGE);
            let rows = moment.all(select).await?;
            let whole = rows.len() as i64 == PAGE;
            for row in &rows {
                let (entry, hash) = StoredEntry::from_row(row)?;
                let old = retention.before.is_some_and(|before| entry.at() < before);
                // Entries are in the order of their numbers, so the first one that is neither too old nor too much
                // ends the prefix.
                if !(old || excess > 0) || plan.count >= BATCH {
                    break 'pages;
                }
                excess -= entry.cost();
                plan.add(entry, hash)?;
            }
            if !whole {
                break;
            }
        }
        Ok(plan.finish())
    }
}

/// How many bytes of entries are too many. When there are any, they are counted anew: the stored
/// number is not sealed, and must not make anybody remove what fits. Removes a tenth more than needed,
/// so that a full audit is not pruned again at every look.
async fn excess(moment: &mut Tx, most: u64) -> Result<i64, StoreError> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let stored = Statement::new("SELECT bytes FROM audit_head WHERE id = 1");
    let stored = moment.one(stored).await?;
    // The running total is cheap but can drift; the exact sum reads the whole table, so it is taken
    // only when the total says that there is something to do.
    if stored.map_or(Ok(0), |row| row.int("bytes"))? <= most {
        return Ok(0);
    }
    let sum = Statement::new(
        "SELECT COALESCE(SUM(LENGTH(caller) + LENGTH(agent) + LENGTH(tool)
                + LENGTH(arguments_digest) + LENGTH(summary) + LENGTH(code) + 400), 0) AS bytes
         FROM audit",
    );
    let counted = moment.one(sum).await?;
    let counted = counted.map_or(Ok(0), |row| row.int("bytes"))?;
    // Down to nine tenths: otherwise every few entries would start another run.
    Ok(match counted > most {
        true => counted - most / 10 * 9,
        false => 0,
    })
}

/// A prefix while it is read.
struct PrunePlan {
    base: i64,
    first: i64,
    last: i64,
    hash: ChainHash,
    count: usize,
    bytes: i64,
    from: Option<Timestamp>,
    to: Timestamp,
    lines: Vec<u8>,
}

impl PrunePlan {
    fn after(base: Option<&Checkpoint>) -> Result<Self, StoreError> {
        let seq = base.map_or(0, |base| base.seq);
        let hash = base.map_or(Some(GENESIS), |base| hex::decode(&base.hash));
        Ok(Self {
            base: seq,
            first: seq + 1,
            last: seq,
            hash: hash.ok_or_else(|| damaged(seq))?,
            count: 0,
            bytes: 0,
            from: None,
            to: Timestamp(0),
            lines: Vec::new(),
        })
    }

    fn add(&mut self, entry: StoredEntry, claimed: String) -> Result<(), StoreError> {
        // Each entry is verified before it is removed: afterwards nothing could prove what it was.
        let hash = entry.link(&self.hash);
        if entry.seq != self.last + 1 || hex::encode(&hash) != claimed {
            return Err(damaged(self.last + 1));
        }
        (self.last, self.hash) = (entry.seq, hash);
        self.count += 1;
        self.bytes += entry.cost();
        self.to = entry.at();
        self.from.get_or_insert(entry.at());
        let record = entry.record(claimed)?;
        serde_json::to_writer(&mut self.lines, &record)
            .map_err(|error| StoreError::corrupt(error.to_string()))?;
        self.lines.push(b'\n');
        Ok(())
    }

    fn finish(self) -> Option<(Prune, Vec<u8>)> {
        let from = self.from?;
        let announcement = Announcement {
            first: self.first,
            through: self.last,
            count: self.count as u64,
            hash: hex::encode(&self.hash),
            from: from.rfc3339(),
            to: self.to.rfc3339(),
            archive: None,
            archive_sha256: None,
        };
        let prune = Prune {
            base: self.base,
            hash: self.hash,
            bytes: self.bytes,
            announcement,
        };
        Some((prune, self.lines))
    }
}

fn damaged(seq: i64) -> StoreError {
    StoreError::corrupt(format!(
        "the audit is damaged at entry {seq}, so nothing of it is removed: run `manyhands audit verify`"
    ))
}

async fn pack(lines: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    // Compressing a batch of thousands of entries would hold up a runtime worker.
    let packing = tokio::task::spawn_blocking(move || {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(&lines)?;
        packed.finish()
    });
    packing
        .await
        .map_err(|_| StoreError::Closed)?
        .map_err(|error| StoreError::io("compressing old audit entries", &error))
}
