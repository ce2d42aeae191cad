//! `chat`: one message and its answer, or a conversation at the terminal.

mod screen;
mod setup;
mod talk;
mod turn;

use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use manyhands_core::AgentId;
use serde_json::{Value, json};

use self::screen::{Mode, Screen};
use self::setup::Setup;
use self::turn::{Asked, End, Saying};
use crate::args::Chat;
use crate::ground::Ground;
use crate::output::{self, Done, Failure};

pub use self::setup::ADVICE;

/// The most that is taken from standard input.
const MAX_INPUT: u64 = 4 * 1024 * 1024;

/// Says one thing, or begins a conversation.
pub async fn run(chat: Chat, ground: &Ground) -> Done {
    let message = message(chat.message.as_deref())?;
    if message.is_none() && chat.json {
        return Err(Failure("--json needs a message".to_owned()));
    }
    if message.is_none() && !std::io::stdout().is_terminal() {
        return Err(Failure(
            "a conversation needs a terminal\nhint: manyhands chat \"MESSAGE\"".to_owned(),
        ));
    }
    let talk = Talk::new(&chat, ground);
    if !message.as_deref().is_some_and(is_command)
        && setup::look(&ground.remote()?).await == Setup::NoProvider
    {
        return Err(Failure(format!("no model is configured\n{ADVICE}")));
    }
    match message {
        Some(message) if chat.json => talk.once(&message, Mode::Silent).await,
        Some(message) => talk.once(&message, Mode::OneShot).await,
        None => talk::run(&talk).await,
    }
}

/// What is to be said: the argument, and what is piped in after it.
fn message(argument: Option<&str>) -> Result<Option<String>, Failure> {
    let input = std::io::stdin();
    let mut piped = String::new();
    if !input.is_terminal() {
        input
            .lock()
            .take(MAX_INPUT + 1)
            .read_to_string(&mut piped)?;
        if piped.len() as u64 > MAX_INPUT {
            return Err(Failure(format!(
                "standard input holds more than {} MiB\nhint: put it into a file and name that",
                MAX_INPUT / (1024 * 1024)
            )));
        }
    }
    let parts = [argument.unwrap_or_default(), piped.trim_end()];
    let parts: Vec<&str> = parts
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect();
    match parts.is_empty() {
        false => Ok(Some(parts.join("\n\n"))),
        true if argument.is_some() || !input.is_terminal() => Err(Failure(
            "there is nothing to say\nhint: manyhands chat \"MESSAGE\", or pipe something in"
                .to_owned(),
        )),
        true => Ok(None),
    }
}

/// Who is talked to, and how.
pub struct Talk<'a> {
    ground: &'a Ground,
    session: String,
    directives: String,
}

impl<'a> Talk<'a> {
    fn new(chat: &Chat, ground: &'a Ground) -> Self {
        let mut directives = String::new();
        if let Some(level) = &chat.think {
            directives.push_str(&format!("/t:{level} "));
        }
        if let Some(model) = &chat.model {
            directives.push_str(&format!("/m:{model} "));
        }
        Self {
            ground,
            session: key(&chat.agent, &chat.session),
            directives,
        }
    }

    fn saying(&self, message: &str) -> Saying {
        let message = match is_command(message) {
            true => message.to_owned(),
            false => format!("{}{message}", self.directives),
        };
        Saying {
            session: self.session.clone(),
            run: self.ground.ids.next::<uuid::Uuid>().to_string(),
            message,
        }
    }

    /// One message and its answer.
    async fn once(&self, message: &str, mode: Mode) -> Done {
        let mut screen = Screen::new(mode);
        let saying = self.saying(message);
        let end = turn::follow(&saying, self.ground, &mut screen).await;
        if mode == Mode::Silent {
            return Ok(print(&self.session, &saying.run, &end));
        }
        match end? {
            End::Answer { .. } => Ok(ExitCode::SUCCESS),
            End::Command { response, error } => match error {
                None => {
                    output::say(response);
                    Ok(ExitCode::SUCCESS)
                }
                Some(error) => Err(Failure(error)),
            },
            End::Failed { error, .. } => Err(Failure(self.explained(error).await)),
            End::Waits(asked) => Err(Failure(waits(&self.session, &asked))),
            End::Left => Err(Failure(left(&self.session))),
        }
    }

