//! Talking to an agent: `POST /api/chat`, as a stream of events or as one answer.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use http::{HeaderMap, StatusCode};
use manyhands_agent::{Input, ParsedMessage, SessionKey, TurnEvent};
use manyhands_agent_services::session_key;
use manyhands_core::{AgentId, ErrorCode, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_http_common::{Answer, Answered, Asker, Refusal, answer};
use manyhands_llm::Block;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::admin::{body, query};
use super::chat_answer::{self, Command, Done, Ended, Paused, Waits};
use super::run::Run;
use super::stream as events;
use crate::http::object::Json;
use crate::http::shapes;

/// The longest id of a run.
const MAX_RUN_ID: usize = 128;
/// The longest wait for the owner, in seconds.
const MAX_WAIT: u64 = 600;
/// The most pictures beside a message.
const MAX_PICTURES: usize = 20;

/// What to say, and to whom.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Chat {
    /// The session: a name, or `agent:NAME:REST`; `main` when not said.
    #[schemars(regex(pattern = shapes::SESSION))]
    session_key: Option<String>,
    /// The words.
    #[schemars(regex(pattern = shapes::WORDS))]
    message: String,
    /// The asker's own id of this run: sent again it is the same run, not another.
    #[schemars(length(min = 1, max = 128))]
    run_id: Option<String>,
    /// Pictures beside the words.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pictures: Vec<Picture>,
    /// Whose session, where `sessionKey` does not say; `main` when not said.
    #[schemars(regex(pattern = shapes::AGENT))]
    agent_id: Option<String>,
}

/// A picture.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Picture {
    /// Its bytes in base64.
    data: String,
    /// For example `image/png`.
    #[schemars(extend("enum" = ["image/png", "image/jpeg", "image/gif", "image/webp"]))]
    mime_type: String,
}

/// How long to wait.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Patience {
    /// Seconds to wait for the owner's approval before answering that the run is paused, at most
    /// 600; 0 when not said. A stream is not ended by this.
    #[schemars(range(max = 600))]
    wait: Option<u64>,
}

/// Says something in a session and answers with what comes of it.
pub async fn chat(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    headers: HeaderMap,
    patience: Result<Query<Patience>, QueryRejection>,
    chat: Result<Json<Chat>, JsonRejection>,
) -> Result<Response, Refusal> {
    let wait = query(patience)?.wait.unwrap_or(0);
    if wait > MAX_WAIT {
        let wrong = ToolError::parameter("wait", "must be at most 600 seconds");
        return Err(Refusal(wrong));
    }
    let begun = begin(&gateway, asker, body(chat)?).await?;
    match (begun, events::wanted(&headers)) {
        (Begun::Run(run), true) => Ok(events::response(told(*run))),
        (Begun::Run(run), false) => ended(*run, Duration::from_secs(wait)).await,
        (Begun::Done(done), true) => {
            let only = stream::iter([event("final", &json!(done))]);
            Ok(events::response(only))
        }
        (Begun::Done(done), false) => Ok(Answered(Ended::Command(done)).into_response()),
    }
}

/// What a message became.
enum Begun {
    /// A run.
    Run(Box<Run>),
    /// It was a command, and this is what came of it.
    Done(Command),
}

async fn begin(gateway: &Arc<Gateway>, asker: Admitted, chat: Chat) -> Result<Begun, ToolError> {
    let key = meant(
        &asker,
        chat.session_key.as_deref(),
        chat.agent_id.as_deref(),
    )?;
    if chat.message.trim().is_empty() && chat.pictures.is_empty() {
        return Err(ToolError::parameter("message", "must not be empty"));
    }
    let fits = |id: &String| {
        (1..=MAX_RUN_ID).contains(&id.len()) && !id.contains(|c: char| c.is_control())
    };
    if chat.run_id.as_ref().is_some_and(|id| !fits(id)) {
        let message = format!("must have 1 to {MAX_RUN_ID} printable characters");
        return Err(ToolError::parameter("runId", message));
    }
    let pictures = chat.pictures.into_iter().enumerate();
    let pictures = pictures
        .map(|(at, picture)| block(&format!("pictures[{at}]"), picture.data, picture.mime_type));
    let pictures = at_most(pictures.collect::<Result<_, _>>()?)?;
    let heard = gateway
        .minds()
        .hear(&key, &chat.message, &asker.caller)
        .await?;
    let input = match heard {
        ParsedMessage::Message { input, .. } => Input { pictures, ..input },
        ParsedMessage::Command(reply) => {
            return Ok(Begun::Done(Command {
                status: Done::Done,
                text: reply.response,
                command: reply.command,
                error: reply.error,
                session_key: key,
            }));
        }
        ParsedMessage::OnlyDirectives { response, .. } => {
            return Err(ToolError::parameter("message", response));
        }
    };
    let run = Run::start(gateway, asker, key, chat.run_id, input).await?;
    Ok(Begun::Run(Box::new(run)))
}

