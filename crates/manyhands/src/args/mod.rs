//! What can be typed.

mod channels;
mod cron;
mod kept;
mod minds;
mod nodes;
mod people;
mod servers;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use manyhands_core::{AgentId, Role};

pub use channels::{Channel, Inbox, InboxCommand, Mode, Outbox, OutboxCommand, Pair};
pub use cron::{AddJob, Cron, EditJob, Heartbeat, JobArgs, WhenArgs};
pub use kept::{Artifact, ArtifactCommand, GetArtifact, Resource, VaultSecret};
pub use minds::{
    Acp, Agents, AgentsCommand, Chat, Models, ModelsCommand, Sessions, SessionsCommand, Skills,
    SkillsCommand, Usage,
};
pub use nodes::{Cp, Lend, Node, Nodes, NodesCommand, SandboxWord, Service};
pub use people::{Contacts, ContactsCommand, Todo, TodoCommand};
pub use servers::{AddServer, Connection, Given, Import, Mcp, McpCommand};

/// Hands for AI agents: one gateway, many machines, one guarded catalogue of tools.
#[derive(Parser)]
#[command(
    name = "manyhands",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub struct Args {
    /// Where the gateway keeps everything.
    #[arg(long, global = true, env = "MANYHANDS_HOME", value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// The gateway to talk to; the one running on this home when not given.
    #[arg(long, global = true, env = "MANYHANDS_URL", value_name = "URL")]
    pub url: Option<String>,
    /// The token to show; the owner's on this home when not given.
    #[arg(
        long,
        global = true,
        env = "MANYHANDS_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    pub token: Option<String>,
    /// Whether `--url` was the address of something else than the gateway.
    #[arg(skip)]
    pub url_is_taken: bool,
    #[command(subcommand)]
    pub command: Command,
}

impl Args {
    /// What was typed; what cannot be meant ends the program with an explanation.
    pub fn read() -> Self {
        Self::from_matches(Self::command().get_matches()).unwrap_or_else(|error| error.exit())
    }

