//! The answer to a request under `/v1`, whole or in pieces; each format says how it is written.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::HeaderMap;
use manyhands_agent::{TurnEvent, TurnUsage};
use manyhands_core::ToolError;
use manyhands_gateway::{Admitted, Gateway};
use manyhands_llm::StopReason;
use serde_json::Value;
use tokio::time::timeout;

use super::super::chat::stopped;
use super::super::stream as events;
use super::begin::{Step, Steps, begin};
use super::continuation::ClientCall;
use super::models::Since;
use super::prompt::Prompt;

/// How long the first step may take before the answer is begun without it, so that a failure
/// that comes at once still has its status.
const FIRST: Duration = Duration::from_secs(5);

/// How one format writes an answer.
pub(super) trait Format: Send + 'static {
    /// The whole answer.
    fn whole(&mut self, said: Whole) -> Value;
    /// Before the first piece.
    fn open(&mut self) -> Vec<Event>;
    /// More text.
    fn text(&mut self, text: &str) -> Vec<Event>;
    /// More of a thought.
    fn thinking(&mut self, text: &str) -> Vec<Event>;
    /// The end.
    fn close(&mut self, end: End) -> Vec<Event>;
    /// There is no answer after all.
    fn failed(&mut self, error: &ToolError) -> Vec<Event>;
}

/// How an answer ends.
pub(super) struct End {
    pub(super) stop: StopReason,
    pub(super) usage: TurnUsage,
    /// The calls that the client has to run.
    pub(super) calls: Vec<ClientCall>,
}

/// A whole answer.
pub(super) struct Whole {
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) end: End,
}

/// Who asks, and where an answer is made.
pub(super) struct Asking {
    pub(super) gateway: Arc<Gateway>,
    pub(super) since: Since,
    pub(super) asker: Admitted,
    pub(super) headers: HeaderMap,
}

/// Answers a request. `format` is given the id of its run and when it was created, in seconds.
pub(super) async fn answer<F: Format>(
    asking: Asking,
    prompt: Prompt,
    format: impl FnOnce(&str, i64) -> F,
) -> Result<Response, ToolError> {
    let Asking {
        gateway,
        since,
        asker,
        headers,
    } = asking;
    let piecewise = prompt.stream;
    // JSON has no place for what the model says between its own calls.
    let only_last = prompt.output.is_some();
    let created = gateway.clock.now().0 / 1_000;
    let begun = begin(&gateway, &since, asker, &headers, prompt).await?;
    let format = format(begun.id(), created);
    let mut steps = begun.follow(gateway);
    if !piecewise {
        let whole = whole(format, steps, only_last).await?;
        return Ok(Json(whole).into_response());
    }
    let first = match timeout(FIRST, steps.recv()).await {
        Ok(Some(first)) => Some(Ok(told(first)?)),
        Ok(None) | Err(_) => None,
    };
    Ok(pieces(Pieces {
        format,
        first,
        steps,
        only_last,
        said: String::new(),
        calls: Vec::new(),
        later: false,
        ended: false,
    }))
}

/// A step, where an end without an answer is an error.
fn told(step: Result<Step, ToolError>) -> Result<Step, ToolError> {
    match step? {
        Step::Event(TurnEvent::Error(failure)) => Err(failure.refusal()),
        Step::Event(TurnEvent::Stopped) => Err(stopped()),
        other => Ok(other),
    }
}

async fn whole<F: Format>(
    mut format: F,
    mut steps: Steps,
    only_last: bool,
) -> Result<Value, ToolError> {
    let (mut said, mut thoughts): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut thought = String::new();
    let mut calls = Vec::new();
    while let Some(step) = steps.recv().await {
        match told(step)? {
            Step::Calls(handed) => calls = handed,
            Step::Event(TurnEvent::Thinking(more)) => thought.push_str(&more),
            Step::Event(TurnEvent::Restart { .. }) => thought.clear(),
            Step::Event(TurnEvent::Partial(text)) => {
                said.push(text);
                thoughts.push(std::mem::take(&mut thought));
            }
            Step::Event(TurnEvent::Final { text, stop, usage }) => {
                if only_last && !text.is_empty() {
                    said.clear();
                }
                said.push(text);
                thoughts.push(thought);
                return Ok(format.whole(Whole {
                    text: joined(&said),
                    thinking: joined(&thoughts),
                    end: End { stop, usage, calls },
                }));
            }
            Step::Event(_) => {}
        }
    }
    Err(ToolError::internal("the run has no end"))
}

