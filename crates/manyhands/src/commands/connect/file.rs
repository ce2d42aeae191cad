//! A client's settings file: read whole, replaced atomically, with a backup beside it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use manyhands_terminal::output::Failure;

/// Larger than any settings file; Claude Code's also holds its history.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// New files hold a token.
const PRIVATE: u32 = 0o600;

/// A settings file as it was read.
pub struct SettingsFile {
    /// The path it is known by; may be a symbolic link.
    pub path: PathBuf,
    /// The file itself.
    target: PathBuf,
    /// Its text; `None` if it does not exist.
    pub text: Option<String>,
    mode: u32,
}

impl SettingsFile {
    /// Reads the file at `path`, which need not exist.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let wrong =
            |why: String| Failure(format!("{}: {why}; nothing was changed", path.display()));
        let io = |e: io::Error| wrong(e.to_string());
        let missing = Self {
            path: path.to_owned(),
            target: path.to_owned(),
            text: None,
            mode: PRIVATE,
        };
        let link = match fs::symlink_metadata(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(missing),
            found => found.map_err(io)?.is_symlink(),
        };
        // The target of a link is replaced, not the link: it may lead into a repository of settings.
        let target = match fs::canonicalize(path) {
            Err(e) if link && e.kind() == io::ErrorKind::NotFound => {
                return Err(wrong("the symbolic link leads nowhere".to_owned()));
            }
            found => found.map_err(io)?,
        };
        // A pipe or a device would block or never end.
        let about = fs::metadata(&target).map_err(io)?;
        if !about.is_file() {
            return Err(wrong("it is not a regular file".to_owned()));
        }
        // The new file would belong to this user, and its owner could no longer read it.
        if about.uid() != rustix::process::geteuid().as_raw() {
            return Err(wrong("it belongs to another user".to_owned()));
        }
        let mut bytes = Vec::new();
        let file = File::open(&target).map_err(io)?;
        file.take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(io)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(wrong("it is larger than 64 MiB".to_owned()));
        }
        let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
        Ok(Self {
            target,
            text: Some(text),
            mode: about.permissions().mode() & 0o777,
            ..missing
        })
    }

    /// Its text, empty if it does not exist.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Whether users other than its owner can read it.
    pub fn is_shared(&self) -> bool {
        self.mode & 0o077 != 0
    }

    /// Replaces the file with `text`, unless another program changed it since it was read.
    pub fn replace(&self, text: &str) -> Result<(), Failure> {
        self.unchanged()?;
        let failed = |e: io::Error| Failure(format!("{}: {e}", self.path.display()));
        if let Some(folder) = self.target.parent() {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true).mode(0o700);
            builder.create(folder).map_err(failed)?;
        }
        write(&self.target, text.as_bytes(), self.mode).map_err(failed)
    }

    /// Deletes the file, unless another program changed it since it was read.
    pub fn delete(&self) -> Result<(), Failure> {
        self.unchanged()?;
        let deleted = fs::remove_file(&self.target);
        deleted.map_err(|e| Failure(format!("{}: {e}", self.path.display())))
    }

    fn unchanged(&self) -> Result<(), Failure> {
        // A running client may write its settings at any moment; a lock would not keep it from doing so.
        match Self::open(&self.path)?.text == self.text {
            true => Ok(()),
            false => Err(Failure(format!(
                "{} was changed by another program meanwhile; nothing was changed, run this again",
                self.path.display()
            ))),
        }
    }
}

/// Writes a private copy next to a file and returns its path.
pub fn back_up(file: &Path, text: &str) -> Result<PathBuf, Failure> {
    let mut name = file.as_os_str().to_owned();
    name.push(".manyhands-backup");
    let backup = PathBuf::from(name);
    let written = write(&backup, text.as_bytes(), PRIVATE);
    written.map_err(|e| Failure(format!("{}: {e}; nothing was changed", backup.display())))?;
    Ok(backup)
}

/// Replaces a file atomically; it is on disk when this returns.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let fresh = path.with_file_name(name);
    let written = create(&fresh, bytes, mode).and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        // Best effort: the error that matters is the one being returned.
        let _ = fs::remove_file(&fresh);
    }
    written?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn create(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    // `create_new` does not follow a link that somebody planted under this name.
    let mut open = OpenOptions::new();
    let mut file = open.write(true).create_new(true).mode(PRIVATE).open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()
}

/// Fingerprint of a text.
pub fn hash(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
