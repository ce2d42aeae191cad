//! The gateway's own machine as its first node, in the gateway's process.

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

use crate::context::CliContext;
use crate::enrolment::Enrolments;
use crate::sharing::{self, OptionNames, Sharing, SharingRequest, holds};
use manyhands_terminal::output::Failure;

/// Names of the settings.
const OPTIONS: OptionNames = OptionNames {
    workspace: "node.workspace",
    jail: "node.jail",
    sandbox_off: "node.sandbox = \"off\"",
};

/// Environment variables passed to sandboxed commands; others may contain the gateway's secrets.
const PASSED_ENV: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TERM", "TMPDIR",
];

/// How long the node may take to disconnect.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How the gateway's own machine is shared.
#[derive(Debug)]
pub struct OwnNode {
    /// Name of the node.
    pub id: NodeId,
    /// How much of the machine.
    pub sharing: Sharing,
}

impl OwnNode {
    /// Reads the settings. In a sandbox, directories that contain the gateway's own files are refused.
    pub fn of(settings: &Settings, ctx: &CliContext) -> Result<Self, Failure> {
        let node = &settings.node;
        let id = match &node.id {
            Some(id) => id.parse().map_err(|e| Failure(format!("node.id: {e}")))?,
            // Hostnames may contain characters that a node id cannot.
            None => NodeId::nearest(&ctx.machine()),
        };
        let root = settings.workspace_root.clone();
        // The default of `workspace_root`, which the gateway creates before the node starts.
        let root = root.unwrap_or_else(|| ctx.home.join("host").join("workspace"));
        let named = |path: &Option<PathBuf>| path.as_deref().map(|p| ctx.file(p)).transpose();
        let asked = SharingRequest {
            workspace: named(&node.workspace)?,
            jail: named(&node.jail)?,
            sandbox: Some(mode(node.sandbox)),
            terminals: node.terminal,
        };
        let mut sharing = Sharing::new(asked, &ctx.file(&root)?, OPTIONS)?;
        if node.sandbox != NodeSandbox::Off {
            keep_apart(&sharing, &ctx.home, &ctx.program()?)?;
            let jail = &mut sharing.confinement.jail;
            jail.get_or_insert_with(|| sharing.workspace.clone());
        }
        Ok(Self { id, sharing })
    }

    /// Returns a warning for the owner, if any.
    pub fn warning(&self) -> Option<String> {
        (self.sharing.confinement.sandbox == SandboxMode::Off).then(|| {
            format!(
                "warning: with {} the tools of the node {} can read the gateway's own files, including its keys",
                OPTIONS.sandbox_off, self.id
            )
        })
    }

    /// Connects the node to the gateway that has just started.
    pub fn start(
        &self,
        ready: &Ready,
        tls: Option<&Tls>,
        ctx: &CliContext,
    ) -> Result<RunningNode, Failure> {
        let supervisor = sharing::supervisor(ctx)?;
        let environment = self.environment(ctx);
        let toolbox = self.sharing.toolbox(environment, &supervisor, ctx)?;
        let token = ready.gateway.own_node_token(&self.id);
        let mut options = NodeOptions::new(own_address(ready), token, self.id.clone());
        // Pinned: the node dials by IP address, which the certificate does not name.
        options.pinned_certificate = tls.map(certificate).transpose()?;
        options.state_dir = Some(Enrolments::of(&ctx.home).state(&self.id)?);
        let stop = CancellationToken::new();
        let (log, stopped) = (NodeLog::new(ctx.clock.clone()), stop.clone());
        // In the gateway's own process: no second program to install, update and supervise.
        let task = tokio::spawn(async move {
            let ended = manyhands_node::run(options, toolbox, log, stopped).await;
            if let Err(error) = ended {
                tracing::error!(event = "own_node_stopped", %error, "this machine is no longer shared as a node");
            }
        });
        Ok(RunningNode {
            task,
            stop,
            supervisor,
        })
    }

    fn environment(&self, ctx: &CliContext) -> BTreeMap<String, String> {
        let mut environment = ctx.environment();
        if self.sharing.confinement.sandbox != SandboxMode::Off {
            environment
                .retain(|name, _| PASSED_ENV.contains(&name.as_str()) || name.starts_with("LC_"));
        }
        environment
    }
}

/// A running node of the gateway's own machine.
pub struct RunningNode {
    task: JoinHandle<()>,
    stop: CancellationToken,
    supervisor: Supervisor,
}

impl RunningNode {
    /// Stops the node and its child processes.
    pub async fn stop(self) {
        self.stop.cancel();
        // The node says goodbye first, so that the gateway does not report a lost connection.
        let _ = tokio::time::timeout(DISCONNECT_TIMEOUT, self.task).await;
        sharing::all_ended(&self.supervisor).await;
    }
}

fn mode(sandbox: NodeSandbox) -> SandboxMode {
    match sandbox {
        NodeSandbox::Workspace => SandboxMode::Workspace,
        NodeSandbox::ReadOnly => SandboxMode::ReadOnly,
        NodeSandbox::Off => SandboxMode::Off,
    }
}

/// Refuses directories that contain the gateway's files or its executable, or lie among them.
fn keep_apart(sharing: &Sharing, home: &Path, program: &Path) -> Result<(), StartError> {
    // Whoever can write next to the executable can replace it.
    let program = program.parent().unwrap_or(program);
    let jail = sharing.confinement.jail.iter();
    let reach = jail.map(|jail| (OPTIONS.jail, jail));
    for (key, folder) in reach.chain([(OPTIONS.workspace, &sharing.workspace)]) {
        let around = holds(folder, home) || holds(folder, program);
        // `home/host` holds the workspaces and is meant to be shared; nothing else in the home is.
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

/// The gateway's URL as reached from its own machine.
fn own_address(ready: &Ready) -> String {
    let mut address = ready.address;
    // Listening on all interfaces includes loopback, which needs no route and no firewall rule.
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

/// Reads the gateway's own certificate.
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
            let ctx = CliContext::new(&Args::try_parse_from(words).unwrap()).unwrap();
            OwnNode::of(&self.settings, &ctx).map_err(|failure| failure.0)
        }
    }

    #[test]
    fn the_own_node_shares_the_tools_workspace() {
        let desk = Desk::new();
        let own = desk.own().unwrap();
        let workspace = desk.path("home/host/workspace");
        assert_eq!(own.sharing.workspace, workspace);
        assert_eq!(own.sharing.confinement.jail, Some(workspace));
        assert_eq!(own.sharing.confinement.sandbox, SandboxMode::Workspace);
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
        assert_eq!(own.sharing.confinement.jail, None);
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
