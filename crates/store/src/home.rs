//! The files of a home and their modes.
//!
//! Modes are set explicitly, so that the umask does not matter.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// The database.
pub(crate) const DATABASE: &str = "manyhands.db";
/// The folder of blobs.
pub(crate) const BLOBS: &str = "blobs";
/// The vault's key, or how to derive it.
pub(crate) const VAULT_KEY: &str = "vault.key";
/// The lock that keeps a second daemon out.
pub(crate) const LOCK: &str = "gateway.lock";
/// When the last backup was made.
pub(crate) const LAST_BACKUP: &str = "last-backup.json";
/// The copy of the audit's head.
pub(crate) const AUDIT_HEAD: &str = "audit.head";

/// Creates what is missing of a home: the folder, `blobs/` and an empty database. Makes existing ones private.
pub(crate) fn prepare(home: &Path) -> Result<(), StoreError> {
    // A folder of something else, named by mistake, keeps its mode: nobody wants a
    // closed /tmp. What we put into it is private by itself.
    if !home.is_dir() || is_ours(home)? {
        private_dir(home)?;
    }
    private_dir(&home.join(BLOBS))?;
    // SQLite gives its -wal and -shm files the mode of the database file.
    let database = home.join(DATABASE);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&database)
        .map_err(|error| StoreError::io(format!("opening {}", database.display()), &error))?;
    keep_private(&file).map_err(|error| {
        StoreError::io(format!("closing {} to others", database.display()), &error)
    })
}

/// Whether a folder is a home or empty.
fn is_ours(folder: &Path) -> Result<bool, StoreError> {
    let mut entries = std::fs::read_dir(folder)
        .map_err(|error| StoreError::io(format!("reading {}", folder.display()), &error))?;
    Ok(entries.next().is_none() || folder.join(DATABASE).exists())
}

/// Creates a folder and its parents, accessible by its owner only.
pub(crate) fn private_dir(path: &Path) -> Result<(), StoreError> {
    let attempt = || {
        let is_new = !path.is_dir();
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        // `mode` above is subject to the umask, and an existing folder keeps the mode it has.
        if std::fs::metadata(path)?.mode() & 0o777 != 0o700 {
            std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
        }
        // Once is enough: syncing the folder above at every start would cost time for nothing.
        if is_new { sync_parent(path) } else { Ok(()) }
    };
    attempt().map_err(|error| StoreError::io(format!("creating {}", path.display()), &error))
}

/// Makes an open file accessible by its owner only.
pub(crate) fn keep_private(file: &File) -> io::Result<()> {
    if file.metadata()?.mode() & 0o7777 == 0o600 {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(0o600))
}

/// Syncs the folder of `path`, so that a rename or creation in it survives a power cut.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}

/// The folder that holds `path`; `.` for a bare name.
pub(crate) fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Replaces a small file atomically.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    let mut temporary = tempfile::Builder::new()
        .prefix(".new-")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(parent(path))?;
    keep_private(temporary.as_file())?;
    temporary.write_all(bytes)?;
    // Before the rename: after a power cut the name must not lead to an empty file.
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|error| error.error)?;
    sync_parent(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_new_home_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("deep/home");
        prepare(&home).unwrap();
        assert_eq!(mode(&home), 0o700);
        assert_eq!(mode(&home.join(BLOBS)), 0o700);
        assert_eq!(mode(&home.join(DATABASE)), 0o600);
    }

    #[test]
    fn a_public_database_is_made_private_and_keeps_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join(DATABASE);
        std::fs::write(&database, b"bytes").unwrap();
        std::fs::set_permissions(&database, Permissions::from_mode(0o644)).unwrap();
        prepare(dir.path()).unwrap();
        assert_eq!(mode(&database), 0o600);
        assert_eq!(std::fs::read(&database).unwrap(), b"bytes");
    }

    #[test]
    fn a_public_home_is_made_private_and_another_folder_is_not() {
        let open = |path: &Path| {
            std::fs::create_dir(path).unwrap();
            std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        };
        let dir = tempfile::tempdir().unwrap();
        let (fresh, home, strange) = (
            dir.path().join("fresh"),
            dir.path().join("home"),
            dir.path().join("strange"),
        );
        for folder in [&fresh, &home, &strange] {
            open(folder);
        }
        open(&home.join(BLOBS));
        std::fs::write(home.join(DATABASE), b"").unwrap();
        std::fs::write(strange.join("notes"), b"").unwrap();
        for (folder, expect) in [(&fresh, 0o700), (&home, 0o700), (&strange, 0o755)] {
            prepare(folder).unwrap();
            assert_eq!(mode(folder), expect, "{}", folder.display());
            assert_eq!(mode(&folder.join(BLOBS)), 0o700);
        }
    }

    #[test]
    fn replacing_a_file_leaves_no_temporary_behind() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("audit.head");
        for text in ["one", "two"] {
            replace_file(&file, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
        assert_eq!(mode(&file), 0o600);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
