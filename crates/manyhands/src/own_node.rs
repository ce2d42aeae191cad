//! The gateway's own machine as its first node, in the gateway's own process.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use manyhands_api::daemon::Ready;
use manyhands_config::{NodeSandbox, Settings, Tls};
use manyhands_core::NodeId;
use manyhands_gateway::StartError;
use manyhands_guard::Supervisor;
use manyhands_node::{NodeLog, NodeOptions, SandboxMode};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::enrolment::Enrolments;
use crate::ground::Ground;
use crate::lending::{self, Asked, Lending, Words, holds};
use crate::output::Failure;

/// What the settings are called.
const WORDS: Words = Words {
    workspace: "node.workspace",
    jail: "node.jail",
    sandbox_off: "node.sandbox = \"off\"",
};

/// Variables that commands in the sandbox see; others may hold what is the gateway's alone.
const SEEN: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TERM", "TMPDIR",
];

/// How long the node may take to say goodbye.
const GONE_WITHIN: Duration = Duration::from_secs(3);

/// How the gateway's own machine is to be lent.
#[derive(Debug)]
pub struct OwnNode {
    /// Its name.
    pub id: NodeId,
    /// How much of it.
    pub lending: Lending,
}

impl OwnNode {
    /// What the settings say. In the sandbox, folders that hold the gateway's own files are refused.
    pub fn of(settings: &Settings, ground: &Ground) -> Result<Self, Failure> {
        let node = &settings.node;
        let id = match &node.id {
            Some(id) => id.parse().map_err(|e| Failure(format!("node.id: {e}")))?,
            None => NodeId::nearest(&ground.machine()),
        };
        let root = settings.workspace_root.clone();
        let root = root.unwrap_or_else(|| ground.home.join("host").join("workspace"));
        let named = |path: &Option<PathBuf>| path.as_deref().map(|p| ground.file(p)).transpose();
        let asked = Asked {
            workspace: named(&node.workspace)?,
            jail: named(&node.jail)?,
            sandbox: Some(mode(node.sandbox)),
        };
        let mut lending = Lending::new(asked, &ground.file(&root)?, WORDS)?;
        if node.sandbox != NodeSandbox::Off {
            keep_apart(&lending, &ground.home, &ground.program()?)?;
            let jail = &mut lending.confinement.jail;
            jail.get_or_insert_with(|| lending.workspace.clone());
        }
        Ok(Self { id, lending })
    }

    /// What the owner should know about it.
    pub fn warning(&self) -> Option<String> {
        (self.lending.confinement.sandbox == SandboxMode::Off).then(|| {
            format!(
                "warning: with {} the tools of the node {} can read the gateway's own files, its keys among them",
                WORDS.sandbox_off, self.id
            )
        })
    }

    /// Connects it to the gateway that has just come up.
    pub fn start(
        &self,
        ready: &Ready,
        tls: Option<&Tls>,
        ground: &Ground,
    ) -> Result<Lent, Failure> {
        let supervisor = lending::supervisor(ground)?;
        let environment = self.environment(ground);
        let toolbox = self.lending.toolbox(environment, &supervisor, ground)?;
        let token = ready.gateway.own_node_token(&self.id);
        let mut options = NodeOptions::new(own_address(ready), token, self.id.clone());
        options.pinned_certificate = tls.map(certificate).transpose()?;
        options.state_dir = Some(Enrolments::of(&ground.home).state(&self.id)?);
        let stop = CancellationToken::new();
        let (log, stopped) = (NodeLog::new(ground.clock.clone()), stop.clone());
        let task = tokio::spawn(async move {
            let ended = manyhands_node::run(options, toolbox, log, stopped).await;
            if let Err(error) = ended {
                tracing::error!(%error, "this machine is not lent any more");
            }
        });
        Ok(Lent {
            task,
            stop,
            supervisor,
        })
    }

    fn environment(&self, ground: &Ground) -> BTreeMap<String, String> {
        let mut environment = ground.environment();
        if self.lending.confinement.sandbox != SandboxMode::Off {
            environment.retain(|name, _| SEEN.contains(&name.as_str()) || name.starts_with("LC_"));
        }
        environment
    }
}

/// A machine that is lent.
pub struct Lent {
    task: JoinHandle<()>,
    stop: CancellationToken,
    supervisor: Supervisor,
}

impl Lent {
    /// Takes it back; its programs end.
    pub async fn stop(self) {
        self.stop.cancel();
        let _ = tokio::time::timeout(GONE_WITHIN, self.task).await;
        lending::all_ended(&self.supervisor).await;
    }
}

