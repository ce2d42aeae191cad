//! Runs the service manager's programs, and determines the service's environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use manyhands_guard::{Exit, Finished, Program, Supervisor};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::sync::CancellationToken;

use manyhands_terminal::output::{self, Failure};

/// Timeout of the service manager, which waits for a stopping service to finish its calls.
const MANAGER_TIMEOUT: Duration = Duration::from_secs(180);
/// Timeout of the login shell that reports `PATH`.
const SHELL_TIMEOUT: Duration = Duration::from_secs(5);
/// Default `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Starts a program in a session of its own, where it outlives this command, whose programs are killed with their
/// process group. `setsid --fork` alone returns before the new session exists, and the program is then killed with the
/// old group; this shell ends once the output of the new one is closed, which happens after that.
const DETACH: &str =
    r#"test -n "$(setsid --fork sh -c 'echo started; exec "$@" >/dev/null 2>&1' sh "$@")""#;

/// Runs programs in the user's environment.
pub struct Session {
    supervisor: Supervisor,
    environment: BTreeMap<String, String>,
}

impl Session {
    /// Uses this environment, without our own tokens.
    pub fn new(mut environment: BTreeMap<String, String>) -> Self {
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
        printed(name, args, &done)
    }

    /// Runs the program in a file and returns its output, or an error with what it printed.
    pub async fn run_file(&self, file: &Path, args: &[&str]) -> Result<String, Failure> {
        let done = self.program(file, args, MANAGER_TIMEOUT).await?;
        printed(&file.display().to_string(), args, &done)
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

    /// Runs a program and passes its output on as it comes, until it ends or Ctrl-C is pressed.
    pub async fn follow(&self, name: &str, args: &[&str]) -> Result<(), Failure> {
        let path = self
            .find(name)
            .ok_or_else(|| Failure(format!("`{name}` is not installed")))?;
        let mut program = Program::new(path).args(args);
        for (name, value) in &self.environment {
            program = program.env(name, value);
        }
        let mut running = self.supervisor.start(program, &CancellationToken::new())?;
        let (out, err) = (running.stdout.take(), running.stderr.take());
        let copied = async { tokio::join!(pass_on(out), pass_on(err)) };
        tokio::select! {
            _ = copied => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        Ok(())
    }

    /// Opens a URL in the user's browser; `false` if there is no display or no way to start one.
    pub async fn browse(&self, url: &str) -> bool {
        if cfg!(target_os = "macos") {
            return self.run("open", &[url]).await.is_ok();
        }
        let set = |name: &str| self.environment.get(name).is_some_and(|v| !v.is_empty());
        let Some(opener) = self.find("xdg-open") else {
            return false;
        };
        if !set("DISPLAY") && !set("WAYLAND_DISPLAY") {
            return false;
        }
        let opener = opener.display().to_string();
        self.run("sh", &["-c", DETACH, "sh", &opener, url])
            .await
            .is_ok()
    }

    /// Finds a program in `PATH`.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
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

fn printed(name: &str, args: &[&str], done: &Finished) -> Result<String, Failure> {
    if done.exit == Exit::Code(0) {
        return Ok(done.stdout.text());
    }
    let [out, err] = [done.stdout.text(), done.stderr.text()];
    let words = [err.trim(), out.trim()].into_iter().find(|w| !w.is_empty());
    let words = words.map_or_else(|| format!("{:?}", done.exit), str::to_owned);
    Err(Failure(format!("`{name} {}`: {words}", args.join(" "))))
}

/// Copies a program's output to standard output.
async fn pass_on(pipe: Option<impl AsyncRead + Unpin>) {
    let Some(mut pipe) = pipe else {
        return;
    };
    let mut chunk = [0; 8 * 1024];
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        output::print_chunk(&String::from_utf8_lossy(&chunk[..read]));
    }
}