/// The texts of several replies as one.
pub(super) fn joined(texts: &[String]) -> String {
    let texts = texts.iter().map(String::as_str);
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n\n")
}

fn pieces<F: Format>(mut said: Pieces<F>) -> Response {
    let opening = said.format.open();
    let pieces = stream::unfold((Some(opening), said), async |(opening, mut said)| {
        let next = match opening {
            Some(opening) => opening,
            None => said.next().await?,
        };
        Some((stream::iter(next), (None, said)))
    });
    events::response(futures_util::StreamExt::flatten(pieces))
}

/// An answer that is being told in pieces.
struct Pieces<F> {
    format: F,
    first: Option<Result<Step, ToolError>>,
    steps: Steps,
    /// Only the last reply is told.
    only_last: bool,
    /// What was told of the present reply.
    said: String,
    calls: Vec<ClientCall>,
    /// Whether another reply was told before.
    later: bool,
    ended: bool,
}

impl<F: Format> Pieces<F> {
    async fn next(&mut self) -> Option<Vec<Event>> {
        if self.ended {
            return None;
        }
        let step = match self.first.take() {
            Some(first) => first,
            None => told(self.steps.recv().await?),
        };
        Some(match step {
            Ok(Step::Calls(calls)) => {
                self.calls = calls;
                Vec::new()
            }
            Ok(Step::Event(what)) => self.piece(what),
            Err(error) => {
                self.ended = true;
                self.format.failed(&error)
            }
        })
    }

    fn piece(&mut self, what: TurnEvent) -> Vec<Event> {
        match what {
            TurnEvent::Delta(_) | TurnEvent::Restart { .. } | TurnEvent::Partial(_)
                if self.only_last =>
            {
                Vec::new()
            }
            TurnEvent::Delta(text) => self.more(&text),
            TurnEvent::Thinking(text) => self.format.thinking(&text),
            TurnEvent::Restart { because } => {
                let events = self.more(&format!("\n\n[retrying: {because}]"));
                self.new_reply();
                events
            }
            TurnEvent::Partial(text) => {
                let events = self.rest(&text);
                self.new_reply();
                events
            }
            TurnEvent::Paused { approval, tool, .. } => {
                let waits = format!("{tool} needs approval {approval}");
                vec![Event::default().comment(waits)]
            }
            TurnEvent::Final { text, stop, usage } => {
                self.ended = true;
                let mut events = self.rest(&text);
                let calls = std::mem::take(&mut self.calls);
                events.extend(self.format.close(End { stop, usage, calls }));
                events
            }
            _ => Vec::new(),
        }
    }

    fn new_reply(&mut self) {
        self.later |= !self.said.is_empty();
        self.said.clear();
    }

    fn more(&mut self, text: &str) -> Vec<Event> {
        let gap = match self.later && self.said.is_empty() {
            true => "\n\n",
            false => "",
        };
        self.said.push_str(text);
        self.format.text(&format!("{gap}{text}"))
    }

    /// What of a whole reply was not told yet: pieces are left out for those who fall behind.
    fn rest(&mut self, text: &str) -> Vec<Event> {
        let rest = match text.strip_prefix(self.said.as_str()) {
            Some(rest) => rest.to_owned(),
            None => {
                self.new_reply();
                text.to_owned()
            }
        };
        match rest.is_empty() {
            true => Vec::new(),
            false => self.more(&rest),
        }
    }
}

/// An event that holds JSON.
pub(super) fn data(value: &Value) -> Event {
    Event::default().data(value.to_string())
}

/// A named event that holds JSON.
pub(super) fn named(name: &str, value: &Value) -> Event {
    Event::default().event(name).data(value.to_string())
}