fn mode(sandbox: NodeSandbox) -> SandboxMode {
    match sandbox {
        NodeSandbox::Workspace => SandboxMode::Workspace,
        NodeSandbox::ReadOnly => SandboxMode::ReadOnly,
        NodeSandbox::Off => SandboxMode::Off,
    }
}

/// Refuses folders that hold the gateway's files or its program, or lie among them.
fn keep_apart(lending: &Lending, home: &Path, program: &Path) -> Result<(), StartError> {
    let program = program.parent().unwrap_or(program);
    let jail = lending.confinement.jail.iter();
    let reach = jail.map(|jail| (WORDS.jail, jail));
    for (key, folder) in reach.chain([(WORDS.workspace, &lending.workspace)]) {
        let around = holds(folder, home) || holds(folder, program);
        let inside = holds(home, folder) && !holds(&home.join("host"), folder);
        if around || inside {
            return Err(StartError::Folder {
                key,
                folder: folder.to_owned(),
                home: home.to_owned(),
            });
        }
    }
    Ok(())
}

/// The gateway's address as it is reached from its own machine.
fn own_address(ready: &Ready) -> String {
    let mut address = ready.address;
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    let scheme = ready
        .url
        .split_once("://")
        .map_or("http", |(scheme, _)| scheme);
    format!("{scheme}://{address}")
}

/// The certificate that the gateway shows.
fn certificate(tls: &Tls) -> Result<Vec<u8>, Failure> {
    let first = CertificateDer::from_pem_file(&tls.cert);
    let first = first.map_err(|e| Failure(format!("tls.cert {}: {e}", tls.cert.display())))?;
    Ok(first.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use clap::Parser;

    struct Desk {
        folder: tempfile::TempDir,
        settings: Settings,
    }

    impl Desk {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in ["home/host", "work/inner"] {
                std::fs::create_dir_all(folder.path().join(name)).unwrap();
            }
            Self {
                folder,
                settings: Settings::default(),
            }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn own(&self) -> Result<OwnNode, String> {
            let home = self.path("home");
            let words = ["manyhands", "--home", home.to_str().unwrap(), "doctor"];
            let ground = Ground::new(&Args::try_parse_from(words).unwrap()).unwrap();
            OwnNode::of(&self.settings, &ground).map_err(|failure| failure.0)
        }
    }

    #[test]
    fn the_own_machine_is_lent_within_the_workspace_of_the_tools() {
        let desk = Desk::new();
        let own = desk.own().unwrap();
        let workspace = desk.path("home/host/workspace");
        assert_eq!(own.lending.workspace, workspace);
        assert_eq!(own.lending.confinement.jail, Some(workspace));
        assert_eq!(own.lending.confinement.sandbox, SandboxMode::Workspace);
        assert_eq!(own.warning(), None);
    }

    #[test]
    fn the_gateways_own_files_are_out_of_reach_in_the_sandbox() {
        let mut desk = Desk::new();
        for (workspace, jail, key) in [
            ("", None, "node.workspace"),
            ("home", None, "node.workspace"),
            ("work", Some(""), "node.jail"),
        ] {
            desk.settings.node.workspace = Some(desk.path(workspace));
            desk.settings.node.jail = jail.map(|name| desk.path(name));
            let refused = desk.own().unwrap_err();
            assert!(refused.starts_with(&format!("{key}: ")), "{refused}");
            assert!(
                refused.contains("contains the gateway's own files"),
                "{refused}"
            );
        }
        desk.settings.node.workspace = Some(desk.path("work/inner"));
        desk.settings.node.jail = Some(desk.path("work"));
        assert!(desk.own().is_ok());
    }

    #[test]
    fn without_the_sandbox_the_owner_is_warned() {
        let mut desk = Desk::new();
        desk.settings.node.sandbox = NodeSandbox::Off;
        desk.settings.node.workspace = Some(desk.path("home"));
        let own = desk.own().unwrap();
        assert_eq!(own.lending.confinement.jail, None);
        let warning = own.warning().unwrap();
        assert!(
            warning.contains("can read the gateway's own files"),
            "{warning}"
        );
    }

    #[test]
    fn a_folder_that_is_not_there_is_refused_by_its_key() {
        let mut desk = Desk::new();
        desk.settings.node.workspace = Some(desk.path("gone"));
        let refused = desk.own().unwrap_err();
        assert!(refused.starts_with("node.workspace /"), "{refused}");
    }
}
