//! State of requests that ended with calls for their client to run, until it sends the results.

use manyhands_core::Timestamp;
use uuid::Uuid;

use crate::error::StoreError;
use crate::sql::{Sql, Statement};

/// How long one is retained, in milliseconds: a day.
const RETAINED_MS: i64 = 24 * 60 * 60 * 1_000;
/// How many a caller has at most; the oldest go first.
const PER_CALLER: i64 = 1_000;

/// The table of continuations. Clones share it.
#[derive(Debug, Clone)]
pub struct Continuations {
    sql: Sql,
}

impl Continuations {
    pub(crate) fn new(sql: Sql) -> Self {
        Self { sql }
    }

    /// Persists one for `caller`, and removes those that are too old or too many.
    pub async fn put(
        &self,
        id: Uuid,
        caller: &str,
        body: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let insert = Statement::new(
            "INSERT INTO continuation (id, caller, created, body) VALUES ($1, $2, $3, $4)",
        )
        .bind(id.to_string())
        .bind(caller)
        .bind(now)
        .bind(body);
        self.sql.run(insert).await?;
        // Removed with every insert, so that nothing else has to sweep this table.
        let old = Statement::new("DELETE FROM continuation WHERE created < $1")
            .bind(Timestamp(now.0 - RETAINED_MS));
        self.sql.run(old).await?;
        let too_many = Statement::new(
            "DELETE FROM continuation WHERE caller = $1 AND id IN
             (SELECT id FROM continuation WHERE caller = $1 ORDER BY created DESC, id LIMIT $2 OFFSET $3)",
        )
        .bind(caller)
        .bind(PER_CALLER)
        .bind(PER_CALLER);
        self.sql.run(too_many).await?;
        Ok(())
    }

    /// The body of one, if it is `caller`'s.
    pub async fn get(&self, id: Uuid, caller: &str) -> Result<Option<String>, StoreError> {
        // By caller too: knowing an id must not give access to the conversation of another caller.
        let select = Statement::new("SELECT body FROM continuation WHERE id = $1 AND caller = $2")
            .bind(id.to_string())
            .bind(caller);
        let rows = self.sql.all(select).await?;
        rows.first().map(|row| row.text("body")).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestHome;

    #[tokio::test]
    async fn one_is_read_by_its_caller_only_and_for_a_day() {
        let home = TestHome::new();
        let store = home.open().await;
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let continuations = store.continuations().clone();
        let now = Timestamp(1_000);
        continuations.put(one, "ann", "hers", now).await.unwrap();
        let read = |id, caller| {
            let continuations = continuations.clone();
            async move { continuations.get(id, caller).await.unwrap() }
        };
        assert_eq!(read(one, "ann").await.as_deref(), Some("hers"));
        assert_eq!(read(one, "bob").await, None);
        let later = Timestamp(now.0 + RETAINED_MS + 1);
        continuations.put(other, "bob", "his", later).await.unwrap();
        assert_eq!(read(one, "ann").await, None, "it is too old");
        assert_eq!(read(other, "bob").await.as_deref(), Some("his"));
    }

    #[tokio::test]
    async fn a_caller_has_a_bounded_number_and_the_oldest_go_first() {
        let home = TestHome::new();
        let store = home.open().await;
        let continuations = store.continuations().clone();
        let put = |number: i64, caller| {
            let (id, now) = (Uuid::from_u128(number as u128), Timestamp(number));
            let continuations = continuations.clone();
            async move { continuations.put(id, caller, "x", now).await.unwrap() }
        };
        put(1, "bob").await;
        for number in 2..=PER_CALLER + 3 {
            put(number, "ann").await;
        }
        let is_there = |number: u128, caller| {
            let continuations = continuations.clone();
            async move {
                let id = Uuid::from_u128(number);
                continuations.get(id, caller).await.unwrap().is_some()
            }
        };
        assert!(!is_there(2, "ann").await && !is_there(3, "ann").await);
        assert!(is_there(4, "ann").await, "the newest thousand stay");
        assert!(is_there(1, "bob").await, "others are not touched");
    }
}
