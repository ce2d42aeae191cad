//! The interactive chat.

use std::collections::BTreeSet;
use std::process::ExitCode;

use manyhands_core::ErrorCode;
use serde_json::Value;

use super::assist::{OWN_COMMANDS, assist};
use super::screen::{Mode, Screen};
use super::status::SessionStatus;
use super::turn::{self, TurnOutcome};
use super::{ChatSession, detached_hint, files, is_command};
use crate::commands::call::segment;
use crate::remote::text;
use manyhands_terminal::editor::{Editor, PromptInput};
use manyhands_terminal::output::{self, Done, Failure};

/// Name of the history file in the home.
const HISTORY: &str = "chat-history";
const PROMPT: &str = "> ";
const KEYS: &str =
    "/help lists commands, Tab completes them and @files, Ctrl-C stops a reply, Ctrl-D quits";

/// What the user typed.
#[derive(Debug, PartialEq, Eq)]
enum ChatInput<'a> {
    Nothing,
    Leave,
    Show(Option<usize>),
    Say(&'a str),
}

fn parse_input(line: &str) -> ChatInput<'_> {
    let line = line.trim();
    let mut words = line.split_whitespace();
    match (words.next(), words.next()) {
        (None, _) => ChatInput::Nothing,
        (Some("/quit" | "/exit"), None) => ChatInput::Leave,
        (Some("/show"), number) => ChatInput::Show(number.and_then(|number| number.parse().ok())),
        _ => ChatInput::Say(line),
    }
}

/// Runs until the user leaves.
pub async fn run(session: &ChatSession<'_>) -> Done {
    let remote = session.ctx.remote()?;
    let listed = remote.get("/api/models").await.unwrap_or_default();
    let default = listed["default"].as_str();
    let helper = assist(
        models(&listed),
        &session.ctx.here()?,
        session.ctx.user_folder().ok(),
    );
    let mut editor = Editor::new(session.ctx.home.join(HISTORY), Box::new(helper))?;
    let mut screen = Screen::new(Mode::Interactive);
    let mut status = SessionStatus::read(&remote, &session.session, &session.agent, default).await;
    output::print_dimmed(&status.greeting(&session.session));
    output::print_dimmed(KEYS);
    let (mut leaving, mut sent) = (false, false);
    loop {
        let text = match editor.read(PROMPT).await? {
            PromptInput::Eof => return Ok(ExitCode::SUCCESS),
            PromptInput::Interrupted if leaving => return Ok(ExitCode::SUCCESS),
            PromptInput::Interrupted => {
                leaving = true;
                output::print_dimmed("press Ctrl-C again, Ctrl-D or type /quit to leave");
                continue;
            }
            PromptInput::Text(text) => text,
        };
        leaving = false;
        match parse_input(&text) {
            ChatInput::Nothing => {}
            ChatInput::Leave => return Ok(ExitCode::SUCCESS),
            ChatInput::Show(number) => match number.and_then(|number| screen.show(number)) {
                Some(call) => output::print_line(call),
                None => {
                    output::print_note("error: use /show NUMBER with the number of a tool call")
                }
            },
            ChatInput::Say(message) => {
                // Only after the first message: a new session does not exist on the gateway either.
                if sent && is_deleted(session).await {
                    output::print_dimmed("the session was deleted meanwhile; starting a new one");
                }
                sent |= say(session, message, &mut screen, &mut status, default).await;
            }
        }
    }
}

/// Returns whether the session was deleted.
async fn is_deleted(session: &ChatSession<'_>) -> bool {
    let Ok(remote) = session.ctx.remote() else {
        return false;
    };
    let path = format!("/api/sessions/{}", segment(&session.session));
    remote.get_envelope(&path).await.code == Some(ErrorCode::NotFound)
}

