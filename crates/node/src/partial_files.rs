//! Records partially received files, so that abandoned ones can be removed: one small file per part, containing its
//! path.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use manyhands_core::Timestamp;
use manyhands_hands::local::LocalFiles;
use sha2::{Digest, Sha256};

/// How long a partial file is kept.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Records of partial files, if there is a state directory. All methods block.
#[derive(Debug, Clone)]
pub(crate) struct PartialFiles {
    folder: Option<PathBuf>,
}

impl PartialFiles {
    pub(crate) fn new(state: Option<&Path>) -> Self {
        Self {
            folder: state.map(|state| state.join("parts")),
        }
    }

    /// Records a partial file. Without a record it is not removed automatically, which is no reason to refuse the
    /// transfer.
    pub(crate) fn add(&self, part: &Path) {
        let Some(folder) = &self.folder else { return };
        let made = fs::DirBuilder::new()
            .recursive(true)
            // The records contain the paths of the user's files.
            .mode(0o700)
            .create(folder);
        let noted = made.and_then(|()| fs::write(name(folder, part), part.as_os_str().as_bytes()));
        if let Err(error) = noted {
            tracing::warn!(event = "partial_file_not_recorded", %error, folder = %folder.display(), "failed to record a partial file; it will not be removed automatically");
        }
    }

    pub(crate) fn remove(&self, part: &Path) {
        if let Some(folder) = &self.folder {
            let _ = fs::remove_file(name(folder, part));
        }
    }

    /// Removes partial files without a write for a day; returns how many.
    pub(crate) fn sweep(&self, files: &LocalFiles, now: Timestamp) -> usize {
        let partial_files = self.folder.as_ref().map(fs::read_dir);
        let Some(Ok(partial_files)) = partial_files else {
            return 0;
        };
        let mut removed = 0;
        for note in partial_files.flatten() {
            let Ok(path) = fs::read(note.path()) else {
                continue;
            };
            let part = Path::new(OsStr::from_bytes(&path));
            // Not followed: a link in place of the part must not lead to a file of the user.
            match fs::symlink_metadata(part) {
                // Still growing, or likely to be resumed after a longer outage.
                Ok(found) if now.since(written(&found)) < MAX_AGE => {}
                Ok(_) => {
                    // The record goes last: if the part cannot be removed now, the next sweep tries again.
                    if files.remove_part(part) {
                        removed += 1;
                        let _ = fs::remove_file(note.path());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let _ = fs::remove_file(note.path());
                }
                Err(_) => {}
            }
        }
        removed
    }
}

fn name(folder: &Path, part: &Path) -> PathBuf {
    // A path may be longer than a file name can be.
    let hash = Sha256::digest(part.as_os_str().as_bytes());
    let name: String = hash[..16].iter().map(|b| format!("{b:02x}")).collect();
    folder.join(name)
}

fn written(found: &fs::Metadata) -> Timestamp {
    Timestamp(found.mtime().saturating_mul(1_000) + found.mtime_nsec() / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_go_after_a_day_and_nothing_else_does() {
        let state = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let files = LocalFiles::open(work.path(), None).unwrap();
        let partial_files = PartialFiles::new(Some(state.path()));
        let at = |name: &str| work.path().join(name);
        for name in [".mh-part-a-1", "precious"] {
            fs::write(at(name), "x").unwrap();
            partial_files.add(&at(name));
        }
        partial_files.add(&at(".mh-part-gone-1"));
        let left = || fs::read_dir(state.path().join("parts")).unwrap().count();
        assert_eq!(left(), 3);
        let now = written(&fs::metadata(at("precious")).unwrap());
        assert_eq!(partial_files.sweep(&files, now.plus(MAX_AGE / 2)), 0);
        assert!(at(".mh-part-a-1").exists());
        assert_eq!(left(), 2, "what is gone needs no note");
        partial_files.sweep(&files, now.plus(MAX_AGE * 2));
        assert!(!at(".mh-part-a-1").exists() && at("precious").exists());
        assert_eq!(left(), 0);
        assert_eq!(PartialFiles::new(None).sweep(&files, now), 0);
    }
}
