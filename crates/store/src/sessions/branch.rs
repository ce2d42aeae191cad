//! Copies the beginning of a session into a new one.

use super::Sessions;
use super::record::SessionRecord;
use crate::error::StoreError;
use crate::sql::Statement;

impl Sessions {
    /// Bytes of the entries of a session from `from` up to, but not including, `end`.
    pub async fn entry_bytes(
        &self,
        session_id: &str,
        from: i64,
        end: i64,
    ) -> Result<u64, StoreError> {
        let select =
            Statement::new("SELECT SUM(length(CAST(body AS BLOB))) AS bytes FROM session_entry")
                .then_with(" WHERE session_id = ", session_id)
                .then_with(" AND seq >= ", from)
                .then_with(" AND seq < ", end);
        let row = self.sql.one(select).await?;
        let bytes = row.map_or(Ok(None), |row| row.int_or_null("bytes"))?;
        Ok(u64::try_from(bytes.unwrap_or(0)).unwrap_or(0))
    }

    /// Creates the session `fresh` with the entries of `session_id` from the floor of `fresh` up to, but not including, its
    /// next entry; they keep their numbers. Refused as changed if the key is taken, or if the session was cleared or
    /// taken back beyond that meanwhile.
    pub async fn branch(&self, fresh: &SessionRecord, session_id: &str) -> Result<(), StoreError> {
        let mut tx = self.sql.begin().await?;
        let there = Statement::new("SELECT seq FROM session_entry")
            .then_with(" WHERE session_id = ", session_id)
            .then_with(" AND seq = ", fresh.next_seq);
        let is_there = tx.one(there).await?.is_some();
        if !is_there || tx.run(fresh.insert()?).await? == 0 {
            tx.abandon().await;
            return Err(StoreError::Changed {
                what: format!("the session {}", fresh.key),
            });
        }
        let copy = Statement::new(
            "INSERT INTO session_entry (session_id, seq, turn, kind, body, at)
             SELECT CAST($1 AS TEXT), seq, turn, kind, body, at FROM session_entry
             WHERE session_id = $2 AND seq >= $3 AND seq < $4",
        )
        .bind(fresh.id.as_str())
        .bind(session_id)
        .bind(fresh.floor)
        .bind(fresh.next_seq);
        tx.run(copy).await?;
        tx.commit().await?;
        self.index_backlog.session(&fresh.key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use manyhands_core::{AgentId, Timestamp};

    use super::*;
    use crate::sessions::SessionChange;
    use crate::testing::TestHome;

    #[tokio::test]
    async fn a_branch_has_the_entries_before_it_and_the_original_stays() {
        let home = TestHome::new();
        let store = home.open().await;
        let sessions = store.sessions();
        let (key, now) = ("agent:main:a", Timestamp(1));
        let made = SessionRecord::new(key.to_owned(), "a".to_owned(), AgentId::main(), now);
        sessions.create(&made).await.unwrap();
        let said = |body: &str| SessionChange::Append {
            turn: Some("t".to_owned()),
            kind: "user",
            body: body.to_owned(),
        };
        let acts = vec![said("0"), said("1"), said("2"), SessionChange::Floor(1)];
        sessions.commit(key, "a", acts, now).await.unwrap();
        let before = sessions.entries("a", 0, 9).await.unwrap();
        let fresh = |key: &str, id: &str, next_seq| SessionRecord {
            floor: 1,
            next_seq,
            ..SessionRecord::new(key.to_owned(), id.to_owned(), AgentId::main(), now)
        };
        sessions
            .branch(&fresh("agent:main:b", "b", 2), "a")
            .await
            .unwrap();
        let copied = sessions.entries("b", 0, 9).await.unwrap();
        assert_eq!(copied, before[1..2]);
        assert_eq!(sessions.entries("a", 0, 9).await.unwrap(), before);
        assert_eq!(sessions.entry_bytes("a", 1, 3).await.unwrap(), 2);
        for (key, id, next) in [("agent:main:b", "c", 2), ("agent:main:c", "c", 9)] {
            let refused = sessions.branch(&fresh(key, id, next), "a").await;
            assert!(
                matches!(refused, Err(StoreError::Changed { .. })),
                "{refused:?}"
            );
        }
        assert_eq!(sessions.count().await.unwrap(), 2);
        store.close().await.unwrap();
    }
}
