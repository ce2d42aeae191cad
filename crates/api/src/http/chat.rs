//! `POST /api/chat`: talking to an agent, with one response or a stream of events.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use http::{HeaderMap, StatusCode};
use manyhands_agent::{CallStats, Input, ParsedMessage, SessionKey, TurnEvent};
use manyhands_agent_services::session_key;
use manyhands_core::{AgentId, ErrorCode, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_http_common::{Answer, Answered, Authenticated, Refusal, answer};
use manyhands_llm::Block;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::admin::{body, query};
use super::chat_answer::{self, ChatCommand, ChatPaused, ChatResult, DoneStatus, PausedStatus};
use super::run::AgentRun;
use super::stream as events;
use crate::http::object::Json;
use crate::http::patterns;

/// Longest run id.
const MAX_RUN_ID: usize = 128;
/// Longest wait for an approval, in seconds.
const MAX_WAIT: u64 = 600;
/// Most pictures in a message.
const MAX_PICTURES: usize = 20;

/// A message to an agent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ChatInput {
    /// Session: a name, or `agent:NAME:REST`; `main` by default.
    #[schemars(regex(pattern = patterns::SESSION))]
    session_key: Option<String>,
    /// Text of the message.
    #[schemars(regex(pattern = patterns::WORDS))]
    message: String,
    /// The client's id of this run: sending it again returns the same run instead of starting
    /// another.
    #[schemars(length(min = 1, max = 128))]
    run_id: Option<String>,
    /// Pictures of the message.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pictures: Vec<Picture>,
    /// Agent, unless `sessionKey` names it; `main` by default.
    #[schemars(regex(pattern = patterns::AGENT))]
    agent_id: Option<String>,
}

/// A picture.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Picture {
    /// Bytes in base64.
    data: String,
    /// Media type, for example `image/png`.
    #[schemars(extend("enum" = ["image/png", "image/jpeg", "image/gif", "image/webp"]))]
    mime_type: String,
}

/// How long to wait.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitQuery {
    /// Seconds to wait for the owner's approval before responding that the run is paused, at most
    /// 600; 0 by default. Does not end a stream.
    #[schemars(range(max = 600))]
    wait: Option<u64>,
}

/// Sends a message to a session and returns the outcome.
pub async fn chat(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    headers: HeaderMap,
    patience: Result<Query<WaitQuery>, QueryRejection>,
    chat: Result<Json<ChatInput>, JsonRejection>,
) -> Result<Response, Refusal> {
    let wait = query(patience)?.wait.unwrap_or(0);
    if wait > MAX_WAIT {
        let wrong = ToolError::parameter("wait", "must be at most 600 seconds");
        return Err(Refusal(wrong));
    }
    let started = start(&gateway, admitted, body(chat)?).await?;
    match (started, events::wanted(&headers)) {
        (ChatStart::Run(run), true) => Ok(events::response(event_stream(*run))),
        (ChatStart::Run(run), false) => ended(*run, Duration::from_secs(wait)).await,
        // Whoever asked for a stream reads events, also when there is only one.
        (ChatStart::Command(done), true) => {
            let only = stream::iter([event("final", &json!(done))]);
            Ok(events::response(only))
        }
        (ChatStart::Command(done), false) => {
            Ok(Answered(ChatResult::Command(done)).into_response())
        }
    }
}

/// What a message led to.
enum ChatStart {
    /// A run.
    Run(Box<AgentRun>),
    /// A slash command, with its result.
    Command(ChatCommand),
}

