//! How much of a machine a node shares, and the tools that result from it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use manyhands_guard::Supervisor;
use manyhands_node::{Confinement, SandboxMode, ToolSettings, Toolbox};

use crate::context::CliContext;
use manyhands_terminal::output::Failure;

/// Maximum number of concurrent child processes of a node.
const MAX_PROGRAMS: usize = 128;
/// How long child processes may take to exit when the node stops.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Polling interval while waiting for them.
const EXIT_POLL: Duration = Duration::from_millis(20);

/// Names of the options, as the user knows them, for messages.
#[derive(Debug, Clone, Copy)]
pub struct OptionNames {
    /// The workspace option.
    pub workspace: &'static str,
    /// The jail option.
    pub jail: &'static str,
    /// The option that disables the sandbox.
    pub sandbox_off: &'static str,
}

/// Requested options; unset ones get defaults.
#[derive(Debug, Clone, Default)]
pub struct SharingRequest {
    /// Working directory of the tools.
    pub workspace: Option<PathBuf>,
    /// Directory the tools cannot leave.
    pub jail: Option<PathBuf>,
    /// What commands may change.
    pub sandbox: Option<SandboxMode>,
    /// Whether the owner of the gateway may open terminals.
    pub terminals: bool,
}

/// How much of a machine is shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharing {
    /// Working directory of the tools.
    pub workspace: PathBuf,
    /// Limits of the tools.
    pub confinement: Confinement,
    /// Whether the owner of the gateway may open terminals.
    pub terminals: bool,
}

impl Sharing {
    /// Resolves the requested options relative to `here`. A jail implies a sandbox, because a shell without one
    /// could leave it.
    pub fn new(asked: SharingRequest, here: &Path, options: OptionNames) -> Result<Self, Failure> {
        let jail = asked.jail.map(|jail| folder(&jail, here, options.jail));
        let jail = jail.transpose()?;
        let workspace = match &asked.workspace {
            Some(workspace) => folder(workspace, here, options.workspace)?,
            None => match &jail {
                // Started outside of the jail, the current directory would be refused below.
                // A jail elsewhere was given without a workspace: start in the jail itself.
                Some(jail) if !holds(jail, here) => jail.clone(),
                _ => here.to_owned(),
            },
        };
        if let Some(jail) = jail.as_deref().filter(|jail| !holds(jail, &workspace)) {
            return Err(Failure(format!(
                "{} {} does not contain the workspace {}\nhint: choose a directory that contains it, or another workspace with {}",
                options.jail,
                jail.display(),
                workspace.display(),
                options.workspace
            )));
        }
        let sandbox = match (asked.sandbox, &jail) {
            (Some(sandbox), _) => sandbox,
            // A jail for the file tools alone would leave commands outside of it.
            (None, Some(_)) => SandboxMode::Workspace,
            (None, None) => SandboxMode::Off,
        };
        Ok(Self {
            workspace,
            confinement: Confinement { jail, sandbox },
            terminals: asked.terminals,
        })
    }

    /// Returns a warning for the owner, if the options are weaker than they look.
    pub fn warning(&self, options: OptionNames) -> Option<String> {
        match (&self.confinement.jail, self.confinement.sandbox) {
            (Some(jail), SandboxMode::Off) => Some(format!(
                "warning: with {} only the file tools stay inside {}; commands have your full permissions",
                options.sandbox_off,
                jail.display()
            )),
            // Without a jail, `off` is what the user asked for and needs no warning.
            _ => None,
        }
    }

    /// Directories the tools can reach in a sandbox; without a sandbox they can reach everything.
    pub fn reach(&self) -> Vec<&Path> {
        let Confinement { jail, sandbox } = &self.confinement;
        match (jail, sandbox) {
            (_, SandboxMode::Off) => Vec::new(),
            (None, _) => vec![&self.workspace],
            (Some(jail), _) => vec![&self.workspace, jail],
        }
    }

    /// Builds the node's tools.
    pub fn toolbox(
        &self,
        environment: BTreeMap<String, String>,
        supervisor: &Supervisor,
        ctx: &CliContext,
    ) -> Result<Toolbox, Failure> {
        Ok(Toolbox::new(ToolSettings {
            workspace: self.workspace.clone(),
            env: environment,
            confinement: self.confinement.clone(),
            terminals: self.terminals,
            supervisor: supervisor.clone(),
            clock: ctx.clock.clone(),
            ids: ctx.ids.clone(),
        })?)
    }
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workspace {}, ", self.workspace.display())?;
        let jail = self.confinement.jail.as_ref();
        // Usually both are the same directory; printing it twice would only confuse.
        if let Some(jail) = jail.filter(|jail| **jail != self.workspace) {
            write!(f, "jail {}, ", jail.display())?;
        }
        write!(f, "sandbox {}", word(self.confinement.sandbox))?;
        if self.terminals {
            write!(f, ", terminals allowed")?;
        }
        Ok(())
    }
}

/// Returns the option value for a sandbox mode.
pub fn word(sandbox: SandboxMode) -> &'static str {
    match sandbox {
        SandboxMode::Off => "off",
        SandboxMode::Workspace => "workspace",
        SandboxMode::ReadOnly => "read-only",
    }
}

