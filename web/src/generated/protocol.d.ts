// Made from docs/protocol.json by `npm run types`; not to be changed by hand.

/**
 * Kind of attachment.
 */
export type BridgeMediaKind = ("image" | "audio" | "video" | "document")
/**
 * Kind of chat.
 */
export type BridgePeerKind = ("dm" | "group" | "channel" | "thread")
/**
 * A block of a message.
 */
export type ChatBlock = ({
/**
 * The text.
 */
text: string
type: "text"
} | {
/**
 * The text, or the provider's summary of it.
 */
thinking: string
type: "thinking"
} | {
/**
 * Its arguments.
 */
arguments: {
[k: string]: unknown
}
/**
 * The model's id of the call.
 */
id: string
/**
 * The tool.
 */
name: string
type: "toolCall"
} | {
/**
 * MIME type.
 */
mimeType: string
/**
 * `SEQ/INDEX`: its bytes are at `GET /api/sessions/{key}/pictures/{seq}/{index}`; an addition.
 */
ref?: (string | null)
type: "image"
})
/**
 * How a call ended.
 */
export type CallOutcome = ("ok" | "failed" | "denied" | "stopped")
/**
 * Author of a message.
 */
export type ChatRole = ("user" | "assistant" | "toolResult")
/**
 * Kind of `chat` event.
 */
export type ChatState = ("partial" | "delta" | "paused" | "final" | "error")
/**
 * State of a tool call.
 */
export type ChatToolState = ("started" | "output" | "done")
/**
 * Kind of process event.
 */
export type ExecEvent = ("started" | "finished" | "failed" | "timed_out")
/**
 * Result of sending a message.
 */
export type ChatSendResult = ({
/**
 * Directives for this message.
 */
directives?: (Directives | null)
/**
 * Whether it is queued behind another message.
 */
queued: boolean
/**
 * The run.
 */
runId: string
status: "started"
} | {
/**
 * The command, without its slash.
 */
command: string
/**
 * Why it failed.
 */
error?: (string | null)
/**
 * The response.
 */
response: string
status: "command"
} | {
/**
 * The directives that were recognised.
 */
directives: Directives
/**
 * What to do instead.
 */
response: string
status: "directive-only"
} | {
/**
 * The approval request, if known.
 */
approvalId?: (string | null)
/**
 * What the run is waiting for.
 */
response: string
/**
 * The run.
 */
runId: string
status: "paused"
})
/**
 * One setting or all of them, with secrets masked.
 */
export type ConfigGetResult = ({
/**
 * Its path.
 */
path: string
/**
 * Its value.
 */
value: {
[k: string]: unknown
}
} | {
/**
 * The whole configuration.
 */
config: {
[k: string]: unknown
}
})
/**
 * Role of a client.
 */
export type ClientMode = ("client" | "node" | "channel")
/**
 * Type tag of a hello.
 */
export type HelloKind = "hello-ok"
/**
 * When a session is cleared automatically.
 */
export type ResetModeShape = ("manual" | "daily" | "idle")
/**
 * Contents of a message in a preview.
 */
export type PreviewContent = (string | ChatBlock[])

/**
 * Generated from crates/wire; run `UPDATE_DOCS=1 cargo test -p manyhands-wire` after a change.
 */
export interface Protocol {
error: ErrorShape
events: {
"approvals.changed": ApprovalsChangedEvent
"channel.outbound": ChannelOutboundEvent
"channel.typing": ChannelTypingEvent
"channels.changed": ChannelsChangedEvent
chat: ChatEventPayload
"chat.gap": ChatGapEvent
"chat.taken": ChatTakenEvent
"chat.tool": ChatToolEvent
"cron.changed": CronChangedEvent
"logs.get": LogsGetEvent
"node.exec.event": NodeExecNotice
"nodes.changed": NodesChangedEvent
"process.output": ProcessOutputEvent
"process.unwatch": ProcessUnwatchEvent
"process.watch": ProcessWatchEvent
"session.changed": SessionChangedEvent
"session.deleted": SessionDeletedEvent
"terminal.close": TerminalCloseEvent
"terminal.closed": TerminalClosedEvent
"terminal.input": TerminalInputEvent
"terminal.output": TerminalOutputEvent
"terminal.read": TerminalReadEvent
"terminal.resize": TerminalResizeEvent
"tool.cancel": ToolCancelEvent
"tool.invoke": ToolInvokeEvent
"tool.output": ToolOutputEvent
"tool.progress": ToolProgressEvent
"tools.changed": ToolsChangedEvent
"transfer.ack": TransferAckEvent
"transfer.cancel": TransferCancelEvent
"transfer.end": TransferEndEvent
"transfer.receive": TransferReceiveEvent
"transfer.send": TransferSendEvent
"transfer.start": TransferStartEvent
}
methods: {
/**
 * Reports an incoming message on a bridge's service; it is persisted before the response. Only for sockets in mode `channel`, each for the service and account it connected for.
 */
"channel.inbound": {
params: ChannelInboundParams
result: ChannelInboundResult
}
/**
 * Stores an account's credentials in the vault and logs it in; for the owner.
 */
"channel.login": {
params: ChannelLoginParams
result: ChannelResult
}
/**
 * Removes an account and its credentials; for the owner.
 */
"channel.logout": {
params: ChannelLogoutParams
result: ChannelResult
}
/**
 * Reports the delivery of a `channel.outbound`, from a bridge that announced `channel.sent`. An addition.
 */
"channel.sent": {
params: ChannelSentParams
result: Taken
}
/**
 * Starts or restarts an account; for the owner.
 */
"channel.start": {
params: ChannelStartParams
result: ChannelResult
}
/**
 * Returns the status of an account; for the owner.
 */
"channel.status": {
params: ChannelStatusParams
result: ChannelResult
}
/**
 * Stops an account until it is started again; for the owner.
 */
"channel.stop": {
params: ChannelStopParams
result: ChannelResult
}
/**
 * Lists the chat accounts and their status; for the owner.
 */
"channels.list": {
params: ChannelsListParams
result: ChannelsListResult
}
/**
 * Sends a message to an agent. `chat` and `chat.tool` events follow. The owner may use every session, a client token only its own, and a read-only token none.
 */
"chat.send": {
params: ChatSendParams
result: ChatSendResult
}
/**
 * Stops the active run of a session.
 */
"chat.stop": {
params: ChatStopParams
result: ChatStopResult
}
/**
 * Reads one setting or all of them, with secrets masked.
 */
"config.get": {
params: ConfigGetParams
result: ConfigGetResult
}
/**
 * Changes one setting, if the configuration stays valid.
 */
"config.set": {
params: ConfigSetParams
result: ConfigSetResult
}
/**
 * The first request on every socket, within 15 seconds.
 */
connect: {
params: ConnectParams
result: HelloOk
}
/**
 * Creates a job, which runs with the rights of its creator.
 */
"cron.add": {
params: CronAddParams
result: CronJobResult
}
/**
 * Lists the jobs visible to the caller: all for the owner, its own for a client token.
 */
"cron.list": {
params: CronListParams
result: CronListResult
}
/**
 * Previews a schedule: in words, and its next run times. Nothing is stored. An addition.
 */
"cron.preview": {
params: CronPreviewParams
result: CronPreviewResult
}
/**
 * Deletes a job and its runs.
 */
"cron.remove": {
params: CronRemoveParams
result: CronRemoveResult
}
/**
 * Runs one job now, or all due jobs; responds when they have ended, or after two minutes.
 */
"cron.run": {
params: CronRunParams
result: CronRunResult
}
/**
 * Lists past runs, newest first.
 */
"cron.runs": {
params: CronRunsParams
result: CronRunsResult
}
/**
 * Returns the status of the scheduler.
 */
"cron.status": {
params: CronStatusParams
result: CronStatusResult
}
/**
 * Changes a job.
 */
"cron.update": {
params: CronUpdateParams
result: CronJobResult
}
/**
 * Enables an agent's heartbeat until the settings change; for the owner.
 */
"heartbeat.start": {
params: HeartbeatStartParams
result: HeartbeatStartResult
}
/**
 * Lists the heartbeats of agents; for the owner.
 */
"heartbeat.status": {
params: HeartbeatStatusParams
result: HeartbeatStatusResult
}
/**
 * Runs an agent's heartbeat now; 409 while it is running. For the owner.
 */
"heartbeat.trigger": {
params: HeartbeatTriggerParams
result: HeartbeatTriggerResult
}
/**
 * Returns the last log lines of a node.
 */
"logs.get": {
params: LogsGetParams
result: LogsGetResult
}
/**
 * Last log lines of a node.
 */
"logs.result": {
params: LogsResultParams
result: Taken
}
/**
 * Event of a background process; a repeated `eventId` is ignored.
 */
"node.exec.event": {
params: NodeExecEventParams
result: Taken
}
/**
 * Removes a node and revokes its token.
 */
"node.forget": {
params: NodeForgetParams
result: NodeForgetResult
}
/**
 * Lists all registered nodes.
 */
"nodes.list": {
params: NodesListParams
result: NodesListResult
}
/**
 * Approves a pairing request, as a guest or as the owner; for the owner.
 */
"pair.approve": {
params: PairApproveParams
result: PairResult
}
/**
 * Lists pairing requests; for the owner.
 */
"pair.list": {
params: PairListParams
result: PairListResult
}
/**
 * Rejects a pairing request; for the owner.
 */
"pair.reject": {
params: PairRejectParams
result: PairResult
}
/**
 * Ends a watch. An addition.
 */
"process.unwatch": {
params: ProcessUnwatchParams
result: ProcessUnwatchResult
}
/**
 * Watches the output of a background process on a node: sent as `process.output` until the process or the watch ends. It counts as one call of the node's `Process` with `log` for policy, approvals and the audit log. An addition.
 */
"process.watch": {
params: ProcessWatchParams
result: ProcessWatchResult
}
/**
 * Creates a session of the same agent with the messages before a user's message and the same settings; the original is not changed. An addition.
 */
"session.branch": {
params: SessionBranchParams
result: SessionBranchResult
}
/**
 * Removes all but the last messages from the model's context; they are archived.
 */
"session.compact": {
params: SessionCompactParams
result: SessionCompactResult
}
/**
 * Deletes a session with its messages and archives; its active run is stopped. Effects of tools, the audit log, usage records, files and artifacts are kept. An addition.
 */
"session.delete": {
params: SessionDeleteParams
result: SessionDeleteResult
}
/**
 * Returns one session.
 */
"session.get": {
params: SessionGetParams
result: SessionGetResult
}
/**
 * Returns messages of a session, by page from its end, and its former ids.
 */
"session.history": {
params: SessionHistoryParams
result: SessionHistoryResult
}
/**
 * Changes the settings of a session. Omitted fields stay unchanged, and null resets a field to the agent's default.
 */
"session.patch": {
params: SessionPatchParams
result: SessionPatchResult
}
/**
 * Returns the last messages of a session.
 */
"session.preview": {
params: SessionPreviewParams
result: SessionPreviewResult
}
/**
 * Clears a session; its messages are archived.
 */
"session.reset": {
params: SessionResetParams
result: SessionResetResult
}
/**
 * Removes a user's message and everything after it, so that it can be sent again; the messages are archived. Effects of tools are not undone. 409 while the session has an active or queued run.
 */
"session.rewind": {
params: SessionRewindParams
result: SessionRewindResult
}
/**
 * Returns one session and its activity.
 */
"session.stats": {
params: SessionStatsParams
result: SessionStatsResult
}
/**
 * Lists the sessions visible to the caller: all for the owner, its own for a client token.
 */
"sessions.list": {
params: SessionsListParams
result: SessionsListResult
}
/**
 * Lists the skills of an agent and whether they are available; for callers that may read workspace files.
 */
"skills.status": {
params: SkillsStatusParams
result: SkillsStatusResult
}
/**
 * The same, refreshed. Nothing is cached, so both return the same.
 */
"skills.update": {
params: SkillsUpdateParams
result: SkillsStatusResult
}
/**
 * Closes a terminal and ends everything that runs in it; responds when that is done. For the owner. An addition.
 */
"terminal.close": {
params: TerminalCloseParams
result: TerminalResult
}
/**
 * Types into a terminal. Inputs keep their order if each is sent after the response to the one before. For the owner. An addition.
 */
"terminal.input": {
params: TerminalInputParams
result: TerminalResult
}
/**
 * Opens a terminal with the login shell of a node's user, on a node that was started with `--terminal`; responds when the shell runs. `terminal.output` and `terminal.closed` follow, on this socket only. A socket has at most 8, and they end with it. It counts as one call of the node's `Terminal` for rules and the audit log, from opening to closing. For the owner. An addition.
 */
"terminal.open": {
params: TerminalOpenParams
result: TerminalOpenResult
}
/**
 * Changes the size of a terminal; for the owner. An addition.
 */
"terminal.resize": {
params: TerminalResizeParams
result: TerminalResult
}
/**
 * Calls a tool; responds when it is done.
 */
"tool.invoke": {
params: ToolInvokeParams
result: ToolInvokeResult
}
/**
 * Calls a tool on behalf of a session's agent; responds at once. The result is sent as `chat.tool` events of the session, to all clients that may see it.
 */
"tool.request": {
params: ToolRequestParams
result: ToolRequestResult
}
/**
 * Result of a call; only the node that was called may send it.
 */
"tool.result": {
params: ToolResultParams
result: Taken
}
/**
 * Lists the tools the caller may use.
 */
"tools.list": {
params: ToolsListParams
result: ToolsListResult
}
/**
 * Whether a node accepts the offered file.
 */
"transfer.accept": {
params: TransferAcceptParams
result: Taken
}
/**
 * The sending node has sent everything.
 */
"transfer.complete": {
params: TransferCompleteParams
result: Taken
}
/**
 * The file was stored, or not.
 */
"transfer.done": {
params: TransferDoneParams
result: Taken
}
/**
 * Metadata of the requested file.
 */
"transfer.meta": {
params: TransferMetaParams
result: Taken
}
/**
 * Deletes a file in an agent's workspace.
 */
"workspace.delete": {
params: WorkspaceDeleteParams
result: WorkspaceDeleteResult
}
/**
 * Lists a folder in an agent's workspace.
 */
"workspace.list": {
params: WorkspaceListParams
result: WorkspaceListResult
}
/**
 * Reads a file in an agent's workspace.
 */
"workspace.read": {
params: WorkspaceReadParams
result: WorkspaceReadResult
}
/**
 * Writes a file in an agent's workspace.
 */
"workspace.write": {
params: WorkspaceWriteParams
result: WorkspaceWriteResult
}
}
}
/**
 * An error on the wire. The code may be one that this version does not know.
 */
