//! The script file.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::Last;
use crate::error::{ErrorKind, Fault};
use crate::message::Message;
use crate::reply::StopReason;
use crate::request::ModelRequest;
use crate::usage::Usage;

/// Maximum file size.
const MAX: u64 = 4 * 1024 * 1024;

/// The file format.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptFile {
    /// Model names for listings; any name is answered.
    #[serde(default)]
    pub(super) models: Vec<String>,
    /// The title of every conversation; without it none is generated.
    #[serde(default)]
    pub(super) title: Option<String>,
    pub(super) turns: Vec<ScriptedTurn>,
}

/// A turn: its condition and its reply.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedTurn {
    /// Condition; turns without one are played in order.
    pub(super) when: Option<When>,
    /// How often it is played; unlimited if absent.
    pub(super) times: Option<u32>,
    text: Option<String>,
    /// The text in chunks.
    #[serde(default)]
    deltas: Vec<String>,
    pub(super) thinking: Option<String>,
    #[serde(default)]
    pub(super) calls: Vec<ScriptedCall>,
    pub(super) usage: Option<Usage>,
    pub(super) stop: Option<StopReason>,
    pub(super) error: Option<ScriptedError>,
    /// Delay before the first chunk.
    #[serde(default)]
    pub(super) delay_ms: u64,
    /// Delay between chunks.
    #[serde(default)]
    pub(super) between_ms: u64,
}

impl ScriptedTurn {
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let pieces = self.deltas.iter().map(String::as_str);
        self.text.as_deref().into_iter().chain(pieces)
    }
}

/// Condition of a turn; all given fields must match.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    /// The last message is the user's and contains this, ignoring case.
    user: Option<String>,
    /// The last message is a result of this tool.
    result_of: Option<String>,
}

impl When {
    pub(super) fn fits(&self, last: &Last) -> bool {
        let user = self.user.as_ref().is_none_or(|expected| {
            let last_text = last.text.to_lowercase();
            let responds = last.results_of.is_empty() || self.result_of.is_some();
            responds && last_text.contains(&expected.to_lowercase())
        });
        let result = self
            .result_of
            .as_ref()
            .is_none_or(|tool| last.results_of.contains(tool));
        user && result
    }
}

/// A tool call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedCall {
    id: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    arguments: Value,
    /// Arguments as text, which need not be JSON.
    raw: Option<String>,
}

impl ScriptedCall {
    /// Its id, or one that is unique in the conversation.
    pub(super) fn id(&self, key: u64, request: &ModelRequest) -> String {
        let before = request.messages.iter();
        let before = before.filter(|message| matches!(message, Message::Assistant { .. }));
        let generated = || format!("scripted_{}_{}", before.count(), key - 2);
        self.id.clone().unwrap_or_else(generated)
    }

    pub(super) fn json(&self) -> String {
        match (&self.raw, &self.arguments) {
            (Some(raw), _) => raw.clone(),
            (None, Value::Null) => "{}".to_owned(),
            (None, arguments) => arguments.to_string(),
        }
    }
}

/// A failure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedError {
    kind: ScriptedFailure,
    message: Option<String>,
    retry_after_seconds: Option<u64>,
    /// Fail after the text instead of before.
    #[serde(default)]
    pub(super) after_text: bool,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScriptedFailure {
    RateLimited,
    Overloaded,
    Server,
    Unreachable,
    Cut,
    Garbage,
    Silent,
    Auth,
    BadRequest,
    ContextOverflow,
    Refused,
}

impl ScriptedError {
    pub(super) fn fault(&self) -> Fault {
        let kind = match self.kind {
            ScriptedFailure::RateLimited => ErrorKind::RateLimited {
                retry_after: self.retry_after_seconds.map(Duration::from_secs),
            },
            ScriptedFailure::Overloaded => ErrorKind::Overloaded,
            ScriptedFailure::Server => ErrorKind::Server { status: 500 },
            ScriptedFailure::Unreachable => ErrorKind::Unreachable,
            ScriptedFailure::Cut => ErrorKind::Cut,
            ScriptedFailure::Garbage => ErrorKind::Garbage,
            ScriptedFailure::Silent => ErrorKind::Silent,
            ScriptedFailure::Auth => ErrorKind::Auth,
            ScriptedFailure::BadRequest => ErrorKind::BadRequest,
            ScriptedFailure::ContextOverflow => ErrorKind::ContextOverflow,
            ScriptedFailure::Refused => ErrorKind::Refused,
        };
        let message = self.message.clone();
        Fault::new(
            kind,
            message.unwrap_or_else(|| "fails as scripted".to_owned()),
        )
    }
}

impl ScriptFile {
    pub(super) fn parse(yaml: &str) -> Result<Self, String> {
        let options = serde_saphyr::options! { strict_booleans: true };
        let file: Self = serde_saphyr::from_str_with_options(yaml, options)
            .map_err(|error| error.to_string())?;
        for (at, turn) in file.turns.iter().enumerate() {
            let empty = turn.texts().next().is_none() && turn.calls.is_empty();
            if empty && turn.error.is_none() {
                return Err(format!(
                    "turn {} says nothing; give it text, calls or an error",
                    at + 1
                ));
            }
        }
        Ok(file)
    }
}

/// Reads a file of limited size.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = file.take(MAX + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX {
        return Err("it is larger than 4 MiB".to_owned());
    }
    Ok(text)
}
