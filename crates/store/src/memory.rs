//! Full-text index of messages and of paragraphs of memory files.
//!
//! Nothing here is the only copy. Pieces come from conversations, archives and files, with a mark of how far each was
//! indexed; if a mark is missing or behind, the rest is indexed again.

mod messages;

pub use messages::{MessageHit, MessageScope};

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use manyhands_core::{AgentId, Timestamp};
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use crate::error::StoreError;
use crate::hex;
use crate::sql::{Row, Sql, Statement, Tx, text_search};

/// Maximum listed changes; beyond that everything is checked.
const MAX_UNREAD: usize = 4_096;
/// Maximum pieces of conversations per agent; the oldest are removed.
const MAX_PIECES: i64 = 200_000;
/// Pieces removed per statement, so that the writer is not held for long.
const REMOVED_AT_ONCE: i64 = 1_000;

/// Source of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceSource {
    /// A conversation.
    Session,
    /// A file of a workspace.
    File,
}

impl PieceSource {
    fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::File => "file",
        }
    }
}

/// An indexed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its agent.
    pub agent: AgentId,
    /// Its source.
    pub source: PieceSource,
    /// The key of the session, or the path of the file.
    pub location: String,
    /// The id of the session at that time.
    pub session_id: Option<String>,
    /// The turn of the message.
    pub turn: Option<String>,
    /// The number of the message, or of the line.
    pub seq: i64,
    /// The role of its author.
    pub role: String,
    /// The text.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

impl Piece {
    /// Identifies a piece: the same text of the same turn is one piece, in the session and in its archive.
    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let seq = self.seq.to_string();
        let once = match (&self.turn, &self.session_id) {
            (Some(turn), _) => turn.as_str(),
            (None, Some(session)) => session.as_str(),
            (None, None) => seq.as_str(),
        };
        for part in [once, &self.role, &self.text] {
            // The length first, so that two different pieces never have the same bytes.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hex::encode(&hash.finalize())
    }
}

/// A search result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryHit {
    /// The piece.
    pub piece: Piece,
    /// Whether it is still in the model's context.
    pub shown: bool,
}

/// What is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryScope {
    /// Everything.
    All,
    /// One agent's conversations, and the files of the workspace it works in.
    Agent {
        /// The agent.
        agent: AgentId,
        /// The owner of that workspace.
        tree: AgentId,
    },
    /// The conversations of one agent whose keys start with a prefix.
    Sessions {
        /// The agent.
        agent: AgentId,
        /// The prefix, up to a colon.
        prefix: String,
    },
}

/// How far something is indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexMark {
    /// The id of a session, or the key of a blob.
    pub what: String,
    /// For a session: the number of the next entry.
    pub next_seq: i64,
    /// For a blob: its version.
    pub version: String,
}

impl IndexMark {
    /// A session is indexed up to, but not including, the entry `next_seq`.
    pub fn session(id: &str, next_seq: i64) -> Self {
        Self {
            what: id.to_owned(),
            next_seq,
            version: String::new(),
        }
    }

    /// This version of a blob is indexed.
    pub fn blob(key: &str, version: &str) -> Self {
        Self {
            what: key.to_owned(),
            next_seq: 0,
            version: version.to_owned(),
        }
    }
}

/// A session with entries that are not indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnindexedSession {
    /// Its key.
    pub key: String,
    /// Its id.
    pub id: String,
    /// Its agent.
    pub agent: AgentId,
    /// The first entry that is not indexed.
    pub from: i64,
    /// The entry that comes next.
    pub next_seq: i64,
}

/// Changes that are not indexed yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PendingIndex {
    /// Keys of sessions.
    pub sessions: BTreeSet<String>,
    /// Keys of archives.
    pub archives: BTreeSet<String>,
    /// Too many changes to be listed.
    pub all: bool,
}

impl PendingIndex {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        !self.all && self.sessions.is_empty() && self.archives.is_empty()
    }
}

