//! Search in agents' memories: access, and the files in which agents write down what to remember.
//!
//! Nothing has to be announced when such a file is written: before a search, the file list is
//! compared with the index, and only changed files are read.

use std::collections::BTreeMap;

use manyhands_agent::{MemoryResults, Minds};
use manyhands_core::{AgentId, Caller, Role, Timestamp, ToolError};
use manyhands_host::LiveSettings;
use manyhands_host::workspace::tree_of;
use manyhands_store::{Blobs, IndexMark, Memory, MemoryScope, Piece, PieceSource, StoreError};
use object_store::path::Path as Key;
use object_store::{ObjectMeta, ObjectStoreExt as _};

use crate::session_access::{part_of, session_key};

/// The file of long-term memories.
const MAIN_FILE: &str = "MEMORY.md";
/// The folder of daily files.
const FOLDER: &str = "memory";
/// The most files read of one workspace, last by name first.
const MAX_FILES: usize = 2_000;
/// The largest file read.
const MAX_FILE: u64 = 1024 * 1024;
/// The approximate size of an indexed piece, in bytes.
const PIECE: usize = 1_500;

/// What a search needs.
pub struct Library<'a> {
    /// The running agents.
    pub minds: &'a Minds,
    /// The search index.
    pub memory: Memory,
    /// The blob store.
    pub blobs: &'a Blobs,
    /// The settings in force.
    pub settings: &'a LiveSettings,
}

/// What a caller may search: the owner everything or one agent's memory; a client its own sessions
/// with one agent.
pub fn scope(
    caller: &Caller,
    agent: Option<&AgentId>,
    settings: &LiveSettings,
) -> Result<MemoryScope, ToolError> {
    let main = AgentId::main();
    // Rejects callers without any sessions before anything is searched.
    session_key(caller, &main, "main")?;
    match (caller.rights.role, agent) {
        (Role::Owner, None) => Ok(MemoryScope::All),
        (Role::Owner, Some(agent)) => Ok(MemoryScope::Agent {
            agent: agent.clone(),
            tree: tree_of(&settings.current(), agent),
        }),
        _ => {
            let agent = agent.unwrap_or(&main);
            let own = part_of(caller);
            Ok(MemoryScope::Sessions {
                agent: agent.clone(),
                prefix: format!("agent:{agent}:{own}"),
            })
        }
    }
}

impl Library<'_> {
    /// Searches; changed files are indexed first.
    pub async fn search(
        &self,
        question: &str,
        scope: &MemoryScope,
        everybody: &[AgentId],
        limit: u32,
    ) -> Result<MemoryResults, ToolError> {
        match scope {
            MemoryScope::Sessions { .. } => {}
            MemoryScope::Agent { tree, .. } => self.read_files(tree).await?,
            MemoryScope::All => {
                for agent in everybody {
                    let tree = tree_of(&self.settings.current(), agent);
                    self.read_files(&tree).await?;
                }
            }
        }
        self.minds.search(question, scope, limit).await
    }

    /// Indexes the changed memory files of a workspace.
    async fn read_files(&self, tree: &AgentId) -> Result<(), StoreError> {
        // One indexer at a time: two would compare against the same old state and write pieces
        // twice.
        let _reading = self.memory.lock_indexing().await;
        let home = format!("agents/{tree}/");
        let known: BTreeMap<String, String> = self
            .memory
            .indexed_below(&home)
            .await?
            .into_iter()
            .collect();
        let blobs = self.blobs.scoped(&Key::parse(&home).map_err(wrong)?)?;
        let there = files(&blobs, &home).await?;
        // Deleted files leave the index first, so that a search never finds text that is gone.
        for key in known.keys() {
            if !there.iter().any(|file| file.location.as_ref() == key) {
                let path = key.strip_prefix(&home).unwrap_or(key);
                self.memory.replace(tree, path, None, key, &[]).await?;
            }
        }
        for file in there {
            let version = version(&file);
            let key = file.location.to_string();
            if known.get(&key) == Some(&version) {
                continue;
            }
            let pieces = match blobs.get(&file.location).await {
                Ok(found) => {
                    let bytes = found.bytes().await?;
                    let text = String::from_utf8_lossy(&bytes);
                    pieces(tree, key.strip_prefix(&home).unwrap_or(&key), &file, &text)
                }
                Err(object_store::Error::NotFound { .. }) => continue, // deleted meanwhile
                Err(error) => return Err(error.into()),
            };
            let path = key.strip_prefix(&home).unwrap_or(&key);
            // The version recorded is the one from the listing, taken before the content was read:
            // a file that changes in between is read again next time, never missed.
            let mark = IndexMark::blob(&key, &version);
            let taken = self.memory.replace(tree, path, Some(&mark), &key, &pieces);
            taken.await?;
        }
        Ok(())
    }
}

