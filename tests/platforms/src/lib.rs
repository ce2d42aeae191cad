//! Strict fakes of chat platforms: they check tokens, signatures, sizes, rates and shapes as the
//! platforms do, and refuse what those would refuse. Each listens on loopback and keeps a journal
//! of every request, so that a test can look at what really arrived.

#![allow(
    clippy::disallowed_methods,
    reason = "a far end has a clock of its own, and its own way to listen"
)]

pub mod discord;
mod hub;
mod journal;
pub mod line;
pub mod slack;
pub mod telegram;
pub mod whatsapp;

pub use hub::{Fault, Moment, Watcher};
pub use journal::{Journal, Recorded};
