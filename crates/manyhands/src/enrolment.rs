//! Stored enrolments: for each node, its gateway and token.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use manyhands_core::{NodeId, Secret};
use manyhands_guard::{PrivateFileError, create_private, read_private};
use serde::Deserialize;
use serde_json::json;

use manyhands_terminal::output::Failure;

/// Directory inside the home.
const FOLDER: &str = "nodes";

/// A node's gateway and its token there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolment {
    /// URL of the gateway.
    pub url: String,
    /// The node's token.
    pub token: Secret,
}

#[derive(Deserialize)]
struct Stored {
    url: String,
    token: String,
}

/// The enrolments stored in one home.
pub struct Enrolments {
    folder: PathBuf,
}

impl Enrolments {
    /// Returns the enrolments of `home`.
    pub fn of(home: &Path) -> Self {
        Self {
            folder: home.join(FOLDER),
        }
    }

    /// Path of a node's enrolment.
    pub fn file(&self, id: &NodeId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Returns the state directory of a node, creating it if needed.
    pub fn state(&self, id: &NodeId) -> Result<PathBuf, Failure> {
        let folder = self.folder.join(id.as_str());
        private_folder(&folder)?;
        Ok(folder)
    }

    /// Returns the enrolled nodes, sorted.
    pub fn names(&self) -> Vec<NodeId> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let name = |entry: std::fs::DirEntry| {
            let name = entry.file_name();
            // State directories and files of other programs have no such name, and are skipped.
            name.to_str()?.strip_suffix(".json")?.parse().ok()
        };
        let mut names: Vec<NodeId> = entries.flatten().filter_map(name).collect();
        names.sort();
        names
    }

    /// Reads a node's enrolment.
    pub fn read(&self, id: &NodeId) -> Result<Option<Enrolment>, Failure> {
        let file = self.file(id);
        let bytes = match read_private(&file) {
            Ok(bytes) => bytes,
            Err(PrivateFileError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // The parser's message is dropped: it could quote the token.
        let stored: Stored = serde_json::from_slice(&bytes).map_err(|_| {
            Failure(format!(
                "{} is not a valid enrolment\nhint: remove it and enrol again with a code from `manyhands nodes code {id}`",
                file.display()
            ))
        })?;
        Ok(Some(Enrolment {
            url: stored.url,
            token: Secret::new(stored.token),
        }))
    }

    /// Stores an enrolment, replacing an existing one.
    pub fn write(&self, id: &NodeId, enrolment: &Enrolment) -> Result<(), Failure> {
        private_folder(&self.folder)?;
        let text = json!({ "url": enrolment.url, "token": enrolment.token.expose() });
        let (file, new) = (self.file(id), self.folder.join(format!("{id}.new")));
        // A leftover of a crash would make `create_private` fail.
        let _ = std::fs::remove_file(&new);
        create_private(&new, format!("{text}\n").as_bytes())?;
        // Renamed into place: a crash must not leave half a token, which could not be had again.
        std::fs::rename(&new, &file)
            .map_err(|e| Failure(format!("cannot write {}: {e}", file.display())))
    }
}

/// Creates a directory and its parents, accessible only to the owner.
fn private_folder(folder: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|e| Failure(format!("cannot create {}: {e}", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn enrolment(token: &str) -> Enrolment {
        Enrolment {
            url: "http://127.0.0.1:7717".to_owned(),
            token: Secret::new(token),
        }
    }

    #[test]
    fn an_enrolment_is_private_is_read_back_and_is_replaced_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let kept = Enrolments::of(&home);
        let id: NodeId = "laptop".parse().unwrap();
        assert_eq!(kept.read(&id).unwrap(), None);
        assert!(kept.names().is_empty() && !home.exists());
        for token in ["first", "second"] {
            kept.write(&id, &enrolment(token)).unwrap();
            assert_eq!(kept.read(&id).unwrap(), Some(enrolment(token)));
        }
        assert_eq!(mode(&kept.file(&id)), 0o600);
        assert_eq!((mode(&home), mode(&home.join(FOLDER))), (0o700, 0o700));
        assert_eq!(kept.names(), [id]);
    }

    #[test]
    fn an_exposed_or_invalid_enrolment_is_refused_unquoted() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Enrolments::of(folder.path());
        let id: NodeId = "laptop".parse().unwrap();
        kept.write(&id, &enrolment("mh_hush")).unwrap();
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(kept.file(&id), open).unwrap();
        let refused = kept.read(&id).unwrap_err().0;
        assert!(refused.contains("chmod 600"), "{refused}");
        std::fs::remove_file(kept.file(&id)).unwrap();
        create_private(&kept.file(&id), b"{\"token\":\"mh_hush\"}").unwrap();
        let refused = kept.read(&id).unwrap_err().0;
        assert!(
            refused.contains("is not a valid enrolment") && !refused.contains("hush"),
            "{refused}"
        );
    }
}
