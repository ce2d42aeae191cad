//! Errors that prevent a gateway from starting.

use std::path::PathBuf;

use manyhands_config::ConfigError;
use manyhands_guard::PrivateFileError;
use manyhands_store::StoreError;

/// Why a gateway did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings are invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The store could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A private file in the home is missing or not private.
    #[error(transparent)]
    Private(#[from] PrivateFileError),
    /// The owner's token file does not contain a token.
    #[error("{} does not contain a token; remove it and restart to create a new one", .path.display())]
    OwnerToken {
        /// Path of the file.
        path: PathBuf,
    },
    /// A policy rule has an invalid pattern.
    #[error("invalid pattern in a policy rule: {0}")]
    Policy(String),
    /// A tool folder contains the gateway's own files, or lies inside its home.
    #[error("{key}: {} contains the gateway's own files in {} or its program, or lies inside them; choose a separate folder", .folder.display(), .home.display())]
    Folder {
        /// Settings key.
        key: &'static str,
        /// The folder.
        folder: PathBuf,
        /// The gateway's home.
        home: PathBuf,
    },
    /// A tool folder lies inside another, from which it could be replaced.
    #[error("{key}: {} lies inside {other}, where programs could replace it; choose separate folders", .folder.display())]
    Nested {
        /// Settings key.
        key: &'static str,
        /// Settings key of the outer folder.
        other: &'static str,
        /// The inner folder.
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
    /// A folder for the tools of this machine cannot be opened.
    #[error(
        "a folder for the tools of this machine cannot be opened: {source}; see workspace_root, file_cache_dir and file_state_dir"
    )]
    Host {
        /// Cause.
        source: std::io::Error,
    },
    /// The address cannot be listened on.
    #[error("{0}")]
    Listen(String),
}
