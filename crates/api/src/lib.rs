//! The daemon and its HTTP API.
//!
//! - [`daemon`] listens, serves and shuts down
//! - [`http`] has the routes; none runs a tool by itself
//! - [`doctor`] runs health checks
//!
//! The page (`web/`) is embedded by `crates/page` and uses `/api` and `/ws` like any other client, with types generated from `docs/openapi.json` and
//! `docs/protocol.json`. A browser logs in with a one-time link whose code is in the fragment, and stores a token for its own origin; there are no cookies,
//! and revoking the token logs it out. A strict content policy lets the page reach nothing but its own gateway.
//!
//! `/v1` reads each format (OpenAI chat, Responses, Anthropic messages) into one `Prompt` and writes through the trait `Format`.

mod connections;
pub mod daemon;
pub mod doctor;
#[doc(hidden)]
pub mod fuzz;
pub mod http;
mod metrics;
