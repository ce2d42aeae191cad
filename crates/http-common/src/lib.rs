//! What all HTTP routes share: who sends a request, and how errors become responses.
//!
//! - [`Asker`] and [`Owner`] are extractors that admit the bearer of a token
//! - [`Refusal`] is the one mapping from error codes to statuses

mod asker;
mod refusal;

pub use asker::{Asker, Owner, admit, bearer, client, proved, seat};
pub use refusal::{Answer, Answered, Refusal, answer, respond};
