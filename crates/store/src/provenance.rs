//! Marks of objects written under the influence of untrusted text, until the owner trusts them or they are deleted.
//!
//! Marks are few and needed for every file that is read, so they are held in memory and written through.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use manyhands_core::{Taint, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::sql::{Sql, Statement};

/// What kind of object a mark is about.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// A file of a workspace; its id is the key in the blob store.
    File,
    /// A spawned agent.
    Agent,
}

impl ObjectKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Agent => "agent",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::File, Self::Agent]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// That an object was written by `author` after reading `source`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaintMark {
    /// What kind of object.
    pub kind: ObjectKind,
    /// Which one.
    pub id: String,
    /// Who wrote it.
    pub author: String,
    /// The untrusted text that was read before.
    pub source: String,
    /// When.
    pub at: Timestamp,
}

type Marks = BTreeMap<(ObjectKind, String), TaintMark>;

/// The marks. Clones share them.
#[derive(Debug, Clone)]
pub struct Provenance {
    sql: Sql,
    marks: Arc<RwLock<Marks>>,
}

impl Provenance {
    /// Loads the marks.
    pub(crate) async fn open(sql: Sql) -> Result<Self, StoreError> {
        let rows = sql
            .all(Statement::new(
                "SELECT kind, id, author, source, at FROM provenance",
            ))
            .await?;
        let mut marks = Marks::new();
        for row in rows {
            let Some(kind) = ObjectKind::parse(&row.text("kind")?) else {
                continue; // of a kind that only a newer version knows
            };
            let id = row.text("id")?;
            let mark = TaintMark {
                kind,
                id: id.clone(),
                author: row.text("author")?,
                source: row.text("source")?,
                at: Timestamp(row.int("at")?),
            };
            marks.insert((kind, id), mark);
        }
        Ok(Self {
            sql,
            marks: Arc::new(RwLock::new(marks)),
        })
    }

    /// What tainted an object.
    pub fn taint(&self, kind: ObjectKind, id: &str) -> Taint {
        let marks = self.marks.read().expect("no panic while held");
        let mark = marks.get(&(kind, id.to_owned()));
        mark.map_or(Taint::NONE, |mark| Taint::by(&mark.source))
    }

    /// What tainted any object whose id starts with `prefix`.
    pub fn taint_below(&self, kind: ObjectKind, prefix: &str) -> Taint {
        let marks = self.marks.read().expect("no panic while held");
        let mut below = marks.range((kind, prefix.to_owned())..);
        let first = below
            .next()
            .filter(|((of, id), _)| *of == kind && id.starts_with(prefix));
        first.map_or(Taint::NONE, |(_, mark)| Taint::by(&mark.source))
    }

    /// Every mark.
    pub fn list(&self) -> Vec<TaintMark> {
        let marks = self.marks.read().expect("no panic while held");
        marks.values().cloned().collect()
    }

    /// Marks an object. To be called before it is written: after a crash in between, an object that
    /// did not change is marked, never one that did change left unmarked.
    pub async fn mark(&self, mark: TaintMark) -> Result<(), StoreError> {
        let insert = Statement::new(
            "INSERT INTO provenance (kind, id, author, source, at) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (kind, id) DO UPDATE SET author = $3, source = $4, at = $5",
        )
        .bind(mark.kind.as_str())
        .bind(mark.id.as_str())
        .bind(mark.author.as_str())
        .bind(mark.source.as_str())
        .bind(mark.at);
        self.sql.run(insert).await?;
        // After the disk: a mark that is only in memory would be lost by a restart, and the object be trusted.
        let mut marks = self.marks.write().expect("no panic while held");
        marks.insert((mark.kind, mark.id.clone()), mark);
        Ok(())
    }

    /// Removes the mark of an object that the owner trusts, that was rewritten by somebody trusted,
    /// or that is gone; whether there was one.
    pub async fn clear(&self, kind: ObjectKind, id: &str) -> Result<bool, StoreError> {
        let key = (kind, id.to_owned());
        // Almost every write clears nothing; without this look at the memory each would wait for the disk.
        if !self
            .marks
            .read()
            .expect("no panic while held")
            .contains_key(&key)
        {
            return Ok(false);
        }
        let delete = Statement::new("DELETE FROM provenance WHERE kind = $1 AND id = $2")
            .bind(kind.as_str())
            .bind(id);
        self.sql.run(delete).await?;
        self.marks
            .write()
            .expect("no panic while held")
            .remove(&key);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestHome;

    fn mark(id: &str) -> TaintMark {
        TaintMark {
            kind: ObjectKind::File,
            id: id.to_owned(),
            author: "agent:main".to_owned(),
            source: "tool:web_fetch".to_owned(),
            at: Timestamp(1),
        }
    }

    #[tokio::test]
    async fn a_mark_stays_until_it_is_cleared_also_over_a_restart() {
        let home = TestHome::new();
        let store = home.open().await;
        let marks = store.provenance();
        marks.mark(mark("agents/main/a.md")).await.unwrap();
        marks.mark(mark("agents/main/b.md")).await.unwrap();
        assert!(
            marks
                .taint(ObjectKind::File, "agents/main/a.md")
                .is_tainted()
        );
        assert!(
            !marks
                .taint(ObjectKind::Agent, "agents/main/a.md")
                .is_tainted()
        );
        assert!(
            !marks
                .taint(ObjectKind::File, "agents/main/c.md")
                .is_tainted()
        );
        assert!(
            marks
                .taint_below(ObjectKind::File, "agents/main/")
                .is_tainted()
        );
        assert!(
            !marks
                .taint_below(ObjectKind::File, "agents/other/")
                .is_tainted()
        );
        assert!(
            marks
                .clear(ObjectKind::File, "agents/main/a.md")
                .await
                .unwrap()
        );
        assert!(
            !marks
                .clear(ObjectKind::File, "agents/main/a.md")
                .await
                .unwrap()
        );
        store.close().await.unwrap();
        let store = home.open().await;
        let left = store.provenance().list();
        assert_eq!(left, [mark("agents/main/b.md")]);
    }
}
