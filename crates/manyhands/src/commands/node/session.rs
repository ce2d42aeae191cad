//! The programs that a service is seen to with, and the environment it will have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use manyhands_guard::{Exit, Finished, Program, Supervisor};
use tokio_util::sync::CancellationToken;

use crate::ground::Ground;
use crate::output::Failure;

/// How long a service manager may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a login shell may take to say its `PATH`.
const LOGIN: Duration = Duration::from_secs(5);
/// Where programs are looked for when the environment does not say.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// Runs programs as the user would.
pub struct Session {
    supervisor: Supervisor,
    environment: BTreeMap<String, String>,
}

impl Session {
    /// In the environment this was started in, without our own tokens.
    pub fn new(ground: &Ground) -> Self {
        let mut environment = ground.environment();
        environment.retain(|name, _| !name.starts_with("MANYHANDS_"));
        Self {
            supervisor: Supervisor::new(1),
            environment,
        }
    }

    /// Runs a program to its end: what it wrote, or why it failed in its own words.
    pub async fn run(&self, name: &str, args: &[&str]) -> Result<String, Failure> {
        let path = self
            .find(name)
            .ok_or_else(|| Failure(format!("there is no program `{name}` on this machine")))?;
        let done = self.program(&path, args, PATIENCE).await?;
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
        let path = self.environment.get("PATH").map_or(USUAL, String::as_str);
        let folders = path.split(':').map(Path::new);
        let folders = folders.filter(|folder| folder.is_absolute());
        folders
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    }

    /// The `PATH` that the user's login shell has; what we have ourselves when it does not say.
    pub async fn login_path(&self) -> String {
        let ours = self.environment.get("PATH").cloned();
        self.shell_path()
            .await
            .or(ours)
            .unwrap_or_else(|| USUAL.to_owned())
    }

    async fn shell_path(&self) -> Option<String> {
        let shell = self.environment.get("SHELL").map(PathBuf::from)?;
        // Profiles may print a greeting; the last line is ours.
        let args = ["-lc", r#"printf '\n%s' "$PATH""#];
        let said = self.program(&shell, &args, LOGIN).await.ok()?;
        let said = (said.exit == Exit::Code(0)).then(|| said.stdout.text())?;
        let path = said.rsplit('\n').next()?;
        (path.starts_with('/') && !path.contains(char::is_control)).then(|| path.to_owned())
    }
}
