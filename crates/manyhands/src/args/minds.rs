//! What can be typed about agents, their conversations and their models.

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use manyhands_core::AgentId;

#[derive(clap::Args)]
pub struct Chat {
    /// Which conversation: a name such as work, or agent:NAME:REST.
    #[arg(short, long, default_value = "main", value_name = "KEY")]
    pub session: String,
    /// With which agent.
    #[arg(long, default_value = "main", value_name = "NAME")]
    pub agent: AgentId,
    /// Which model answers here, as provider/model.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// How hard it thinks here.
    #[arg(long, value_name = "LEVEL", value_parser = levels())]
    pub think: Option<String>,
    /// Print one JSON object when the answer is there.
    #[arg(long)]
    pub json: bool,
    /// What to say; what comes on standard input follows it. Without both, a conversation begins.
    #[arg(value_name = "MESSAGE")]
    pub message: Option<String>,
}

#[derive(clap::Args)]
pub struct Acp {
    /// With which agent.
    #[arg(long, default_value = "main", value_name = "NAME")]
    pub agent: AgentId,
    /// One conversation for all: a name such as work, or agent:NAME:REST. A new one each time when not given.
    #[arg(short, long, value_name = "KEY")]
    pub session: Option<String>,
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Sessions {
    /// As JSON.
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<SessionsCommand>,
}

#[derive(Subcommand)]
pub enum SessionsCommand {
    /// List the conversations, the latest first.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one, with what was said last.
    Show {
        /// Which one: a name such as work, or agent:NAME:REST.
        key: String,
        /// How many messages.
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: u32,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Look for words in what was said and in memory files, archives included.
    Search {
        /// The words.
        query: String,
        /// Only of this agent.
        #[arg(long, value_name = "NAME")]
        agent: Option<AgentId>,
        /// How many results.
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: u32,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Begin one anew; what was said is archived.
    Reset {
        /// Which one.
        key: String,
    },
    /// Leave all but the last messages out of what its model is shown; they are archived.
    Compact {
        /// Which one.
        key: String,
        /// How many messages stay.
        #[arg(long, default_value_t = 20, value_name = "N")]
        keep: u32,
    },
    /// Delete one with all that was said in it, archives too; what it cost stays counted.
    Delete {
        /// Which one.
        key: String,
    },
    /// Set its model, how hard it thinks, and what it is called.
    #[command(group(clap::ArgGroup::new("what").required(true).multiple(true)))]
    Set {
        /// Which one.
        key: String,
        /// The model, as provider/model.
        #[arg(long, value_name = "MODEL", group = "what")]
        model: Option<String>,
        /// How hard it thinks.
        #[arg(long, value_name = "LEVEL", value_parser = levels(), group = "what")]
        think: Option<String>,
        /// What it is called.
        #[arg(long, group = "what")]
        label: Option<String>,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Agents {
    /// As JSON.
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<AgentsCommand>,
}

#[derive(Subcommand)]
pub enum AgentsCommand {
    /// List the agents.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one, with its rules and the tools it has.
    Show {
        /// Which one.
        name: AgentId,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Skills {
    /// Of which agent.
    #[arg(long, default_value = "main", value_name = "NAME")]
    pub agent: AgentId,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<SkillsCommand>,
}

#[derive(Subcommand)]
pub enum SkillsCommand {
    /// List them, with whether they can be used now.
    List {
        /// Of which agent.
        #[arg(long, default_value = "main", value_name = "NAME")]
        agent: AgentId,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one with its text.
    Show {
        /// Its name or its folder.
        name: String,
        /// Of which agent.
        #[arg(long, default_value = "main", value_name = "NAME")]
        agent: AgentId,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Switch one on, for every agent.
    Enable {
        /// Its name or its folder.
        name: String,
        /// As this agent sees it.
        #[arg(long, default_value = "main", value_name = "NAME")]
        agent: AgentId,
    },
    /// Switch one off, for every agent.
    Disable {
        /// Its name or its folder.
        name: String,
        /// As this agent sees it.
        #[arg(long, default_value = "main", value_name = "NAME")]
        agent: AgentId,
    },
}

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Models {
    /// As JSON.
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<ModelsCommand>,
}

#[derive(Subcommand)]
pub enum ModelsCommand {
    /// List who can be added by name.
    Makers {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Add somebody's models and try one. The key is asked for, or comes on standard input.
    Add {
        /// The maker's name, such as anthropic or ollama; `models makers` lists them.
        maker: String,
        /// The model, as the maker calls it; the maker's usual one when not given.
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// Use it from now on where no other model is said; without this only where there is none yet.
        #[arg(long)]
        default: bool,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a provider that nothing uses any more, with its key if it is its maker's.
    Remove {
        /// The provider's name.
        name: String,
    },
    /// Ask a model for one word, and say how it went.
    Test {
        /// The model, as provider/model; the default when not given.
        model: Option<String>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
pub struct Usage {
    /// Of how many days.
    #[arg(long, default_value_t = 30, value_name = "N")]
    pub days: u32,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// How hard a model can think, in words.
fn levels() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(["none", "minimal", "low", "medium", "high", "xhigh"])
        .map(|word: String| word)
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

    #[test]
    fn a_message_is_one_word_of_the_shell_and_may_be_left_out() {
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
        assert!(parse("models remove anthropic").is_ok());
    }

    #[test]
    fn sessions_are_listed_unless_something_else_is_asked() {
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
