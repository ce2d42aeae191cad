//! Chats put together with everything they stand on, against platforms that check what they are
//! told.

mod abuse;
mod crash;
mod fixture;
mod panics;
mod upkeep;
