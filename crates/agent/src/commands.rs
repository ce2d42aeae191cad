//! Slash commands, the same in every chat.
//!
//! A message that begins with a slash and a word of letters is a command; `/usr/bin` is not. `/t:LEVEL` and
//! `/m:PROVIDER/MODEL` at the beginning of a message apply to that message only.

use manyhands_core::{Caller, ErrorCode, ToolError};
use manyhands_llm::{ModelId, Thinking};
use manyhands_store::ApprovalScope;

use crate::compaction::size_of;
use crate::env::ApprovalReply;
use crate::input::Input;
use crate::key::SessionKey;
use crate::runtime::Minds;
use crate::settings::SessionSettings;

/// Similarity from which an unknown word is taken for a typo of a command.
const MIN_SIMILARITY: f64 = 0.7;

/// Result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandReply {
    /// The command, without its slash.
    pub command: String,
    /// The text to show.
    pub response: String,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// Options of a single message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directives {
    /// The model.
    pub model: Option<ModelId>,
    /// Reasoning effort.
    pub thinking: Option<Thinking>,
}

impl Directives {
    /// Whether no option is set.
    pub fn is_empty(&self) -> bool {
        self.model.is_none() && self.thinking.is_none()
    }
}

/// A chat message after parsing commands and directives.
#[derive(Debug, Clone, PartialEq)]
pub enum ParsedMessage {
    /// A command that has been run.
    Command(CommandReply),
    /// Directives without a message.
    OnlyDirectives {
        /// The directives.
        directives: Directives,
        /// Explanation for the user.
        response: String,
    },
    /// A message to send.
    Message {
        /// The message with its options; boxed, because it is far larger than the other variants.
        input: Box<Input>,
        /// The options.
        directives: Directives,
    },
}

/// A slash command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlashCommand {
    New,
    Reset,
    Undo,
    Stop,
    Status,
    Model,
    Think,
    Compact,
    Approve,
    Deny,
    Help,
}

impl SlashCommand {
    const ALL: [Self; 11] = [
        Self::New,
        Self::Reset,
        Self::Undo,
        Self::Stop,
        Self::Status,
        Self::Model,
        Self::Think,
        Self::Compact,
        Self::Approve,
        Self::Deny,
        Self::Help,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Reset => "reset",
            Self::Undo => "undo",
            Self::Stop => "stop",
            Self::Status => "status",
            Self::Model => "model",
            Self::Think => "think",
            Self::Compact => "compact",
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Help => "help",
        }
    }

    /// Arguments.
    fn usage(self) -> &'static str {
        match self {
            Self::New | Self::Reset | Self::Undo | Self::Stop | Self::Status | Self::Help => "",
            Self::Model => " [PROVIDER/MODEL|default]",
            Self::Think => " [none|minimal|low|medium|high|xhigh|default]",
            Self::Compact => " [N]",
            Self::Approve => " ID [once|conversation|always]",
            Self::Deny => " ID [MESSAGE]",
        }
    }

    fn summary(self) -> &'static str {
        match self {
            Self::New => "start a new conversation; the messages are archived",
            Self::Reset => "the same as /new",
            Self::Undo => "undo your last message and its answer; effects of tools remain",
            Self::Stop => "stop the running turn",
            Self::Status => "show settings, usage and activity",
            Self::Model => "show or set the model of this chat",
            Self::Think => "show or set the reasoning effort of this chat",
            Self::Compact => "summarise the older part, or keep only the last N messages",
            Self::Approve => "approve a pending call",
            Self::Deny => "deny a pending call",
            Self::Help => "show this list",
        }
    }
}

/// All commands: the word, its arguments and a summary.
pub fn slash_commands() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let all = SlashCommand::ALL.into_iter();
    all.map(|command| (command.word(), command.usage(), command.summary()))
}

/// Splits a text into a lower-case command word and its arguments; `None` if it is not a command.
fn as_command(text: &str) -> Option<(String, &str)> {
    let rest = text.trim().strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (word, rest) = rest.split_at(end);
    // Letters only: paths such as /usr/bin and names such as /file.txt are ordinary messages.
    let looks_like_one = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic());
    looks_like_one.then(|| (word.to_ascii_lowercase(), rest.trim()))
}

