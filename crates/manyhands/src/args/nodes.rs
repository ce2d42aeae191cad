//! What can be typed about nodes.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use manyhands_core::NodeId;

use super::duration;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Node {
    #[command(flatten)]
    pub lend: Lend,
    #[command(subcommand)]
    pub service: Option<Service>,
}

/// Which machine is lent, and how much of it.
#[derive(clap::Args, Clone)]
pub struct Lend {
    /// The node's name; that of the code, of the only node enrolled here, or of the machine when
    /// not given.
    #[arg(long, value_name = "NAME")]
    pub id: Option<NodeId>,
    /// Where the tools start; the current directory when not given.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// A folder around the workspace that the tools do not leave.
    #[arg(long, value_name = "DIR")]
    pub jail: Option<PathBuf>,
    /// What commands may change; off when not given, and workspace with --jail.
    #[arg(long, value_enum)]
    pub sandbox: Option<SandboxWord>,
    /// The code from `manyhands nodes code`, once: what it gives is kept for the next time.
    #[arg(long)]
    pub code: Option<String>,
}

/// What commands may change.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxWord {
    /// Nothing, without network; no tool writes.
    ReadOnly,
    /// The workspace and the jail, without network.
    Workspace,
    /// Whatever you may.
    Off,
}

/// Which installed node.
#[derive(clap::Args)]
pub struct Which {
    /// The node's name; that of the only node enrolled here, or of the machine when not given.
    #[arg(long, value_name = "NAME")]
    pub id: Option<NodeId>,
}

#[derive(Subcommand)]
pub enum Service {
    /// Keep it running as a service of yours, also after a restart.
    Install {
        #[command(flatten)]
        lend: Lend,
        /// Show the service's file instead of writing it.
        #[arg(long, conflicts_with = "code")]
        print: bool,
    },
    /// Stop the service and remove its file.
    Uninstall(Which),
    /// Start the service.
    Start(Which),
    /// Stop the service until it is started or you log in again.
    Stop(Which),
    /// Show whether the service runs and the gateway sees it.
    Status(Which),
    /// Show the end of the service's log.
    Logs {
        #[command(flatten)]
        which: Which,
        /// How many lines.
        #[arg(long, default_value_t = 100, value_name = "N")]
        lines: u32,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Nodes {
    /// As JSON.
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<NodesCommand>,
}

#[derive(Subcommand)]
pub enum NodesCommand {
    /// Make a code that lets one machine become a node, once.
    Code {
        /// What the node is to be called.
        name: NodeId,
        /// How long the code can be used: 90s, 15m, 12h, 1d.
        #[arg(long, default_value = "15m", value_name = "DURATION", value_parser = duration)]
        expires: u64,
    },
    /// Give a node another name; its machine needs no change.
    Rename {
        /// The name it has.
        old: NodeId,
        /// The name it gets.
        new: NodeId,
    },
    /// Take a node's token back; it is disconnected at once.
    Revoke {
        /// The node.
        name: NodeId,
    },
    /// Remove a node from the record, and its token.
    Forget {
        /// The node.
        name: NodeId,
        /// Also while it is connected.
        #[arg(long)]
        force: bool,
    },
    /// Show the end of a node's log.
    Logs {
        /// The node; the only one that is connected when not given.
        name: Option<NodeId>,
        /// How many lines.
        #[arg(long, default_value_t = 100, value_name = "N")]
        lines: u32,
    },
}

#[derive(clap::Args)]
pub struct Cp {
    /// From where, such as laptop:/home/me/a.pdf or gsv:notes/a.md.
    pub source: String,
    /// To where, such as server:/srv/a.pdf.
    pub destination: String,
    /// On whose workspace and behalf.
    #[arg(long, default_value = "main")]
    pub agent: String,
    /// Show no progress.
    #[arg(long)]
    pub quiet: bool,
    /// Print {ok, result} or {ok, error}, as `call` does.
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Command};
    use clap::Parser;

    fn parse(line: &str) -> Result<Command, String> {
        let words = std::iter::once("manyhands").chain(line.split_whitespace());
        Args::try_parse_from(words)
            .map(|args| args.command)
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
        assert!(here.service.is_none());
        assert_eq!(here.lend.sandbox, Some(SandboxWord::ReadOnly));
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
    fn a_code_is_not_used_up_by_looking_at_the_file() {
        assert!(parse("node install --print --code x").is_err());
        assert!(parse("node install --code x").is_ok());
    }

    #[test]
    fn nodes_are_listed_unless_something_else_is_asked() {
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
