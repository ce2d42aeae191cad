//! Memory: full-text search over all conversations.
//!
//! Every message is added to the store's index shortly after it is stored, and at the latest before the next search. What
//! the index lacks after a start is read from the conversations and their archives.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use futures_util::TryStreamExt as _;
use manyhands_core::{AgentId, Timestamp, ToolError};
use manyhands_llm::Message;
use manyhands_store::object_store::{ObjectStoreExt as _, path::Path};
use manyhands_store::{
    IndexMark, Memory, MemoryHit as StoredHit, MemoryScope, PendingIndex, Piece, PieceSource,
    StoreError, UnindexedSession,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fence;
use crate::key::{SessionKey, is_passing};
use crate::runtime::{Minds, MindsInner};
use crate::transcript::as_text;

/// The search tool. Its results are not indexed: they quote messages that already are.
pub const TOOL: &str = "memory_search";
/// Longest query, in characters.
pub const MAX_QUESTION: usize = 1_000;
/// Entries read at a time.
const PAGE: u32 = 200;
/// Sessions indexed at a time.
const SESSIONS: u32 = 50;
/// Bytes of a message that are indexed.
const MAX_MESSAGE: usize = 32 * 1024;
/// Bytes of tool results that are indexed.
const MAX_RESULTS: usize = 4 * 1024;
/// Bytes of an unpacked archive that are read; bounds memory against a crafted file.
const MAX_ARCHIVE: u64 = 64 * 1024 * 1024;
/// Characters of a snippet, and how many of them before the first match.
const SNIPPET: (usize, usize) = (400, 100);
/// The stored version of an archive that was indexed completely.
const READ: &str = "1";
/// The folder of archives.
const ARCHIVES: &str = "archives";
/// Prefix of summaries, which only repeat indexed messages.
const SUMMARY: &str = "[Summary of the conversation so far]";

/// A search result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Remembered")]
pub struct MemoryHit {
    /// `session` if the model still sees it, `archive` if not, or `file`.
    pub source: &'static str,
    /// The agent.
    #[schemars(with = "String")]
    pub agent: AgentId,
    /// The session's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// The file's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Number of the message, or line in the file.
    pub place: i64,
    /// `user`, `assistant` or `tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Time, as RFC 3339.
    pub at: String,
    /// The text around the match.
    pub snippet: String,
}

/// Results of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryResults {
    /// Best match first.
    pub found: Vec<MemoryHit>,
    /// Whether the index was complete; after a start that may take a while.
    pub complete: bool,
}

/// A line of an archive.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArchiveLine {
    session: String,
    session_id: String,
    seq: i64,
    turn: Option<String>,
    message: Message,
}

impl Minds {
    /// Searches all messages stored so far.
    pub async fn search(
        &self,
        question: &str,
        scope: &MemoryScope,
        limit: u32,
    ) -> Result<MemoryResults, ToolError> {
        if question.chars().count() > MAX_QUESTION {
            let message = format!("must have at most {MAX_QUESTION} characters");
            return Err(ToolError::parameter("query", message));
        }
        if !question.chars().any(char::is_alphanumeric) {
            let message = "must contain a word to search for";
            return Err(ToolError::parameter("query", message));
        }
        // Index first: a model that searches for what was just said must find it.
        self.remember().await?;
        let memory = self.inner.sessions.memory();
        let found = memory.search(question, scope, limit).await?;
        Ok(MemoryResults {
            found: found.into_iter().map(|one| shown(one, question)).collect(),
            complete: memory.is_complete(),
        })
    }

    /// Indexes what was stored and archived since the last time.
    pub async fn remember(&self) -> Result<(), ToolError> {
        let memory = self.inner.sessions.memory();
        let _reading = memory.lock_indexing().await;
        let unread = memory.take_pending();
        if unread.is_empty() {
            return Ok(());
        }
        // On failure everything goes back to the list, so that the next search tries again; indexing twice is harmless.
        let taken = self.inner.index_unread(&memory, &unread).await;
        taken.map_err(|error| {
            memory.put_back(unread);
            ToolError::from(error)
        })
    }

    /// Indexes everything that is missing, in small steps.
    pub async fn remember_all(&self) -> Result<(), ToolError> {
        let inner = &self.inner;
        let memory = inner.sessions.memory();
        loop {
            let reading = memory.lock_indexing().await;
            let behind = memory.unindexed_sessions(None, SESSIONS).await?;
            if behind.is_empty() {
                break;
            }
            for one in &behind {
                inner.index_session(&memory, one).await?;
            }
            // Released between steps, so that a search or a deletion need not wait for the whole backlog.
            drop(reading);
            tokio::task::yield_now().await;
        }
        for key in inner.unread_archives(&memory).await? {
            let _reading = memory.lock_indexing().await;
            inner.index_archive(&memory, &key).await?;
        }
        memory.mark_complete();
        Ok(())
    }

    /// The full-text index.
    pub fn memory(&self) -> Memory {
        self.inner.sessions.memory()
    }