async fn start(
    gateway: &Arc<Gateway>,
    admitted: Admitted,
    chat: ChatInput,
) -> Result<ChatStart, ToolError> {
    let key = session_key_of(
        &admitted,
        chat.session_key.as_deref(),
        chat.agent_id.as_deref(),
    )?;
    // A picture alone is a message.
    if chat.message.trim().is_empty() && chat.pictures.is_empty() {
        return Err(ToolError::parameter("message", "must not be empty"));
    }
    // Run ids are stored and logged as they are given.
    let fits = |id: &String| {
        (1..=MAX_RUN_ID).contains(&id.len()) && !id.contains(|c: char| c.is_control())
    };
    if chat.run_id.as_ref().is_some_and(|id| !fits(id)) {
        let message = format!("must have 1 to {MAX_RUN_ID} printable characters");
        return Err(ToolError::parameter("runId", message));
    }
    // Numbered for errors, which name the picture.
    let pictures = chat.pictures.into_iter().enumerate();
    let pictures = pictures
        .map(|(at, picture)| block(&format!("pictures[{at}]"), picture.data, picture.mime_type));
    let pictures = at_most(pictures.collect::<Result<_, _>>()?)?;
    let parsed = gateway
        .minds()
        .parse_message(&key, &chat.message, &admitted.caller)
        .await?;
    let input = match parsed {
        ParsedMessage::Message { input, .. } => Input { pictures, ..*input },
        ParsedMessage::Command(reply) => {
            return Ok(ChatStart::Command(ChatCommand {
                status: DoneStatus::Done,
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
    let run = AgentRun::start(gateway, admitted, key, chat.run_id, input).await?;
    Ok(ChatStart::Run(Box::new(run)))
}

/// The session a request refers to.
fn session_key_of(
    admitted: &Admitted,
    key: Option<&str>,
    agent: Option<&str>,
) -> Result<SessionKey, ToolError> {
    let agent = match agent {
        Some(text) => text
            .parse()
            .map_err(|e| ToolError::parameter("agentId", format!("{e}")))?,
        None => AgentId::main(),
    };
    session_key(&admitted.caller, &agent, key.unwrap_or("main"))
}

/// Checks a picture and converts it for the model.
pub(super) fn block(parameter: &str, data: String, mime_type: String) -> Result<Block, ToolError> {
    const KNOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    if !KNOWN.contains(&mime_type.as_str()) {
        let message = format!("must be one of {}", KNOWN.join(", "));
        return Err(ToolError::parameter(parameter, message));
    }
    let digits = data.trim_end_matches('=');
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'+' || b == b'/';
    // Checked by shape only: decoding large pictures here would cost memory twice.
    let whole = data.len().is_multiple_of(4) && data.len() - digits.len() <= 2;
    if digits.is_empty() || !whole || !digits.bytes().all(plain) {
        let message = "the bytes must be in base64";
        return Err(ToolError::parameter(parameter, message));
    }
    Ok(Block::Image { data, mime_type })
}

/// Rejects too many pictures.
pub(super) fn at_most(pictures: Vec<Block>) -> Result<Vec<Block>, ToolError> {
    if pictures.len() > MAX_PICTURES {
        let message = format!("a message may have at most {MAX_PICTURES} pictures");
        return Err(ToolError::new(ErrorCode::InvalidArguments, message));
    }
    Ok(pictures)
}

/// All events of a run.
fn event_stream(run: AgentRun) -> impl Stream<Item = Event> + Send + 'static {
    let accepted = json!({
        "runId": run.sent.run_id,
        "sessionKey": run.key,
        "queued": run.sent.queued,
    });
    let first = stream::iter([event("accepted", &accepted)]);
    // The gap is reported before the event that follows it.
    let later = stream::unfold(run, async |mut run| {
        let (name, data) = match run.next().await? {
            Ok(what) => name_and_data(&run, what),
            Err(error) => ("error", of_error(&run, &error)),
        };
        let gap = run.missed().then(|| event("gap", &gap()));
        let events = gap.into_iter().chain([event(name, &data)]);
        Some((stream::iter(events), run))
    });
    first.chain(later.flatten())
}

/// Replaces events dropped because the client reads too slowly.
fn gap() -> Value {
    json!({ "because": "events arrived faster than they were read; some were dropped" })
}

fn event(name: &str, data: &Value) -> Event {
    Event::default().event(name).data(data.to_string())
}

/// Name and data of an event.
fn name_and_data(run: &AgentRun, what: TurnEvent) -> (&'static str, Value) {
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
            stats,
            pictures,
        } => {
            let mut data = json!({ "phase": "done", "callId": call_id, "tool": tool, "ok": ok, "shown": shown, "tookMs": stats.ms, "auditCall": stats.call });
            data["outcome"] = json!(CallStats::verdict(Some(&stats), !ok).word());
            if let Some(code) = stats.exit_code {
                data["exitCode"] = json!(code);
            }
            if stats.waited_ms > 0 {
                data["waitedMs"] = json!(stats.waited_ms);
            }
            if !pictures.is_empty() {
                data["pictures"] = json!(pictures);
            }
            if let Some(diff) = stats.diff {
                data["diff"] = json!(diff);
            }
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
        // Changes belong to no run, so none comes here.
        TurnEvent::Resumed | TurnEvent::Taken { .. } | TurnEvent::Changed => ("resumed", json!({})),
        TurnEvent::Final { text, stop, usage } => {
            let data = json!({ "text": text, "stopReason": stop, "usage": usage, "runId": run.sent.run_id, "sessionKey": run.key });
            ("final", data)
        }
        TurnEvent::Error(failure) => ("error", of_error(run, &failure.refusal())),
        TurnEvent::Stopped | TurnEvent::Deleted => ("error", of_error(run, &stopped())),
    }
}

fn of_error(run: &AgentRun, error: &ToolError) -> Value {
    let mut shown = json!({
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "runId": run.sent.run_id,
        "sessionKey": run.key,
    });
    if let Some(failure) = error.details.as_ref().and_then(|d| d.get("failure")) {
        shown["failure"] = failure.clone();
    }
    if let Some(wait) = error.retry_after {
        shown["retryAfterMs"] = json!(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    }
    shown
}

/// The error for a stopped run.
pub(super) fn stopped() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "the run was stopped")
}

/// Waits for the end of a run, or until it has been paused for too long.
async fn ended(mut run: AgentRun, patience: Duration) -> Result<Response, Refusal> {
    let mut paused: Option<(ChatPaused, Instant)> = None;
    loop {
        let next = match &paused {
            None => run.next().await,
            Some((question, until)) => match timeout_at(*until, run.next()).await {
                Ok(next) => next,
                Err(_) => {
                    // The run goes on; the client resumes waiting with the same run id.
                    let waits = Answered(ChatResult::Paused(question.clone()));
                    return Ok((StatusCode::ACCEPTED, waits).into_response());
                }
            },
        };
        let Some(next) = next else {
            return Err(Refusal(ToolError::internal(
                "the run ended without a result",
            )));
        };
        match next? {
            TurnEvent::Final { text, stop, usage } => {
                let result = ChatResult::Answered(chat_answer::ChatAnswered {
                    status: DoneStatus::Done,
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
                let question = ChatPaused {
                    status: PausedStatus::Paused,
                    approval_id: approval,
                    tool,
                    arguments,
                    run_id: run.sent.run_id.clone(),
                    session_key: run.key.clone(),
                };
                // The deadline starts with the first pause: further approvals must not extend the
                // wait.
                let until = paused.map_or_else(|| Instant::now() + patience, |(_, until)| until);
                paused = Some((question, until));
            }
            TurnEvent::ToolDone { tool, .. } => {
                // Parallel calls may still be pending; only the tool that finished is no longer.
                paused = paused.filter(|(question, _)| question.tool != tool);
            }
            // Text comes only from a run that goes on.
            TurnEvent::Resumed | TurnEvent::Delta(_) | TurnEvent::Partial(_) => paused = None,
            TurnEvent::Thinking(_)
            | TurnEvent::Restart { .. }
            | TurnEvent::ToolStarted { .. }
            | TurnEvent::ToolOutput { .. }
            | TurnEvent::Taken { .. }
            | TurnEvent::Changed => {}
        }
    }
}

/// The session to stop.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct StopQuery {
    /// Session; `main` by default.
    #[schemars(regex(pattern = patterns::SESSION))]
    session_key: Option<String>,
    /// Agent, unless `sessionKey` names it; `main` by default.
    #[schemars(regex(pattern = patterns::AGENT))]
    agent_id: Option<String>,
}

/// The response after a stop.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatStopped {
    /// Whether a turn was running.
    stopped: bool,
    /// The session.
    session_key: SessionKey,
}

/// Stops the running turn of a session: model and tools.
pub async fn stop(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    which: Result<Json<StopQuery>, JsonRejection>,
) -> Answer<ChatStopped> {
    let which = body(which)?;
    let key = session_key_of(
        &admitted,
        which.session_key.as_deref(),
        which.agent_id.as_deref(),
    )?;
    let stopped = gateway.minds().stop(&key);
    answer(ChatStopped {
        stopped,
        session_key: key,
    })
}
