//! The folder that serves a program as home and for temporary files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use manyhands_guard::{Program, SuperviseError, Supervisor};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// How long removing may take.
const REMOVED_WITHIN: Duration = Duration::from_secs(120);

/// A folder of a program's own. Dropped, it is removed in the background: a program can leave a
/// tree so deep or so closed that removing it takes long, and recursion would not survive it.
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
        // The ordinary case: nothing or next to nothing is in it.
        if std::fs::remove_dir(&self.folder).is_ok() {
            return;
        }
        let (folder, supervisor) = (self.folder.clone(), self.supervisor.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { remove(&folder, &supervisor).await });
        }
    }
}

/// The system's own programs walk a tree without recursion and without following links.
async fn remove(folder: &Path, supervisor: &Supervisor) {
    for (program, args) in [
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
                // As many programs run as may; this one can wait.
                Err(SuperviseError::Busy { .. }) if tries < 600 => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                _ => break,
            }
        }
    }
}
