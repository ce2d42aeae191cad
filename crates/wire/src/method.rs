//! The methods, each with its types.

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
    SessionBranchParams, SessionBranchResult, SessionCompactParams, SessionCompactResult,
    SessionDeleteParams, SessionDeleteResult, SessionGetParams, SessionGetResult,
    SessionHistoryParams, SessionHistoryResult, SessionPatchParams, SessionPatchResult,
    SessionPreviewParams, SessionPreviewResult, SessionResetParams, SessionResetResult,
    SessionRewindParams, SessionRewindResult, SessionStatsParams, SessionStatsResult,
    SessionsListParams, SessionsListResult,
};
use crate::skills::{SkillsStatusParams, SkillsStatusResult, SkillsUpdateParams};
use crate::terminal::{
    TerminalCloseParams, TerminalInputParams, TerminalOpenParams, TerminalOpenResult,
    TerminalResizeParams, TerminalResult,
};
use crate::transfer::{
    TransferAcceptParams, TransferCompleteParams, TransferDoneParams, TransferMetaParams,
};

/// The methods that can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// The first request on every socket.
    Connect,
    /// Tools the caller may use.
    ToolsList,
    /// Calls a tool.
    ToolInvoke,
    /// Calls a tool for a session.
    ToolRequest,
    /// Reads settings, with secrets masked.
    ConfigGet,
    /// Changes a setting.
    ConfigSet,
    /// Lists a workspace folder.
    WorkspaceList,
    /// Reads a workspace file.
    WorkspaceRead,
    /// Writes a workspace file.
    WorkspaceWrite,
    /// Deletes a workspace file.
    WorkspaceDelete,
    /// Result of a call.
    ToolResult,
    /// Log lines, from a node.
    LogsResult,
    /// Event of a background process.
    NodeExecEvent,
    /// Metadata of a file.
    TransferMeta,
    /// Whether a node accepts a file.
    TransferAccept,
    /// Everything was sent.
    TransferComplete,
    /// The file was stored, or not.
    TransferDone,
    /// Log lines of a node, for a client.
    LogsGet,
    /// All registered nodes.
    NodesList,
    /// Removes a node.
    NodeForget,
    /// Watches the output of a background process on a node.
    ProcessWatch,
    /// Ends a watch.
    ProcessUnwatch,
    /// Opens a terminal on a node.
    TerminalOpen,
    /// Types into a terminal.
    TerminalInput,
    /// Changes the size of a terminal.
    TerminalResize,
    /// Closes a terminal.
    TerminalClose,
    /// Sends a message to an agent.
    ChatSend,
    /// Stops the run of a session.
    ChatStop,
    /// Sessions visible to the caller.
    SessionsList,
    /// One session.
    SessionGet,
    /// One session and its activity.
    SessionStats,
    /// Clears a session.
    SessionReset,
    /// Changes the settings of a session.
    SessionPatch,
    /// Compacts a session.
    SessionCompact,
    /// Rewinds a session to before a message.
    SessionRewind,
    /// Continues a session from an earlier message in a new one.
    SessionBranch,
    /// Deletes a session.
    SessionDelete,
    /// Messages of a session, by page.
    SessionHistory,
    /// Last messages of a session.
    SessionPreview,
    /// Skills of an agent.
    SkillsStatus,
    /// Refreshes the skills of an agent.
    SkillsUpdate,
    /// Status of the scheduler.
    CronStatus,
    /// Jobs visible to the caller: all for the owner, its own for a client token.
    CronList,
    /// Creates a job, which runs with the creator's rights.
    CronAdd,
    /// Changes a job.
    CronUpdate,
    /// Deletes a job and its runs.
    CronRemove,
    /// Runs one job now, or all due jobs.
    CronRun,
    /// Past runs, newest first.
    CronRuns,
    /// Previews a schedule.
    CronPreview,
    /// Heartbeats of agents.
    HeartbeatStatus,
    /// Enables an agent's heartbeat until the settings change.
    HeartbeatStart,
    /// Runs an agent's heartbeat now.
    HeartbeatTrigger,
    /// Chat accounts and their status.
    ChannelsList,
    /// Starts or restarts an account.
    ChannelStart,
    /// Stops an account until it is started again.
    ChannelStop,
    /// Status of an account.
    ChannelStatus,
    /// Stores an account's credentials in the vault and logs it in.
    ChannelLogin,
    /// Removes an account and its credentials.
    ChannelLogout,
    /// Pairing requests.
    PairList,
    /// Approves a pairing request, as a guest or as the owner.
    PairApprove,
    /// Rejects a pairing request.
    PairReject,
    /// An incoming message from a bridge.
    ChannelInbound,
    /// Delivery report from a bridge.
    ChannelSent,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 63] = [
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
        Self::TerminalOpen,
        Self::TerminalInput,
        Self::TerminalResize,
        Self::TerminalClose,
        Self::ChatSend,
        Self::ChatStop,
        Self::SessionsList,
        Self::SessionGet,
        Self::SessionStats,
        Self::SessionReset,
        Self::SessionPatch,
        Self::SessionCompact,
        Self::SessionRewind,
        Self::SessionBranch,
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
            Self::TerminalOpen => "terminal.open",
            Self::TerminalInput => "terminal.input",
            Self::TerminalResize => "terminal.resize",
            Self::TerminalClose => "terminal.close",
            Self::ChatSend => "chat.send",
            Self::ChatStop => "chat.stop",
            Self::SessionsList => "sessions.list",
            Self::SessionGet => "session.get",
            Self::SessionStats => "session.stats",
            Self::SessionReset => "session.reset",
            Self::SessionPatch => "session.patch",
            Self::SessionCompact => "session.compact",
            Self::SessionRewind => "session.rewind",
            Self::SessionBranch => "session.branch",
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

    /// Its description, for the reference.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Connect => "The first request on every socket, within 15 seconds.",
            Self::ToolsList => "Lists the tools the caller may use.",
            Self::ToolInvoke => "Calls a tool; responds when it is done.",
            Self::ToolRequest => {
                "Calls a tool on behalf of a session's agent; responds at once. The result is sent as `chat.tool` events of the session, to all clients that may see it."
            }
            Self::ConfigGet => "Reads one setting or all of them, with secrets masked.",
            Self::ConfigSet => "Changes one setting, if the configuration stays valid.",
            Self::WorkspaceList => "Lists a folder in an agent's workspace.",
            Self::WorkspaceRead => "Reads a file in an agent's workspace.",
            Self::WorkspaceWrite => "Writes a file in an agent's workspace.",
            Self::WorkspaceDelete => "Deletes a file in an agent's workspace.",
            Self::ToolResult => "Result of a call; only the node that was called may send it.",
            Self::LogsResult => "Last log lines of a node.",
            Self::NodeExecEvent => {
                "Event of a background process; a repeated `eventId` is ignored."
            }
            Self::TransferMeta => "Metadata of the requested file.",
            Self::TransferAccept => "Whether a node accepts the offered file.",
            Self::TransferComplete => "The sending node has sent everything.",
            Self::TransferDone => "The file was stored, or not.",
            Self::LogsGet => "Returns the last log lines of a node.",
            Self::NodesList => "Lists all registered nodes.",
            Self::NodeForget => "Removes a node and revokes its token.",
            Self::ProcessWatch => {
                "Watches the output of a background process on a node: sent as `process.output` until the process or the watch ends. It counts as one call of the node's `Process` with `log` for policy, approvals and the audit log. An addition."
            }
            Self::ProcessUnwatch => "Ends a watch. An addition.",
            Self::TerminalOpen => {
                "Opens a terminal with the login shell of a node's user, on a node that was started with `--terminal`; responds when the shell runs. `terminal.output` and `terminal.closed` follow, on this socket only. A socket has at most 8, and they end with it. It counts as one call of the node's `Terminal` for rules and the audit log, from opening to closing. For the owner. An addition."
            }
            Self::TerminalInput => {
                "Types into a terminal. Inputs keep their order if each is sent after the response to the one before. For the owner. An addition."
            }
            Self::TerminalResize => "Changes the size of a terminal; for the owner. An addition.",
            Self::TerminalClose => {
                "Closes a terminal and ends everything that runs in it; responds when that is done. For the owner. An addition."
            }
            Self::ChatSend => {
                "Sends a message to an agent. `chat` and `chat.tool` events follow. The owner may use every session, a client token only its own, and a read-only token none."
            }
            Self::ChatStop => "Stops the active run of a session.",
            Self::SessionsList => {
                "Lists the sessions visible to the caller: all for the owner, its own for a client token."
            }
            Self::SessionGet => "Returns one session.",
            Self::SessionStats => "Returns one session and its activity.",
            Self::SessionReset => "Clears a session; its messages are archived.",
            Self::SessionPatch => {
                "Changes the settings of a session. Omitted fields stay unchanged, and null resets a field to the agent's default."
            }
            Self::SessionCompact => {
                "Removes all but the last messages from the model's context; they are archived."
            }
            Self::SessionRewind => {
                "Removes a user's message and everything after it, so that it can be sent again; the messages are archived. Effects of tools are not undone. 409 while the session has an active or queued run."
            }
            Self::SessionBranch => {
                "Creates a session of the same agent with the messages before a user's message and the same settings; the original is not changed. An addition."
            }
            Self::SessionDelete => {
                "Deletes a session with its messages and archives; its active run is stopped. Effects of tools, the audit log, usage records, files and artifacts are kept. An addition."
            }
            Self::SessionHistory => {
                "Returns messages of a session, by page from its end, and its former ids."
            }
            Self::SessionPreview => "Returns the last messages of a session.",
            Self::SkillsStatus => {
                "Lists the skills of an agent and whether they are available; for callers that may read workspace files."
            }
            Self::SkillsUpdate => {
                "The same, refreshed. Nothing is cached, so both return the same."
            }
            Self::CronStatus => "Returns the status of the scheduler.",
            Self::CronList => {
                "Lists the jobs visible to the caller: all for the owner, its own for a client token."
            }
            Self::CronAdd => "Creates a job, which runs with the rights of its creator.",
            Self::CronUpdate => "Changes a job.",
            Self::CronRemove => "Deletes a job and its runs.",
            Self::CronRun => {
                "Runs one job now, or all due jobs; responds when they have ended, or after two minutes."
            }
            Self::CronRuns => "Lists past runs, newest first.",
            Self::CronPreview => {
                "Previews a schedule: in words, and its next run times. Nothing is stored. An addition."
            }
            Self::HeartbeatStatus => "Lists the heartbeats of agents; for the owner.",
            Self::HeartbeatStart => {
                "Enables an agent's heartbeat until the settings change; for the owner."
            }
            Self::HeartbeatTrigger => {
                "Runs an agent's heartbeat now; 409 while it is running. For the owner."
            }
            Self::ChannelsList => "Lists the chat accounts and their status; for the owner.",
            Self::ChannelStart => "Starts or restarts an account; for the owner.",
            Self::ChannelStop => "Stops an account until it is started again; for the owner.",
            Self::ChannelStatus => "Returns the status of an account; for the owner.",
            Self::ChannelLogin => {
                "Stores an account's credentials in the vault and logs it in; for the owner."
            }
            Self::ChannelLogout => "Removes an account and its credentials; for the owner.",
            Self::PairList => "Lists pairing requests; for the owner.",
            Self::PairApprove => {
                "Approves a pairing request, as a guest or as the owner; for the owner."
            }
            Self::PairReject => "Rejects a pairing request; for the owner.",
            Self::ChannelInbound => {
                "Reports an incoming message on a bridge's service; it is persisted before the response. Only for sockets in mode `channel`, each for the service and account it connected for."
            }
            Self::ChannelSent => {
                "Reports the delivery of a `channel.outbound`, from a bridge that announced `channel.sent`. An addition."
            }
        }
    }

    /// Returns the method with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Returns whether a node may call it; everything else gets 403.
    pub fn open_to_nodes(self) -> bool {
        // An allow list: a node's token can be stolen with its machine, and a method added later stays closed to it
        // by default.
        matches!(self, Self::Connect | Self::ToolsList) || self.only_for_nodes()
    }

    /// Returns whether only bridges use it.
    pub fn only_for_bridges(self) -> bool {
        matches!(self, Self::ChannelInbound | Self::ChannelSent)
    }

    /// Returns whether only nodes use it.
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