/// Splits off the directives at the beginning of a text.
fn directives(text: &str) -> Result<(Directives, &str), ToolError> {
    let mut found = Directives::default();
    let mut rest = text.trim_start();
    loop {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let wrong = |e: String| ToolError::new(ErrorCode::InvalidArguments, e);
        if let Some(level) = word.strip_prefix("/t:") {
            let level = level.to_ascii_lowercase();
            let level = level.parse().map_err(|e| wrong(format!("{e}")));
            found.thinking = Some(level?);
        } else if let Some(model) = word.strip_prefix("/m:") {
            let model = model.parse().map_err(|e| wrong(format!("{e}")));
            found.model = Some(model?);
        } else {
            break;
        }
        rest = after.trim_start();
    }
    match found.is_empty() {
        // As it was written, with the white space before it.
        true => Ok((found, text)),
        false => Ok((found, rest)),
    }
}

impl Minds {
    /// Parses a text that `caller` wrote in a session. A command has been run when this returns; a message is still to be
    /// sent.
    pub async fn parse_message(
        &self,
        key: &SessionKey,
        text: &str,
        caller: &Caller,
    ) -> Result<ParsedMessage, ToolError> {
        if let Some(reply) = self.command(key, text, caller).await? {
            return Ok(ParsedMessage::Command(reply));
        }
        let (directives, rest) = directives(text)?;
        // Before the message is queued: the sender should learn of a wrong model now, not from a failed turn.
        if let Some(model) = &directives.model {
            check_may_choose(caller)?;
            self.inner.env.knows(model)?;
        }
        if !directives.is_empty() && rest.is_empty() {
            let response = "write the message after it: /t: and /m: apply to one message only\nhint: /think and /model apply to the whole chat";
            return Ok(ParsedMessage::OnlyDirectives {
                directives,
                response: response.to_owned(),
            });
        }
        let mut input = Input::text(rest);
        input.model = directives.model.clone();
        input.thinking = directives.thinking;
        Ok(ParsedMessage::Message {
            input: Box::new(input),
            directives,
        })
    }

    /// Runs a text if it is a command. Mistakes of the user are in the reply; an error means that the gateway failed.
    pub async fn command(
        &self,
        key: &SessionKey,
        text: &str,
        caller: &Caller,
    ) -> Result<Option<CommandReply>, ToolError> {
        let Some((word, rest)) = as_command(text) else {
            return Ok(None);
        };
        let known = SlashCommand::ALL
            .into_iter()
            .find(|command| command.word() == word);
        let done = match known {
            None => Err(unknown(&word)),
            Some(command) if command.usage().is_empty() && !rest.is_empty() => {
                let message = format!("/{word} takes no arguments; send the rest as a message");
                Err(ToolError::new(ErrorCode::InvalidArguments, message))
            }
            Some(command) => {
                let context = CommandContext {
                    minds: self,
                    key,
                    caller,
                };
                context.run(command, rest).await
            }
        };
        let reply = match done {
            Ok(response) => CommandReply {
                command: word,
                response,
                error: None,
            },
            Err(error) if is_internal(error.code) => return Err(error),
            Err(error) => CommandReply {
                command: word,
                response: error.text(),
                error: Some(error.message),
            },
        };
        Ok(Some(reply))
    }
}

/// Whether an error is not the user's mistake.
fn is_internal(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Internal | ErrorCode::Unavailable | ErrorCode::StorageFull
    )
}

fn unknown(word: &str) -> ToolError {
    let like = |command: &SlashCommand| strsim::jaro_winkler(word, command.word());
    let nearest = SlashCommand::ALL
        .into_iter()
        .max_by(|a, b| like(a).total_cmp(&like(b)))
        .filter(|command| like(command) >= MIN_SIMILARITY);
    let meant = nearest.map_or(String::new(), |command| {
        format!("; did you mean /{}?", command.word())
    });
    let message = format!("unknown command /{word}{meant}");
    ToolError::new(ErrorCode::NotFound, message).hint("/help lists the commands")
}