/// Creates the supervisor of a node's child processes; they are killed even if this process dies.
pub fn supervisor(ctx: &CliContext) -> Result<Supervisor, Failure> {
    // The executable may be replaced by an update while it runs; this path leads to the running one.
    let us = Path::new("/proc/self/exe");
    let us = if us.exists() {
        us.to_owned()
    } else {
        ctx.program()?
    };
    Ok(Supervisor::new(MAX_PROGRAMS).with_keeper(us, vec!["keeper".to_owned()]))
}

/// Waits until all child processes have exited, up to a timeout.
pub async fn all_ended(supervisor: &Supervisor) {
    let ended = async {
        while supervisor.running() > 0 {
            tokio::time::sleep(EXIT_POLL).await;
        }
    };
    let _ = tokio::time::timeout(EXIT_TIMEOUT, ended).await;
}

fn folder(named: &Path, here: &Path, word: &str) -> Result<PathBuf, Failure> {
    let folder: PathBuf = here.join(named).components().collect();
    if folder.is_dir() {
        return Ok(folder);
    }
    Err(Failure(format!(
        "{word} {} is not a directory; create it or choose another",
        folder.display()
    )))
}

/// Returns whether `folder` is `around` or lies inside it.
pub fn holds(around: &Path, folder: &Path) -> bool {
    // Links are resolved first: `/home/me/link` may point outside of the directory it appears to be in.
    full(folder).starts_with(full(around))
}

/// Resolves links in the part of a path that exists.
fn full(path: &Path) -> PathBuf {
    // The longest existing prefix is resolved; the rest of the path may be created later.
    for there in path.ancestors() {
        if let Ok(real) = there.canonicalize() {
            let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
            return real.join(rest).components().collect();
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: OptionNames = OptionNames {
        workspace: "--workspace",
        jail: "--jail",
        sandbox_off: "--sandbox off",
    };

    struct Desk(tempfile::TempDir);

    impl Desk {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in ["here", "jail/inner"] {
                std::fs::create_dir_all(folder.path().join(name)).unwrap();
            }
            Self(folder)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn share(
            &self,
            workspace: Option<&str>,
            jail: Option<&str>,
            sandbox: Option<SandboxMode>,
        ) -> Result<Sharing, String> {
            let asked = SharingRequest {
                workspace: workspace.map(|name| self.path(name)),
                jail: jail.map(|name| self.path(name)),
                sandbox,
                terminals: false,
            };
            Sharing::new(asked, &self.path("here"), OPTIONS).map_err(|failure| failure.0)
        }
    }

    #[test]
    fn a_jail_implies_a_sandbox_unless_disabled() {
        let desk = Desk::new();
        let mode = |jail, sandbox| desk.share(None, jail, sandbox).unwrap().confinement.sandbox;
        assert_eq!(mode(None, None), SandboxMode::Off);
        assert_eq!(mode(Some("jail"), None), SandboxMode::Workspace);
        assert_eq!(
            mode(Some("jail"), Some(SandboxMode::ReadOnly)),
            SandboxMode::ReadOnly
        );
        let off = desk
            .share(None, Some("jail"), Some(SandboxMode::Off))
            .unwrap();
        assert_eq!(off.confinement.sandbox, SandboxMode::Off);
        let warning = off.warning(OPTIONS).unwrap();
        assert!(
            warning.starts_with("warning: with --sandbox off only the file tools"),
            "{warning}"
        );
        let on = desk.share(None, Some("jail"), None).unwrap();
        assert_eq!(on.warning(OPTIONS), None);
    }

    #[test]
    fn the_tools_start_here_or_in_the_jail() {
        let desk = Desk::new();
        assert_eq!(
            desk.share(None, None, None).unwrap().workspace,
            desk.path("here")
        );
        assert_eq!(
            desk.share(None, Some("jail"), None).unwrap().workspace,
            desk.path("jail")
        );
        let inner = desk.share(Some("jail/inner"), Some("jail"), None).unwrap();
        assert_eq!(inner.workspace, desk.path("jail/inner"));
        let around = desk.share(None, Some(""), None).unwrap();
        assert_eq!(around.workspace, desk.path("here"));
        assert_eq!(
            inner.to_string(),
            format!(
                "workspace {}, jail {}, sandbox workspace",
                desk.path("jail/inner").display(),
                desk.path("jail").display()
            )
        );
    }

    #[test]
    fn a_wrong_folder_is_refused_by_its_flag() {
        let desk = Desk::new();
        let wrong = desk.share(Some("gone"), None, None).unwrap_err();
        assert!(
            wrong.starts_with("--workspace /") && wrong.contains("is not a directory"),
            "{wrong}"
        );
        let wrong = desk.share(None, Some("gone"), None).unwrap_err();
        assert!(
            wrong.starts_with("--jail /") && wrong.contains("is not a directory"),
            "{wrong}"
        );
        let wrong = desk.share(Some("here"), Some("jail"), None).unwrap_err();
        assert!(wrong.contains("does not contain the workspace"), "{wrong}");
        assert!(desk.share(Some("jail/inner"), Some("jail"), None).is_ok());
    }

    #[test]
    fn a_folder_holds_what_a_link_leads_into_it() {
        let desk = Desk::new();
        std::os::unix::fs::symlink(desk.path("jail"), desk.path("link")).unwrap();
        assert!(holds(
            &desk.path("jail"),
            &desk.path("link/inner/not-there-yet")
        ));
        assert!(holds(&desk.path("jail"), &desk.path("jail")));
        assert!(!holds(&desk.path("jail"), &desk.path("here")));
    }
}
