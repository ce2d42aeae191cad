//! The journal of an upgrade: a small file in the home that says how far it came.
//!
//! It is written before each step, so that whoever finds it after a crash knows what may have been done and can
//! finish or undo it. A lock tells a running upgrade from one that was interrupted.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use manyhands_core::Timestamp;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use manyhands_terminal::output::Failure;

/// Folder of the backups, inside the home.
pub const BACKUPS: &str = "backups";
/// The journal's file, inside the home.
const FILE: &str = "upgrade.json";
/// The lock's file, inside the home.
const LOCK: &str = "upgrade.lock";

/// How often a lock whose holder may be about to release it is tried again.
const ATTEMPTS: u32 = 100;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// How far an upgrade came. Each step is recorded before anything of it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The new program is unpacked beside the old one and tried on a copy. The gateway goes on.
    Staging,
    /// The gateway is stopped and the home backed up.
    Stopping,
    /// The programs are exchanged.
    Swapping,
    /// The new version is started, and may change the home.
    Starting,
    /// The old program and the home are restored.
    RollingBack,
    /// All is restored, and the old version is started.
    Returning,
}

/// What is known of an upgrade.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Journal {
    /// How far it came.
    pub step: Step,
    /// The old version.
    pub from: String,
    /// The new version.
    pub to: String,
    /// The program that is replaced.
    pub program: PathBuf,
    /// The backup of the home, once it is complete.
    pub backup: Option<PathBuf>,
    /// Whether the gateway's service ran and has to be started again.
    pub restart: bool,
    /// When it began.
    pub started_at: Timestamp,
    /// The process that recorded the step.
    pub pid: u32,
}

impl Journal {
    /// Reads the journal of a home; `None` if no upgrade is unfinished.
    pub fn read(home: &Path) -> Result<Option<Self>, Failure> {
        let file = home.join(FILE);
        let text = match std::fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure(format!("cannot read {}: {error}", file.display()))),
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            Failure(format!(
                "{} is not the journal of an upgrade: {error}\nhint: if no upgrade is running, remove it",
                file.display()
            ))
        })
    }

    /// Records a step, on disk before this returns.
    pub fn record(&mut self, step: Step, home: &Path) -> Result<(), Failure> {
        self.step = step;
        self.pid = std::process::id();
        let file = home.join(FILE);
        let failed = |e: std::io::Error| Failure(format!("cannot write {}: {e}", file.display()));
        let text = serde_json::to_vec_pretty(self)?;
        let mut temporary = tempfile::Builder::new()
            .prefix(".upgrade-")
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(home)
            .map_err(failed)?;
        temporary.write_all(&text).map_err(failed)?;
        temporary.as_file().sync_all().map_err(failed)?;
        // Before it is in place: the gateway of a system service reads it as its own user.
        give_to_owner_of(home, temporary.path()).map_err(failed)?;
        temporary.persist(&file).map_err(|e| failed(e.error))?;
        sync_folder(home).map_err(failed)
    }

    /// Forgets the upgrade: it is complete, or undone.
    pub fn remove(home: &Path) -> Result<(), Failure> {
        let file = home.join(FILE);
        let failed = |e: std::io::Error| Failure(format!("cannot remove {}: {e}", file.display()));
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
            _ => sync_folder(home).map_err(failed),
        }
    }

    /// The new program, while it is not in place.
    pub fn staged(&self) -> PathBuf {
        beside(&self.program, "new")
    }

    /// The old program, once it was replaced.
    pub fn previous(&self) -> PathBuf {
        beside(&self.program, "previous")
    }

    /// Where what the new version made of the home is moved to.
    pub fn aside(&self, home: &Path) -> PathBuf {
        let name = format!("failed-{}-{}", self.to, file_time(self.started_at));
        home.join(BACKUPS).join(name)
    }
}

/// A time as part of a file name.
pub fn file_time(at: Timestamp) -> String {
    at.rfc3339().replace(':', "-")
}

fn beside(program: &Path, what: &str) -> PathBuf {
    let mut name = program.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(what);
    program.with_file_name(name)
}

/// The lock of the one upgrade of a home, held until dropped or until the process ends in any way.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock; fails if an upgrade is running.
    pub async fn take(home: &Path) -> Result<Self, Failure> {
        match Self::attempt(home).await? {
            Some(lock) => Ok(lock),
            None => Err(Failure(format!(
                "another upgrade of {} is running\nhint: wait until it has ended",
                home.display()
            ))),
        }
    }

    /// Takes the lock; `None` if an upgrade is running.
    pub async fn attempt(home: &Path) -> Result<Option<Self>, Failure> {
        for _ in 0..ATTEMPTS {
            if let Some(lock) = Self::attempt_once(home)? {
                return Ok(Some(lock));
            }
            // The kernel may release the lock of a killed process a moment after the process is gone. And a gateway that
            // finishes an interrupted upgrade at its start removes the journal a moment before it releases the lock.
            let is_alive = Journal::read(home)?.is_some_and(|journal| is_alive(journal.pid));
            if is_alive {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        Self::attempt_once(home)
    }

    fn attempt_once(home: &Path) -> Result<Option<Self>, Failure> {
        let path = home.join(LOCK);
        let failed = |e: std::io::Error| Failure(format!("cannot lock {}: {e}", path.display()));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        give_to_owner_of(home, &path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Makes a rename or removal in `folder` survive a power cut.
pub fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Gives `path`, with all below it, to the owner of `home`: root upgrades the service of another user.
pub fn give_to_owner_of(home: &Path, path: &Path) -> std::io::Result<()> {
    let owner = std::fs::metadata(home)?;
    let ours = path.symlink_metadata()?;
    if ours.uid() != owner.uid() || ours.gid() != owner.gid() {
        // Only root may do that, and only root has to.
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        std::os::unix::fs::lchown(path, Some(owner.uid()), Some(owner.gid()))?;
    }
    if ours.is_dir() {
        for entry in std::fs::read_dir(path)? {
            give_to_owner_of(home, &entry?.path())?;
        }
    }
    Ok(())
}