/// Only the owner, who pays for models, may choose one.
fn check_may_choose(caller: &Caller) -> Result<(), ToolError> {
    match caller.is_owner() {
        true => Ok(()),
        false => {
            let message = "only the owner chooses the model";
            Err(ToolError::new(ErrorCode::Forbidden, message))
        }
    }
}

/// Session and caller of a command.
struct CommandContext<'a> {
    minds: &'a Minds,
    key: &'a SessionKey,
    caller: &'a Caller,
}

impl CommandContext<'_> {
    async fn run(&self, command: SlashCommand, rest: &str) -> Result<String, ToolError> {
        match command {
            SlashCommand::New | SlashCommand::Reset => self.reset().await,
            SlashCommand::Undo => self.undo().await,
            SlashCommand::Stop => self.stop().await,
            SlashCommand::Status => self.status().await,
            SlashCommand::Model => self.model(rest).await,
            SlashCommand::Think => self.think(rest).await,
            SlashCommand::Compact => self.compact(rest).await,
            SlashCommand::Approve => self.approve(rest).await,
            SlashCommand::Deny => self.deny(rest).await,
            SlashCommand::Help => Ok(help()),
        }
    }

    async fn reset(&self) -> Result<String, ToolError> {
        self.minds.open(self.key).await?;
        let reset = self.minds.reset(self.key).await?;
        Ok(match reset.archived {
            0 => "new session; there were no messages to archive".to_owned(),
            count => format!(
                "new session; {count} messages archived to {}",
                reset.archived_to
            ),
        })
    }

    async fn undo(&self) -> Result<String, ToolError> {
        self.minds.open(self.key).await?;
        let Some(rewound) = self.minds.undo(self.key).await? else {
            return Ok("there is nothing to undo".to_owned());
        };
        let done = match rewound.tool_calls {
            0 => String::new(),
            1 => "; the effects of its tool call remain".to_owned(),
            calls => format!("; the effects of its {calls} tool calls remain"),
        };
        Ok(format!(
            "undone: {} messages archived to {}{done}",
            rewound.messages, rewound.archived_to
        ))
    }

    async fn stop(&self) -> Result<String, ToolError> {
        let stopped = self.minds.stop(self.key);
        let waiting = self.minds.queued(self.key).await?.saturating_sub(1);
        Ok(match (stopped, waiting) {
            (false, _) => "nothing is running".to_owned(),
            (true, 0) => "stopped".to_owned(),
            (true, more) => format!("stopped; {more} queued messages follow"),
        })
    }

    async fn status(&self) -> Result<String, ToolError> {
        let minds = self.minds;
        let session = minds.open(self.key).await?;
        let agent = minds.inner.agent(self.key.agent())?;
        let settings = minds.settings(&session);
        let messages = minds.inner.conversation(&session).await?.entries;
        let window = minds.inner.env.limits().window;
        let queued = minds.queued(self.key).await?;
        let model = self.model_in_words(&settings)?;
        let thinking = settings.thinking_level.or(agent.thinking);
        let mut lines = vec![
            format!("session: {}", self.key),
            format!("model: {model}"),
            format!("thinking: {}", thinking.map_or("default", Thinking::as_str)),
            format!(
                "context: {} messages, about {} of {window} tokens",
                messages.len(),
                size_of(&messages)
            ),
            format!(
                "used: {} tokens in, {} out, {}",
                session.input_tokens,
                session.output_tokens,
                dollars(session.cost_micros)
            ),
        ];
        lines.push(match (minds.is_busy(self.key), queued.saturating_sub(1)) {
            (false, _) => "queue: nothing is running".to_owned(),
            (true, waiting) => format!("queue: 1 running, {waiting} queued"),
        });
        if let Some((approval, tool)) = minds.question(self.key) {
            lines.push(format!(
                "needs approval: {tool}; /approve {approval} or /deny {approval}"
            ));
        }
        Ok(lines.join("\n"))
    }

    /// The model that answers next, and whether this chat chose it.
    fn model_in_words(&self, settings: &SessionSettings) -> Result<String, ToolError> {
        if let Some(model) = &settings.model {
            return Ok(format!("{model} (set in this chat)"));
        }
        let env = &self.minds.inner.env;
        let agent = self.minds.inner.agent(self.key.agent())?;
        let model = agent.model.or_else(|| env.default_model());
        Ok(model.map_or("not set".to_owned(), |model| model.to_string()))
    }

    async fn model(&self, rest: &str) -> Result<String, ToolError> {
        let session = self.minds.open(self.key).await?;
        let model: Option<ModelId> = match rest {
            "" => return self.model_in_words(&self.minds.settings(&session)),
            "default" => None,
            named => {
                check_may_choose(self.caller)?;
                let model = named.parse::<ModelId>();
                let model = model
                    .map_err(|e| ToolError::new(ErrorCode::InvalidArguments, e.to_string()))?;
                self.minds.inner.env.knows(&model)?;
                Some(model)
            }
        };
        let set = self
            .minds
            .patch(self.key, |settings, _| settings.model = model.clone());
        let settings = self.minds.settings(&set.await?);
        Ok(format!("model: {}", self.model_in_words(&settings)?))
    }

    async fn think(&self, rest: &str) -> Result<String, ToolError> {
        let session = self.minds.open(self.key).await?;
        let agent = self.minds.inner.agent(self.key.agent())?;
        let in_words = |settings: &SessionSettings| match settings.thinking_level {
            Some(level) => format!("thinking: {} (set in this chat)", level.as_str()),
            None => {
                let level = agent.thinking.map_or("default", Thinking::as_str);
                format!("thinking: {level}")
            }
        };
        let level: Option<Thinking> = match rest.to_ascii_lowercase().as_str() {
            "" => return Ok(in_words(&self.minds.settings(&session))),
            "default" => None,
            named => Some(
                named
                    .parse()
                    .map_err(|e| ToolError::new(ErrorCode::InvalidArguments, format!("{e}")))?,
            ),
        };
        let set = |settings: &mut SessionSettings, _: &mut Option<String>| {
            settings.thinking_level = level;
        };
        let session = self.minds.patch(self.key, set).await?;
        Ok(in_words(&self.minds.settings(&session)))
    }

    async fn compact(&self, rest: &str) -> Result<String, ToolError> {
        self.minds.open(self.key).await?;
        let keep =
            match rest {
                "" => None,
                number => Some(number.parse::<usize>().ok().filter(|n| *n > 0).ok_or_else(
                    || {
                        let message =
                            format!("{number:?} is not a number of messages; use 1 or more");
                        ToolError::new(ErrorCode::InvalidArguments, message)
                    },
                )?),
            };
        let done = match keep {
            Some(keep) => self.minds.trim(self.key, keep).await?,
            None => self.minds.compact(self.key).await?,
        };
        Ok(match done.trimmed {
            0 => format!("nothing to archive; {} messages", done.kept),
            trimmed => format!(
                "{trimmed} messages archived to {}; {} remain{}",
                done.archived_to,
                done.kept,
                match keep {
                    Some(_) => "",
                    None => ", after a summary",
                }
            ),
        })
    }

    async fn approve(&self, rest: &str) -> Result<String, ToolError> {
        let (id, scope) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let scope = match scope.trim() {
            "" | "once" => ApprovalScope::Once,
            "conversation" => ApprovalScope::Conversation,
            "always" => ApprovalScope::Always,
            other => {
                let message = format!("{other:?} is not an approval scope");
                return Err(ToolError::new(ErrorCode::InvalidArguments, message)
                    .hint("/approve ID, /approve ID conversation or /approve ID always"));
            }
        };
        self.decide(id, ApprovalReply::Approve(scope)).await
    }

    async fn deny(&self, rest: &str) -> Result<String, ToolError> {
        let (id, message) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let message = Some(message.trim()).filter(|message| !message.is_empty());
        self.decide(id, ApprovalReply::Deny(message.map(str::to_owned)))
            .await
    }

    async fn decide(&self, id: &str, verdict: ApprovalReply) -> Result<String, ToolError> {
        if !self.caller.is_owner() {
            let message = "only the owner answers approval requests";
            return Err(ToolError::new(ErrorCode::Forbidden, message));
        }
        // Never "the pending one": it may have changed since the owner read what it does.
        if id.is_empty() {
            let error = ToolError::new(
                ErrorCode::InvalidArguments,
                "name one approval request by its id, so that what runs is what you saw",
            );
            return Err(match self.minds.question(self.key) {
                Some((approval, tool)) => error.hint(format!("{tool} is pending as {approval}")),
                None => error.hint("`manyhands approvals list` shows what is pending"),
            });
        }
        let env = &self.minds.inner.env;
        env.decide(self.caller, id, verdict).await
    }
}

