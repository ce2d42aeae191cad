//! Why a gateway did not start.

use std::path::PathBuf;

use manyhands_config::ConfigError;
use manyhands_guard::PrivateFileError;
use manyhands_store::StoreError;

/// Why a gateway did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings are wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The store did not open.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A private file of the home is not there or not private.
    #[error(transparent)]
    Private(#[from] PrivateFileError),
    /// The owner's token file holds something else.
    #[error("{} does not hold a token; remove it and start again to get a new one", .path.display())]
    OwnerToken {
        /// Where it is.
        path: PathBuf,
    },
    /// A rule's pattern did not compile.
    #[error("a policy rule holds a wrong pattern: {0}")]
    Policy(String),
    /// A folder for tools holds the gateway's own files, or lies among them.
    #[error("{key}: {} holds the gateway's own files in {} or its program, or lies among them; choose a folder apart from both", .folder.display(), .home.display())]
    Folder {
        /// Which setting.
        key: &'static str,
        /// The folder.
        folder: PathBuf,
        /// The gateway's home.
        home: PathBuf,
    },
    /// One folder for tools lies in another, and could be swapped from there.
    #[error("{key}: {} lies in {other}, where programs could put another in its place; choose folders apart", .folder.display())]
    Nested {
        /// Which setting.
        key: &'static str,
        /// The setting of the folder around it.
        other: &'static str,
        /// The folder.
        folder: PathBuf,
    },
    /// The owner's certificates cannot be used.
    #[error("egress.ca_file {}: {why}", .path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A folder that the tools of this machine work in cannot be opened.
    #[error(
        "a folder for the tools of this machine cannot be opened: {source}; see workspace_root, file_cache_dir and file_state_dir"
    )]
    Host {
        /// Why.
        source: std::io::Error,
    },
    /// The address cannot be listened on.
    #[error("{0}")]
    Listen(String),
}
