//! Slash commands: the same in every chat, whatever it comes through.
//!
//! A message that begins with a slash and a word of letters is a command; `/usr/bin` is none.
//! `/t:LEVEL` and `/m:PROVIDER/MODEL` at the beginning of a message count for that message only.

use manyhands_core::{Caller, ErrorCode, ToolError};
use manyhands_llm::{ModelId, Thinking};

use crate::key::SessionKey;
use crate::minds::Minds;
use crate::outside::Verdict;
use crate::settings::SessionSettings;
use crate::turn::{Input, size_of};

/// How like a command a word must be for it to be meant.
const LIKE: f64 = 0.7;

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandReply {
    /// Which one, without its slash.
    pub command: String,
    /// What came of it, in words.
    pub response: String,
    /// Why it was not done.
    pub error: Option<String>,
}

/// What counts for one message only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directives {
    /// Which model answers.
    pub model: Option<ModelId>,
    /// How hard to think.
    pub thinking: Option<Thinking>,
}

impl Directives {
    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.model.is_none() && self.thinking.is_none()
    }
}

/// What a text that somebody wrote in a chat is.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// A command, and it is done.
    Command(CommandReply),
    /// Directives without a message: there is nothing to do.
    OnlyDirectives {
        /// What was said.
        directives: Directives,
        /// What to do instead, in words.
        response: String,
    },
    /// A message, to be sent as this.
    Message {
        /// The message, with what was said for it alone.
        input: Input,
        /// What that was.
        directives: Directives,
    },
}

/// The commands there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
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

impl Command {
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

    /// What may follow the word.
    fn usage(self) -> &'static str {
        match self {
            Self::New | Self::Reset | Self::Undo | Self::Stop | Self::Status | Self::Help => "",
            Self::Model => " [PROVIDER/MODEL|default]",
            Self::Think => " [none|minimal|low|medium|high|xhigh|default]",
            Self::Compact => " [N]",
            Self::Approve | Self::Deny => " ID",
        }
    }

    fn summary(self) -> &'static str {
        match self {
            Self::New => "begin anew; what was said is archived",
            Self::Reset => "the same as /new",
            Self::Undo => {
                "take back your last message and what came of it; what tools did stays done"
            }
            Self::Stop => "stop what is running",
            Self::Status => "what is set, used and running here",
            Self::Model => "show or choose the model of this chat",
            Self::Think => "show or choose how hard it thinks in this chat",
            Self::Compact => "summarise the older part, or keep only the last N messages",
            Self::Approve => "let a call that waits for the owner run",
            Self::Deny => "refuse a call that waits for the owner",
            Self::Help => "this list",
        }
    }
}

/// The commands there are: the word, what may follow it, and what it does.
pub fn slash_commands() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let all = Command::ALL.into_iter();
    all.map(|command| (command.word(), command.usage(), command.summary()))
}

/// A text as a command: its word in small letters, and what follows.
fn as_command(text: &str) -> Option<(String, &str)> {
    let rest = text.trim().strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (word, rest) = rest.split_at(end);
    let looks_like_one = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic());
    looks_like_one.then(|| (word.to_ascii_lowercase(), rest.trim()))
}

/// The directives at the beginning of a text, and the text after them.
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
        true => Ok((found, text)),
        false => Ok((found, rest)),
    }
}

impl Minds {
    /// What a text means that `caller` wrote in a session. A command is done when this returns; a
    /// message is yet to be sent.
    pub async fn hear(
        &self,
        key: &SessionKey,
        text: &str,
        caller: &Caller,
    ) -> Result<Heard, ToolError> {
        if let Some(reply) = self.command(key, text, caller).await? {
            return Ok(Heard::Command(reply));
        }
        let (directives, rest) = directives(text)?;
        if let Some(model) = &directives.model {
            may_choose(caller)?;
            self.inner.house.knows(model)?;
        }
        if !directives.is_empty() && rest.is_empty() {
            let response = "write the message after it: what begins with /t: or /m: counts for one message only\nhint: /think and /model choose for the whole chat";
            return Ok(Heard::OnlyDirectives {
                directives,
                response: response.to_owned(),
            });
        }
        let mut input = Input::text(rest);
        input.model = directives.model.clone();
        input.thinking = directives.thinking;
        Ok(Heard::Message { input, directives })
    }

