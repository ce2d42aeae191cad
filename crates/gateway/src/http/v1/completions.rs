//! `POST /v1/chat/completions`: a turn of an agent as a completion.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_util::stream;
use http::HeaderMap;
use manyhands_agent::{ResetPolicy, SessionKey, SessionSettings, TurnUsage, What, fence};
use manyhands_core::{AgentId, ErrorCode, ToolError};
use manyhands_llm::{Block, Message, StopReason};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::super::admin::agents::names;
use super::super::chat::stopped;
use super::super::refusal::Refusal;
use super::super::run::Run;
use super::super::stream as events;
use super::super::{admin, asker::Asker};
use super::ask::{Ask, Talk};
use super::dialect::shape;
use super::models::Since;
use crate::doorman::Admitted;
use crate::gateway::Gateway;
use crate::minds::session_key;

/// How many steps of a run may wait for their reader.
const AHEAD: usize = 64;
/// How long the first step may take before the answer is begun without it, so that a failure
/// that comes at once still has its status.
const FIRST: Duration = Duration::from_secs(5);

/// What happens in a run, in order.
type Steps = mpsc::Receiver<Result<What, ToolError>>;

/// Answers a conversation.
pub async fn complete(
    State(gateway): State<Arc<Gateway>>,
    Extension(since): Extension<Since>,
    Asker(asker): Asker,
    headers: HeaderMap,
    ask: Result<Json<Ask>, JsonRejection>,
) -> Result<Response, Refusal> {
    let ask = admin::body(ask)?;
    let agent = super::agent(&gateway.settings.current(), &ask.model)?;
    ask.check()?;
    sweep(&gateway, &since).await;
    let piecewise = ask.stream == Some(true);
    let mut answer = Answer {
        id: String::new(),
        created: gateway.clock.now().0 / 1_000,
        model: ask.model.clone(),
        tells_usage: ask.tells_usage(),
    };
    let run = begin(&gateway, asker, &agent, named(&headers, &ask)?, ask).await?;
    answer.id = format!("chatcmpl-{}", run.run.sent.run_id);
    let mut steps = run.follow(gateway);
    if !piecewise {
        return Ok(Json(answer.whole(steps).await?).into_response());
    }
    let first = match timeout(FIRST, steps.recv()).await {
        Ok(Some(first)) => Some(Ok(told(first)?)),
        Ok(None) | Err(_) => None,
    };
    Ok(answer.pieces(first, steps))
}

/// The session that a request names, and how.
fn named(headers: &HeaderMap, ask: &Ask) -> Result<Option<(&'static str, String)>, ToolError> {
    const HEADER: &str = "x-session-key";
    match headers.get(HEADER).map(|value| value.to_str()) {
        Some(Ok(key)) => Ok(Some((HEADER, key.to_owned()))),
        Some(Err(_)) => Err(ToolError::parameter(HEADER, "must be plain text")),
        None => Ok(ask.session()?.map(|(name, key)| (name, key.to_owned()))),
    }
}

/// A run, and whether its session is removed after it.
struct Begun {
    run: Run,
    passing: bool,
}