/// Models that can be completed: those that are used, and those that their providers offer.
fn models(listed: &Value) -> Vec<String> {
    let mut models = BTreeSet::new();
    for provider in each(&listed["providers"]) {
        models.extend(each(&provider["configured"]).map(text));
        let name = text(&provider["provider"]);
        let offered =
            each(&provider["offered"]).map(|one| format!("{name}/{}", text(&one["model"])));
        models.extend(offered);
    }
    models.into_iter().collect()
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Adds the files that a message mentions; `None` if one cannot be attached.
async fn with_files(session: &ChatSession<'_>, message: &str) -> Option<String> {
    let (ctx, mut all) = (session.ctx, message.to_owned());
    let here = ctx.here().ok()?;
    for mention in files::mentions(message, &here, ctx.user_folder().ok().as_deref()) {
        let remote = ctx.remote();
        let attached = match &remote {
            Ok(remote) => files::attach(&mention, &session.agent, remote).await,
            Err(failure) => Err(Failure(failure.0.clone())),
        };
        match attached {
            Ok(attachment) => {
                output::print_dimmed(&attachment.note);
                all.push_str("\n\n");
                all.push_str(&attachment.text);
            }
            Err(failure) => {
                output::print_note(format!("error: {}", failure.0));
                return None;
            }
        }
    }
    Some(all)
}

/// Sends a message and prints its outcome; errors do not end the chat. Returns whether it was certainly received.
async fn say(
    session: &ChatSession<'_>,
    message: &str,
    screen: &mut Screen,
    status: &mut SessionStatus,
    default: Option<&str>,
) -> bool {
    let with_files = match is_command(message) {
        true => Some(message.to_owned()),
        false => with_files(session, message).await,
    };
    let Some(whole) = with_files else {
        return false;
    };
    let outgoing = session.outgoing(&whole);
    let end = turn::follow(&outgoing, session.ctx, screen, &status.about()).await;
    let said = matches!(end, Ok(ref end) if !matches!(end, TurnOutcome::Command { .. }));
    if end.is_ok()
        && let Ok(remote) = session.ctx.remote()
    {
        // The turn may have changed the model, and it has changed the cost.
        *status = SessionStatus::read(&remote, &session.session, &session.agent, default).await;
    }
    match end {
        Ok(TurnOutcome::Reply { usage, .. }) => {
            output::print_dimmed(&status.line(usage.as_ref()));
        }
        Ok(TurnOutcome::Command {
            response,
            error: None,
        }) => {
            output::print_line(response);
            if message.trim() == "/help" {
                output::print_line(own_help());
            }
        }
        Ok(TurnOutcome::Command {
            error: Some(error), ..
        }) => output::print_note(format!("error: {error}")),
        Ok(TurnOutcome::Failed { stopped: true, .. }) => output::print_dimmed("stopped"),
        Ok(TurnOutcome::Failed { error, .. }) => {
            output::print_note(format!("error: {}", session.explained(error).await));
        }
        Ok(TurnOutcome::NeedsApproval(asked)) => {
            output::print_note(super::approval_hint(&session.session, &asked))
        }
        Ok(TurnOutcome::Detached) => output::print_dimmed(&detached_hint(&session.session)),
        Err(failure) => output::print_note(format!("error: {}", failure.0)),
    }
    // Separates the reply from the next message.
    output::print_line("");
    said
}

/// What this program adds to the commands of the gateway.
fn own_help() -> String {
    let mut lines = vec!["\nIn this terminal:".to_owned()];
    for (word, usage, summary) in OWN_COMMANDS {
        lines.push(format!("/{word}{usage} - {summary}"));
    }
    lines.extend(
        [
            "@path - attach a file; Tab completes its name",
            "\\ at the end of a line - continue on the next line",
            "Up, Down, Ctrl-R - earlier messages, also of other conversations",
        ]
        .map(str::to_owned),
    );
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_slash_commands_are_sent_unchanged() {
        for (line, expect) in [
            ("", ChatInput::Nothing),
            ("  ", ChatInput::Nothing),
            ("/quit", ChatInput::Leave),
            (" /exit ", ChatInput::Leave),
            ("/quit smoking?", ChatInput::Say("/quit smoking?")),
            ("/show 3", ChatInput::Show(Some(3))),
            ("/show", ChatInput::Show(None)),
            ("/show x", ChatInput::Show(None)),
            ("/approve 1", ChatInput::Say("/approve 1")),
            ("/help", ChatInput::Say("/help")),
            ("hello\nthere", ChatInput::Say("hello\nthere")),
        ] {
            assert_eq!(parse_input(line), expect, "{line:?}");
        }
    }
}
