//! One daemon per home: a file lock that the kernel releases with its holder, and a note in the file of who that is.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use manyhands_core::Timestamp;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::home::{self, LOCK};

/// The holder of a home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// The address it listens on, once it does.
    pub listen: Option<String>,
    /// When it started.
    pub started_at: Timestamp,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {}", self.pid)?;
        match &self.listen {
            Some(listen) => write!(f, " listening on {listen}"),
            None => Ok(()),
        }
    }
}

/// The lock on a home, held until dropped or until the process ends in any way.
#[derive(Debug)]
pub struct HomeLock {
    file: Mutex<File>,
}

/// Attempts while a reader of the note briefly holds the lock.
const MAX_ATTEMPTS: usize = 1_000;

impl HomeLock {
    /// Takes the lock; the error names the holder.
    pub fn acquire(home: &Path, holder: &Holder) -> Result<Self, StoreError> {
        let failed =
            |error: &io::Error| StoreError::io(format!("locking {}", home.display()), error);
        if !home.is_dir() {
            home::private_dir(home)?;
        }
        // Never truncated or removed: the lock belongs to the inode, and a second file of the same name
        // would be a second lock.
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(home.join(LOCK))
            .map_err(|error| failed(&error))?;
        home::keep_private(&file).map_err(|error| failed(&error))?;
        let mut attempts = 0;
        while let Err(refused) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if refused != rustix::io::Errno::WOULDBLOCK {
                return Err(failed(&refused.into()));
            }
            let note = read_note(&file);
            // `holder` briefly locks a stale file itself. If the note names a dead process, this is such a moment.
            let stale = note.as_ref().is_some_and(|note| !alive(note.pid));
            attempts += 1;
            if !stale || attempts > MAX_ATTEMPTS {
                let by = note.map_or_else(|| "another process".to_owned(), |note| note.to_string());
                return Err(StoreError::Locked { by });
            }
            std::thread::yield_now();
        }
        write_note(&file, holder).map_err(|error| failed(&error))?;
        Ok(Self {
            file: Mutex::new(file),
        })
    }

    /// Changes the note, for example when the address becomes known.
    pub fn update(&self, holder: &Holder) -> Result<(), StoreError> {
        let file = self.file.lock().unwrap_or_else(|held| held.into_inner());
        write_note(&file, holder)
            .map_err(|error| StoreError::io("noting who holds the home", &error))
    }

    /// The current holder; `None` if the home is free, even if a crash left a note.
    pub fn holder(home: &Path) -> Option<Holder> {
        let file = File::open(home.join(LOCK)).ok()?;
        let note = read_note(&file)?;
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            // Read again: the note from before may be that of an earlier holder.
            Err(rustix::io::Errno::WOULDBLOCK) => Some(read_note(&file).unwrap_or(note)),
            _ => None,
        }
    }
}

impl Drop for HomeLock {
    /// Empties the note. The file itself stays: see [`acquire`](Self::acquire).
    fn drop(&mut self) {
        if let Ok(file) = self.file.get_mut() {
            let _ = file.set_len(0);
        }
    }
}

fn alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

fn write_note(mut file: &File, holder: &Holder) -> io::Result<()> {
    let text = serde_json::to_vec(holder)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&text)?;
    file.set_len(text.len() as u64)
}

fn read_note(mut file: &File) -> Option<Holder> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me(listen: Option<&str>) -> Holder {
        Holder {
            pid: std::process::id(),
            listen: listen.map(str::to_owned),
            started_at: Timestamp(5),
        }
    }

    #[test]
    fn a_second_daemon_is_refused_by_name_and_the_first_keeps_the_home() {
        let home = tempfile::tempdir().unwrap();
        let first = HomeLock::acquire(home.path(), &me(None)).unwrap();
        first.update(&me(Some("127.0.0.1:7433"))).unwrap();
        let refused = HomeLock::acquire(home.path(), &me(None)).unwrap_err();
        let by = format!("process {} listening on 127.0.0.1:7433", std::process::id());
        assert_eq!(refused, StoreError::Locked { by });
        assert_eq!(
            HomeLock::holder(home.path()),
            Some(me(Some("127.0.0.1:7433")))
        );
        drop(first);
        assert_eq!(HomeLock::holder(home.path()), None);
        HomeLock::acquire(home.path(), &me(None)).unwrap();
    }

    #[test]
    fn the_note_of_a_crashed_daemon_holds_nothing() {
        let home = tempfile::tempdir().unwrap();
        let text = serde_json::to_vec(&me(None)).unwrap();
        std::fs::write(home.path().join(LOCK), text).unwrap();
        assert_eq!(HomeLock::holder(home.path()), None);
        HomeLock::acquire(home.path(), &me(None)).unwrap();
    }

    #[test]
    fn of_many_daemons_one_gets_the_home() {
        let home = tempfile::tempdir().unwrap();
        let got: Vec<_> = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| HomeLock::acquire(home.path(), &me(None))))
                .collect();
            tries.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(got.iter().filter(|lock| lock.is_ok()).count(), 1);
    }

    #[test]
    fn reading_a_stale_lock_keeps_no_daemon_out() {
        let home = tempfile::tempdir().unwrap();
        let gone = Holder {
            pid: i32::MAX.cast_unsigned(),
            ..me(None)
        };
        let text = serde_json::to_vec(&gone).unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    HomeLock::holder(home.path());
                }
            });
            let daemon = scope.spawn(|| {
                for _ in 0..500 {
                    std::fs::write(home.path().join(LOCK), &text)?;
                    HomeLock::acquire(home.path(), &gone).map_err(io::Error::other)?;
                }
                Ok::<_, io::Error>(())
            });
            let outcome = daemon.join();
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            outcome.unwrap().unwrap();
        });
    }

    #[test]
    fn reading_the_holder_without_a_lock_creates_nothing() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(HomeLock::holder(home.path()), None);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