async fn begin(
    gateway: &Arc<Gateway>,
    asker: Admitted,
    agent: &AgentId,
    named: Option<(&'static str, String)>,
    ask: Ask,
) -> Result<Begun, ToolError> {
    let Some((parameter, text)) = named else {
        return passing(gateway, asker, agent, ask).await;
    };
    let key = session_key(&asker.caller, agent, &text).map_err(|error| match error.code {
        ErrorCode::InvalidArguments => ToolError::parameter(parameter, error.message),
        _ => error,
    })?;
    if key.agent() != agent {
        let message = format!("is a session of agent {}, not of the model", key.agent());
        return Err(ToolError::parameter(parameter, message));
    }
    if let Some(set) = ask.changes_session() {
        let message = format!("is set for the session: POST /api/sessions/{key}/patch");
        return Err(ToolError::parameter(set, message));
    }
    let input = ask.talk()?.input;
    let run = Run::start(gateway, asker, key, None, input).await?;
    Ok(Begun {
        run,
        passing: false,
    })
}

/// Begins a run in a session of its own.
async fn passing(
    gateway: &Arc<Gateway>,
    asker: Admitted,
    agent: &AgentId,
    ask: Ask,
) -> Result<Begun, ToolError> {
    let minds = gateway.minds();
    let key = session_key(&asker.caller, agent, &minds.passing_name())?;
    let max_tokens = ask.max_tokens()?;
    let talk = fenced(ask.talk()?, &asker);
    let settings = SessionSettings {
        system_prompt: talk.system,
        max_tokens,
        reset_policy: Some(ResetPolicy::Manual),
        ..SessionSettings::default()
    };
    minds.seed(&key, &talk.before, &settings).await?;
    let started = Run::start(gateway, asker, key.clone(), None, talk.input).await;
    match started {
        Ok(run) => Ok(Begun { run, passing: true }),
        Err(error) => {
            minds.forget(&key).await?;
            Err(error)
        }
    }
}

/// The words of anybody but the owner are data; those of the input become so when it is sent.
fn fenced(mut talk: Talk, asker: &Admitted) -> Talk {
    if asker.caller.is_owner() {
        return talk;
    }
    let source = format!("person:{}", asker.caller.name);
    talk.system = talk.system.map(|text| fence::fenced(&source, &text));
    for message in &mut talk.before {
        let Message::User { content } = message else {
            continue;
        };
        for block in content {
            if let Block::Text { text } = block {
                *text = fence::fenced(&source, text);
            }
        }
    }
    talk
}

impl Begun {
    /// Follows the run whether or not somebody reads, so that its session goes when it ends. When
    /// the asker of a passing session goes away the run is stopped: nobody could read its answer.
    fn follow(self, gateway: Arc<Gateway>) -> Steps {
        let (steps, reader) = mpsc::channel(AHEAD);
        let Self { mut run, passing } = self;
        tokio::spawn(async move {
            let (mut gap, mut left) = (false, false);
            loop {
                let step = tokio::select! {
                    biased;
                    step = run.next() => step,
                    () = steps.closed(), if passing && !left => {
                        left = true;
                        gateway.minds().stop(&run.key);
                        continue;
                    }
                };
                let Some(step) = step else {
                    return;
                };
                gap |= run.missed();
                match &step {
                    // The pieces after a gap make no text; what is left is told with the whole.
                    Ok(What::Delta(_)) if gap => continue,
                    Ok(What::Partial(_) | What::Restart { .. }) => gap = false,
                    _ => {}
                }
                let ends = step.as_ref().is_ok_and(What::is_end);
                if ends && passing {
                    forget(&gateway, &run.key).await;
                }
                if steps.send(step).await.is_err() && !passing {
                    return;
                }
            }
        });
        reader
    }
}

async fn forget(gateway: &Gateway, key: &SessionKey) {
    if let Err(error) = gateway.minds().forget(key).await {
        tracing::warn!(session = %key, %error, "a session of one request was not removed");
    }
}

/// Removes, once, what requests before the last start left behind.
async fn sweep(gateway: &Gateway, since: &Since) {
    let swept = since.swept.get_or_init(|| async {
        let agents = names(&gateway.settings.current());
        let swept = gateway.minds().sweep_passing(&agents, since.start).await;
        if let Err(error) = swept {
            tracing::warn!(%error, "sessions of earlier requests were not removed");
        }
    });
    swept.await;
}

/// A step, where an end without an answer is an error.
fn told(step: Result<What, ToolError>) -> Result<What, ToolError> {
    match step? {
        What::Error(failure) => Err(failure.refusal()),
        What::Stopped => Err(stopped()),
        other => Ok(other),
    }
}

/// The answer on its way.
struct Answer {
    id: String,
    created: i64,
    model: String,
    tells_usage: bool,
}

impl Answer {
    /// The whole answer.
    async fn whole(self, mut steps: Steps) -> Result<Value, ToolError> {
        let mut said: Vec<String> = Vec::new();
        while let Some(step) = steps.recv().await {
            match told(step)? {
                What::Partial(text) => said.push(text),
                What::Final { text, stop, usage } => {
                    said.push(text);
                    return Ok(self.completion(&said.join("\n\n"), reason(stop), usage));
                }
                _ => {}
            }
        }
        Err(ToolError::internal("the run has no end"))
    }

    fn completion(&self, text: &str, reason: &str, usage: TurnUsage) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": text, "refusal": null },
                "logprobs": null,
                "finish_reason": reason,
            }],
            "usage": counted(usage),
        })
    }

    fn chunk(&self, delta: Value, reason: Option<&str>) -> Value {
        let choice =
            json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason });
        self.bare(json!([choice]), Value::Null)
    }

    fn bare(&self, choices: Value, usage: Value) -> Value {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        if self.tells_usage {
            chunk["usage"] = usage;
        }
        chunk
    }

    /// The answer in pieces.
    fn pieces(self, first: Option<Result<What, ToolError>>, steps: Steps) -> Response {
        let opening = self.chunk(json!({ "role": "assistant", "content": "" }), None);
        let opening = vec![data(&opening)];
        let said = Pieces {
            answer: self,
            first,
            steps,
            said: String::new(),
            later: false,
            ended: false,
        };
        let pieces = stream::unfold((Some(opening), said), async |(opening, mut said)| {
            let next = match opening {
                Some(opening) => opening,
                None => said.next().await?,
            };
            Some((stream::iter(next), (None, said)))
        });
        events::response(futures_util::StreamExt::flatten(pieces))
    }
}

