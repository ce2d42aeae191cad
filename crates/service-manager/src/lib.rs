//! Services: what a service manager starts, and the managers themselves, systemd and launchd.
//!
//! The gateway and nodes differ only in their [`Definition`]; everything else is shared.

mod launchd;
mod session;
mod systemd;

use std::path::{Path, PathBuf};

use manyhands_terminal::output::Failure;

pub use session::Session;

/// The service managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// systemd.
    Systemd,
    /// launchd, of macOS.
    Launchd,
}

impl Manager {
    /// The one of this operating system.
    pub const NATIVE: Self = match cfg!(target_os = "macos") {
        true => Self::Launchd,
        false => Self::Systemd,
    };
}

/// Whose service it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's, started at login.
    User,
    /// The machine's, started at boot.
    System,
}

/// Name of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Of the systemd unit, without `.service`.
    unit: String,
    /// Of the launchd job.
    label: String,
}

impl Name {
    /// The gateway of this user or machine.
    pub fn gateway() -> Self {
        Self {
            unit: "manyhands".to_owned(),
            label: "manyhands.gateway".to_owned(),
        }
    }

    /// A node.
    pub fn node(id: &str) -> Self {
        Self {
            unit: format!("manyhands-node-{id}"),
            label: format!("manyhands.node.{id}"),
        }
    }

    fn unit_file(&self) -> String {
        format!("{}.service", self.unit)
    }
}

/// What a service manager starts. Contains no token.
#[derive(Debug)]
pub struct Definition {
    /// One line about it.
    pub description: String,
    /// The executable and its arguments.
    pub command: Vec<String>,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Log file, where the service manager has no log.
    pub log: PathBuf,
    /// What is special about a gateway.
    pub gateway: Option<GatewayService>,
}

/// The gateway's data directory and user.
#[derive(Debug)]
pub struct GatewayService {
    /// The data directory.
    pub home: PathBuf,
    /// The user it runs as; `None` for the one who installs it.
    pub user: Option<String>,
}

/// State of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// As the service manager describes it.
    pub text: String,
    /// Whether it runs.
    pub activity: Activity,
}

/// Whether a service runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It runs, or is being started.
    Running,
    /// It ended with an error.
    Failed,
    /// It does not run.
    Stopped,
}

/// One service, installed or not.
pub struct Unit<'a> {
    session: &'a Session,
    manager: Manager,
    /// Whose it is.
    pub scope: Scope,
    name: Name,
    /// The file that defines it.
    pub file: PathBuf,
}

impl<'a> Unit<'a> {
    /// The service of this name; `user` is the user's home directory.
    pub fn new(
        session: &'a Session,
        manager: Manager,
        scope: Scope,
        name: Name,
        user: &Path,
    ) -> Self {
        let file = match manager {
            Manager::Systemd => systemd::file(&name, scope, user),
            Manager::Launchd => launchd::file(&name, scope, user),
        };
        Self {
            session,
            manager,
            scope,
            name,
            file,
        }
    }

    /// Whether it is installed.
    pub fn is_installed(&self) -> bool {
        self.file.is_file()
    }

    /// Whether a package of the operating system installed it.
    pub fn is_packaged(&self) -> bool {
        self.manager == Manager::Systemd && !self.file.starts_with("/etc") && self.is_system()
    }

    fn is_system(&self) -> bool {
        self.scope == Scope::System
    }

    /// Fails if its service manager cannot be used; the error suggests `foreground`.
    pub async fn check(&self, foreground: &str) -> Result<(), Failure> {
        match self.manager {
            Manager::Systemd => self.systemd().check(foreground).await,
            Manager::Launchd => self.launchd().check(foreground),
        }
    }

    /// Contents of the file.
    pub fn text(&self, service: &Definition) -> Result<String, Failure> {
        match self.manager {
            Manager::Systemd => systemd::text(service, self.scope),
            Manager::Launchd => launchd::text(service, &self.name),
        }
    }

    /// Writes the file and starts the service, now and at every login or boot.
    pub async fn install(&self, text: &str) -> Result<(), Failure> {
        let failed = |e| Failure(format!("cannot write {}: {e}", self.file.display()));
        // Read before it is overwritten: a changed file needs a restart.
        let is_new = !self.is_installed();
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        std::fs::write(&self.file, text).map_err(failed)?;
        match self.manager {
            Manager::Systemd => self.systemd().enable(&self.name, is_new).await,
            Manager::Launchd => self.launchd().start(&self.name, &self.file).await,
        }
    }