    /// Waits until a message is stored that is not indexed yet.
    pub async fn unindexed(&self) {
        self.inner.sessions.memory().changed().await;
    }
}

impl MindsInner {
    async fn index_unread(&self, memory: &Memory, unread: &PendingIndex) -> Result<(), StoreError> {
        for key in &unread.sessions {
            for one in memory.unindexed_sessions(Some(key), 1).await? {
                self.index_session(memory, &one).await?;
            }
        }
        for key in &unread.archives {
            self.index_archive(memory, key).await?;
        }
        if !unread.all {
            return Ok(());
        }
        loop {
            let behind = memory.unindexed_sessions(None, SESSIONS).await?;
            if behind.is_empty() {
                break;
            }
            for one in &behind {
                self.index_session(memory, one).await?;
            }
        }
        for key in self.unread_archives(memory).await? {
            self.index_archive(memory, &key).await?;
        }
        Ok(())
    }

    /// The archives that are not indexed completely.
    async fn unread_archives(&self, memory: &Memory) -> Result<Vec<String>, StoreError> {
        let mut unread = Vec::new();
        let mut archives = self.blobs.list(Some(&Path::from(ARCHIVES)));
        while let Some(archive) = archives.try_next().await? {
            let key = archive.location.to_string();
            let read = memory.indexed_version(&key).await?;
            if key.ends_with(".jsonl.gz") && read.as_deref() != Some(READ) {
                unread.push(key);
            }
        }
        Ok(unread)
    }

    async fn index_session(
        &self,
        memory: &Memory,
        behind: &UnindexedSession,
    ) -> Result<(), StoreError> {
        let passing = behind.key.parse().is_ok_and(|key| is_passing(&key));
        let mut from = behind.from;
        loop {
            let entries = match passing {
                true => Vec::new(), // removed after its request, so not worth indexing
                false => self.sessions.entries(&behind.id, from, PAGE).await?,
            };
            let more = entries.len() == PAGE as usize;
            from = entries.last().map_or(from, |entry| entry.seq + 1);
            let pieces = entries.into_iter().filter_map(|entry| {
                let message = serde_json::from_str(&entry.body).ok()?;
                let source = MessageSource {
                    agent: &behind.agent,
                    key: &behind.key,
                    id: &behind.id,
                };
                source.piece(entry.seq, entry.turn, entry.at, &message)
            });
            let pieces: Vec<Piece> = pieces.collect();
            let next = if more {
                from
            } else {
                from.max(behind.next_seq)
            };
            memory
                .add(&IndexMark::session(&behind.id, next), &pieces)
                .await?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Indexes an archive. An unreadable one is logged and skipped for good.
    async fn index_archive(&self, memory: &Memory, key: &str) -> Result<(), StoreError> {
        let folder = key.rsplit_once('/').map_or(key, |(folder, _)| folder);
        if self.sessions.is_deleted_archive(folder).await? {
            return Ok(()); // its session was deleted, and the archive will be
        }
        let mark = IndexMark::blob(key, READ);
        let found = match self.blobs.get(&Path::from(key)).await {
            Ok(found) => found,
            Err(manyhands_store::object_store::Error::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let modified = Timestamp(found.meta.last_modified.timestamp_millis());
        let zipped = found.bytes().await?;
        // On a blocking thread: unpacking up to MAX_ARCHIVE would stall the executor.
        let unpack = move || {
            let mut text = String::new();
            let mut unpacked = GzDecoder::new(&zipped[..]).take(MAX_ARCHIVE);
            unpacked.read_to_string(&mut text).map(|_| text)
        };
        let text = match tokio::task::spawn_blocking(unpack).await {
            Ok(Ok(text)) => text,
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(
                    event = "archive_unreadable",
                    archive = key,
                    "skipped an unreadable archive; its messages cannot be found"
                );
                return memory.add(&mark, &[]).await;
            }
        };
        let lines: Vec<ArchiveLine> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let times = self.times(&lines).await?;
        for page in lines.chunks(PAGE as usize) {
            let piece = |line: &ArchiveLine| {
                let session: SessionKey = line.session.parse().ok()?;
                let source = MessageSource {
                    agent: session.agent(),
                    key: &line.session,
                    id: &line.session_id,
                };
                // Without its entry a message gets the time of the archive, which is at least not too early.
                let at = times.get(&line.seq).copied().unwrap_or(modified);
                source.piece(line.seq, line.turn.clone(), at, &line.message)
            };
            let pieces: Vec<Piece> = page.iter().filter_map(piece).collect();
            // Not marked as read before the last page: a crash in between starts over, and pieces are deduplicated by content.
            memory.add(&IndexMark::blob(key, ""), &pieces).await?;
        }
        memory.add(&mark, &[]).await
    }

    /// Times of archived messages, as far as their entries still exist; archives have none.
    async fn times(&self, lines: &[ArchiveLine]) -> Result<BTreeMap<i64, Timestamp>, StoreError> {
        let mut times = BTreeMap::new();
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
            return Ok(times);
        };
        let mut from = first.seq;
        loop {
            let page = self.sessions.entries(&first.session_id, from, PAGE).await?;
            times.extend(page.iter().map(|entry| (entry.seq, entry.at)));
            match page.last() {
                Some(entry) if entry.seq < last.seq && page.len() == PAGE as usize => {
                    from = entry.seq + 1;
                }
                _ => return Ok(times),
            }
        }
    }
}

/// The conversation of a message.
struct MessageSource<'a> {
    agent: &'a AgentId,
    key: &'a str,
    id: &'a str,
}

impl MessageSource<'_> {
    fn piece(
        &self,
        seq: i64,
        turn: Option<String>,
        at: Timestamp,
        message: &Message,
    ) -> Option<Piece> {
        let (role, text) = indexed_text(seq, message)?;
        Some(Piece {
            agent: self.agent.clone(),
            source: PieceSource::Session,
            location: self.key.to_owned(),
            session_id: Some(self.id.to_owned()),
            turn,
            seq,
            role: role.to_owned(),
            text,
            at,
        })
    }
}