fn help() -> String {
    let line = |command: SlashCommand| {
        format!(
            "/{}{} - {}",
            command.word(),
            command.usage(),
            command.summary()
        )
    };
    let mut lines: Vec<String> = SlashCommand::ALL.into_iter().map(line).collect();
    lines
        .push("/t:LEVEL and /m:PROVIDER/MODEL before a message - for that message only".to_owned());
    lines.join("\n")
}

fn dollars(micros: i64) -> String {
    format!(
        "${}.{:06}",
        micros / 1_000_000,
        micros.rem_euclid(1_000_000)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_slash_and_a_word_of_letters() {
        for (text, command) in [
            ("/new", Some(("new", ""))),
            ("  /Model  a/b ", Some(("model", "a/b"))),
            ("/compact\n5", Some(("compact", "5"))),
            ("/etc", Some(("etc", ""))),
            ("/usr/bin is full", None),
            ("/t:high hello", None),
            ("/m:a/b", None),
            ("/", None),
            ("/ new", None),
            ("//new", None),
            ("/file.txt", None),
            ("say /new", None),
            ("", None),
        ] {
            let expected = command.map(|(word, rest)| (word.to_owned(), rest));
            assert_eq!(as_command(text), expected, "{text:?}");
        }
    }

    #[track_caller]
    fn check(text: &str, thinking: Option<Thinking>, model: Option<&str>, rest: &str) {
        let (found, after) = directives(text).unwrap();
        let model = model.map(|model| model.parse().unwrap());
        assert_eq!(found, Directives { model, thinking }, "{text:?}");
        assert_eq!(after, rest, "{text:?}");
    }

    #[test]
    fn directives_stand_at_the_beginning() {
        check("hello", None, None, "hello");
        check("  hello ", None, None, "  hello ");
        check("/t:high hello", Some(Thinking::High), None, "hello");
        check("/T:high hello", None, None, "/T:high hello");
        check(
            "/m:a/b/c /t:NONE\nhi there",
            Some(Thinking::None),
            Some("a/b/c"),
            "hi there",
        );
        check("hi /t:high", None, None, "hi /t:high");
        check("/t:low", Some(Thinking::Low), None, "");
        check("/usr/bin", None, None, "/usr/bin");
        for wrong in ["/t:hard hi", "/t: hi", "/m:nothing hi", "/m: hi"] {
            assert!(directives(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_unknown_command_suggests_the_nearest() {
        for (word, nearest) in [
            ("stpo", "/stop"),
            ("models", "/model"),
            ("aprove", "/approve"),
            ("rest", "/reset"),
        ] {
            let error = unknown(word);
            assert!(
                error.message.ends_with(&format!("did you mean {nearest}?")),
                "{error}"
            );
        }
        assert_eq!(unknown("xyzzy").message, "unknown command /xyzzy");
    }

    #[test]
    fn help_lists_every_command() {
        let help = help();
        for command in SlashCommand::ALL {
            assert!(help.contains(&format!("/{}", command.word())), "{help}");
        }
    }

    #[test]
    fn money_is_shown_in_dollars() {
        assert_eq!(dollars(0), "$0.000000");
        assert_eq!(dollars(1_234_567), "$1.234567");
    }
}