/// The session that is meant.
fn meant(
    asker: &Admitted,
    key: Option<&str>,
    agent: Option<&str>,
) -> Result<SessionKey, ToolError> {
    let agent = match agent {
        Some(text) => text
            .parse()
            .map_err(|e| ToolError::parameter("agentId", format!("{e}")))?,
        None => AgentId::main(),
    };
    session_key(&asker.caller, &agent, key.unwrap_or("main"))
}

/// A picture as a model is shown it, if it is one.
pub(super) fn block(parameter: &str, data: String, mime_type: String) -> Result<Block, ToolError> {
    const KNOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    if !KNOWN.contains(&mime_type.as_str()) {
        let message = format!("must be one of {}", KNOWN.join(", "));
        return Err(ToolError::parameter(parameter, message));
    }
    let digits = data.trim_end_matches('=');
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'+' || b == b'/';
    let whole = data.len().is_multiple_of(4) && data.len() - digits.len() <= 2;
    if digits.is_empty() || !whole || !digits.bytes().all(plain) {
        let message = "the bytes must be in base64";
        return Err(ToolError::parameter(parameter, message));
    }
    Ok(Block::Image { data, mime_type })
}

/// The pictures, if they are not too many.
pub(super) fn at_most(pictures: Vec<Block>) -> Result<Vec<Block>, ToolError> {
    if pictures.len() > MAX_PICTURES {
        let message = format!("at most {MAX_PICTURES} pictures go with one message");
        return Err(ToolError::new(ErrorCode::InvalidArguments, message));
    }
    Ok(pictures)
}

/// Everything that happens, as events.
fn told(run: Run) -> impl Stream<Item = Event> + Send + 'static {
    let accepted = json!({
        "runId": run.sent.run_id,
        "sessionKey": run.key,
        "queued": run.sent.queued,
    });
    let first = stream::iter([event("accepted", &accepted)]);
    let later = stream::unfold(run, async |mut run| {
        let (name, data) = match run.next().await? {
            Ok(what) => in_words(&run, what),
            Err(error) => ("error", of_error(&run, &error)),
        };
        let gap = run.missed().then(|| event("gap", &gap()));
        let told = gap.into_iter().chain([event(name, &data)]);
        Some((stream::iter(told), run))
    });
    first.chain(later.flatten())
}

/// Said in the place of events that are left out for whoever reads too slowly.
fn gap() -> Value {
    json!({ "because": "events came faster than they were read; some were left out" })
}

fn event(name: &str, data: &Value) -> Event {
    Event::default().event(name).data(data.to_string())
}

/// What happened, as the name of an event and what it carries.
fn in_words(run: &Run, what: TurnEvent) -> (&'static str, Value) {
    match what {
        TurnEvent::Delta(text) => ("delta", json!({ "text": text })),
        TurnEvent::Thinking(text) => ("thinking", json!({ "text": text })),
        TurnEvent::Restart { because } => ("restart", json!({ "because": because })),
        TurnEvent::Partial(text) => ("partial", json!({ "text": text })),
        TurnEvent::ToolOutput {
            call_id,
            tool,
            text,
        } => {
            let data = json!({ "phase": "output", "callId": call_id, "tool": tool, "text": text });
            ("tool", data)
        }
        TurnEvent::ToolStarted {
            call_id,
            tool,
            arguments,
            call,
        } => {
            let data = json!({ "phase": "started", "callId": call_id, "tool": tool, "arguments": arguments, "auditCall": call });
            ("tool", data)
        }
        TurnEvent::ToolDone {
            call_id,
            tool,
            ok,
            shown,
            took_ms,
            call,
        } => {
            let data = json!({ "phase": "done", "callId": call_id, "tool": tool, "ok": ok, "shown": shown, "tookMs": took_ms, "auditCall": call });
            ("tool", data)
        }
        TurnEvent::Paused {
            approval,
            tool,
            arguments,
        } => {
            let data = json!({ "approvalId": approval, "tool": tool, "arguments": arguments });
            ("paused", data)
        }
        TurnEvent::Resumed | TurnEvent::Taken { .. } => ("resumed", json!({})),
        TurnEvent::Final { text, stop, usage } => {
            let data = json!({ "text": text, "stopReason": stop, "usage": usage, "runId": run.sent.run_id, "sessionKey": run.key });
            ("final", data)
        }
        TurnEvent::Error(failure) => ("error", of_error(run, &failure.refusal())),
        TurnEvent::Stopped | TurnEvent::Deleted => ("error", of_error(run, &stopped())),
    }
}

