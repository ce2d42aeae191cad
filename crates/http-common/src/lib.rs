//! Shared by all HTTP routes: authenticating requests, and turning errors into responses.
//!
//! - [`Authenticated`] and [`Owner`] are extractors that authenticate the bearer of a token
//! - [`Refusal`] is the one mapping from error codes to HTTP statuses

mod authenticated;
mod refusal;

pub use authenticated::{Authenticated, Owner, admit, bearer, client, proved, seat};
pub use refusal::{Answer, Answered, Refusal, answer, respond};