export interface ErrorShape {
/**
 * The error code.
 */
code: number
/**
 * Details for programs.
 */
details?: {
[k: string]: unknown
}
/**
 * What is wrong and what would be right.
 */
message: string
/**
 * Whether a retry may succeed.
 */
retryable?: (boolean | null)
}
/**
 * Approval requests changed.
 */
export interface ApprovalsChangedEvent {
/**
 * Number of pending requests.
 */
pending: number
}
/**
 * A message that the bridge should send.
 */
export interface ChannelOutboundEvent {
/**
 * The account.
 */
accountId: string
/**
 * The service.
 */
channel: string
/**
 * Id for `channel.sent`; a repeated id must be sent only once. An addition.
 */
id?: string
/**
 * The message.
 */
message: BridgeOutgoing
/**
 * The chat.
 */
peer: BridgePeer
/**
 * The session; empty if there is none.
 */
sessionKey: string
}
/**
 * An outgoing message.
 */
export interface BridgeOutgoing {
/**
 * The file itself; an addition.
 */
media?: (BridgeMedia | null)
/**
 * Temporary URL of the file, if there is one.
 */
mediaUrl?: (string | null)
/**
 * Id of the message it replies to.
 */
replyToId?: (string | null)
/**
 * The text in Markdown; the caption if there is a file.
 */
text: string
}
/**
 * An attachment: its bytes, or a URL from which the gateway downloads them.
 */
export interface BridgeMedia {
/**
 * Its bytes in base64.
 */
data?: (string | null)
/**
 * Its name.
 */
filename?: (string | null)
/**
 * MIME type, such as `image/png`.
 */
mimeType: string
/**
 * Its size in bytes.
 */
size?: (number | null)
/**
 * Transcription of speech, if the service provides it.
 */
transcription?: (string | null)
/**
 * `image`, `audio`, `video` or `document`.
 */
type: BridgeMediaKind
/**
 * Its URL.
 */
url?: (string | null)
}
/**
 * A chat.
 */
export interface BridgePeer {
/**
 * Its handle.
 */
handle?: (string | null)
/**
 * Its id.
 */
id: string
/**
 * Kind of chat.
 */
kind: BridgePeerKind
/**
 * Its name.
 */
name?: (string | null)
}
/**
 * The agent started or stopped typing.
 */
export interface ChannelTypingEvent {
/**
 * The account.
 */
accountId: string
/**
 * The service.
 */
channel: string
/**
 * The chat.
 */
peer: BridgePeer
/**
 * The session; empty if it is unknown.
 */
sessionKey: string
/**
 * Whether it is typing.
 */
typing: boolean
}
/**
 * Chat accounts, pairing requests or messages changed.
 */
export interface ChannelsChangedEvent {

}
/**
 * Progress and result of a run.
 */
export interface ChatEventPayload {
/**
 * For `paused`: the approval request; an addition.
 */
approvalId?: (string | null)
/**
 * For `paused`: its arguments; an addition.
 */
arguments?: {
[k: string]: unknown
}
/**
 * For `paused`: the model's id of the call that needs approval, if it belongs to this session; an addition.
 */
callId?: (string | null)
/**
 * For `error`: the code a failed request would have; an addition.
 */
code?: (string | null)
/**
 * For `error`: the reason.
 */
error?: (string | null)
/**
 * For `error`: stable name of the failure, such as `provider_rate_limited`; an addition.
 */
failure?: (string | null)
/**
 * For `partial` and `final`: the complete message.
 */
message?: (ChatMessage | null)
/**
 * For `delta`: length of the reply's text before `text`, in UTF-16 units; an addition.
 */
offset?: (number | null)
/**
 * The model reply this belongs to: a number that increases with every reply, including restarted ones. For `delta`,
 * `partial` and `final`; an addition.
 */
reply?: (number | null)
/**
 * For `delta`: deltas since the last `partial` are void, for this reason; an addition.
 */
restart?: (string | null)
/**
 * For `error`: delay before a retry, if known; an addition.
 */
retryAfterMs?: (number | null)
/**
 * For `error`: whether the same message may succeed later, without a change of it or of the settings; an addition.
 */
retryable?: (boolean | null)
/**
 * The run; null if it belongs to none.
 */
runId?: (string | null)
/**
 * The session.
 */
sessionKey: string
/**
 * Kind of event. `final` and `error` are the last events of a run.
 */
state: ChatState
/**
 * For `final`: why the model stopped, `end` or `length`; an addition.
 */
stopReason?: (string | null)
/**
 * For `error`: whether the run was stopped by a user; an addition.
 */
stopped?: (boolean | null)
/**
 * For `delta`: the next chunk of text. For `partial`, `final` and `paused`: the complete text.
 */
text?: (string | null)
/**
 * For `delta`: the next chunk of reasoning; an addition.
 */
thinking?: (string | null)
/**
 * For `delta`: length of the reasoning before `thinking`, in UTF-16 units; an addition.
 */
thinkingOffset?: (number | null)
/**
 * For `paused`: the tool that would run; an addition.
 */
tool?: (string | null)
/**
 * For `final`: usage of the run; an addition.
 */
usage?: (ChatUsage | null)
}
/**
 * One message of a session.
 */
