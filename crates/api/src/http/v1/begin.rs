//! How a request under `/v1` becomes a run of its agent, and how that run is followed.

use std::sync::Arc;

use http::HeaderMap;
use manyhands_agent::{ClientTool, ResetPolicy, SessionKey, SessionSettings, What};
use manyhands_agent_services::session_key;
use manyhands_core::{AgentId, ErrorCode, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_llm::{Message, StopReason};
use tokio::sync::mpsc;

use super::super::admin::agents::names;
use super::super::run::Run;
use super::answer::joined;
use super::continuation::{self, ClientCall, ResponseNote};
use super::models::Since;
use super::prompt::Prompt;

/// How many steps of a run may wait for their reader.
const AHEAD: usize = 64;

/// What happens in a run.
pub(super) enum Step {
    /// As the agent tells it.
    What(What),
    /// The calls that the client has to run; the end follows.
    Calls(Vec<ClientCall>),
}

/// What happens in a run, in order.
pub(super) type Steps = mpsc::Receiver<Result<Step, ToolError>>;

/// A run, and whether its session is removed after it.
pub(super) struct Begun {
    run: Run,
    asker: Admitted,
    passing: bool,
    /// Tools that the client runs.
    tools: Vec<ClientTool>,
    /// What later requests may refer to.
    remembered: Option<ResponseNote>,
    /// What was told so far, reply by reply.
    said: Vec<String>,
}

/// The session that a request names, and by which parameter.
fn named(
    headers: &HeaderMap,
    prompt: &Prompt,
) -> Result<Option<(&'static str, String)>, ToolError> {
    const HEADER: &str = "x-session-key";
    match headers.get(HEADER).map(|value| value.to_str()) {
        Some(Ok(key)) => Ok(Some((HEADER, key.to_owned()))),
        Some(Err(_)) => Err(ToolError::parameter(HEADER, "must be plain text")),
        None => Ok(prompt.session.clone().map(|key| ("metadata.session", key))),
    }
}

/// Begins the run of a request.
pub(super) async fn begin(
    gateway: &Arc<Gateway>,
    since: &Since,
    asker: Admitted,
    headers: &HeaderMap,
    prompt: Prompt,
) -> Result<Begun, ToolError> {
    let agent = super::agent(&gateway.settings.current(), &prompt.model)?;
    prompt.check_sampling()?;
    sweep(gateway, since).await;
    match named(headers, &prompt)? {
        None => passing(gateway, asker, &agent, prompt).await,
        Some((parameter, key)) => {
            in_session(gateway, asker, &agent, (parameter, &key), prompt).await
        }
    }
}

/// Begins a run in a session that the request names: its last message is said there.
async fn in_session(
    gateway: &Arc<Gateway>,
    asker: Admitted,
    agent: &AgentId,
    (parameter, text): (&'static str, &str),
    prompt: Prompt,
) -> Result<Begun, ToolError> {
    let key = session_key(&asker.caller, agent, text).map_err(|error| match error.code {
        ErrorCode::InvalidArguments => ToolError::parameter(parameter, error.message),
        _ => error,
    })?;
    if key.agent() != agent {
        let message = format!("is a session of agent {}, not of the model", key.agent());
        return Err(ToolError::parameter(parameter, message));
    }
    if !prompt.client.tools.is_empty() {
        let message =
            "a named session uses the agent's tools only; leave out tools, or the session";
        return Err(ToolError::parameter("tools", message));
    }
    if !matches!(prompt.messages.last(), Some(Message::User { .. })) {
        let message = "the last message must be the user's: it is said in the named session";
        return Err(ToolError::parameter("messages", message));
    }
    let input = prompt.ready().input;
    let run = Run::start(gateway, asker.clone(), key, None, input).await?;
    Ok(Begun {
        run,
        asker,
        passing: false,
        tools: Vec::new(),
        remembered: None, // the session has it
        said: Vec::new(),
    })
}

/// Begins a run in a session of its own.
async fn passing(
    gateway: &Arc<Gateway>,
    asker: Admitted,
    agent: &AgentId,
    mut prompt: Prompt,
) -> Result<Begun, ToolError> {
    let minds = gateway.minds();
    let key = session_key(&asker.caller, agent, &minds.passing_name())?;
    prompt.fence(&asker.caller);
    continuation::restore(gateway, &asker, &mut prompt).await?;
    let tools = prompt.client.tools.clone();
    let remembered = prompt.remembered.take();
    let ready = prompt.ready();
    let settings = SessionSettings {
        system_prompt: ready.system,
        reset_policy: Some(ResetPolicy::Manual),
        ..SessionSettings::default()
    };
    minds.seed(&key, &ready.before, &settings).await?;
    let started = Run::start(gateway, asker.clone(), key.clone(), None, ready.input).await;
    match started {
        Ok(run) => Ok(Begun {
            run,
            asker,
            passing: true,
            tools,
            remembered,
            said: Vec::new(),
        }),
        Err(error) => {
            minds.forget(&key).await?;
            Err(error)
        }
    }
}

impl Begun {
    /// The id of its run.
    pub(super) fn id(&self) -> &str {
        &self.run.sent.run_id
    }

    /// Follows the run whether or not somebody reads, so that its session goes when it ends. When
    /// the asker of a passing session goes away the run is stopped: nobody could read its answer.
    pub(super) fn follow(mut self, gateway: Arc<Gateway>) -> Steps {
        let (steps, reader) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            let (mut gap, mut left) = (false, false);
            loop {
                let step = tokio::select! {
                    biased;
                    step = self.run.next() => step,
                    () = steps.closed(), if self.passing && !left => {
                        left = true;
                        gateway.minds().stop(&self.run.key);
                        continue;
                    }
                };
                let Some(step) = step else {
                    return;
                };
                gap |= self.run.missed();
                match &step {
                    // The pieces after a gap make no text; what is left is told with the whole.
                    Ok(What::Delta(_)) if gap => continue,
                    Ok(What::Partial(_) | What::Restart { .. }) => gap = false,
                    _ => {}
                }
                let ends = step.as_ref().is_ok_and(What::is_end);
                let calls = self.end(&gateway, &step).await;
                if ends && self.passing {
                    forget(&gateway, &self.run.key).await;
                }
                let calls = calls.map(|calls| calls.map(Step::Calls)).transpose();
                for step in calls.into_iter().chain([step.map(Step::What)]) {
                    if steps.send(step).await.is_err() && !self.passing {
                        return;
                    }
                }
            }
        });
        reader
    }

    /// The calls with which the run ends, if it ends with some. What later requests refer to is remembered before the
    /// client is told.
    async fn end(
        &mut self,
        gateway: &Gateway,
        step: &Result<What, ToolError>,
    ) -> Result<Option<Vec<ClientCall>>, ToolError> {
        let stop = match step {
            Ok(What::Partial(text)) => {
                self.said
                    .extend(self.remembered.is_some().then(|| text.clone()));
                return Ok(None);
            }
            Ok(What::Final { text, stop, .. }) => {
                self.said.push(text.clone());
                *stop
            }
            _ => return Ok(None),
        };
        let (key, turn) = (&self.run.key, &self.run.sent.turn);
        let mut calls = None;
        if stop == StopReason::Calls && !self.tools.is_empty() {
            let handover = gateway.minds().handover(key, turn, &self.tools).await?;
            if let Some(handover) = handover {
                calls = Some(continuation::remember(gateway, &self.asker, &handover).await?);
            }
        }
        if let Some(note) = self.remembered.take() {
            let (text, calls) = (joined(&self.said), calls.as_deref().unwrap_or(&[]));
            note.remember(gateway, &self.asker, &text, calls).await?;
        }
        Ok(calls)
    }
}

async fn forget(gateway: &Gateway, key: &SessionKey) {
    if let Err(error) = gateway.minds().forget(key).await {
        tracing::warn!(event = "request_session_delete_failed", session = %key, %error, "failed to delete the session of a finished request");
    }
}

/// Removes, once, what requests before the last start left behind.
async fn sweep(gateway: &Gateway, since: &Since) {
    let swept = since.swept.get_or_init(|| async {
        let agents = names(&gateway.settings.current());
        let swept = gateway.minds().sweep_passing(&agents, since.start).await;
        if let Err(error) = swept {
            tracing::warn!(event = "request_session_sweep_failed", %error, "failed to delete the sessions of earlier requests");
        }
    });
    swept.await;
}
