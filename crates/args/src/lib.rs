//! The arguments of the command line: commands, options, help and examples.
//!
//! A crate of its own, so that it compiles beside the commands, and tests can use it.

#![allow(
    missing_docs,
    reason = "doc comments are the help that users read; the groups of options have none"
)]

mod agents;
mod channels;
mod connect;
mod cron;
mod examples;
mod help;
mod nodes;
mod operations;
mod or_list;
mod people;
mod resources;
mod servers;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use manyhands_core::{AgentId, Role};

pub use agents::{
    Acp, Agents, AgentsCommand, Chat, Models, ModelsCommand, Sessions, SessionsCommand, Skills,
    SkillsCommand, Usage,
};
pub use channels::{Channel, Inbox, InboxCommand, Mode, Outbox, OutboxCommand, Pair};
pub use connect::Connect;
pub use cron::{AddJob, Cron, EditJob, Heartbeat, JobArgs, WhenArgs};
pub use nodes::{Cp, Node, Nodes, NodesCommand, SandboxOption, Service, ShareOptions};
pub use operations::{
    Doctor, Install, ManagerOption, Migrate, ServiceLogs, ServiceSelector, StartService, Upgrade,
};
pub use or_list::OrList;
pub use people::{Contacts, ContactsCommand, Todo, TodoCommand};
pub use resources::{Artifact, ArtifactCommand, GetArtifact, Resource, VaultSecret};
pub use servers::{
    AccountOptions, AddServer, Connection, Import, Mcp, McpCommand, RegistryOption, SearchServers,
    SecretSource,
};

