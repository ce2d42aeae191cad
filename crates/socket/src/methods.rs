//! The methods a client may call. Whatever touches tools or files goes down the path.

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
    SessionStatsParams, SkillsStatusParams, ToolDefinition, ToolInvokeParams, ToolProgressEvent,
    ToolRequestResult, ToolsListResult, WorkspaceDeleteParams, WorkspaceListParams,
    WorkspaceReadParams, WorkspaceWriteParams,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::Message;

use super::channels;
use super::chat::{self, Runs};
use super::cron;
use super::request::{self, Requested};
use super::sessions::Desk;
use super::shape::{parse, shape, value};
use super::watch::{self, Watches};

/// The socket that asks.
pub(super) struct Peer<'a> {
    /// What is to be sent to it.
    pub(super) outbox: &'a mpsc::Sender<Message>,
    /// What it is still to hear of.
    pub(super) runs: &'a Runs,
    /// What it watches.
    pub(super) watches: &'a Watches,
    /// Dropped after the answer, for what must not be told before it.
    pub(super) answered: OnceLock<oneshot::Sender<()>>,
    /// What it is told after the answer.
    pub(super) after: OnceLock<Message>,
    /// What is done after the answer.
    pub(super) then: OnceLock<Requested>,
}

/// Answers one request.
pub(super) async fn answer(
    gateway: &Arc<Gateway>,
    asker: &Admitted,
    request: Request,
    peer: &Peer<'_>,
) -> Result<Value, ErrorShape> {
    let Some(method) = Method::from_name(&request.method) else {
        let message = format!(
            "there is no method {:?}; hello-ok lists what there is",
            request.method
        );
        return Err(ErrorShape::new(Code::NotFound, message));
    };
    let params = request.params.unwrap_or_else(|| json!({}));
    let asked = Asked { gateway, asker };
    let desk = Desk { gateway, asker };
    match method {
        Method::Connect => Err(ErrorShape::new(
            Code::BadConnect,
            "this socket is connected already",
        )),
        Method::ToolsList => value(&tools(gateway, asker)),
        Method::ToolInvoke => {
            let params: ToolInvokeParams = parse(params)?;
            let arguments = json!(params.args.unwrap_or_default());
            let progress = match params.progress {
                Some(true) => tell_progress(request.id, peer.outbox.clone()),
                _ => Progress::default(),
            };
            let outcome = asked
                .call_telling(&params.tool, arguments, params.agent_id, progress)
                .await?;
            value(&Envelope::from(Ok(outcome)))
        }
        Method::ConfigGet => {
            let params: ConfigGetParams = parse(params)?;
            asked
                .tool("gsv__ConfigGet", json!({ "path": params.path }), None)
                .await
        }
        Method::ConfigSet => {
            let ConfigSetParams { path, value: new } = parse(params)?;
            asked.must_be_owner()?;
            let set = gateway.set_config(&asker.caller, &path, new).await;
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
            let directory = format!("{}/", path.trim_end_matches('/'));
            asked
                .tool(
                    "gsv__ReadFile",
                    json!({ "path": directory }),
                    params.agent_id,
                )
                .await
        }
        Method::WorkspaceRead => {
            let WorkspaceReadParams { path, agent_id } = parse(params)?;
            let arguments = json!({ "path": path });
            let mut read = asked.tool("gsv__ReadFile", arguments, agent_id).await?;
            // Of what is told: a text that was cut or masked is no version of the file.
            if let Some(version) = read["content"].as_str().map(workspace::version) {
                read["version"] = json!(version);
            }
            Ok(read)
        }
        Method::WorkspaceWrite => {
            let params: WorkspaceWriteParams = parse(params)?;
            let version = workspace::version(&params.content);
            let arguments = json!({ "path": params.path, "content": params.content });
            let mut request = asked.request("gsv__WriteFile", arguments, params.agent_id)?;
            request.if_version = params.if_version.map(Into::into);
            let mut written = asked.invoke(request).await?.value;
            written["version"] = json!(version);
            Ok(written)
        }
        Method::WorkspaceDelete => {
            let params: WorkspaceDeleteParams = parse(params)?;
            asked
                .tool(
                    "gsv__DeleteFile",
                    json!({ "path": params.path }),
                    params.agent_id,
                )
                .await
        }
        Method::LogsGet => {
            let params: LogsGetParams = parse(params)?;
            asked.tool("gsv__LogsGet", value(&params)?, None).await
        }
        Method::NodesList => {
            let nodes = gateway.nodes.list();
            let count = nodes.len();
            value(&NodesListResult { nodes, count })
        }
        Method::NodeForget => {
            let NodeForgetParams { node_id, force } = parse(params)?;
            asked.must_be_owner()?;
            let force = force.unwrap_or(false);
            let forgotten = gateway.forget_node(&asker.caller, &node_id, force).await;
            value(&forgotten.map_err(shape)?)
        }
        Method::ProcessWatch => {
            let opened = watch::open(gateway, asker, parse(params)?, peer.watches, peer.outbox);
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
        Method::ToolResult
        | Method::LogsResult
        | Method::NodeExecEvent
        | Method::TransferMeta
        | Method::TransferAccept
        | Method::TransferComplete
        | Method::TransferDone => {
            let message = format!("only a node says {method}");
            Err(ErrorShape::new(Code::Forbidden, message))
        }
        Method::ChannelInbound | Method::ChannelSent => {
            let message = format!("only a bridge says {method}: connect in mode `channel`");
            Err(ErrorShape::new(Code::Forbidden, message))
        }
        Method::ToolRequest => {
            let request = request::requested(gateway, asker, parse(params)?)?;
            let _ = peer.then.set(request); // set here and nowhere else
            value(&ToolRequestResult {
                status: "sent".to_owned(),
            })
        }
        Method::ChatSend => {
            let sent = chat::send(gateway, asker, parse(params)?, peer.runs).await?;
            if let Some(after) = sent.after {
                let _ = peer.after.set(after); // set here and nowhere else
            }
            value(&sent.result)
        }
        Method::ChatStop => value(&chat::stop(gateway, asker, &parse(params)?)?),
        Method::SessionsList => value(&desk.list(parse(params)?).await?),
        Method::SessionGet => {
            let params: SessionGetParams = parse(params)?;
            value(&desk.get(&params.session_key).await?)
        }
        Method::SessionStats => {
            let params: SessionStatsParams = parse(params)?;
            value(&desk.stats(&params.session_key).await?)
        }
        Method::SessionReset => {
            let params: SessionResetParams = parse(params)?;
            value(&desk.reset(&params.session_key).await?)
        }
        Method::SessionPatch => value(&desk.patch(parse(params)?).await?),
        Method::SessionCompact => value(&desk.compact(parse(params)?).await?),
        Method::SessionRewind => value(&desk.rewind(parse(params)?).await?),
        Method::SessionDelete => {
            let params: SessionDeleteParams = parse(params)?;
            value(&desk.delete(&params.session_key).await?)
        }
        Method::SessionHistory => value(&desk.history(parse(params)?).await?),
        Method::SessionPreview => value(&desk.preview(parse(params)?).await?),
        Method::CronStatus
        | Method::CronList
        | Method::CronAdd
        | Method::CronUpdate
        | Method::CronRemove
        | Method::CronRun
        | Method::CronRuns => {
            let arguments = cron::arguments(method, params)?;
            asked.tool("gsv__Cron", arguments, None).await
        }
        Method::CronPreview => value(&cron::preview(gateway, parse(params)?)?),
        Method::HeartbeatStatus | Method::HeartbeatStart | Method::HeartbeatTrigger => {
            asked.must_be_owner()?;
            cron::heartbeat(gateway, asker, method, params).await
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
            asked.must_be_owner()?;
            channels::answer(gateway, asker, method, params).await
        }
        Method::SkillsStatus | Method::SkillsUpdate => {
            let SkillsStatusParams { agent_id } = parse(params)?;
            let agent = agent_id.as_deref().unwrap_or("main").parse::<AgentId>();
            let agent = agent.map_err(|e| shape(ToolError::parameter("agentId", e.to_string())))?;
            let status = gateway.skills_status(&asker.caller, &agent).await;
            value(&status.map_err(shape)?)
        }
    }
}

/// Tells the asker how far its call is and what it prints; what finds no room is left out, for the
/// next step says more, and the result all of it.
fn tell_progress(request_id: String, outbox: mpsc::Sender<Message>) -> Progress {
    let last = Arc::new(Mutex::new(Step::default()));
    let tell = move |step: Step, output: Option<String>| {
        let told = ToolProgressEvent {
            request_id: request_id.clone(),
            done: step.done,
            total: step.total,
            message: step.message,
            output,
        };
        let _ = outbox.try_send(Message::Text(told.encode().into()));
    };
    let (latest, print) = (last.clone(), tell.clone());
    let latest_of =
        |last: &Mutex<Step>| last.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Progress::to(move |step: Step| {
        *last.lock().unwrap_or_else(PoisonError::into_inner) = step.clone();
        tell(step, None);
    })
    .printing(move |text| print(latest_of(&latest), Some(text.to_owned())))
}

/// The tools somebody may call; a node may call none.
pub(super) fn tools(gateway: &Gateway, asker: &Admitted) -> ToolsListResult {
    let tools = listing::for_caller(
        &*gateway.path,
        &gateway.path.catalogue(),
        &asker.caller,
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

struct Asked<'a> {
    gateway: &'a Gateway,
    asker: &'a Admitted,
}

impl Asked<'_> {
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

    async fn call(
        &self,
        tool: &str,
        arguments: Value,
        agent: Option<String>,
    ) -> Result<Outcome, ErrorShape> {
        self.call_telling(tool, arguments, agent, Progress::default())
            .await
    }

    async fn call_telling(
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
        let mut request = CallRequest::new(tool, arguments, self.asker.caller.clone());
        if let Some(agent) = agent {
            let parsed = agent.parse::<AgentId>();
            request.agent =
                parsed.map_err(|e| shape(ToolError::parameter("agentId", e.to_string())))?;
        }
        Ok(request)
    }

    async fn invoke(&self, request: CallRequest) -> Result<Outcome, ErrorShape> {
        let called = self.gateway.invoke(self.asker, request).await;
        called.map_err(shape)
    }

    fn must_be_owner(&self) -> Result<(), ErrorShape> {
        if self.asker.caller.is_owner() {
            return Ok(());
        }
        Err(shape(ToolError::new(
            ErrorCode::Forbidden,
            "only the owner changes the configuration",
        )))
    }
}
