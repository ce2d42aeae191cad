//! The v1 WebSocket protocol as types: frames, methods, codes, and the header of binary frames. No behaviour.
//!
//! Unknown fields in incoming messages are ignored, so that clients written for other versions can connect. Absent fields are
//! omitted from outgoing messages instead of being sent as null.

mod binary;
mod bridge;
mod call;
mod channels;
mod chat;
mod code;
mod connect;
mod cron;
mod document;
mod event;
mod frame;
mod method;
mod node;
mod params;
mod process;
mod session;
mod skills;
mod terminal;
mod transfer;

pub use binary::{BinaryFrame, CHUNK, HEADER, TooShort};
pub use bridge::{
    ADDITION_SENT, BridgeLocation, BridgeMedia, BridgeMediaKind, BridgeMessage, BridgeOutgoing,
    BridgePeer, BridgePeerKind, BridgeSender, ChannelInboundParams, ChannelInboundResult,
    ChannelOutboundEvent, ChannelSentParams, ChannelTypingEvent,
};
pub use call::{CallOutcome, CallPicture, CallResult};
pub use channels::{
    ChannelEntry, ChannelLoginParams, ChannelLogoutParams, ChannelResult, ChannelStartParams,
    ChannelStatusParams, ChannelStopParams, ChannelsListParams, ChannelsListResult,
    PairApproveParams, PairEntry, PairListParams, PairListResult, PairRejectParams, PairResult,
};
pub use chat::{
    ChatBlock, ChatError, ChatEventPayload, ChatGapEvent, ChatMessage, ChatRole, ChatSendParams,
    ChatSendResult, ChatState, ChatStopParams, ChatStopResult, ChatTakenEvent, ChatToolEvent,
    ChatToolState, ChatUsage, Directives, ModelName,
};
pub use code::{CLOSE_UNAUTHENTICATED, Code, ErrorShape};
pub use connect::{
    ADDITION_CANCEL, ADDITION_CHECKED, ADDITION_FULL_OUTPUT, ADDITION_OUTPUT, ADDITION_SANDBOXED,
    ADDITION_SESSION, Auth, CONNECT_WITHIN, Client, ClientMode, ConnectParams, Features, HelloKind,
    HelloOk, MAX_OPEN_REQUESTS, NodeRuntime, PROTOCOL, Server, ToolDefinition,
};
pub use cron::{
    CronAddParams, CronJob, CronJobResult, CronJobState, CronListParams, CronListResult,
    CronPreviewParams, CronPreviewResult, CronRan, CronRemoveParams, CronRemoveResult, CronRun,
    CronRunParams, CronRunResult, CronRunsParams, CronRunsResult, CronStatusParams,
    CronStatusResult, CronUpdateParams, HeartbeatStartParams, HeartbeatStartResult, HeartbeatState,
    HeartbeatStatusParams, HeartbeatStatusResult, HeartbeatTriggerParams, HeartbeatTriggerResult,
};
pub use document::{protocol_markdown, protocol_schema};
pub use event::{
    ApprovalsChangedEvent, ChannelsChangedEvent, CronChangedEvent, EventKind, NodesChangedEvent,
    Payload, ToolProgressEvent, ToolsChangedEvent,
};
pub use frame::{Event, Frame, Request, Response};
pub use method::{Method, Params};
pub use node::{
    CAPABILITIES, ExecEvent, LeftOutTool, LogsGetEvent, LogsGetParams, LogsGetResult,
    LogsResultParams, NodeEntry, NodeExecEventParams, NodeExecNotice, NodeForgetParams,
    NodeForgetResult, NodesListParams, NodesListResult, Taken, ToolCancelEvent, ToolInvokeEvent,
    ToolOutputEvent, ToolResultParams,
};
pub use params::{
    ConfigGetParams, ConfigGetResult, ConfigSetParams, ConfigSetResult, ToolInvokeParams,
    ToolInvokeResult, ToolRequestParams, ToolRequestResult, ToolsListParams, ToolsListResult,
    WorkspaceDeleteParams, WorkspaceDeleteResult, WorkspaceListParams, WorkspaceListResult,
    WorkspaceReadParams, WorkspaceReadResult, WorkspaceWriteParams, WorkspaceWriteResult,
};
pub use process::{
    ADDITION_WATCH, ProcessOutputEvent, ProcessUnwatchEvent, ProcessUnwatchParams,
    ProcessUnwatchResult, ProcessWatchEvent, ProcessWatchParams, ProcessWatchResult,
};
pub use session::{
    PreviewContent, PreviewMessage, ResetModeShape, ResetPolicyShape, SessionBranchParams,
    SessionBranchResult, SessionChangedEvent, SessionCompactParams, SessionCompactResult,
    SessionContext, SessionDeleteParams, SessionDeleteResult, SessionDeletedEvent, SessionEntry,
    SessionGetParams, SessionGetResult, SessionHistoryParams, SessionHistoryResult,
    SessionPatchParams, SessionPatchResult, SessionPreviewParams, SessionPreviewResult,
    SessionResetParams, SessionResetResult, SessionRewindParams, SessionRewindResult,
    SessionRunning, SessionRunningCall, SessionSettingsPatch, SessionSettingsShape,
    SessionStatsParams, SessionStatsResult, SessionTokens, SessionsListParams, SessionsListResult,
    WaitingInput,
};
pub use skills::{
    SkillNeedsShape, SkillNode, SkillStatus, SkillsStatusParams, SkillsStatusResult,
    SkillsUpdateParams,
};
pub use terminal::{
    ADDITION_TERMINAL, MAX_TERMINAL_INPUT, MAX_TERMINAL_SIZE, TERMINAL_TOOL, TerminalArgs,
    TerminalCloseEvent, TerminalCloseParams, TerminalClosedEvent, TerminalEnd, TerminalInputEvent,
    TerminalInputParams, TerminalOpenParams, TerminalOpenResult, TerminalOutputEvent,
    TerminalReadEvent, TerminalResizeEvent, TerminalResizeParams, TerminalResult,
};
pub use transfer::{
    TransferAcceptParams, TransferAckEvent, TransferCancelEvent, TransferCompleteParams,
    TransferDoneParams, TransferEndEvent, TransferMetaParams, TransferReceiveEvent,
    TransferSendEvent, TransferStartEvent, WINDOW,
};