/// Hands for AI agents: one gateway, many machines, one guarded catalogue of tools.
#[derive(Parser)]
#[command(
    name = "manyhands",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub struct Args {
    /// Data directory of the gateway.
    #[arg(
        long,
        global = true,
        help_heading = "Gateway options",
        env = "MANYHANDS_HOME",
        value_name = "DIR"
    )]
    pub home: Option<PathBuf>,
    /// URL of the gateway; default: the one running on this home.
    #[arg(
        long,
        global = true,
        help_heading = "Gateway options",
        env = "MANYHANDS_URL",
        value_name = "URL"
    )]
    pub url: Option<String>,
    /// Access token; default: the owner's token of this home.
    #[arg(
        long,
        global = true,
        help_heading = "Gateway options",
        env = "MANYHANDS_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    pub token: Option<String>,
    /// `--url` was given to `mcp add`, where it names the MCP server rather than the gateway.
    #[arg(skip)]
    pub url_is_taken: bool,
    /// Without one, the gateway's state is shown.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Args {
    /// Parses the command line; exits with an explanation if it is invalid.
    pub fn read(version: &'static str) -> Self {
        Self::from_matches(Self::definition(version).get_matches())
            .unwrap_or_else(|error| error.exit())
    }

    /// The definition of all commands, with groups and examples in the help.
    pub fn definition(version: &'static str) -> clap::Command {
        help::complete(Self::command().version(version))
    }

    /// For `mcp add`, `--url` is the MCP server's URL; the gateway's comes from the environment.
    fn from_matches(matches: clap::ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::from_arg_matches(&matches)?;
        if let Some(Command::Mcp(mcp)) = &mut args.command
            && let Some(McpCommand::Add(add)) = &mut mcp.command
        {
            match matches.value_source("url") {
                // From the environment it names the gateway, even here.
                Some(ValueSource::CommandLine) => args.url_is_taken = true,
                _ => add.url = None,
            }
        }
        Ok(args)
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// Start the gateway.
    Up(Up),
    /// Run the gateway as a service that survives restarts, and open the page.
    Install(Install),
    /// Stop and remove the gateway's service; the data stays.
    Uninstall(ServiceSelector),
    /// Start the gateway's service.
    Start(StartService),
    /// Stop the gateway's service until it is started again, or until the next login or boot.
    Stop(ServiceSelector),
    /// Restart the gateway's service.
    Restart(StartService),
    /// Show whether the gateway is running, as a service or not.
    Status(ServiceSelector),
    /// Show the log of the gateway's service.
    Logs(ServiceLogs),
    /// Replace this program by another release: verify, back up, swap, restart; undo if it does not start.
    Upgrade(Upgrade),
    /// Share this machine with a gateway, until stopped by a signal.
    Node(Node),
    /// List nodes; enrol, rename, revoke and forget them.
    Nodes(Nodes),
    /// Copy a file between nodes and workspaces.
    Cp(Cp),
    /// Talk to an agent.
    Chat(Chat),
    /// List sessions; show, search, clear, compact, edit and delete them.
    Sessions(Sessions),
    /// Manage scheduled jobs: list, add, edit, remove, run, show past runs.
    Cron(Box<OrList<Cron>>),
    /// Manage heartbeats: show, enable, run now.
    Heartbeat(OrList<Heartbeat>),
    /// Print a one-time login link for the web page.
    Link,
    /// Manage chat accounts (Telegram, Slack, LINE, Discord, WhatsApp): log in and out, start, stop, show status.
    Channel(OrList<Channel>),
    /// Manage pairing requests: list, approve, reject, forget.
    Pair(OrList<Pair>),
    /// List undelivered messages; resend or drop them.
    Outbox(Outbox),
    /// List incoming messages that failed; retry them.
    Inbox(Inbox),
    /// List models; add, test and remove providers.
    Models(Models),
    /// List agents, or show one.
    Agents(Agents),
    /// List an agent's skills; show, enable and disable them.
    Skills(Skills),
    /// Show model usage and cost.
    Usage(Usage),
    /// Call a tool; prints {ok, result} or {ok, error}.
    Call(Call),
    /// Call a tool by its trigger id.
    Trigger(Trigger),
    /// List tools, or show one.
    Tools(Tools),
    /// Serve the tools over MCP on stdio; list, add, test and import MCP servers.
    Mcp(Mcp),
    /// Connect AI clients on this machine, such as Claude Code, Cursor or VS Code, to this gateway.
    Connect(Connect),
    /// Manage the accounts used with MCP servers: list, add, test, remove.
    Connection(OrList<Connection>),
    /// Serve an agent to an editor: the Agent Client Protocol on stdio.
    Acp(Acp),
    /// Show and change settings.
    #[command(subcommand)]
    Config(Config),
    /// Create, list and revoke access tokens.
    Token(OrList<Token>),
    /// Manage secrets that tools can use but nobody can read back.
    Secret(OrList<Secret>),
    /// Show policy rules and explain their decisions.
    Policy(OrList<Policy>),
    /// List and answer approval requests.
    Approvals(OrList<Approvals>),
    /// List content written after reading untrusted text, and mark it trusted.
    Trust(OrList<Trust>),
    /// Show and verify the audit log.
    Audit(OrList<Audit>),
    /// List, show, download, upload and delete artifacts.
    Artifact(Artifact),
    /// Manage datastores, filestores, knowledge bases and vaults, and who has access.
    Resource(OrList<Resource>),
    /// List, add and complete to-dos.
    Todo(Todo),
    /// List the contacts agents can write to.
    Contacts(Contacts),
    /// Back up everything to one file, while the gateway runs.
    Backup(Backup),
    /// Restore a backup.
    Restore(Restore),
    /// Check the installation and suggest fixes; repair it, or write a report.
    Doctor(Doctor),
    /// Check that this version can use a home (started by `upgrade`).
    #[command(hide = true, subcommand)]
    Migrate(Migrate),
    /// Kill the gateway's child processes if it dies unexpectedly (started by the gateway).
    #[command(hide = true)]
    Keeper,
    /// Run one script in isolation (started by the gateway).
    #[command(hide = true)]
    ScriptWorker,
    /// Generate shell completions.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the man pages of all commands into a directory (for packages).
    #[command(hide = true)]
    Man {
        /// An existing directory.
        dir: PathBuf,
    },
}

#[derive(clap::Args)]
pub struct Up {
    /// Address to listen on; overrides `listen` in config.toml.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Do not share this machine as a node.
    #[arg(long)]
    pub no_node: bool,
}

#[derive(clap::Args)]
pub struct Call {
    /// Agent on whose behalf, and in whose workspace, the tool runs.
    #[arg(long, default_value = "main")]
    pub agent: String,
    /// Seconds to wait for an approval if one is needed.
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    pub wait: u64,
    /// Timeout in seconds; capped by the tool's own limit.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// Account to use if the MCP server has several; see `connection list`.
    #[arg(long, value_name = "PCID")]
    pub connection: Option<String>,
    /// Name of the tool.
    pub tool: String,
    /// Arguments as a JSON object, or - to read them from standard input.
    #[arg(value_name = "JSON|-", allow_hyphen_values = true)]
    pub arguments: Option<String>,
}

#[derive(clap::Args)]
pub struct Trigger {
    /// The trigger's id, such as tool::file_read.
    pub id: String,
    /// Arguments as a JSON object, or - to read them from standard input.
    #[arg(value_name = "JSON|-", allow_hyphen_values = true)]
    pub arguments: Option<String>,
}

