//! Removes sessions of sub-agents and job runs, of which only the cost is retained.

use manyhands_core::Timestamp;

use super::Sessions;
use super::record::{SESSION_COLUMNS, SessionRecord};
use crate::error::StoreError;
use crate::sql::Statement;

impl Sessions {
    /// Sessions of sub-agents and job runs without messages since `before`, longest idle first.
    pub async fn idle_subsessions(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<SessionRecord>, StoreError> {
        let select = Statement::new(SESSION_COLUMNS)
            .then_with(" WHERE last_active < ", before)
            .then(" AND (key LIKE 'agent:' || agent || ':sub:%' OR key LIKE 'agent:' || agent || ':cron:%')")
            .then(" ORDER BY last_active, key")
            .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        rows.iter().map(SessionRecord::read).collect()
    }

    /// Removes a session with its messages and turns, none of which may be open. Its usage is added to that of the key
    /// `heir`. Whether it existed.
    pub async fn remove(&self, key: &str, heir: &str) -> Result<bool, StoreError> {
        let mut tx = self.sql.begin().await?;
        let open = Statement::new("SELECT id FROM turn")
            .then_with(" WHERE session_key = ", key)
            .then(" AND state IN ('queued', 'running', 'waiting') LIMIT 1");
        if tx.one(open).await?.is_some() {
            tx.abandon().await;
            return Err(StoreError::Changed {
                what: format!("the session {key}"),
            });
        }
        for text in [
            "DELETE FROM session_entry
             WHERE session_id = (SELECT id FROM session WHERE key = $1)",
            "DELETE FROM turn_call WHERE turn IN (SELECT id FROM turn WHERE session_key = $1)",
            "DELETE FROM turn WHERE session_key = $1",
        ] {
            tx.run(Statement::new(text).bind(key)).await?;
        }
        // Added to the rows of the heir instead of renaming them: both may have used the same model on the same
        // day.
        let inherit = Statement::new(
            "INSERT INTO model_usage (day, agent, session_key, model, calls, input_tokens,
                 output_tokens, cache_read_tokens, cache_write_tokens, cost_micros)
             SELECT day, agent, CAST($2 AS TEXT), model, calls, input_tokens,
                 output_tokens, cache_read_tokens, cache_write_tokens, cost_micros
             FROM model_usage WHERE session_key = $1
             ON CONFLICT (day, agent, session_key, model) DO UPDATE SET
                 calls = model_usage.calls + excluded.calls,
                 input_tokens = model_usage.input_tokens + excluded.input_tokens,
                 output_tokens = model_usage.output_tokens + excluded.output_tokens,
                 cache_read_tokens = model_usage.cache_read_tokens + excluded.cache_read_tokens,
                 cache_write_tokens = model_usage.cache_write_tokens + excluded.cache_write_tokens,
                 cost_micros = model_usage.cost_micros + excluded.cost_micros",
        )
        .bind(key)
        .bind(heir);
        tx.run(inherit).await?;
        let spent = Statement::new("DELETE FROM model_usage WHERE session_key = $1").bind(key);
        tx.run(spent).await?;
        let removed = tx
            .run(Statement::new("DELETE FROM session WHERE key = $1").bind(key))
            .await?;
        tx.commit().await?;
        Ok(removed > 0)
    }
}

#[cfg(test)]
mod tests {
    use manyhands_core::{AgentId, Timestamp};

    use crate::sessions::{SessionChange, SessionRecord, TurnRecord, TurnState, Usage};
    use crate::testing::TestHome;
    use crate::{Store, StoreError};

    /// A session with one open turn, something said and something used up.
    async fn used(store: &Store, key: &str) {
        let sessions = store.sessions();
        let (id, now) = (format!("id of {key}"), Timestamp(1));
        let session = SessionRecord::new(key.to_owned(), id.clone(), AgentId::main(), now);
        sessions.create(&session).await.unwrap();
        let turn = TurnRecord {
            id: format!("turn of {key}"),
            session_key: key.to_owned(),
            run_id: "r".to_owned(),
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
        let said = SessionChange::Append {
            turn: None,
            kind: "user",
            body: "{}".to_owned(),
        };
        let spent = SessionChange::Spend(Usage {
            day: "2026-11-15".to_owned(),
            model: "a/b".to_owned(),
            input_tokens: 7,
            ..Usage::default()
        });
        sessions
            .commit(key, &id, vec![said, spent], now)
            .await
            .unwrap();
    }

    async fn ended(store: &Store, key: &str) {
        let act = SessionChange::Turn {
            id: format!("turn of {key}"),
            state: TurnState::Done,
            work: None,
            outcome: None,
        };
        let (id, now) = (format!("id of {key}"), Timestamp(2));
        let done = store.sessions().commit(key, &id, vec![act], now);
        done.await.unwrap();
    }

    #[tokio::test]
    async fn only_the_usage_of_a_session_outlives_it() {
        let home = TestHome::new();
        let store = home.open().await;
        let sessions = store.sessions();
        for key in ["agent:main:a", "agent:main:b", "agent:main:stays"] {
            used(&store, key).await;
        }
        let busy = sessions.remove("agent:main:a", "agent:main:heir").await;
        assert!(matches!(busy, Err(StoreError::Changed { .. })), "{busy:?}");
        assert_eq!(sessions.count().await.unwrap(), 3, "nothing was removed");
        for key in ["agent:main:a", "agent:main:b"] {
            ended(&store, key).await;
            assert!(sessions.remove(key, "agent:main:heir").await.unwrap());
            assert!(!sessions.remove(key, "agent:main:heir").await.unwrap());
            let turn = sessions.turn(&format!("turn of {key}")).await.unwrap();
            assert_eq!(turn, None);
            let said = sessions.entries(&format!("id of {key}"), 0, 10).await;
            assert_eq!(said.unwrap(), []);
        }
        let used = sessions.usage("2026-01-01").await.unwrap();
        let used = used
            .iter()
            .map(|r| (r.session_key.as_str(), r.calls, r.usage.input_tokens));
        let left = [("agent:main:heir", 2, 14), ("agent:main:stays", 1, 7)];
        assert_eq!(used.collect::<Vec<_>>(), left);
        let stays = sessions.entries("id of agent:main:stays", 0, 10).await;
        assert_eq!(stays.unwrap().len(), 1);
        store.close().await.unwrap();
    }
}
