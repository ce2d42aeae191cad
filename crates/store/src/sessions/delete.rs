//! Deletes sessions with all messages in one transaction. Their archives among the blobs are recorded in it and removed
//! afterwards.

use std::collections::BTreeSet;

use manyhands_core::{AgentId, Timestamp};

use super::Sessions;
use super::record::{SESSION_COLUMNS, SessionRecord};
use crate::error::StoreError;
use crate::sql::{Statement, Tx};

/// Maximum former ids that a session remembers; if it has that many, there may have been more.
const MAX_PREVIOUS_IDS: usize = 100;
/// Maximum folders returned at once.
const FOLDERS: i64 = 1_000;

/// Ended turns. Open ones arrived after the session was closed and belong to the next one.
const ENDED: &str = "session_key = $1 AND state NOT IN ('queued', 'running', 'waiting')";

/// What was deleted with a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// The id it had last.
    pub id: String,
    /// Number of messages, including those from before it was last cleared.
    pub messages: u64,
    /// Number of withdrawn approval requests.
    pub approvals: u64,
    /// The folders of its archives, still to be removed.
    pub folders: Vec<String>,
}

/// The folder of archives of a session while it has that id.
pub fn archive_folder(agent: &AgentId, id: &str) -> String {
    format!("archives/{agent}/{id}")
}

impl Sessions {
    /// Deletes a session: messages under all its ids, ended turns, index entries. Open approval requests are withdrawn; usage
    /// is retained. `None` if it does not exist.
    pub async fn delete(&self, key: &str, now: Timestamp) -> Result<Option<Deleted>, StoreError> {
        let mut tx = self.sql.begin().await?;
        let select = Statement::new(SESSION_COLUMNS).then_with(" WHERE key = ", key);
        let Some(row) = tx.one(select).await? else {
            tx.abandon().await;
            return Ok(None);
        };
        let session = SessionRecord::read(&row)?;
        let mut deleted = Deleted {
            id: session.id.clone(),
            messages: 0,
            approvals: 0,
            folders: Vec::new(),
        };
        for id in ids(&mut tx, &session).await? {
            let said = Statement::new("DELETE FROM session_entry WHERE session_id = $1");
            deleted.messages += tx.run(said.bind(id.as_str())).await?;
            let folder = archive_folder(&session.agent, &id);
            forget_marks(&mut tx, &id, &folder).await?;
            // Archives are files and cannot be part of the transaction. Their folders are noted in it, so that
            // a crash after the commit leaves a list of what still has to be removed.
            let note = Statement::new(
                "INSERT INTO session_gone (folder) VALUES ($1) ON CONFLICT (folder) DO NOTHING",
            );
            tx.run(note.bind(folder.as_str())).await?;
            deleted.folders.push(folder);
        }
        let pieces = Statement::new("DELETE FROM memory_piece WHERE source = 'session'")
            .then_with(" AND agent = ", session.agent.as_str())
            .then_with(" AND place = ", key);
        tx.run(pieces).await?;
        // Promises and calls before turns: both are found through the turns they belong to.
        for (head, tail) in [
            (
                "DELETE FROM promise WHERE session_key = $1 AND run_id IN (SELECT run_id FROM turn WHERE ",
                ")",
            ),
            (
                "DELETE FROM turn_call WHERE turn IN (SELECT id FROM turn WHERE ",
                ")",
            ),
            ("DELETE FROM turn WHERE ", ""),
        ] {
            let delete = Statement::new(head).then(ENDED).then(tail);
            tx.run(delete.bind(key)).await?;
        }
        // Approvals stay as rows for the audit, but nobody may answer for a conversation that is gone.
        let withdraw = Statement::new(
            "UPDATE approval SET state = 'withdrawn', decided_at = COALESCE(decided_at, $2)
             WHERE session = $1 AND state IN ('pending', 'approved')",
        )
        .bind(key)
        .bind(now);
        deleted.approvals = tx.run(withdraw).await?;
        tx.run(Statement::new("DELETE FROM session WHERE key = $1").bind(key))
            .await?;
        tx.commit().await?;
        if deleted.approvals > 0 {
            self.approval_changes.notify();
        }
        Ok(Some(deleted))
    }

    /// Archive folders of deleted sessions, still to be removed.
    pub async fn deleted_archives(&self) -> Result<Vec<String>, StoreError> {
        let select = Statement::new("SELECT folder FROM session_gone ORDER BY folder")
            .then_with(" LIMIT ", FOLDERS);
        let rows = self.sql.all(select).await?;
        rows.iter().map(|row| row.text("folder")).collect()
    }

    /// Whether an archive folder belongs to a deleted session.
    pub async fn is_deleted_archive(&self, folder: &str) -> Result<bool, StoreError> {
        let select = Statement::new("SELECT folder FROM session_gone WHERE folder = $1");
        Ok(self.sql.one(select.bind(folder)).await?.is_some())
    }