export interface ChatMessage {
/**
 * For a tool result: id of the call in the audit log, if known; an addition.
 */
auditCall?: (string | null)
/**
 * Its contents.
 */
content: ChatBlock[]
/**
 * For an edit or a patch: the change as a unified diff. Line numbers are those of the changed piece if the position
 * in the file is not known.
 */
diff?: (string | null)
/**
 * For a tool result: duration of its execution in milliseconds, without the time it waited for approval, if known;
 * an addition.
 */
durationMs?: (number | null)
/**
 * For a reply without a text: why its run failed; an addition.
 */
error?: (ChatError | null)
/**
 * Exit code of the program that it ran.
 */
exitCode?: (number | null)
/**
 * For a tool result: whether it failed.
 */
isError?: (boolean | null)
/**
 * For a call that ended: how.
 */
outcome?: (CallOutcome | null)
/**
 * Images in the result.
 */
pictures?: CallPicture[]
/**
 * Who sent it.
 */
role: ChatRole
/**
 * Its sequence number in the session; an addition.
 */
seq?: (number | null)
/**
 * For a reply: whether its run was stopped here; its text is what had been written. An addition.
 */
stopped?: (boolean | null)
/**
 * Time in milliseconds since 1970.
 */
timestamp?: (number | null)
/**
 * For a tool result: id of the call.
 */
toolCallId?: (string | null)
/**
 * For a tool result: the tool.
 */
toolName?: (string | null)
/**
 * In a history: usage of the run that ended with this message. Absent in all other messages and if it is
 * unknown; an addition.
 */
usage?: (ChatUsage | null)
/**
 * Milliseconds it waited for approval; absent if it did not.
 */
waitedMs?: (number | null)
}
/**
 * Why a run failed.
 */
export interface ChatError {
/**
 * The code a failed request would have.
 */
code: string
/**
 * Stable name of the failure, such as `provider_rate_limited`.
 */
failure: string
/**
 * The reason; its last line may be a hint.
 */
message: string
/**
 * Delay before a retry, if known.
 */
retryAfterMs?: (number | null)
/**
 * Whether the same message may succeed later, without a change of it or of the settings.
 */
retryable: boolean
}
/**
 * An image in the result of a call.
 */
export interface CallPicture {
/**
 * MIME type.
 */
mimeType: string
/**
 * `SEQ/INDEX`: its bytes are at `GET /api/sessions/{key}/pictures/{seq}/{index}`.
 */
ref: string
}
/**
 * Usage of a run.
 */
export interface ChatUsage {
/**
 * Cost in millionths of a dollar, as far as prices are known.
 */
costMicros?: number
/**
 * Duration in milliseconds, if known; an addition.
 */
durationMs?: (number | null)
/**
 * Input tokens.
 */
inputTokens?: number
/**
 * Output tokens.
 */
outputTokens?: number
/**
 * Number of model replies.
 */
replies?: number
}
/**
 * Chat events were dropped because the client read too slowly: `session.history` has what is missing, and the final
 * events of the client's own runs follow.
 */
export interface ChatGapEvent {
/**
 * Number of dropped events, over all sessions this socket receives.
 */
missed: number
}
/**
 * A user's message became part of the session: its run started, or the active run included it.
 */
export interface ChatTakenEvent {
/**
 * The run that included it; absent if it started its own.
 */
into?: (string | null)
/**
 * The message, with its number.
 */
message: ChatMessage
/**
 * The run it was sent as.
 */
runId: string
/**
 * The session.
 */
sessionKey: string
}
/**
 * A tool call started, printed output or ended.
 */
export interface ChatToolEvent {
/**
 * For `started`: its arguments.
 */
args?: {
[k: string]: unknown
}
/**
 * Id of the call in the audit log, if known.
 */
auditCall?: (string | null)
/**
 * The model's id of the call.
 */
callId: string
/**
 * For an edit or a patch: the change as a unified diff. Line numbers are those of the changed piece if the position
 * in the file is not known.
 */
diff?: (string | null)
/**
 * For `done`: duration of the execution in milliseconds, without the time it waited for approval.
 */
durationMs?: (number | null)
/**
 * Exit code of the program that it ran.
 */
exitCode?: (number | null)
/**
 * For `output`: length of the output before, in UTF-16 units; an addition.
 */
offset?: (number | null)
/**
 * For `done`: whether it succeeded.
 */
ok?: (boolean | null)
/**
 * For a call that ended: how.
 */
outcome?: (CallOutcome | null)
/**
 * Images in the result.
 */
pictures?: CallPicture[]
/**
 * The run it belongs to.
 */
runId: string
/**
 * The session.
 */
sessionKey: string
/**
 * For `done`: beginning of the result.
 */
shown?: (string | null)
/**
 * Kind of event.
 */
state: ChatToolState
/**
 * For `output`: new output, at most 4 KiB. Some may be omitted; the result is complete.
 */
text?: (string | null)
/**
 * The tool.
 */
tool: string
/**
 * Milliseconds it waited for approval; absent if it did not.
 */
waitedMs?: (number | null)
}
/**
 * Jobs or runs changed.
 */
export interface CronChangedEvent {

}
/**
 * Asks a node for its last log lines; answered by `logs.result`.
 */
export interface LogsGetEvent {
/**
 * Id of the request; the response has the same.
 */
callId: string
/**
 * Number of lines.
 */
lines: number
}
/**
 * Reports an event of a background process to the client that started it.
 */
export interface NodeExecNotice {
/**
 * The agent on whose behalf it was started, if known.
 */
agentId?: (string | null)
/**
 * The call that started it.
 */
callId?: (string | null)
/**
 * When it ended, in milliseconds since 1970.
 */
endedAt?: (number | null)
/**
 * Kind of event.
 */
event: ExecEvent
/**
 * Id of the event; a repeated id is the same event.
 */
eventId: string
/**
 * Its exit code.
 */
exitCode?: (number | null)
/**
 * The node.
 */
nodeId: string
/**
 * End of its output.
 */
outputTail?: (string | null)
/**
 * The process's session id, from the result of `Bash`.
 */
sessionId: string
/**
 * The signal that ended it.
 */
signal?: (string | null)
/**
 * When it started, in milliseconds since 1970.
 */
startedAt?: (number | null)
}
/**
 * Nodes changed.
 */
export interface NodesChangedEvent {

}
/**
 * The next output of a process, at most 16,000 characters. From a node to the gateway, and from there, with secrets
 * redacted, to the client that opened the watch. An addition: `process.watch`.
 */
export interface ProcessOutputEvent {
/**
 * Position of its first character. Output between the `next` of the previous event and this was skipped.
 */
at: number
/**
 * Whether the watch has ended.
 */
ended?: (boolean | null)
/**
 * Why it ended although the process may still be running.
 */
error?: (string | null)
/**
 * Position of the next output.
 */
next: number
/**
 * The output.
 */
text: string
/**
 * The watch.
 */
watchId: string
}
/**
 * Ends a watch on a node. An addition: `process.watch`.
 */
export interface ProcessUnwatchEvent {
/**
 * The watch.
 */
watchId: string
}
/**
 * Asks a node for the next output of a background process; answered by one `process.output` as soon as there is
 * some. An addition: `process.watch`.
 */
export interface ProcessWatchEvent {
/**
 * Position to start at, in characters; default: the recent output first.
 */
from?: (number | null)
/**
 * The process's session id, from the result of `Bash`.
 */
sessionId: string
/**
 * The watch; the response has the same id.
 */
watchId: string
}
/**
 * A session appeared, or its title, its label or its place in lists changed.
 */
export interface SessionChangedEvent {
/**
 * Its key.
 */
sessionKey: string
}
/**
 * A session was deleted.
 */
export interface SessionDeletedEvent {
/**
 * Its former key.
 */
sessionKey: string
}
/**
 * Closes a terminal of a node.
 */
export interface TerminalCloseEvent {
/**
 * The terminal.
 */
terminalId: string
}
/**
 * A terminal has closed, and everything that ran in it has ended.
 */
export interface TerminalClosedEvent {
/**
 * Exit code of the shell, if it exited.
 */
exitCode?: (number | null)
/**
 * Why it closed, if its shell did not exit.
 */
reason?: (string | null)
/**
 * The terminal.
 */
terminalId: string
}
/**
 * Types into a terminal of a node.
 */
export interface TerminalInputEvent {
/**
 * What was typed.
 */
data: string
/**
 * The terminal.
 */
terminalId: string
}
/**
 * Output of a terminal, at most 16 KiB before decoding. From a node: the first is empty and says that the shell runs, each other
 * one answers a `terminal.read`.
 */
export interface TerminalOutputEvent {
/**
 * The output, with control sequences.
 */
data: string
/**
 * The terminal.
 */
terminalId: string
}
/**
 * Asks a node for the next output of a terminal.
 */
export interface TerminalReadEvent {
/**
 * The terminal.
 */
terminalId: string
}
/**
 * Changes the size of a terminal of a node.
 */
export interface TerminalResizeEvent {
/**
 * Columns.
 */
cols: number
/**
 * Rows.
 */
rows: number
/**
 * The terminal.
 */
terminalId: string
}
/**
 * Cancels a call on a node. An addition: `tool.cancel`.
 */
export interface ToolCancelEvent {
/**
 * The call.
 */
callId: string
}
/**
 * Asks a node to run one of its tools; it answers with `tool.result`.
 */
export interface ToolInvokeEvent {
/**
 * Its arguments.
 */
args: {
[k: string]: unknown
}
/**
 * The call; a node runs each id once.
 */
callId: string
/**
 * Whether the result may contain the complete output as `fullOutput`; an addition: `tool.fullOutput`.
 */
fullOutput?: (boolean | null)
/**
 * Whether to send output as `tool.output`; an addition.
 */
output?: (boolean | null)
/**
 * The tool, without the node's prefix.
 */
tool: string
/**
 * W3C trace context that the call belongs to; an addition.
 */
traceparent?: (string | null)
/**
 * W3C trace state, if there is a `traceparent`; an addition.
 */
tracestate?: (string | null)
}
/**
 * New output of a call, from its node: at most 4 KiB, about ten times a second, 256 KiB in total. Some may be
 * omitted. An addition: `tool.output`.
 */
export interface ToolOutputEvent {
/**
 * The call.
 */
callId: string
/**
 * The next chunk.
 */
text: string
}
/**
 * Progress of a call.
 */
export interface ToolProgressEvent {
/**
 * Completed amount.
 */
done: number
/**
 * The current step.
 */
message?: (string | null)
/**
 * New output of the call, at most 4 KiB; the other fields are then those of the last step.
 */
output?: (string | null)
/**
 * The id of the `tool.invoke` request.
 */
requestId: string
/**
 * Total amount, if known.
 */
total?: (number | null)
}
/**
 * Tools were added or removed.
 */
