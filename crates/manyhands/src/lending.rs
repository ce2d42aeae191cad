//! How much of a machine is lent, and the hands that follow from it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use manyhands_guard::Supervisor;
use manyhands_node::{Confinement, SandboxMode, ToolSettings, Toolbox};

use crate::ground::Ground;
use crate::output::Failure;

/// How many programs of a node run at once; its jobs are bounded more narrowly.
const MAX_PROGRAMS: usize = 128;
/// How long programs may take to end when the node does.
const ENDED_WITHIN: Duration = Duration::from_secs(5);
/// How often the ending programs are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What the owner calls the parts, for what is said about them.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    /// The workspace.
    pub workspace: &'static str,
    /// The jail.
    pub jail: &'static str,
    /// The sandbox, switched off.
    pub sandbox_off: &'static str,
}

/// What was asked for.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Where the tools start.
    pub workspace: Option<PathBuf>,
    /// The folder that is not left.
    pub jail: Option<PathBuf>,
    /// What commands may change.
    pub sandbox: Option<SandboxMode>,
}

/// How much of a machine is lent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lending {
    /// Where the tools start.
    pub workspace: PathBuf,
    /// How far they reach.
    pub confinement: Confinement,
}

impl Lending {
    /// What follows from what was asked for by somebody who stands at `here`: a jail brings a
    /// sandbox with it, since a shell outside of one would walk out.
    pub fn new(asked: Asked, here: &Path, words: Words) -> Result<Self, Failure> {
        let jail = asked.jail.map(|jail| folder(&jail, here, words.jail));
        let jail = jail.transpose()?;
        let workspace = match &asked.workspace {
            Some(workspace) => folder(workspace, here, words.workspace)?,
            None => match &jail {
                Some(jail) if !holds(jail, here) => jail.clone(),
                _ => here.to_owned(),
            },
        };
        if let Some(jail) = jail.as_deref().filter(|jail| !holds(jail, &workspace)) {
            return Err(Failure(format!(
                "{} {} does not hold the workspace {}\nhint: name a folder around it, or another workspace with {}",
                words.jail,
                jail.display(),
                workspace.display(),
                words.workspace
            )));
        }
        let sandbox = match (asked.sandbox, &jail) {
            (Some(sandbox), _) => sandbox,
            (None, Some(_)) => SandboxMode::Workspace,
            (None, None) => SandboxMode::Off,
        };
        Ok(Self {
            workspace,
            confinement: Confinement { jail, sandbox },
        })
    }

    /// What the owner should know about it.
    pub fn warning(&self, words: Words) -> Option<String> {
        match (&self.confinement.jail, self.confinement.sandbox) {
            (Some(jail), SandboxMode::Off) => Some(format!(
                "warning: with {} only the file tools stay inside {}; commands reach whatever you do",
                words.sandbox_off,
                jail.display()
            )),
            _ => None,
        }
    }

    /// The folders that the tools reach in a sandbox; without one they reach everything.
    pub fn reach(&self) -> Vec<&Path> {
        let Confinement { jail, sandbox } = &self.confinement;
        match (jail, sandbox) {
            (_, SandboxMode::Off) => Vec::new(),
            (None, _) => vec![&self.workspace],
            (Some(jail), _) => vec![&self.workspace, jail],
        }
    }

    /// The tools.
    pub fn toolbox(
        &self,
        environment: BTreeMap<String, String>,
        supervisor: &Supervisor,
        ground: &Ground,
    ) -> Result<Toolbox, Failure> {
        Ok(Toolbox::new(ToolSettings {
            workspace: self.workspace.clone(),
            env: environment,
            confinement: self.confinement.clone(),
            supervisor: supervisor.clone(),
            clock: ground.clock.clone(),
            ids: ground.ids.clone(),
        })?)
    }
}

impl fmt::Display for Lending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workspace {}, ", self.workspace.display())?;
        let jail = self.confinement.jail.as_ref();
        if let Some(jail) = jail.filter(|jail| **jail != self.workspace) {
            write!(f, "jail {}, ", jail.display())?;
        }
        write!(f, "sandbox {}", word(self.confinement.sandbox))
    }
}

