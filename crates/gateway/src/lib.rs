//! The assembled gateway: the parts of the lower crates put together, who may come in, and what changes while it runs.
//!
//! - [`Gateway`] is the assembled thing: store, path, auth, settings
//! - [`Doorman`] checks tokens, creates and revokes them
//! - [`listing`] is the catalogue as the faces show it

mod agent_env;
mod announcement;
mod approvals;
mod auth;
mod channel_login;
mod delete_session;
mod finding;
mod folders;
mod gateway;
mod home;
mod listening;
pub mod listing;
mod login_links;
mod one_off;
mod open;
pub mod provider_presets;
mod reconfigure;
mod reference;
mod skills;
mod start_error;

pub use auth::{Admitted, Doorman, Failed, NewToken, origin};
pub use channel_login::Credentials;
pub use finding::{Finding, State};
pub use gateway::Gateway;
pub use home::{CONFIG_FILE, OWNER_TOKEN_FILE};
pub use listening::Listening;
pub use listing::ToolListing;
pub use one_off::Stores;
pub use open::Options;
pub use reference::reference;
pub use start_error::StartError;
