//! Documents, and the search in them.

use manyhands_core::{CallId, CollectionId, Timestamp};

use super::passages::passages;
use super::{CollectionLimits, Collections, book};
use crate::error::StoreError;
use crate::sql::{Param, Row, Statement, in_groups};

/// The most words of a question that are looked for.
const MAX_WORDS: usize = 32;

/// A document to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// Its id: a document of this id is replaced; a fresh one when not given.
    pub id: Option<String>,
    /// Its title.
    pub title: String,
    /// Where it comes from.
    pub source: String,
    /// Its text.
    pub text: String,
}

/// What is known of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeDocument {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Where it comes from.
    pub source: String,
    /// Size of its text in bytes.
    pub size: u64,
    /// When it was first added.
    pub created: Timestamp,
    /// When it was last added.
    pub updated: Timestamp,
}

/// A search result.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Its document.
    pub document: String,
    /// The document's title.
    pub title: String,
    /// Where that comes from.
    pub source: String,
    /// Its position in the document, from 0.
    pub place: u64,
    /// Its text.
    pub text: String,
    /// Its relevance; higher is better.
    pub score: f64,
}

const COLUMNS: &str = "SELECT id, title, source, size, created, updated FROM knowledge_document";

fn document(row: &Row) -> Result<KnowledgeDocument, StoreError> {
    Ok(KnowledgeDocument {
        id: row.text("id")?,
        title: row.text("title")?,
        source: row.text("source")?,
        size: u64::try_from(row.int("size")?).unwrap_or(0),
        created: Timestamp(row.int("created")?),
        updated: Timestamp(row.int("updated")?),
    })
}

impl Collections {
    /// Adds or replaces a document; whether it is new.
    pub async fn put_document(
        &self,
        id: CollectionId,
        new: NewDocument,
        room: CollectionLimits,
    ) -> Result<(KnowledgeDocument, bool), StoreError> {
        let key = new
            .id
            .unwrap_or_else(|| self.ids.next::<CallId>().to_string());
        if !(1..=128).contains(&key.len()) || key.chars().any(char::is_control) {
            let what = "an id of a document has 1-128 bytes and no control characters";
            return Err(StoreError::invalid(what));
        }
        let now = self.clock.now();
        let size = i64::try_from(new.text.len()).map_err(|_| StoreError::Full)?;
        let mut tx = self.sql.begin().await?;
        let outcome = async {
            // Deleted and inserted again: the passages of the old text go with the document, and the triggers keep
            // the index in step.
            let old = Statement::new("DELETE FROM knowledge_document")
                .then_with(" WHERE collection = ", id.to_string())
                .then_with(" AND id = ", key.as_str())
                .then(" RETURNING size, created");
            let old = tx.one(old).await?;
            let (items, freed, created) = match &old {
                Some(row) => (0, row.int("size")?, Timestamp(row.int("created")?)),
                None => (1, 0, now),
            };
            book(&mut tx, id, items, size - freed, now, Some(room)).await?;
            let insert = Statement::new(
                "INSERT INTO knowledge_document (collection, id, title, source, size, created, updated)
                 VALUES ($1, $2, $3, $4, $5, $6, $7)",
            );
            let insert = insert.bind(id.to_string()).bind(key.as_str());
            let insert = insert.bind(new.title.as_str()).bind(new.source.as_str());
            tx.run(insert.bind(size).bind(created).bind(now)).await?;
            let numbered = passages(&new.text).into_iter().zip(0_i64..).collect();
            for group in in_groups(numbered) {
                let rows = group.into_iter().map(|(text, place): (&str, i64)| -> [Param; 5] {
                    let (collection, title) = (id.to_string(), new.title.as_str());
                    [collection.into(), key.as_str().into(), place.into(), title.into(), text.into()]
                });
                let insert = Statement::many(
                    "INSERT INTO knowledge_passage (collection, document, place, title, body) VALUES",
                    rows,
                    "",
                );
                tx.run(insert).await?;
            }
            Ok((created, old.is_none()))
        }
        .await;
        let (created, fresh) = match outcome {
            Ok(entered) => entered,
            Err(error) => {
                tx.abandon().await;
                return Err(error);
            }
        };
        tx.commit().await?;
        let kept = KnowledgeDocument {
            id: key,
            title: new.title,
            source: new.source,
            size: new.text.len() as u64,
            created,
            updated: now,
        };
        Ok((kept, fresh))
    }

