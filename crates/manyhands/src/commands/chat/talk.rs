//! A conversation at the terminal.

use std::process::ExitCode;

use manyhands_core::ErrorCode;

use super::screen::{Mode, Screen};
use super::turn::{self, End};
use super::{Talk, left};
use crate::commands::call::segment;
use crate::editor::{Editor, Line};
use crate::output::{self, Done};

/// The file of what was written before, in the home.
const HISTORY: &str = "chat-history";
const PROMPT: &str = "> ";

/// What a person wants.
#[derive(Debug, PartialEq, Eq)]
enum Wish<'a> {
    Nothing,
    Leave,
    Show(Option<usize>),
    Say(&'a str),
}

fn wish(line: &str) -> Wish<'_> {
    let line = line.trim();
    let mut words = line.split_whitespace();
    match (words.next(), words.next()) {
        (None, _) => Wish::Nothing,
        (Some("/quit" | "/exit"), None) => Wish::Leave,
        (Some("/show"), number) => Wish::Show(number.and_then(|number| number.parse().ok())),
        _ => Wish::Say(line),
    }
}

/// Talks until the person leaves.
pub async fn run(talk: &Talk<'_>) -> Done {
    let mut editor = Editor::new(talk.ground.home.join(HISTORY))?;
    let mut screen = Screen::new(Mode::Talk);
    output::aside(&format!(
        "talking in {}; /help lists commands, \\ at the end of a line goes on, Ctrl-C stops a reply, Ctrl-D leaves",
        talk.session
    ));
    let (mut leaving, mut begun) = (false, false);
    loop {
        let text = match editor.read(PROMPT).await? {
            Line::End => return Ok(ExitCode::SUCCESS),
            Line::Interrupted if leaving => return Ok(ExitCode::SUCCESS),
            Line::Interrupted => {
                leaving = true;
                output::aside("Ctrl-C again, Ctrl-D or /quit leaves");
                continue;
            }
            Line::Text(text) => text,
        };
        leaving = false;
        match wish(&text) {
            Wish::Nothing => {}
            Wish::Leave => return Ok(ExitCode::SUCCESS),
            Wish::Show(number) => match number.and_then(|number| screen.show(number)) {
                Some(call) => output::say(call),
                None => output::remark(
                    "error: /show NUMBER shows a call in full; the number stands before it",
                ),
            },
            Wish::Say(message) => {
                if begun && is_deleted(talk).await {
                    output::aside("the conversation was deleted meanwhile; this begins a new one");
                }
                begun |= say(talk, message, &mut screen).await;
            }
        }
    }
}

/// Whether somebody deleted the conversation.
async fn is_deleted(talk: &Talk<'_>) -> bool {
    let Ok(remote) = talk.ground.remote() else {
        return false;
    };
    let path = format!("/api/sessions/{}", segment(&talk.session));
    remote.look(&path).await.code == Some(ErrorCode::NotFound)
}

/// Says one thing; whatever comes of it, the conversation goes on. Whether it was said for sure.
async fn say(talk: &Talk<'_>, message: &str, screen: &mut Screen) -> bool {
    let saying = talk.saying(message);
    let end = turn::follow(&saying, talk.ground, screen).await;
    let said = matches!(end, Ok(ref end) if !matches!(end, End::Command { .. }));
    match end {
        Ok(End::Answer { .. }) => {}
        Ok(End::Command {
            response,
            error: None,
        }) => output::say(response),
        Ok(End::Command {
            error: Some(error), ..
        }) => output::remark(format!("error: {error}")),
        Ok(End::Failed { stopped: true, .. }) => output::aside("stopped"),
        Ok(End::Failed { error, .. }) => {
            output::remark(format!("error: {}", talk.explained(error).await));
        }
        Ok(End::Waits(asked)) => output::remark(super::waits(&talk.session, &asked)),
        Ok(End::Left) => output::aside(&left(&talk.session)),
        Err(failure) => output::remark(format!("error: {}", failure.0)),
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_for_us_is_sent_as_it_is() {
        for (line, expect) in [
            ("", Wish::Nothing),
            ("  ", Wish::Nothing),
            ("/quit", Wish::Leave),
            (" /exit ", Wish::Leave),
            ("/quit smoking?", Wish::Say("/quit smoking?")),
            ("/show 3", Wish::Show(Some(3))),
            ("/show", Wish::Show(None)),
            ("/show x", Wish::Show(None)),
            ("/approve 1", Wish::Say("/approve 1")),
            ("/help", Wish::Say("/help")),
            ("hello\nthere", Wish::Say("hello\nthere")),
        ] {
            assert_eq!(wish(line), expect, "{line:?}");
        }
    }
}
