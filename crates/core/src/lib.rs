//! The types that every other crate shares: tools and their catalogue, callers and their rights,
//! requests and outcomes, errors, ids and time.
//!
//! Nothing here opens a file, a socket or a process. Time and randomness enter
//! the whole program through [`clock`] and [`id`], so tests own both.

mod authorize;
mod call;
mod caller;
mod chat_ref;
mod clock;
mod contain;
mod content;
mod effects;
mod error;
mod id;
mod invoke;
mod name;
mod outcome;
mod pattern;
mod principal;
mod secret;
mod spec;
mod taint;
mod tool;

pub use authorize::{Decision, Question, RuleRef, Verdict};
pub use call::{Answers, CallContext, CallRequest, Progress, Reach, Step, Witness};
pub use caller::{Caller, Rights, Role};
pub use chat_ref::{ChatLane, ChatRef, ChatScope, PeerKind};
pub use clock::{Clock, ManualClock, SystemClock, Timestamp};
pub use contain::{Panicked, contained};
pub use content::{ContentBlock, content_of};
pub use effects::{Effect, Effects};
pub use error::{ErrorCode, Problem, ToolError};
pub use id::{
    AgentId, ApprovalId, ArtifactId, CallId, ChatId, CollectionId, ConnectionId, Entropy, Ids,
    NodeId, OsEntropy, SeededEntropy, ServerName, TokenId,
};
pub use invoke::Invoke;
pub use name::{InvalidName, ToolName};
pub use outcome::{Cut, CutPart, Envelope, Outcome};
pub use pattern::Pattern;
pub use principal::{Credential, Principal};
pub use secret::Secret;
pub use spec::{Audience, Exposure, Group, RunsOn, ToolSpec, Variant};
pub use taint::Taint;
pub use tool::{
    Catalogue, CatalogueEntry, DuplicateTool, Forward, Forwarder, Implied, Tool, Typed, TypedTool,
    input_schema, output_schema, schema_of, serialize_schema_of,
};
