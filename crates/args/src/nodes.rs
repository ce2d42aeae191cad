//! Arguments of `node`, `nodes` and `cp`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use manyhands_core::NodeId;

use super::duration;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Node {
    #[command(flatten)]
    pub share: ShareOptions,
    #[command(subcommand)]
    pub service: Option<Service>,
}

/// Options of a shared machine.
#[derive(clap::Args, Clone)]
pub struct ShareOptions {
    /// Name of the node; default: the name in the code, the only node enrolled here, or the hostname.
    #[arg(long, value_name = "NAME")]
    pub id: Option<NodeId>,
    /// Working directory of the tools; default: the current directory.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Directory containing the workspace that the tools cannot leave.
    #[arg(long, value_name = "DIR")]
    pub jail: Option<PathBuf>,
    /// What commands may change; default: off, or workspace with --jail.
    #[arg(long, value_enum)]
    pub sandbox: Option<SandboxOption>,
    /// Allow the owner of the gateway to open terminals on this machine; each is a shell with the limits of commands.
    #[arg(long)]
    pub terminal: bool,
    /// One-time enrolment code from `manyhands nodes code`; the credentials it yields are stored for later starts.
    #[arg(long)]
    pub code: Option<String>,
}

/// What commands may change.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxOption {
    /// Read-only, no network.
    ReadOnly,
    /// Only the workspace and the jail are writable; no network.
    Workspace,
    /// No sandbox: commands run with your own permissions.
    Off,
}

/// Selects an installed node.
#[derive(clap::Args)]
pub struct NodeSelector {
    /// Name of the node; default: the only node enrolled here, or the hostname.
    #[arg(long, value_name = "NAME")]
    pub id: Option<NodeId>,
}

#[derive(Subcommand)]
pub enum Service {
    /// Install as a user service that survives restarts.
    Install {
        #[command(flatten)]
        share: ShareOptions,
        /// Print the service file instead of installing it.
        #[arg(long, conflicts_with = "code")]
        print: bool,
    },
    /// Stop and remove the service.
    Uninstall(NodeSelector),
    /// Start the service.
    Start(NodeSelector),
    /// Stop the service until it is started or you log in again.
    Stop(NodeSelector),
    /// Show whether the service is running and connected.
    Status(NodeSelector),
    /// Show the service's log.
    Logs {
        #[command(flatten)]
        which: NodeSelector,
        /// Number of lines.
        #[arg(long, default_value_t = 100, value_name = "N")]
        lines: u32,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Nodes {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<NodesCommand>,
}

#[derive(Subcommand)]
pub enum NodesCommand {
    /// Create a one-time enrolment code for a machine.
    Code {
        /// Name of the new node.
        name: NodeId,
        /// Lifetime of the code: 90s, 15m, 12h, 1d.
        #[arg(long, default_value = "15m", value_name = "DURATION", value_parser = duration)]
        expires: u64,
    },
    /// Rename a node; nothing changes on its machine.
    Rename {
        /// Current name.
        old: NodeId,
        /// New name.
        new: NodeId,
    },
    /// Revoke a node's token; it is disconnected immediately.
    Revoke {
        /// Name of the node.
        name: NodeId,
    },
    /// Remove a node and its token.
    Forget {
        /// Name of the node.
        name: NodeId,
        /// Remove it even if it is connected.
        #[arg(long)]
        force: bool,
    },
    /// Show a node's log.
    Logs {
        /// Name of the node; default: the only connected node.
        name: Option<NodeId>,
        /// Number of lines.
        #[arg(long, default_value_t = 100, value_name = "N")]
        lines: u32,
    },
}

#[derive(clap::Args)]
pub struct Cp {
    /// Source, such as laptop:/home/me/a.pdf or gsv:notes/a.md.
    pub source: String,
    /// Destination, such as server:/srv/a.pdf.
    pub destination: String,
    /// Agent on whose behalf, and in whose workspace, the copy is made.
    #[arg(long, default_value = "main")]
    pub agent: String,
    /// Do not show progress.
    #[arg(long)]
    pub quiet: bool,
    /// Print {ok, result} or {ok, error}, like `call`.
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Args, Command};
    use clap::Parser;

    fn parse(line: &str) -> Result<Command, String> {
        let words = std::iter::once("manyhands").chain(line.split_whitespace());
        Args::try_parse_from(words)
            .map(|args| args.command.expect("a command"))
            .map_err(|e| e.to_string())
    }

    fn node(line: &str) -> Node {
        match parse(line) {
            Ok(Command::Node(node)) => node,
            Ok(_) => panic!("{line} is another command"),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_node_runs_here_or_as_a_service() {
        let here = node("node --id laptop --jail /srv --sandbox read-only");
        assert!(!here.share.terminal && node("node --terminal").share.terminal);
        assert!(here.service.is_none());
        assert_eq!(here.share.sandbox, Some(SandboxOption::ReadOnly));
        let service = node("node install --id laptop --print").service;
        assert!(matches!(
            service,
            Some(Service::Install { print: true, .. })
        ));
        let logs = node("node logs --id laptop --lines 5").service;
        assert!(matches!(logs, Some(Service::Logs { lines: 5, .. })));
    }

    #[test]
    fn a_wrong_name_is_refused_with_the_flag_and_the_right_spelling() {
        for line in [
            "node --id Laptop",
            "nodes rename laptop Big_One",
            "nodes code gsv",
        ] {
            let wrong = parse(line).err().expect(line);
            assert!(wrong.contains("node's name: "), "{wrong}");
        }
        assert!(
            parse("node --id Laptop")
                .err()
                .unwrap()
                .contains("'--id <NAME>'")
        );
        assert!(parse("nodes rename laptop big-one").is_ok());
    }

    #[test]
    fn reading_the_file_does_not_consume_a_code() {
        assert!(parse("node install --print --code x").is_err());
        assert!(parse("node install --code x").is_ok());
    }

    #[test]
    fn nodes_lists_by_default() {
        let Ok(Command::Nodes(nodes)) = parse("nodes --json") else {
            panic!("no list");
        };
        assert!(nodes.json && nodes.command.is_none());
        let Ok(Command::Nodes(nodes)) = parse("nodes code laptop") else {
            panic!("no code");
        };
        assert!(matches!(
            nodes.command,
            Some(NodesCommand::Code { expires: 900, .. })
        ));
    }
}