    /// To `mcp add`, `--url` is where the server is; its gateway is named by the environment.
    fn from_matches(matches: clap::ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::from_arg_matches(&matches)?;
        if let Command::Mcp(mcp) = &mut args.command
            && let Some(McpCommand::Add(add)) = &mut mcp.command
        {
            match matches.value_source("url") {
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
    /// Lend this machine to a gateway, until a signal ends it.
    Node(Node),
    /// List the nodes; enrol, rename, revoke and forget them.
    Nodes(Nodes),
    /// Copy a file between nodes and workspaces.
    Cp(Cp),
    /// Talk to an agent.
    Chat(Chat),
    /// List the conversations; search them; show, reset, compact, set and delete one.
    Sessions(Sessions),
    /// Jobs with a schedule: list, add, edit, remove and run them, and see what came of them.
    #[command(subcommand)]
    Cron(Box<Cron>),
    /// Agents that look by themselves whether there is something to do: see, switch on, have one look now.
    #[command(subcommand)]
    Heartbeat(Heartbeat),
    /// Print a link that logs a browser in to the page, once.
    Link,
    /// Chats on Telegram, Slack, LINE, Discord and WhatsApp: log in and out, start, stop, see how they stand.
    #[command(subcommand)]
    Channel(Channel),
    /// People who ask to speak to the agents: list, approve, reject and forget them.
    #[command(subcommand)]
    Pair(Pair),
    /// List messages that wait, did not arrive or may not have; resend and drop them.
    Outbox(Outbox),
    /// List messages that were heard and could not be worked on; try them again.
    Inbox(Inbox),
    /// List the models; add, test and remove them.
    Models(Models),
    /// List the agents, or show one.
    Agents(Agents),
    /// List the skills of an agent; show one, switch it on and off.
    Skills(Skills),
    /// Show what models have used up.
    Usage(Usage),
    /// Call a tool; prints {ok, result} or {ok, error}.
    Call(Call),
    /// Call a tool by its trigger id.
    Trigger(Trigger),
    /// List the tools, or show one.
    Tools(Tools),
    /// Serve the tools as MCP over standard input and output; list, add, test and import MCP servers.
    Mcp(Mcp),
    /// List, open, try and close the accounts by which MCP servers are used.
    #[command(subcommand)]
    Connection(Connection),
    /// Serve an agent to an editor: the Agent Client Protocol over standard input and output.
    Acp(Acp),
    /// See and change settings.
    #[command(subcommand)]
    Config(Config),
    /// Make, list and revoke tokens.
    #[command(subcommand)]
    Token(Token),
    /// Keep secrets that tools can use and nobody can read.
    #[command(subcommand)]
    Secret(Secret),
    /// See the rules, and what they would say to a call.
    #[command(subcommand)]
    Policy(Policy),
    /// See and answer what waits for your approval.
    #[command(subcommand)]
    Approvals(Approvals),
    /// Show what was written after reading untrusted text, and trust it.
    #[command(subcommand)]
    Trust(Trust),
    /// Look at the audit and verify it.
    #[command(subcommand)]
    Audit(Audit),
    /// List, show, take, give and remove artifacts.
    Artifact(Artifact),
    /// Make datastores, filestores, knowledge bases and vaults, and say who may use them.
    #[command(subcommand)]
    Resource(Resource),
    /// See what is to be done, write it down, tick it off.
    Todo(Todo),
    /// See whom agents can write to.
    Contacts(Contacts),
    /// Write everything into one file, while the gateway runs.
    Backup(Backup),
    /// Bring a backup back.
    Restore(Restore),
    /// Check that everything is in order, and say what to do where it is not.
    Doctor,
    /// Kill what a gateway had started when it dies without warning (started by the gateway).
    #[command(hide = true)]
    Keeper,
    /// Run one script, shut in (started by the gateway).
    #[command(hide = true)]
    ScriptWorker,
    /// Write completions for a shell.
    Completions {
        /// Which shell.
        shell: Shell,
    },
}

#[derive(clap::Args)]
pub struct Up {
    /// The address to listen on, instead of the one in config.toml.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Do not lend this machine as a node.
    #[arg(long)]
    pub no_node: bool,
}

#[derive(clap::Args)]
pub struct Call {
    /// On whose workspace and behalf.
    #[arg(long, default_value = "main")]
    pub agent: String,
    /// How many seconds to wait for an approval, when one is needed.
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    pub wait: u64,
    /// How many seconds the call may take, when less than the tool's own limit.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// The account to use, for a tool of an MCP server that has several: see `connection list`.
    #[arg(long, value_name = "PCID")]
    pub connection: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its arguments as a JSON object, or - to read them from standard input.
    #[arg(value_name = "JSON|-", allow_hyphen_values = true)]
    pub arguments: Option<String>,
}

#[derive(clap::Args)]
pub struct Trigger {
    /// The trigger's id, such as tool::file_read.
    pub id: String,
    /// Its arguments as a JSON object, or - to read them from standard input.
    #[arg(value_name = "JSON|-", allow_hyphen_values = true)]
    pub arguments: Option<String>,
}

#[derive(clap::Args)]
pub struct Tools {
    /// Only this tool, with its parameters.
    pub name: Option<String>,
    /// As a page of Markdown with every parameter.
    #[arg(long, conflicts_with_all = ["json", "name"])]
    pub markdown: bool,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum Config {
    /// Show one value, or all.
    Get {
        /// A dotted path, such as limits.calls_per_minute.
        path: Option<String>,
    },
    /// Set one value.
    Set {
        /// A dotted path.
        path: String,
        /// JSON, or plain text.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Go back to a default.
    Unset {
        /// A dotted path.
        path: String,
    },
    /// Show where the file is.
    Path,
    /// Check the file and list everything that is wrong.
    Check,
}

#[derive(Subcommand)]
pub enum Token {
    /// Make a token; its text is shown once.
    Create {
        /// What you call it.
        name: String,
        /// What it is for.
        #[arg(long, default_value = "client", value_parser = roles())]
        role: Role,
        /// Tools it may call, such as gsv__*; all when not given. Separated by commas, or repeated.
        #[arg(long, value_name = "PATTERN", value_delimiter = ',', value_parser = pattern)]
        tools: Vec<String>,
        /// Agents it may act for and talk to; main when not given. Separated by commas, or repeated.
        #[arg(long, value_name = "PATTERN", value_delimiter = ',', value_parser = pattern)]
        agents: Vec<String>,
        /// How long it lives: 90s, 45m, 12h, 30d.
        #[arg(long, value_name = "DURATION", value_parser = duration)]
        expires: Option<u64>,
    },
    /// List all tokens.
    List,
    /// Take a token back; its open connections end at once.
    Revoke {
        /// The token's id or name.
        #[arg(value_name = "TOKEN")]
        which: String,
    },
}

fn roles() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::word)).try_map(|word| word.parse::<Role>())
}

/// One pattern of a list.
fn pattern(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => {
            Err("a pattern is empty: remove the comma too many, or leave the option out".to_owned())
        }
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
        .filter(|seconds| *seconds > 0)
        .ok_or_else(wrong)
}

#[derive(Subcommand)]
pub enum Secret {
    /// Store a secret, read from standard input.
    Set {
        /// Its name.
        name: String,
    },
    /// List the names.
    List,
    /// Forget a secret.
    Remove {
        /// Its name.
        name: String,
    },
}

#[derive(Subcommand)]
pub enum Policy {
    /// Show the rules in order.
    List,
    /// Say which rule would decide a call, and how.
    Explain {
        /// The tool.
        tool: String,
        /// Its arguments as a JSON object.
        #[arg(value_name = "JSON")]
        arguments: Option<String>,
        /// As which role.
        #[arg(long, default_value = "owner", value_parser = roles())]
        role: Role,
        /// Under which token name.
        #[arg(long)]
        name: Option<String>,
        /// On whose behalf.
        #[arg(long)]
        agent: Option<String>,
    },
}

#[derive(Subcommand)]
pub enum Trust {
    /// List files, agents, jobs and conversations that are not trusted, with who wrote them and after
    /// reading what.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Trust one of them as it is now.
    Accept {
        /// What kind of object it is.
        #[arg(value_enum)]
        kind: TrustKind,
        /// Which one, as `trust list` shows it.
        id: String,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum TrustKind {
    /// A file of a workspace.
    File,
    /// A spawned agent.
    Agent,
    /// A scheduled job.
    Job,
    /// A conversation.
    Session,
}

impl TrustKind {
    /// The word of the API.
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
    /// Show what waits, with exactly what would run.
    List {
        /// Also what was answered, used or expired.
        #[arg(long)]
        all: bool,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Allow a call: once, for its conversation, or always.
    Approve {
        /// The approval's id.
        id: String,
        /// Also calls like it, until the conversation is reset.
        #[arg(long, conflicts_with = "always")]
        conversation: bool,
        /// Also calls like it from now on: adds the rule that `approvals list` shows to the policy.
        #[arg(long)]
        always: bool,
    },
    /// Deny a call.
    Deny {
        /// The approval's id.
        id: String,
        /// What the model is told.
        #[arg(long, short)]
        message: Option<String>,
    },
}

#[derive(Subcommand)]
pub enum Audit {
    /// Show entries, newest first.
    List {
        /// Only tools that fit this pattern.
        #[arg(long, value_name = "PATTERN")]
        tool: Option<String>,
        /// Only of this caller, by the key that the list shows.
        #[arg(long, value_name = "KEY")]
        caller: Option<String>,
        /// Only on behalf of this agent.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
        /// Only this call, by its id.
        #[arg(long, value_name = "ID")]
        call: Option<String>,
        /// Only ok or error.
        #[arg(long)]
        status: Option<String>,
        /// Only entries after this number.
        #[arg(long, value_name = "SEQ")]
        after: Option<i64>,
        /// Only entries before this number: the next page.
        #[arg(long, value_name = "SEQ")]
        before: Option<i64>,
        /// How many at most.
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check the whole chain: changed, missing, swapped and cut-off entries are found.
    Verify,
}

#[derive(clap::Args)]
pub struct Backup {
    /// The file to write; it holds the keys too, so keep it safe.
    pub file: PathBuf,
    /// Replace the file if it is there.
    #[arg(long)]
    pub force: bool,
}

#[derive(clap::Args)]
pub struct Restore {
    /// The file to read.
    pub file: PathBuf,
    /// Put what is in the home now aside, beside it.
    #[arg(long)]
    pub force: bool,
    /// Accept settings of the backup that decide which programs and files of this machine are used,
    /// how they are confined, or from where it can be reached.
    #[arg(long)]
    pub trust_settings: bool,
    /// Revoke every access token in the backup, the owner's included.
    #[arg(long)]
    pub revoke_tokens: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_hold_together() {
        Args::command().debug_assert();
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
        let Command::Mcp(Mcp {
            command: Some(McpCommand::Add(add)),
            ..
        }) = args.command
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
            Command::Mcp(Mcp { command: None, .. })
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
