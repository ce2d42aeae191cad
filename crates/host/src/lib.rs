//! This machine as the gateway uses it: the folders and programs of the local tools, the web, the agents'
//! workspaces, artifacts, and the settings in force.
//!
//! - [`Host`] holds three folders by handle, a supervisor and the environment
//! - [`web::Web`] is the one way out for requests that tools make
//! - [`workspace::Workspace`] is the tree of files of each agent
//! - [`artifacts::ArtifactStore`] stores and reads artifacts
//! - [`Resources`] are the collections that agents are granted

pub mod artifacts;
pub mod machine;
mod resources;
mod settings;
pub mod web;
pub mod workspace;

pub use machine::{Host, HostParts};
pub use resources::Resources;
pub use settings::LiveSettings;
