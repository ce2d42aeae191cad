//! `chat`: sends one message, or runs an interactive chat.

mod approval;
mod assist;
mod calls;
mod changes;
mod files;
mod interactive;
mod screen;
mod setup;
mod status;
mod turn;
mod view;

use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use manyhands_core::AgentId;
use serde_json::{Value, json};

use self::approval::PendingApproval;
use self::screen::{Mode, Screen};
use self::setup::Setup;
use self::turn::{OutgoingMessage, TurnOutcome};
use crate::args::Chat;
use crate::context::CliContext;
use manyhands_terminal::output::{self, Done, Failure};

pub use self::setup::ADVICE;

/// Maximum size of standard input.
const MAX_INPUT: u64 = 4 * 1024 * 1024;

/// Sends one message, or starts an interactive chat.
pub async fn run(chat: Chat, ctx: &CliContext) -> Done {
    let message = message(chat.message.as_deref())?;
    if message.is_none() && chat.json {
        return Err(Failure("--json needs a message".to_owned()));
    }
    if message.is_none() && !std::io::stdout().is_terminal() {
        return Err(Failure(
            "an interactive chat needs a terminal\nhint: manyhands chat \"MESSAGE\"".to_owned(),
        ));
    }
    let session = ChatSession::new(&chat, ctx);
    // Slash commands are answered by the gateway and need no model.
    if !message.as_deref().is_some_and(is_command)
        && setup::check(&ctx.remote()?).await == Setup::NoProvider
    {
        return Err(Failure(format!("no model is configured\n{ADVICE}")));
    }
    match message {
        Some(message) if chat.json => session.once(&message, Mode::Silent).await,
        Some(message) => session.once(&message, Mode::OneShot).await,
        None => interactive::run(&session).await,
    }
}

/// Combines the argument with piped input.
fn message(argument: Option<&str>) -> Result<Option<String>, Failure> {
    let input = std::io::stdin();
    let mut piped = String::new();
    if !input.is_terminal() {
        input
            .lock()
            // One byte more than allowed, to tell an input of exactly the limit from a longer one.
            .take(MAX_INPUT + 1)
            .read_to_string(&mut piped)?;
        if piped.len() as u64 > MAX_INPUT {
            return Err(Failure(format!(
                "standard input is larger than {} MiB\nhint: save it to a file and mention its path",
                MAX_INPUT / (1024 * 1024)
            )));
        }
    }
    // The question first, then the material, as in `git diff | manyhands chat "review this"`.
    let parts = [argument.unwrap_or_default(), piped.trim_end()];
    let parts: Vec<&str> = parts
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect();
    match parts.is_empty() {
        false => Ok(Some(parts.join("\n\n"))),
        true if argument.is_some() || !input.is_terminal() => Err(Failure(
            "no message given\nhint: manyhands chat \"MESSAGE\", or pipe one in".to_owned(),
        )),
        true => Ok(None),
    }
}

/// A session and the directives for each message.
pub struct ChatSession<'a> {
    ctx: &'a CliContext,
    session: String,
    agent: AgentId,
    directives: String,
}

impl<'a> ChatSession<'a> {
    fn new(chat: &Chat, ctx: &'a CliContext) -> Self {
        let mut directives = String::new();
        if let Some(level) = &chat.think {
            directives.push_str(&format!("/t:{level} "));
        }
        if let Some(model) = &chat.model {
            directives.push_str(&format!("/m:{model} "));
        }
        Self {
            ctx,
            session: key(&chat.agent, &chat.session),
            agent: agent_of(&chat.session).unwrap_or_else(|| chat.agent.clone()),
            directives,
        }
    }

    fn outgoing(&self, message: &str) -> OutgoingMessage {
        let message = match is_command(message) {
            // Directives before a slash command would turn it into a plain message.
            true => message.to_owned(),
            false => format!("{}{message}", self.directives),
        };
        OutgoingMessage {
            session: self.session.clone(),
            run: self.ctx.ids.next::<uuid::Uuid>().to_string(),
            message,
        }
    }

