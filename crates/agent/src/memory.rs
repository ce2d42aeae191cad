//! Memory: what was said, found again by words.
//!
//! Every message of every conversation becomes a piece in the store's index, a little after it was
//! said, and at the latest when somebody searches. What the index lacks after a start is read
//! from the conversations and their archives.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use futures_util::TryStreamExt as _;
use manyhands_core::{AgentId, Timestamp, ToolError};
use manyhands_llm::Message;
use manyhands_store::object_store::{ObjectStoreExt as _, path::Path};
use manyhands_store::{
    IndexMark, Memory, MemoryHit, MemoryScope, PendingIndex, Piece, PieceSource, StoreError,
    UnindexedSession,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fence;
use crate::key::SessionKey;
use crate::minds::{Inner, Minds};
use crate::passing::is_passing;
use crate::sessions::spoken;

/// The tool whose results are not remembered: they are memories already.
pub const TOOL: &str = "memory_search";
/// The longest question.
pub const MAX_QUESTION: usize = 1_000;
/// How many entries are read at a time.
const PAGE: u32 = 200;
/// How many sessions are looked at together.
const SESSIONS: u32 = 50;
/// How many bytes of what somebody said are remembered.
const MAX_SAID: usize = 32 * 1024;
/// How many bytes of what tools gave are remembered.
const MAX_GIVEN: usize = 4 * 1024;
/// How much of an archive is read, unpacked.
const MAX_ARCHIVE: u64 = 64 * 1024 * 1024;
/// How many characters of a piece are shown, and how many of them before the first word.
const SHOWN: (usize, usize) = (400, 100);
/// The mark of an archive that was read whole.
const READ: &str = "1";
/// Where archives are.
const ARCHIVES: &str = "archives";
/// How a summary begins, which only repeats what is remembered.
const SUMMARY: &str = "[Summary of the conversation so far]";

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    /// `session` where its model is still shown it, `archive` where not, or `file`.
    pub source: &'static str,
    /// Whose it is.
    #[schemars(with = "String")]
    pub agent: AgentId,
    /// The session's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// The file's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The number of the message, or of the line in the file.
    pub place: i64,
    /// Who said it: `user`, `assistant` or `tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// When, as RFC 3339.
    pub at: String,
    /// The words around what was found.
    pub snippet: String,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recollection {
    /// The best first.
    pub found: Vec<Remembered>,
    /// Whether everything was looked through; after a start it may take a while.
    pub complete: bool,
}

/// A line of an archive.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    session: String,
    session_id: String,
    seq: i64,
    turn: Option<String>,
    message: Message,
}

impl Minds {
    /// Looks for words. What was said up to now is among what is looked through.
    pub async fn search(
        &self,
        question: &str,
        scope: &MemoryScope,
        limit: u32,
    ) -> Result<Recollection, ToolError> {
        if question.chars().count() > MAX_QUESTION {
            let message = format!("must have at most {MAX_QUESTION} characters");
            return Err(ToolError::parameter("query", message));
        }
        if !question.chars().any(char::is_alphanumeric) {
            let message = "must hold a word to look for";
            return Err(ToolError::parameter("query", message));
        }
        self.remember().await?;
        let memory = self.inner.sessions.memory();
        let found = memory.search(question, scope, limit).await?;
        Ok(Recollection {
            found: found.into_iter().map(|one| shown(one, question)).collect(),
            complete: memory.is_whole(),
        })
    }

    /// Takes in what was said and archived since the last time.
    pub async fn remember(&self) -> Result<(), ToolError> {
        let memory = self.inner.sessions.memory();
        let _reading = memory.reading().await;
        let unread = memory.take_unread();
        if unread.is_empty() {
            return Ok(());
        }
        let taken = self.inner.take_in_unread(&memory, &unread).await;
        taken.map_err(|error| {
            memory.put_back(unread);
            ToolError::from(error)
        })
    }

