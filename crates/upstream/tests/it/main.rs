//! What the crate does with real servers, hostile ones, and the network.

mod cycles;
mod everything;
mod hostile;
mod lifecycle;
mod modern;
mod network;
#[path = "../../../../tests/npm.rs"]
mod npm;
mod support;
