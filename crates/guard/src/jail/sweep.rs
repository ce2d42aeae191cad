//! Names of temporary files, and the cleanup of those that a crash left behind.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, unlinkat};
use rustix::process::{Pid, test_kill_process};

use super::{Jail, JailError};
use crate::rel_path::TEMPORARY_PREFIX;

/// Maximum depth of a sweep; twice that of a path.
const MAX_DEPTH: usize = 128;

static LIVE: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// The name of a temporary file of this process.
#[derive(Debug)]
pub(super) struct Temporary {
    number: u64,
    name: String,
}

impl Temporary {
    /// A name that no other write of this process uses.
    pub(super) fn claim() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        live().insert(number);
        Self {
            number,
            name: format!("{TEMPORARY_PREFIX}{}-{number}", std::process::id()),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_live(&self) -> bool {
        live().contains(&self.number)
    }

    /// Marks the file as gone or renamed.
    pub(super) fn forget(&self) {
        live().remove(&self.number);
    }
}

fn live() -> MutexGuard<'static, BTreeSet<u64>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Jail {
    /// Removes temporary files whose writer is gone, and returns how many. Files that a running
    /// process is writing stay.
    pub fn sweep_temporaries(&self) -> Result<u64, JailError> {
        sweep(&self.root, MAX_DEPTH)
    }
}

fn sweep(dir: &Dir, depth: usize) -> Result<u64, JailError> {
    let mut removed = 0;
    for entry in dir.entries()? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        if kind.is_dir() && depth > 0 {
            // Removed or replaced meanwhile, or not readable: nothing to sweep there.
            if let Ok(below) = entry.open_dir() {
                removed += sweep(&below, depth - 1)?;
            }
        } else if kind.is_file() && name.to_str().is_some_and(is_stale) {
            unlinkat(dir, name.as_os_str(), AtFlags::empty())?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Whether the writer of the temporary file `name` is gone.
fn is_stale(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(TEMPORARY_PREFIX) else {
        return false;
    };
    let parts = rest.split_once('-');
    let Some((Ok(pid), Ok(number))) = parts.map(|(p, n)| (p.parse::<u32>(), n.parse::<u64>()))
    else {
        return true;
    };
    if pid == std::process::id() {
        // An earlier process may have had our process id.
        return !live().contains(&number);
    }
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_none_or(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RelPath, WriteMode};
    use std::fs;

    #[test]
    fn a_sweep_takes_what_a_crash_left_and_spares_what_is_being_written() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let jail = Jail::open(dir.path()).unwrap();
        let at = |name: &str| dir.path().join(name);
        let ours = std::process::id();
        fs::create_dir(at("d")).unwrap();
        fs::write(at("d/.mh-tmp-4194304999-1"), "half").unwrap();
        fs::write(at(&format!(".mh-tmp-{ours}-18446744073709551615")), "half").unwrap();
        fs::write(at(".mh-tmp-odd"), "half").unwrap();
        fs::write(at(".mh-tmp-1-1"), "process 1 always runs").unwrap();
        fs::write(at("kept"), "whole").unwrap();
        fs::write(outside.path().join(".mh-tmp-odd"), "not ours").unwrap();
        std::os::unix::fs::symlink(outside.path(), at("out")).unwrap();
        let mut pending = jail.begin_write(&RelPath::parse("d/f").unwrap()).unwrap();
        assert_eq!(jail.sweep_temporaries().unwrap(), 3);
        assert_eq!(jail.sweep_temporaries().unwrap(), 0);
        assert!(at("kept").exists() && at(".mh-tmp-1-1").exists());
        assert!(outside.path().join(".mh-tmp-odd").exists());
        pending.write_all(b"done").unwrap();
        pending.commit(WriteMode::Overwrite).unwrap();
        assert_eq!(fs::read(at("d/f")).unwrap(), b"done");
    }
}
