//! Telegram: the real binary against a strict fake of the Bot API, with a scripted model.

mod failures;
pub mod fixture;
mod flow;
mod media;
mod people;
mod rights;
mod routing;
mod waiting;
mod webhook;
