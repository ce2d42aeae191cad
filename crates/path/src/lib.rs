//! The path: every call of every tool, whoever asks, goes through this stack.
//!
//! ```text
//! metrics > audit > cap > redact > resolve > available > validate > authorize
//!         > storage > approve > budget > places > started > deadline > run
//! ```
//!
//! Read left to right a call goes in; read right to left its outcome comes out. The
//! layers that look at outcomes stand outermost, so a refusal is counted and audited
//! like a result. Redaction stands inside the cap: a cut could otherwise leave half a
//! secret that no longer looks like one, and the spilled whole would hold it all.
//!
//! Each layer is one file. None knows a tool, none knows an interface.

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
mod shown;
mod stack;
mod storage;
mod validate;

#[cfg(test)]
mod testing;

pub use approve::ApprovalDesk;
pub use authorize::{AgentRules, Authorizer, RootOf, may_act_for};
pub use layer::{Call, CallResult, Layer, Next};
pub use metrics::Metrics;
pub use stack::{Parts, Path};
pub use storage::artifact_room;
pub use validate::{check_schema, check_schema_aside, validate_against};
