//! The daemon: the tool families put into one catalogue, the path over them, and the
//! faces through which it is asked.
//!
//! - [`Gateway`] is the assembled thing: store, path, doorman, settings
//! - [`daemon`] listens, serves and stops
//! - [`http`], [`ws`] and [`mcp`] are the faces; none runs a tool by itself
//! - [`families`] are the tools, one file each

mod approvals;
mod artifacts;
mod chats;
mod cron;
pub mod daemon;
pub mod doctor;
mod doorman;
mod families;
mod finder;
mod folders;
#[doc(hidden)]
pub mod fuzz;
mod gateway;
mod guests;
mod home;
mod host;
pub mod http;
mod listing;
pub mod mcp;
mod minds;
mod nodes;
mod one_off;
mod reception;
mod reconfigure;
mod reference;
mod servers;
mod settings;
mod web;
mod workspace;
pub mod ws;

pub use doorman::{Admitted, Doorman, NewToken};
pub use gateway::{Gateway, Options, StartError};
pub use home::{CONFIG_FILE, OWNER_TOKEN_FILE};
pub use listing::ToolListing;
pub use manyhands_agent::slash_commands;
pub use reference::reference;
pub use servers::{SERVER_VARIABLES, find_program};
pub use settings::LiveSettings;