    /// Takes in everything that the index lacks, bit by bit.
    pub async fn remember_all(&self) -> Result<(), ToolError> {
        let inner = &self.inner;
        let memory = inner.sessions.memory();
        loop {
            let reading = memory.reading().await;
            let behind = memory.behind(None, SESSIONS).await?;
            if behind.is_empty() {
                break;
            }
            for one in &behind {
                inner.take_in_session(&memory, one).await?;
            }
            drop(reading);
            tokio::task::yield_now().await;
        }
        for key in inner.unread_archives(&memory).await? {
            let _reading = memory.reading().await;
            inner.take_in_archive(&memory, &key).await?;
        }
        memory.now_whole();
        Ok(())
    }

    /// What can be found by words.
    pub fn memory(&self) -> Memory {
        self.inner.sessions.memory()
    }

    /// Waits until something was said that is not remembered yet.
    pub async fn said_something(&self) {
        self.inner.sessions.memory().changed().await;
    }
}

impl Inner {
    async fn take_in_unread(
        &self,
        memory: &Memory,
        unread: &PendingIndex,
    ) -> Result<(), StoreError> {
        for key in &unread.sessions {
            for one in memory.behind(Some(key), 1).await? {
                self.take_in_session(memory, &one).await?;
            }
        }
        for key in &unread.archives {
            self.take_in_archive(memory, key).await?;
        }
        if !unread.all {
            return Ok(());
        }
        loop {
            let behind = memory.behind(None, SESSIONS).await?;
            if behind.is_empty() {
                break;
            }
            for one in &behind {
                self.take_in_session(memory, one).await?;
            }
        }
        for key in self.unread_archives(memory).await? {
            self.take_in_archive(memory, &key).await?;
        }
        Ok(())
    }

    /// The archives that were not read whole.
    async fn unread_archives(&self, memory: &Memory) -> Result<Vec<String>, StoreError> {
        let mut unread = Vec::new();
        let mut archives = self.blobs.list(Some(&Path::from(ARCHIVES)));
        while let Some(archive) = archives.try_next().await? {
            let key = archive.location.to_string();
            let read = memory.version(&key).await?;
            if key.ends_with(".jsonl.gz") && read.as_deref() != Some(READ) {
                unread.push(key);
            }
        }
        Ok(unread)
    }

