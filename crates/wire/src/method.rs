//! The methods that exist, each with its types.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::bridge::{ChannelInboundParams, ChannelInboundResult, ChannelSentParams};
use crate::channels::{
    ChannelLoginParams, ChannelLogoutParams, ChannelResult, ChannelStartParams,
    ChannelStatusParams, ChannelStopParams, ChannelsListParams, ChannelsListResult,
    PairApproveParams, PairListParams, PairListResult, PairRejectParams, PairResult,
};
use crate::chat::{ChatSendParams, ChatSendResult, ChatStopParams, ChatStopResult};
use crate::code::{Code, ErrorShape};
use crate::connect::{ConnectParams, HelloOk};
use crate::cron::{
    CronAddParams, CronJobResult, CronListParams, CronListResult, CronPreviewParams,
    CronPreviewResult, CronRemoveParams, CronRemoveResult, CronRunParams, CronRunResult,
    CronRunsParams, CronRunsResult, CronStatusParams, CronStatusResult, CronUpdateParams,
    HeartbeatStartParams, HeartbeatStartResult, HeartbeatStatusParams, HeartbeatStatusResult,
    HeartbeatTriggerParams, HeartbeatTriggerResult,
};
use crate::frame::{Frame, Request};
use crate::node::{
    LogsGetParams, LogsGetResult, LogsResultParams, NodeExecEventParams, NodeForgetParams,
    NodeForgetResult, NodesListParams, NodesListResult, Taken, ToolResultParams,
};
use crate::params::{
    ConfigGetParams, ConfigGetResult, ConfigSetParams, ConfigSetResult, ToolInvokeParams,
    ToolInvokeResult, ToolRequestParams, ToolRequestResult, ToolsListParams, ToolsListResult,
    WorkspaceDeleteParams, WorkspaceDeleteResult, WorkspaceListParams, WorkspaceListResult,
    WorkspaceReadParams, WorkspaceReadResult, WorkspaceWriteParams, WorkspaceWriteResult,
};
use crate::process::{
    ProcessUnwatchParams, ProcessUnwatchResult, ProcessWatchParams, ProcessWatchResult,
};
use crate::session::{
    SessionCompactParams, SessionCompactResult, SessionDeleteParams, SessionDeleteResult,
    SessionGetParams, SessionGetResult, SessionHistoryParams, SessionHistoryResult,
    SessionPatchParams, SessionPatchResult, SessionPreviewParams, SessionPreviewResult,
    SessionResetParams, SessionResetResult, SessionRewindParams, SessionRewindResult,
    SessionStatsParams, SessionStatsResult, SessionsListParams, SessionsListResult,
};
use crate::skills::{SkillsStatusParams, SkillsStatusResult, SkillsUpdateParams};
use crate::transfer::{
    TransferAcceptParams, TransferCompleteParams, TransferDoneParams, TransferMetaParams,
};

