//! Telegram: the real binary against a strict fake of the Bot API, with a scripted model.

mod flow;
mod media;
mod people;
mod rights;
pub mod stage;
mod trouble;
mod waiting;
mod webhook;
mod wide;
