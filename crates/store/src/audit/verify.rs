//! Verifies that the audit is what was written.

use schemars::JsonSchema;
use serde::Serialize;

use super::Audit;
use super::chain::{COLUMNS, ChainHash, GENESIS, StoredEntry};
use super::checkpoint::Checkpoint;
use super::head::{Head, HeadFile, HeadKey, SELECT_HEAD};
use crate::error::StoreError;
use crate::hex;
use crate::sql::{Row, Statement, Tx};

/// Rows in memory at a time.
const BATCH: i64 = 1_000;
/// Problems listed; more are only counted.
const MAX_PROBLEMS: usize = 100;

/// Where verification starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyFrom {
    /// At the first entry; nothing is trusted.
    Genesis,
    /// At this entry; the hash of the one before it is trusted.
    Seq(i64),
}

/// A problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditProblem {
    /// The entry.
    pub seq: i64,
    /// What is wrong.
    pub what: String,
}

/// Result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AuditVerdict")]
pub struct ChainVerdict {
    /// Whether there are no problems.
    pub ok: bool,
    /// Number of checked entries.
    pub checked: u64,
    /// Number of entries that retention removed, as its sealed checkpoint proves.
    pub removed: u64,
    /// The problems, at most 100.
    pub problems: Vec<AuditProblem>,
    /// Number of further problems.
    pub more_problems: u64,
}

impl Audit {
    /// Reads the chain and compares it with itself, its signed head and the copy of
    /// that beside the database. Entries may be added meanwhile.
    pub async fn verify(&self, from: VerifyFrom) -> Result<ChainVerdict, StoreError> {
        let mut walk = ChainWalk::start(self, from).await?;
        loop {
            // One snapshot per page rather than for the whole chain: a long read transaction keeps the WAL from
            // being truncated.
            let mut moment = self.sql.moment().await?;
            let checkpoint = Checkpoint::read(&mut moment).await?;
            walk.pass(&self.key, checkpoint);
            let rows = walk.next_rows(&mut moment).await?;
            for row in &rows {
                if !walk.step(row) {
                    return Ok(walk.verdict());
                }
            }
            let last = (rows.len() as i64) < BATCH;
            if last {
                walk.end(self, &mut moment).await?;
            }
            moment.abandon().await;
            if last {
                return Ok(walk.verdict());
            }
        }
    }
}

struct ChainWalk {
    file: HeadFile,
    /// Number and hash of the last row.
    seq: i64,
    hash: Option<ChainHash>,
    /// The last row read. Begins below 0, so that rows with impossible numbers are found too.
    after: i64,
    /// The last entry that retention removed.
    removed: i64,
    /// The checkpoint whose announcing entry is still to come.
    announced: Option<Checkpoint>,
    /// A forged checkpoint is reported once.
    forged: bool,
    checked: u64,
    problems: Vec<AuditProblem>,
    more: u64,
}

impl ChainWalk {
    async fn start(audit: &Audit, from: VerifyFrom) -> Result<Self, StoreError> {
        // Before the rows: the file follows the database, so read in this order it can only be behind.
        let file = HeadFile::read(&audit.home, &audit.key)?;
        let mut walk = Self {
            file,
            seq: 0,
            hash: Some(GENESIS),
            after: i64::MIN,
            removed: 0,
            announced: None,
            forged: false,
            checked: 0,
            problems: Vec::new(),
            more: 0,
        };
        let mut moment = audit.sql.moment().await?;
        let checkpoint = Checkpoint::read(&mut moment).await?;
        moment.abandon().await;
        let genuine = checkpoint.filter(|checkpoint| checkpoint.is_genuine(&audit.key));
        let removed = genuine.map_or(0, |checkpoint| checkpoint.seq);
        if let VerifyFrom::Seq(first) = from
            && first > removed + 1
        {
            let before =
                Statement::new("SELECT hash FROM audit").then_with(" WHERE seq = ", first - 1);
            let believed = audit
                .sql
                .one(before)
                .await?
                .map(|row| row.text("hash"))
                .transpose()?;
            let missing = || StoreError::not_found(format!("audit entry {}", first - 1));
            walk.hash = hex::decode(&believed.ok_or_else(missing)?);
            (walk.seq, walk.after) = (first - 1, first - 1);
        }
        Ok(walk)
    }