export interface ToolsChangedEvent {

}
/**
 * Acknowledges received bytes: from the receiving node to the gateway, and from the gateway to the sending node. An
 * addition.
 */
export interface TransferAckEvent {
/**
 * Number of bytes received, from the beginning of the file.
 */
bytes: number
/**
 * The transfer.
 */
transferId: number
}
/**
 * Cancels a transfer on a node. An addition.
 */
export interface TransferCancelEvent {
/**
 * Whether the partial file is kept, to be resumed later.
 */
keep?: boolean
/**
 * The transfer.
 */
transferId: number
}
/**
 * Tells the receiving node that everything was sent.
 */
export interface TransferEndEvent {
/**
 * Expected SHA-256 of the complete file, 64 hex digits; an addition.
 */
sha256?: (string | null)
/**
 * The transfer.
 */
transferId: number
}
/**
 * Offers a file to a node; answered by `transfer.accept`.
 */
export interface TransferReceiveEvent {
/**
 * MIME type.
 */
mime?: (string | null)
/**
 * The destination.
 */
path: string
/**
 * Identifies the file's version and destination; a partial file stored under the same key is resumed. 64 hex digits; an
 * addition.
 */
resume?: (string | null)
/**
 * Its size in bytes.
 */
size: number
/**
 * The transfer.
 */
transferId: number
}
/**
 * Asks a node for a file; answered by `transfer.meta`.
 */
export interface TransferSendEvent {
/**
 * The file.
 */
path: string
/**
 * The transfer.
 */
transferId: number
}
/**
 * Tells the sending node to start.
 */
export interface TransferStartEvent {
/**
 * Position to start at, if not the beginning; an addition.
 */
offset?: (number | null)
/**
 * The transfer.
 */
transferId: number
}
/**
 * An incoming message on the bridge's service.
 */
export interface ChannelInboundParams {
/**
 * The account, as in `connect`.
 */
accountId: string
/**
 * The service, as in `connect`.
 */
channel: string
/**
 * Ids mentioned in the message.
 */
mentionedIds?: (string[] | null)
/**
 * The message.
 */
message: BridgeMessage
/**
 * The chat.
 */
peer: BridgePeer
/**
 * The sender; in a direct chat it defaults to the peer.
 */
sender?: (BridgeSender | null)
/**
 * Whether the bot was mentioned.
 */
wasMentioned?: (boolean | null)
}
/**
 * An incoming message.
 */
export interface BridgeMessage {
/**
 * The service's id of the message; duplicates are ignored.
 */
id: string
/**
 * A shared location.
 */
location?: (BridgeLocation | null)
/**
 * Attachments.
 */
media?: (BridgeMedia[] | null)
/**
 * Id of the message it replies to.
 */
replyToId?: (string | null)
/**
 * Text of the message it replies to.
 */
replyToText?: (string | null)
/**
 * The text.
 */
text: string
/**
 * Time in milliseconds since 1970; default: now.
 */
timestamp?: (number | null)
}
/**
 * A location.
 */
export interface BridgeLocation {
/**
 * Latitude in degrees.
 */
lat: number
/**
 * Longitude in degrees.
 */
lon: number
/**
 * Its name.
 */
name?: (string | null)
}
/**
 * The sender of a message.
 */
export interface BridgeSender {
/**
 * The sender's handle.
 */
handle?: (string | null)
/**
 * The sender's id.
 */
id: string
/**
 * The sender's name.
 */
name?: (string | null)
}
/**
 * The message was persisted.
 */
export interface ChannelInboundResult {
/**
 * The session it belongs to.
 */
sessionKey: string
/**
 * `queued`: it was persisted and will be processed.
 */
status: string
}
/**
 * Credentials of an account.
 */
export interface ChannelLoginParams {
/**
 * The account; default: `default`.
 */
accountId?: (string | null)
/**
 * Slack: the app token.
 */
appToken?: (string | null)
/**
 * The platform.
 */
channel: string
/**
 * Delivery mode: `poll`, `socket` or `webhook`.
 */
mode?: (string | null)
/**
 * WhatsApp: the phone number id.
 */
number?: (string | null)
/**
 * Secret that authenticates webhooks.
 */
secret?: (string | null)
/**
 * The token.
 */
token?: (string | null)
/**
 * WhatsApp: the verify token entered where the webhook was set up.
 */
verifyToken?: (string | null)
}
/**
 * Result of an action, and the account's status.
 */
export interface ChannelResult {
/**
 * The account, unless it was removed.
 */
channel?: (ChannelEntry | null)
/**
 * True.
 */
ok: boolean
}
/**
 * One account and its status.
 */
export interface ChannelEntry {
/**
 * The account.
 */
accountId: string
/**
 * The platform.
 */
channel: string
/**
 * Time since which it is connected, in milliseconds since 1970.
 */
connectedAt?: (number | null)
/**
 * The problem, if any.
 */
detail?: (string | null)
/**
 * Time of the last incoming message, in milliseconds since 1970.
 */
lastMessageAt?: (number | null)
/**
 * Its name on the platform.
 */
name?: (string | null)
/**
 * `connected`, `connecting`, `error`, `stopped` or `off`.
 */
state: string
}
/**
 * Selects the account to log out.
 */
export interface ChannelLogoutParams {
/**
 * The account; default: `default`.
 */
accountId?: (string | null)
/**
 * The platform.
 */
channel: string
}
/**
 * Delivery report of a message; requires the addition `channel.sent`.
 */
export interface ChannelSentParams {
/**
 * Why it was not sent.
 */
error?: (string | null)
/**
 * The `id` of the `channel.outbound` event.
 */
id: string
/**
 * The service's id of the message, if it was sent.
 */
messageId?: (string | null)
/**
 * For an error: whether a retry may succeed.
 */
retryable?: (boolean | null)
}
/**
 * Acknowledgement.
 */
export interface Taken {
/**
 * Whether nobody was waiting for it any more.
 */
dropped?: (boolean | null)
/**
 * Always true.
 */
ok: boolean
}
/**
 * Selects the account to start.
 */
export interface ChannelStartParams {
/**
 * The account; default: `default`.
 */
accountId?: (string | null)
/**
 * The platform.
 */
channel: string
}
/**
 * Selects an account.
 */
export interface ChannelStatusParams {
/**
 * The account; default: `default`.
 */
accountId?: (string | null)
/**
 * The platform.
 */
channel: string
}
/**
 * Selects the account to stop.
 */
export interface ChannelStopParams {
/**
 * The account; default: `default`.
 */
accountId?: (string | null)
/**
 * The platform.
 */
channel: string
}
/**
 * No parameters.
 */
export interface ChannelsListParams {

}
/**
 * The accounts.
 */
export interface ChannelsListResult {
/**
 * The accounts.
 */
channels: ChannelEntry[]
/**
 * Number of accounts.
 */
count: number
}
/**
 * A message to an agent.
 */
export interface ChatSendParams {
/**
 * The text. `/help` lists the slash commands.
 */
message: string
/**
 * The client's id of the run; a repeated id is ignored.
 */
runId?: (string | null)
/**
 * The session: a plain name such as `main`, or `agent:NAME:REST`.
 */
sessionKey: string
}
/**
 * Directives for one message: `/t:LEVEL` and `/m:PROVIDER/MODEL` at its beginning.
 */
export interface Directives {
/**
 * The model.
 */
model?: (ModelName | null)
/**
 * Reasoning level.
 */
thinkLevel?: (string | null)
}
/**
 * A model and its provider.
 */
export interface ModelName {
/**
 * The provider's model id.
 */
id: string
/**
 * The provider's name in the settings.
 */
provider: string
}
/**
 * Stops the run of a session.
 */
export interface ChatStopParams {
/**
 * The session.
 */
sessionKey: string
}
/**
 * Whether a run was stopped.
 */
export interface ChatStopResult {
/**
 * Always true.
 */
ok: boolean
/**
 * Whether a run was active.
 */
stopped: boolean
}
/**
 * Selects a setting; default: all.
 */
export interface ConfigGetParams {
/**
 * A dotted path, as in `limits.request_bytes`.
 */
path?: (string | null)
}
/**
 * A change of a setting.
 */
export interface ConfigSetParams {
/**
 * A dotted path, as in `limits.request_bytes`.
 */
path: string
/**
 * The new value.
 */
value: {
[k: string]: unknown
}
}
/**
 * The setting was changed.
 */
export interface ConfigSetResult {
/**
 * Keys that take effect only after a restart.
 */
needsRestart?: string[]
/**
 * Always true.
 */
ok: boolean
/**
 * The setting's path.
 */
path: string
}
/**
 * Identifies the client and the versions it supports.
 */
export interface ConnectParams {
/**
 * Additions the client supports; see `features.additions`.
 */
additions?: string[]
/**
 * Its credentials.
 */
auth?: (Auth | null)
/**
 * The client.
 */
client: Client
/**
 * Highest supported protocol version.
 */
maxProtocol: number
/**
 * Lowest supported protocol version.
 */
minProtocol: number
/**
 * For a node: its capabilities.
 */
nodeRuntime?: (NodeRuntime | null)
/**
 * For a node: the tools it offers, without prefix.
 */
tools?: (ToolDefinition[] | null)
}
/**
 * Credentials. The token is not printed by `Debug`.
 */
export interface Auth {
/**
 * An access token of the gateway.
 */
token?: (string | null)
}
/**
 * The client.
 */
export interface Client {
/**
 * For a channel: the account.
 */
accountId?: (string | null)
/**
 * For a channel: the service.
 */
channel?: (string | null)
/**
 * Its id; for a node, the node id.
 */
id: string
/**
 * Its role.
 */
mode: ClientMode
/**
 * Its operating system.
 */
platform: string
/**
 * For a node: the only session whose agent may use its tools. They are then tools of an MCP server, whose results are
 * passed through unchanged. An addition: `node.session`.
 */
sessionKey?: (string | null)
/**
 * Its version.
 */
version: string
}
/**
 * Capabilities of a node and its tools: `filesystem.list`, `filesystem.read`, `filesystem.write`, `filesystem.edit`,
 * `text.search` and `shell.exec`.
 */
