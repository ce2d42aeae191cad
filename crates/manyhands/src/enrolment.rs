//! What a machine keeps of its enrolment: for each node, the gateway and the token.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use manyhands_core::{NodeId, Secret};
use manyhands_guard::{PrivateFileError, create_private, read_private};
use serde::Deserialize;
use serde_json::json;

use crate::output::Failure;

/// The folder in the home.
const FOLDER: &str = "nodes";

/// A gateway, and the token it knows this node by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolment {
    /// The gateway.
    pub url: String,
    /// The token.
    pub token: Secret,
}

#[derive(Deserialize)]
struct Stored {
    url: String,
    token: String,
}

/// The enrolments kept in one home.
pub struct Enrolments {
    folder: PathBuf,
}

impl Enrolments {
    /// Those of the home.
    pub fn of(home: &Path) -> Self {
        Self {
            folder: home.join(FOLDER),
        }
    }

    /// Where one is kept.
    pub fn file(&self, id: &NodeId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Where a node keeps what it has to remember, made where it is not there yet.
    pub fn state(&self, id: &NodeId) -> Result<PathBuf, Failure> {
        let folder = self.folder.join(id.as_str());
        private_folder(&folder)?;
        Ok(folder)
    }

    /// The nodes that are enrolled.
    pub fn names(&self) -> Vec<NodeId> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let name = |entry: std::fs::DirEntry| {
            let name = entry.file_name();
            name.to_str()?.strip_suffix(".json")?.parse().ok()
        };
        let mut names: Vec<NodeId> = entries.flatten().filter_map(name).collect();
        names.sort();
        names
    }

    /// What is kept of one.
    pub fn read(&self, id: &NodeId) -> Result<Option<Enrolment>, Failure> {
        let file = self.file(id);
        let bytes = match read_private(&file) {
            Ok(bytes) => bytes,
            Err(PrivateFileError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // The parser's own words could quote the token.
        let stored: Stored = serde_json::from_slice(&bytes).map_err(|_| {
            Failure(format!(
                "{} does not hold an enrolment\nhint: remove it and enrol again with a code from `manyhands nodes code {id}`",
                file.display()
            ))
        })?;
        Ok(Some(Enrolment {
            url: stored.url,
            token: Secret::new(stored.token),
        }))
    }

    /// Keeps one, in place of what was kept before.
    pub fn write(&self, id: &NodeId, enrolment: &Enrolment) -> Result<(), Failure> {
        private_folder(&self.folder)?;
        let text = json!({ "url": enrolment.url, "token": enrolment.token.expose() });
        let (file, new) = (self.file(id), self.folder.join(format!("{id}.new")));
        // What a crash left behind is nobody's.
        let _ = std::fs::remove_file(&new);
        create_private(&new, format!("{text}\n").as_bytes())?;
        std::fs::rename(&new, &file)
            .map_err(|e| Failure(format!("{} cannot be written: {e}", file.display())))
    }
}

/// Makes a folder, and what leads to it, that only its owner may enter.
fn private_folder(folder: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|e| Failure(format!("{} cannot be made: {e}", folder.display())))
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
    fn what_others_can_read_or_is_none_is_refused_without_its_text() {
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
            refused.contains("does not hold an enrolment") && !refused.contains("hush"),
            "{refused}"
        );
    }
}
