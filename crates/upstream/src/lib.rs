//! MCP client: talks to MCP servers.
//!
//! A server is a program on this machine or an HTTP endpoint. It speaks one of two eras of the
//! protocol: up to 2025-11-25 a connection begins with `initialize` and the server may send requests
//! over it; since 2026-07-28 each request is self-contained and a server that needs input says so in
//! its result. Callers see neither the era nor the transport: requests are named and shaped as in
//! 2025-11-25, and additional fields are preserved.
//!
//! - [`Upstream`] is one server: started on first use, shared, restarted when it dies
//! - [`Private`] is a separate connection to it, for a conversation in which it may send requests
//! - [`McpClient`] is the interface of both, and [`Hooks`] the options of each request
//! - [`fingerprint`], [`difference`] and [`suspicious`] examine tool definitions
//!
//! Messages are passed on as JSON values, never through typed structs: a field that is unknown here
//! reaches the other end. Everything a server sends is bounded in size, depth, number and time.

mod carrier;
mod client;
mod connection;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod handshake;
mod headers;
mod hooks;
mod hub;
mod lines;
mod link;
mod listen;
mod message;
mod meta;
mod notification;
mod outcome;
mod peer;
mod pin;
mod server;
mod suspicious;
mod trace;
mod upstream;

pub use client::McpClient;
pub use connection::ServerConnection;
pub use error::{RpcError, UpstreamError};
pub use headers::{decoded, expected};
pub use hooks::{Hooks, ServerRequestHandler, all_capabilities};
pub use notification::ServerNotification;
pub use outcome::outcome;
pub use peer::{Era, Peer};
pub use pin::{REQUEST, difference, fingerprint};
pub use server::{
    Bounds, Credentials, Dialect, NoCredentials, Server, Timeouts, Transport, UpstreamDeps,
};
pub use suspicious::{Suspicion, suspicious};
pub use upstream::{Private, Status, Upstream};
