//! Errors of a jail, phrased so that a caller can act on them.

use std::io;

use rustix::io::Errno;

/// Why a jail operation failed. Nothing outside the jail was touched.
#[derive(Debug, thiserror::Error)]
pub enum JailError {
    /// A symbolic link on the path leads out of the jail.
    #[error("the path leads outside through a symbolic link; name a file inside")]
    Escapes,
    /// No such file.
    #[error("there is no such file; list the directory to see what there is")]
    NotFound,
    /// A file was expected.
    #[error("is a directory; name a file inside it")]
    IsDirectory,
    /// A fifo, socket, device or dangling link.
    #[error("is not a regular file; pipes, sockets, devices and broken links are refused")]
    NotRegular,
    /// A component of the path, or the one to list, is not a directory.
    #[error("is a file where a directory was expected; name a directory")]
    NotDirectory,
    /// The file exceeds the caller's limit.
    #[error("is {size} large, over the limit of {limit}; ask for a part of it")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
        /// The actual size in bytes.
        size: u64,
    },
    /// `CreateNew` found something there.
    #[error("already exists; choose another name or overwrite it")]
    Exists,
    /// `IfVersion` found another version.
    #[error("changed since it was read; read it again and repeat the edit")]
    Changed,
    /// No space left.
    #[error("the disk or the quota is full; free some space and try again")]
    Full,
    /// Any other system error.
    #[error("the file system refused: {0}")]
    Io(#[source] io::Error),
}

impl From<io::Error> for JailError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            // The jail's own refusal, the only one that carries no errno.
            None if error.kind() == io::ErrorKind::PermissionDenied => Self::Escapes,
            Some(raw) => match Errno::from_raw_os_error(raw) {
                Errno::NOENT => Self::NotFound,
                Errno::NOTDIR => Self::NotDirectory,
                Errno::ISDIR => Self::IsDirectory,
                Errno::EXIST => Self::Exists,
                Errno::NOSPC | Errno::DQUOT => Self::Full,
                // A socket, a fifo without a reader, a link loop or a magic link.
                Errno::NXIO | Errno::LOOP => Self::NotRegular,
                Errno::XDEV => Self::Escapes,
                _ => Self::Io(error),
            },
            None => Self::Io(error),
        }
    }
}

impl From<Errno> for JailError {
    fn from(errno: Errno) -> Self {
        io::Error::from(errno).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_become_messages() {
        assert!(matches!(Errno::NOSPC.into(), JailError::Full));
        assert!(matches!(Errno::DQUOT.into(), JailError::Full));
        assert!(matches!(Errno::NOENT.into(), JailError::NotFound));
        assert!(matches!(Errno::ACCESS.into(), JailError::Io(_)));
    }
}