/// Collects changes, so that the indexer does not have to search for them.
#[derive(Debug, Default)]
pub(crate) struct IndexBacklog {
    pending: Mutex<PendingIndex>,
    notify: Notify,
    reading: tokio::sync::Mutex<()>,
    whole: AtomicBool,
}

impl IndexBacklog {
    fn pending(&self) -> MutexGuard<'_, PendingIndex> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, set: impl FnOnce(&mut PendingIndex) -> &mut BTreeSet<String>, what: &str) {
        let mut pending = self.pending();
        let all = pending.sessions.len() + pending.archives.len() >= MAX_UNREAD;
        if all {
            // A bounded list: an import of thousands of files becomes one flag, and the indexer compares all marks
            // instead.
            *pending = PendingIndex {
                all: true,
                ..PendingIndex::default()
            };
        } else if !pending.all {
            set(&mut pending).insert(what.to_owned());
        }
        drop(pending);
        self.notify.notify_one();
    }

    pub(crate) fn session(&self, key: &str) {
        self.note(|pending| &mut pending.sessions, key);
    }
}

/// The index. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Memory {
    sql: Sql,
    news: Arc<IndexBacklog>,
}

impl Memory {
    pub(crate) fn new(sql: Sql, news: Arc<IndexBacklog>) -> Self {
        Self { sql, news }
    }

    /// Adds an archive to be indexed.
    pub fn add_archive(&self, key: &str) {
        self.news.note(|pending| &mut pending.archives, key);
    }

    /// Takes all changes since the last time.
    pub fn take_pending(&self) -> PendingIndex {
        std::mem::take(&mut *self.news.pending())
    }

    /// Puts back changes that could not be indexed.
    pub fn put_back(&self, left: PendingIndex) {
        let mut pending = self.news.pending();
        pending.all |= left.all;
        pending.sessions.extend(left.sessions);
        pending.archives.extend(left.archives);
    }

    /// A lock held while indexing; a search takes it to wait for earlier messages.
    pub async fn lock_indexing(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.news.reading.lock().await
    }

    /// Whether everything from before the start is indexed.
    pub fn is_complete(&self) -> bool {
        self.news.whole.load(Ordering::Acquire)
    }

    /// Marks everything from before the start as indexed.
    pub fn mark_complete(&self) {
        self.news.whole.store(true, Ordering::Release);
    }

    /// Waits for a change.
    pub async fn changed(&self) {
        self.news.notify.notified().await;
    }

    /// Sessions with entries that are not indexed: all, or only the one with this key.
    pub async fn unindexed_sessions(
        &self,
        key: Option<&str>,
        limit: u32,
    ) -> Result<Vec<UnindexedSession>, StoreError> {
        let mut select = Statement::new(
            "SELECT s.key AS key, s.id AS id, s.agent AS agent, s.next_seq AS next_seq,
                 COALESCE(m.next_seq, 0) AS done
             FROM session s LEFT JOIN memory_mark m ON m.what = s.id
             WHERE s.next_seq > COALESCE(m.next_seq, 0)",
        );
        if let Some(key) = key {
            select = select.then_with(" AND s.key = ", key);
        }
        let select = select.then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        let behind = |row: &Row| {
            Ok(UnindexedSession {
                key: row.text("key")?,
                id: row.text("id")?,
                agent: row.parsed("agent")?,
                from: row.int("done")?,
                next_seq: row.int("next_seq")?,
            })
        };
        rows.iter().map(behind).collect()
    }

    /// The indexed version of a blob.
    pub async fn indexed_version(&self, key: &str) -> Result<Option<String>, StoreError> {
        let select =
            Statement::new("SELECT version FROM memory_mark").then_with(" WHERE what = ", key);
        let row = self.sql.one(select).await?;
        row.map(|row| row.text("version")).transpose()
    }

    /// Indexed blobs whose keys start with `prefix`, with their versions.
    pub async fn indexed_below(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        // A range instead of LIKE, in which `_` and `%` of a key would be wildcards.
        let end = format!("{prefix}\u{10ffff}");
        let select = Statement::new("SELECT what, version FROM memory_mark")
            .then_with(" WHERE what >= ", prefix)
            .then_with(" AND what < ", end)
            .then(" ORDER BY what");
        let rows = self.sql.all(select).await?;
        let pair = |row: &Row| Ok((row.text("what")?, row.text("version")?));
        rows.iter().map(pair).collect()
    }