/// What a request can ask for. Only methods that are served are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// The first request on every socket.
    Connect,
    /// The tools that the caller may call.
    ToolsList,
    /// Calls a tool.
    ToolInvoke,
    /// Calls a tool for a session.
    ToolRequest,
    /// Reads settings, secrets masked.
    ConfigGet,
    /// Changes a setting.
    ConfigSet,
    /// Lists a folder of a workspace.
    WorkspaceList,
    /// Reads a file of a workspace.
    WorkspaceRead,
    /// Writes a file of a workspace.
    WorkspaceWrite,
    /// Deletes a file of a workspace.
    WorkspaceDelete,
    /// What came of a call.
    ToolResult,
    /// The end of a node's log, from the node.
    LogsResult,
    /// News of a program in the background.
    NodeExecEvent,
    /// What a file is.
    TransferMeta,
    /// Whether a node takes a file.
    TransferAccept,
    /// Everything was sent.
    TransferComplete,
    /// The file is in its place, or not.
    TransferDone,
    /// The end of a node's log, for a client.
    LogsGet,
    /// Every node on record.
    NodesList,
    /// Forgets a node.
    NodeForget,
    /// Watches what a program in the background of a node prints.
    ProcessWatch,
    /// Watches it no more.
    ProcessUnwatch,
    /// Says something to an agent.
    ChatSend,
    /// Stops what is running in a session.
    ChatStop,
    /// The sessions that the caller may see.
    SessionsList,
    /// One session.
    SessionGet,
    /// One session, and what it is doing.
    SessionStats,
    /// Begins a session anew.
    SessionReset,
    /// Changes what is set for a session.
    SessionPatch,
    /// Makes a session shorter.
    SessionCompact,
    /// Takes back what was said from a message on.
    SessionRewind,
    /// Deletes a session.
    SessionDelete,
    /// What was said in a session, page by page.
    SessionHistory,
    /// The end of a session.
    SessionPreview,
    /// The skills of an agent.
    SkillsStatus,
    /// Looks at the skills of an agent anew.
    SkillsUpdate,
    /// How the jobs stand.
    CronStatus,
    /// The jobs that the caller may see: all for the owner, its own for a client's token.
    CronList,
    /// Makes a job, which runs with the rights of whoever makes it.
    CronAdd,
    /// Changes a job.
    CronUpdate,
    /// Removes a job with its runs.
    CronRemove,
    /// Runs one job now, or all that are due.
    CronRun,
    /// What came of jobs, the latest first.
    CronRuns,
    /// What a schedule comes to, before a job is made of it.
    CronPreview,
    /// How the heartbeats of agents stand.
    HeartbeatStatus,
    /// Switches an agent's heartbeat on, until the settings change.
    HeartbeatStart,
    /// Has an agent look now whether there is something to do.
    HeartbeatTrigger,
    /// The accounts on chat platforms, and how they stand.
    ChannelsList,
    /// Starts an account, or begins anew with it.
    ChannelStart,
    /// Stops an account, until it is started again.
    ChannelStop,
    /// How an account stands.
    ChannelStatus,
    /// Gives an account its credentials, which go into the vault.
    ChannelLogin,
    /// Forgets an account and its credentials.
    ChannelLogout,
    /// People who ask to be known, and those who were decided about.
    PairList,
    /// Lets somebody speak, as a guest or as the owner.
    PairApprove,
    /// Lets somebody not speak.
    PairReject,
    /// Somebody said something on a bridge's service.
    ChannelInbound,
    /// What became of what a bridge was given.
    ChannelSent,
}

