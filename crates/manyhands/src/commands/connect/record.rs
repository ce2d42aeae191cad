//! What `connect` has changed, so that `connect --undo` can restore it: a file in the home.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file;
use manyhands_terminal::output::Failure;

/// Name of the file in the home.
const FILE: &str = "connected.json";

/// One connected client.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connected {
    /// Its settings file.
    pub file: PathBuf,
    /// The file as it would be without us; `None` if it did not exist.
    pub backup: Option<PathBuf>,
    /// Fingerprint of the file as we wrote it.
    pub written: String,
    /// Whether the key of the servers was added with the entry.
    pub added_servers: bool,
    /// URL of the gateway.
    pub url: String,
    /// Id of its token.
    pub token: String,
}

/// All connected clients, by their names on the command line.
pub struct Record {
    path: PathBuf,
    pub clients: BTreeMap<String, Connected>,
}

impl Record {
    /// Reads the record of a home.
    pub fn open(home: &Path) -> Result<Self, Failure> {
        let path = home.join(FILE);
        let clients = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|e| Failure(format!("{}: {e}\nhint: without this file `connect` cannot undo; move it aside to start over", path.display())))?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(e) => return Err(Failure(format!("{}: {e}", path.display()))),
        };
        Ok(Self { path, clients })
    }

    /// Writes it.
    pub fn save(&self) -> Result<(), Failure> {
        let failed = |e: io::Error| Failure(format!("{}: {e}", self.path.display()));
        if let Some(home) = self.path.parent() {
            let mut builder = fs::DirBuilder::new();
            // As private as the gateway itself makes it.
            builder.recursive(true).mode(0o700);
            builder.create(home).map_err(failed)?;
        }
        let text = format!("{}\n", serde_json::to_string_pretty(&self.clients)?);
        file::write(&self.path, text.as_bytes(), 0o600).map_err(failed)
    }
}