    /// Records that a folder was removed.
    pub async fn archive_removed(&self, folder: &str) -> Result<(), StoreError> {
        let delete = Statement::new("DELETE FROM session_gone WHERE folder = $1");
        self.sql.run(delete.bind(folder)).await.map(drop)
    }
}

/// All ids of a session of which something is left.
async fn ids(tx: &mut Tx, session: &SessionRecord) -> Result<BTreeSet<String>, StoreError> {
    let mut ids: BTreeSet<String> = session.previous.iter().cloned().collect();
    ids.insert(session.id.clone());
    if session.previous.len() < MAX_PREVIOUS_IDS {
        return Ok(ids);
    }
    // The oldest are no longer in the record, but messages and index entries still have them.
    for text in [
        "SELECT DISTINCT session_id FROM session_entry
         WHERE turn IN (SELECT id FROM turn WHERE session_key = $1)",
        "SELECT DISTINCT session_id FROM memory_piece
         WHERE source = 'session' AND place = $1 AND session_id IS NOT NULL",
    ] {
        let found = Statement::new(text).bind(session.key.as_str());
        for row in tx.all(found).await? {
            ids.insert(row.text("session_id")?);
        }
    }
    Ok(ids)
}

/// Removes the index marks of a session and its archives.
async fn forget_marks(tx: &mut Tx, id: &str, folder: &str) -> Result<(), StoreError> {
    let marks = Statement::new("DELETE FROM memory_mark")
        .then_with(" WHERE what = ", id)
        .then_with(" OR (what >= ", format!("{folder}/"))
        .then_with(" AND what < ", format!("{folder}0")) // the character after the slash
        .then(")");
    tx.run(marks).await.map(drop)
}

#[cfg(test)]
mod tests {
    use manyhands_core::{AgentId, ChatRef, Effects, Timestamp};
    use serde_json::json;

    use super::*;
    use crate::memory::{IndexMark, MemoryScope, Piece, PieceSource};
    use crate::sessions::{SessionChange, TurnRecord, TurnState, Usage};
    use crate::testing::{TestHome, ids};
    use crate::{ApprovalState, NewApproval, PendingReply, Store};

    const NOW: Timestamp = Timestamp(1_000);

    fn turn(key: &str, run: &str) -> TurnRecord {
        TurnRecord {
            id: format!("{run} of {key}"),
            session_key: key.to_owned(),
            run_id: run.to_owned(),
            state: TurnState::Queued,
            input: "{}".to_owned(),
            origin: "{}".to_owned(),
            work: "{}".to_owned(),
            outcome: None,
            created: NOW,
            started: None,
            ended: None,
        }
    }

    /// A session that was begun anew once, with an ended turn, one that waits, a question, a promise
    /// and what memory knows of it.
    async fn lived(store: &Store, key: &str) {
        let sessions = store.sessions();
        let (old, new) = (format!("old of {key}"), format!("new of {key}"));
        let mut session = SessionRecord::new(key.to_owned(), old.clone(), AgentId::main(), NOW);
        sessions.create(&session).await.unwrap();
        for run in ["ended", "waits"] {
            let taken = sessions.enqueue(&turn(key, run), 9, None).await;
            taken.unwrap();
            let promise = PendingReply {
                session_key: key.to_owned(),
                run_id: run.to_owned(),
                chat: ChatRef::dm("telegram", "default", "1"),
                ticket: None,
                draft: None,
                created: NOW,
            };
            store.chats().add_pending_reply(&promise).await.unwrap();
        }
        let said = || SessionChange::Append {
            turn: Some(format!("ended of {key}")),
            kind: "user",
            body: "{}".to_owned(),
        };
        let spent = SessionChange::Spend(Usage {
            day: "2026-11-15".to_owned(),
            model: "a/b".to_owned(),
            input_tokens: 7,
            ..Usage::default()
        });
        let begun = sessions.commit(key, &old, vec![said(), spent], NOW).await;
        session = begun.unwrap();
        session.id = new.clone();
        session.previous = vec![old.clone()];
        let ended = SessionChange::Turn {
            id: format!("ended of {key}"),
            state: TurnState::Done,
            work: None,
            outcome: None,
        };
        let acts = vec![SessionChange::Session(Box::new(session)), said(), ended];
        sessions.commit(key, &old, acts, NOW).await.unwrap();
        let piece = Piece {
            agent: AgentId::main(),
            source: PieceSource::Session,
            location: key.to_owned(),
            session_id: Some(new.clone()),
            turn: None,
            seq: 0,
            role: "user".to_owned(),
            text: "marmalade".to_owned(),
            at: NOW,
        };
        let memory = sessions.memory();
        let archive = format!("{}/0-1.jsonl.gz", archive_folder(&AgentId::main(), &old));
        memory
            .add(&IndexMark::session(&new, 2), &[piece])
            .await
            .unwrap();
        memory
            .add(&IndexMark::blob(&archive, "1"), &[])
            .await
            .unwrap();
        let question = NewApproval {
            id: ids().next(),
            caller: "owner".to_owned(),
            caller_name: "owner".to_owned(),
            agent: AgentId::main(),
            session: Some(key.to_owned()),
            tool: "tool::shell".to_owned(),
            arguments: json!({}),
            fingerprint: key.to_owned(),
            effects: Effects::RUNS,
            rule: "shell asks".to_owned(),
            reason: None,
            proposal: None,
            taint: manyhands_core::Taint::NONE,
            expires: Timestamp(9_000),
        };
        let asked = store.approvals().open_or_find(&question, NOW).await;
        asked.unwrap();
    }

