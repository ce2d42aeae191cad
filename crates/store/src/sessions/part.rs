//! Lists the sessions visible to a caller: those whose keys have a common prefix after the agent.

use manyhands_core::AgentId;

use super::Sessions;
use super::record::{SESSION_COLUMNS, SessionRecord};
use crate::error::StoreError;
use crate::sql::Statement;

/// Every agent that has a session. Each step of the recursion is one seek in the index; DISTINCT would read all of it.
const AGENTS: &str = "WITH RECURSIVE one (agent) AS (
        SELECT MIN(agent) FROM session
        UNION ALL
        SELECT (SELECT MIN(agent) FROM session WHERE session.agent > one.agent) FROM one
        WHERE one.agent IS NOT NULL
    )
    SELECT agent FROM one WHERE agent IS NOT NULL";
/// Key ranges per statement.
const RANGES: usize = 200;

impl Sessions {
    /// Sessions of one agent or all whose keys continue with `rest` after the agent, pinned ones first, then most recently
    /// active first, and their number. Reads only these, by ranges of keys. With `archived` only those that are or are not.
    pub async fn list_below(
        &self,
        rest: &str,
        agent: Option<&AgentId>,
        archived: Option<bool>,
        limit: u32,
        offset: u32,
    ) -> Result<(Vec<SessionRecord>, u64), StoreError> {
        let agents = match agent {
            Some(agent) => vec![agent.clone()],
            None => self.agents().await?,
        };
        let mut found = Vec::new();
        let mut count = 0;
        let wanted = u64::from(limit) + u64::from(offset);
        for some in agents.chunks(RANGES) {
            let ranges = Ranges {
                agents: some,
                rest,
                archived,
            };
            count += self.count_in(&ranges).await?;
            let select = ranges
                .of(SESSION_COLUMNS)
                .then(" ORDER BY pinned DESC, last_active DESC, key")
                .then_with(" LIMIT ", i64::try_from(wanted).unwrap_or(i64::MAX));
            for row in &self.sql.all(select).await? {
                found.push(SessionRecord::read(row)?);
            }
        }
        // Merged here: each statement sorted and limited only its own agents.
        let pinned = |one: &SessionRecord| one.arrangement.pinned;
        found.sort_by(|a, b| {
            let (first, second) = ((pinned(b), b.last_active), (pinned(a), a.last_active));
            first.cmp(&second).then_with(|| a.key.cmp(&b.key))
        });
        let page = found.into_iter().skip(offset as usize);
        Ok((page.take(limit as usize).collect(), count))
    }

    /// Sessions other than job runs, most recently active first.
    pub async fn list_conversations(
        &self,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<SessionRecord>, StoreError> {
        // The key goes on after `agent:NAME:`; a job's run is `cron:` there and nowhere else.
        let select = Statement::new(SESSION_COLUMNS)
            .then(" WHERE substr(key, length(agent) + 8, 5) <> 'cron:'")
            .then(" ORDER BY last_active DESC, key")
            .then_with(" LIMIT ", i64::from(limit))
            .then_with(" OFFSET ", i64::from(offset));
        let rows = self.sql.all(select).await?;
        rows.iter().map(SessionRecord::read).collect()
    }

    async fn count_in(&self, ranges: &Ranges<'_>) -> Result<u64, StoreError> {
        let select = ranges.of("SELECT COUNT(*) AS count FROM session");
        let row = self.sql.one(select).await?;
        let count = row.map_or(Ok(0), |row| row.int("count"))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// The agents that have sessions.
    async fn agents(&self) -> Result<Vec<AgentId>, StoreError> {
        let rows = self.sql.all(Statement::new(AGENTS)).await?;
        rows.iter().map(|row| row.parsed("agent")).collect()
    }
}

/// The keys of at least one agent that continue with `rest`.
struct Ranges<'a> {
    agents: &'a [AgentId],
    rest: &'a str,
    archived: Option<bool>,
}

impl Ranges<'_> {
    /// A select over these keys.
    fn of(&self, select: &'static str) -> Statement {
        let mut statement = Statement::new(select);
        let mut word = " WHERE ((key >= ";
        for agent in self.agents {
            let first = format!("agent:{agent}:{}", self.rest);
            statement = statement
                .then_with(word, first.as_str())
                .then_with(" AND key < ", after(&first))
                .then(")");
            word = " OR (key >= ";
        }
        // At least one agent, so the bracket was opened.
        let statement = statement.then(")");
        match self.archived {
            // The plus keeps the planner from preferring the index of all archived sessions to these ranges.
            Some(archived) => statement.then_with(" AND +archived = ", i64::from(archived)),
            None => statement,
        }
    }
}