    /// Stops the service and removes the file.
    pub async fn uninstall(&self) -> Result<(), Failure> {
        let remove = || {
            let gone = std::fs::remove_file(&self.file);
            gone.map_err(|e| Failure(format!("cannot remove {}: {e}", self.file.display())))
        };
        match self.manager {
            Manager::Systemd => {
                self.systemd().disable(&self.name).await?;
                remove()?;
                self.systemd().reload().await
            }
            Manager::Launchd => {
                let _ = self.launchd().stop(&self.name).await; // it may be stopped already
                remove()
            }
        }
    }

    /// Starts it.
    pub async fn start(&self) -> Result<(), Failure> {
        match self.manager {
            Manager::Systemd => self.systemd().ctl("start", &self.name).await,
            Manager::Launchd => self.launchd().start(&self.name, &self.file).await,
        }
    }

    /// Stops it and waits until it has stopped.
    pub async fn stop(&self) -> Result<(), Failure> {
        match self.manager {
            Manager::Systemd => self.systemd().ctl("stop", &self.name).await,
            Manager::Launchd => self.launchd().stop(&self.name).await,
        }
    }

    /// Stops it if it runs, and starts it.
    pub async fn restart(&self) -> Result<(), Failure> {
        match self.manager {
            Manager::Systemd => self.systemd().ctl("restart", &self.name).await,
            // `start` unloads a running job first.
            Manager::Launchd => self.launchd().start(&self.name, &self.file).await,
        }
    }

    /// Its state, as the service manager reports it.
    pub async fn state(&self) -> Result<State, Failure> {
        match self.manager {
            Manager::Systemd => self.systemd().state(&self.name).await,
            Manager::Launchd => Ok(self.launchd().state(&self.name).await),
        }
    }

    /// The last lines of its log. `log` is the file where the service manager has none.
    pub async fn logs(&self, log: &Path, lines: u32) -> Result<String, Failure> {
        match self.manager {
            Manager::Systemd => self.systemd().logs(&self.name, lines).await,
            Manager::Launchd => tail(log, lines),
        }
    }

    /// Prints the last lines of its log and what is added, until Ctrl-C.
    pub async fn follow(&self, log: &Path, lines: u32) -> Result<(), Failure> {
        match self.manager {
            Manager::Systemd => self.systemd().follow(&self.name, lines).await,
            Manager::Launchd => {
                let (lines, log) = (lines.to_string(), log.display().to_string());
                let args = ["-n", &lines, "-F", &log];
                self.session.follow("tail", &args).await
            }
        }
    }

    /// The value of an environment variable in the installed file.
    pub fn variable(&self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(&self.file).ok()?;
        match self.manager {
            Manager::Systemd => systemd::variable(&text, name),
            Manager::Launchd => launchd::variable(&text, name),
        }
    }

    /// The executable in the installed file.
    pub fn program(&self) -> Option<PathBuf> {
        let text = std::fs::read_to_string(&self.file).ok()?;
        let program = match self.manager {
            Manager::Systemd => systemd::program(&text),
            Manager::Launchd => launchd::program(&text),
        };
        program.map(PathBuf::from)
    }

    fn systemd(&self) -> systemd::Systemd<'a> {
        systemd::Systemd::new(self.session, self.scope)
    }

    fn launchd(&self) -> launchd::Launchd<'a> {
        launchd::Launchd::new(self.session, self.scope)
    }
}

/// Refuses values that cannot be written to a service file.
fn plain(word: &str) -> Result<&str, Failure> {
    if word.contains(char::is_control) {
        return Err(Failure(format!(
            "{word:?} contains a control character and cannot be written to a service file"
        )));
    }
    Ok(word)
}

/// The text of a path, for a service file.
pub fn path_text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        Failure(format!(
            "{} is not UTF-8 and cannot be written to a service file",
            path.display()
        ))
    })
}

/// Quotes a word for the shell.
pub fn shell_word(word: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || "-_./=:+@".contains(c);
    match !word.is_empty() && word.chars().all(bare) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn tail(file: &Path, lines: u32) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|e| Failure(format!("cannot read {}: {e}", file.display())))?;
    let all: Vec<&str> = text.lines().collect();
    // launchd has no tail of its own; the file is small enough to be read as a whole.
    let from = all.len().saturating_sub(lines as usize);
    Ok(all[from..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_word_is_quoted_for_a_shell() {
        for (word, text) in [
            ("/work/a", "/work/a"),
            ("/a b", "'/a b'"),
            ("it's", r"'it'\''s'"),
            ("$x", "'$x'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(word), text);
        }
    }

    #[test]
    fn the_end_of_a_log_is_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, "1\n2\n3\n").unwrap();
        assert_eq!(tail(&log, 2).unwrap(), "2\n3");
        assert_eq!(tail(&log, 9).unwrap(), "1\n2\n3");
        assert!(tail(&folder.path().join("gone"), 1).is_err());
    }
}
