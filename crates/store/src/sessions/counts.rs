//! Counts of messages and ends of turns, for lists and histories.

use std::collections::HashMap;

use manyhands_core::Timestamp;

use super::Sessions;
use super::record::SessionRecord;
use crate::error::StoreError;
use crate::sql::{Row, Statement};

/// Values per statement, far below SQLite's limit of parameters.
const MAX_VALUES: usize = 200;

/// End of a turn, without its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    /// The turn.
    pub id: String,
    /// Its outcome, as JSON.
    pub outcome: Option<String>,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

impl TurnEnd {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.text("id")?,
            outcome: row.text_or_null("outcome")?,
            started: row.int_or_null("started")?.map(Timestamp),
            ended: row.int_or_null("ended")?.map(Timestamp),
        })
    }
}

impl Sessions {
    /// Number of messages in the model's context of each of these sessions, by key; sessions without any are omitted. Reads
    /// only the index, from each session's floor on.
    pub async fn shown_counts(
        &self,
        listed: &[SessionRecord],
    ) -> Result<HashMap<String, u64>, StoreError> {
        let mut counts = HashMap::new();
        for some in listed.chunks(MAX_VALUES) {
            let keys = some.iter().map(|one| one.key.as_str());
            for row in &self.sql.all(count(COUNT, keys)).await? {
                let count = u64::try_from(row.int("count")?).unwrap_or(0);
                counts.insert(row.text("key")?, count);
            }
        }
        Ok(counts)
    }

    /// Ends of those of these turns that have ended and are retained.
    pub async fn turn_ends(&self, turns: &[&str]) -> Result<Vec<TurnEnd>, StoreError> {
        let mut ends = Vec::new();
        for some in turns.chunks(MAX_VALUES) {
            let select = Statement::new("SELECT id, outcome, started, ended FROM turn");
            let select = among(select, " WHERE id IN (", some.iter().copied())
                .then(" AND state IN ('done', 'failed', 'stopped')");
            for row in &self.sql.all(select).await? {
                ends.push(TurnEnd::read(row)?);
            }
        }
        Ok(ends)
    }
}

// Notes are counted apart, by their own small index: reading the kind of every entry would leave the index.
const COUNT: &str = "SELECT s.key AS key, COUNT(*) - (
        SELECT COUNT(*) FROM session_entry n
        WHERE n.session_id = s.id AND n.seq >= s.floor AND n.kind = 'note'
    ) AS count FROM session s
    JOIN session_entry e ON e.session_id = s.id AND e.seq >= s.floor";

fn count<'a>(head: &'static str, keys: impl Iterator<Item = &'a str>) -> Statement {
    among(Statement::new(head), " WHERE s.key IN (", keys).then(" GROUP BY s.key")
}

/// `head` and a list of values; there must be one.
fn among<'a>(
    mut statement: Statement,
    head: &'static str,
    values: impl Iterator<Item = &'a str>,
) -> Statement {
    let mut before = head;
    for value in values {
        statement = statement.then_with(before, value);
        before = ", ";
    }
    statement.then(")")
}

#[cfg(test)]
mod tests {
    use manyhands_core::AgentId;

    use super::*;
    use crate::sessions::{SessionChange, TurnRecord, TurnState};
    use crate::testing::TestHome;

    fn said() -> SessionChange {
        SessionChange::Append {
            turn: None,
            kind: "user",
            body: "{}".to_owned(),
        }
    }

