//! This machine as the gateway uses it: folders and programs for local tools, the web, workspaces,
//! artifacts, and the settings in force. It sits below everything that serves callers, and knows
//! none of them.
//!
//! - [`Host`] holds three folders by handle (`workspace_root`, `file_cache_dir`, `file_state_dir`),
//!   a supervisor and the environment. A program starts in a folder by its handle, confined before
//!   it runs, with a private home and temporary folder that are removed with it. The confinement
//!   itself (Landlock, the seccomp broker, the keeper process that kills remaining process groups
//!   when the gateway dies) is in `guard`.
//! - [`web::Web`] holds the one egress, the only way out for requests that tools make.
//! - [`workspace::Workspace`] is the tree of files of each agent. What a tainted turn writes is
//!   marked as such before it is written.
//! - [`artifacts::ArtifactStore`] stores and reads artifacts. They are read as a stream: secrets
//!   are removed, the encoding is detected, then lines, matches or JSON values are selected, so a
//!   file is never whole in memory. The text of documents is extracted by `hands`, which counts
//!   every unpacked byte, and cached by the hash of the file.
//! - [`Resources`] are the collections granted to agents. References to vault secrets are replaced
//!   only when a request is sent, and only for hosts that the owner allowed.
//! - [`LiveSettings`] are the settings in force. Keys that name programs or files of this machine
//!   (`x-local`) are changed in the file, never over the network; so is the address to which a model
//!   provider's existing key is sent.

pub mod artifacts;
pub mod machine;
mod resources;
mod settings;
pub mod web;
pub mod workspace;

pub use machine::{Host, HostParts};
pub use resources::Resources;
pub use settings::LiveSettings;