    /// Adds pieces of a conversation. Known ones stay, with the higher of both numbers.
    pub async fn add(&self, mark: &IndexMark, pieces: &[Piece]) -> Result<(), StoreError> {
        let mut tx = self.sql.begin().await?;
        for piece in pieces {
            put(&mut tx, piece).await?;
        }
        tx.run(upsert_mark(mark)).await?;
        tx.commit().await
    }

    /// Replaces the pieces of a file; none if it was deleted.
    pub async fn replace(
        &self,
        agent: &AgentId,
        place: &str,
        mark: Option<&IndexMark>,
        key: &str,
        pieces: &[Piece],
    ) -> Result<(), StoreError> {
        let mut tx = self.sql.begin().await?;
        let old = Statement::new("DELETE FROM memory_piece")
            .then_with(" WHERE agent = ", agent.as_str())
            .then_with(" AND place = ", place)
            .then(" AND source = 'file'");
        tx.run(old).await?;
        for piece in pieces {
            put(&mut tx, piece).await?;
        }
        match mark {
            Some(mark) => tx.run(upsert_mark(mark)).await?,
            None => {
                let gone =
                    Statement::new("DELETE FROM memory_mark").then_with(" WHERE what = ", key);
                tx.run(gone).await?
            }
        };
        tx.commit().await
    }

    /// Removes the oldest pieces of agents that have too many; returns how many.
    pub async fn sweep(&self) -> Result<u64, StoreError> {
        self.sweep_above(MAX_PIECES).await
    }

    async fn sweep_above(&self, most: i64) -> Result<u64, StoreError> {
        // Per agent, so that a busy one does not push out the memory of others.
        let agents = Statement::new("SELECT DISTINCT agent FROM memory_piece");
        let mut removed = 0;
        for row in self.sql.all(agents).await? {
            let old = Statement::new(
                "DELETE FROM memory_piece WHERE id IN (SELECT id FROM memory_piece
                 WHERE agent = $1 AND source = 'session' ORDER BY at DESC, id DESC
                 LIMIT $2 OFFSET $3)",
            )
            .bind(row.text("agent")?)
            .bind(REMOVED_AT_ONCE)
            .bind(most);
            removed += self.sql.run(old).await?;
        }
        Ok(removed)
    }

    /// The best matches: pieces with all words of the question, otherwise with any. A question without words finds nothing.
    pub async fn search(
        &self,
        question: &str,
        scope: &MemoryScope,
        limit: u32,
    ) -> Result<Vec<MemoryHit>, StoreError> {
        let asked = text_search::words(question);
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        // Two queries rather than one with OR: a piece with all words must not lose its place to pieces that repeat
        // one of them.
        for wanted in [text_search::MatchWords::All, text_search::MatchWords::Any] {
            let owners = scope.owners();
            let text = text_search::query(&asked, &owners, wanted);
            let rows = self.sql.all(select(text, scope, limit)).await?;
            if !rows.is_empty() {
                return rows.iter().map(read_hit).collect();
            }
        }
        Ok(Vec::new())
    }
}

impl MemoryScope {
    /// The agents whose pieces are searched; all if empty.
    fn owners(&self) -> Vec<String> {
        match self {
            Self::All => Vec::new(),
            Self::Agent { agent, tree } if agent == tree => vec![agent.to_string()],
            Self::Agent { agent, tree } => vec![agent.to_string(), tree.to_string()],
            Self::Sessions { agent, .. } => vec![agent.to_string()],
        }
    }
}

