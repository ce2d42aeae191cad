//! A home from a backup. Everything is unpacked beside the home and checked there;
//! only then does it take the home's place.
//!
//! A backup may come from anybody, so it is checked like any other input: see [`unpack`] for the
//! archive and [`check_foreign`] for the database. What its settings would have this machine do
//! is for the caller to look at before [`Staged::commit`].
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
    /// The home to make.
    pub home: PathBuf,
    /// What to do with a home that is there: refuse, or keep it under another name.
    pub overwrite: Overwrite,
    /// When this is, for that name.
    pub now: Timestamp,
}

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreSummary {
    /// How many files.
    pub members: u64,
    /// When the backup was taken.
    pub created: Timestamp,
    /// Which version took it.
    pub product_version: String,
    /// Where the home that was there is now.
    pub previous_home: Option<PathBuf>,
}

/// A backup that was unpacked and checked, and is not in its place yet. Dropped, it leaves
/// nothing behind.
#[derive(Debug)]
pub struct Staged {
    what: Restore,
    unpacked: tempfile::TempDir,
    manifest: Manifest,
    occupied: bool,
}

/// Unpacks a backup beside the home and checks it. Refused, it has changed nothing.
pub async fn stage(what: Restore) -> Result<Staged, StoreError> {
    let staged = tokio::task::spawn_blocking(move || begin(what)).await;
    let staged = staged.map_err(|_| StoreError::Closed)??;
    check_foreign(&staged.unpacked.path().join(DATABASE)).await?;
    Ok(staged)
}

/// Restores a backup, whatever its settings say. Refused, it has changed nothing.
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
    // The folder above the home is made when all is well, and may not be there yet.
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

    /// Revokes every token in the backup, the owner's included: the gateway makes a new one for
    /// the owner when it starts.
    pub async fn revoke_tokens(&self) -> Result<(), StoreError> {
        let sql = Sql::open(&self.unpacked.path().join(DATABASE)).await?;
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

    /// Whether the audit in the backup is what was written. Needs the vault to open.
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

    /// Puts the backup in the home's place, keeping what was there.
    pub async fn commit(self) -> Result<RestoreSummary, StoreError> {
        let done = tokio::task::spawn_blocking(move || {
            let previous_home = take_place(&self.what, self.unpacked, self.occupied)?;
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

/// Whether anything but a left-over lock is in the home.
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

/// Puts what was unpacked in the home's place, keeping what was there.
fn take_place(
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
    let previous = occupied.then(|| kept_name(&what.home, what.now));
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
fn kept_name(home: &Path, now: Timestamp) -> PathBuf {
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