    /// Skips what retention has removed. It may run while the chain is read, so each page reads the checkpoint again in its
    /// own snapshot.
    fn pass(&mut self, key: &HeadKey, checkpoint: Option<Checkpoint>) {
        let Some(checkpoint) = checkpoint else {
            return;
        };
        if !checkpoint.is_genuine(key) {
            if !std::mem::replace(&mut self.forged, true) {
                let what = "the checkpoint of removed entries was not signed by this vault";
                self.problem(checkpoint.seq, what);
            }
            return;
        }
        self.removed = checkpoint.seq;
        if checkpoint.seq > self.seq {
            (self.seq, self.hash) = (checkpoint.seq, hex::decode(&checkpoint.hash));
        }
        // If reading started after the announcing entry, that entry is not among the rows.
        self.announced = (checkpoint.entry > self.seq).then_some(checkpoint);
    }

    async fn next_rows(&self, moment: &mut Tx) -> Result<Vec<Row>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then_with(" WHERE seq > ", self.after)
            .then_with(" ORDER BY seq LIMIT ", BATCH);
        moment.all(select).await
    }

    fn problem(&mut self, seq: i64, what: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            let what = what.into();
            self.problems.push(AuditProblem { seq, what });
        } else {
            self.more += 1;
        }
    }

    /// Checks one row; false if the rest cannot be checked.
    fn step(&mut self, row: &Row) -> bool {
        self.checked += 1;
        let Ok(seq) = row.int("seq") else {
            self.problem(self.seq + 1, "an entry has no readable number");
            return false;
        };
        self.after = seq;
        if seq <= self.removed {
            self.problem(seq, "an entry was inserted before the first");
            return true;
        }
        if seq != self.seq + 1 {
            let (first, last) = (self.seq + 1, seq - 1);
            self.problem(first, format!("entries {first} to {last} are missing"));
            // The entry that it is linked to is missing, so its own hash has to be trusted.
            self.hash = None;
        }
        self.seq = seq;
        let Ok((stored, claimed)) = StoredEntry::from_row(row) else {
            self.problem(seq, "the entry is unreadable");
            self.hash = None;
            return true;
        };
        if let Some(previous) = self.hash
            && hex::encode(&stored.link(&previous)) != claimed
        {
            self.problem(seq, "the entry is not the one that was written here");
        }
        if let HeadFile::Head(file) = &self.file
            && file.seq == seq
            && file.hash != claimed
        {
            self.problem(seq, "the entry is not the one audit.head names");
        }
        if self.announced.as_ref().is_some_and(|one| one.entry == seq)
            && let Some(checkpoint) = self.announced.take()
            && !checkpoint.is_announced_by(&stored)
        {
            let what = "the entry does not announce the removal that the checkpoint names it for";
            self.problem(seq, what);
        }
        if let Some(damage) = stored.damage() {
            self.problem(seq, format!("damage was found before this entry: {damage}"));
        }
        self.hash = hex::decode(&claimed);
        true
    }

    /// Compares the last row with the head of the same moment and with the file.
    async fn end(&mut self, audit: &Audit, moment: &mut Tx) -> Result<(), StoreError> {
        let last = self.seq;
        if let Some(checkpoint) = self.announced.take() {
            let what = "the entry that announced the removal of older ones is missing";
            self.problem(checkpoint.entry, what);
        }
        let row = moment.one(Statement::new(SELECT_HEAD)).await?;
        match row.as_ref().map(Head::from_row) {
            None if last == 0 => {}
            None => self.problem(last, "the head is missing"),
            Some(Err(_)) => self.problem(last, "the head is unreadable"),
            Some(Ok(head)) if !head.is_genuine(&audit.key) => {
                self.problem(head.seq, "the head was not signed by this vault");
            }
            Some(Ok(head)) if head.seq > last => {
                let what = format!("entries {} to {} were cut off the end", last + 1, head.seq);
                self.problem(head.seq, what);
            }
            Some(Ok(head)) if head.seq < last => {
                self.problem(
                    head.seq,
                    format!("the head is older than the last entry, {last}"),
                );
            }
            Some(Ok(head)) if Some(head.hash.clone()) != self.hash.map(|h| hex::encode(&h)) => {
                self.problem(last, "the last entry is not the one the head names");
            }
            Some(Ok(_)) => {}
        }
        match &self.file {
            HeadFile::Head(file) if file.seq > last => {
                let what = format!("entries {} to {} were cut off the end", last + 1, file.seq);
                self.problem(file.seq, format!("{what}: audit.head names them"));
            }
            HeadFile::Head(_) => {}
            HeadFile::Missing if last == 0 => {}
            HeadFile::Missing => self.problem(last, "audit.head is missing"),
            HeadFile::Damaged => self.problem(last, "audit.head was not signed by this vault"),
        }
        Ok(())
    }

    fn verdict(self) -> ChainVerdict {
        ChainVerdict {
            ok: self.problems.is_empty(),
            checked: self.checked,
            removed: u64::try_from(self.removed).unwrap_or(0),
            problems: self.problems,
            more_problems: self.more,
        }
    }
}
