//! MCP servers and services that the gateway reaches for its callers, and callers whose tokens other issuers signed.
//!
//! - [`servers`] holds the MCP servers of the settings, OpenAPI documents, accounts and their OAuth logins
//! - [`oauth_guests`] checks access tokens of trusted issuers

pub mod oauth_guests;
pub mod servers;