    async fn take_in_session(
        &self,
        memory: &Memory,
        behind: &UnindexedSession,
    ) -> Result<(), StoreError> {
        let passing = behind.key.parse().is_ok_and(|key| is_passing(&key));
        let mut from = behind.from;
        loop {
            let entries = match passing {
                true => Vec::new(), // made for one request, and gone after it
                false => self.sessions.entries(&behind.id, from, PAGE).await?,
            };
            let more = entries.len() == PAGE as usize;
            from = entries.last().map_or(from, |entry| entry.seq + 1);
            let pieces = entries.into_iter().filter_map(|entry| {
                let message = serde_json::from_str(&entry.body).ok()?;
                let said = Origin {
                    agent: &behind.agent,
                    key: &behind.key,
                    id: &behind.id,
                };
                said.piece(entry.seq, entry.turn, entry.at, &message)
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

    /// Reads an archive. One that cannot be read is left out for good, and told of.
    async fn take_in_archive(&self, memory: &Memory, key: &str) -> Result<(), StoreError> {
        let folder = key.rsplit_once('/').map_or(key, |(folder, _)| folder);
        if self.sessions.is_gone(folder).await? {
            return Ok(()); // its session was deleted, and it goes too
        }
        let mark = IndexMark::blob(key, READ);
        let found = match self.blobs.get(&Path::from(key)).await {
            Ok(found) => found,
            Err(manyhands_store::object_store::Error::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let modified = Timestamp(found.meta.last_modified.timestamp_millis());
        let zipped = found.bytes().await?;
        let unpack = move || {
            let mut text = String::new();
            let mut unpacked = GzDecoder::new(&zipped[..]).take(MAX_ARCHIVE);
            unpacked.read_to_string(&mut text).map(|_| text)
        };
        let text = match tokio::task::spawn_blocking(unpack).await {
            Ok(Ok(text)) => text,
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(archive = key, "it cannot be read, and is not remembered");
                return memory.add(&mark, &[]).await;
            }
        };
        let lines: Vec<Line> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let times = self.times(&lines).await?;
        for page in lines.chunks(PAGE as usize) {
            let piece = |line: &Line| {
                let session: SessionKey = line.session.parse().ok()?;
                let said = Origin {
                    agent: session.agent(),
                    key: &line.session,
                    id: &line.session_id,
                };
                let at = times.get(&line.seq).copied().unwrap_or(modified);
                said.piece(line.seq, line.turn.clone(), at, &line.message)
            };
            let pieces: Vec<Piece> = page.iter().filter_map(piece).collect();
            memory.add(&IndexMark::blob(key, ""), &pieces).await?;
        }
        memory.add(&mark, &[]).await
    }

    /// When the messages of an archive were said, as far as their entries are still there.
    async fn times(&self, lines: &[Line]) -> Result<BTreeMap<i64, Timestamp>, StoreError> {
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

/// In which conversation something was said.
struct Origin<'a> {
    agent: &'a AgentId,
    key: &'a str,
    id: &'a str,
}

impl Origin<'_> {
    fn piece(
        &self,
        seq: i64,
        turn: Option<String>,
        at: Timestamp,
        message: &Message,
    ) -> Option<Piece> {
        let (role, text) = words_of(seq, message)?;
        Some(Piece {
            agent: self.agent.clone(),
            source: PieceSource::Session,
            place: self.key.to_owned(),
            session_id: Some(self.id.to_owned()),
            turn,
            seq,
            role: role.to_owned(),
            text,
            at,
        })
    }
}

/// What of a message is remembered.
fn words_of(seq: i64, message: &Message) -> Option<(&'static str, String)> {
    let said = match message {
        Message::Tool { results } => {
            let others = results.iter().filter(|result| result.name != TOOL);
            let results = others.cloned().collect();
            spoken(seq, &Message::Tool { results })
        }
        other => spoken(seq, other),
    };
    let most = match message {
        Message::Tool { .. } => MAX_GIVEN,
        _ => MAX_SAID,
    };
    let text = fence::inside(&said.text).trim();
    let end = text.floor_char_boundary(text.len().min(most));
    let text = &text[..end];
    let nothing = text.is_empty() || text.starts_with(SUMMARY);
    (!nothing).then(|| (said.role, text.to_owned()))
}

fn shown(recalled: MemoryHit, question: &str) -> Remembered {
    let MemoryHit { piece, shown } = recalled;
    let of_file = piece.source == PieceSource::File;
    let snippet = snippet(&piece.text, question);
    Remembered {
        source: match (of_file, shown) {
            (true, _) => "file",
            (false, true) => "session",
            (false, false) => "archive",
        },
        agent: piece.agent,
        path: of_file.then(|| piece.place.clone()),
        session_key: (!of_file).then_some(piece.place),
        place: piece.seq,
        role: (!of_file).then_some(piece.role),
        at: piece.at.rfc3339(),
        snippet,
    }
}

/// The words around the first one that was asked for, in one line.
fn snippet(text: &str, question: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let small = |c: char| c.to_lowercase().next().unwrap_or(c);
    let letters: Vec<char> = text.chars().map(small).collect();
    let words = question.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).take(32);
    let place = |word: &str| {
        let word: Vec<char> = word.chars().map(small).collect();
        let stem = &word[..word.len().min(word.len().saturating_sub(1).max(3))];
        letters.windows(stem.len()).position(|at| at == stem)
    };
    let first = words.filter_map(place).min().unwrap_or(0);
    let (most, before) = SHOWN;
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
        let text = |message: &Message| words_of(0, message).map(|(_, text)| text);
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
        let long = text(&Message::user("ü".repeat(MAX_SAID))).unwrap();
        assert_eq!(long.len(), MAX_SAID);
    }
}
