//! The settings files of other programs that have servers.

use std::path::{Path, PathBuf};

use super::{Contents, read};
use crate::{Client, UserEnv};

/// Maximum size of a file; some programs keep large amounts of other data in it.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// A file and the servers in it.
#[derive(Debug)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// The program it belongs to, if known.
    pub owner: Option<Client>,
    /// Its servers.
    pub contents: Contents,
}

impl Source {
    /// Reads a file.
    pub fn load(path: &Path, owner: Option<Client>, user_env: &UserEnv) -> Result<Self, String> {
        // A named pipe or device would block or never end.
        let about = std::fs::metadata(path).map_err(|e| e.to_string())?;
        if !about.is_file() || about.len() > MAX_FILE {
            return Err(format!(
                "not a regular file of at most {} MiB",
                MAX_FILE / 1024 / 1024
            ));
        }
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        Ok(Self {
            path: path.to_owned(),
            owner,
            contents: read(&text, path, owner, user_env)?,
        })
    }

    /// Whether it has no servers, not even some that cannot be imported.
    pub fn is_empty(&self) -> bool {
        self.contents.found.is_empty() && self.contents.skipped.is_empty()
    }

    /// Whether it has a server with this name, in our settings or in the file.
    pub fn has(&self, name: &str) -> bool {
        let mut found = self.contents.found.iter();
        let mut skipped = self.contents.skipped.iter();
        found.any(|one| one.name.as_str() == name || one.given == name)
            || skipped.any(|one| one.given == name)
    }
}

/// Reads the files of these programs. Missing ones are skipped; `unreadable` is told of the others.
pub fn known_files(
    clients: &[Client],
    user_env: &UserEnv,
    here: &Path,
    mut unreadable: impl FnMut(&Path, String),
) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for client in clients {
        for path in client.files(user_env, here) {
            // The project's and the user's file can be the same, if run in the home directory.
            if sources.iter().any(|source| source.path == path) || !path.is_file() {
                continue;
            }
            match Source::load(&path, Some(*client), user_env) {
                Ok(source) if source.is_empty() => {}
                Ok(source) => sources.push(source),
                Err(why) => unreadable(&path, why),
            }
        }
    }
    sources
}
