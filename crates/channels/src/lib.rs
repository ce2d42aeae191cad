//! Chats: each platform is one module behind one small trait.
//!
//! A [`Channel`] speaks one platform for one account: it hears events, verifies that they are
//! the platform's own, sends, and says exactly what became of what it sent. What is kept, who may
//! speak and what an agent answers is not decided here.

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
#[cfg(test)]
mod near;
mod recent;
mod short;
pub mod slack;
mod socket;
mod standby;
pub mod telegram;
pub mod whatsapp;
mod words;

pub use api::{Answer, Api, Part, failure, multipart};
pub use channel::{
    Abilities, Channel, ChannelError, Delivered, Ear, Hook, HookRefusal, Hooked, Me, SendError,
    Standing,
};
pub use words::{
    Button, FileKind, Heard, Inbound, Location, Media, MediaKind, Mention, Message, Outgoing,
    Quoted, Say,
};