#[derive(clap::Args)]
pub struct Tools {
    /// Show only this tool, with its parameters.
    pub name: Option<String>,
    /// Print the tool reference as Markdown.
    #[arg(long, conflicts_with_all = ["json", "name"])]
    pub markdown: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum Config {
    /// Show one setting, or all.
    Get {
        /// Dotted path of the setting, such as limits.calls_per_minute.
        path: Option<String>,
    },
    /// Change a setting.
    Set {
        /// Dotted path of the setting.
        path: String,
        /// The value as JSON or plain text.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Reset a setting to its default.
    Unset {
        /// Dotted path of the setting.
        path: String,
    },
    /// Print the path of the settings file.
    Path,
    /// Check the settings file and list all problems.
    Check,
}

#[derive(Subcommand)]
pub enum Token {
    /// Create a token; it is shown once.
    Create {
        /// A name for the token.
        name: String,
        /// The token's role.
        #[arg(long, default_value = "client", value_parser = roles())]
        role: Role,
        /// Tools the token may call, such as gsv__*; default: all. Comma-separated or repeated.
        #[arg(long, value_name = "PATTERN", value_delimiter = ',', value_parser = pattern)]
        tools: Vec<String>,
        /// Agents the token may act for and talk to; default: main. Comma-separated or repeated.
        #[arg(long, value_name = "PATTERN", value_delimiter = ',', value_parser = pattern)]
        agents: Vec<String>,
        /// Lifetime of the token: 90s, 45m, 12h, 30d; default: no expiry.
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        expires: Option<u64>,
    },
    /// List tokens.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token; its open connections are closed immediately.
    Revoke {
        /// The token's id or name.
        // Not `token`: the global option --token has that id, and clap would read this value as it.
        #[arg(value_name = "TOKEN")]
        id_or_name: String,
    },
}

fn roles() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str)).try_map(|word| word.parse::<Role>())
}

/// Rejects empty patterns: a trailing comma must not become a pattern.
fn pattern(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("empty pattern: remove the extra comma, or leave out the option".to_owned()),
        pattern => Ok(pattern.to_owned()),
    }
}

fn duration(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is not a duration: use a number and s, m, h or d, such as 30d");
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?);
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number
        .checked_mul(factor)
        // A code or token that expires at once would only be confusing.
        .filter(|seconds| *seconds > 0)
        .ok_or_else(wrong)
}

#[derive(Subcommand)]
pub enum Secret {
    /// Store a secret; the value is read from standard input.
    Set {
        /// Name of the secret.
        name: String,
    },
    /// List the names of stored secrets.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Delete a secret.
    Remove {
        /// Name of the secret.
        name: String,
    },
}

#[derive(Subcommand)]
pub enum Policy {
    /// List the rules in order.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show which rule would decide a call, and the decision.
    Explain {
        /// Name of the tool.
        tool: String,
        /// Arguments as a JSON object.
        #[arg(value_name = "JSON")]
        arguments: Option<String>,
        /// Role of the caller.
        #[arg(long, default_value = "owner", value_parser = roles())]
        role: Role,
        /// Name of the caller's token.
        #[arg(long)]
        name: Option<String>,
        /// Agent on whose behalf the call is made.
        #[arg(long)]
        agent: Option<String>,
    },
}

#[derive(Subcommand)]
pub enum Trust {
    /// List untrusted files, agents, jobs and sessions, who wrote them and what the writer had read.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Trust an item in its current state.
    Accept {
        /// Kind of the item.
        #[arg(value_enum)]
        kind: TrustKind,
        /// The item's id, as shown by `trust list`.
        id: String,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum TrustKind {
    /// A workspace file.
    File,
    /// A spawned agent.
    Agent,
    /// A scheduled job.
    Job,
    /// A session.
    Session,
}

impl TrustKind {
    /// The name used by the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Agent => "agent",
            Self::Job => "job",
            Self::Session => "session",
        }
    }
}

