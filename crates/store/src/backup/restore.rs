//! A home from a backup. Everything is unpacked beside the home and checked there;
//! only then does it take the home's place.

use std::fs::{File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use manyhands_core::Timestamp;
use manyhands_guard::{Jail, JailError, RelPath, WriteMode};
use tar::{Archive, Entry, EntryType};

use super::manifest::{FORMAT, Hashing, MANIFEST, Manifest, Member};
use super::{Overwrite, PLAIN, TREES};
use crate::error::StoreError;
use crate::home::{self, AUDIT_HEAD, BLOBS, DATABASE, LOCK};
use crate::lock::{Holder, HomeLock};

/// A manifest larger than this is not ours.
const MAX_MANIFEST: u64 = 512 * 1024 * 1024;

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

/// Restores a backup. Refused, it has changed nothing.
pub async fn restore(what: Restore) -> Result<RestoreSummary, StoreError> {
    let done = tokio::task::spawn_blocking(move || restore_now(&what)).await;
    done.map_err(|_| StoreError::Closed)?
}

/// [`restore`] on this thread.
pub(crate) fn restore_now(what: &Restore) -> Result<RestoreSummary, StoreError> {
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
    let folder = home::parent(&what.home);
    if !folder.is_dir() {
        home::private_dir(&folder)?;
    }
    let unpacked = tempfile::Builder::new()
        .prefix(".restore-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(&folder)
        .map_err(|error| StoreError::io(format!("writing in {}", folder.display()), &error))?;
    let manifest = unpack(file, unpacked.path())?;
    let previous_home = take_place(what, unpacked, occupied)?;
    Ok(RestoreSummary {
        members: manifest.members.len() as u64,
        created: manifest.created,
        product_version: manifest.product_version,
        previous_home,
    })
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

fn spoiled(why: impl std::fmt::Display) -> StoreError {
    StoreError::corrupt(format!(
        "the backup is damaged or incomplete ({why}): use another; nothing was changed"
    ))
}

/// Unpacks into `target` and checks every byte against the manifest.
fn unpack(file: File, target: &Path) -> Result<Manifest, StoreError> {
    let failed = |error: &io::Error| StoreError::io(format!("writing {}", target.display()), error);
    let jail = Jail::open(target).map_err(|error| failed(&error))?;
    let blobs = RelPath::parse(BLOBS).map_err(spoiled)?;
    jail.create_dirs(&blobs).map_err(write_failed)?;
    let mut archive = Archive::new(GzDecoder::new(io::BufReader::new(file)));
    let (mut members, mut manifest) = (Vec::new(), None);
    for entry in archive.entries().map_err(spoiled)? {
        let mut entry = entry.map_err(spoiled)?;
        if manifest.is_some() {
            return Err(spoiled("something follows the manifest"));
        }
        let path = member_path(&entry)?;
        if path.as_str() == MANIFEST {
            manifest = Some(read_manifest(&mut entry)?);
        } else {
            let runs = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
            members.push(unpack_one(&jail, &path, entry)?);
            if runs {
                let file = jail.open_file(&path).map_err(write_failed)?.0;
                file.set_permissions(Permissions::from_mode(0o700))
                    .map_err(|e| failed(&e))?;
            }
        }
    }
    // What follows the archive holds the checksum of the whole stream.
    let rest = io::copy(&mut archive.into_inner(), &mut io::sink());
    rest.map_err(spoiled)?;
    let manifest = manifest.ok_or_else(|| spoiled("it has no manifest"))?;
    check(&manifest, members)?;
    Ok(manifest)
}

/// Where a member goes: a plain path of a file that belongs in a home.
fn member_path<R: Read>(entry: &Entry<'_, R>) -> Result<RelPath, StoreError> {
    if entry.header().entry_type() != EntryType::Regular {
        return Err(spoiled("it holds something that is not a regular file"));
    }
    let bytes = entry.path_bytes();
    let text = std::str::from_utf8(&bytes).map_err(spoiled)?;
    let path =
        RelPath::parse(text).map_err(|error| spoiled(format!("the path {text:?} {error}")))?;
    let first = path.components().next().unwrap_or_default();
    let alone = path.as_str() == first;
    let known = match alone {
        true => [DATABASE, AUDIT_HEAD, MANIFEST].contains(&first) || PLAIN.contains(&first),
        false => TREES.iter().any(|tree| {
            text.strip_prefix(tree)
                .is_some_and(|rest| rest.starts_with('/'))
        }),
    };
    if path.as_str() != text || !known {
        return Err(spoiled(format!("{text:?} does not belong in a home")));
    }
    Ok(path)
}

fn read_manifest(entry: &mut impl Read) -> Result<Manifest, StoreError> {
    let mut text = Vec::new();
    entry
        .take(MAX_MANIFEST)
        .read_to_end(&mut text)
        .map_err(spoiled)?;
    let manifest: Manifest = serde_json::from_slice(&text).map_err(spoiled)?;
    if manifest.format != FORMAT {
        return Err(StoreError::Schema {
            what: format!(
                "the backup was made by version {} in a form this version does not know: use that version",
                manifest.product_version
            ),
        });
    }
    Ok(manifest)
}

fn unpack_one(jail: &Jail, path: &RelPath, entry: impl Read) -> Result<Member, StoreError> {
    let mut content = Hashing::new(entry);
    let mut pending = jail.begin_write(path).map_err(write_failed)?;
    pending.copy_from(&mut content).map_err(write_failed)?;
    match pending.commit(WriteMode::CreateNew) {
        Ok(_) => Ok(content.member(path.as_str())),
        Err(JailError::Exists) => Err(spoiled(format!("{path} is in it twice"))),
        Err(error) => Err(write_failed(error)),
    }
}

/// A failure while unpacking is the disk's when it is full, and else the backup's.
fn write_failed(error: JailError) -> StoreError {
    match error {
        JailError::Full => StoreError::Full,
        other => spoiled(other),
    }
}

fn check(manifest: &Manifest, mut found: Vec<Member>) -> Result<(), StoreError> {
    let mut claimed = manifest.members.clone();
    claimed.sort();
    found.sort();
    if let Some((_, wrong)) = claimed
        .iter()
        .zip(&found)
        .find(|(claim, found)| claim != found)
    {
        return Err(spoiled(format!(
            "{} is not as the manifest says",
            wrong.path
        )));
    }
    if claimed.len() != found.len() {
        return Err(spoiled("files are missing or too many"));
    }
    if !found.iter().any(|member| member.path == DATABASE) {
        return Err(spoiled("it has no database"));
    }
    Ok(())
}

/// Puts what was unpacked in the home's place, keeping what was there.
fn take_place(
    what: &Restore,
    unpacked: tempfile::TempDir,
    occupied: bool,
) -> Result<Option<PathBuf>, StoreError> {
    let failed =
        |error: &io::Error| StoreError::io(format!("replacing {}", what.home.display()), error);
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