export interface NodeRuntime {
/**
 * Capabilities of the machine.
 */
hostCapabilities: string[]
/**
 * Capabilities each tool needs.
 */
toolCapabilities: {
[k: string]: string[]
}
}
/**
 * A tool definition.
 */
export interface ToolDefinition {
/**
 * What it does.
 */
description: string
/**
 * The JSON Schema of its parameters.
 */
inputSchema: {
[k: string]: unknown
}
/**
 * Its name.
 */
name: string
}
/**
 * Response to an accepted `connect`.
 */
export interface HelloOk {
/**
 * Available methods and events.
 */
features: Features
/**
 * For a node: its name on the gateway, which differs from its own after a rename.
 */
nodeId?: (string | null)
/**
 * The negotiated protocol version.
 */
protocol: number
/**
 * The gateway.
 */
server: Server
/**
 * Marks this response.
 */
type: HelloKind
}
/**
 * Available methods and events.
 */
export interface Features {
/**
 * Additions the gateway supports: `tool.cancel`, `transfer.checked`, `tool.output`, `process.watch`.
 */
additions?: string[]
/**
 * Events this client may receive.
 */
events: string[]
/**
 * Methods this client may call.
 */
methods: string[]
}
/**
 * The gateway.
 */
export interface Server {
/**
 * This socket's id, for logs on both sides.
 */
connectionId: string
/**
 * The gateway's version.
 */
version: string
}
/**
 * A job to create.
 */
export interface CronAddParams {
/**
 * Its name.
 */
name: string
/**
 * Its schedule, as `job.schedule` of `gsv__Cron`.
 */
schedule: {
[k: string]: unknown
}
/**
 * Its task, as `job.spec` of `gsv__Cron`.
 */
spec: {
[k: string]: unknown
}
[k: string]: unknown
}
/**
 * The job after the change.
 */
export interface CronJobResult {
/**
 * The job.
 */
job: CronJob
/**
 * True.
 */
ok: boolean
}
/**
 * A job.
 */
export interface CronJob {
/**
 * The agent that owns it.
 */
agentId: string
/**
 * Creation time.
 */
createdAtMs: number
/**
 * Whether it is deleted after a successful one-time run.
 */
deleteAfterRun: boolean
/**
 * Its description.
 */
description?: (string | null)
/**
 * Whether it is enabled.
 */
enabled: boolean
/**
 * Its id.
 */
id: string
/**
 * Its creator, with whose rights it runs.
 */
madeBy?: string
/**
 * Policy for missed runs: skip, once or all.
 */
missed?: string
/**
 * Maximum age, in hours, of a missed run that is caught up on.
 */
missedWindowHours?: number
/**
 * Its name.
 */
name: string
/**
 * Policy for overlapping runs: skip or wait.
 */
overlap?: string
/**
 * Its schedule: `{kind: "at", atMs}`, `{kind: "every", everyMs, anchorMs}` or `{kind: "cron", expr, tz?}`.
 */
schedule: {
[k: string]: unknown
}
/**
 * The schedule in words.
 */
scheduleText?: string
/**
 * Its task.
 */
spec: {
[k: string]: unknown
}
/**
 * Its state.
 */
state: CronJobState
/**
 * The untrusted text that was read before it was created or changed, until the owner trusts it.
 */
taintedBy?: (string | null)
/**
 * Time of the last change.
 */
updatedAtMs: number
}
/**
 * State of a job.
 */
export interface CronJobState {
/**
 * Number of consecutive failures.
 */
consecutiveFailures?: number
/**
 * Duration of the last run.
 */
lastDurationMs?: (number | null)
/**
 * Error of the last run.
 */
lastError?: (string | null)
/**
 * Start of the last run.
 */
lastRunAtMs?: (number | null)
/**
 * Status of the last run: ok, error or skipped.
 */
lastStatus?: (string | null)
/**
 * Next due time.
 */
nextRunAtMs?: (number | null)
/**
 * Start of the current run.
 */
runningAtMs?: (number | null)
}
/**
 * Selects jobs.
 */
export interface CronListParams {
/**
 * The agent; default: all.
 */
agentId?: (string | null)
/**
 * Include disabled jobs.
 */
includeDisabled?: (boolean | null)
/**
 * Maximum number of results.
 */
limit?: (number | null)
/**
 * Number of results to skip.
 */
offset?: (number | null)
}
/**
 * Jobs.
 */
export interface CronListResult {
/**
 * Total number of jobs.
 */
count: number
/**
 * The jobs, oldest first.
 */
jobs: CronJob[]
}
/**
 * A schedule to preview.
 */
export interface CronPreviewParams {
/**
 * Number of run times, 1 to 20; default: 5.
 */
count?: (number | null)
/**
 * The schedule, as `job.schedule` of `gsv__Cron`.
 */
schedule: {
[k: string]: unknown
}
/**
 * Time zone if the schedule has none, such as `Europe/Berlin`; default: that of the settings, as in
 * `cron.add`.
 */
tz?: (string | null)
}
/**
 * Preview of a schedule.
 */
export interface CronPreviewResult {
/**
 * The schedule with all defaults filled in: `cron.add` with it gives the same run times.
 */
schedule: {
[k: string]: unknown
}
/**
 * The schedule in words.
 */
text: string
/**
 * Next run times in milliseconds since 1970, earliest first; fewer if it ends.
 */
times: number[]
}
/**
 * Selects the job to delete.
 */
export interface CronRemoveParams {
/**
 * The job.
 */
id: string
}
/**
 * Whether it was deleted.
 */
export interface CronRemoveResult {
/**
 * True.
 */
ok: boolean
/**
 * Whether the job existed.
 */
removed: boolean
}
/**
 * Selects the jobs to run.
 */
export interface CronRunParams {
/**
 * The job; default: all due jobs.
 */
id?: (string | null)
/**
 * `due` or `force`; default with an id: `force`.
 */
mode?: (string | null)
}
/**
 * Results of the runs.
 */
export interface CronRunResult {
/**
 * True.
 */
ok: boolean
/**
 * Number of started runs.
 */
ran: number
/**
 * Result of each job.
 */
results: CronRan[]
}
/**
 * Result of one job.
 */
export interface CronRan {
/**
 * Duration.
 */
durationMs: number
/**
 * The error.
 */
error?: (string | null)
/**
 * The job.
 */
jobId: string
/**
 * Next due time of the job.
 */
nextRunAtMs?: (number | null)
/**
 * Its run, if one was started.
 */
runId?: (string | null)
/**
 * ok, error or skipped; running if it has not ended yet.
 */
status: string
/**
 * Summary of the result.
 */
summary?: (string | null)
}
/**
 * Selects runs.
 */
export interface CronRunsParams {
/**
 * The job; default: all.
 */
jobId?: (string | null)
/**
 * Maximum number of results.
 */
limit?: (number | null)
/**
 * Number of results to skip.
 */
offset?: (number | null)
}
/**
 * Runs.
 */
export interface CronRunsResult {
/**
 * Total number of runs.
 */
count: number
/**
 * The runs, newest first.
 */
runs: CronRun[]
}
/**
 * One run of a job, or a skipped one.
 */
export interface CronRun {
/**
 * Number of scheduled times it stands for, if several in a row were skipped.
 */
count?: number
/**
 * Duration.
 */
durationMs: number
/**
 * The error, or why it was skipped.
 */
error?: (string | null)
/**
 * Whether it was run on demand.
 */
forced?: boolean
/**
 * Its id.
 */
id: string
/**
 * The job.
 */
jobId: string
/**
 * Next due time of the job at that time.
 */
nextRunAtMs?: (number | null)
/**
 * The scheduled time.
 */
scheduledAtMs?: number
/**
 * ok, error or skipped; running while it is active.
 */
status: string
/**
 * Summary of the result.
 */
summary?: (string | null)
/**
 * End time, or start time while it is running.
 */
ts: number
}
/**
 * Selects jobs.
 */
export interface CronStatusParams {
/**
 * The agent; default: all.
 */
agentId?: (string | null)
}
/**
 * Status of the scheduler.
 */
export interface CronStatusResult {
/**
 * Number of jobs.
 */
count: number
/**
 * Number of due jobs.
 */
dueCount: number
/**
 * Whether due jobs run.
 */
enabled: boolean
/**
 * Maximum number of concurrent runs.
 */
maxConcurrentRuns: number
/**
 * Maximum number of jobs.
 */
maxJobs: number
/**
 * Next due time, in milliseconds since 1970.
 */
nextRunAtMs?: (number | null)
/**
 * Number of running jobs.
 */
runningCount: number
}
/**
 * A change of a job.
 */
export interface CronUpdateParams {
/**
 * The job.
 */
id: string
/**
 * The changed fields, as `patch` of `gsv__Cron`.
 */
patch: {
[k: string]: unknown
}
}
/**
 * Selects the heartbeat to enable.
 */
export interface HeartbeatStartParams {
/**
 * The agent; default: `main`.
 */
agentId?: (string | null)
}
/**
 * The enabled heartbeat.
 */
export interface HeartbeatStartResult {
/**
 * Its state.
 */
heartbeat: HeartbeatState
/**
 * True.
 */
ok: boolean
}
/**
 * State of an agent's heartbeat.
 */
export interface HeartbeatState {
/**
 * Start of the active hours, in the user's time zone.
 */
activeFrom: string
/**
 * End of the active hours.
 */
activeUntil: string
/**
 * The agent.
 */
agentId: string
/**
 * Number of consecutive failures.
 */
consecutiveFailures: number
/**
 * Whether it is enabled.
 */
enabled: boolean
/**
 * Interval in minutes.
 */
everyMinutes: number
/**
 * The last run.
 */
last?: (CronRun | null)
/**
 * Next run time.
 */
nextRunAtMs?: (number | null)
/**
 * Start of the current run.
 */
runningAtMs?: (number | null)
/**
 * Where reports are sent: last, none or a channel.
 */
target: string
}
/**
 * Selects heartbeats.
 */
export interface HeartbeatStatusParams {
/**
 * The agent; default: all.
 */
agentId?: (string | null)
}
/**
 * Heartbeats.
 */
