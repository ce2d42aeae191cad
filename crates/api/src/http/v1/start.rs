//! Turns a request under `/v1` into a run of its agent, and follows that run.

use std::sync::Arc;

use http::HeaderMap;
use manyhands_agent::{ClientTool, ResetPolicy, SessionKey, SessionSettings, TurnEvent};
use manyhands_agent_services::session_key;
use manyhands_core::{AgentId, ErrorCode, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use manyhands_llm::{Message, StopReason};
use tokio::sync::mpsc;

use super::super::admin::agents::names;
use super::super::run::AgentRun;
use super::answer::joined;
use super::continuation::{self, ClientCall, ResponseNote};
use super::models::ServingSince;
use super::prompt::Prompt;

/// Steps of a run queued for a slow reader.
const AHEAD: usize = 64;

/// A step of a run.
pub(super) enum RunStep {
    /// An event of the agent.
    Event(TurnEvent),
    /// Calls the client has to run; the end follows.
    Calls(Vec<ClientCall>),
}

/// The steps of a run, in order.
pub(super) type RunSteps = mpsc::Receiver<Result<RunStep, ToolError>>;

/// A started run, and whether its session is deleted afterwards.
pub(super) struct StartedRun {
    run: AgentRun,
    admitted: Admitted,
    temporary: bool,
    /// Tools the client runs.
    tools: Vec<ClientTool>,
    /// Stored for later requests that refer to the response.
    remembered: Option<ResponseNote>,
    /// Replies so far.
    said: Vec<String>,
}

/// The session a request names, and the parameter that names it.
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

/// Starts the run of a request.
pub(super) async fn start(
    gateway: &Arc<Gateway>,
    since: &ServingSince,
    admitted: Admitted,
    headers: &HeaderMap,
    prompt: Prompt,
) -> Result<StartedRun, ToolError> {
    let agent = super::agent(&gateway.settings.current(), &prompt.model)?;
    // Before a session exists, which would have to be deleted again.
    prompt.check_sampling()?;
    // Lazily, with the first request: most gateways never serve `/v1`.
    sweep(gateway, since).await;
    match named(headers, &prompt)? {
        None => in_temporary_session(gateway, admitted, &agent, prompt).await,
        Some((parameter, key)) => {
            in_session(gateway, admitted, &agent, (parameter, &key), prompt).await
        }
    }
}

/// Starts a run in the session the request names: its last message is sent there.
async fn in_session(
    gateway: &Arc<Gateway>,
    admitted: Admitted,
    agent: &AgentId,
    (parameter, text): (&'static str, &str),
    prompt: Prompt,
) -> Result<StartedRun, ToolError> {
    let key = session_key(&admitted.caller, agent, text).map_err(|error| match error.code {
        ErrorCode::InvalidArguments => ToolError::parameter(parameter, error.message),
        _ => error,
    })?;
    // `x-session-key` may name a session of any agent the caller may use; the model parameter
    // decides.
    if key.agent() != agent {
        let message = format!(
            "belongs to agent {}, not to the requested model",
            key.agent()
        );
        return Err(ToolError::parameter(parameter, message));
    }
    if !prompt.client.tools.is_empty() {
        let message = "a named session uses only the agent's tools; omit tools or the session";
        return Err(ToolError::parameter("tools", message));
    }
    if !matches!(prompt.messages.last(), Some(Message::User { .. })) {
        let message = "the last message must be the user's: it is sent to the named session";
        return Err(ToolError::parameter("messages", message));
    }
    let input = prompt.ready().input;
    let run = AgentRun::start(gateway, admitted.clone(), key, None, input).await?;
    Ok(StartedRun {
        run,
        admitted,
        temporary: false,
        tools: Vec::new(),
        remembered: None, // the session itself remembers
        said: Vec::new(),
    })
}

/// Starts a run in a temporary session.
async fn in_temporary_session(
    gateway: &Arc<Gateway>,
    admitted: Admitted,
    agent: &AgentId,
    mut prompt: Prompt,
) -> Result<StartedRun, ToolError> {
    let minds = gateway.minds();
    let key = session_key(&admitted.caller, agent, &minds.passing_name())?;
    // Before `restore`, which puts back stored exchanges that must not be marked a second time.
    prompt.fence(&admitted.caller);
    continuation::restore(gateway, &admitted, &mut prompt).await?;
    let tools = prompt.client.tools.clone();
    let remembered = prompt.remembered.take();
    let ready = prompt.ready();
    let settings = SessionSettings {
        system_prompt: ready.system,
        // A daily reset must not archive the messages in the middle of a request.
        reset_policy: Some(ResetPolicy::Manual),
        ..SessionSettings::default()
    };
    minds.seed(&key, &ready.before, &settings).await?;
    let started = AgentRun::start(gateway, admitted.clone(), key.clone(), None, ready.input).await;
    match started {
        Ok(run) => Ok(StartedRun {
            run,
            admitted,
            temporary: true,
            tools,
            remembered,
            said: Vec::new(),
        }),
        Err(error) => {
            // Seeded but without a run, nothing else would ever delete it.
            minds.forget(&key).await?;
            Err(error)
        }
    }
}

impl StartedRun {
    /// The run id.
    pub(super) fn id(&self) -> &str {
        &self.run.sent.run_id
    }

    /// Follows the run whether or not the client reads, so that a temporary session is deleted at
    /// its end. If the client of a temporary session disconnects, the run is stopped: nobody could
    /// read its answer.
    pub(super) fn follow(mut self, gateway: Arc<Gateway>) -> RunSteps {
        let (steps, reader) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            let (mut gap, mut left) = (false, false);
            loop {
                let step = tokio::select! {
                    // Biased: a final step that is already there wins over the disconnect and is
                    // still stored.
                    biased;
                    step = self.run.next() => step,
                    // `left` disables this branch, which otherwise stays ready and would spin.
                    () = steps.closed(), if self.temporary && !left => {
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
                    // Deltas after a gap do not form a text; the remainder is sent with the
                    // complete reply.
                    Ok(TurnEvent::Delta(_)) if gap => continue,
                    Ok(TurnEvent::Partial(_) | TurnEvent::Restart { .. }) => gap = false,
                    _ => {}
                }
                let ends = step.as_ref().is_ok_and(TurnEvent::is_end);
                // Before the step is passed on: the client's next request may refer to what is
                // stored here.
                let calls = self.end(&gateway, &step).await;
                if ends && self.temporary {
                    forget(&gateway, &self.run.key).await;
                }
                let calls = calls.map(|calls| calls.map(RunStep::Calls)).transpose();
                for step in calls.into_iter().chain([step.map(RunStep::Event)]) {
                    // A temporary run is followed to its end even without a reader, to delete its
                    // session.
                    if steps.send(step).await.is_err() && !self.temporary {
                        return;
                    }
                }
            }
        });
        reader
    }

    /// The client calls the run ends with, if any. State for later requests is stored before the
    /// client learns of them.
    async fn end(
        &mut self,
        gateway: &Gateway,
        step: &Result<TurnEvent, ToolError>,
    ) -> Result<Option<Vec<ClientCall>>, ToolError> {
        let stop = match step {
            Ok(TurnEvent::Partial(text)) => {
                self.said
                    .extend(self.remembered.is_some().then(|| text.clone()));
                return Ok(None);
            }
            Ok(TurnEvent::Final { text, stop, .. }) => {
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
                calls = Some(continuation::remember(gateway, &self.admitted, &handover).await?);
            }
        }
        if let Some(note) = self.remembered.take() {
            let (text, calls) = (joined(&self.said), calls.as_deref().unwrap_or(&[]));
            note.remember(gateway, &self.admitted, &text, calls).await?;
        }
        Ok(calls)
    }
}

async fn forget(gateway: &Gateway, key: &SessionKey) {
    if let Err(error) = gateway.minds().forget(key).await {
        tracing::warn!(event = "request_session_delete_failed", session = %key, %error, "failed to delete the session of a finished request");
    }
}

/// Deletes, once, temporary sessions left over from before the last start.
async fn sweep(gateway: &Gateway, since: &ServingSince) {
    let swept = since.swept.get_or_init(|| async {
        let agents = names(&gateway.settings.current());
        let swept = gateway.minds().sweep_passing(&agents, since.start).await;
        if let Err(error) = swept {
            tracing::warn!(event = "request_session_sweep_failed", %error, "failed to delete the sessions of earlier requests");
        }
    });
    swept.await;
}