    /// The best matching passages, best first.
    pub async fn search(
        &self,
        id: CollectionId,
        question: &str,
        limit: u32,
    ) -> Result<Vec<Passage>, StoreError> {
        let Some(words) = match_query(question) else {
            return Ok(Vec::new());
        };
        // bm25 is smaller for better matches. As an integer, because rows are read as integers and texts; the title
        // counts twice.
        let select = Statement::new(
            "SELECT p.document, p.title, p.place, p.body, d.source,
                    CAST(ROUND(-1000 * bm25(knowledge_words, 2.0, 1.0)) AS INTEGER) AS score
             FROM knowledge_words
             JOIN knowledge_passage p ON p.number = knowledge_words.rowid
             JOIN knowledge_document d ON d.collection = p.collection AND d.id = p.document",
        )
        .then_with(" WHERE knowledge_words MATCH ", words)
        .then_with(" AND p.collection = ", id.to_string())
        .then_with(
            " ORDER BY bm25(knowledge_words, 2.0, 1.0), p.number LIMIT ",
            i64::from(limit),
        );
        let rows = self.sql.all(select).await?;
        let passage = |row: &Row| {
            Ok(Passage {
                document: row.text("document")?,
                title: row.text("title")?,
                source: row.text("source")?,
                place: u64::try_from(row.int("place")?).unwrap_or(0),
                text: row.text("body")?,
                score: row.int("score")? as f64 / 1000.0,
            })
        };
        rows.iter().map(passage).collect()
    }

    /// A document with its whole text.
    pub async fn document(
        &self,
        id: CollectionId,
        key: &str,
    ) -> Result<Option<(KnowledgeDocument, String)>, StoreError> {
        let mut tx = self.sql.moment().await?;
        let outcome = async {
            let select = Statement::new(COLUMNS)
                .then_with(" WHERE collection = ", id.to_string())
                .then_with(" AND id = ", key);
            let Some(row) = tx.one(select).await? else {
                return Ok(None);
            };
            let select = Statement::new("SELECT body FROM knowledge_passage")
                .then_with(" WHERE collection = ", id.to_string())
                .then_with(" AND document = ", key)
                .then(" ORDER BY place");
            let rows = tx.all(select).await?;
            let text: Result<String, _> = rows.iter().map(|row| row.text("body")).collect();
            Ok(Some((document(&row)?, text?)))
        }
        .await;
        tx.abandon().await;
        outcome
    }

    /// Documents, in the order of their titles.
    pub async fn documents(
        &self,
        id: CollectionId,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<KnowledgeDocument>, StoreError> {
        let select = Statement::new(COLUMNS)
            .then_with(" WHERE collection = ", id.to_string())
            .then_with(" ORDER BY title, id LIMIT ", i64::from(limit))
            .then_with(" OFFSET ", i64::from(offset));
        self.sql.all(select).await?.iter().map(document).collect()
    }

    /// Removes a document; whether it was there.
    pub async fn remove_document(&self, id: CollectionId, key: &str) -> Result<bool, StoreError> {
        let mut tx = self.sql.begin().await?;
        let delete = Statement::new("DELETE FROM knowledge_document")
            .then_with(" WHERE collection = ", id.to_string())
            .then_with(" AND id = ", key)
            .then(" RETURNING size");
        let Some(row) = tx.one(delete).await? else {
            tx.abandon().await;
            return Ok(false);
        };
        book(&mut tx, id, -1, -row.int("size")?, self.clock.now(), None).await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// The query for the words of a question: any of them, each quoted so that none is an operator.
fn match_query(question: &str) -> Option<String> {
    let words: Vec<String> = question
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(MAX_WORDS)
        .map(|word| format!("\"{word}\""))
        .collect();
    (!words.is_empty()).then(|| words.join(" OR "))
}