export interface HeartbeatStatusResult {
/**
 * One per agent.
 */
agents: HeartbeatState[]
}
/**
 * Selects the heartbeat to run.
 */
export interface HeartbeatTriggerParams {
/**
 * The agent; default: `main`.
 */
agentId?: (string | null)
}
/**
 * Result of the run.
 */
export interface HeartbeatTriggerResult {
/**
 * True.
 */
ok: boolean
/**
 * The run.
 */
run: CronRun
}
/**
 * Selects log lines of a node.
 */
export interface LogsGetParams {
/**
 * Number of lines; default 100, at most 5000.
 */
lines?: (number | null)
/**
 * The node; default: the only connected one.
 */
nodeId?: (string | null)
}
/**
 * Log lines of a node.
 */
export interface LogsGetResult {
/**
 * Number of returned lines.
 */
count: number
/**
 * The lines, oldest first.
 */
lines: string[]
/**
 * The node.
 */
nodeId: string
/**
 * Whether there are more.
 */
truncated: boolean
}
/**
 * Log lines of a node.
 */
export interface LogsResultParams {
/**
 * Id of the request.
 */
callId: string
/**
 * The error.
 */
error?: (string | null)
/**
 * The lines, oldest first.
 */
lines?: (string[] | null)
/**
 * Whether there are more.
 */
truncated?: (boolean | null)
}
/**
 * Event of a background process on a node. Resent until it is acknowledged.
 */
export interface NodeExecEventParams {
/**
 * The call that started it.
 */
callId?: (string | null)
/**
 * When it ended, in milliseconds since 1970.
 */
endedAt?: (number | null)
/**
 * Kind of event.
 */
event: ExecEvent
/**
 * Id of the event; a repeated id is the same event.
 */
eventId: string
/**
 * Its exit code.
 */
exitCode?: (number | null)
/**
 * End of its output.
 */
outputTail?: (string | null)
/**
 * The process's session id, from the result of `Bash`.
 */
sessionId: string
/**
 * The signal that ended it.
 */
signal?: (string | null)
/**
 * When it started, in milliseconds since 1970.
 */
startedAt?: (number | null)
}
/**
 * Selects the node to remove.
 */
export interface NodeForgetParams {
/**
 * Remove it even if it is connected, closing its connection.
 */
force?: (boolean | null)
/**
 * The node.
 */
nodeId: string
}
/**
 * The node was removed and its token revoked.
 */
export interface NodeForgetResult {
/**
 * Whether a connection was closed.
 */
disconnected: boolean
/**
 * The node.
 */
nodeId: string
/**
 * Always true.
 */
ok: boolean
/**
 * Whether it was registered.
 */
removed: boolean
}
/**
 * No parameters.
 */
export interface NodesListParams {

}
/**
 * All registered nodes.
 */
export interface NodesListResult {
/**
 * Number of nodes.
 */
count: number
/**
 * The nodes, by name.
 */
nodes: NodeEntry[]
}
/**
 * A registered node.
 */
export interface NodeEntry {
/**
 * Its operating system, as it reported.
 */
clientPlatform: string
/**
 * Its version, as it reported.
 */
clientVersion: string
/**
 * First connection (RFC 3339).
 */
firstSeenAt: string
/**
 * Former names.
 */
formerIds?: string[]
/**
 * Capabilities of the machine.
 */
hostCapabilities: string[]
/**
 * Last connect or disconnect (RFC 3339).
 */
lastSeenAt: string
/**
 * Tools it sent that are not available, while it is connected.
 */
leftOut?: LeftOutTool[]
/**
 * Its name.
 */
nodeId: string
/**
 * Whether it is connected.
 */
online: boolean
/**
 * Whether the owner may open terminals on it, while it is connected.
 */
terminal?: boolean
/**
 * Its tools, without prefix.
 */
tools: string[]
}
/**
 * A tool that is not available.
 */
export interface LeftOutTool {
/**
 * The reason.
 */
reason: string
/**
 * Its name on the node or server.
 */
tool: string
}
/**
 * Approves a pairing request.
 */
export interface PairApproveParams {
/**
 * The platform.
 */
channel: string
/**
 * Whether this is the owner.
 */
owner?: (boolean | null)
/**
 * The sender's id or pairing code.
 */
senderId: string
}
/**
 * The decision.
 */
export interface PairResult {
/**
 * The platform.
 */
channel: string
/**
 * True.
 */
ok: boolean
/**
 * The sender's id.
 */
senderId: string
}
/**
 * No parameters.
 */
export interface PairListParams {

}
/**
 * Pairing requests.
 */
export interface PairListResult {
/**
 * Open and decided requests.
 */
pairs: PairEntry[]
}
/**
 * A pairing request.
 */
export interface PairEntry {
/**
 * The platform.
 */
channel: string
/**
 * The pairing code.
 */
code?: (string | null)
/**
 * Beginning of the sender's message.
 */
message?: (string | null)
/**
 * Whether this is the owner.
 */
owner: boolean
/**
 * Time of the request, in milliseconds since 1970.
 */
requestedAt: number
/**
 * The sender's id on the platform.
 */
senderId: string
/**
 * The sender's name.
 */
senderName?: (string | null)
/**
 * `asking`, `approved` or `rejected`.
 */
state: string
}
/**
 * Rejects a pairing request.
 */
export interface PairRejectParams {
/**
 * The platform.
 */
channel: string
/**
 * The sender's id or pairing code.
 */
senderId: string
}
/**
 * Selects the watch to end.
 */
export interface ProcessUnwatchParams {
/**
 * The watch.
 */
watchId: string
}
/**
 * The watch has ended.
 */
export interface ProcessUnwatchResult {
/**
 * Whether it existed.
 */
ok: boolean
}
/**
 * Selects a process to watch.
 */
export interface ProcessWatchParams {
/**
 * Position to start at, in characters; default: the recent output first.
 */
from?: (number | null)
/**
 * The node it runs on.
 */
nodeId: string
/**
 * Its session id, as listed by the node's `Process`.
 */
sessionId: string
}
/**
 * The watch was opened.
 */
export interface ProcessWatchResult {
/**
 * Id of the watch, used in `process.output`. Absent if the node does not support watches: poll the `log` of its
 * `Process` instead.
 */
watchId?: (string | null)
}
/**
 * Selects the message to branch before.
 */
export interface SessionBranchParams {
/**
 * Label of the new session, at most 200 characters.
 */
label?: (string | null)
/**
 * Sequence number of the user's message before which the new session ends.
 */
seq: number
/**
 * The key of the session.
 */
sessionKey: string
}
/**
 * The new session.
 */
export interface SessionBranchResult {
/**
 * Its key.
 */
sessionKey: string
}
/**
 * Selects a session to compact.
 */
export interface SessionCompactParams {
/**
 * Number of messages to keep in the model's context; default: 20. A call is kept with its result, so a few more
 * may stay.
 */
keepMessages?: (number | null)
/**
 * Its key.
 */
sessionKey: string
}
/**
 * The session was compacted.
 */
export interface SessionCompactResult {
/**
 * The archive; absent if nothing was removed.
 */
archivedTo?: (string | null)
/**
 * Number of kept messages.
 */
keptMessages: number
/**
 * Always true.
 */
ok: boolean
/**
 * Number of removed messages.
 */
trimmedMessages: number
}
/**
 * Selects the session to delete.
 */
export interface SessionDeleteParams {
/**
 * Its key.
 */
sessionKey: string
}
/**
 * The session was deleted with its messages.
 */
export interface SessionDeleteResult {
/**
 * Number of deleted archives.
 */
deletedArchives: number
/**
 * Number of deleted messages, including those from before it was last cleared.
 */
deletedMessages: number
/**
 * Always true.
 */
ok: boolean
/**
 * Its former key.
 */
sessionKey: string
/**
 * Number of cancelled approval requests.
 */
withdrawnApprovals: number
}
/**
 * Selects a session.
 */
export interface SessionGetParams {
/**
 * Its key.
 */
sessionKey: string
}
/**
 * A session.
 */
export interface SessionGetResult {
/**
 * Its agent; an addition.
 */
agentId?: string
/**
 * Whether it is archived; an addition.
 */
archived?: boolean
/**
 * Size of the conversation; an addition.
 */
context?: (SessionContext | null)
/**
 * Cost since it was last cleared, in millionths of a dollar; an addition.
 */
costMicros?: (number | null)
/**
 * Creation time.
 */
createdAt: number
/**
 * The folder it is listed in; an addition.
 */
folder?: (string | null)
/**
 * Its label.
 */
label?: (string | null)
/**
 * When it was last cleared.
 */
lastResetAt?: (number | null)
/**
 * Number of messages in the model's context.
 */
messageCount: number
/**
 * The model in force: of the session, of its agent or the default; an addition.
 */
model?: (ModelName | null)
/**
 * Whether it is listed first; an addition.
 */
pinned?: boolean
/**
 * Former ids, oldest first.
 */
previousSessionIds: string[]
/**
 * When it is cleared automatically.
 */
resetPolicy: ResetPolicyShape
/**
 * Its current id; clearing it assigns a new one.
 */
sessionId: string
/**
 * Its key.
 */
sessionKey: string
/**
 * Its settings, overriding its agent's.
 */
settings: SessionSettingsShape
/**
 * Its title; an addition.
 */
title?: (string | null)
/**
 * Tokens since it was last cleared.
 */
tokens: SessionTokens
/**
 * Time of the last change.
 */
updatedAt: number
}
/**
 * Size of a conversation, in tokens.
 */
export interface SessionContext {
/**
 * Size from which on older messages are summarised.
 */
limit: number
/**
 * Tokens of the last request and its reply; an estimate if messages were removed since.
 */
used: number
}
/**
 * When a session is cleared automatically.
 */
export interface ResetPolicyShape {
/**
 * For `daily`: the hour of the user's day, 0 to 23.
 */
atHour?: (number | null)
/**
 * For `idle`: minutes without messages.
 */
idleMinutes?: (number | null)
/**
 * The mode.
 */
mode: ResetModeShape
}
/**
 * Settings of a session.
 */
