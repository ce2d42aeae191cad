//! Search for tools, skills, connections and resources by natural-language queries.
//!
//! Matches words with their forms, synonyms and typos; static word vectors if a folder with them is
//! configured; long queries are split into steps. No model is called, nothing leaves the machine, and
//! a search takes milliseconds.

mod entry;
mod index;
mod lexicon;
mod parsed_query;
mod rank;
mod segment;
mod snapshot;
mod stem;
mod steps;
mod thesaurus;
mod tokens;
mod vectors;
mod weights;
mod word_cache;

pub use entry::{Hit, IndexEntry, ItemKind, Query, SearchOutcome, Why};
pub use index::Index;
pub use vectors::{VectorsError, WordVectors};