async fn files(blobs: &Blobs, home: &str) -> Result<Vec<ObjectMeta>, StoreError> {
    let folder = Key::from(format!("{home}{FOLDER}"));
    let listed = blobs.list_with_delimiter(Some(&folder)).await?;
    let mut files = listed.objects;
    files.sort_by(|a, b| b.location.cmp(&a.location));
    let fits = |file: &ObjectMeta| {
        file.size <= MAX_FILE && file.location.as_ref().to_ascii_lowercase().ends_with(".md")
    };
    files.retain(fits);
    files.truncate(MAX_FILES);
    match blobs.head(&Key::from(format!("{home}{MAIN_FILE}"))).await {
        Ok(file) if file.size <= MAX_FILE => files.push(file),
        Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(files)
}

fn wrong(error: object_store::path::Error) -> StoreError {
    object_store::Error::from(error).into()
}

fn version(file: &ObjectMeta) -> String {
    let at = file.last_modified.timestamp_micros();
    // Time and size are not enough: two writes within a microsecond may have both in common.
    let tag = file.e_tag.as_deref().unwrap_or_default();
    format!("{at}-{}-{tag}", file.size)
}

/// Splits a file into pieces: paragraphs, joined until they are long enough to be meaningful.
fn pieces(tree: &AgentId, path: &str, file: &ObjectMeta, text: &str) -> Vec<Piece> {
    let mut pieces: Vec<(i64, String)> = Vec::new();
    let mut after_gap = true;
    for (line, number) in text.lines().zip(1..) {
        let long = pieces
            .last()
            .is_some_and(|(_, so_far)| so_far.len() >= PIECE);
        let begins = line.starts_with('#') || (after_gap && long);
        let huge = pieces
            .last()
            .is_some_and(|(_, so_far)| so_far.len() >= PIECE * 4);
        match pieces.last_mut() {
            Some((_, so_far)) if !begins && !huge => {
                so_far.push('\n');
                so_far.push_str(line);
            }
            _ => pieces.push((number, line.to_owned())),
        }
        after_gap = line.trim().is_empty();
    }
    let piece = |(seq, text): (i64, String)| Piece {
        agent: tree.clone(),
        source: PieceSource::File,
        location: path.to_owned(),
        session_id: None,
        turn: None,
        seq,
        role: String::new(),
        text,
        at: Timestamp(file.last_modified.timestamp_millis()),
    };
    let said = pieces
        .into_iter()
        .filter(|(_, text)| !text.trim().is_empty());
    said.map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_split_at_headings_and_when_it_is_long() {
        let file = ObjectMeta {
            location: Key::from("agents/main/MEMORY.md"),
            last_modified: Default::default(),
            size: 1,
            e_tag: None,
            version: None,
        };
        let cut = |text: &str| -> Vec<(i64, usize)> {
            let pieces = pieces(&AgentId::main(), "MEMORY.md", &file, text);
            pieces.iter().map(|one| (one.seq, one.text.len())).collect()
        };
        assert_eq!(cut(""), []);
        assert_eq!(cut("one\n\ntwo"), [(1, 8)]);
        assert_eq!(cut("# a\none\n# b\ntwo\n"), [(1, 7), (3, 7)]);
        let paragraph = format!("{}\n\n", "x".repeat(1_000));
        let starts: Vec<i64> = cut(&paragraph.repeat(5))
            .iter()
            .map(|(at, _)| *at)
            .collect();
        assert_eq!(starts, [1, 5, 9]);
        let unbroken = format!("{}\n", "y".repeat(2_000)).repeat(10);
        assert!(cut(&unbroken).iter().all(|(_, size)| *size < 9_000));
    }
}
