//! Search for messages that are part of conversations now, as somebody types.

use manyhands_core::{AgentId, Timestamp};

use super::Memory;
use crate::error::StoreError;
use crate::sql::{Row, Statement, text_search};

/// Candidates read per wanted result where the index can only narrow the search down.
const CANDIDATES: u32 = 8;

/// Whose messages are searched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageScope {
    /// Only sessions of this agent.
    pub agent: Option<AgentId>,
    /// Only sessions whose keys continue with this after the agent.
    pub rest: Option<String>,
}

/// A message that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageHit {
    /// The key of the session.
    pub session_key: String,
    /// What the user or a model called the session.
    pub title: Option<String>,
    /// Its number in the session.
    pub seq: i64,
    /// The role of its author.
    pub role: String,
    /// When.
    pub at: Timestamp,
    /// Its text.
    pub text: String,
}

impl Memory {
    /// Messages with all words of the question, the best first; the last word may be the beginning of one. Only messages
    /// that are still part of their session are found.
    pub async fn search_messages(
        &self,
        question: &str,
        scope: &MessageScope,
        limit: u32,
    ) -> Result<Vec<MessageHit>, StoreError> {
        let asked = text_search::words(question);
        let Some(last) = asked.last() else {
            return Ok(Vec::new());
        };
        let owners: Vec<String> = scope.agent.iter().map(ToString::to_string).collect();
        let text = text_search::typed_query(&asked, &owners);
        let mut found = self.hits(text, scope, limit).await?;
        // The index holds the stems of words. The beginning of a word that is longer than its stem matches none, so the
        // words that begin alike are read and compared.
        if found.len() < limit as usize
            && let Some(text) = text_search::shorter_query(&asked, &owners)
        {
            let begins = |hit: &MessageHit| {
                let words = hit.text.split(|c: char| !c.is_alphanumeric());
                words
                    .map(str::to_lowercase)
                    .any(|word| word.starts_with(last))
            };
            for hit in self
                .hits(text, scope, limit.saturating_mul(CANDIDATES))
                .await?
            {
                let known =
                    |one: &MessageHit| (one.seq, &one.session_key) == (hit.seq, &hit.session_key);
                if found.len() < limit as usize && begins(&hit) && !found.iter().any(known) {
                    found.push(hit);
                }
            }
        }
        Ok(found)
    }

    async fn hits(
        &self,
        text: String,
        scope: &MessageScope,
        limit: u32,
    ) -> Result<Vec<MessageHit>, StoreError> {
        let mut select = Statement::new(
            "SELECT p.place AS place, COALESCE(s.label, s.title) AS title, p.seq AS seq, p.role AS role,
                 p.body AS body, p.at AS at
             FROM memory_words JOIN memory_piece p ON p.id = memory_words.rowid
                 JOIN session s ON s.key = p.place AND s.id = p.session_id",
        )
        .then_with(" WHERE memory_words MATCH ", text)
        .then(" AND p.source = 'session' AND p.seq >= s.floor")
        .then(" AND EXISTS (SELECT 1 FROM session_entry e WHERE e.session_id = s.id AND e.seq = p.seq)");
        if let Some(agent) = &scope.agent {
            select = select.then_with(" AND p.agent = ", agent.as_str());
        }
        if let Some(rest) = &scope.rest {
            let length = i64::try_from(rest.chars().count()).unwrap_or(i64::MAX);
            // The key goes on after `agent:NAME:`.
            select = select
                .then_with(" AND substr(p.place, length(p.agent) + 8, ", length)
                .then_with(") = ", rest.as_str());
        }
        let select = select
            .then(" ORDER BY bm25(memory_words, 0.0, 1.0), p.at DESC, p.id")
            .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &Row) -> Result<MessageHit, StoreError> {
    Ok(MessageHit {
        session_key: row.text("place")?,
        title: row.text_or_null("title")?,
        seq: row.int("seq")?,
        role: row.text("role")?,
        at: Timestamp(row.int("at")?),
        text: row.text("body")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{IndexMark, Piece, PieceSource};
    use crate::sessions::{SessionChange, SessionRecord};
    use crate::testing::TestHome;

    #[tokio::test]
    async fn the_beginning_of_the_last_word_is_found_where_it_may_be_seen() {
        let home = TestHome::new();
        let store = home.open().await;
        let sessions = store.sessions();
        let memory = sessions.memory();
        for (key, texts) in [
            (
                "agent:main:main",
                &["the teapot is searching", "a blue teapot"][..],
            ),
            ("agent:main:client:ada:a", &["searching for teapots"]),
            ("agent:helper:client:ada:b", &["no teapot here"]),
        ] {
            let agent: AgentId = key.split(':').nth(1).unwrap().parse().unwrap();
            let id = format!("id of {key}");
            let mut made =
                SessionRecord::new(key.to_owned(), id.clone(), agent.clone(), Timestamp(1));
            made.title = Some(format!("about {key}"));
            sessions.create(&made).await.unwrap();
            let said = SessionChange::Append {
                turn: None,
                kind: "user",
                body: "{}".to_owned(),
            };
            let acts = vec![said; texts.len()];
            sessions.commit(key, &id, acts, Timestamp(1)).await.unwrap();
            let pieces: Vec<Piece> = texts
                .iter()
                .zip(0..)
                .map(|(text, seq)| Piece {
                    agent: agent.clone(),
                    source: PieceSource::Session,
                    location: key.to_owned(),
                    session_id: Some(id.clone()),
                    turn: None,
                    seq,
                    role: "user".to_owned(),
                    text: (*text).to_owned(),
                    at: Timestamp(seq),
                })
                .collect();
            memory
                .add(&IndexMark::session(&id, 9), &pieces)
                .await
                .unwrap();
        }
        let all = MessageScope::default();
        let ada = MessageScope {
            rest: Some("client:ada:".to_owned()),
            ..all.clone()
        };
        let helper = MessageScope {
            agent: Some("helper".parse().unwrap()),
            ..all.clone()
        };
        for (question, scope, count) in [
            ("teapot", &all, 4),
            ("tea", &all, 4),
            ("te", &all, 4),
            ("blue tea", &all, 1),
            ("tea blue", &all, 0),
            ("teapot blue", &all, 1),
            ("searchi", &all, 2),
            ("searchin", &all, 2),
            ("searchings", &all, 2),
            ("searchix", &all, 0),
            ("teapot search", &ada, 1),
            ("teapot", &ada, 2),
            ("teapot", &helper, 1),
            ("blue coffee", &all, 0),
            ("!", &all, 0),
        ] {
            let found = memory.search_messages(question, scope, 9).await.unwrap();
            assert_eq!(found.len(), count, "{question}: {found:?}");
        }
        let found = memory.search_messages("blue", &all, 9).await.unwrap();
        assert_eq!(found[0].title.as_deref(), Some("about agent:main:main"));
        assert_eq!((found[0].seq, found[0].text.as_str()), (1, "a blue teapot"));
        assert_eq!(
            memory.search_messages("tea", &all, 3).await.unwrap().len(),
            3
        );

        // What was taken back or archived is in the index, but no longer in the session.
        let back = vec![SessionChange::Truncate(1)];
        let committed = sessions.commit(
            "agent:main:main",
            "id of agent:main:main",
            back,
            Timestamp(2),
        );
        committed.await.unwrap();
        assert!(
            memory
                .search_messages("blue", &all, 9)
                .await
                .unwrap()
                .is_empty()
        );
        store.close().await.unwrap();
    }
}