fn of_error(run: &Run, error: &ToolError) -> Value {
    let mut told = json!({
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "runId": run.sent.run_id,
        "sessionKey": run.key,
    });
    if let Some(failure) = error.details.as_ref().and_then(|d| d.get("failure")) {
        told["failure"] = failure.clone();
    }
    if let Some(wait) = error.retry_after {
        told["retryAfterMs"] = json!(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    }
    told
}

/// Somebody stopped a run.
pub(super) fn stopped() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "the run was stopped")
}

/// Waits for the end, or until it waits for the owner for too long.
async fn ended(mut run: Run, patience: Duration) -> Result<Response, Refusal> {
    let mut paused: Option<(Paused, Instant)> = None;
    loop {
        let next = match &paused {
            None => run.next().await,
            Some((question, until)) => match timeout_at(*until, run.next()).await {
                Ok(next) => next,
                Err(_) => {
                    let waits = Answered(Ended::Paused(question.clone()));
                    return Ok((StatusCode::ACCEPTED, waits).into_response());
                }
            },
        };
        let Some(next) = next else {
            return Err(Refusal(ToolError::internal("the run has no end")));
        };
        match next? {
            TurnEvent::Final { text, stop, usage } => {
                let result = Ended::Answered(chat_answer::Answered {
                    status: Done::Done,
                    text,
                    stop_reason: stop,
                    run_id: run.sent.run_id,
                    session_key: run.key,
                    usage,
                });
                return Ok(Answered(result).into_response());
            }
            TurnEvent::Error(failure) => return Err(Refusal(failure.refusal())),
            TurnEvent::Stopped | TurnEvent::Deleted => return Err(Refusal(stopped())),
            TurnEvent::Paused {
                approval,
                tool,
                arguments,
            } => {
                let question = Paused {
                    status: Waits::Paused,
                    approval_id: approval,
                    tool,
                    arguments,
                    run_id: run.sent.run_id.clone(),
                    session_key: run.key.clone(),
                };
                let until = paused.map_or_else(|| Instant::now() + patience, |(_, until)| until);
                paused = Some((question, until));
            }
            TurnEvent::ToolDone { tool, .. } => {
                paused = paused.filter(|(question, _)| question.tool != tool);
            }
            TurnEvent::Resumed | TurnEvent::Delta(_) | TurnEvent::Partial(_) => paused = None,
            TurnEvent::Thinking(_)
            | TurnEvent::Restart { .. }
            | TurnEvent::ToolStarted { .. }
            | TurnEvent::ToolOutput { .. }
            | TurnEvent::Taken { .. } => {}
        }
    }
}

/// Which session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Which {
    /// The session; `main` when not said.
    #[schemars(regex(pattern = shapes::SESSION))]
    session_key: Option<String>,
    /// Whose session, where `sessionKey` does not say; `main` when not said.
    #[schemars(regex(pattern = shapes::AGENT))]
    agent_id: Option<String>,
}

/// What was stopped.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatStopped {
    /// Whether something ran.
    stopped: bool,
    /// The session.
    session_key: SessionKey,
}

/// Stops what runs in a session: the model and the tools.
pub async fn stop(
    State(gateway): State<Arc<Gateway>>,
    Asker(asker): Asker,
    which: Result<Json<Which>, JsonRejection>,
) -> Answer<ChatStopped> {
    let which = body(which)?;
    let key = meant(
        &asker,
        which.session_key.as_deref(),
        which.agent_id.as_deref(),
    )?;
    let stopped = gateway.minds().stop(&key);
    answer(ChatStopped {
        stopped,
        session_key: key,
    })
}
