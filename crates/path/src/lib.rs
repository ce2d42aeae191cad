//! The path: every call of every tool, whoever asks, goes through this stack.
//!
//! ```text
//! metrics > audit > cap > redact > resolve > authorise > validate > policy
//!         > approve > budget > places > started > deadline > run
//! ```
//!
//! Read left to right a call goes in; read right to left its outcome comes out. The
//! layers that look at outcomes stand outermost, so a refusal is counted and audited
//! like a result. Redaction stands inside the cap: a cut could otherwise leave half a
//! secret that no longer looks like one, and the spilled whole would hold it all.
//!
//! Each layer is one file. None knows a tool, none knows a face.

mod approve;
mod audit;
mod authorise;
mod budget;
mod canonical;
mod cap;
mod deadline;
#[doc(hidden)]
pub mod fuzz;
mod layer;
mod metrics;
mod policy;
mod redact;
mod resolve;
mod run;
mod schema;
mod shown;
mod stack;
mod validate;

#[cfg(test)]
mod testing;

pub use approve::ApprovalDesk;
pub use layer::{Call, CallResult, Layer, Next};
pub use metrics::Metrics;
pub use policy::{AgentRules, PolicyEngine, PolicyInput, RootOf, RuleRef, Verdict};
pub use stack::{Parts, Path};
pub use validate::{check_schema, check_schema_aside, validate_against};