export interface SessionSettingsShape {
/**
 * Maximum number of tokens per reply.
 */
maxTokens?: (number | null)
/**
 * Its model.
 */
model?: (ModelName | null)
/**
 * Additional system prompt.
 */
systemPrompt?: (string | null)
/**
 * Reasoning level: `none`, `minimal`, `low`, `medium`, `high` or `xhigh`.
 */
thinkingLevel?: (string | null)
}
/**
 * Numbers of tokens.
 */
export interface SessionTokens {
/**
 * Input tokens.
 */
input: number
/**
 * Output tokens.
 */
output: number
/**
 * Total.
 */
total: number
}
/**
 * Selects a page of messages.
 */
export interface SessionHistoryParams {
/**
 * Only messages after this sequence number; an addition.
 */
after?: (number | null)
/**
 * The messages around this sequence number; an addition.
 */
around?: (number | null)
/**
 * Only messages before this sequence number; default: the last ones.
 */
before?: (number | null)
/**
 * Maximum number of messages; default 50, at most 500.
 */
limit?: (number | null)
/**
 * Its key.
 */
sessionKey: string
}
/**
 * Messages of a session, oldest first, and its former ids.
 */
export interface SessionHistoryResult {
/**
 * Its current id.
 */
currentSessionId: string
/**
 * The messages.
 */
messages: ChatMessage[]
/**
 * With `around` or `after`: value of `after` for later messages; absent at the end. An addition.
 */
nextAfter?: (number | null)
/**
 * Value of `before` for earlier messages; absent at the beginning.
 */
nextBefore?: (number | null)
/**
 * Former ids, oldest first.
 */
previousSessionIds: string[]
/**
 * The active run so far; only with the last messages, and absent if there is none. It may repeat what is in
 * `messages`. An addition.
 */
running?: (SessionRunning | null)
/**
 * Its key.
 */
sessionKey: string
/**
 * Queued messages in order, at most 50; only with the last messages. An addition.
 */
waiting?: WaitingInput[]
}
/**
 * The active run so far: events with a lower `reply`, or with chunks that end before what is here, are already included.
 */
export interface SessionRunning {
/**
 * The approval request the run is waiting for.
 */
approvalId?: (string | null)
/**
 * Started calls of the last reply.
 */
calls?: SessionRunningCall[]
/**
 * The current reply; 0 before the first.
 */
reply: number
/**
 * The run.
 */
runId: string
/**
 * Its text, or the end of it.
 */
text: string
/**
 * Length of the text before `text`, in UTF-16 units.
 */
textFrom: number
/**
 * Its reasoning, or the end of it.
 */
thinking: string
/**
 * Length of the reasoning before `thinking`, in UTF-16 units.
 */
thinkingFrom: number
}
/**
 * A call of the active run.
 */
export interface SessionRunningCall {
/**
 * Id of the call in the audit log, if known.
 */
auditCall?: (string | null)
/**
 * The model's id of the call.
 */
callId: string
/**
 * For an edit or a patch: the change as a unified diff. Line numbers are those of the changed piece if the position
 * in the file is not known.
 */
diff?: (string | null)
/**
 * Duration in milliseconds.
 */
durationMs?: (number | null)
/**
 * Milliseconds since it was requested or approved.
 */
elapsedMs: number
/**
 * Exit code of the program that it ran.
 */
exitCode?: (number | null)
/**
 * Whether it succeeded; absent while it is running.
 */
ok?: (boolean | null)
/**
 * For a call that ended: how.
 */
outcome?: (CallOutcome | null)
/**
 * Its output so far, or the end of it.
 */
output?: string
/**
 * Length of the output before `output`, in UTF-16 units.
 */
outputFrom: number
/**
 * Images in the result.
 */
pictures?: CallPicture[]
/**
 * Beginning of the result.
 */
shown?: (string | null)
/**
 * Milliseconds it waited for approval; absent if it did not.
 */
waitedMs?: (number | null)
/**
 * Whether it is waiting for approval.
 */
waits: boolean
}
/**
 * A queued message.
 */
export interface WaitingInput {
/**
 * Number of attached images.
 */
pictures: number
/**
 * The run it was sent as.
 */
runId: string
/**
 * Its text, at most 8,000 characters.
 */
text: string
/**
 * Time of arrival, in milliseconds since 1970.
 */
timestamp: number
}
/**
 * Changes of a session. Omitted fields stay unchanged, and null resets a field to the agent's default.
 */
export interface SessionPatchParams {
/**
 * Whether it is archived; an addition.
 */
archived?: (boolean | null)
/**
 * The folder it is listed in, at most 100 characters; null or an empty text removes it from its folder. An addition.
 */
folder?: (string | null)
/**
 * Its label, at most 200 characters.
 */
label?: (string | null)
/**
 * Whether it is listed first; an addition.
 */
pinned?: (boolean | null)
/**
 * When it is cleared automatically.
 */
resetPolicy?: (ResetPolicyShape | null)
/**
 * Its key.
 */
sessionKey: string
/**
 * Its settings.
 */
settings?: (SessionSettingsPatch | null)
}
/**
 * Changes of a session's settings.
 */
export interface SessionSettingsPatch {
/**
 * Maximum number of tokens per reply.
 */
maxTokens?: (number | null)
/**
 * Its model.
 */
model?: (ModelName | null)
/**
 * Additional system prompt.
 */
systemPrompt?: (string | null)
/**
 * Reasoning level: `none`, `minimal`, `low`, `medium`, `high` or `xhigh`.
 */
thinkingLevel?: (string | null)
}
/**
 * The session was changed.
 */
export interface SessionPatchResult {
/**
 * Whether it is archived; an addition.
 */
archived?: boolean
/**
 * The folder it is listed in; an addition.
 */
folder?: (string | null)
/**
 * Its label.
 */
label?: (string | null)
/**
 * Always true.
 */
ok: boolean
/**
 * Whether it is listed first; an addition.
 */
pinned?: boolean
/**
 * When it is cleared automatically.
 */
resetPolicy: ResetPolicyShape
/**
 * Its key.
 */
sessionKey: string
/**
 * Its settings now.
 */
settings: SessionSettingsShape
}
/**
 * Selects the last messages of a session.
 */
export interface SessionPreviewParams {
/**
 * Maximum number of messages; default 50, at most 500.
 */
limit?: (number | null)
/**
 * Its key.
 */
sessionKey: string
}
/**
 * Last messages of a session, oldest first.
 */
export interface SessionPreviewResult {
/**
 * Number of messages in the model's context.
 */
messageCount: number
/**
 * The last ones.
 */
messages: PreviewMessage[]
/**
 * Its current id.
 */
sessionId: string
/**
 * Its key.
 */
sessionKey: string
}
/**
 * One message of a preview. Clients of version 1 expect a user's message as a string here, and show nothing if they find
 * blocks.
 */
export interface PreviewMessage {
/**
 * A user's message as blocks, if it is more than text; an addition.
 */
blocks?: (ChatBlock[] | null)
/**
 * Its contents: a string for a user's message, blocks for all others.
 */
content: PreviewContent
/**
 * For a tool result: whether it failed.
 */
isError?: (boolean | null)
/**
 * Who sent it.
 */
role: ChatRole
/**
 * Its sequence number in the session; an addition.
 */
seq?: (number | null)
/**
 * Time in milliseconds since 1970.
 */
timestamp?: (number | null)
/**
 * For a tool result: id of the call.
 */
toolCallId?: (string | null)
/**
 * For a tool result: the tool.
 */
toolName?: (string | null)
}
/**
 * Selects the session to clear.
 */
export interface SessionResetParams {
/**
 * Its key.
 */
sessionKey: string
}
/**
 * The session was cleared.
 */
export interface SessionResetResult {
/**
 * Number of archived messages.
 */
archivedMessages: number
/**
 * The archive; absent if there were no messages.
 */
archivedTo?: (string | null)
/**
 * Number of deleted files: always 0, because they are archived.
 */
mediaDeleted: number
/**
 * The new id.
 */
newSessionId: string
/**
 * Always true.
 */
ok: boolean
/**
 * The former id.
 */
oldSessionId: string
/**
 * Its key.
 */
sessionKey: string
/**
 * Number of tokens counted before.
 */
tokensCleared: number
}
/**
 * Selects a message to rewind to.
 */
export interface SessionRewindParams {
/**
 * Sequence number of the user's message that is removed with everything after it.
 */
seq: number
/**
 * Its key.
 */
sessionKey: string
}
/**
 * The session was rewound.
 */
export interface SessionRewindResult {
/**
 * The archive.
 */
archivedTo: string
/**
 * Always true.
 */
ok: boolean
/**
 * Number of removed messages.
 */
removedMessages: number
/**
 * Number of tool calls among them; their effects are not undone.
 */
removedToolCalls: number
/**
 * Its key.
 */
sessionKey: string
/**
 * Text of the user's message, to be sent again.
 */
text: string
}
/**
 * Selects a session.
 */
export interface SessionStatsParams {
/**
 * Its key.
 */
sessionKey: string
}
/**
 * A session and its activity.
 */
export interface SessionStatsResult {
/**
 * Its agent; an addition.
 */
agentId?: string
/**
 * The approval request it is waiting for; an addition.
 */
approvalId?: (string | null)
/**
 * Whether it is archived; an addition.
 */
archived?: boolean
/**
 * Size of the conversation; an addition.
 */
context?: (SessionContext | null)
/**
 * Cost since it was last cleared, in millionths of a dollar; an addition.
 */
costMicros?: (number | null)
/**
 * Creation time.
 */
createdAt: number
/**
 * The folder it is listed in; an addition.
 */
folder?: (string | null)
/**
 * Whether it has an active run.
 */
isProcessing: boolean
/**
 * Its label.
 */
label?: (string | null)
/**
 * When it was last cleared.
 */
lastResetAt?: (number | null)
/**
 * Number of messages in the model's context.
 */
messageCount: number
/**
 * The model in force: of the session, of its agent or the default; an addition.
 */
model?: (ModelName | null)
/**
 * Whether it is listed first; an addition.
 */
pinned?: boolean
/**
 * Former ids, oldest first.
 */
previousSessionIds: string[]
/**
 * Number of queued and active messages.
 */
queueSize: number
/**
 * When it is cleared automatically.
 */
resetPolicy: ResetPolicyShape
/**
 * Its current id; clearing it assigns a new one.
 */
sessionId: string
/**
 * Its key.
 */
sessionKey: string
/**
 * Its settings, overriding its agent's.
 */
settings: SessionSettingsShape
/**
 * Its title; an addition.
 */
title?: (string | null)
/**
 * Tokens since it was last cleared.
 */
tokens: SessionTokens
/**
 * Time of the last change.
 */
updatedAt: number
/**
 * Milliseconds since its creation.
 */
uptime: number
}
/**
 * Selects a page.
 */
