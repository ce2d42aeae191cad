//! Finding tools, skills, connections and resources for a request in plain words.
//!
//! Words with their forms, their relatives and their slips of the pen; static word vectors where a folder has them; a
//! long request taken apart into steps. No model is asked, nothing leaves the machine, and an answer takes milliseconds.

mod asked;
mod entry;
mod index;
mod lexicon;
mod meaning;
mod rank;
mod shelf;
mod snapshot;
mod stem;
mod steps;
mod thesaurus;
mod vectors;
mod weigh;
mod words;

pub use entry::{Answer, Entry, Hit, Kind, Query, Why};
pub use index::Index;
pub use vectors::{VectorsError, WordVectors};