    /// Does what a text asks for, if it is a command. What the writer got wrong is in the reply;
    /// an error is trouble of the house.
    pub async fn command(
        &self,
        key: &SessionKey,
        text: &str,
        caller: &Caller,
    ) -> Result<Option<CommandReply>, ToolError> {
        let Some((word, rest)) = as_command(text) else {
            return Ok(None);
        };
        let known = Command::ALL
            .into_iter()
            .find(|command| command.word() == word);
        let done = match known {
            None => Err(unknown(&word)),
            Some(command) if command.usage().is_empty() && !rest.is_empty() => {
                let message = format!("/{word} stands alone; send the rest as a message");
                Err(ToolError::new(ErrorCode::InvalidArguments, message))
            }
            Some(command) => {
                let asked = Asked {
                    minds: self,
                    key,
                    caller,
                };
                asked.run(command, rest).await
            }
        };
        let reply = match done {
            Ok(response) => CommandReply {
                command: word,
                response,
                error: None,
            },
            Err(error) if is_trouble(error.code) => return Err(error),
            Err(error) => CommandReply {
                command: word,
                response: error.text(),
                error: Some(error.message),
            },
        };
        Ok(Some(reply))
    }
}

/// Whether it is not the writer's doing.
fn is_trouble(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::Internal | ErrorCode::Unavailable | ErrorCode::StorageFull
    )
}

fn unknown(word: &str) -> ToolError {
    let like = |command: &Command| strsim::jaro_winkler(word, command.word());
    let nearest = Command::ALL
        .into_iter()
        .max_by(|a, b| like(a).total_cmp(&like(b)))
        .filter(|command| like(command) >= LIKE);
    let meant = nearest.map_or(String::new(), |command| {
        format!("; did you mean /{}?", command.word())
    });
    let message = format!("there is no command /{word}{meant}");
    ToolError::new(ErrorCode::NotFound, message).hint("/help lists the commands")
}

/// Models cost the owner's money, so the owner chooses them.
fn may_choose(caller: &Caller) -> Result<(), ToolError> {
    match caller.is_owner() {
        true => Ok(()),
        false => {
            let message = "only the owner chooses the model";
            Err(ToolError::new(ErrorCode::Forbidden, message))
        }
    }
}

/// A command, where and by whom.
struct Asked<'a> {
    minds: &'a Minds,
    key: &'a SessionKey,
    caller: &'a Caller,
}

