//! Arguments of `chat`, `acp`, `sessions`, `agents`, `skills`, `models` and `usage`.

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use manyhands_core::AgentId;

#[derive(clap::Args)]
pub struct Chat {
    /// The session: a name such as work, or agent:NAME:REST.
    #[arg(short, long, default_value = "main", value_name = "KEY")]
    pub session: String,
    /// The agent to talk to.
    #[arg(long, default_value = "main", value_name = "NAME")]
    pub agent: AgentId,
    /// Set the session's model, as provider/model.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Set the session's reasoning level.
    #[arg(long, value_name = "LEVEL", value_parser = levels())]
    pub think: Option<String>,
    /// Print the reply as one JSON object.
    #[arg(long)]
    pub json: bool,
    /// The message; standard input is appended to it. Without either, starts an interactive chat.
    #[arg(value_name = "MESSAGE")]
    pub message: Option<String>,
}

#[derive(clap::Args)]
pub struct Acp {
    /// The agent to serve.
    #[arg(long, default_value = "main", value_name = "NAME")]
    pub agent: AgentId,
    /// Use one session for all conversations: a name such as work, or agent:NAME:REST; default: a new session each time.
    #[arg(short, long, value_name = "KEY")]
    pub session: Option<String>,
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Sessions {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<SessionsCommand>,
}

#[derive(Subcommand)]
pub enum SessionsCommand {
    /// List sessions, most recently used first.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a session and its latest messages.
    Show {
        /// The session: a name such as work, or agent:NAME:REST.
        key: String,
        /// Number of messages.
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Search messages and memory files, including archives.
    Search {
        /// Text to search for.
        query: String,
        /// Only sessions of this agent.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
        /// Maximum number of results.
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Clear a session; its messages are archived.
    Reset {
        /// The session's key.
        key: String,
    },
    /// Compact a session: remove all but the latest messages from the model's context; they are archived.
    Compact {
        /// The session's key.
        key: String,
        /// Number of messages to keep.
        #[arg(long, default_value_t = 20, value_name = "N")]
        keep: u32,
    },
    /// Delete a session with its messages and archives; its usage stays counted.
    Delete {
        /// The session's key.
        key: String,
    },
    /// Set a session's model, reasoning level or label.
    #[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
    Set {
        /// The session's key.
        key: String,
        /// The model, as provider/model.
        #[arg(long, value_name = "MODEL", group = "what")]
        model: Option<String>,
        /// Reasoning level.
        #[arg(long, value_name = "LEVEL", value_parser = levels(), group = "what")]
        think: Option<String>,
        /// Label shown in lists.
        #[arg(long, group = "what")]
        label: Option<String>,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Agents {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<AgentsCommand>,
}

#[derive(Subcommand)]
pub enum AgentsCommand {
    /// List agents.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show an agent with its rules and tools.
    Show {
        /// The agent's name.
        name: AgentId,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Skills {
    /// The agent whose skills are listed.
    #[arg(long, default_value = "main", value_name = "NAME")]
    pub agent: AgentId,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<SkillsCommand>,
}

#[derive(Subcommand)]
pub enum SkillsCommand {
    /// List skills and whether they are available.
    List {
        /// The agent whose skills are listed.
        #[arg(long, default_value = "main", value_name = "NAME")]
        agent: AgentId,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a skill and its text.
    Show {
        /// The skill's name or folder.
        name: String,
        /// The agent whose skills are searched.
        #[arg(long, default_value = "main", value_name = "NAME")]
        agent: AgentId,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Enable a skill for all agents.
    Enable {
        /// The skill's name or folder.
        name: String,
        /// The agent whose skills are searched.
        #[arg(long, default_value = "main", value_name = "NAME")]
        agent: AgentId,
    },
    /// Disable a skill for all agents.
    Disable {
        /// The skill's name or folder.
        name: String,
        /// The agent whose skills are searched.
        #[arg(long, default_value = "main", value_name = "NAME")]
        agent: AgentId,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Models {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<ModelsCommand>,
}

#[derive(Subcommand)]
pub enum ModelsCommand {
    /// List the providers that can be added by name.
    #[command(alias = "makers")]
    Providers {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Add a provider and test a model. The API key is prompted for or read from standard input.
    #[command(after_help = "\
Examples:
  manyhands models add anthropic                             a known provider
  printf %s \"$KEY\" | manyhands models add openai           its key from a script
  manyhands models add --base-url http://127.0.0.1:8080/v1   any OpenAI-compatible server
  manyhands models add --base-url https://models.example.com/v1 work --model qwen3-30b

With --base-url the server's models are listed and you choose one. It changes config.toml of this
machine, so it cannot be used with a gateway elsewhere.")]
    Add {
        /// The provider, such as anthropic or ollama; `models providers` lists them. With --base-url: a name of your
        /// choice; default: from the URL.
        #[arg(value_name = "PROVIDER", required_unless_present = "base_url")]
        provider: Option<String>,
        /// URL of a server with an OpenAI-compatible API, such as llama.cpp, vLLM or LM Studio.
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
        /// The provider's model id; default: the provider's recommended model, or with --base-url your choice.
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// Make it the default model; without this, only if there is no default yet.
        #[arg(long)]
        default: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a provider that is no longer used, and its stored API key.
    Remove {
        /// The provider's name.
        name: String,
    },
    /// Test a model with a one-word request.
    Test {
        /// The model, as provider/model; default: the default model.
        model: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
pub struct Usage {
    /// Number of days to include.
    #[arg(long, default_value_t = 30, value_name = "N")]
    pub days: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Parses a reasoning level.
fn levels() -> impl TypedValueParser<Value = String> {
    // Listed by hand: clap shows them in the help and in completions.
    PossibleValuesParser::new(["none", "minimal", "low", "medium", "high", "xhigh"])
        .map(|word: String| word)
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

    #[test]
    fn a_message_is_one_optional_argument() {
        let Ok(Command::Chat(chat)) = parse("chat -s work --think high hello") else {
            panic!("no chat");
        };
        assert_eq!(chat.message.as_deref(), Some("hello"));
        assert_eq!(
            (chat.session.as_str(), chat.think.as_deref()),
            ("work", Some("high"))
        );
        assert!(matches!(
            parse("chat"),
            Ok(Command::Chat(Chat { message: None, .. }))
        ));
        assert!(parse("chat hello there").is_err(), "quotes were forgotten");
        assert!(parse("chat --think hard x").is_err());
        assert!(parse("chat --agent Big_One x").is_err());
    }

    #[test]
    fn a_key_is_never_an_argument() {
        let Ok(Command::Models(models)) = parse("models add anthropic --model m --default") else {
            panic!("no models");
        };
        assert!(matches!(
            models.command,
            Some(ModelsCommand::Add { default: true, .. })
        ));
        assert!(parse("models add anthropic sk-12345678").is_err());
        assert!(parse("models add anthropic --key sk-12345678").is_err());
        assert!(parse("models add").is_err());
        assert!(parse("models add --base-url http://127.0.0.1:1/v1").is_ok());
        assert!(parse("models remove anthropic").is_ok());
    }

    #[test]
    fn sessions_lists_by_default() {
        for line in [
            "sessions",
            "sessions --json",
            "sessions list",
            "sessions list --json",
        ] {
            assert!(matches!(parse(line), Ok(Command::Sessions(_))), "{line}");
        }
        assert!(parse("sessions set work").is_err(), "nothing to set");
        assert!(parse("sessions set work --label Work --think low").is_ok());
        assert!(parse("sessions show").is_err());
    }
}
