//! Secret files, readable by their owner only.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

use crate::jail::{Jail, JailError, WriteMode};
use crate::rel_path::RelPath;

/// Maximum size of a secret file; a larger one must be something else.
const MAX_BYTES: u64 = 1024 * 1024;

/// Why a secret file was not read or created.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    /// No such file.
    #[error("{} does not exist", .0.display())]
    NotFound(PathBuf),
    /// Group or others may read or change it.
    #[error("{} can be read or changed by others (mode {mode:03o})\nrun: chmod 600 {}", path.display(), path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It belongs to another user.
    #[error("{} belongs to user {owner}, not to the user {us} this program runs as\nrun: chown {us} {} && chmod 600 {}", path.display(), path.display(), path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user this process runs as.
        us: u32,
    },
    /// Not a regular file of plausible size.
    #[error("{} is not a regular file of at most {MAX_BYTES} bytes", .0.display())]
    Odd(PathBuf),
    /// It already exists and was not changed.
    #[error("{} already exists and was left as it is", .0.display())]
    Exists(PathBuf),
    /// Any other system error.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
}

/// Reads a secret file if only the current user can access it.
pub fn read_private(path: &Path) -> Result<Vec<u8>, PrivateFileError> {
    let here = || path.to_owned();
    let failed = |error: io::Error| PrivateFileError::Io {
        path: here(),
        error,
    };
    // Without O_NONBLOCK, opening a fifo would block.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Err(PrivateFileError::NotFound(here())),
        Err(errno) => return Err(failed(errno.into())),
    };
    let stat = fstat(&file).map_err(|errno| failed(errno.into()))?;
    let us = rustix::process::geteuid().as_raw();
    if stat.st_uid != us {
        let owner = stat.st_uid;
        return Err(PrivateFileError::Foreign {
            path: here(),
            owner,
            us,
        });
    }
    let mode = stat.st_mode & 0o777;
    if mode & 0o077 != 0 {
        return Err(PrivateFileError::Open { path: here(), mode });
    }
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(PrivateFileError::Odd(here()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(PrivateFileError::Odd(here()));
    }
    Ok(bytes)
}

/// Creates a secret file with mode 0600, completely on disk or not at all. An existing file is
/// left unchanged.
pub fn create_private(path: &Path, bytes: &[u8]) -> Result<(), PrivateFileError> {
    let here = || path.to_owned();
    let failed = |error: io::Error| PrivateFileError::Io {
        path: here(),
        error,
    };
    let unusable = || {
        failed(io::Error::other(
            "the file name cannot be used; choose another",
        ))
    };
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(unusable)?;
    let name = RelPath::parse(name).map_err(|_| unusable())?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let jail = Jail::open(parent).map_err(failed)?;
    match jail.write(&name, bytes, WriteMode::CreateNew) {
        Ok(_) => Ok(()),
        Err(JailError::Exists | JailError::IsDirectory | JailError::NotRegular) => {
            Err(PrivateFileError::Exists(here()))
        }
        Err(JailError::Io(error)) => Err(failed(error)),
        Err(error) => Err(failed(io::Error::other(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_created_secret_is_private_and_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join("key");
        create_private(&key, b"secret").unwrap();
        assert_eq!(
            fs::metadata(&key).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(read_private(&key).unwrap(), b"secret");
    }

    #[test]
    fn an_existing_secret_is_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join("key");
        create_private(&key, b"first").unwrap();
        let again = create_private(&key, b"second");
        assert!(matches!(again, Err(PrivateFileError::Exists(_))));
        assert_eq!(read_private(&key).unwrap(), b"first");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_secret_others_can_read_is_refused_with_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join("key");
        create_private(&key, b"secret").unwrap();
        for open in [0o640, 0o604, 0o620, 0o644, 0o610] {
            mode(&key, open);
            let refused = read_private(&key).unwrap_err().to_string();
            assert!(
                refused.contains(&format!("run: chmod 600 {}", key.display())),
                "{refused}"
            );
        }
        for private in [0o600, 0o400] {
            mode(&key, private);
            assert_eq!(read_private(&key).unwrap(), b"secret");
        }
    }

    #[test]
    fn a_secret_of_another_user_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut foreign = PathBuf::from("/etc/passwd");
        if rustix::process::geteuid().is_root() {
            foreign = dir.path().join("key");
            create_private(&foreign, b"secret").unwrap();
            assert_eq!(read_private(&foreign).unwrap(), b"secret");
            chown(&foreign, Some(12_345), None).unwrap();
        }
        let refused = read_private(&foreign).unwrap_err();
        assert!(
            matches!(refused, PrivateFileError::Foreign { .. }),
            "{refused}"
        );
    }

    #[test]
    fn a_path_that_is_not_a_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        mode(dir.path(), 0o700);
        assert!(matches!(
            read_private(dir.path()),
            Err(PrivateFileError::Odd(_))
        ));
        let gone = dir.path().join("gone");
        assert!(matches!(
            read_private(&gone),
            Err(PrivateFileError::NotFound(_))
        ));
    }
}
