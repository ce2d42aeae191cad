//! A provider that replays a file of turns, for demonstrations and tests. No model is asked, and
//! everything that comes from it says so.
//!
//! ```yaml
//! models: [demo]
//! turns:
//!   - text: Good morning.                  # turns without `when` come in order
//!   - when: { user: weather }              # the user spoke last and said this
//!     thinking: hm
//!     deltas: [Let me, " look."]           # the text in pieces
//!     between_ms: 40
//!     calls: [{ name: weather, arguments: { city: Oslo } }]
//!     usage: { input: 120, output: 9 }
//!   - when: { result_of: weather }         # a result of this tool came last
//!     text: It is sunny.
//!   - when: { user: busy }
//!     times: 1
//!     error: { kind: rate_limited, retry_after_seconds: 1 }
//! ```

mod file;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use self::file::{ScriptFile, Turn};
use crate::draft::{Draft, On};
use crate::error::{ErrorKind, Fault};
use crate::message::{Block, Message};
use crate::reply::Usage;
use crate::request::Request;

/// How many conversations are told apart.
const MANY: usize = 1_024;

/// A file of turns and how far it has been read.
pub(crate) struct Script {
    turns: Vec<Turn>,
    pub(crate) models: Vec<String>,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// How often each turn was used.
    used: Vec<u32>,
    /// For each conversation, the next turn of those that come in order.
    places: VecDeque<(String, usize)>,
}

impl Script {
    /// Reads the file at `path`.
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let text = file::read(path).map_err(|error| format!("script {name}: {error}"))?;
        Self::parse(&text).map_err(|error| format!("script {name}: {error}"))
    }

    /// Reads the turns in `yaml`.
    pub(crate) fn parse(yaml: &str) -> Result<Self, String> {
        let file = ScriptFile::parse(yaml)?;
        Ok(Self {
            progress: Mutex::new(Progress {
                used: vec![0; file.turns.len()],
                places: VecDeque::new(),
            }),
            turns: file.turns,
            models: file.models,
        })
    }

    /// Plays the turn that answers `request`.
    pub(crate) async fn play(
        &self,
        request: &Request,
        draft: &mut Draft,
        on: On<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), Fault> {
        let turn = self.next(request)?;
        wait(turn.delay_ms, cancel).await?;
        if let Some(error) = turn.error.as_ref().filter(|error| !error.after_text) {
            return Err(error.fault());
        }
        draft.begun = true;
        if let Some(thought) = &turn.thinking {
            draft.thinking(0, thought, on);
        }
        for (at, text) in turn.texts().enumerate() {
            if at > 0 {
                wait(turn.between_ms, cancel).await?;
            }
            draft.text(1, text, on);
        }
        if let Some(error) = &turn.error {
            return Err(error.fault());
        }
        for (key, call) in (2_u64..).zip(&turn.calls) {
            draft.call(key, call.id(key, request), call.name.clone(), on);
            draft.arguments(key, &call.json(), on)?;
        }
        let words = |bytes: usize| bytes.div_ceil(4) as u64;
        draft.usage = turn.usage.unwrap_or_else(|| Usage {
            input: crate::estimate::input_tokens(request),
            output: words(turn.texts().map(str::len).sum()).max(1),
            ..Usage::default()
        });
        draft.stop = turn.stop;
        draft.ended = true;
        Ok(())
    }

    /// The first turn made for what was said last, or else the next of those that come in order.
    fn next(&self, request: &Request) -> Result<&Turn, Fault> {
        let progress = self.progress.lock();
        let mut progress = progress.unwrap_or_else(PoisonError::into_inner);
        let last = Last::of(request);
        let fits = |(at, turn): &(usize, &Turn)| {
            let left = turn.times.is_none_or(|times| progress.used[*at] < times);
            left && turn.when.as_ref().is_some_and(|when| when.fits(&last))
        };
        if let Some((at, turn)) = self.turns.iter().enumerate().find(fits) {
            progress.used[at] += 1;
            return Ok(turn);
        }
        let ordered: Vec<&Turn> = self
            .turns
            .iter()
            .filter(|turn| turn.when.is_none())
            .collect();
        let place = progress.place(request);
        let turn = ordered.get(*place).copied();
        *place += 1;
        turn.ok_or_else(|| {
            let what = last.text.chars().take(80).collect::<String>();
            Fault::new(
                ErrorKind::BadRequest,
                format!("the script has no turn left for {what:?}; add one to its file"),
            )
        })
    }
}

impl Progress {
    /// Where the conversation of `request` stands. One that is met for the first time, as after a
    /// restart, stands after as many turns as it holds replies.
    fn place(&mut self, request: &Request) -> &mut usize {
        let key = request.account.session.clone().unwrap_or_default();
        let known = self.places.iter().position(|(known, _)| *known == key);
        let at = known.unwrap_or_else(|| {
            let said = request.messages.iter();
            let said = said.filter(|message| matches!(message, Message::Assistant { .. }));
            let place = said.count();
            if self.places.len() == MANY {
                self.places.pop_front();
            }
            self.places.push_back((key, place));
            self.places.len() - 1
        });
        &mut self.places[at].1
    }
}

/// What was said last.
pub(super) struct Last {
    /// The user's last text.
    text: String,
    /// The tools whose results came last; empty when the user spoke last.
    results_of: Vec<String>,
}

impl Last {
    fn of(request: &Request) -> Self {
        let mut messages = request.messages.iter().rev();
        let results_of = match request.messages.last() {
            Some(Message::Tool { results }) => results.iter().map(|r| r.name.clone()).collect(),
            _ => Vec::new(),
        };
        let text = messages.find_map(|message| match message {
            Message::User { content } => Some(content.iter().filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                Block::Image { .. } => None,
            })),
            _ => None,
        });
        Self {
            text: text.map_or_else(String::new, |texts| texts.collect::<Vec<_>>().join("\n")),
            results_of,
        }
    }
}

async fn wait(millis: u64, cancel: &CancellationToken) -> Result<(), Fault> {
    if cancel.is_cancelled() {
        return Err(Fault::cancelled());
    }
    if millis == 0 {
        return Ok(());
    }
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Fault::cancelled()),
        () = tokio::time::sleep(Duration::from_millis(millis)) => Ok(()),
    }
}
