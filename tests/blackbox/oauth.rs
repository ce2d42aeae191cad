//! OAuth: logins at MCP servers, and guests at `/mcp` whose tokens others made.

mod guests;
mod logins;
mod provider;
mod refusals;