fn select(text: String, scope: &MemoryScope, limit: u32) -> Statement {
    let select = Statement::new(
        "SELECT p.agent AS agent, p.source AS source, p.place AS place,
             p.session_id AS session_id, p.seq AS seq, p.role AS role, p.body AS body, p.at AS at,
             CASE WHEN s.id = p.session_id AND p.seq >= s.floor AND EXISTS (
                 SELECT 1 FROM session_entry e WHERE e.session_id = s.id AND e.seq = p.seq
             ) THEN 1 ELSE 0 END AS shown
         FROM memory_words JOIN memory_piece p ON p.id = memory_words.rowid
             LEFT JOIN session s ON s.key = p.place",
    )
    .then_with(" WHERE memory_words MATCH ", text);
    let select = match scope {
        MemoryScope::All => select,
        MemoryScope::Agent { agent, tree } => select
            .then_with(" AND ((p.source = 'session' AND p.agent = ", agent.as_str())
            .then_with(") OR (p.source = 'file' AND p.agent = ", tree.as_str())
            .then("))"),
        MemoryScope::Sessions { agent, prefix } => select
            .then_with(" AND p.source = 'session' AND p.agent = ", agent.as_str())
            .then_with(" AND p.place >= ", prefix.as_str())
            .then_with(" AND p.place < ", format!("{prefix}\u{10ffff}")),
    };
    select
        .then(" ORDER BY bm25(memory_words, 0.0, 1.0), p.at DESC, p.id")
        .then_with(" LIMIT ", i64::from(limit))
}

fn read_hit(row: &Row) -> Result<MemoryHit, StoreError> {
    Ok(MemoryHit {
        piece: Piece {
            agent: row.parsed("agent")?,
            source: match row.text("source")?.as_str() {
                "file" => PieceSource::File,
                _ => PieceSource::Session,
            },
            location: row.text("place")?,
            session_id: row.text_or_null("session_id")?,
            turn: None,
            seq: row.int("seq")?,
            role: row.text("role")?,
            text: row.text("body")?,
            at: Timestamp(row.int("at")?),
        },
        shown: row.int("shown")? == 1,
    })
}

fn upsert_mark(mark: &IndexMark) -> Statement {
    Statement::new(
        "INSERT INTO memory_mark (what, next_seq, version) VALUES ($1, $2, $3)
         ON CONFLICT (what) DO UPDATE SET next_seq = excluded.next_seq, version = excluded.version",
    )
    .bind(mark.what.as_str())
    .bind(mark.next_seq)
    .bind(mark.version.as_str())
}

async fn put(tx: &mut Tx, piece: &Piece) -> Result<(), StoreError> {
    let digest = piece.digest();
    // An archive repeats what the session had: the unique digest keeps one piece of both.
    let there = Statement::new("SELECT id, seq FROM memory_piece")
        .then_with(" WHERE agent = ", piece.agent.as_str())
        .then_with(" AND place = ", piece.location.as_str())
        .then_with(" AND digest = ", digest.as_str());
    if let Some(row) = tx.one(there).await? {
        if row.int("seq")? < piece.seq {
            let later = Statement::new("UPDATE memory_piece SET seq = $2 WHERE id = $1")
                .bind(row.int("id")?)
                .bind(piece.seq);
            tx.run(later).await?;
        }
        return Ok(());
    }
    let insert = Statement::new(
        "INSERT INTO memory_piece (agent, source, place, session_id, seq, role, digest, body, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
    )
    .bind(piece.agent.as_str())
    .bind(piece.source.as_str())
    .bind(piece.location.as_str())
    .bind(piece.session_id.clone())
    .bind(piece.seq)
    .bind(piece.role.as_str())
    .bind(digest)
    .bind(piece.text.as_str())
    .bind(piece.at);
    let id = tx.one(insert).await?.map(|row| row.int("id"));
    let id = id.ok_or_else(|| StoreError::corrupt("a piece of memory was not kept"))??;
    let words = Statement::new("INSERT INTO memory_words (rowid, who, words) VALUES ($1, $2, $3)")
        .bind(id)
        .bind(text_search::owner(piece.agent.as_str()))
        .bind(text_search::spread(&piece.text));
    tx.run(words).await.map(drop)
}

#[cfg(test)]
mod tests;
