//! Public types: entries, queries and results.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ItemKind {
    /// A callable tool.
    Tool,
    /// Instructions for a task.
    AgentSkill,
    /// An account at a service.
    Connection,
    /// A store of rows, files, documents or secrets.
    Resource,
}

/// Something that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The owner's key, unique per owner.
    pub key: String,
    /// Its kind.
    pub kind: ItemKind,
    /// Its name.
    pub name: String,
    /// The server or service it belongs to; may be empty.
    pub server: String,
    /// A display title; may be empty.
    pub title: String,
    /// Its description.
    pub description: String,
    /// Names and descriptions of its parameters.
    pub parameters: Vec<(String, String)>,
    /// Additional words to find it by.
    pub tags: Vec<String>,
}

/// A search query.
pub struct Query<'a> {
    /// The query text.
    pub text: &'a str,
    /// Only these kinds; all if `None`.
    pub kinds: Option<BTreeSet<ItemKind>>,
    /// Maximum hits, between 1 and 100.
    pub limit: usize,
    /// Whether the caller may see an entry. Called only for entries that would be among the hits.
    pub allowed: &'a dyn Fn(&IndexEntry) -> bool,
}

/// The result of a search.
#[derive(Debug, Clone)]
pub struct SearchOutcome {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// The steps of the query; empty if there is only one.
    pub steps: Vec<String>,
    /// Whether word vectors were used; otherwise only words, their forms and synonyms.
    pub vectors: bool,
    /// The duration of the search.
    pub took: Duration,
}

/// A matching entry.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The entry.
    pub entry: Arc<IndexEntry>,
    /// Probability that it is what was asked for, between 0 and 1; never increases down the list.
    pub confidence: f32,
    /// Explanation of the match.
    pub why: Why,
}

/// Explanation of a match.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// Rank by words alone, from 1; absent if no word matches.
    pub lexical_rank: Option<usize>,
    /// Score by words.
    pub lexical_score: f32,
    /// Rank by vectors alone, from 1.
    pub vector_rank: Option<usize>,
    /// Cosine similarity of its text to the query, between -1 and 1.
    pub vector_score: f32,
    /// Share of its name that the query covers.
    pub name_covered: f32,
    /// Query words that it matches.
    pub matched: Vec<String>,
    /// The step it matches best, from 0; absent if the query has one step.
    pub step: Option<usize>,
    /// The combined score.
    pub score: f32,
}
