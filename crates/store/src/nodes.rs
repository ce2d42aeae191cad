//! Registered nodes, their pairing codes, and events of their background processes.

use manyhands_core::{NodeId, Timestamp, TokenId};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::error::StoreError;
use crate::hex;
use crate::sql::{Row, Sql, Statement};

/// How long events are retained: a node that reconnects within this time may resend them.
const EVENTS_RETAINED_MS: i64 = 24 * 3_600_000;
/// How long a start without an end is retained: it records who started the process, for events that come later.
const STARTS_RETAINED_MS: i64 = 31 * 24 * 3_600_000;

/// A registered node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRecord {
    /// Its name.
    pub id: NodeId,
    /// Its own token, if it has one.
    pub token: Option<TokenId>,
    /// Former names.
    pub former: Vec<NodeId>,
    /// Its operating system, as it reported.
    pub platform: String,
    /// Its version, as it reported.
    pub version: String,
    /// Capabilities of the machine.
    pub capabilities: Vec<String>,
    /// Its tools.
    pub tools: Vec<String>,
    /// First connection.
    pub first_seen: Timestamp,
    /// Last connect or disconnect.
    pub last_seen: Timestamp,
}

/// An event of a background process on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeProcessEvent {
    /// The node.
    pub node: NodeId,
    /// Id of the event; a repeated id is the same event.
    pub event_id: String,
    /// The process.
    pub session_id: String,
    /// Kind of event.
    pub event: String,
    /// The caller that started the process, if known.
    pub caller: Option<String>,
    /// The agent it was started for.
    pub agent: Option<String>,
    /// The session it was started in.
    pub session_key: Option<String>,
    /// The token it was started with.
    pub token: Option<String>,
    /// The complete event, as JSON.
    pub payload: String,
    /// When it arrived.
    pub at: Timestamp,
}

/// Records of nodes.
#[derive(Debug, Clone)]
pub struct Nodes {
    sql: Sql,
}

impl Nodes {
    pub(crate) fn new(sql: Sql) -> Self {
        Self { sql }
    }

    /// All nodes, by name.
    pub async fn list(&self) -> Result<Vec<NodeRecord>, StoreError> {
        let select = Statement::new(
            "SELECT id, token, former, platform, version, capabilities, tools, first_seen, last_seen
             FROM node ORDER BY id",
        );
        self.sql.all(select).await?.iter().map(record).collect()
    }

    /// Inserts or replaces records in one transaction.
    pub async fn put(&self, nodes: &[NodeRecord]) -> Result<(), StoreError> {
        if nodes.is_empty() {
            return Ok(());
        }
        let mut tx = self.sql.begin().await?;
        for node in nodes {
            tx.run(upsert(node)?).await?;
        }
        tx.commit().await
    }

    /// Stores a record under a new name and removes the old one, in one transaction.
    pub async fn rename(&self, old: &NodeId, node: &NodeRecord) -> Result<(), StoreError> {
        let mut tx = self.sql.begin().await?;
        tx.run(delete(old)).await?;
        tx.run(upsert(node)?).await?;
        tx.commit().await
    }

    /// Removes a node; whether there was one.
    pub async fn remove(&self, id: &NodeId) -> Result<bool, StoreError> {
        Ok(self.sql.run(delete(id)).await? > 0)
    }

    /// Stores a code that registers its bearer as the node `id`, once, before `expires`.
    pub async fn add_code(
        &self,
        code: &str,
        id: &NodeId,
        now: Timestamp,
        expires: Timestamp,
    ) -> Result<(), StoreError> {
        let insert = Statement::new(
            "INSERT INTO node_code (hash, node, created, expires) VALUES ($1, $2, $3, $4)",
        )
        .bind(hash(code))
        .bind(id.as_str())
        .bind(now)
        .bind(expires);
        self.sql.run(insert).await.map(drop)
    }

    /// Uses up a code; returns its node if the code was valid.
    pub async fn redeem_code(
        &self,
        code: &str,
        now: Timestamp,
    ) -> Result<Option<NodeId>, StoreError> {
        // Anybody may send wrong codes: they cost a look-up and do not queue for the writer.
        let known = Statement::new("SELECT 1 FROM node_code WHERE hash = $1").bind(hash(code));
        if self.sql.one(known).await?.is_none() {
            return Ok(None);
        }
        let mut tx = self.sql.begin().await?;
        let update = Statement::new(
            // Checked and used in one statement, so that a code registers one node however many send it.
            "UPDATE node_code SET used = $1 WHERE hash = $2 AND used IS NULL AND expires > $1",
        )
        .bind(now)
        .bind(hash(code));
        if tx.run(update).await? == 0 {
            tx.abandon().await;
            return Ok(None);
        }
        let select = Statement::new("SELECT node FROM node_code WHERE hash = $1").bind(hash(code));
        let row = tx.one(select).await?;
        tx.commit().await?;
        row.map(|row| row.parsed("node")).transpose()
    }

