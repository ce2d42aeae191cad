//! The private folder of a program, for its home and temporary files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use manyhands_guard::{Program, SuperviseError, Supervisor};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Timeout of the removal.
const REMOVED_WITHIN: Duration = Duration::from_secs(120);

/// A program's private folder. Removed in the background on drop: a program can leave a tree so deep or
/// so restricted that removing it takes long, and recursion would overflow the stack.
pub(crate) struct Private {
    folder: PathBuf,
    supervisor: Supervisor,
}

impl Private {
    pub(crate) fn new(folder: TempDir, supervisor: &Supervisor) -> Self {
        Self {
            folder: folder.keep(),
            supervisor: supervisor.clone(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // The common case: it is empty or nearly so.
        if std::fs::remove_dir(&self.folder).is_ok() {
            return;
        }
        let (folder, supervisor) = (self.folder.clone(), self.supervisor.clone());
        // Without a runtime the process is exiting, and no program can be started.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { remove(&folder, &supervisor).await });
        }
    }
}

/// The system's own programs walk a tree without recursion and without following links.
async fn remove(folder: &Path, supervisor: &Supervisor) {
    for (program, args) in [
        // A program may have removed its own permissions, which would stop `rm`.
        ("/bin/chmod", ["-R", "u+rwx", "--"]),
        ("/bin/rm", ["-rf", "--one-file-system", "--"]),
    ] {
        let mut tries = 0;
        loop {
            let step = Program::new(program)
                .args(args)
                .args([folder.as_os_str()])
                .timeout(REMOVED_WITHIN);
            match supervisor.run(step, CancellationToken::new()).await {
                // All slots are in use; the removal can wait.
                Err(SuperviseError::Busy { .. }) if tries < 600 => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                _ => break,
            }
        }
    }
}