    #[tokio::test]
    async fn messages_outside_of_the_context_are_not_counted() {
        let home = TestHome::new();
        let store = home.open().await;
        let sessions = store.sessions();
        let now = Timestamp(1);
        for (key, acts) in [
            ("agent:main:all", vec![said(), said(), said()]),
            (
                "agent:main:cut",
                vec![said(), said(), said(), SessionChange::Floor(2)],
            ),
            (
                "agent:main:noted",
                vec![
                    said(),
                    SessionChange::Append {
                        turn: None,
                        kind: "note",
                        body: "{}".to_owned(),
                    },
                ],
            ),
            (
                "agent:main:back",
                vec![said(), said(), said(), SessionChange::Truncate(1), said()],
            ),
            ("agent:main:none", vec![]),
        ] {
            let id = format!("id of {key}");
            let made = SessionRecord::new(key.to_owned(), id.clone(), AgentId::main(), now);
            sessions.create(&made).await.unwrap();
            sessions.commit(key, &id, acts, now).await.unwrap();
        }
        let listed = sessions.list(None, 500, 0).await.unwrap();
        let counts = sessions.shown_counts(&listed).await.unwrap();
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort();
        let expect = [
            ("agent:main:all".to_owned(), 3),
            ("agent:main:back".to_owned(), 2),
            ("agent:main:cut".to_owned(), 1),
            ("agent:main:noted".to_owned(), 1),
        ];
        assert_eq!(counts, expect);
        assert!(sessions.shown_counts(&[]).await.unwrap().is_empty());
        let noted = sessions.count_entries("id of agent:main:noted", 0).await;
        assert_eq!(noted.unwrap(), 1);
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn messages_are_counted_by_the_index_alone() {
        let home = TestHome::new();
        let store = home.open().await;
        let plan = "EXPLAIN QUERY PLAN SELECT s.key AS key, COUNT(*) - (
                SELECT COUNT(*) FROM session_entry n
                WHERE n.session_id = s.id AND n.seq >= s.floor AND n.kind = 'note'
            ) AS count FROM session s
            JOIN session_entry e ON e.session_id = s.id AND e.seq >= s.floor";
        let plan = count(plan, ["agent:main:a", "agent:main:b"].into_iter());
        let rows = store.sessions().sql.all(plan).await.unwrap();
        let steps: Vec<String> = rows.iter().map(|row| row.text("detail").unwrap()).collect();
        let text = steps.join("; ");
        assert!(text.contains("SEARCH e USING COVERING INDEX"), "{text}");
        assert!(
            text.contains("SEARCH n USING COVERING INDEX session_entry_note"),
            "{text}"
        );
        assert!(!text.contains("SCAN"), "{text}");
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn open_turns_have_no_end() {
        let home = TestHome::new();
        let store = home.open().await;
        let sessions = store.sessions();
        let (key, now) = ("agent:main:a", Timestamp(5));
        let made = SessionRecord::new(key.to_owned(), "i".to_owned(), AgentId::main(), now);
        sessions.create(&made).await.unwrap();
        for id in ["ended", "open"] {
            let turn = TurnRecord {
                id: id.to_owned(),
                session_key: key.to_owned(),
                run_id: id.to_owned(),
                state: TurnState::Queued,
                input: "{}".to_owned(),
                origin: "{}".to_owned(),
                work: "{}".to_owned(),
                outcome: None,
                created: now,
                started: None,
                ended: None,
            };
            sessions.enqueue(&turn, 9, None).await.unwrap();
        }
        let moved = |state, outcome: Option<&str>| SessionChange::Turn {
            id: "ended".to_owned(),
            state,
            work: None,
            outcome: outcome.map(str::to_owned),
        };
        let begun = vec![moved(TurnState::Running, None)];
        sessions.commit(key, "i", begun, now).await.unwrap();
        let done = vec![moved(TurnState::Done, Some("{}"))];
        let later = Timestamp(9);
        sessions.commit(key, "i", done, later).await.unwrap();
        let ends = sessions.turn_ends(&["ended", "open", "unknown"]).await;
        let end = TurnEnd {
            id: "ended".to_owned(),
            outcome: Some("{}".to_owned()),
            started: Some(now),
            ended: Some(later),
        };
        assert_eq!(ends.unwrap(), [end]);
        store.close().await.unwrap();
    }
}
