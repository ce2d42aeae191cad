//! The methods a client may call. Everything that touches tools or files goes through the call
//! path.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use manyhands_core::{
    AgentId, CallRequest, Envelope, ErrorCode, Invoke, Outcome, Progress, Step, ToolError,
};
use manyhands_gateway::{Admitted, Gateway, listing};
use manyhands_host::workspace;
use manyhands_wire::{
    Code, ConfigGetParams, ConfigSetParams, ConfigSetResult, ErrorShape, LogsGetParams, Method,
    NodeForgetParams, NodesListResult, Payload, ProcessUnwatchParams, ProcessUnwatchResult,
    ProcessWatchResult, Request, SessionDeleteParams, SessionGetParams, SessionResetParams,
    SessionStatsParams, SkillsStatusParams, TerminalCloseParams, ToolDefinition, ToolInvokeParams,
    ToolProgressEvent, ToolRequestResult, ToolsListResult, WorkspaceDeleteParams,
    WorkspaceListParams, WorkspaceReadParams, WorkspaceWriteParams,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::Message;

use super::channels;
use super::chat::{self, Runs};
use super::cron;
use super::request::{self, SessionCall};
use super::sessions::SessionMethods;
use super::shape::{parse, shape, value};
use super::terminals::Terminals;
use super::watch::{self, Watches};

/// The socket a request came from.
pub(super) struct Peer<'a> {
    /// Queue of messages to the client.
    pub(super) outbox: &'a mpsc::Sender<Message>,
    /// Runs whose end it must still be told.
    pub(super) runs: &'a Runs,
    /// Its open process watches.
    pub(super) watches: &'a Watches,
    /// Its open terminals.
    pub(super) terminals: &'a Terminals,
    /// Dropped after the response: releases events that must follow it.
    pub(super) answered: OnceLock<oneshot::Sender<()>>,
    /// Event to send after the response.
    pub(super) after: OnceLock<Message>,
    /// Call to make after the response.
    pub(super) then: OnceLock<SessionCall>,
}

