//! A whole home in one file, taken while the daemon runs.
//!
//! A gzipped tar of a consistent snapshot of the database, the blobs, the settings, the vault's key, the owner's token and
//! the audit's head. The manifest with all checksums comes last, so a truncated backup cannot pass for complete.

#[cfg(test)]
mod hostile_tests;
mod manifest;
mod restore;
#[cfg(test)]
mod tests;
mod unpack;

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use manyhands_core::Timestamp;
use manyhands_guard::{EntryKind, Jail, JailError, RelPath};
use tar::{Builder, EntryType, Header};

pub(crate) use restore::unpack_checked;
pub use restore::{Restore, RestoreSummary, Staged, restore, stage};

use crate::error::StoreError;
use crate::home::{self, AUDIT_HEAD, BLOBS, DATABASE, VAULT_KEY};
use crate::last_backup::record_backup;
use crate::sql::snapshot_into;
use manifest::{Hashing, MANIFEST, Manifest, Member};

/// Files of a home that are copied as they are, if they exist. The audit's head is not among them: it is read before the
/// database is copied, so as not to be ahead of it.
const PLAIN: [&str; 3] = [CONFIG, VAULT_KEY, OWNER_TOKEN];

pub(crate) const CONFIG: &str = "config.toml";
pub(crate) const OWNER_TOKEN: &str = "owner.token";

/// Folders of a home that are copied completely. `host/cache` and `host/scratch` hold nothing worth keeping.
pub(super) const TREES: [&str; 3] = [BLOBS, "host/workspace", "host/state"];

/// What to do if the destination exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Fail.
    Refuse,
    /// Replace it.
    Replace,
}

/// What to back up, and where to.
#[derive(Debug, Clone)]
pub struct Backup {
    /// The home, which may be in use.
    pub home: PathBuf,
    /// The file to create.
    pub file: PathBuf,
    /// What to do if the file exists.
    pub overwrite: Overwrite,
    /// The current time.
    pub now: Timestamp,
    /// The version of the program, for the manifest.
    pub product_version: String,
}

/// Contents of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupSummary {
    /// Number of files.
    pub members: u64,
    /// Number of bytes, before compression.
    pub bytes: u64,
    /// Skipped entries: links that lead outside, links to folders, pipes and the like.
    pub skipped: Vec<String>,
}

/// Creates a backup. The file appears complete, readable by its owner only, or not at all.
pub async fn backup(what: Backup) -> Result<BackupSummary, StoreError> {
    if what.overwrite == Overwrite::Refuse && what.file.symlink_metadata().is_ok() {
        return Err(exists(&what.file));
    }
    let database = what.home.join(DATABASE);
    if !database.is_file() {
        return Err(StoreError::not_found(database.display().to_string()));
    }
    let folder = home::parent(&what.file);
    let scratch = tempfile::Builder::new()
        .prefix(".backup-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(&folder)
        .map_err(|error| StoreError::io(format!("writing in {}", folder.display()), &error))?;
    // Before the database: a head that is ahead of its database looks like removed entries.
    let head = read_if_exists(&what.home.join(AUDIT_HEAD))?;
    let snapshot = scratch.path().join(DATABASE);
    snapshot_into(&database, &snapshot).await?;
    let packing = move || {
        let done = pack(&what, head.as_deref(), &snapshot);
        // Not before: the snapshot that is being packed is in this folder.
        drop(scratch);
        // Only for reports: the backup is complete without the record.
        if done.is_ok()
            && let Err(error) = record_backup(&what.home, &what.file, what.now)
        {
            tracing::warn!(event = "backup_record_failed", %error, "failed to record when the last backup was made");
        }
        done
    };
    let packed = tokio::task::spawn_blocking(packing).await;
    packed.map_err(|_| StoreError::Closed)?
}

fn exists(path: &Path) -> StoreError {
    StoreError::Exists {
        what: path.display().to_string(),
    }
}

fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io(
            format!("reading {}", path.display()),
            &error,
        )),
    }
}

fn pack(what: &Backup, head: Option<&[u8]>, snapshot: &Path) -> Result<BackupSummary, StoreError> {
    let failed =
        |error: io::Error| StoreError::io(format!("writing {}", what.file.display()), &error);
    let temporary = tempfile::Builder::new()
        .prefix(".backup-")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(home::parent(&what.file))
        .map_err(failed)?;
    home::keep_private(temporary.as_file()).map_err(failed)?;
    let compressed = GzEncoder::new(io::BufWriter::new(temporary.as_file()), Compression::fast());
    let mut packer = Packer {
        tar: Builder::new(compressed),
        now: what.now,
        members: Vec::new(),
        skipped: Vec::new(),
    };
    packer.home(&what.home, head, snapshot)?;
    let summary = packer.finish(&what.product_version).map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    let placed = match what.overwrite {
        Overwrite::Replace => temporary.persist(&what.file).map(drop),
        // The check at the beginning only spares the work; a file created since then is found here.
        Overwrite::Refuse => temporary.persist_noclobber(&what.file).map(drop),
    };
    placed.map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => exists(&what.file),
        _ => failed(error.error),
    })?;
    home::sync_parent(&what.file).map_err(failed)?;
    Ok(summary)
}

