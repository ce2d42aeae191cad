//! Chat platforms: one module per platform behind one small trait.
//!
//! A [`Channel`] connects one account to one platform: it receives events, verifies that they are
//! authentic, sends, and reports exactly whether a message was delivered. What is stored, who may talk
//! to the agent and what it answers is decided elsewhere.

mod api;
mod backoff;
mod channel;
pub mod chunk;
pub mod discord;
mod download;
mod fence;
#[doc(hidden)]
pub mod fuzz;
pub mod line;
pub mod markdown;
mod message;
mod recent;
mod shorten;
pub mod slack;
mod socket;
pub mod telegram;
#[cfg(test)]
mod testing;
mod webhook_setup;
pub mod whatsapp;

pub use api::{Api, ApiResponse, FormPart, failure, multipart};
pub use channel::{
    BotIdentity, Channel, ChannelCapabilities, ChannelError, ConnectionStatus, EventSink,
    SendError, SendReceipt, WebhookOutcome, WebhookRefusal, WebhookRequest,
};
pub use message::{
    Button, FileKind, Inbound, InboundEvent, InboundMessage, Location, Media, MediaKind, Mention,
    OutgoingContent, OutgoingMessage, Quoted,
};