/// Handles one request.
pub(super) async fn answer(
    gateway: &Arc<Gateway>,
    admitted: &Admitted,
    request: Request,
    peer: &Peer<'_>,
) -> Result<Value, ErrorShape> {
    let Some(method) = Method::from_name(&request.method) else {
        let message = format!(
            "unknown method {:?}; hello-ok lists the available ones",
            request.method
        );
        return Err(ErrorShape::new(Code::NotFound, message));
    };
    let params = request.params.unwrap_or_else(|| json!({}));
    let calls = ToolCaller { gateway, admitted };
    let sessions = SessionMethods { gateway, admitted };
    match method {
        Method::Connect => Err(ErrorShape::new(
            Code::BadConnect,
            "this socket is already connected",
        )),
        Method::ToolsList => value(&tools(gateway, admitted)),
        Method::ToolInvoke => {
            let params: ToolInvokeParams = parse(params)?;
            let arguments = json!(params.args.unwrap_or_default());
            let progress = match params.progress {
                Some(true) => progress_events(request.id, peer.outbox.clone()),
                _ => Progress::default(),
            };
            let outcome = calls
                .call_with_progress(&params.tool, arguments, params.agent_id, progress)
                .await?;
            value(&Envelope::from(Ok(outcome)))
        }
        Method::ConfigGet => {
            let params: ConfigGetParams = parse(params)?;
            calls
                .view("gsv__ConfigGet", json!({ "path": params.path }), None)
                .await
        }
        Method::ConfigSet => {
            let ConfigSetParams { path, value: new } = parse(params)?;
            calls.must_be_owner()?;
            let set = gateway.set_config(&admitted.caller, &path, new).await;
            let needs_restart = set.map_err(shape)?;
            value(&ConfigSetResult {
                ok: true,
                path,
                needs_restart,
            })
        }
        Method::WorkspaceList => {
            let params: WorkspaceListParams = parse(params)?;
            let path = params.path.unwrap_or_default();
            // With the slash, so that a file of this name is not read instead.
            let directory = format!("{}/", path.trim_end_matches('/'));
            calls
                .view(
                    "gsv__ReadFile",
                    json!({ "path": directory }),
                    params.agent_id,
                )
                .await
        }
        Method::WorkspaceRead => {
            let WorkspaceReadParams { path, agent_id } = parse(params)?;
            let arguments = json!({ "path": path });
            let mut read = calls.tool("gsv__ReadFile", arguments, agent_id).await?;
            // Computed from the returned text: truncated or masked content gets a version that
            // matches no file, so a conditional write based on it fails.
            if let Some(version) = read["content"].as_str().map(workspace::version) {
                read["version"] = json!(version);
            }
            Ok(read)
        }
        Method::WorkspaceWrite => {
            let params: WorkspaceWriteParams = parse(params)?;
            let version = workspace::version(&params.content);
            let arguments = json!({ "path": params.path, "content": params.content });
            // The version check happens inside the call, atomically with the write.
            let mut request = calls.request("gsv__WriteFile", arguments, params.agent_id)?;
            request.if_version = params.if_version.map(Into::into);
            let mut written = calls.invoke(request).await?.value;
            written["version"] = json!(version);
            Ok(written)
        }
        Method::WorkspaceDelete => {
            let params: WorkspaceDeleteParams = parse(params)?;
            calls
                .tool(
                    "gsv__DeleteFile",
                    json!({ "path": params.path }),
                    params.agent_id,
                )
                .await
        }
        Method::LogsGet => {
            let params: LogsGetParams = parse(params)?;
            calls.view("gsv__LogsGet", value(&params)?, None).await
        }
        Method::NodesList => {
            let nodes = gateway.nodes.list();
            let count = nodes.len();
            value(&NodesListResult { nodes, count })
        }
        Method::NodeForget => {
            let NodeForgetParams { node_id, force } = parse(params)?;
            calls.must_be_owner()?;
            let force = force.unwrap_or(false);
            let forgotten = gateway.forget_node(&admitted.caller, &node_id, force).await;
            value(&forgotten.map_err(shape)?)
        }
        Method::ProcessWatch => {
            let opened = watch::open(gateway, admitted, parse(params)?, peer.watches, peer.outbox);
            let (watch_id, answered) = opened.await?.unzip();
            if let Some(answered) = answered {
                let _ = peer.answered.set(answered); // set here and nowhere else
            }
            value(&ProcessWatchResult { watch_id })
        }
        Method::ProcessUnwatch => {
            let ProcessUnwatchParams { watch_id } = parse(params)?;
            let ok = peer.watches.end(&watch_id);
            value(&ProcessUnwatchResult { ok })
        }
        Method::TerminalOpen
        | Method::TerminalInput
        | Method::TerminalResize
        | Method::TerminalClose => {
            calls.must_be_owner()?;
            terminal(gateway, admitted, method, params, peer).await
        }
        Method::ToolResult
        | Method::LogsResult
        | Method::NodeExecEvent
        | Method::TransferMeta
        | Method::TransferAccept
        | Method::TransferComplete
        | Method::TransferDone => {
            let message = format!("{method} is available only to nodes");
            Err(ErrorShape::new(Code::Forbidden, message))
        }
        Method::ChannelInbound | Method::ChannelSent => {
            let message =
                format!("{method} is available only to bridges: connect in mode `channel`");
            Err(ErrorShape::new(Code::Forbidden, message))
        }
        Method::ToolRequest => {
            let request = request::authorize(gateway, admitted, parse(params)?)?;
            let _ = peer.then.set(request); // set here and nowhere else
            value(&ToolRequestResult {
                status: "sent".to_owned(),
            })
        }
        Method::ChatSend => {
            let sent = chat::send(gateway, admitted, parse(params)?, peer.runs).await?;
            if let Some(after) = sent.after {
                let _ = peer.after.set(after); // set here and nowhere else
            }
            value(&sent.result)
        }
        Method::ChatStop => value(&chat::stop(gateway, admitted, &parse(params)?)?),
        Method::SessionsList => value(&sessions.list(parse(params)?).await?),
        Method::SessionGet => {
            let params: SessionGetParams = parse(params)?;
            value(&sessions.get(&params.session_key).await?)
        }
        Method::SessionStats => {
            let params: SessionStatsParams = parse(params)?;
            value(&sessions.stats(&params.session_key).await?)
        }
        Method::SessionReset => {
            let params: SessionResetParams = parse(params)?;
            value(&sessions.reset(&params.session_key).await?)
        }
        Method::SessionPatch => value(&sessions.patch(parse(params)?).await?),
        Method::SessionCompact => value(&sessions.compact(parse(params)?).await?),
        Method::SessionRewind => value(&sessions.rewind(parse(params)?).await?),
        Method::SessionBranch => value(&sessions.branch(parse(params)?).await?),
        Method::SessionDelete => {
            let params: SessionDeleteParams = parse(params)?;
            value(&sessions.delete(&params.session_key).await?)
        }
        Method::SessionHistory => value(&sessions.history(parse(params)?).await?),
        Method::SessionPreview => value(&sessions.preview(parse(params)?).await?),
        Method::CronStatus
        | Method::CronList
        | Method::CronAdd
        | Method::CronUpdate
        | Method::CronRemove
        | Method::CronRun
        | Method::CronRuns => {
            let arguments = cron::arguments(method, params)?;
            match method {
                Method::CronStatus | Method::CronList | Method::CronRuns => {
                    calls.view("gsv__Cron", arguments, None).await
                }
                _ => calls.tool("gsv__Cron", arguments, None).await,
            }
        }
        Method::CronPreview => value(&cron::preview(gateway, parse(params)?)?),
        Method::HeartbeatStatus | Method::HeartbeatStart | Method::HeartbeatTrigger => {
            calls.must_be_owner()?;
            cron::heartbeat(gateway, admitted, method, params).await
        }
        Method::ChannelsList
        | Method::ChannelStart
        | Method::ChannelStop
        | Method::ChannelStatus
        | Method::ChannelLogin
        | Method::ChannelLogout
        | Method::PairList
        | Method::PairApprove
        | Method::PairReject => {
            calls.must_be_owner()?;
            channels::answer(gateway, admitted, method, params).await
        }
        Method::SkillsStatus | Method::SkillsUpdate => {
            let SkillsStatusParams { agent_id } = parse(params)?;
            let agent = agent_id.as_deref().unwrap_or("main").parse::<AgentId>();
            let agent = agent.map_err(|e| shape(ToolError::parameter("agentId", e.to_string())))?;
            let status = gateway.skills_status(&admitted.caller, &agent).await;
            value(&status.map_err(shape)?)
        }
    }
}