/// Role and text of a message, as far as they are indexed.
fn indexed_text(seq: i64, message: &Message) -> Option<(&'static str, String)> {
    let shown = match message {
        Message::Tool { results } => {
            let others = results.iter().filter(|result| result.name != TOOL);
            let results = others.cloned().collect();
            as_text(seq, &Message::Tool { results })
        }
        other => as_text(seq, other),
    };
    let most = match message {
        Message::Tool { .. } => MAX_RESULTS,
        _ => MAX_MESSAGE,
    };
    let text = fence::inside(&shown.text).trim();
    let end = text.floor_char_boundary(text.len().min(most));
    let text = &text[..end];
    let nothing = text.is_empty() || text.starts_with(SUMMARY);
    (!nothing).then(|| (shown.role, text.to_owned()))
}

fn shown(recalled: StoredHit, question: &str) -> MemoryHit {
    let StoredHit { piece, shown } = recalled;
    let of_file = piece.source == PieceSource::File;
    let snippet = snippet(&piece.text, question);
    MemoryHit {
        source: match (of_file, shown) {
            (true, _) => "file",
            (false, true) => "session",
            (false, false) => "archive",
        },
        agent: piece.agent,
        path: of_file.then(|| piece.location.clone()),
        session_key: (!of_file).then_some(piece.location),
        place: piece.seq,
        role: (!of_file).then_some(piece.role),
        at: piece.at.rfc3339(),
        snippet,
    }
}

/// The text around the first match, on one line.
fn snippet(text: &str, question: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let small = |c: char| c.to_lowercase().next().unwrap_or(c);
    let letters: Vec<char> = text.chars().map(small).collect();
    let words = question.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).take(32);
    // A cheap stem, at least three letters long: the index matches word forms too, and one of them is in the text.
    let place = |word: &str| {
        let word: Vec<char> = word.chars().map(small).collect();
        let stem = &word[..word.len().min(word.len().saturating_sub(1).max(3))];
        letters.windows(stem.len()).position(|at| at == stem)
    };
    let first = words.filter_map(place).min().unwrap_or(0);
    let (most, before) = SNIPPET;
    let from = first.saturating_sub(before);
    let mut cut: String = text.chars().skip(from).take(most).collect();
    if from > 0 {
        cut.insert_str(0, "[...] ");
    }
    if letters.len() > from + most {
        cut.push_str(" [...]");
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_begins_a_little_before_the_first_word() {
        assert_eq!(snippet("The blue\n  teapot", "TEAPOTS"), "The blue teapot");
        let long = format!("{} teapot {}", "a ".repeat(500), "z ".repeat(500));
        let cut = snippet(&long, "teapot");
        assert!(
            cut.starts_with("[...] ") && cut.ends_with(" [...]"),
            "{cut}"
        );
        assert!(cut.contains(" teapot ") && cut.chars().count() < 420);
        assert_eq!(snippet("nothing of it", "zebra"), "nothing of it");
        assert_eq!(snippet("ÄÖÜ straße", "äö"), "ÄÖÜ straße");
        assert_eq!(snippet("", "x"), "");
    }

    #[test]
    fn memories_summaries_and_silence_are_not_remembered_again() {
        let text = |message: &Message| indexed_text(0, message).map(|(_, text)| text);
        assert_eq!(text(&Message::user("hello")).as_deref(), Some("hello"));
        assert_eq!(text(&Message::user(format!("{SUMMARY}\nold"))), None);
        assert_eq!(text(&Message::user("  ")), None);
        let result = |name: &str| Message::Tool {
            results: vec![manyhands_llm::ToolResult {
                id: "1".to_owned(),
                name: name.to_owned(),
                content: vec![manyhands_llm::Block::text(fence::fenced("tool:x", "given"))],
                is_error: false,
            }],
        };
        assert_eq!(text(&result("look")).as_deref(), Some("given"));
        assert_eq!(text(&result(TOOL)), None);
        let long = text(&Message::user("ü".repeat(MAX_MESSAGE))).unwrap();
        assert_eq!(long.len(), MAX_MESSAGE);
    }
}