    /// Sends one message and prints the reply.
    async fn once(&self, message: &str, mode: Mode) -> Done {
        let mut screen = Screen::new(mode);
        let outgoing = self.outgoing(message);
        let end = turn::follow(&outgoing, self.ctx, &mut screen, "Working").await;
        if mode == Mode::Silent {
            return Ok(print(&self.session, &outgoing.run, &end));
        }
        match end? {
            TurnOutcome::Reply { .. } => Ok(ExitCode::SUCCESS),
            TurnOutcome::Command { response, error } => match error {
                None => {
                    output::print_line(response);
                    Ok(ExitCode::SUCCESS)
                }
                Some(error) => Err(Failure(error)),
            },
            TurnOutcome::Failed { error, .. } => Err(Failure(self.explained(error).await)),
            TurnOutcome::NeedsApproval(asked) => Err(Failure(approval_hint(&self.session, &asked))),
            TurnOutcome::Detached => Err(Failure(detached_hint(&self.session))),
        }
    }

    /// Adds advice to a turn's error if no default model is set.
    async fn explained(&self, error: String) -> String {
        let Ok(remote) = self.ctx.remote() else {
            return error;
        };
        match error.contains("no model is configured") && setup::check(&remote).await != Setup::Fine
        {
            true => format!("{error}\n{ADVICE}"),
            false => error,
        }
    }
}

/// Prints the outcome as one JSON object.
fn print(session: &str, run: &str, end: &Result<TurnOutcome, Failure>) -> ExitCode {
    let mut outcome = json!({ "ok": false, "sessionKey": session, "runId": run });
    let mut set = |name: &str, value: Value| outcome[name] = value;
    let mut code = ExitCode::FAILURE;
    match end {
        Ok(TurnOutcome::Reply { text, stop, usage }) => {
            set("ok", json!(true));
            set("text", json!(text));
            set("stopReason", json!(stop));
            set("usage", json!(usage));
            code = ExitCode::SUCCESS;
        }
        Ok(TurnOutcome::Command {
            response,
            error: None,
        }) => {
            set("ok", json!(true));
            set("text", json!(response));
            code = ExitCode::SUCCESS;
        }
        Ok(TurnOutcome::Command {
            error: Some(error), ..
        }) => set("error", json!(error)),
        Ok(TurnOutcome::Failed {
            error,
            stopped,
            sort,
        }) => {
            set("error", json!(error));
            set("stopped", json!(stopped));
            set("code", json!(sort.code));
            set("failure", json!(sort.failure));
            set("retryAfterMs", json!(sort.retry_after_ms));
        }
        Ok(TurnOutcome::NeedsApproval(asked)) => {
            set("error", json!(approval_hint(session, asked)));
            set("code", json!("approval_required"));
            set("approvalId", json!(asked.approval));
            set("tool", json!(asked.tool));
            set("arguments", asked.arguments.clone());
        }
        Ok(TurnOutcome::Detached) => set("error", json!(detached_hint(session))),
        Err(failure) => set("error", json!(failure.0)),
    }
    output::json(&outcome);
    code
}

/// Explains how to answer a turn that needs approval.
fn approval_hint(session: &str, asked: &PendingApproval) -> String {
    format!(
        "{} needs your approval; it will run with exactly this: {}\nhint: `manyhands approvals approve {id}` allows it, `manyhands approvals deny {id}` denies it; the turn then continues, and `manyhands sessions show {session}` shows the reply",
        asked.tool,
        asked.arguments,
        id = asked.approval,
    )
}

fn detached_hint(session: &str) -> String {
    format!(
        "left before the reply\nhint: the turn continues unless it was stopped; `manyhands sessions show {session}` shows the reply"
    )
}

/// Session key as the gateway expects it.
pub fn key(agent: &AgentId, text: &str) -> String {
    match *agent == AgentId::main() || text.starts_with("agent:") {
        true => text.to_owned(),
        false => format!("agent:{agent}:{text}"),
    }
}

/// The agent that a complete session key names.
fn agent_of(key: &str) -> Option<AgentId> {
    key.strip_prefix("agent:")?.split(':').next()?.parse().ok()
}

fn is_command(message: &str) -> bool {
    message.trim_start().starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_named_by_agent_and_key() {
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
    fn a_paused_turn_names_its_approval_and_the_command() {
        let asked = PendingApproval {
            approval: "0192-a".to_owned(),
            tool: "bash".to_owned(),
            arguments: json!({ "cmd": "rm -rf x" }),
            details: Value::Null,
        };
        let words = approval_hint("main", &asked);
        assert!(words.starts_with(
            "bash needs your approval; it will run with exactly this: {\"cmd\":\"rm -rf x\"}\n"
        ));
        assert!(words.contains("`manyhands approvals approve 0192-a`"));
        assert!(words.contains("`manyhands approvals deny 0192-a`"));
    }
}