    /// Stores an event; false if it is known. Fills in who started the process from earlier events if this one lacks it.
    pub async fn record_event(&self, news: &mut NodeProcessEvent) -> Result<bool, StoreError> {
        let mut tx = self.sql.begin().await?;
        if news.caller.is_none() {
            let select = Statement::new(
                "SELECT caller, agent, session_key, token FROM node_news
                 WHERE node = $1 AND session_id = $2 AND caller IS NOT NULL",
            )
            .bind(news.node.as_str())
            .bind(news.session_id.as_str());
            if let Some(row) = tx.one(select).await? {
                news.caller = row.text_or_null("caller")?;
                news.agent = row.text_or_null("agent")?;
                news.session_key = row.text_or_null("session_key")?;
                news.token = row.text_or_null("token")?;
            }
        }
        let insert = Statement::new(
            "INSERT INTO node_news (node, event_id, session_id, event, caller, agent, payload, at,
                 session_key, token)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT (node, event_id) DO NOTHING",
        )
        .bind(news.node.as_str())
        .bind(news.event_id.as_str())
        .bind(news.session_id.as_str())
        .bind(news.event.as_str())
        .bind(news.caller.clone())
        .bind(news.agent.clone())
        .bind(news.payload.as_str())
        .bind(news.at)
        .bind(news.session_key.clone())
        .bind(news.token.clone());
        let new = tx.run(insert).await? > 0;
        tx.commit().await?;
        Ok(new)
    }

    /// The latest events, latest first.
    pub async fn events(&self, limit: u32) -> Result<Vec<NodeProcessEvent>, StoreError> {
        let select = Statement::new(
            "SELECT node, event_id, session_id, event, caller, agent, payload, at, session_key, token
             FROM node_news ORDER BY at DESC, event_id DESC",
        )
        .then_with(" LIMIT ", i64::from(limit));
        let rows = self.sql.all(select).await?;
        rows.iter().map(news).collect()
    }

    /// Removes expired codes and old events.
    pub async fn sweep(&self, now: Timestamp) -> Result<(), StoreError> {
        let codes = Statement::new("DELETE FROM node_code WHERE expires < $1")
            .bind(now.0.saturating_sub(EVENTS_RETAINED_MS));
        self.sql.run(codes).await?;
        let news = Statement::new(
            // Starts stay longer: they alone say who started a process that may end weeks later.
            "DELETE FROM node_news WHERE at < $1 AND (event <> 'started' OR at < $2)",
        )
        .bind(now.0.saturating_sub(EVENTS_RETAINED_MS))
        .bind(now.0.saturating_sub(STARTS_RETAINED_MS));
        self.sql.run(news).await.map(drop)
    }
}

/// A code has enough random bits that an unsalted hash cannot be reversed.
fn hash(code: &str) -> String {
    hex::encode(&Sha256::digest(code.as_bytes()))
}

fn delete(id: &NodeId) -> Statement {
    Statement::new("DELETE FROM node WHERE id = $1").bind(id.as_str())
}

fn upsert(node: &NodeRecord) -> Result<Statement, StoreError> {
    Ok(Statement::new(
        "INSERT INTO node (id, token, former, platform, version, capabilities, tools, first_seen, last_seen)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (id) DO UPDATE SET token = $2, former = $3, platform = $4, version = $5,
             capabilities = $6, tools = $7, last_seen = $9",
    )
    .bind(node.id.as_str())
    .bind(node.token.map(|token| token.to_string()))
    .bind(list(&node.former)?)
    .bind(node.platform.as_str())
    .bind(node.version.as_str())
    .bind(list(&node.capabilities)?)
    .bind(list(&node.tools)?)
    .bind(node.first_seen)
    .bind(node.last_seen))
}

fn list(items: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(items).map_err(|error| StoreError::invalid(error.to_string()))
}

fn record(row: &Row) -> Result<NodeRecord, StoreError> {
    let id: NodeId = row.parsed("id")?;
    let damaged = || {
        StoreError::corrupt(format!(
            "the record of node {id} is damaged: forget it and let it connect again"
        ))
    };
    let texts = |column| -> Result<Vec<String>, StoreError> {
        serde_json::from_str(&row.text(column)?).map_err(|_| damaged())
    };
    let token = row.text_or_null("token")?;
    let token = token.map(|token| token.parse()).transpose();
    Ok(NodeRecord {
        token: token.map_err(|_| damaged())?,
        former: serde_json::from_str(&row.text("former")?).map_err(|_| damaged())?,
        platform: row.text("platform")?,
        version: row.text("version")?,
        capabilities: texts("capabilities")?,
        tools: texts("tools")?,
        first_seen: Timestamp(row.int("first_seen")?),
        last_seen: Timestamp(row.int("last_seen")?),
        id,
    })
}

