//! The path: every tool call, from every interface, goes through this stack of layers.
//!
//! ```text
//! metrics > audit > cap > redact > resolve > available > validate > authorize
//!         > storage > approve > budget > concurrency > started > deadline > run
//! ```
//!
//! A call passes the layers from left to right, its outcome from right to left. Layers that look at
//! outcomes are outermost, so that a refusal is counted and audited like a result. Redaction is
//! inside the cap: cutting first could leave half a secret that no longer looks like one, and the
//! artifact with the whole result would contain all of it.
//!
//! Each layer is one file. None knows a particular tool or interface.

mod approve;
mod audit;
mod authorize;
mod budget;
mod canonical;
mod cap;
mod cut;
mod deadline;
mod explain;
mod facts;
#[doc(hidden)]
pub mod fuzz;
mod integers;
mod layer;
mod metrics;
mod proposal;
mod redact;
mod refusals;
mod remedy;
mod resolve;
mod run;
mod schema;
mod secret_params;
mod stack;
mod storage;
mod trace;
mod validate;

#[cfg(test)]
mod testing;

pub use approve::ApprovalRequests;
pub use authorize::{AgentRules, Authorizer, RootOf, may_act_for};
pub use layer::{Call, CallResult, Layer, Next};
pub use metrics::{DESCRIPTIONS, Metrics};
pub use stack::{Parts, Path};
pub use storage::artifact_room;
pub use validate::{check_schema, check_schema_aside, validate_against};
