//! Runs the service manager's programs, and determines the service's environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use manyhands_guard::{Exit, Finished, Program, Supervisor};
use tokio_util::sync::CancellationToken;

use crate::context::CliContext;
use crate::output::Failure;

/// Timeout of the service manager.
const MANAGER_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout of the login shell that reports `PATH`.
const SHELL_TIMEOUT: Duration = Duration::from_secs(5);
/// Default `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Runs programs in the user's environment.
pub struct Session {
    supervisor: Supervisor,
    environment: BTreeMap<String, String>,
}

impl Session {
    /// Uses the current environment, without our own tokens.
    pub fn new(ctx: &CliContext) -> Self {
        let mut environment = ctx.environment();
        // Profile scripts and service managers have no business with our tokens.
        environment.retain(|name, _| !name.starts_with("MANYHANDS_"));
        Self {
            supervisor: Supervisor::new(1),
            environment,
        }
    }

    /// Runs a program and returns its output, or an error with what it printed.
    pub async fn run(&self, name: &str, args: &[&str]) -> Result<String, Failure> {
        let path = self
            .find(name)
            .ok_or_else(|| Failure(format!("`{name}` is not installed")))?;
        let done = self.program(&path, args, MANAGER_TIMEOUT).await?;
        if done.exit == Exit::Code(0) {
            return Ok(done.stdout.text());
        }
        let [out, err] = [done.stdout.text(), done.stderr.text()];
        let words = [err.trim(), out.trim()].into_iter().find(|w| !w.is_empty());
        let words = words.map_or_else(|| format!("{:?}", done.exit), str::to_owned);
        Err(Failure(format!("`{name} {}`: {words}", args.join(" "))))
    }

    async fn program(
        &self,
        path: &Path,
        args: &[&str],
        within: Duration,
    ) -> Result<Finished, Failure> {
        let mut program = Program::new(path).args(args).timeout(within);
        for (name, value) in &self.environment {
            program = program.env(name, value);
        }
        let run = self.supervisor.run(program, CancellationToken::new());
        Ok(run.await?)
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        let path = self
            .environment
            .get("PATH")
            .map_or(DEFAULT_PATH, String::as_str);
        let folders = path.split(':').map(Path::new);
        // A relative entry in `PATH` would run whatever lies in the current directory.
        let folders = folders.filter(|folder| folder.is_absolute());
        folders
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    }

    /// Returns the `PATH` of the user's login shell, or our own if that fails.
    pub async fn login_path(&self) -> String {
        let ours = self.environment.get("PATH").cloned();
        self.shell_path()
            .await
            .or(ours)
            .unwrap_or_else(|| DEFAULT_PATH.to_owned())
    }

    async fn shell_path(&self) -> Option<String> {
        let shell = self.environment.get("SHELL").map(PathBuf::from)?;
        // Shell profiles may print a greeting; only the last line is `PATH`.
        let args = ["-lc", r#"printf '\n%s' "$PATH""#];
        let said = self.program(&shell, &args, SHELL_TIMEOUT).await.ok()?;
        let said = (said.exit == Exit::Code(0)).then(|| said.stdout.text())?;
        let path = said.rsplit('\n').next()?;
        (path.starts_with('/') && !path.contains(char::is_control)).then(|| path.to_owned())
    }
}
