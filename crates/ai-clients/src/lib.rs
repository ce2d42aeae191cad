//! The AI clients of this machine (Claude, Cursor, VS Code and others): where their settings are, adding our entry to
//! them without touching anything else, and reading the MCP servers that they have.

mod clients;
pub mod edit;
pub mod import;

pub use clients::{Client, ClientServer, ENTRY, Format, Layout, UserEnv, project_of};
