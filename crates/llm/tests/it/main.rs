//! Models against servers that take only what the real ones take, and that fail in every way.

mod cut;
mod failover;
mod failure;
mod fake;
mod golden;
mod listing;
mod money;
#[path = "../../../../tests/npm.rs"]
mod npm;
mod official;
mod replies;
mod scripted;
mod strict;
mod support;
