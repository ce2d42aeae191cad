//! The interactive chat.

use std::process::ExitCode;

use manyhands_core::ErrorCode;

use super::screen::{Mode, Screen};
use super::turn::{self, TurnOutcome};
use super::{ChatSession, detached_hint};
use crate::commands::call::segment;
use manyhands_terminal::editor::{Editor, PromptInput};
use manyhands_terminal::output::{self, Done};

/// Name of the history file in the home.
const HISTORY: &str = "chat-history";
const PROMPT: &str = "> ";

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
    let mut editor = Editor::new(session.ctx.home.join(HISTORY))?;
    let mut screen = Screen::new(Mode::Interactive);
    output::print_dimmed(&format!(
        "session {}; /help lists commands, a trailing \\ continues the line, Ctrl-C stops a reply, Ctrl-D quits",
        session.session
    ));
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
                sent |= say(session, message, &mut screen).await;
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

/// Sends a message and prints its outcome; errors do not end the chat. Returns whether it was certainly received.
async fn say(session: &ChatSession<'_>, message: &str, screen: &mut Screen) -> bool {
    let outgoing = session.outgoing(message);
    let end = turn::follow(&outgoing, session.ctx, screen).await;
    let said = matches!(end, Ok(ref end) if !matches!(end, TurnOutcome::Command { .. }));
    match end {
        Ok(TurnOutcome::Reply { .. }) => {}
        Ok(TurnOutcome::Command {
            response,
            error: None,
        }) => output::print_line(response),
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
    said
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