impl Method {
    /// Every method there is.
    pub const ALL: [Self; 58] = [
        Self::Connect,
        Self::ToolsList,
        Self::ToolInvoke,
        Self::ToolRequest,
        Self::ConfigGet,
        Self::ConfigSet,
        Self::WorkspaceList,
        Self::WorkspaceRead,
        Self::WorkspaceWrite,
        Self::WorkspaceDelete,
        Self::ToolResult,
        Self::LogsResult,
        Self::NodeExecEvent,
        Self::TransferMeta,
        Self::TransferAccept,
        Self::TransferComplete,
        Self::TransferDone,
        Self::LogsGet,
        Self::NodesList,
        Self::NodeForget,
        Self::ProcessWatch,
        Self::ProcessUnwatch,
        Self::ChatSend,
        Self::ChatStop,
        Self::SessionsList,
        Self::SessionGet,
        Self::SessionStats,
        Self::SessionReset,
        Self::SessionPatch,
        Self::SessionCompact,
        Self::SessionRewind,
        Self::SessionDelete,
        Self::SessionHistory,
        Self::SessionPreview,
        Self::SkillsStatus,
        Self::SkillsUpdate,
        Self::CronStatus,
        Self::CronList,
        Self::CronAdd,
        Self::CronUpdate,
        Self::CronRemove,
        Self::CronRun,
        Self::CronRuns,
        Self::CronPreview,
        Self::HeartbeatStatus,
        Self::HeartbeatStart,
        Self::HeartbeatTrigger,
        Self::ChannelsList,
        Self::ChannelStart,
        Self::ChannelStop,
        Self::ChannelStatus,
        Self::ChannelLogin,
        Self::ChannelLogout,
        Self::PairList,
        Self::PairApprove,
        Self::PairReject,
        Self::ChannelInbound,
        Self::ChannelSent,
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::ToolsList => "tools.list",
            Self::ToolInvoke => "tool.invoke",
            Self::ToolRequest => "tool.request",
            Self::ConfigGet => "config.get",
            Self::ConfigSet => "config.set",
            Self::WorkspaceList => "workspace.list",
            Self::WorkspaceRead => "workspace.read",
            Self::WorkspaceWrite => "workspace.write",
            Self::WorkspaceDelete => "workspace.delete",
            Self::ToolResult => "tool.result",
            Self::LogsResult => "logs.result",
            Self::NodeExecEvent => "node.exec.event",
            Self::TransferMeta => "transfer.meta",
            Self::TransferAccept => "transfer.accept",
            Self::TransferComplete => "transfer.complete",
            Self::TransferDone => "transfer.done",
            Self::LogsGet => "logs.get",
            Self::NodesList => "nodes.list",
            Self::NodeForget => "node.forget",
            Self::ProcessWatch => "process.watch",
            Self::ProcessUnwatch => "process.unwatch",
            Self::ChatSend => "chat.send",
            Self::ChatStop => "chat.stop",
            Self::SessionsList => "sessions.list",
            Self::SessionGet => "session.get",
            Self::SessionStats => "session.stats",
            Self::SessionReset => "session.reset",
            Self::SessionPatch => "session.patch",
            Self::SessionCompact => "session.compact",
            Self::SessionRewind => "session.rewind",
            Self::SessionDelete => "session.delete",
            Self::SessionHistory => "session.history",
            Self::SessionPreview => "session.preview",
            Self::SkillsStatus => "skills.status",
            Self::SkillsUpdate => "skills.update",
            Self::CronStatus => "cron.status",
            Self::CronList => "cron.list",
            Self::CronAdd => "cron.add",
            Self::CronUpdate => "cron.update",
            Self::CronRemove => "cron.remove",
            Self::CronRun => "cron.run",
            Self::CronRuns => "cron.runs",
            Self::CronPreview => "cron.preview",
            Self::HeartbeatStatus => "heartbeat.status",
            Self::HeartbeatStart => "heartbeat.start",
            Self::HeartbeatTrigger => "heartbeat.trigger",
            Self::ChannelsList => "channels.list",
            Self::ChannelStart => "channel.start",
            Self::ChannelStop => "channel.stop",
            Self::ChannelStatus => "channel.status",
            Self::ChannelLogin => "channel.login",
            Self::ChannelLogout => "channel.logout",
            Self::PairList => "pair.list",
            Self::PairApprove => "pair.approve",
            Self::PairReject => "pair.reject",
            Self::ChannelInbound => "channel.inbound",
            Self::ChannelSent => "channel.sent",
        }
    }

    /// What it does, for the reference.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Connect => "The first request on every socket, within 15 seconds.",
            Self::ToolsList => "The tools that the caller may call.",
            Self::ToolInvoke => "Calls a tool; answered when it is done.",
            Self::ToolRequest => {
                "Calls a tool in the name of a session's agent; answered at once. What comes of it is told by `chat.tool` events of the session, to everybody who may see it."
            }
            Self::ConfigGet => "Reads one setting or all of them, secrets masked.",
            Self::ConfigSet => "Changes one setting, if the whole configuration stays right.",
            Self::WorkspaceList => "Lists a folder of an agent's workspace.",
            Self::WorkspaceRead => "Reads a file of an agent's workspace.",
            Self::WorkspaceWrite => "Writes a file of an agent's workspace.",
            Self::WorkspaceDelete => "Deletes a file of an agent's workspace.",
            Self::ToolResult => "What came of a call; only the node that was asked may answer.",
            Self::LogsResult => "The end of a node's log.",
            Self::NodeExecEvent => {
                "News of a program that runs in the background; the same `eventId` counts once."
            }
            Self::TransferMeta => "What the file is that a node was asked for.",
            Self::TransferAccept => "Whether a node takes the file it was offered.",
            Self::TransferComplete => "The sending node has sent everything.",
            Self::TransferDone => "The file is in its place, or not.",
            Self::LogsGet => "The end of a node's log.",
            Self::NodesList => "Every node on record.",
            Self::NodeForget => "Forgets a node and takes its own token back.",
            Self::ProcessWatch => {
                "Watches what a program in the background of a node prints: `process.output` tells it until the program or the watch ends. It is one call of the node's `Process` with `log`, allowed, asked about and recorded as such. An addition."
            }
            Self::ProcessUnwatch => "Watches a program no more. An addition.",
            Self::ChatSend => {
                "Says something to an agent. `chat` and `chat.tool` events follow. The owner talks in every session; a client's token only in its own, and a read-only one in none."
            }
            Self::ChatStop => "Stops what is running in a session.",
            Self::SessionsList => {
                "The sessions that the caller may see: all for the owner, its own for a client's token."
            }
            Self::SessionGet => "One session.",
            Self::SessionStats => "One session, and what it is doing.",
            Self::SessionReset => "Begins a session anew; what was said is archived.",
            Self::SessionPatch => {
                "Changes what is set for a session. What is left out stays, and null puts back what the agent says."
            }
            Self::SessionCompact => {
                "Leaves out all but the last messages from what a model is shown; they are archived."
            }
            Self::SessionRewind => {
                "Takes back what was said from a user's message on, so that it can be said anew; it is archived. What tools did stays done. 409 while something runs or waits in the session."
            }
            Self::SessionDelete => {
                "Deletes a session with all that was said in it, its archives too; what runs in it is stopped. What tools did, the audit, what models used up, files and artifacts stay. An addition."
            }
            Self::SessionHistory => {
                "What was said in a session, page by page from its end, and the ids it had."
            }
            Self::SessionPreview => "The end of a session.",
            Self::SkillsStatus => {
                "The skills of an agent, and whether they can be used now; for whoever may read files of workspaces."
            }
            Self::SkillsUpdate => {
                "The same, looked at anew. Nothing is remembered between two looks, so that both say the same."
            }
            Self::CronStatus => "How the jobs stand.",
            Self::CronList => {
                "The jobs that the caller may see: all for the owner, its own for a client's token."
            }
            Self::CronAdd => "Makes a job, which runs with the rights of whoever makes it.",
            Self::CronUpdate => "Changes a job.",
            Self::CronRemove => "Removes a job with its runs.",
            Self::CronRun => {
                "Runs one job now, or all that are due; answered when they have ended, or after two minutes."
            }
            Self::CronRuns => "What came of jobs, the latest first.",
            Self::CronPreview => {
                "What a schedule comes to: in words, and its next instants. Nothing is kept. An addition."
            }
            Self::HeartbeatStatus => "How the heartbeats of agents stand; for the owner.",
            Self::HeartbeatStart => {
                "Switches an agent's heartbeat on, until the settings change; for the owner."
            }
            Self::HeartbeatTrigger => {
                "Has an agent look now whether there is something to do; 409 while it is looking. For the owner."
            }
            Self::ChannelsList => {
                "The accounts on chat platforms, and how they stand; for the owner."
            }
            Self::ChannelStart => "Starts an account, or begins anew with it; for the owner.",
            Self::ChannelStop => "Stops an account, until it is started again; for the owner.",
            Self::ChannelStatus => "How an account stands; for the owner.",
            Self::ChannelLogin => {
                "Gives an account its credentials, which go into the vault; for the owner."
            }
            Self::ChannelLogout => "Forgets an account and its credentials; for the owner.",
            Self::PairList => {
                "People who ask to be known, and those who were decided about; for the owner."
            }
            Self::PairApprove => "Lets somebody speak, as a guest or as the owner; for the owner.",
            Self::PairReject => "Lets somebody not speak; for the owner.",
            Self::ChannelInbound => {
                "Somebody said something on a bridge's service; it is on disk when this is answered. Only for sockets in mode `channel`, each for the service and account it connected for."
            }
            Self::ChannelSent => {
                "What became of a `channel.outbound`, from a bridge that announced `channel.sent`. An addition."
            }
        }
    }

    /// The method called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether a node may call it; anything else it asks for is answered 403.
    pub fn open_to_nodes(self) -> bool {
        matches!(self, Self::Connect | Self::ToolsList) || self.only_for_nodes()
    }

    /// Whether only a bridge has anything to say by it.
    pub fn only_for_bridges(self) -> bool {
        matches!(self, Self::ChannelInbound | Self::ChannelSent)
    }

    /// Whether only a node has anything to say by it.
    pub fn only_for_nodes(self) -> bool {
        matches!(
            self,
            Self::ToolResult
                | Self::LogsResult
                | Self::NodeExecEvent
                | Self::TransferMeta
                | Self::TransferAccept
                | Self::TransferComplete
                | Self::TransferDone
        )
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The parameters of one method, which name it and the type of its result.
pub trait Params: Serialize + DeserializeOwned + JsonSchema {
    /// The method.
    const METHOD: Method;
    /// What it answers with.
    type Result: Serialize + DeserializeOwned + JsonSchema;

    /// Reads the parameters of a request; none counts as an empty object. The
    /// error is ready to be sent back.
    fn read(params: Option<Value>) -> Result<Self, ErrorShape> {
        let params = params.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        serde_json::from_value(params).map_err(|e| {
            let code = match Self::METHOD {
                Method::Connect => Code::BadConnect,
                _ => Code::BadRequest,
            };
            let method = Self::METHOD;
            ErrorShape::new(code, format!("{method}: the parameters do not fit: {e}"))
        })
    }

    /// The text frame that asks for it.
    fn encode(&self, id: &str) -> String {
        let params = serde_json::to_value(self).expect("parameters are plain data with text keys");
        Frame::Req(Request {
            id: id.to_owned(),
            method: Self::METHOD.name().to_owned(),
            params: Some(params),
        })
        .encode()
    }
}

macro_rules! methods {
    ($($params:ident -> $result:ident: $method:ident,)*) => {
        $(impl Params for $params {
            const METHOD: Method = Method::$method;
            type Result = $result;
        })*
    };
}

methods! {
    ConnectParams -> HelloOk: Connect,
    ToolsListParams -> ToolsListResult: ToolsList,
    ToolInvokeParams -> ToolInvokeResult: ToolInvoke,
    ToolRequestParams -> ToolRequestResult: ToolRequest,
    ConfigGetParams -> ConfigGetResult: ConfigGet,
    ConfigSetParams -> ConfigSetResult: ConfigSet,
    WorkspaceListParams -> WorkspaceListResult: WorkspaceList,
    WorkspaceReadParams -> WorkspaceReadResult: WorkspaceRead,
    WorkspaceWriteParams -> WorkspaceWriteResult: WorkspaceWrite,
    WorkspaceDeleteParams -> WorkspaceDeleteResult: WorkspaceDelete,
    ToolResultParams -> Taken: ToolResult,
    LogsResultParams -> Taken: LogsResult,
    NodeExecEventParams -> Taken: NodeExecEvent,
    TransferMetaParams -> Taken: TransferMeta,
    TransferAcceptParams -> Taken: TransferAccept,
    TransferCompleteParams -> Taken: TransferComplete,
    TransferDoneParams -> Taken: TransferDone,
    LogsGetParams -> LogsGetResult: LogsGet,
    NodesListParams -> NodesListResult: NodesList,
    NodeForgetParams -> NodeForgetResult: NodeForget,
    ProcessWatchParams -> ProcessWatchResult: ProcessWatch,
    ProcessUnwatchParams -> ProcessUnwatchResult: ProcessUnwatch,
    ChatSendParams -> ChatSendResult: ChatSend,
    ChatStopParams -> ChatStopResult: ChatStop,
    SessionsListParams -> SessionsListResult: SessionsList,
    SessionGetParams -> SessionGetResult: SessionGet,
    SessionStatsParams -> SessionStatsResult: SessionStats,
    SessionResetParams -> SessionResetResult: SessionReset,
    SessionPatchParams -> SessionPatchResult: SessionPatch,
    SessionCompactParams -> SessionCompactResult: SessionCompact,
    SessionRewindParams -> SessionRewindResult: SessionRewind,
    SessionDeleteParams -> SessionDeleteResult: SessionDelete,
    SessionHistoryParams -> SessionHistoryResult: SessionHistory,
    SessionPreviewParams -> SessionPreviewResult: SessionPreview,
    SkillsStatusParams -> SkillsStatusResult: SkillsStatus,
    SkillsUpdateParams -> SkillsStatusResult: SkillsUpdate,
    CronStatusParams -> CronStatusResult: CronStatus,
    CronListParams -> CronListResult: CronList,
    CronAddParams -> CronJobResult: CronAdd,
    CronUpdateParams -> CronJobResult: CronUpdate,
    CronRemoveParams -> CronRemoveResult: CronRemove,
    CronRunParams -> CronRunResult: CronRun,
    CronRunsParams -> CronRunsResult: CronRuns,
    CronPreviewParams -> CronPreviewResult: CronPreview,
    HeartbeatStatusParams -> HeartbeatStatusResult: HeartbeatStatus,
    HeartbeatStartParams -> HeartbeatStartResult: HeartbeatStart,
    HeartbeatTriggerParams -> HeartbeatTriggerResult: HeartbeatTrigger,
    ChannelsListParams -> ChannelsListResult: ChannelsList,
    ChannelStartParams -> ChannelResult: ChannelStart,
    ChannelStopParams -> ChannelResult: ChannelStop,
    ChannelStatusParams -> ChannelResult: ChannelStatus,
    ChannelLoginParams -> ChannelResult: ChannelLogin,
    ChannelLogoutParams -> ChannelResult: ChannelLogout,
    PairListParams -> PairListResult: PairList,
    PairApproveParams -> PairResult: PairApprove,
    PairRejectParams -> PairResult: PairReject,
    ChannelInboundParams -> ChannelInboundResult: ChannelInbound,
    ChannelSentParams -> Taken: ChannelSent,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_lead_back_to_their_methods() {
        for method in Method::ALL {
            assert_eq!(Method::from_name(method.name()), Some(method));
        }
        assert_eq!(Method::from_name("chat.sent"), None);
        assert_eq!(Method::from_name("Connect"), None);
    }

    #[test]
    fn a_node_may_connect_list_and_answer_and_nothing_more() {
        let open: Vec<&str> = Method::ALL
            .into_iter()
            .filter(|method| method.open_to_nodes())
            .map(Method::name)
            .collect();
        assert_eq!(
            open,
            [
                "connect",
                "tools.list",
                "tool.result",
                "logs.result",
                "node.exec.event",
                "transfer.meta",
                "transfer.accept",
                "transfer.complete",
                "transfer.done",
            ]
        );
    }

    #[test]
    fn absent_parameters_are_an_empty_object() {
        assert_eq!(ConfigGetParams::read(None), Ok(ConfigGetParams::default()));
        let error = WorkspaceReadParams::read(None).unwrap_err();
        assert_eq!(error.code, 400);
        assert_eq!(
            error.message,
            "workspace.read: the parameters do not fit: missing field `path`"
        );
        let error = ConnectParams::read(Some(json!({ "minProtocol": 1 }))).unwrap_err();
        assert_eq!(error.code, 103);
    }
}
