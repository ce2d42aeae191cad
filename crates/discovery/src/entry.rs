//! What can be found, how one asks, and what the answer says.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// Something that can be called.
    Tool,
    /// Written knowledge of how to do something.
    AgentSkill,
    /// An account with a service.
    Connection,
    /// A store of rows, files, documents or secrets.
    Resource,
}

/// One thing that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What its owner knows it by; one shelf holds a key once.
    pub key: String,
    /// What it is.
    pub kind: Kind,
    /// The name it is called by.
    pub name: String,
    /// The server or service it belongs to; may be empty.
    pub server: String,
    /// A title for people; may be empty.
    pub title: String,
    /// What it does, in words.
    pub description: String,
    /// Names and descriptions of its parameters.
    pub parameters: Vec<(String, String)>,
    /// Further words it should be found by.
    pub tags: Vec<String>,
}

/// A request for things that fit.
pub struct Query<'a> {
    /// The request in plain words.
    pub text: &'a str,
    /// Only these kinds; all when absent.
    pub kinds: Option<BTreeSet<Kind>>,
    /// The most hits; between 1 and 100.
    pub limit: usize,
    /// Whether the asker may see an entry. Asked only of entries that would be among the hits.
    pub allowed: &'a dyn Fn(&Entry) -> bool,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The best first.
    pub hits: Vec<Hit>,
    /// The steps the request was taken apart into; empty when it is one.
    pub steps: Vec<String>,
    /// Whether word vectors took part; without them words, their forms and their relatives decide alone.
    pub vectors: bool,
    /// How long it took.
    pub took: Duration,
}

/// One entry that fits.
#[derive(Debug, Clone)]
pub struct Hit {
    /// What was found.
    pub entry: Arc<Entry>,
    /// How likely it is what was asked for, between 0 and 1; never rises down the list.
    pub confidence: f32,
    /// Why it is here.
    pub why: Why,
}

/// Why an entry was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// Its place by words alone, from 1; absent when no word fits.
    pub lexical_rank: Option<usize>,
    /// The score by words.
    pub lexical_score: f32,
    /// Its place by vectors alone, from 1.
    pub vector_rank: Option<usize>,
    /// How near its text is to the request, between -1 and 1.
    pub vector_score: f32,
    /// The share of its name that the request speaks of.
    pub name_covered: f32,
    /// The words of the request that it answers.
    pub matched: Vec<String>,
    /// The step it fits best, counted from 0; absent when the request is one step.
    pub step: Option<usize>,
    /// What all of it comes to.
    pub score: f32,
}
