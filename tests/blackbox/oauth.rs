//! OAuth: logins at MCP servers, and guests at `/mcp` whose tokens others made.

mod guests;
mod logins;
pub mod provider;
mod real;
mod refusals;
mod renewals;