/// Handles `terminal.*` for the owner.
async fn terminal(
    gateway: &Arc<Gateway>,
    admitted: &Admitted,
    method: Method,
    params: Value,
    peer: &Peer<'_>,
) -> Result<Value, ErrorShape> {
    let terminals = peer.terminals;
    match method {
        Method::TerminalOpen => {
            let opened = terminals.start(gateway, admitted, parse(params)?, peer.outbox);
            let (result, answered) = opened.await?;
            let _ = peer.answered.set(answered); // set once per request
            value(&result)
        }
        Method::TerminalInput => value(&terminals.input(parse(params)?).await?),
        Method::TerminalResize => value(&terminals.resize(parse(params)?).await?),
        _ => {
            let TerminalCloseParams { terminal_id } = parse(params)?;
            value(&terminals.close(&terminal_id).await?)
        }
    }
}

/// Sends progress and output of a call. Events that find no room are dropped: the next one
/// supersedes them, and the result contains everything.
fn progress_events(request_id: String, outbox: mpsc::Sender<Message>) -> Progress {
    // Output carries the last step, because each event has the whole progress.
    let last = Arc::new(Mutex::new(Step::default()));
    let send = move |step: Step, output: Option<String>| {
        let event = ToolProgressEvent {
            request_id: request_id.clone(),
            done: step.done,
            total: step.total,
            message: step.message,
            output,
        };
        let _ = outbox.try_send(Message::Text(event.encode().into()));
    };
    let (latest, print) = (last.clone(), send.clone());
    let latest_of =
        |last: &Mutex<Step>| last.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Progress::to(move |step: Step| {
        *last.lock().unwrap_or_else(PoisonError::into_inner) = step.clone();
        send(step, None);
    })
    .with_output(move |text| print(latest_of(&latest), Some(text.to_owned())))
}

/// The tools the caller may use; empty for a node.
pub(super) fn tools(gateway: &Gateway, admitted: &Admitted) -> ToolsListResult {
    let tools = listing::for_caller(
        &*gateway.path,
        &gateway.path.catalogue(),
        &admitted.caller,
        &listing::Surface::All,
    );
    let define = |tool: listing::ToolListing| ToolDefinition {
        name: tool.name,
        description: tool.description,
        input_schema: tool.input_schema,
    };
    ToolsListResult {
        tools: tools.into_iter().map(define).collect(),
    }
}

struct ToolCaller<'a> {
    gateway: &'a Gateway,
    admitted: &'a Admitted,
}

impl ToolCaller<'_> {
    async fn tool(
        &self,
        tool: &str,
        arguments: Value,
        agent: Option<String>,
    ) -> Result<Value, ErrorShape> {
        self.call(tool, arguments, agent)
            .await
            .map(|outcome| outcome.value)
    }

    /// Lists something. For the owner, whose page asks again whenever it is shown, that is no entry of the audit.
    async fn view(
        &self,
        tool: &str,
        arguments: Value,
        agent: Option<String>,
    ) -> Result<Value, ErrorShape> {
        let mut request = self.request(tool, arguments, agent)?;
        request.is_view = self.admitted.caller.is_owner();
        self.invoke(request).await.map(|outcome| outcome.value)
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Value,
        agent: Option<String>,
    ) -> Result<Outcome, ErrorShape> {
        self.call_with_progress(tool, arguments, agent, Progress::default())
            .await
    }

    async fn call_with_progress(
        &self,
        tool: &str,
        arguments: Value,
        agent: Option<String>,
        progress: Progress,
    ) -> Result<Outcome, ErrorShape> {
        let mut request = self.request(tool, arguments, agent)?;
        request.progress = progress;
        self.invoke(request).await
    }

    fn request(
        &self,
        tool: &str,
        arguments: Value,
        agent: Option<String>,
    ) -> Result<CallRequest, ErrorShape> {
        let mut request = CallRequest::new(tool, arguments, self.admitted.caller.clone());
        if let Some(agent) = agent {
            let parsed = agent.parse::<AgentId>();
            request.agent =
                parsed.map_err(|e| shape(ToolError::parameter("agentId", e.to_string())))?;
        }
        Ok(request)
    }

    async fn invoke(&self, request: CallRequest) -> Result<Outcome, ErrorShape> {
        let called = self.gateway.invoke(self.admitted, request).await;
        called.map_err(shape)
    }

    fn must_be_owner(&self) -> Result<(), ErrorShape> {
        if self.admitted.caller.is_owner() {
            return Ok(());
        }
        Err(shape(ToolError::new(
            ErrorCode::Forbidden,
            "this method needs the owner's token",
        )))
    }
}