    async fn found(store: &Store) -> Vec<String> {
        let memory = store.sessions().memory();
        let found = memory.search("marmalade", &MemoryScope::All, 9).await;
        let mut places: Vec<String> = found
            .unwrap()
            .into_iter()
            .map(|r| r.piece.location)
            .collect();
        places.sort();
        places
    }

    async fn pending(store: &Store) -> Vec<Option<String>> {
        let all = store.approvals().list(&Default::default(), NOW).await;
        let open = all.unwrap().into_iter();
        let open = open.filter(|one| one.state == ApprovalState::Pending);
        open.map(|one| one.session).collect()
    }

    #[tokio::test]
    async fn deleting_a_session_removes_all_of_it_and_nothing_of_another() {
        let home = TestHome::new();
        let store = home.open().await;
        let sessions = store.sessions();
        let (key, other) = ("agent:main:a", "agent:main:ab");
        lived(&store, key).await;
        lived(&store, other).await;
        assert_eq!(found(&store).await, [key, other]);
        let mut heard = store.approvals().changes().subscribe();
        heard.mark_unchanged();
        let deleted = sessions.delete(key, NOW).await.unwrap().unwrap();
        let folders = [
            "archives/main/new of agent:main:a",
            "archives/main/old of agent:main:a",
        ];
        assert_eq!(deleted.folders, folders);
        assert_eq!((deleted.messages, deleted.approvals), (2, 1));
        assert!(heard.has_changed().unwrap(), "who shows questions is told");
        assert_eq!(sessions.get(key).await.unwrap(), None);
        for id in ["old of agent:main:a", "new of agent:main:a"] {
            assert_eq!(sessions.entries(id, 0, 9).await.unwrap(), []);
        }
        assert_eq!(found(&store).await, [other]);
        assert_eq!(pending(&store).await, [Some(other.to_owned())]);
        let marks = sessions.memory().indexed_below("archives/").await.unwrap();
        assert_eq!(marks.len(), 1, "{marks:?}");
        // What came meanwhile is still to be answered.
        assert_eq!(sessions.turn_of_run(key, "ended").await.unwrap(), None);
        assert!(sessions.turn_of_run(key, "waits").await.unwrap().is_some());
        let owed = store.chats().pending_replies().await.unwrap();
        let owed: Vec<_> = owed
            .iter()
            .map(|one| (one.session_key.as_str(), one.run_id.as_str()))
            .collect();
        assert_eq!(owed, [(key, "waits"), (other, "ended"), (other, "waits")]);
        let used = sessions.usage("2026-01-01").await.unwrap();
        assert_eq!(used.len(), 2, "what it cost stays");
        let left = sessions.entries("new of agent:main:ab", 0, 9).await;
        assert_eq!(left.unwrap().len(), 1);
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn archives_to_remove_are_remembered_until_they_are_removed() {
        let home = TestHome::new();
        let store = home.open().await;
        lived(&store, "agent:main:a").await;
        let gone = store.sessions().delete("agent:main:a", NOW).await;
        let folders = gone.unwrap().unwrap().folders;
        store.close().await.unwrap();
        let store = home.open().await;
        let sessions = store.sessions();
        assert_eq!(sessions.deleted_archives().await.unwrap(), folders);
        assert!(sessions.is_deleted_archive(&folders[0]).await.unwrap());
        sessions.archive_removed(&folders[0]).await.unwrap();
        assert!(!sessions.is_deleted_archive(&folders[0]).await.unwrap());
        assert_eq!(sessions.deleted_archives().await.unwrap(), folders[1..]);
        let again = sessions.delete("agent:main:a", NOW).await.unwrap();
        assert_eq!(again, None, "it is not there");
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn forgotten_ids_of_a_session_are_found_by_its_messages() {
        let home = TestHome::new();
        let store = home.open().await;
        let (key, sessions) = ("agent:main:a", store.sessions());
        lived(&store, key).await;
        let mut session = sessions.get(key).await.unwrap().unwrap();
        let id = session.id.clone();
        session.previous = (0..MAX_PREVIOUS_IDS)
            .map(|n| format!("later {n}"))
            .collect();
        let acts = vec![SessionChange::Session(Box::new(session))];
        sessions.commit(key, &id, acts, NOW).await.unwrap();
        let deleted = sessions.delete(key, NOW).await.unwrap().unwrap();
        let forgotten = archive_folder(&AgentId::main(), "old of agent:main:a");
        assert!(deleted.folders.contains(&forgotten));
        assert_eq!(deleted.messages, 2);
        store.close().await.unwrap();
    }
}