/// The end of the range of texts that start with `prefix`; keys are ASCII.
fn after(prefix: &str) -> String {
    format!("{prefix}\u{7f}")
}

#[cfg(test)]
mod tests {
    use manyhands_core::Timestamp;

    use super::*;
    use crate::testing::TestHome;

    async fn add(sessions: &Sessions, key: &str, active: i64) {
        let agent = key.split(':').nth(1).unwrap().parse().unwrap();
        let id = format!("id of {key}");
        let made = SessionRecord::new(key.to_owned(), id, agent, Timestamp(active));
        sessions.create(&made).await.unwrap();
    }

    fn keys(found: &[SessionRecord]) -> Vec<&str> {
        found.iter().map(|one| one.key.as_str()).collect()
    }

    #[tokio::test]
    async fn visible_sessions_are_listed_by_page_and_no_others() {
        let home = TestHome::new();
        let store = home.open().await;
        let sessions = store.sessions();
        assert_eq!(
            sessions
                .list_below("client:ada:", None, None, 9, 0)
                .await
                .unwrap(),
            (Vec::new(), 0)
        );
        for (key, active) in [
            ("agent:main:client:ada:a", 1),
            ("agent:main:client:ada:b", 5),
            ("agent:other:client:ada:a", 3),
            ("agent:main:client:adam:a", 9),
            ("agent:main:client:ad:a", 9),
            ("agent:main:main", 9),
            ("agent:third:main", 9),
        ] {
            add(sessions, key, active).await;
        }
        let (all, count) = sessions
            .list_below("client:ada:", None, None, 9, 0)
            .await
            .unwrap();
        let own = [
            "agent:main:client:ada:b",
            "agent:other:client:ada:a",
            "agent:main:client:ada:a",
        ];
        assert_eq!((keys(&all), count), (own.to_vec(), 3));
        let (page, count) = sessions
            .list_below("client:ada:", None, None, 1, 1)
            .await
            .unwrap();
        assert_eq!((keys(&page), count), (own[1..2].to_vec(), 3));
        let other = "other".parse().unwrap();
        let (page, count) = sessions
            .list_below("client:ada:", Some(&other), None, 9, 0)
            .await
            .unwrap();
        assert_eq!((keys(&page), count), (own[1..2].to_vec(), 1));
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn only_its_own_keys_are_read() {
        let home = TestHome::new();
        let store = home.open().await;
        let sessions = store.sessions();
        add(sessions, "agent:main:client:ada:a", 1).await;
        let agents = [AgentId::main(), "other".parse().unwrap()];
        let ranges = Ranges {
            agents: &agents,
            rest: "client:ada:",
            archived: Some(false),
        };
        let plan = ranges.of("EXPLAIN QUERY PLAN SELECT COUNT(*) FROM session");
        let rows = sessions.sql.all(plan).await.unwrap();
        let steps: Vec<String> = rows.iter().map(|row| row.text("detail").unwrap()).collect();
        let text = steps.join("; ");
        assert!(text.contains("SEARCH session USING"), "{text}");
        assert!(!text.contains("SCAN"), "{text}");
        store.close().await.unwrap();
    }
}
