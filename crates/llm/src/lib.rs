//! Models that agents think with: one conversation in neutral words, spoken to every provider in
//! its own format, streamed, tried again, handed to the next model when one fails, and paid for
//! from a budget that is asked before anything is sent.
//!
//! Nothing here knows of sessions, agents or tools: a caller hands in a [`Request`] and gets a
//! [`Reply`]. Requests leave through guard's client, pinned to the one origin that the owner named.

mod budget;
mod caps;
mod draft;
mod error;
mod estimate;
mod exchange;
#[doc(hidden)]
pub mod fuzz;
mod history;
mod list_prices;
mod makers;
mod message;
mod model;
mod models;
mod offered;
mod price;
mod provider;
mod reply;
mod request;
mod run;
mod scripted;
mod sse;
mod status;
mod wire;

pub use manyhands_config::models as settings;

pub use budget::{Budget, Estimate, NoBudget, OverBudget, Reservation, Scope, Spent};
pub use caps::{Cap, Caps, MemoryBudget};
pub use error::{ErrorKind, ModelError};
pub use estimate::{conversation_tokens, input_tokens};
pub use list_prices::AS_OF;
pub use makers::{Maker, Standing};
pub use message::{Arguments, Block, Message, Opaque, ReplyBlock, ToolCall, ToolResult};
pub use model::{InvalidModel, ModelId};
pub use models::{Models, Outside};
pub use offered::{Checked, Offered, ProviderModels};
pub use price::Prices;
pub use provider::Secrets;
pub use reply::{Attempt, Cost, Delta, Failure, Reply, StopReason, Usage};
pub use request::{
    Account, OutputSchema, Request, Sampling, SystemPart, Thinking, ToolChoice, ToolDef,
    UnknownThinking,
};
