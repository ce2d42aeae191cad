//! Tries to break out of the sandbox, for `doctor`: what the kernel claims to support is not proof that it confines.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::private_file::create_private;
use crate::sandbox::Sandbox;
use crate::supervisor::{Program, SuperviseError, Supervisor};

/// Result of a break-out attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelfTest {
    /// Whether the same attempts succeed without the sandbox, so that their failure is meaningful.
    pub control: bool,
    /// It could not read a file outside.
    pub read_contained: bool,
    /// It could not write a file outside.
    pub write_contained: bool,
    /// It could not open a socket; `None` if there is no bash to try with.
    pub network_contained: Option<bool>,
    /// It could change the mode of its own file. If not, the kernel or a container offers no seccomp
    /// listener, and programs such as `git`, `tar` and `cp -p` fail or complain.
    pub modes: bool,
}

impl SelfTest {
    /// Whether every attempt was stopped.
    pub fn contained(&self) -> bool {
        let network = self.network_contained.unwrap_or(true);
        self.control && self.read_contained && self.write_contained && network
    }
}

const TRIES: &str = r#"
read -r line < "$1" && [ "$line" = canary ] && echo READ
echo touched > "$2" && echo WROTE
chmod 400 "$3/mine" && echo CHANGED
[ -n "$BASH_VERSION" ] && : > /dev/udp/127.0.0.1/9 && echo SENT
exit 0
"#;

/// Runs a shell that tries to read, write and send outside its sandbox and to work inside it, and
/// again without a sandbox as a control.
pub async fn self_test(supervisor: &Supervisor) -> Result<SelfTest, SuperviseError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    // Unique per run: two checks at the same time must not see each other's files.
    let name = format!("manyhands-canary-{}-{number}", std::process::id());
    let canary = Removed(std::env::temp_dir().join(&name));
    let written = Removed(std::env::temp_dir().join(name + "-written"));
    create_private(&canary.0, b"canary\n").map_err(|error| SuperviseError::Start {
        path: canary.0.clone(),
        error: std::io::Error::other(error),
    })?;
    let folder = RemovedFolder(canary.0.with_extension("folder"));
    let own = || -> std::io::Result<()> {
        std::fs::create_dir(&folder.0)?;
        std::fs::write(folder.0.join("mine"), "")
    };
    own().map_err(|error| SuperviseError::Start {
        path: folder.0.clone(),
        error,
    })?;
    let bash = ["/bin/bash", "/usr/bin/bash"]
        .into_iter()
        .find(|bash| Path::new(bash).exists());
    let attempt = async |sandbox: Option<Sandbox>| {
        let args = [
            "-c".into(),
            TRIES.into(),
            "sh".into(),
            canary.0.clone(),
            written.0.clone(),
            folder.0.clone(),
        ];
        let program = Program::new(bash.unwrap_or("/bin/sh"))
            .args(args)
            .env("PATH", "/usr/bin:/bin")
            .timeout(Duration::from_secs(10))
            .sandbox(sandbox);
        let finished = supervisor.run(program, CancellationToken::new()).await?;
        let stdout = finished.stdout.text();
        let markers = ["READ", "WROTE", "SENT", "CHANGED"];
        Ok::<_, SuperviseError>(markers.map(|word| stdout.contains(word)))
    };
    // Without the sandbox first: if these attempts fail too, their failure inside it proves nothing.
    let free = attempt(None).await?;
    let _ = std::fs::remove_file(&written.0);
    let sandbox = Sandbox::system_read_only().writing(&folder.0);
    let confined = attempt(Some(sandbox)).await?;
    Ok(SelfTest {
        control: free[0] && free[1] && (free[2] || bash.is_none()),
        read_contained: !confined[0],
        write_contained: !confined[1] && !written.0.exists(),
        network_contained: bash.map(|_| !confined[2]),
        modes: confined[3],
    })
}

/// A file that is removed on drop.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A folder that is removed on drop, with its contents.
struct RemovedFolder(PathBuf);

impl Drop for RemovedFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_shell_that_tries_to_break_out_is_contained() {
        let result = self_test(&Supervisor::new(1)).await.unwrap();
        assert!(result.contained(), "{result:?}");
        assert_eq!(result.network_contained, Some(true));
        assert!(result.modes, "{result:?}");
    }
}