/// The parameters of one method, with its result type.
pub trait Params: Serialize + DeserializeOwned + JsonSchema {
    /// The method.
    const METHOD: Method;
    /// The result type.
    type Result: Serialize + DeserializeOwned + JsonSchema;

    /// Decodes the parameters of a request; missing ones count as an empty object. The error can be sent back.
    fn read(params: Option<Value>) -> Result<Self, ErrorShape> {
        let params = params.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        serde_json::from_value(params).map_err(|e| {
            let code = match Self::METHOD {
                Method::Connect => Code::BadConnect,
                _ => Code::BadRequest,
            };
            let method = Self::METHOD;
            // serde's message names the field, which is what the client's author needs.
            ErrorShape::new(code, format!("{method}: invalid parameters: {e}"))
        })
    }

    /// Encodes the request frame.
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
    TerminalOpenParams -> TerminalOpenResult: TerminalOpen,
    TerminalInputParams -> TerminalResult: TerminalInput,
    TerminalResizeParams -> TerminalResult: TerminalResize,
    TerminalCloseParams -> TerminalResult: TerminalClose,
    ChatSendParams -> ChatSendResult: ChatSend,
    ChatStopParams -> ChatStopResult: ChatStop,
    SessionsListParams -> SessionsListResult: SessionsList,
    SessionGetParams -> SessionGetResult: SessionGet,
    SessionStatsParams -> SessionStatsResult: SessionStats,
    SessionResetParams -> SessionResetResult: SessionReset,
    SessionPatchParams -> SessionPatchResult: SessionPatch,
    SessionCompactParams -> SessionCompactResult: SessionCompact,
    SessionRewindParams -> SessionRewindResult: SessionRewind,
    SessionBranchParams -> SessionBranchResult: SessionBranch,
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
    fn method_names_round_trip() {
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
            "workspace.read: invalid parameters: missing field `path`"
        );
        let error = ConnectParams::read(Some(json!({ "minProtocol": 1 }))).unwrap_err();
        assert_eq!(error.code, 103);
    }
}