/// An answer that is being told in pieces.
struct Pieces {
    answer: Answer,
    first: Option<Result<What, ToolError>>,
    steps: Steps,
    /// What was told of the present reply.
    said: String,
    /// Whether another reply came before.
    later: bool,
    ended: bool,
}

impl Pieces {
    async fn next(&mut self) -> Option<Vec<Event>> {
        if self.ended {
            return None;
        }
        let step = match self.first.take() {
            Some(first) => first,
            None => told(self.steps.recv().await?),
        };
        Some(match step {
            Ok(What::Delta(text)) => vec![self.more(&text)],
            Ok(What::Restart { because }) => {
                let again = format!("\n\n[the model begins anew: {because}]");
                let event = self.more(&again);
                self.new_reply();
                vec![event]
            }
            Ok(What::Partial(text)) => {
                let events = self.rest(&text);
                self.new_reply();
                events
            }
            Ok(What::Paused { approval, tool, .. }) => {
                let waits = format!("{tool} waits for approval {approval}");
                vec![Event::default().comment(waits)]
            }
            Ok(What::Final { text, stop, usage }) => self.end(&text, stop, usage),
            Ok(_) => Vec::new(),
            Err(error) => {
                self.ended = true;
                vec![data(&shape(&error))]
            }
        })
    }

    fn new_reply(&mut self) {
        self.said.clear();
        self.later = true;
    }

    fn more(&mut self, text: &str) -> Event {
        let gap = match self.later && self.said.is_empty() {
            true => "\n\n",
            false => "",
        };
        self.said.push_str(text);
        let content = format!("{gap}{text}");
        data(&self.answer.chunk(json!({ "content": content }), None))
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
            false => vec![self.more(&rest)],
        }
    }

    fn end(&mut self, text: &str, stop: StopReason, usage: TurnUsage) -> Vec<Event> {
        self.ended = true;
        let mut events = self.rest(text);
        events.push(data(&self.answer.chunk(json!({}), Some(reason(stop)))));
        if self.answer.tells_usage {
            events.push(data(&self.answer.bare(json!([]), counted(usage))));
        }
        events.push(Event::default().data("[DONE]"));
        events
    }
}

fn data(value: &Value) -> Event {
    Event::default().data(value.to_string())
}

/// Why an answer ends, in OpenAI's words.
fn reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Length => "length",
        StopReason::End | StopReason::Calls => "stop",
    }
}

fn counted(usage: TurnUsage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    })
}