#[derive(Subcommand)]
pub enum Approvals {
    /// List pending requests and exactly what would run.
    List {
        /// Include answered, used and expired requests.
        #[arg(long)]
        all: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Allow a call: once, for its session, or always.
    Approve {
        /// The approval's id.
        id: String,
        /// Also allow similar calls until the session is cleared.
        #[arg(long, conflicts_with = "always")]
        conversation: bool,
        /// Also allow similar calls from now on: adds the rule shown by `approvals list` to the policy.
        #[arg(long)]
        always: bool,
    },
    /// Deny a call.
    Deny {
        /// The approval's id.
        id: String,
        /// Message shown to the model.
        #[arg(long, short)]
        message: Option<String>,
    },
}

#[derive(Subcommand)]
pub enum Audit {
    /// List entries, newest first.
    List {
        /// Only tools matching this pattern.
        #[arg(long, value_name = "PATTERN")]
        tool: Option<String>,
        /// Only calls by this caller, identified by the key shown in the list.
        #[arg(long, value_name = "KEY")]
        caller: Option<String>,
        /// Only calls on behalf of this agent.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
        /// Only the call with this id.
        #[arg(long, value_name = "ID")]
        call: Option<String>,
        /// Only calls with this status: ok or error.
        #[arg(long)]
        status: Option<String>,
        /// Only entries after this sequence number.
        #[arg(long, value_name = "SEQ")]
        after: Option<i64>,
        /// Only entries before this sequence number (for paging).
        #[arg(long, value_name = "SEQ")]
        before: Option<i64>,
        /// Maximum number of results.
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Verify the hash chain: detects changed, missing, reordered and truncated entries.
    Verify,
}

#[derive(clap::Args)]
pub struct Backup {
    /// File to write. It contains the encryption keys: keep it safe.
    pub file: PathBuf,
    /// Overwrite the file if it exists.
    #[arg(long)]
    pub force: bool,
}

#[derive(clap::Args)]
pub struct Restore {
    /// The backup file.
    pub file: PathBuf,
    /// Move an existing home aside first.
    #[arg(long)]
    pub force: bool,
    /// Accept settings from the backup that name programs or files of this machine, change their sandbox, or change the addresses it listens on.
    #[arg(long)]
    pub trust_settings: bool,
    /// Revoke all access tokens in the backup, including the owner's.
    #[arg(long)]
    pub revoke_tokens: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_definitions_are_consistent() {
        Args::definition("0").debug_assert();
    }

    /// Arguments of subcommands with the id of a global option, which clap would mix up.
    fn clashes(command: &clap::Command, globals: &[String], found: &mut Vec<String>) {
        for sub in command.get_subcommands() {
            let own = sub.get_arguments().filter(|arg| !arg.is_global_set());
            let clash = own.filter(|arg| globals.iter().any(|id| id == arg.get_id().as_str()));
            found.extend(clash.map(|arg| format!("{} {}", sub.get_name(), arg.get_id())));
            clashes(sub, globals, found);
        }
    }

    #[test]
    fn no_argument_of_a_subcommand_has_the_id_of_a_global_option() {
        let command = Args::command();
        let globals = command.get_arguments().filter(|arg| arg.is_global_set());
        let globals: Vec<String> = globals.map(|arg| arg.get_id().to_string()).collect();
        assert!(globals.iter().any(|id| id == "token"), "{globals:?}");
        let mut found = Vec::new();
        clashes(&command, &globals, &mut found);
        // `mcp add --url` is a server's address: `Args::from_matches` tells the two apart.
        assert_eq!(found, ["add url"]);
        let planted = clap::Command::new("x")
            .subcommand(clap::Command::new("sub").arg(clap::Arg::new("token")));
        let mut found = Vec::new();
        clashes(&planted, &globals, &mut found);
        assert_eq!(found, ["sub token"], "a planted clash is found");
    }

    #[test]
    fn the_url_of_a_new_server_is_not_that_of_the_gateway() {
        let read = |words: &[&str]| {
            let matches = Args::command()
                .try_get_matches_from(words)
                .expect("legal words");
            Args::from_matches(matches).expect("legal words")
        };
        let args = read(&["manyhands", "mcp", "add", "x", "--url", "http://a/mcp"]);
        assert!(args.url_is_taken);
        let Some(Command::Mcp(Mcp {
            command: Some(McpCommand::Add(add)),
            ..
        })) = args.command
        else {
            panic!("not an addition");
        };
        assert_eq!(add.url.as_deref(), Some("http://a/mcp"));
        let args = read(&["manyhands", "mcp", "list", "--url", "http://a"]);
        assert_eq!(args.url.as_deref(), Some("http://a"));
        assert!(!args.url_is_taken);
        let args = read(&["manyhands", "mcp", "--profile", "all"]);
        assert!(matches!(
            args.command,
            Some(Command::Mcp(Mcp { command: None, .. }))
        ));
    }

    #[test]
    fn durations_are_numbers_with_a_unit() {
        for (text, seconds) in [
            ("90s", 90),
            ("45m", 2_700),
            ("12h", 43_200),
            ("30d", 2_592_000),
        ] {
            assert_eq!(duration(text), Ok(seconds));
        }
        for wrong in [
            "",
            "5",
            "d",
            "0s",
            "-1d",
            "1.5h",
            "1w",
            "99999999999999999999d",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