struct Packer<W: Write> {
    tar: Builder<W>,
    now: Timestamp,
    members: Vec<Member>,
    skipped: Vec<String>,
}

impl<W: Write> Packer<W> {
    fn home(
        &mut self,
        home: &Path,
        head: Option<&[u8]>,
        snapshot: &Path,
    ) -> Result<(), StoreError> {
        let opening =
            |error: io::Error| StoreError::io(format!("reading {}", home.display()), &error);
        let copy = File::open(snapshot).map_err(opening)?;
        let size = copy.metadata().map_err(opening)?.len();
        self.member(DATABASE, size, copy)?;
        if let Some(head) = head {
            self.member(AUDIT_HEAD, head.len() as u64, head)?;
        }
        let jail = Jail::open(home).map_err(opening)?;
        for name in PLAIN {
            let path =
                RelPath::parse(name).map_err(|error| StoreError::invalid(error.to_string()))?;
            self.file(&jail, &path, name)?;
        }
        for name in TREES {
            let tree = home.join(name);
            if tree.is_dir() {
                self.tree(&Jail::open(&tree).map_err(opening)?, name)?;
            }
        }
        Ok(())
    }

    fn tree(&mut self, jail: &Jail, name: &str) -> Result<(), StoreError> {
        let mut waiting = vec![RelPath::root()];
        while let Some(folder) = waiting.pop() {
            let entries = jail.list(&folder).map_err(|e| refused(&folder, &e))?;
            for entry in entries.unwrap_or_default() {
                let below = RelPath::parse(&entry.name).and_then(|name| folder.join(&name));
                match (entry.kind, below) {
                    (EntryKind::File, Ok(path)) => {
                        self.file(jail, &path, &format!("{name}/{path}"))?
                    }
                    // A link to a folder could lead to its own parent.
                    (EntryKind::Dir, Ok(path)) if !entry.link => waiting.push(path),
                    _ => self.skipped.push(format!("{name}/{folder}/{}", entry.name)),
                }
            }
        }
        Ok(())
    }

    /// Adds a regular file. One that vanished meanwhile is skipped silently; one that cannot be opened safely is reported.
    fn file(&mut self, jail: &Jail, path: &RelPath, name: &str) -> Result<(), StoreError> {
        match jail.open_file(path) {
            Ok((file, meta)) => {
                let runs = file
                    .metadata()
                    .is_ok_and(|m| m.permissions().mode() & 0o100 != 0);
                self.member_with(name, meta.size, file, if runs { 0o700 } else { 0o600 })
            }
            Err(JailError::NotFound) => Ok(()),
            Err(JailError::Escapes | JailError::NotRegular | JailError::IsDirectory) => {
                self.skipped.push(name.to_owned());
                Ok(())
            }
            Err(error) => Err(refused(path, &error)),
        }
    }

    fn member(&mut self, name: &str, size: u64, content: impl Read) -> Result<(), StoreError> {
        self.member_with(name, size, content, 0o600)
    }

    fn member_with(
        &mut self,
        name: &str,
        size: u64,
        content: impl Read,
        mode: u32,
    ) -> Result<(), StoreError> {
        // The header with the size comes first in a tar. A file that grows meanwhile is cut at that size, and one
        // that shrinks fails the backup below.
        let mut content = Hashing::new(content.take(size));
        let mut header = self.header(size);
        header.set_mode(mode);
        self.tar
            .append_data(&mut header, name, &mut content)
            .map_err(|error| StoreError::io(format!("packing {name}"), &error))?;
        let member = content.member(name);
        if member.size != size {
            return Err(StoreError::Changed {
                what: name.to_owned(),
            });
        }
        self.members.push(member);
        Ok(())
    }

    fn header(&self, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o600);
        header.set_size(size);
        header.set_mtime(u64::try_from(self.now.0 / 1_000).unwrap_or(0));
        header
    }

    fn finish(mut self, product_version: &str) -> io::Result<BackupSummary> {
        let summary = BackupSummary {
            members: self.members.len() as u64,
            bytes: self.members.iter().map(|member| member.size).sum(),
            skipped: std::mem::take(&mut self.skipped),
        };
        // The last member of the archive: whoever finds a manifest has everything before it.
        let members = std::mem::take(&mut self.members);
        let manifest = Manifest::new(product_version, self.now, members);
        let text = serde_json::to_vec_pretty(&manifest)?;
        let mut header = self.header(text.len() as u64);
        self.tar
            .append_data(&mut header, MANIFEST, text.as_slice())?;
        self.tar.into_inner()?.flush()?;
        Ok(summary)
    }
}

fn refused(path: &RelPath, error: &JailError) -> StoreError {
    match error {
        JailError::Full => StoreError::Full,
        JailError::Io(error) => StoreError::io(format!("reading {path}"), error),
        other => StoreError::Blobs(format!("{path}: {other}")),
    }
}
