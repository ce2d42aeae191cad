//! A provider that replays a file, for demonstrations and tests. No model is involved, and all its
//! replies say so.
//!
//! ```yaml
//! models: [demo]
//! title: A chat                            # of conversations; without it they get none
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

use self::file::{ScriptFile, ScriptedTurn};
use crate::draft::{On, ReplyDraft};
use crate::error::{ErrorKind, Fault};
use crate::message::{Block, Message};
use crate::request::{ModelRequest, Purpose};
use crate::usage::Usage;

/// Number of conversations tracked.
const MANY: usize = 1_024;

/// A script and its playback state.
pub(crate) struct Script {
    turns: Vec<ScriptedTurn>,
    title: Option<String>,
    pub(crate) models: Vec<String>,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// How often each turn was played.
    used: Vec<u32>,
    /// Per conversation, the next of the turns played in order.
    positions: VecDeque<(String, usize)>,
}

impl Script {
    /// Loads the file at `path`.
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let text = file::read(path).map_err(|error| format!("script {name}: {error}"))?;
        Self::parse(&text).map_err(|error| format!("script {name}: {error}"))
    }

    /// Parses the turns in `yaml`.
    pub(crate) fn parse(yaml: &str) -> Result<Self, String> {
        let file = ScriptFile::parse(yaml)?;
        Ok(Self {
            progress: Mutex::new(Progress {
                used: vec![0; file.turns.len()],
                positions: VecDeque::new(),
            }),
            turns: file.turns,
            title: file.title,
            models: file.models,
        })
    }

    /// Whether it has a title for conversations.
    pub(crate) fn has_title(&self) -> bool {
        self.title.is_some()
    }

    /// Plays the turn that answers `request`.
    pub(crate) async fn play(
        &self,
        request: &ModelRequest,
        draft: &mut ReplyDraft,
        on: On<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), Fault> {
        if let (Purpose::Title, Some(title)) = (request.purpose, &self.title) {
            draft.started = true;
            draft.text(1, title, on);
            draft.usage = Usage {
                input: crate::estimate::input_tokens(request),
                output: 4,
                ..Usage::default()
            };
            draft.ended = true;
            return Ok(());
        }
        let turn = self.next(request)?;
        wait(turn.delay_ms, cancel).await?;
        if let Some(error) = turn.error.as_ref().filter(|error| !error.after_text) {
            return Err(error.fault());
        }
        draft.started = true;
        if let Some(thinking_text) = &turn.thinking {
            draft.thinking(0, thinking_text, on);
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

    /// The first turn whose condition matches, otherwise the next in order.
    fn next(&self, request: &ModelRequest) -> Result<&ScriptedTurn, Fault> {
        let progress = self.progress.lock();
        // Chosen under the lock: two concurrent requests must not play the same turn.
        let mut progress = progress.unwrap_or_else(PoisonError::into_inner);
        let last = Last::of(request);
        let fits = |(at, turn): &(usize, &ScriptedTurn)| {
            let left = turn.times.is_none_or(|times| progress.used[*at] < times);
            left && turn.when.as_ref().is_some_and(|when| when.fits(&last))
        };
        if let Some((at, turn)) = self.turns.iter().enumerate().find(fits) {
            progress.used[at] += 1;
            return Ok(turn);
        }
        let ordered: Vec<&ScriptedTurn> = self
            .turns
            .iter()
            .filter(|turn| turn.when.is_none())
            .collect();
        let entry = progress.entry(request);
        let turn = ordered.get(*entry).copied();
        *entry += 1;
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
    /// Position in the conversation of `request`. An unknown conversation, as after a restart, starts
    /// after as many turns as it has replies.
    fn entry(&mut self, request: &ModelRequest) -> &mut usize {
        let key = request.account.session.clone().unwrap_or_default();
        let known = self.positions.iter().position(|(known, _)| *known == key);
        let at = known.unwrap_or_else(|| {
            let user_texts = request.messages.iter();
            let user_texts =
                user_texts.filter(|message| matches!(message, Message::Assistant { .. }));
            let entry = user_texts.count();
            if self.positions.len() == MANY {
                self.positions.pop_front();
            }
            self.positions.push_back((key, entry));
            self.positions.len() - 1
        });
        &mut self.positions[at].1
    }
}

/// The last message.
pub(super) struct Last {
    /// The user's last text.
    text: String,
    /// The tools whose results came last; empty if the user's text came last.
    results_of: Vec<String>,
}

impl Last {
    fn of(request: &ModelRequest) -> Self {
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
