//! The assembled gateway: the parts of the lower crates put together, authentication, and changes
//! of settings at run time.
//!
//! - [`Gateway`] holds the store, the path, authentication and the settings
//! - [`Authenticator`] checks, creates and revokes tokens
//! - [`listing`] is the catalogue as the faces list it

mod agent_env;
mod announcement;
mod approvals;
mod auth;
mod branch_session;
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

pub use auth::{Admitted, Authenticator, FailedLogin, NewToken, origin};
pub use channel_login::Credentials;
pub use finding::{Finding, State};
pub use gateway::Gateway;
pub use home::{CONFIG_FILE, OWNER_TOKEN_FILE};
pub use listening::ListenAddress;
pub use listing::ToolListing;
pub use one_off::Stores;
pub use open::Options;
pub use reference::reference;
pub use start_error::StartError;