export interface SessionsListParams {
/**
 * Whether to list the archived sessions, and only these; default: false. An addition.
 */
archived?: (boolean | null)
/**
 * Maximum number of results; default 100, at most 1000.
 */
limit?: (number | null)
/**
 * Number of results to skip; default: 0.
 */
offset?: (number | null)
}
/**
 * Sessions, pinned ones first, then most recently active first.
 */
export interface SessionsListResult {
/**
 * Total number of sessions.
 */
count: number
/**
 * The sessions.
 */
sessions: SessionEntry[]
}
/**
 * A session in a list.
 */
export interface SessionEntry {
/**
 * Its agent; an addition.
 */
agentId?: string
/**
 * Whether it is archived; a new message takes it out of the archive. An addition.
 */
archived?: boolean
/**
 * Creation time.
 */
createdAt: number
/**
 * The folder it is listed in; an addition.
 */
folder?: (string | null)
/**
 * Its label: what a user named it.
 */
label?: (string | null)
/**
 * Time of the last message.
 */
lastActiveAt: number
/**
 * Number of messages in the model's context; an addition.
 */
messageCount?: number
/**
 * Whether it is listed first; an addition.
 */
pinned?: boolean
/**
 * Its key.
 */
sessionKey: string
/**
 * Its title: made by a model after the first reply, before that the start of the first message. An addition.
 */
title?: (string | null)
}
/**
 * Selects an agent.
 */
export interface SkillsStatusParams {
/**
 * The agent; default: `main`.
 */
agentId?: (string | null)
}
/**
 * Skills of an agent, and the nodes.
 */
export interface SkillsStatusResult {
/**
 * The agent.
 */
agentId: string
/**
 * All registered nodes.
 */
nodes: SkillNode[]
/**
 * Time of the check, in milliseconds since 1970.
 */
refreshedAt: number
/**
 * All skills, by name.
 */
skills: SkillStatus[]
}
/**
 * A node.
 */
export interface SkillNode {
/**
 * Its capabilities.
 */
hostCapabilities: string[]
/**
 * Its name.
 */
nodeId: string
/**
 * Whether it is connected.
 */
online: boolean
}
/**
 * Status of a skill.
 */
export interface SkillStatus {
/**
 * Whether it is shown whatever the nodes can do.
 */
always: boolean
/**
 * Its description.
 */
description: string
/**
 * Whether it is shown to the agent now.
 */
eligible: boolean
/**
 * Connected nodes with all required capabilities.
 */
eligibleHosts: string[]
/**
 * Whether it is enabled.
 */
enabled?: (boolean | null)
/**
 * Path of its file.
 */
location: string
/**
 * Its name.
 */
name: string
/**
 * Why it is not shown.
 */
reasons: string[]
/**
 * Its requirements.
 */
requirements: SkillNeedsShape
}
/**
 * Requirements of a skill.
 */
export interface SkillNeedsShape {
/**
 * Capabilities that one node must have.
 */
capabilities: string[]
}
/**
 * Selects an agent whose skills are refreshed.
 */
export interface SkillsUpdateParams {
/**
 * The agent; default: `main`.
 */
agentId?: (string | null)
}
/**
 * The terminal to close.
 */
export interface TerminalCloseParams {
/**
 * The terminal.
 */
terminalId: string
}
/**
 * The request was passed on.
 */
export interface TerminalResult {
/**
 * Always true.
 */
ok: boolean
}
/**
 * Something typed.
 */
export interface TerminalInputParams {
/**
 * What was typed, at most 1 MiB.
 */
data: string
/**
 * The terminal.
 */
terminalId: string
}
/**
 * A terminal to open.
 */
export interface TerminalOpenParams {
/**
 * Columns, 1 to 1000.
 */
cols: number
/**
 * The folder it starts in; default: the node's workspace.
 */
cwd?: (string | null)
/**
 * The node.
 */
nodeId: string
/**
 * Rows, 1 to 1000.
 */
rows: number
}
/**
 * The terminal is open.
 */
export interface TerminalOpenResult {
/**
 * Its id, which is the id of the call in the audit log.
 */
terminalId: string
}
/**
 * A new size.
 */
export interface TerminalResizeParams {
/**
 * Columns, 1 to 1000.
 */
cols: number
/**
 * Rows, 1 to 1000.
 */
rows: number
/**
 * The terminal.
 */
terminalId: string
}
/**
 * A tool call.
 */
export interface ToolInvokeParams {
/**
 * Agent on whose behalf, and in whose workspace, it runs; default: `main`.
 */
agentId?: (string | null)
/**
 * Arguments; omitted means an empty object.
 */
args?: ({
[k: string]: unknown
} | null)
/**
 * Whether to send progress as `tool.progress`.
 */
progress?: (boolean | null)
/**
 * The tool's name.
 */
tool: string
}
/**
 * The tool's result, as the tool documents it.
 */
export interface ToolInvokeResult {
[k: string]: unknown
}
/**
 * A tool call for a session.
 */
export interface ToolRequestParams {
/**
 * Arguments.
 */
args?: ({
[k: string]: unknown
} | null)
/**
 * The client's id of the call, used in its events.
 */
callId: string
/**
 * The session on behalf of whose agent it is called.
 */
sessionKey: string
/**
 * The tool.
 */
tool: string
}
/**
 * The call was started.
 */
export interface ToolRequestResult {
/**
 * Always `sent`.
 */
status: string
}
/**
 * Result of a call; exactly one of result and error.
 */
export interface ToolResultParams {
/**
 * The call.
 */
callId: string
/**
 * The stable code of the error, such as `not_found`; an addition.
 */
code?: (string | null)
/**
 * The error.
 */
error?: (string | null)
/**
 * The result.
 */
result?: {
[k: string]: unknown
}
}
/**
 * No parameters.
 */
export interface ToolsListParams {

}
/**
 * Tools the caller may use.
 */
export interface ToolsListResult {
/**
 * The tools.
 */
tools: ToolDefinition[]
}
/**
 * Whether a node accepts the offered file.
 */
export interface TransferAcceptParams {
/**
 * The stable code of the error; an addition.
 */
code?: (string | null)
/**
 * Why it does not.
 */
error?: (string | null)
/**
 * Number of bytes it already has; an addition.
 */
offset?: (number | null)
/**
 * The transfer.
 */
transferId: number
}
/**
 * The sending node has sent everything.
 */
export interface TransferCompleteParams {
/**
 * The stable code of the error; an addition.
 */
code?: (string | null)
/**
 * Why not everything was sent; an addition.
 */
error?: (string | null)
/**
 * SHA-256 of the complete file, 64 hex digits; an addition.
 */
sha256?: (string | null)
/**
 * The transfer.
 */
transferId: number
}
/**
 * The file was stored, or not.
 */
export interface TransferDoneParams {
/**
 * The size of the file.
 */
bytesWritten?: (number | null)
/**
 * The stable code of the error; an addition.
 */
code?: (string | null)
/**
 * Why it was not stored.
 */
error?: (string | null)
/**
 * The transfer.
 */
transferId: number
}
/**
 * Metadata of the requested file.
 */
export interface TransferMetaParams {
/**
 * The stable code of the error; an addition.
 */
code?: (string | null)
/**
 * Why it cannot be sent.
 */
error?: (string | null)
/**
 * MIME type, if known.
 */
mime?: (string | null)
/**
 * Its size in bytes.
 */
size?: (number | null)
/**
 * The transfer.
 */
transferId: number
/**
 * Version, which changes with the file; an addition.
 */
version?: (string | null)
}
/**
 * Selects a workspace file.
 */
export interface WorkspaceDeleteParams {
/**
 * The agent; default: `main`.
 */
agentId?: (string | null)
/**
 * The file.
 */
path: string
}
/**
 * The file was deleted.
 */
export interface WorkspaceDeleteResult {
/**
 * Always true.
 */
deleted: boolean
/**
 * The file.
 */
path: string
}
/**
 * Selects a workspace folder.
 */
export interface WorkspaceListParams {
/**
 * The agent; default: `main`.
 */
agentId?: (string | null)
/**
 * The folder; default: the root.
 */
path?: (string | null)
}
/**
 * Contents of a folder.
 */
export interface WorkspaceListResult {
/**
 * Its folders.
 */
directories: string[]
/**
 * Its files.
 */
files: string[]
/**
 * The folder.
 */
path: string
}
/**
 * Selects a workspace file.
 */
export interface WorkspaceReadParams {
/**
 * The agent; default: `main`.
 */
agentId?: (string | null)
/**
 * The file.
 */
path: string
}
/**
 * A file and its contents.
 */
export interface WorkspaceReadResult {
/**
 * Its text.
 */
content: string
/**
 * Time of the last write (RFC 3339).
 */
lastModified?: (string | null)
/**
 * The file.
 */
path: string
/**
 * Its size in bytes.
 */
size: number
/**
 * Version, which changes with the contents; an addition.
 */
version?: (string | null)
}
/**
 * A file to write.
 */
export interface WorkspaceWriteParams {
/**
 * The agent; default: `main`.
 */
agentId?: (string | null)
/**
 * Its complete contents.
 */
content: string
/**
 * Write only if the file still has this version, or with an empty one only if it does not exist; otherwise it is a conflict
 * and nothing is written. An addition.
 */
ifVersion?: (string | null)
/**
 * The file; parent folders are created.
 */
path: string
}
/**
 * The file was written.
 */
export interface WorkspaceWriteResult {
/**
 * The file.
 */
path: string
/**
 * Its size in bytes.
 */
size: number
/**
 * The new version; an addition.
 */
version?: (string | null)
/**
 * Always true.
 */
written: boolean
}
