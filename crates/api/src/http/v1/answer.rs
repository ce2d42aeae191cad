//! Responses under `/v1`, whole or streamed, independent of the format.

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
use super::continuation::ClientCall;
use super::models::ServingSince;
use super::prompt::Prompt;
use super::start::{RunStep, RunSteps, start};

/// How long to wait for the first step before the response starts without it, so that an immediate
/// failure still gets its HTTP status.
const FIRST: Duration = Duration::from_secs(5);

/// How a format writes a response.
pub(super) trait Format: Send + 'static {
    /// A complete response.
    fn whole(&mut self, said: FullAnswer) -> Value;
    /// Events before the first text.
    fn open(&mut self) -> Vec<Event>;
    /// Events for more text.
    fn text(&mut self, text: &str) -> Vec<Event>;
    /// Events for more reasoning.
    fn thinking(&mut self, text: &str) -> Vec<Event>;
    /// Events at the end.
    fn close(&mut self, end: AnswerEnd) -> Vec<Event>;
    /// Events for a failure after the start.
    fn failed(&mut self, error: &ToolError) -> Vec<Event>;
}

/// How a response ends.
pub(super) struct AnswerEnd {
    pub(super) stop: StopReason,
    pub(super) usage: TurnUsage,
    /// Calls the client has to run.
    pub(super) calls: Vec<ClientCall>,
}

/// A complete response.
pub(super) struct FullAnswer {
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) end: AnswerEnd,
}

/// The caller, and where the response is produced.
pub(super) struct AnswerContext {
    pub(super) gateway: Arc<Gateway>,
    pub(super) since: ServingSince,
    pub(super) admitted: Admitted,
    pub(super) headers: HeaderMap,
}

/// Responds to a request. `format` receives the run id and creation time in seconds.
pub(super) async fn answer<F: Format>(
    asking: AnswerContext,
    prompt: Prompt,
    format: impl FnOnce(&str, i64) -> F,
) -> Result<Response, ToolError> {
    let AnswerContext {
        gateway,
        since,
        admitted,
        headers,
    } = asking;
    let piecewise = prompt.stream;
    // A JSON answer has no room for text between the agent's own calls.
    let only_last = prompt.output.is_some();
    // The formats count in seconds.
    let created = gateway.clock.now().0 / 1_000;
    let started = start(&gateway, &since, admitted, &headers, prompt).await?;
    let format = format(started.id(), created);
    let mut steps = started.follow(gateway);
    if !piecewise {
        let whole = whole(format, steps, only_last).await?;
        return Ok(Json(whole).into_response());
    }
    // Waiting briefly for the first step lets an immediate failure be an HTTP error; afterwards the
    // status is sent and errors can only be events.
    let first = match timeout(FIRST, steps.recv()).await {
        Ok(Some(first)) => Some(Ok(published(first)?)),
        Ok(None) | Err(_) => None,
    };
    Ok(pieces(AnswerStream {
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

/// A step; an end without an answer becomes an error.
fn published(step: Result<RunStep, ToolError>) -> Result<RunStep, ToolError> {
    match step? {
        RunStep::Event(TurnEvent::Error(failure)) => Err(failure.refusal()),
        RunStep::Event(TurnEvent::Stopped) => Err(stopped()),
        other => Ok(other),
    }
}

async fn whole<F: Format>(
    mut format: F,
    mut steps: RunSteps,
    only_last: bool,
) -> Result<Value, ToolError> {
    let (mut said, mut thoughts): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut thought = String::new();
    let mut calls = Vec::new();
    while let Some(step) = steps.recv().await {
        match published(step)? {
            RunStep::Calls(handed) => calls = handed,
            RunStep::Event(TurnEvent::Thinking(more)) => thought.push_str(&more),
            // The model starts over, and its reasoning with it.
            RunStep::Event(TurnEvent::Restart { .. }) => thought.clear(),
            RunStep::Event(TurnEvent::Partial(text)) => {
                said.push(text);
                thoughts.push(std::mem::take(&mut thought));
            }
            RunStep::Event(TurnEvent::Final { text, stop, usage }) => {
                // With an output schema only the final reply is JSON; earlier ones are commentary.
                if only_last && !text.is_empty() {
                    said.clear();
                }
                said.push(text);
                thoughts.push(thought);
                return Ok(format.whole(FullAnswer {
                    text: joined(&said),
                    thinking: joined(&thoughts),
                    end: AnswerEnd { stop, usage, calls },
                }));
            }
            RunStep::Event(_) => {}
        }
    }
    Err(ToolError::internal("the run ended without a result"))
}

/// Joins the texts of several replies.
pub(super) fn joined(texts: &[String]) -> String {
    let texts = texts.iter().map(String::as_str);
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n\n")
}

fn pieces<F: Format>(mut said: AnswerStream<F>) -> Response {
    // Sent before the first step, so that clients see that the response has begun.
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

/// A streamed response.
struct AnswerStream<F> {
    format: F,
    first: Option<Result<RunStep, ToolError>>,
    steps: RunSteps,
    /// Whether only the last reply is sent.
    only_last: bool,
    /// Text sent of the current reply.
    said: String,
    calls: Vec<ClientCall>,
    /// Whether an earlier reply was sent.
    later: bool,
    ended: bool,
}

impl<F: Format> AnswerStream<F> {
    async fn next(&mut self) -> Option<Vec<Event>> {
        if self.ended {
            return None;
        }
        let step = match self.first.take() {
            Some(first) => first,
            None => published(self.steps.recv().await?),
        };
        Some(match step {
            Ok(RunStep::Calls(calls)) => {
                self.calls = calls;
                Vec::new()
            }
            Ok(RunStep::Event(what)) => self.piece(what),
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
            // Text already sent cannot be retracted, so the restart is marked in the stream.
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
                // As a comment: the formats have no event for it, and it keeps the connection
                // alive.
                let waits = format!("{tool} needs approval {approval}");
                vec![Event::default().comment(waits)]
            }
            TurnEvent::Final { text, stop, usage } => {
                self.ended = true;
                let mut events = self.rest(&text);
                let calls = std::mem::take(&mut self.calls);
                events.extend(self.format.close(AnswerEnd { stop, usage, calls }));
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
        // The same separator as in a complete response.
        let gap = match self.later && self.said.is_empty() {
            true => "\n\n",
            false => "",
        };
        self.said.push_str(text);
        self.format.text(&format!("{gap}{text}"))
    }

    /// The part of a complete reply not sent yet: clients that lag miss deltas.
    fn rest(&mut self, text: &str) -> Vec<Event> {
        let rest = match text.strip_prefix(self.said.as_str()) {
            Some(rest) => rest.to_owned(),
            // The reply differs from what was streamed, so it is sent again as a new one.
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

/// An event with JSON data.
pub(super) fn data(value: &Value) -> Event {
    Event::default().data(value.to_string())
}

/// A named event with JSON data.
pub(super) fn named(name: &str, value: &Value) -> Event {
    Event::default().event(name).data(value.to_string())
}