impl Asked<'_> {
    async fn run(&self, command: Command, rest: &str) -> Result<String, ToolError> {
        match command {
            Command::New | Command::Reset => self.reset().await,
            Command::Undo => self.undo().await,
            Command::Stop => self.stop().await,
            Command::Status => self.status().await,
            Command::Model => self.model(rest).await,
            Command::Think => self.think(rest).await,
            Command::Compact => self.compact(rest).await,
            Command::Approve => self.decide(rest, Verdict::Approve).await,
            Command::Deny => self.decide(rest, Verdict::Deny).await,
            Command::Help => Ok(help()),
        }
    }

    async fn reset(&self) -> Result<String, ToolError> {
        self.minds.open(self.key).await?;
        let reset = self.minds.reset(self.key).await?;
        Ok(match reset.archived {
            0 => "a new session: nothing was said before".to_owned(),
            count => format!(
                "a new session; {count} messages are in {}",
                reset.archived_to
            ),
        })
    }

    async fn undo(&self) -> Result<String, ToolError> {
        self.minds.open(self.key).await?;
        let Some(rewound) = self.minds.undo(self.key).await? else {
            return Ok("there is nothing to take back".to_owned());
        };
        let done = match rewound.tool_calls {
            0 => String::new(),
            1 => "; what its one call of a tool did stays done".to_owned(),
            calls => format!("; what its {calls} calls of tools did stays done"),
        };
        Ok(format!(
            "taken back: {} messages are in {}{done}",
            rewound.messages, rewound.archived_to
        ))
    }

    async fn stop(&self) -> Result<String, ToolError> {
        let stopped = self.minds.stop(self.key);
        let waiting = self.minds.queued(self.key).await?.saturating_sub(1);
        Ok(match (stopped, waiting) {
            (false, _) => "nothing is running".to_owned(),
            (true, 0) => "stopped".to_owned(),
            (true, more) => format!("stopped; {more} more messages wait, and are next"),
        })
    }

    async fn status(&self) -> Result<String, ToolError> {
        let minds = self.minds;
        let session = minds.open(self.key).await?;
        let agent = minds.inner.agent(self.key.agent())?;
        let settings = minds.settings(&session);
        let said = minds.inner.conversation(&session).await?.said;
        let window = minds.inner.house.limits().window;
        let queued = minds.queued(self.key).await?;
        let model = self.model_in_words(&settings)?;
        let thinking = settings.thinking_level.or(agent.thinking);
        let mut lines = vec![
            format!("session: {}", self.key),
            format!("model: {model}"),
            format!("thinking: {}", thinking.map_or("default", Thinking::as_str)),
            format!(
                "context: {} messages, about {} of {window} tokens",
                said.len(),
                size_of(&said)
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
            (true, waiting) => format!("queue: one is running, {waiting} wait"),
        });
        if let Some((approval, tool)) = minds.question(self.key) {
            lines.push(format!(
                "waits for the owner: {tool}; /approve {approval} or /deny {approval}"
            ));
        }
        Ok(lines.join("\n"))
    }

    /// The model that answers next, and who chose it.
    fn model_in_words(&self, settings: &SessionSettings) -> Result<String, ToolError> {
        if let Some(model) = &settings.model {
            return Ok(format!("{model} (chosen in this chat)"));
        }
        let house = &self.minds.inner.house;
        let agent = self.minds.inner.agent(self.key.agent())?;
        let model = agent.model.or_else(|| house.default_model());
        Ok(model.map_or("none is set".to_owned(), |model| model.to_string()))
    }

    async fn model(&self, rest: &str) -> Result<String, ToolError> {
        let session = self.minds.open(self.key).await?;
        let model: Option<ModelId> = match rest {
            "" => return self.model_in_words(&self.minds.settings(&session)),
            "default" => None,
            named => {
                may_choose(self.caller)?;
                let model = named.parse::<ModelId>();
                let model = model
                    .map_err(|e| ToolError::new(ErrorCode::InvalidArguments, e.to_string()))?;
                self.minds.inner.house.knows(&model)?;
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
            Some(level) => format!("thinking: {} (chosen in this chat)", level.as_str()),
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
                            format!("{number:?} is no number of messages; write 1 or more");
                        ToolError::new(ErrorCode::InvalidArguments, message)
                    },
                )?),
            };
        let done = match keep {
            Some(keep) => self.minds.trim(self.key, keep).await?,
            None => self.minds.compact(self.key).await?,
        };
        Ok(match done.trimmed {
            0 => format!("nothing was left out; there are {} messages", done.kept),
            trimmed => format!(
                "{trimmed} messages are in {}; {} stay{}",
                done.archived_to,
                done.kept,
                match keep {
                    Some(_) => "",
                    None => ", after a summary",
                }
            ),
        })
    }

    async fn decide(&self, rest: &str, verdict: Verdict) -> Result<String, ToolError> {
        if !self.caller.is_owner() {
            let message = "only the owner answers what waits for the owner";
            return Err(ToolError::new(ErrorCode::Forbidden, message));
        }
        if rest.is_empty() || rest.contains(char::is_whitespace) {
            let error = ToolError::new(
                ErrorCode::InvalidArguments,
                "name one approval by its id, so that what runs is what you saw",
            );
            return Err(match self.minds.question(self.key) {
                Some((approval, tool)) => error.hint(format!("{tool} waits here as {approval}")),
                None => error.hint("`manyhands approvals list` shows what waits"),
            });
        }
        let house = &self.minds.inner.house;
        house.decide(self.caller, rest, verdict).await
    }
}

fn help() -> String {
    let line = |command: Command| {
        format!(
            "/{}{} - {}",
            command.word(),
            command.usage(),
            command.summary()
        )
    };
    let mut lines: Vec<String> = Command::ALL.into_iter().map(line).collect();
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
    fn an_unknown_word_names_its_nearest() {
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
        assert_eq!(unknown("xyzzy").message, "there is no command /xyzzy");
    }

    #[test]
    fn help_lists_every_command() {
        let help = help();
        for command in Command::ALL {
            assert!(help.contains(&format!("/{}", command.word())), "{help}");
        }
    }

    #[test]
    fn money_is_shown_in_dollars() {
        assert_eq!(dollars(0), "$0.000000");
        assert_eq!(dollars(1_234_567), "$1.234567");
    }
}
