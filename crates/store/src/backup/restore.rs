//! Restores a home from a backup. Everything is unpacked and checked beside the home and then replaces it.
//!
//! A backup may come from anybody, so it is checked like any other input: see [`unpack`] for the archive and
//! [`check_foreign`] for the database. The caller has to check its settings before [`Staged::commit`].
//!
//! [`unpack`]: super::unpack

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use manyhands_core::{Clock, Ids, Secret, Timestamp};

use super::manifest::Manifest;
use super::unpack::unpack;
use super::{CONFIG, OWNER_TOKEN, Overwrite};
use crate::audit::{ChainVerdict, VerifyFrom};
use crate::error::StoreError;
use crate::home::{self, DATABASE, LOCK};
use crate::lock::{Holder, HomeLock};
use crate::sql::{Sql, Statement, check_foreign};
use crate::store::Store;

/// What to restore, and where to.
#[derive(Debug, Clone)]
pub struct Restore {
    /// The backup.
    pub file: PathBuf,
    /// The home to create.
    pub home: PathBuf,
    /// What to do if the home exists: fail, or keep it under another name.
    pub overwrite: Overwrite,
    /// The current time, for that name.
    pub now: Timestamp,
}

/// Summary of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreSummary {
    /// Number of files.
    pub members: u64,
    /// When the backup was taken.
    pub created: Timestamp,
    /// The version that made it.
    pub product_version: String,
    /// Where the replaced home is now.
    pub previous_home: Option<PathBuf>,
}

/// A backup that was unpacked and checked but is not in its place yet. Dropping it removes it.
#[derive(Debug)]
pub struct Staged {
    what: Restore,
    unpacked: tempfile::TempDir,
    manifest: Manifest,
    occupied: bool,
}

/// Unpacks a backup beside the home and checks it. On failure nothing was changed.
pub async fn stage(what: Restore) -> Result<Staged, StoreError> {
    let staged = tokio::task::spawn_blocking(move || begin(what)).await;
    let staged = staged.map_err(|_| StoreError::Closed)??;
    // Before anything else opens it: using the tables of a hostile database can run code of its schema.
    check_foreign(&staged.unpacked.path().join(DATABASE)).await?;
    Ok(staged)
}

/// Restores a backup without checking its settings. On failure nothing was changed.
pub async fn restore(what: Restore) -> Result<RestoreSummary, StoreError> {
    stage(what).await?.commit().await
}

/// Unpacks a backup into an empty folder and checks it.
pub(crate) async fn unpack_checked(file: &Path, folder: &Path) -> Result<(), StoreError> {
    let opened = File::open(file)
        .map_err(|error| StoreError::io(format!("reading {}", file.display()), &error))?;
    let target = folder.to_owned();
    let unpacked = tokio::task::spawn_blocking(move || unpack(opened, &target)).await;
    unpacked.map_err(|_| StoreError::Closed)??;
    check_foreign(&folder.join(DATABASE)).await
}