    /// An error of a turn, with advice where no model is the default.
    async fn explained(&self, error: String) -> String {
        let Ok(remote) = self.ground.remote() else {
            return error;
        };
        match error.contains("no model is set") && setup::look(&remote).await != Setup::Fine {
            true => format!("{error}\n{ADVICE}"),
            false => error,
        }
    }
}

/// How it ended, as one JSON object.
fn print(session: &str, run: &str, end: &Result<End, Failure>) -> ExitCode {
    let mut told = json!({ "ok": false, "sessionKey": session, "runId": run });
    let mut say = |name: &str, value: Value| told[name] = value;
    let mut code = ExitCode::FAILURE;
    match end {
        Ok(End::Answer { text, stop, usage }) => {
            say("ok", json!(true));
            say("text", json!(text));
            say("stopReason", json!(stop));
            say("usage", json!(usage));
            code = ExitCode::SUCCESS;
        }
        Ok(End::Command {
            response,
            error: None,
        }) => {
            say("ok", json!(true));
            say("text", json!(response));
            code = ExitCode::SUCCESS;
        }
        Ok(End::Command {
            error: Some(error), ..
        }) => say("error", json!(error)),
        Ok(End::Failed {
            error,
            stopped,
            sort,
        }) => {
            say("error", json!(error));
            say("stopped", json!(stopped));
            say("code", json!(sort.code));
            say("failure", json!(sort.failure));
            say("retryAfterMs", json!(sort.retry_after_ms));
        }
        Ok(End::Waits(asked)) => {
            say("error", json!(waits(session, asked)));
            say("code", json!("approval_required"));
            say("approvalId", json!(asked.approval));
            say("tool", json!(asked.tool));
            say("arguments", asked.arguments.clone());
        }
        Ok(End::Left) => say("error", json!(left(session))),
        Err(failure) => say("error", json!(failure.0)),
    }
    output::json(&told);
    code
}

/// What to do about a turn that waits for the owner.
fn waits(session: &str, asked: &Asked) -> String {
    format!(
        "{} needs your approval; it will run with exactly this: {}\nhint: `manyhands approvals approve {id}` allows it, `manyhands approvals deny {id}` does not; the turn goes on by itself, and `manyhands sessions show {session}` has its answer",
        asked.tool,
        asked.arguments,
        id = asked.approval,
    )
}

fn left(session: &str) -> String {
    format!(
        "left before the answer\nhint: the turn goes on unless it was stopped; `manyhands sessions show {session}` has its answer"
    )
}

/// The key of a session, as the gateway takes it.
pub fn key(agent: &AgentId, text: &str) -> String {
    match *agent == AgentId::main() || text.starts_with("agent:") {
        true => text.to_owned(),
        false => format!("agent:{agent}:{text}"),
    }
}

fn is_command(message: &str) -> bool {
    message.trim_start().starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_session_is_named_by_both() {
        let helper: AgentId = "helper".parse().expect("a name");
        for (agent, text, expect) in [
            (AgentId::main(), "main", "main"),
            (AgentId::main(), "agent:x:y", "agent:x:y"),
            (helper.clone(), "main", "agent:helper:main"),
            (helper, "agent:x:y", "agent:x:y"),
        ] {
            assert_eq!(key(&agent, text), expect);
        }
    }

    #[test]
    fn a_turn_that_waits_says_what_for_and_how_to_answer() {
        let asked = Asked {
            approval: "0192-a".to_owned(),
            tool: "bash".to_owned(),
            arguments: json!({ "cmd": "rm -rf x" }),
        };
        let words = waits("main", &asked);
        assert!(words.starts_with(
            "bash needs your approval; it will run with exactly this: {\"cmd\":\"rm -rf x\"}\n"
        ));
        assert!(words.contains("`manyhands approvals approve 0192-a`"));
        assert!(words.contains("`manyhands approvals deny 0192-a`"));
    }
}
