//! MCP, spoken *to* servers.
//!
//! A server of somebody else's is a program on this machine or a place on the network. It speaks
//! one of two eras of the protocol: up to 2025-11-25 a connection begins with `initialize` and
//! the server may ask back over it; since 2026-07-28 each request stands alone and a server that
//! needs something says so in its result. Whoever uses this crate sees neither the era nor the
//! transport: requests are named and shaped as in 2025-11-25, and what a server adds is kept.
//!
//! - [`Upstream`] is one server: started when first used, shared, restarted when it dies
//! - [`Private`] is a connection of one's own to it, for a conversation in which it may ask back
//! - [`Speak`] is what both can be asked, and [`Hooks`] what goes with each request
//! - [`fingerprint`], [`difference`] and [`suspicious`] judge what a server says of itself
//!
//! Messages are JSON values as they came, never typed and written anew: a field nobody knew of
//! when this was written arrives at the other end. Whatever a server sends is bounded in size,
//! depth, number and time.

mod carrier;
mod connection;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod greet;
mod headers;
mod hooks;
mod hub;
mod lines;
mod listen;
mod message;
mod news;
mod outcome;
mod pin;
mod server;
mod speak;
mod sse;
mod suspicious;
mod upstream;

pub use connection::{Connection, Era, Peer};
pub use error::{RpcError, UpstreamError};
pub use headers::{decoded, expected};
pub use hooks::{Ask, Hooks, all_capabilities};
pub use news::News;
pub use outcome::outcome;
pub use pin::{REQUEST, difference, fingerprint};
pub use server::{
    Bounds, Credentials, Dialect, Ground, NoCredentials, Server, Timeouts, Transport,
};
pub use speak::Speak;
pub use suspicious::{Suspicion, suspicious};
pub use upstream::{Private, Status, Upstream};