fn begin(what: Restore) -> Result<Staged, StoreError> {
    if let Some(holder) = HomeLock::holder(&what.home) {
        return Err(StoreError::Locked {
            by: holder.to_string(),
        });
    }
    let occupied = is_occupied(&what.home)?;
    if occupied && what.overwrite == Overwrite::Refuse {
        return Err(StoreError::Exists {
            what: format!("a home at {}", what.home.display()),
        });
    }
    let file = File::open(&what.file)
        .map_err(|error| StoreError::io(format!("reading {}", what.file.display()), &error))?;
    // Beside the home, so that the last step is a rename. The folder above it is created only on success, so the nearest
    // existing one is used.
    let above = home::parent(&what.home);
    let folder = above.ancestors().find(|folder| folder.is_dir());
    let folder = folder.unwrap_or(Path::new("."));
    let unpacked = tempfile::Builder::new()
        .prefix(".restore-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(folder)
        .map_err(|error| StoreError::io(format!("writing in {}", folder.display()), &error))?;
    let manifest = unpack(file, unpacked.path())?;
    Ok(Staged {
        what,
        unpacked,
        manifest,
        occupied,
    })
}

impl Staged {
    /// The settings in the backup, if it has any.
    pub fn config(&self) -> Option<PathBuf> {
        let file = self.unpacked.path().join(CONFIG);
        file.is_file().then_some(file)
    }

    /// How many access tokens would be accepted after the restore.
    pub async fn live_tokens(&self) -> Result<usize, StoreError> {
        let sql = Sql::open(&self.unpacked.path().join(DATABASE)).await?;
        let tokens = crate::tokens::Tokens::new(sql.clone()).list().await;
        sql.close().await;
        let live = tokens?.into_iter();
        Ok(live.filter(|token| token.is_live(self.what.now)).count())
    }

    /// Revokes every token in the backup, the owner's included: the gateway creates a new one for the owner when it starts.
    pub async fn revoke_tokens(&self) -> Result<(), StoreError> {
        let sql = Sql::open(&self.unpacked.path().join(DATABASE)).await?;
        // Revoked rather than deleted: the audit still refers to these tokens.
        let revoke = Statement::new("UPDATE token SET revoked = $1 WHERE revoked IS NULL")
            .bind(self.what.now);
        let done = sql.run(revoke).await;
        sql.close().await;
        done?;
        let file = self.unpacked.path().join(OWNER_TOKEN);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io("removing the owner's token", &error))
            }
            _ => Ok(()),
        }
    }

    /// Verifies the audit in the backup. This opens its vault.
    pub async fn verify_audit(
        &self,
        clock: Arc<dyn Clock>,
        ids: Ids,
        passphrase: Option<Secret>,
    ) -> Result<ChainVerdict, StoreError> {
        let store = Store::open(self.unpacked.path(), clock, ids, passphrase).await?;
        let verdict = store.audit().verify(VerifyFrom::Genesis).await;
        store.close().await?;
        verdict
    }

    /// Replaces the home by the backup, keeping the old home under another name.
    pub async fn commit(self) -> Result<RestoreSummary, StoreError> {
        let done = tokio::task::spawn_blocking(move || {
            let previous_home = replace_home(&self.what, self.unpacked, self.occupied)?;
            Ok(RestoreSummary {
                members: self.manifest.members.len() as u64,
                created: self.manifest.created,
                product_version: self.manifest.product_version,
                previous_home,
            })
        });
        done.await.map_err(|_| StoreError::Closed)?
    }
}

/// Whether the home contains anything but a lock file.
fn is_occupied(home: &Path) -> Result<bool, StoreError> {
    let failed = |error: &io::Error| StoreError::io(format!("reading {}", home.display()), error);
    let entries = match std::fs::read_dir(home) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(&error)),
    };
    for entry in entries {
        if entry.map_err(|error| failed(&error))?.file_name() != LOCK {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Replaces the home, keeping the old one under another name.
fn replace_home(
    what: &Restore,
    unpacked: tempfile::TempDir,
    occupied: bool,
) -> Result<Option<PathBuf>, StoreError> {
    let failed =
        |error: &io::Error| StoreError::io(format!("replacing {}", what.home.display()), error);
    let above = home::parent(&what.home);
    if !above.is_dir() {
        home::private_dir(&above)?;
    }
    // A daemon that starts at this moment must find the lock taken, or win.
    let lock = match what.home.is_dir() {
        true => Some(HomeLock::acquire(&what.home, &me(what.now))?),
        false => None,
    };
    let previous = occupied.then(|| previous_name(&what.home, what.now));
    match &previous {
        Some(previous) => std::fs::rename(&what.home, previous).map_err(|error| failed(&error))?,
        // Only a lock file is in it; a folder may be renamed over an empty one.
        None if lock.is_some() => {
            std::fs::remove_file(what.home.join(LOCK)).map_err(|error| failed(&error))?;
        }
        None => {}
    }
    if let Err(error) = std::fs::rename(unpacked.path(), &what.home) {
        if let Some(previous) = &previous {
            let _ = std::fs::rename(previous, &what.home);
        }
        return Err(failed(&error));
    }
    drop(lock);
    let _ = unpacked.keep();
    home::sync_parent(&what.home).map_err(|error| failed(&error))?;
    Ok(previous)
}

fn me(now: Timestamp) -> Holder {
    Holder {
        pid: std::process::id(),
        listen: None,
        started_at: now,
    }
}

/// `<home>.before-restore-<time>`, with a number when that is taken.
fn previous_name(home: &Path, now: Timestamp) -> PathBuf {
    let time = now.rfc3339().replace(':', "-");
    let name = |more: &str| {
        let mut text = home.as_os_str().to_owned();
        text.push(format!(".before-restore-{time}{more}"));
        PathBuf::from(text)
    };
    let numbered = (2..).map(|number| name(&format!("-{number}")));
    let mut names = std::iter::once(name("")).chain(numbered);
    names
        .find(|path| path.symlink_metadata().is_err())
        .unwrap_or_else(|| name(""))
}
