//! Model providers: one provider-neutral conversation, translated to every provider's format,
//! streamed, retried, failed over to the next model, and paid from a budget that is reserved before
//! anything is sent.
//!
//! Nothing here knows sessions, agents or tools: a caller passes a [`ModelRequest`] and gets a
//! [`Reply`]. Requests go through guard's client, pinned to the origin that the owner configured.

mod base_url;
mod budget;
mod caps;
mod draft;
mod error;
mod estimate;
mod exchange;
mod failover;
#[doc(hidden)]
pub mod fuzz;
mod history;
mod list_prices;
mod listing;
mod message;
mod model;
mod models;
mod presets;
mod price;
mod provider;
mod reply;
mod request;
mod scripted;
mod status;
mod trace;
mod usage;
mod wire;

pub use manyhands_config::models as settings;

pub use budget::{Budget, Estimate, NoBudget, OverBudget, Reservation, Scope};
pub use caps::{Cap, Caps, MemoryBudget};
pub use error::{Attempt, ErrorKind, Failure, ModelError};
pub use estimate::{conversation_tokens, input_tokens};
pub use list_prices::AS_OF;
pub use listing::{Checked, ProviderModels};
pub use message::{Arguments, Block, Message, Opaque, ReplyBlock, ToolCall, ToolResult};
pub use model::{InvalidModel, ModelId, OfferedModel};
pub use models::{Models, Outside};
pub use presets::{PresetStatus, ProviderPreset};
pub use price::Prices;
pub use provider::Secrets;
pub use reply::{Delta, Reply, StopReason};
pub use request::{
    BillingContext, ModelRequest, OutputSchema, Purpose, Sampling, SystemPart, Thinking,
    ToolChoice, ToolDef, UnknownThinking,
};
pub use usage::{Cost, Spent, Usage};