/// How a sandbox is called.
pub fn word(sandbox: SandboxMode) -> &'static str {
    match sandbox {
        SandboxMode::Off => "off",
        SandboxMode::Workspace => "workspace",
        SandboxMode::ReadOnly => "read-only",
    }
}

/// The supervisor of a node's programs; what it started is killed even when this process is.
pub fn supervisor(ground: &Ground) -> Result<Supervisor, Failure> {
    // The file may be replaced while it runs; this name leads to what runs.
    let us = Path::new("/proc/self/exe");
    let us = if us.exists() {
        us.to_owned()
    } else {
        ground.program()?
    };
    Ok(Supervisor::new(MAX_PROGRAMS).kept_by(us, vec!["keeper".to_owned()]))
}

/// Waits until every program has ended, for a while.
pub async fn all_ended(supervisor: &Supervisor) {
    let ended = async {
        while supervisor.running() > 0 {
            tokio::time::sleep(LOOK).await;
        }
    };
    let _ = tokio::time::timeout(ENDED_WITHIN, ended).await;
}

fn folder(named: &Path, here: &Path, word: &str) -> Result<PathBuf, Failure> {
    let folder: PathBuf = here.join(named).components().collect();
    if folder.is_dir() {
        return Ok(folder);
    }
    Err(Failure(format!(
        "{word} {} is not a directory; create it, or name another",
        folder.display()
    )))
}

/// Whether one folder is, or lies in, another.
pub fn holds(around: &Path, folder: &Path) -> bool {
    full(folder).starts_with(full(around))
}

/// A path without links, as far as it is there.
fn full(path: &Path) -> PathBuf {
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

    const WORDS: Words = Words {
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

        fn lend(
            &self,
            workspace: Option<&str>,
            jail: Option<&str>,
            sandbox: Option<SandboxMode>,
        ) -> Result<Lending, String> {
            let asked = Asked {
                workspace: workspace.map(|name| self.path(name)),
                jail: jail.map(|name| self.path(name)),
                sandbox,
            };
            Lending::new(asked, &self.path("here"), WORDS).map_err(|failure| failure.0)
        }
    }

    #[test]
    fn a_jail_brings_a_sandbox_unless_it_is_said_off() {
        let desk = Desk::new();
        let mode = |jail, sandbox| desk.lend(None, jail, sandbox).unwrap().confinement.sandbox;
        assert_eq!(mode(None, None), SandboxMode::Off);
        assert_eq!(mode(Some("jail"), None), SandboxMode::Workspace);
        assert_eq!(
            mode(Some("jail"), Some(SandboxMode::ReadOnly)),
            SandboxMode::ReadOnly
        );
        let off = desk
            .lend(None, Some("jail"), Some(SandboxMode::Off))
            .unwrap();
        assert_eq!(off.confinement.sandbox, SandboxMode::Off);
        let warning = off.warning(WORDS).unwrap();
        assert!(
            warning.starts_with("warning: with --sandbox off only the file tools"),
            "{warning}"
        );
        let on = desk.lend(None, Some("jail"), None).unwrap();
        assert_eq!(on.warning(WORDS), None);
    }

    #[test]
    fn the_tools_start_here_or_in_the_jail() {
        let desk = Desk::new();
        assert_eq!(
            desk.lend(None, None, None).unwrap().workspace,
            desk.path("here")
        );
        assert_eq!(
            desk.lend(None, Some("jail"), None).unwrap().workspace,
            desk.path("jail")
        );
        let inner = desk.lend(Some("jail/inner"), Some("jail"), None).unwrap();
        assert_eq!(inner.workspace, desk.path("jail/inner"));
        let around = desk.lend(None, Some(""), None).unwrap();
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
        let wrong = desk.lend(Some("gone"), None, None).unwrap_err();
        assert!(
            wrong.starts_with("--workspace /") && wrong.contains("is not a directory"),
            "{wrong}"
        );
        let wrong = desk.lend(None, Some("gone"), None).unwrap_err();
        assert!(
            wrong.starts_with("--jail /") && wrong.contains("is not a directory"),
            "{wrong}"
        );
        let wrong = desk.lend(Some("here"), Some("jail"), None).unwrap_err();
        assert!(wrong.contains("does not hold the workspace"), "{wrong}");
        assert!(desk.lend(Some("jail/inner"), Some("jail"), None).is_ok());
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