fn news(row: &Row) -> Result<NodeProcessEvent, StoreError> {
    Ok(NodeProcessEvent {
        node: row.parsed("node")?,
        event_id: row.text("event_id")?,
        session_id: row.text("session_id")?,
        event: row.text("event")?,
        caller: row.text_or_null("caller")?,
        agent: row.text_or_null("agent")?,
        session_key: row.text_or_null("session_key")?,
        token: row.text_or_null("token")?,
        payload: row.text("payload")?,
        at: Timestamp(row.int("at")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestHome;

    fn id(text: &str) -> NodeId {
        text.parse().unwrap()
    }

    fn node(name: &str) -> NodeRecord {
        NodeRecord {
            id: id(name),
            token: None,
            former: Vec::new(),
            platform: "linux-x64".to_owned(),
            version: "1".to_owned(),
            capabilities: vec!["shell.exec".to_owned()],
            tools: vec!["Bash".to_owned()],
            first_seen: Timestamp(1),
            last_seen: Timestamp(1),
        }
    }

    #[tokio::test]
    async fn a_record_keeps_when_it_was_first_seen() {
        let home = TestHome::new();
        let store = home.open().await;
        let nodes = store.nodes();
        nodes.put(&[node("b"), node("a")]).await.unwrap();
        let again = NodeRecord {
            first_seen: Timestamp(5),
            last_seen: Timestamp(5),
            ..node("a")
        };
        nodes.put(std::slice::from_ref(&again)).await.unwrap();
        let expect = NodeRecord {
            first_seen: Timestamp(1),
            ..again
        };
        assert_eq!(nodes.list().await.unwrap(), [expect, node("b")]);
        let renamed = NodeRecord {
            former: vec![id("b")],
            ..node("c")
        };
        nodes.rename(&id("b"), &renamed).await.unwrap();
        assert_eq!(nodes.list().await.unwrap()[1], renamed);
        assert!(nodes.remove(&id("c")).await.unwrap());
        assert!(!nodes.remove(&id("c")).await.unwrap());
    }

    #[tokio::test]
    async fn a_code_is_valid_once_until_it_expires() {
        let home = TestHome::new();
        let store = home.open().await;
        let nodes = store.nodes();
        let (made, end) = (Timestamp(1_000), Timestamp(2_000));
        nodes.add_code("one", &id("a"), made, end).await.unwrap();
        nodes.add_code("late", &id("b"), made, end).await.unwrap();
        assert_eq!(nodes.redeem_code("other", made).await.unwrap(), None);
        assert_eq!(nodes.redeem_code("one", made).await.unwrap(), Some(id("a")));
        assert_eq!(nodes.redeem_code("one", made).await.unwrap(), None);
        assert_eq!(nodes.redeem_code("late", end).await.unwrap(), None);
    }

    #[tokio::test]
    async fn process_events_are_stored_once_and_keep_who_started_the_process() {
        let home = TestHome::new();
        let store = home.open().await;
        let nodes = store.nodes();
        let news = |event_id: &str, caller: Option<&str>, event: &str, at| NodeProcessEvent {
            node: id("a"),
            event_id: event_id.to_owned(),
            session_id: "s".to_owned(),
            event: event.to_owned(),
            caller: caller.map(str::to_owned),
            agent: caller.map(|_| "main".to_owned()),
            session_key: caller.map(|_| "agent:main:main".to_owned()),
            token: None,
            payload: "{}".to_owned(),
            at: Timestamp(at),
        };
        let day = 24 * 3_600_000;
        let mut started = news("1", Some("owner:x"), "started", 0);
        assert!(nodes.record_event(&mut started).await.unwrap());
        assert!(!nodes.record_event(&mut started).await.unwrap());
        nodes.sweep(Timestamp(2 * day)).await.unwrap();
        let mut finished = news("2", None, "finished", 2 * day);
        assert!(nodes.record_event(&mut finished).await.unwrap());
        assert_eq!(finished.caller.as_deref(), Some("owner:x"));
        assert_eq!(finished.agent.as_deref(), Some("main"));
        assert_eq!(finished.session_key.as_deref(), Some("agent:main:main"));
        assert_eq!(nodes.events(1).await.unwrap(), [finished]);
        nodes.sweep(Timestamp(40 * day)).await.unwrap();
        assert_eq!(nodes.events(9).await.unwrap(), []);
    }
}
