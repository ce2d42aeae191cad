// Made from docs/protocol.json by `npm run types`; not to be changed by hand.

/**
 * What kind of file.
 */
export type BridgeMediaKind = ("image" | "audio" | "video" | "document")
/**
 * What kind of chat.
 */
export type BridgePeerKind = ("dm" | "group" | "channel" | "thread")
/**
 * A part of a message.
 */
export type ChatBlock = ({
/**
 * The words.
 */
text: string
type: "text"
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
 * What kind of picture.
 */
mimeType: string
/**
 * `SEQ/INDEX`: `GET /api/sessions/{key}/pictures/{seq}/{index}` gives its bytes; an addition.
 */
ref?: (string | null)
type: "image"
})
/**
 * Who said something.
 */
export type ChatRole = ("user" | "assistant" | "toolResult")
/**
 * What a `chat` event is.
 */
export type ChatState = ("partial" | "delta" | "paused" | "final" | "error")
/**
 * Whether a tool began, printed something or ended.
 */
export type ChatToolState = ("started" | "output" | "done")
/**
 * What happened to a program.
 */
export type ExecEvent = ("started" | "finished" | "failed" | "timed_out")
/**
 * What became of a message.
 */
export type ChatSendResult = ({
/**
 * What was asked for this one message.
 */
directives?: (Directives | null)
/**
 * Whether another message is before it.
 */
queued: boolean
/**
 * The run.
 */
runId: string
status: "started"
} | {
/**
 * Which one, without its slash.
 */
command: string
/**
 * Why it was not done.
 */
error?: (string | null)
/**
 * What came of it, in words.
 */
response: string
status: "command"
} | {
/**
 * What was understood.
 */
directives: Directives
/**
 * What to do instead, in words.
 */
response: string
status: "directive-only"
} | {
/**
 * The question, where it is known.
 */
approvalId?: (string | null)
/**
 * What is waited for, in words.
 */
response: string
/**
 * The run.
 */
runId: string
status: "paused"
})
/**
 * One setting or all of them, secrets masked.
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
 * As what a client connects.
 */
export type ClientMode = ("client" | "node" | "channel")
/**
 * The word that opens a greeting.
 */
export type HelloKind = "hello-ok"
/**
 * How it is decided that a session begins anew.
 */
export type ResetModeShape = ("manual" | "daily" | "idle")
/**
 * What was said, in a preview.
 */
export type PreviewContent = (string | ChatBlock[])

/**
 * Made from crates/wire; run `UPDATE_DOCS=1 cargo test -p manyhands-wire` after a change.
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
"session.deleted": SessionDeletedEvent
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
 * Somebody said something on a bridge's service; it is on disk when this is answered. Only for sockets in mode `channel`, each for the service and account it connected for.
 */
"channel.inbound": {
params: ChannelInboundParams
result: ChannelInboundResult
}
/**
 * Gives an account its credentials, which go into the vault; for the owner.
 */
"channel.login": {
params: ChannelLoginParams
result: ChannelResult
}
/**
 * Forgets an account and its credentials; for the owner.
 */
"channel.logout": {
params: ChannelLogoutParams
result: ChannelResult
}
/**
 * What became of a `channel.outbound`, from a bridge that announced `channel.sent`. An addition.
 */
"channel.sent": {
params: ChannelSentParams
result: Taken
}
/**
 * Starts an account, or begins anew with it; for the owner.
 */
"channel.start": {
params: ChannelStartParams
result: ChannelResult
}
/**
 * How an account stands; for the owner.
 */
"channel.status": {
params: ChannelStatusParams
result: ChannelResult
}
/**
 * Stops an account, until it is started again; for the owner.
 */
"channel.stop": {
params: ChannelStopParams
result: ChannelResult
}
/**
 * The accounts on chat platforms, and how they stand; for the owner.
 */
"channels.list": {
params: ChannelsListParams
result: ChannelsListResult
}
/**
 * Says something to an agent. `chat` and `chat.tool` events follow. The owner talks in every session; a client's token only in its own, and a read-only one in none.
 */
"chat.send": {
params: ChatSendParams
result: ChatSendResult
}
/**
 * Stops what is running in a session.
 */
"chat.stop": {
params: ChatStopParams
result: ChatStopResult
}
/**
 * Reads one setting or all of them, secrets masked.
 */
"config.get": {
params: ConfigGetParams
result: ConfigGetResult
}
/**
 * Changes one setting, if the whole configuration stays right.
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
 * Makes a job, which runs with the rights of whoever makes it.
 */
"cron.add": {
params: CronAddParams
result: CronJobResult
}
/**
 * The jobs that the caller may see: all for the owner, its own for a client's token.
 */
"cron.list": {
params: CronListParams
result: CronListResult
}
/**
 * What a schedule comes to: in words, and its next instants. Nothing is kept. An addition.
 */
"cron.preview": {
params: CronPreviewParams
result: CronPreviewResult
}
/**
 * Removes a job with its runs.
 */
"cron.remove": {
params: CronRemoveParams
result: CronRemoveResult
}
/**
 * Runs one job now, or all that are due; answered when they have ended, or after two minutes.
 */
"cron.run": {
params: CronRunParams
result: CronRunResult
}
/**
 * What came of jobs, the latest first.
 */
"cron.runs": {
params: CronRunsParams
result: CronRunsResult
}
/**
 * How the jobs stand.
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
 * Switches an agent's heartbeat on, until the settings change; for the owner.
 */
"heartbeat.start": {
params: HeartbeatStartParams
result: HeartbeatStartResult
}
/**
 * How the heartbeats of agents stand; for the owner.
 */
"heartbeat.status": {
params: HeartbeatStatusParams
result: HeartbeatStatusResult
}
/**
 * Has an agent look now whether there is something to do; 409 while it is looking. For the owner.
 */
"heartbeat.trigger": {
params: HeartbeatTriggerParams
result: HeartbeatTriggerResult
}
/**
 * The end of a node's log.
 */
"logs.get": {
params: LogsGetParams
result: LogsGetResult
}
/**
 * The end of a node's log.
 */
"logs.result": {
params: LogsResultParams
result: Taken
}
/**
 * News of a program that runs in the background; the same `eventId` counts once.
 */
"node.exec.event": {
params: NodeExecEventParams
result: Taken
}
/**
 * Forgets a node and takes its own token back.
 */
"node.forget": {
params: NodeForgetParams
result: NodeForgetResult
}
/**
 * Every node on record.
 */
"nodes.list": {
params: NodesListParams
result: NodesListResult
}
/**
 * Lets somebody speak, as a guest or as the owner; for the owner.
 */
"pair.approve": {
params: PairApproveParams
result: PairResult
}
/**
 * People who ask to be known, and those who were decided about; for the owner.
 */
"pair.list": {
params: PairListParams
result: PairListResult
}
/**
 * Lets somebody not speak; for the owner.
 */
"pair.reject": {
params: PairRejectParams
result: PairResult
}
/**
 * Watches a program no more. An addition.
 */
"process.unwatch": {
params: ProcessUnwatchParams
result: ProcessUnwatchResult
}
/**
 * Watches what a program in the background of a node prints: `process.output` tells it until the program or the watch ends. It is one call of the node's `Process` with `log`, allowed, asked about and recorded as such. An addition.
 */
"process.watch": {
params: ProcessWatchParams
result: ProcessWatchResult
}
/**
 * Leaves out all but the last messages from what a model is shown; they are archived.
 */
"session.compact": {
params: SessionCompactParams
result: SessionCompactResult
}
/**
 * Deletes a session with all that was said in it, its archives too; what runs in it is stopped. What tools did, the audit, what models used up, files and artifacts stay. An addition.
 */
"session.delete": {
params: SessionDeleteParams
result: SessionDeleteResult
}
/**
 * One session.
 */
"session.get": {
params: SessionGetParams
result: SessionGetResult
}
/**
 * What was said in a session, page by page from its end, and the ids it had.
 */
"session.history": {
params: SessionHistoryParams
result: SessionHistoryResult
}
/**
 * Changes what is set for a session. What is left out stays, and null puts back what the agent says.
 */
"session.patch": {
params: SessionPatchParams
result: SessionPatchResult
}
/**
 * The end of a session.
 */
"session.preview": {
params: SessionPreviewParams
result: SessionPreviewResult
}
/**
 * Begins a session anew; what was said is archived.
 */
"session.reset": {
params: SessionResetParams
result: SessionResetResult
}
/**
 * Takes back what was said from a user's message on, so that it can be said anew; it is archived. What tools did stays done. 409 while something runs or waits in the session.
 */
"session.rewind": {
params: SessionRewindParams
result: SessionRewindResult
}
/**
 * One session, and what it is doing.
 */
"session.stats": {
params: SessionStatsParams
result: SessionStatsResult
}
/**
 * The sessions that the caller may see: all for the owner, its own for a client's token.
 */
"sessions.list": {
params: SessionsListParams
result: SessionsListResult
}
/**
 * The skills of an agent, and whether they can be used now; for whoever may read files of workspaces.
 */
"skills.status": {
params: SkillsStatusParams
result: SkillsStatusResult
}
/**
 * The same, looked at anew. Nothing is remembered between two looks, so that both say the same.
 */
"skills.update": {
params: SkillsUpdateParams
result: SkillsStatusResult
}
/**
 * Calls a tool; answered when it is done.
 */
"tool.invoke": {
params: ToolInvokeParams
result: ToolInvokeResult
}
/**
 * Calls a tool in the name of a session's agent; answered at once. What comes of it is told by `chat.tool` events of the session, to everybody who may see it.
 */
"tool.request": {
params: ToolRequestParams
result: ToolRequestResult
}
/**
 * What came of a call; only the node that was asked may answer.
 */
"tool.result": {
params: ToolResultParams
result: Taken
}
/**
 * The tools that the caller may call.
 */
"tools.list": {
params: ToolsListParams
result: ToolsListResult
}
/**
 * Whether a node takes the file it was offered.
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
 * The file is in its place, or not.
 */
"transfer.done": {
params: TransferDoneParams
result: Taken
}
/**
 * What the file is that a node was asked for.
 */
"transfer.meta": {
params: TransferMetaParams
result: Taken
}
/**
 * Deletes a file of an agent's workspace.
 */
"workspace.delete": {
params: WorkspaceDeleteParams
result: WorkspaceDeleteResult
}
/**
 * Lists a folder of an agent's workspace.
 */
"workspace.list": {
params: WorkspaceListParams
result: WorkspaceListResult
}
/**
 * Reads a file of an agent's workspace.
 */
"workspace.read": {
params: WorkspaceReadParams
result: WorkspaceReadResult
}
/**
 * Writes a file of an agent's workspace.
 */
"workspace.write": {
params: WorkspaceWriteParams
result: WorkspaceWriteResult
}
}
}
/**
 * An error as it travels. The code is a number that may be one we do not know.
 */
export interface ErrorShape {
/**
 * One of the codes.
 */
code: number
/**
 * More for programs.
 */
details?: {
[k: string]: unknown
}
/**
 * What was wrong and what would be right.
 */
message: string
/**
 * Whether the same request may work later.
 */
retryable?: (boolean | null)
}
/**
 * Questions to the owner changed.
 */
export interface ApprovalsChangedEvent {
/**
 * How many wait for an answer.
 */
pending: number
}
/**
 * Something that the bridge is to send.
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
 * Names it for `channel.sent`; whoever gets the same twice sends it once. An addition.
 */
id?: string
/**
 * What is to be sent.
 */
message: BridgeOutgoing
/**
 * The chat.
 */
peer: BridgePeer
/**
 * The conversation; empty when it belongs to none.
 */
sessionKey: string
}
/**
 * What is to be sent.
 */
export interface BridgeOutgoing {
/**
 * The file itself; an addition.
 */
media?: (BridgeMedia | null)
/**
 * Where the file is for a while, when there is one.
 */
mediaUrl?: (string | null)
/**
 * The message that it answers.
 */
replyToId?: (string | null)
/**
 * The text, in Markdown; below a file when there is one.
 */
text: string
}
/**
 * A file of a message: its bytes, or an address at which the gateway gets them.
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
 * Its type, such as `image/png`.
 */
mimeType: string
/**
 * Its size in bytes.
 */
size?: (number | null)
/**
 * What is spoken in it, where the service tells.
 */
transcription?: (string | null)
/**
 * `image`, `audio`, `video` or `document`.
 */
type: BridgeMediaKind
/**
 * Where it is.
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
 * What kind of chat.
 */
kind: BridgePeerKind
/**
 * What it is called.
 */
name?: (string | null)
}
/**
 * The agent writes, or does no longer.
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
 * The conversation; empty when it is not known.
 */
sessionKey: string
/**
 * Whether it writes.
 */
typing: boolean
}
/**
 * Accounts, people or messages of chats changed.
 */
export interface ChannelsChangedEvent {

}
/**
 * What an agent says while it works, and its answer.
 */
export interface ChatEventPayload {
/**
 * For `paused`: the question that waits for the owner; an addition.
 */
approvalId?: (string | null)
/**
 * For `paused`: its arguments; an addition.
 */
arguments?: {
[k: string]: unknown
}
/**
 * For `paused`: the model's id of the call that is asked about, when it is one of this session;
 * an addition.
 */
callId?: (string | null)
/**
 * For `error`: the code that a refused request would have; an addition.
 */
code?: (string | null)
/**
 * For `error`: why there is no answer.
 */
error?: (string | null)
/**
 * For `error`: what sort of failure, a stable word such as `provider_rate_limited`; an
 * addition.
 */
failure?: (string | null)
/**
 * For `partial` and `final`: what the agent said, whole.
 */
message?: (ChatMessage | null)
/**
 * For `delta`: how much of the reply's text came before `text`, in units of UTF-16; an addition.
 */
offset?: (number | null)
/**
 * Which reply of a model this belongs to: a number that grows with every reply of the gateway,
 * also when one begins anew. For `delta`, `partial` and `final`; an addition.
 */
reply?: (number | null)
/**
 * For `delta`: the deltas since the last `partial` are void, and this is why; an addition.
 */
restart?: (string | null)
/**
 * For `error`: how long to wait before asking again, where it is known; an addition.
 */
retryAfterMs?: (number | null)
/**
 * The run it belongs to; null when it belongs to none.
 */
runId?: (string | null)
/**
 * The session.
 */
sessionKey: string
/**
 * What this is. After `final` and `error` nothing more comes of a run.
 */
state: ChatState
/**
 * For `final`: why the model said no more, `end` or `length`; an addition.
 */
stopReason?: (string | null)
/**
 * For `error`: whether somebody stopped the run; an addition.
 */
stopped?: (boolean | null)
/**
 * For `delta`: the next words. For `partial`, `final` and `paused`: the whole text.
 */
text?: (string | null)
/**
 * For `delta`: the next words of what the model thinks; an addition.
 */
thinking?: (string | null)
/**
 * For `delta`: how much was thought before `thinking`, in units of UTF-16; an addition.
 */
thinkingOffset?: (number | null)
/**
 * For `paused`: the tool that would run; an addition.
 */
tool?: (string | null)
/**
 * For `final`: what the run used up; an addition.
 */
usage?: (ChatUsage | null)
}
/**
 * One message of a session.
 */
export interface ChatMessage {
/**
 * For a tool's result: the call as the audit knows it, where it is known; an addition.
 */
auditCall?: (string | null)
/**
 * What was said.
 */
content: ChatBlock[]
/**
 * For a tool's result: how long the call took, in milliseconds, where it is known; an addition.
 */
durationMs?: (number | null)
/**
 * For a tool's result: whether it failed.
 */
isError?: (boolean | null)
/**
 * Who said it.
 */
role: ChatRole
/**
 * Its number in the session; an addition.
 */
seq?: (number | null)
/**
 * When, in milliseconds since 1970.
 */
timestamp?: (number | null)
/**
 * For a tool's result: the call it answers.
 */
toolCallId?: (string | null)
/**
 * For a tool's result: the tool.
 */
toolName?: (string | null)
/**
 * In a history: what the run used up whose last message this is. Absent in all other messages,
 * and where it is not known; an addition.
 */
usage?: (ChatUsage | null)
}
/**
 * What a run used up.
 */
export interface ChatUsage {
/**
 * What it cost, in millionths of a dollar, as far as prices are known.
 */
costMicros?: number
/**
 * How long it took, in milliseconds, where it is known; an addition.
 */
durationMs?: (number | null)
/**
 * Tokens that went in.
 */
inputTokens?: number
/**
 * Tokens that came out.
 */
outputTokens?: number
/**
 * Replies of models.
 */
replies?: number
}
/**
 * Events of chats were left out, because they came faster than they were read: what is missing
 * is in `session.history`, and the ends of the asker's own runs follow.
 */
export interface ChatGapEvent {
/**
 * How many, of all chats that this socket hears of.
 */
missed: number
}
/**
 * What somebody said became part of the conversation: its run began, or the run that was going on
 * took it in.
 */
export interface ChatTakenEvent {
/**
 * The run that took it in; absent where it began its own.
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
 * A tool that an agent called began, printed something or ended.
 */
export interface ChatToolEvent {
/**
 * For `started`: its arguments.
 */
args?: {
[k: string]: unknown
}
/**
 * The call as the audit knows it, where it is known.
 */
auditCall?: (string | null)
/**
 * The model's id of the call.
 */
callId: string
/**
 * For `done`: how long it took, in milliseconds.
 */
durationMs?: (number | null)
/**
 * For `output`: how much it printed before, in units of UTF-16; an addition.
 */
offset?: (number | null)
/**
 * For `done`: whether it worked.
 */
ok?: (boolean | null)
/**
 * The run it belongs to.
 */
runId: string
/**
 * The session.
 */
sessionKey: string
/**
 * For `done`: the beginning of what it gave.
 */
shown?: (string | null)
/**
 * Whether it began, printed something or ended.
 */
state: ChatToolState
/**
 * For `output`: what it printed since, at most 4 KiB. Some may be left out; the result is whole.
 */
text?: (string | null)
/**
 * The tool.
 */
tool: string
}
/**
 * Jobs changed, or ran.
 */
export interface CronChangedEvent {

}
/**
 * Asks a node for the end of its log; it answers with `logs.result`.
 */
export interface LogsGetEvent {
/**
 * The question; the answer carries it.
 */
callId: string
/**
 * How many lines.
 */
lines: number
}
/**
 * Tells whoever started a program in the background how it goes.
 */
export interface NodeExecNotice {
/**
 * On whose behalf it was started, where that is known.
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
 * What happened.
 */
event: ExecEvent
/**
 * This piece of news; the same id is the same news.
 */
eventId: string
/**
 * Its exit code.
 */
exitCode?: (number | null)
/**
 * Where it runs.
 */
nodeId: string
/**
 * The end of what it printed.
 */
outputTail?: (string | null)
/**
 * The program's session, as `Bash` answered it.
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
 * Nodes came, went or changed.
 */
export interface NodesChangedEvent {

}
/**
 * The next piece of what a program prints: at most 16,000 characters. From a node to the gateway,
 * and from there, without secrets, to whoever opened the watch. An addition: `process.watch`.
 */
export interface ProcessOutputEvent {
/**
 * Which character of all that was printed it begins with. What lies between this and the
 * `next` of the piece before was left out.
 */
at: number
/**
 * Whether the watch is over.
 */
ended?: (boolean | null)
/**
 * Why it is over although the program may run on.
 */
error?: (string | null)
/**
 * Where the next piece begins.
 */
next: number
/**
 * The piece.
 */
text: string
/**
 * The watch.
 */
watchId: string
}
/**
 * Tells a node that nobody watches any more. An addition: `process.watch`.
 */
export interface ProcessUnwatchEvent {
/**
 * The watch.
 */
watchId: string
}
/**
 * Asks a node for the next piece of what a program in its background prints; it answers with one
 * `process.output` as soon as there is something to tell. An addition: `process.watch`.
 */
export interface ProcessWatchEvent {
/**
 * Which character of all it printed to begin with; left out, what it printed lately comes first.
 */
from?: (number | null)
/**
 * The program's session, as `Bash` answered it.
 */
sessionId: string
/**
 * The watch; the answer carries it.
 */
watchId: string
}
/**
 * A session was deleted.
 */
export interface SessionDeletedEvent {
/**
 * The key it had.
 */
sessionKey: string
}
/**
 * Tells a node that nobody waits for a call any more. An addition: `tool.cancel`.
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
 * The call; a node runs each once.
 */
callId: string
/**
 * Whether the result may hold all of a long output, as `fullOutput`; an addition: `tool.fullOutput`.
 */
fullOutput?: (boolean | null)
/**
 * Whether somebody watches, and is to be told by `tool.output` what it prints; an addition.
 */
output?: (boolean | null)
/**
 * The tool, without the node's name before it.
 */
tool: string
}
/**
 * What a call printed since the last of these, from the node that runs it: at most 4 KiB of text,
 * about ten times a second, 256 KiB in all. Some may be left out. An addition: `tool.output`.
 */
export interface ToolOutputEvent {
/**
 * The call.
 */
callId: string
/**
 * The next piece.
 */
text: string
}
/**
 * How far a call is.
 */
export interface ToolProgressEvent {
/**
 * How much is done.
 */
done: number
/**
 * What is being done.
 */
message?: (string | null)
/**
 * What the call printed since, at most 4 KiB; the other fields are those of the last step then.
 */
output?: (string | null)
/**
 * The id of the `tool.invoke` request.
 */
requestId: string
/**
 * Of how much, where that is known.
 */
total?: (number | null)
}
/**
 * Tools came or went.
 */
export interface ToolsChangedEvent {

}
/**
 * How much of a transfer has been taken: from the receiving node to the gateway, from the
 * gateway to the sending node. An addition.
 */
export interface TransferAckEvent {
/**
 * Bytes of the file that were taken, counted from its beginning.
 */
bytes: number
/**
 * The transfer.
 */
transferId: number
}
/**
 * Tells a node that a transfer is off. An addition.
 */
export interface TransferCancelEvent {
/**
 * Whether the part that has come is kept, to be taken up again.
 */
keep?: boolean
/**
 * The transfer.
 */
transferId: number
}
/**
 * Tells the receiving node that everything has come.
 */
export interface TransferEndEvent {
/**
 * The SHA-256 that the whole file must have, 64 hex digits; an addition.
 */
sha256?: (string | null)
/**
 * The transfer.
 */
transferId: number
}
/**
 * Offers a node a file; it answers with `transfer.accept`.
 */
export interface TransferReceiveEvent {
/**
 * What kind of file it is.
 */
mime?: (string | null)
/**
 * Where it goes.
 */
path: string
/**
 * Names the file in its present state and where it goes; a part that was kept under the
 * same name is taken up again. 64 hex digits; an addition.
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
 * Asks a node for a file; it answers with `transfer.meta`.
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
 * Tells the sending node to begin.
 */
export interface TransferStartEvent {
/**
 * Where to begin, when not at the beginning; an addition.
 */
offset?: (number | null)
/**
 * The transfer.
 */
transferId: number
}
/**
 * Somebody said something on the bridge's service.
 */
export interface ChannelInboundParams {
/**
 * The account, as the bridge connected.
 */
accountId: string
/**
 * The service, as the bridge connected.
 */
channel: string
/**
 * Whom the message mentions.
 */
mentionedIds?: (string[] | null)
/**
 * What was said.
 */
message: BridgeMessage
/**
 * The chat.
 */
peer: BridgePeer
/**
 * Who said it; in a direct chat the peer when not said.
 */
sender?: (BridgeSender | null)
/**
 * Whether the bot was called.
 */
wasMentioned?: (boolean | null)
}
/**
 * What was said.
 */
export interface BridgeMessage {
/**
 * The service's id of it: told twice, it counts once.
 */
id: string
/**
 * A place on the map.
 */
location?: (BridgeLocation | null)
/**
 * Files, pictures and recordings.
 */
media?: (BridgeMedia[] | null)
/**
 * The message that it answers.
 */
replyToId?: (string | null)
/**
 * The text of that message.
 */
replyToText?: (string | null)
/**
 * The text.
 */
text: string
/**
 * When, in milliseconds since 1970; now when not said.
 */
timestamp?: (number | null)
}
/**
 * A place on the map.
 */
export interface BridgeLocation {
/**
 * Degrees north.
 */
lat: number
/**
 * Degrees east.
 */
lon: number
/**
 * What it is called.
 */
name?: (string | null)
}
/**
 * Somebody who writes.
 */
export interface BridgeSender {
/**
 * Their handle.
 */
handle?: (string | null)
/**
 * Their id.
 */
id: string
/**
 * What they are called.
 */
name?: (string | null)
}
/**
 * The message is on disk.
 */
export interface ChannelInboundResult {
/**
 * The conversation in which it belongs.
 */
sessionKey: string
/**
 * `queued`: it is kept, and worked on in its turn.
 */
status: string
}
/**
 * The credentials of an account.
 */
export interface ChannelLoginParams {
/**
 * The account; `default` when not said.
 */
accountId?: (string | null)
/**
 * Slack: the app's token.
 */
appToken?: (string | null)
/**
 * The platform.
 */
channel: string
/**
 * How events come: `poll`, `socket` or `webhook`.
 */
mode?: (string | null)
/**
 * WhatsApp: the phone number id.
 */
number?: (string | null)
/**
 * The secret by which webhooks are known to be the platform's.
 */
secret?: (string | null)
/**
 * The token.
 */
token?: (string | null)
/**
 * WhatsApp: what was typed in where the webhook was set up.
 */
verifyToken?: (string | null)
}
/**
 * What was done with an account, and how it stands.
 */
export interface ChannelResult {
/**
 * The account, unless it is gone.
 */
channel?: (ChannelEntry | null)
/**
 * True.
 */
ok: boolean
}
/**
 * One account, and how it stands.
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
 * Since when it is connected, in milliseconds since 1970.
 */
connectedAt?: (number | null)
/**
 * What is wrong, if something is.
 */
detail?: (string | null)
/**
 * When something was last heard, in milliseconds since 1970.
 */
lastMessageAt?: (number | null)
/**
 * What the account is called on the platform.
 */
name?: (string | null)
/**
 * `connected`, `connecting`, `error`, `stopped` or `off`.
 */
state: string
}
/**
 * Which account is forgotten.
 */
export interface ChannelLogoutParams {
/**
 * The account; `default` when not said.
 */
accountId?: (string | null)
/**
 * The platform.
 */
channel: string
}
/**
 * What became of something that the bridge was given; only with the addition `channel.sent`.
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
 * The service's id of the message, when it was sent.
 */
messageId?: (string | null)
/**
 * For an error: whether it is worth trying again.
 */
retryable?: (boolean | null)
}
/**
 * It was taken.
 */
export interface Taken {
/**
 * Nobody waited for it any more.
 */
dropped?: (boolean | null)
/**
 * Always true.
 */
ok: boolean
}
/**
 * Which account is started.
 */
export interface ChannelStartParams {
/**
 * The account; `default` when not said.
 */
accountId?: (string | null)
/**
 * The platform.
 */
channel: string
}
/**
 * Which account.
 */
export interface ChannelStatusParams {
/**
 * The account; `default` when not said.
 */
accountId?: (string | null)
/**
 * The platform.
 */
channel: string
}
/**
 * Which account is stopped.
 */
export interface ChannelStopParams {
/**
 * The account; `default` when not said.
 */
accountId?: (string | null)
/**
 * The platform.
 */
channel: string
}
/**
 * Nothing is asked.
 */
export interface ChannelsListParams {

}
/**
 * The accounts.
 */
export interface ChannelsListResult {
/**
 * Each account.
 */
channels: ChannelEntry[]
/**
 * How many there are.
 */
count: number
}
/**
 * A message to an agent.
 */
export interface ChatSendParams {
/**
 * What is said. `/help` lists what is a command.
 */
message: string
/**
 * The asker's own id of the run: sent twice, it counts once.
 */
runId?: (string | null)
/**
 * The session; a plain name such as `main`, or `agent:NAME:REST`.
 */
sessionKey: string
}
/**
 * What counts for one message only: `/t:LEVEL` and `/m:PROVIDER/MODEL` at its beginning.
 */
export interface Directives {
/**
 * Which model answers.
 */
model?: (ModelName | null)
/**
 * How hard to think.
 */
thinkLevel?: (string | null)
}
/**
 * A model, and who serves it.
 */
export interface ModelName {
/**
 * The model, as its provider names it.
 */
id: string
/**
 * Who serves it, as the settings name it.
 */
provider: string
}
/**
 * In which session to stop what is running.
 */
export interface ChatStopParams {
/**
 * The session.
 */
sessionKey: string
}
/**
 * Whether something was stopped.
 */
export interface ChatStopResult {
/**
 * Always true.
 */
ok: boolean
/**
 * Whether something was running.
 */
stopped: boolean
}
/**
 * Which setting; all of them when left out.
 */
export interface ConfigGetParams {
/**
 * A dotted path, as in `limits.request_bytes`.
 */
path?: (string | null)
}
/**
 * Which setting becomes what.
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
 * Keys that only a restart brings into force.
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
 * Says who connects, with what, and which versions it speaks.
 */
export interface ConnectParams {
/**
 * Additions to the protocol that the client knows; see `features.additions`.
 */
additions?: string[]
/**
 * How it proves that.
 */
auth?: (Auth | null)
/**
 * Who connects.
 */
client: Client
/**
 * The highest protocol version the client speaks.
 */
maxProtocol: number
/**
 * The lowest protocol version the client speaks.
 */
minProtocol: number
/**
 * For a node: what it and its tools can do.
 */
nodeRuntime?: (NodeRuntime | null)
/**
 * For a node: the tools it offers, without prefix.
 */
tools?: (ToolDefinition[] | null)
}
/**
 * How a client proves who it is. Prints without the token.
 */
export interface Auth {
/**
 * An access token of the gateway.
 */
token?: (string | null)
}
/**
 * Who connects.
 */
export interface Client {
/**
 * For a channel: which account of it.
 */
accountId?: (string | null)
/**
 * For a channel: which service.
 */
channel?: (string | null)
/**
 * Its id; for a node, the node id.
 */
id: string
/**
 * As what it connects.
 */
mode: ClientMode
/**
 * The system it runs on.
 */
platform: string
/**
 * For a node: the one session whose agent has its tools. What it offers are then tools of an MCP server, whose
 * results it gives back as they are. An addition, `node.session`.
 */
sessionKey?: (string | null)
/**
 * Its version.
 */
version: string
}
/**
 * What a node and its tools can do. The capabilities are `filesystem.list`,
 * `filesystem.read`, `filesystem.write`, `filesystem.edit`, `text.search` and
 * `shell.exec`.
 */
export interface NodeRuntime {
/**
 * What the machine can do.
 */
hostCapabilities: string[]
/**
 * What each tool needs of that.
 */
toolCapabilities: {
[k: string]: string[]
}
}
/**
 * A tool as lists show it and nodes offer it.
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
 * The answer to a `connect` that was accepted.
 */
export interface HelloOk {
/**
 * What may be asked, and what may be told.
 */
features: Features
/**
 * For a node: the name it has here, which is another than its own after a renaming.
 */
nodeId?: (string | null)
/**
 * The protocol version from here on.
 */
protocol: number
/**
 * Who answers.
 */
server: Server
/**
 * Says that this is the greeting.
 */
type: HelloKind
}
/**
 * What may be asked, and what may be told.
 */
export interface Features {
/**
 * The additions to the protocol that the gateway knows: `tool.cancel`, `transfer.checked`, `tool.output`, `process.watch`.
 */
additions?: string[]
/**
 * The events it may be sent.
 */
events: string[]
/**
 * The methods this client may call.
 */
methods: string[]
}
/**
 * Who answers.
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
 * A job to be made.
 */
export interface CronAddParams {
/**
 * Its name.
 */
name: string
/**
 * When it is due, as `job.schedule` of `gsv__Cron`.
 */
schedule: {
[k: string]: unknown
}
/**
 * What it does, as `job.spec` of `gsv__Cron`.
 */
spec: {
[k: string]: unknown
}
[k: string]: unknown
}
/**
 * A job as it is now.
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
 * When it was made.
 */
createdAtMs: number
/**
 * Whether it goes after a successful one-shot run.
 */
deleteAfterRun: boolean
/**
 * What it is for.
 */
description?: (string | null)
/**
 * Whether it is active.
 */
enabled: boolean
/**
 * Its id.
 */
id: string
/**
 * Who made it, with whose rights it runs.
 */
madeBy?: string
/**
 * What becomes of missed runs: skip, once or all.
 */
missed?: string
/**
 * How many hours old a missed run may be to be made up for.
 */
missedWindowHours?: number
/**
 * Its name.
 */
name: string
/**
 * What becomes of overlapping runs: skip or wait.
 */
overlap?: string
/**
 * When it is due: `{kind: "at", atMs}`, `{kind: "every", everyMs, anchorMs}` or `{kind: "cron", expr, tz?}`.
 */
schedule: {
[k: string]: unknown
}
/**
 * The same in words.
 */
scheduleText?: string
/**
 * What it does.
 */
spec: {
[k: string]: unknown
}
/**
 * How it stands.
 */
state: CronJobState
/**
 * The untrusted text that was read before it was added or changed, until the owner trusts it.
 */
taintedBy?: (string | null)
/**
 * When it was last changed.
 */
updatedAtMs: number
}
/**
 * How a job stands.
 */
export interface CronJobState {
/**
 * How many runs in a row failed.
 */
consecutiveFailures?: number
/**
 * How long it took.
 */
lastDurationMs?: (number | null)
/**
 * What went wrong.
 */
lastError?: (string | null)
/**
 * When it last ran.
 */
lastRunAtMs?: (number | null)
/**
 * How that ended: ok, error or skipped.
 */
lastStatus?: (string | null)
/**
 * When it is due next.
 */
nextRunAtMs?: (number | null)
/**
 * Since when it runs.
 */
runningAtMs?: (number | null)
}
/**
 * Which jobs.
 */
export interface CronListParams {
/**
 * Those of one agent.
 */
agentId?: (string | null)
/**
 * Also those that are switched off.
 */
includeDisabled?: (boolean | null)
/**
 * How many at most.
 */
limit?: (number | null)
/**
 * How many to leave out first.
 */
offset?: (number | null)
}
/**
 * Jobs.
 */
export interface CronListResult {
/**
 * How many there are in all.
 */
count: number
/**
 * The jobs, the oldest first.
 */
jobs: CronJob[]
}
/**
 * A schedule to be looked at, before a job is made of it.
 */
export interface CronPreviewParams {
/**
 * How many instants, 1 to 20; 5 when not said.
 */
count?: (number | null)
/**
 * When a job would be due, as `job.schedule` of `gsv__Cron`.
 */
schedule: {
[k: string]: unknown
}
/**
 * By whose clocks it is read and told where it names none, such as `Europe/Berlin`; by those of
 * the settings when not said, as `cron.add` does.
 */
tz?: (string | null)
}
/**
 * What a schedule comes to.
 */
export interface CronPreviewResult {
/**
 * The same schedule with nothing left open: given to `cron.add`, it comes to these instants.
 */
schedule: {
[k: string]: unknown
}
/**
 * The schedule in plain words.
 */
text: string
/**
 * Its next instants in milliseconds since 1970, the earliest first; fewer when it ends.
 */
times: number[]
}
/**
 * Which job goes.
 */
export interface CronRemoveParams {
/**
 * The job.
 */
id: string
}
/**
 * Whether it went.
 */
export interface CronRemoveResult {
/**
 * True.
 */
ok: boolean
/**
 * Whether there was such a job.
 */
removed: boolean
}
/**
 * Which jobs run.
 */
export interface CronRunParams {
/**
 * The job; all that are due when not said.
 */
id?: (string | null)
/**
 * `due` or `force`; `force` with an id unless said.
 */
mode?: (string | null)
}
/**
 * What came of them.
 */
export interface CronRunResult {
/**
 * True.
 */
ok: boolean
/**
 * How many runs were begun.
 */
ran: number
/**
 * What came of each.
 */
results: CronRan[]
}
/**
 * How a run went that somebody asked for.
 */
export interface CronRan {
/**
 * How long it took.
 */
durationMs: number
/**
 * What went wrong.
 */
error?: (string | null)
/**
 * The job.
 */
jobId: string
/**
 * When the job is due next.
 */
nextRunAtMs?: (number | null)
/**
 * Its run, when one was begun.
 */
runId?: (string | null)
/**
 * ok, error or skipped; running while it still goes on.
 */
status: string
/**
 * What came of it.
 */
summary?: (string | null)
}
/**
 * Whose runs.
 */
export interface CronRunsParams {
/**
 * Those of one job.
 */
jobId?: (string | null)
/**
 * How many at most.
 */
limit?: (number | null)
/**
 * How many to leave out first.
 */
offset?: (number | null)
}
/**
 * Runs.
 */
export interface CronRunsResult {
/**
 * How many there are in all.
 */
count: number
/**
 * The runs, the latest first.
 */
runs: CronRun[]
}
/**
 * One run of a job, or what became of it instead.
 */
export interface CronRun {
/**
 * How many instants it stands for, where several in a row were skipped.
 */
count?: number
/**
 * How long it took.
 */
durationMs: number
/**
 * What went wrong, or why it was skipped.
 */
error?: (string | null)
/**
 * Whether somebody asked for it.
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
 * When the job was due next, as it was then.
 */
nextRunAtMs?: (number | null)
/**
 * The instant it is for.
 */
scheduledAtMs?: number
/**
 * ok, error or skipped; running while it goes on.
 */
status: string
/**
 * What came of it.
 */
summary?: (string | null)
/**
 * When it ended, or began if it goes on.
 */
ts: number
}
/**
 * Whose jobs.
 */
export interface CronStatusParams {
/**
 * The agent; all of them when not said.
 */
agentId?: (string | null)
}
/**
 * How the jobs stand.
 */
export interface CronStatusResult {
/**
 * How many jobs there are.
 */
count: number
/**
 * How many are due now.
 */
dueCount: number
/**
 * Whether jobs run when they are due.
 */
enabled: boolean
/**
 * How many run at once.
 */
maxConcurrentRuns: number
/**
 * How many jobs there may be.
 */
maxJobs: number
/**
 * When the next is due, in milliseconds since 1970.
 */
nextRunAtMs?: (number | null)
/**
 * How many run.
 */
runningCount: number
}
/**
 * What is to be changed of a job.
 */
export interface CronUpdateParams {
/**
 * The job.
 */
id: string
/**
 * The fields of `job` that change, as `patch` of `gsv__Cron`.
 */
patch: {
[k: string]: unknown
}
}
/**
 * Whose heartbeat is switched on.
 */
export interface HeartbeatStartParams {
/**
 * The agent; `main` when not said.
 */
agentId?: (string | null)
}
/**
 * A heartbeat that is on.
 */
export interface HeartbeatStartResult {
/**
 * How it stands.
 */
heartbeat: HeartbeatState
/**
 * True.
 */
ok: boolean
}
/**
 * How the heartbeat of an agent stands.
 */
export interface HeartbeatState {
/**
 * From when on, by the user's clock.
 */
activeFrom: string
/**
 * Until when.
 */
activeUntil: string
/**
 * The agent.
 */
agentId: string
/**
 * How many looks in a row failed.
 */
consecutiveFailures: number
/**
 * Whether it looks by itself.
 */
enabled: boolean
/**
 * Minutes between two looks.
 */
everyMinutes: number
/**
 * The last look.
 */
last?: (CronRun | null)
/**
 * When it looks next.
 */
nextRunAtMs?: (number | null)
/**
 * Since when it is looking.
 */
runningAtMs?: (number | null)
/**
 * Where it speaks up: last, none or a channel.
 */
target: string
}
/**
 * Whose heartbeat.
 */
export interface HeartbeatStatusParams {
/**
 * The agent; all of them when not said.
 */
agentId?: (string | null)
}
/**
 * How heartbeats stand.
 */
export interface HeartbeatStatusResult {
/**
 * One for each agent.
 */
agents: HeartbeatState[]
}
/**
 * Who looks now.
 */
export interface HeartbeatTriggerParams {
/**
 * The agent; `main` when not said.
 */
agentId?: (string | null)
}
/**
 * What came of the look.
 */
export interface HeartbeatTriggerResult {
/**
 * True.
 */
ok: boolean
/**
 * The look.
 */
run: CronRun
}
/**
 * Which node's log, and how much of it.
 */
export interface LogsGetParams {
/**
 * How many lines; 100 when left out, 5000 at most.
 */
lines?: (number | null)
/**
 * The node; the only one that is connected when left out.
 */
nodeId?: (string | null)
}
/**
 * The end of a node's log.
 */
export interface LogsGetResult {
/**
 * How many these are.
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
 * Whether there were more.
 */
truncated: boolean
}
/**
 * The end of a node's log.
 */
export interface LogsResultParams {
/**
 * The question.
 */
callId: string
/**
 * Why there are none.
 */
error?: (string | null)
/**
 * The lines, oldest first.
 */
lines?: (string[] | null)
/**
 * Whether there were more.
 */
truncated?: (boolean | null)
}
/**
 * News of a program that a node runs in the background. Told until it is taken.
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
 * What happened.
 */
event: ExecEvent
/**
 * This piece of news; the same id is the same news.
 */
eventId: string
/**
 * Its exit code.
 */
exitCode?: (number | null)
/**
 * The end of what it printed.
 */
outputTail?: (string | null)
/**
 * The program's session, as `Bash` answered it.
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
 * Which node to forget.
 */
export interface NodeForgetParams {
/**
 * Also when it is connected: its connection is closed.
 */
force?: (boolean | null)
/**
 * The node.
 */
nodeId: string
}
/**
 * The node is forgotten, and its own token taken back.
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
 * Whether it was on record.
 */
removed: boolean
}
/**
 * No parameters.
 */
export interface NodesListParams {

}
/**
 * Every node on record.
 */
export interface NodesListResult {
/**
 * How many these are.
 */
count: number
/**
 * The nodes, by name.
 */
nodes: NodeEntry[]
}
/**
 * A node on record.
 */
export interface NodeEntry {
/**
 * Its system, as it said itself.
 */
clientPlatform: string
/**
 * Its version, as it said itself.
 */
clientVersion: string
/**
 * When it was first seen, as RFC 3339.
 */
firstSeenAt: string
/**
 * The names it had before.
 */
formerIds?: string[]
/**
 * What the machine can do.
 */
hostCapabilities: string[]
/**
 * When it last connected or went, as RFC 3339.
 */
lastSeenAt: string
/**
 * Tools it sent that are not offered, while it is connected.
 */
leftOut?: LeftOutTool[]
/**
 * Its name.
 */
nodeId: string
/**
 * Whether it is connected now.
 */
online: boolean
/**
 * Its tools, without its name before them.
 */
tools: string[]
}
/**
 * A tool that is not offered.
 */
export interface LeftOutTool {
/**
 * Why it is not offered.
 */
reason: string
/**
 * Its name, as its node or server calls it.
 */
tool: string
}
/**
 * Who may speak from now on.
 */
export interface PairApproveParams {
/**
 * The platform.
 */
channel: string
/**
 * Whether it is the owner.
 */
owner?: (boolean | null)
/**
 * Their id, or the code they were given.
 */
senderId: string
}
/**
 * What was decided.
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
 * Who.
 */
senderId: string
}
/**
 * Nothing is asked.
 */
export interface PairListParams {

}
/**
 * People.
 */
export interface PairListResult {
/**
 * Those who ask to be known, and those who were decided about.
 */
pairs: PairEntry[]
}
/**
 * Somebody.
 */
export interface PairEntry {
/**
 * The platform.
 */
channel: string
/**
 * The code they were given.
 */
code?: (string | null)
/**
 * The beginning of what they said.
 */
message?: (string | null)
/**
 * Whether it is the owner.
 */
owner: boolean
/**
 * When they asked, in milliseconds since 1970.
 */
requestedAt: number
/**
 * Who, as the platform names them.
 */
senderId: string
/**
 * What they are called.
 */
senderName?: (string | null)
/**
 * `asking`, `approved` or `rejected`.
 */
state: string
}
/**
 * Who may not speak from now on.
 */
export interface PairRejectParams {
/**
 * The platform.
 */
channel: string
/**
 * Their id, or the code they were given.
 */
senderId: string
}
/**
 * Which watch to end.
 */
export interface ProcessUnwatchParams {
/**
 * The watch.
 */
watchId: string
}
/**
 * The watch is over.
 */
export interface ProcessUnwatchResult {
/**
 * Whether there was one.
 */
ok: boolean
}
/**
 * Which program to watch.
 */
export interface ProcessWatchParams {
/**
 * Which character of all it printed to begin with; left out, what it printed lately comes first.
 */
from?: (number | null)
/**
 * The node it runs on.
 */
nodeId: string
/**
 * Its session, as the node's `Process` lists it.
 */
sessionId: string
}
/**
 * The watch is open.
 */
export interface ProcessWatchResult {
/**
 * The watch, as `process.output` names it. None when the node cannot be watched: ask its
 * `Process` for the `log` from time to time then.
 */
watchId?: (string | null)
}
/**
 * Which session, and how much of it stays.
 */
export interface SessionCompactParams {
/**
 * How many messages a model is still shown; 20 when left out. A call stays with its result,
 * so a few more may stay.
 */
keepMessages?: (number | null)
/**
 * Its key.
 */
sessionKey: string
}
/**
 * The session was made shorter.
 */
export interface SessionCompactResult {
/**
 * Where the others are; absent when nothing was left out.
 */
archivedTo?: (string | null)
/**
 * How many still are.
 */
keptMessages: number
/**
 * Always true.
 */
ok: boolean
/**
 * How many messages are no longer shown.
 */
trimmedMessages: number
}
/**
 * Which session goes.
 */
export interface SessionDeleteParams {
/**
 * Its key.
 */
sessionKey: string
}
/**
 * A session is gone, with all that was said in it.
 */
export interface SessionDeleteResult {
/**
 * How many archives were removed.
 */
deletedArchives: number
/**
 * How many messages were deleted, also of before it was last begun anew.
 */
deletedMessages: number
/**
 * Always true.
 */
ok: boolean
/**
 * The key it had.
 */
sessionKey: string
/**
 * How many open questions to the owner were withdrawn.
 */
withdrawnApprovals: number
}
/**
 * Which session.
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
 * What it cost since the last reset, in millionths of a dollar; an addition.
 */
costMicros?: (number | null)
/**
 * When it was made.
 */
createdAt: number
/**
 * What the user calls it.
 */
label?: (string | null)
/**
 * When it was last reset.
 */
lastResetAt?: (number | null)
/**
 * How many messages a model is still shown.
 */
messageCount: number
/**
 * The ids it had before, oldest first.
 */
previousSessionIds: string[]
/**
 * When it begins anew by itself.
 */
resetPolicy: ResetPolicyShape
/**
 * Its present id; a reset gives it another.
 */
sessionId: string
/**
 * Its key.
 */
sessionKey: string
/**
 * What is set for it, over what its agent says.
 */
settings: SessionSettingsShape
/**
 * The tokens since the last reset.
 */
tokens: SessionTokens
/**
 * When it last changed.
 */
updatedAt: number
}
/**
 * When a session begins anew by itself.
 */
export interface ResetPolicyShape {
/**
 * For `daily`: the hour of the user's day, 0 to 23.
 */
atHour?: (number | null)
/**
 * For `idle`: after so many minutes of silence.
 */
idleMinutes?: (number | null)
/**
 * How that is decided.
 */
mode: ResetModeShape
}
/**
 * What is set for a session.
 */
export interface SessionSettingsShape {
/**
 * The most tokens of one reply.
 */
maxTokens?: (number | null)
/**
 * Its model.
 */
model?: (ModelName | null)
/**
 * What its model is told besides.
 */
systemPrompt?: (string | null)
/**
 * How hard it thinks: `none`, `minimal`, `low`, `medium`, `high` or `xhigh`.
 */
thinkingLevel?: (string | null)
}
/**
 * How many tokens.
 */
export interface SessionTokens {
/**
 * That went in.
 */
input: number
/**
 * That came out.
 */
output: number
/**
 * Both.
 */
total: number
}
/**
 * Which part of which session.
 */
export interface SessionHistoryParams {
/**
 * Only messages before the one with this number; the last ones when left out.
 */
before?: (number | null)
/**
 * How many messages at most; 50 when left out, and at most 500.
 */
limit?: (number | null)
/**
 * Its key.
 */
sessionKey: string
}
/**
 * A part of a session, oldest first, and the ids it had.
 */
export interface SessionHistoryResult {
/**
 * Its present id.
 */
currentSessionId: string
/**
 * The messages.
 */
messages: ChatMessage[]
/**
 * Given as `before`, this leads to what was said earlier; absent at the beginning.
 */
nextBefore?: (number | null)
/**
 * The ids it had before, oldest first.
 */
previousSessionIds: string[]
/**
 * The run that is going on, as far as it is; only with the last messages, and absent when there
 * is none. What is in it and in `messages` is the same. An addition.
 */
running?: (SessionRunning | null)
/**
 * Its key.
 */
sessionKey: string
/**
 * What was said and waits for its turn, in its order, at most 50; only with the last messages.
 * An addition.
 */
waiting?: WaitingInput[]
}
/**
 * A run that is going on, as far as it is: events whose `reply` is lower, or whose pieces end before
 * what is here, are in it already.
 */
export interface SessionRunning {
/**
 * The question that the run waits for.
 */
approvalId?: (string | null)
/**
 * The calls of the last reply that were begun.
 */
calls?: SessionRunningCall[]
/**
 * Which reply is being made; 0 before the first.
 */
reply: number
/**
 * The run.
 */
runId: string
/**
 * What was said of it, or the end of that.
 */
text: string
/**
 * How much came before `text`, in units of UTF-16.
 */
textFrom: number
/**
 * What was thought of it, or the end of that.
 */
thinking: string
/**
 * How much came before `thinking`, in units of UTF-16.
 */
thinkingFrom: number
}
/**
 * A call of a run that is going on.
 */
export interface SessionRunningCall {
/**
 * The call as the audit knows it, where it is known.
 */
auditCall?: (string | null)
/**
 * The model's id of the call.
 */
callId: string
/**
 * How long it took, in milliseconds.
 */
durationMs?: (number | null)
/**
 * How long ago it was asked for, or the owner let it run, in milliseconds.
 */
elapsedMs: number
/**
 * Whether it worked; absent while it runs.
 */
ok?: (boolean | null)
/**
 * What it printed so far, or the end of that.
 */
output?: string
/**
 * How much came before `output`, in units of UTF-16.
 */
outputFrom: number
/**
 * The beginning of what it gave.
 */
shown?: (string | null)
/**
 * Whether the owner is asked about it.
 */
waits: boolean
}
/**
 * What was said and waits for its turn.
 */
export interface WaitingInput {
/**
 * How many pictures came with it.
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
 * When it came, in milliseconds since 1970.
 */
timestamp: number
}
/**
 * What changes for a session. What is left out stays, and null puts back what the agent says.
 */
export interface SessionPatchParams {
/**
 * What the user calls it, at most 200 characters.
 */
label?: (string | null)
/**
 * When it begins anew by itself.
 */
resetPolicy?: (ResetPolicyShape | null)
/**
 * Its key.
 */
sessionKey: string
/**
 * What is set for it.
 */
settings?: (SessionSettingsPatch | null)
}
/**
 * What changes in what is set for a session.
 */
export interface SessionSettingsPatch {
/**
 * The most tokens of one reply.
 */
maxTokens?: (number | null)
/**
 * Its model.
 */
model?: (ModelName | null)
/**
 * What its model is told besides.
 */
systemPrompt?: (string | null)
/**
 * How hard it thinks: `none`, `minimal`, `low`, `medium`, `high` or `xhigh`.
 */
thinkingLevel?: (string | null)
}
/**
 * The session was changed.
 */
export interface SessionPatchResult {
/**
 * What the user calls it.
 */
label?: (string | null)
/**
 * Always true.
 */
ok: boolean
/**
 * When it begins anew by itself.
 */
resetPolicy: ResetPolicyShape
/**
 * Its key.
 */
sessionKey: string
/**
 * What is set for it now.
 */
settings: SessionSettingsShape
}
/**
 * Which session, and how much of it.
 */
export interface SessionPreviewParams {
/**
 * How many messages at most; 50 when left out, and at most 500.
 */
limit?: (number | null)
/**
 * Its key.
 */
sessionKey: string
}
/**
 * The end of a session, oldest first.
 */
export interface SessionPreviewResult {
/**
 * How many messages a model is still shown.
 */
messageCount: number
/**
 * The last of them.
 */
messages: PreviewMessage[]
/**
 * Its present id.
 */
sessionId: string
/**
 * Its key.
 */
sessionKey: string
}
/**
 * One message of a preview. Clients of version 1 read what a user wrote as a string there, and show
 * nothing where they find blocks.
 */
export interface PreviewMessage {
/**
 * A user's message as blocks, where it is more than text; an addition.
 */
blocks?: (ChatBlock[] | null)
/**
 * What was said: a string for a user's message, blocks for all others.
 */
content: PreviewContent
/**
 * For a tool's result: whether it failed.
 */
isError?: (boolean | null)
/**
 * Who said it.
 */
role: ChatRole
/**
 * Its number in the session; an addition.
 */
seq?: (number | null)
/**
 * When, in milliseconds since 1970.
 */
timestamp?: (number | null)
/**
 * For a tool's result: the call it answers.
 */
toolCallId?: (string | null)
/**
 * For a tool's result: the tool.
 */
toolName?: (string | null)
}
/**
 * Which session begins anew.
 */
export interface SessionResetParams {
/**
 * Its key.
 */
sessionKey: string
}
/**
 * The session was begun anew.
 */
export interface SessionResetResult {
/**
 * How many messages went into the archive.
 */
archivedMessages: number
/**
 * Where that is; absent when nothing was said.
 */
archivedTo?: (string | null)
/**
 * Files that were removed: none, for they go into the archive.
 */
mediaDeleted: number
/**
 * The id after.
 */
newSessionId: string
/**
 * Always true.
 */
ok: boolean
/**
 * The id before.
 */
oldSessionId: string
/**
 * Its key.
 */
sessionKey: string
/**
 * The tokens that were counted before.
 */
tokensCleared: number
}
/**
 * Which session, and what to take back.
 */
export interface SessionRewindParams {
/**
 * The number of the user's message from which on everything is taken back.
 */
seq: number
/**
 * Its key.
 */
sessionKey: string
}
/**
 * What was said from a message on is no longer part of the session.
 */
export interface SessionRewindResult {
/**
 * Where all of it is kept.
 */
archivedTo: string
/**
 * Always true.
 */
ok: boolean
/**
 * How many messages were taken back.
 */
removedMessages: number
/**
 * How many calls of tools were among them; what they did stays done.
 */
removedToolCalls: number
/**
 * Its key.
 */
sessionKey: string
/**
 * What the user's message said, to be said anew.
 */
text: string
}
/**
 * Which session.
 */
export interface SessionStatsParams {
/**
 * Its key.
 */
sessionKey: string
}
/**
 * A session, and what it is doing.
 */
export interface SessionStatsResult {
/**
 * The question it waits for; an addition.
 */
approvalId?: (string | null)
/**
 * What it cost since the last reset, in millionths of a dollar; an addition.
 */
costMicros?: (number | null)
/**
 * When it was made.
 */
createdAt: number
/**
 * Whether it is being worked on.
 */
isProcessing: boolean
/**
 * What the user calls it.
 */
label?: (string | null)
/**
 * When it was last reset.
 */
lastResetAt?: (number | null)
/**
 * How many messages a model is still shown.
 */
messageCount: number
/**
 * The ids it had before, oldest first.
 */
previousSessionIds: string[]
/**
 * How many messages wait or are being worked on.
 */
queueSize: number
/**
 * When it begins anew by itself.
 */
resetPolicy: ResetPolicyShape
/**
 * Its present id; a reset gives it another.
 */
sessionId: string
/**
 * Its key.
 */
sessionKey: string
/**
 * What is set for it, over what its agent says.
 */
settings: SessionSettingsShape
/**
 * The tokens since the last reset.
 */
tokens: SessionTokens
/**
 * When it last changed.
 */
updatedAt: number
/**
 * Milliseconds since it was made.
 */
uptime: number
}
/**
 * Which part of the list.
 */
export interface SessionsListParams {
/**
 * How many at most; 100 when left out, and at most 1000.
 */
limit?: (number | null)
/**
 * How many to leave out from the start; none when left out.
 */
offset?: (number | null)
}
/**
 * Sessions, the latest active first.
 */
export interface SessionsListResult {
/**
 * How many there are in all.
 */
count: number
/**
 * The sessions.
 */
sessions: SessionEntry[]
}
/**
 * A session as lists show it.
 */
export interface SessionEntry {
/**
 * When it was made.
 */
createdAt: number
/**
 * What the user calls it.
 */
label?: (string | null)
/**
 * When somebody last said something in it.
 */
lastActiveAt: number
/**
 * Its key.
 */
sessionKey: string
}
/**
 * Whose skills.
 */
export interface SkillsStatusParams {
/**
 * The agent; `main` when not said.
 */
agentId?: (string | null)
}
/**
 * The skills of an agent and the machines.
 */
export interface SkillsStatusResult {
/**
 * The agent.
 */
agentId: string
/**
 * Every node on record.
 */
nodes: SkillNode[]
/**
 * When this was looked at, in milliseconds since 1970.
 */
refreshedAt: number
/**
 * Every skill, by name.
 */
skills: SkillStatus[]
}
/**
 * A machine.
 */
export interface SkillNode {
/**
 * What it can do.
 */
hostCapabilities: string[]
/**
 * Its name.
 */
nodeId: string
/**
 * Whether it is connected now.
 */
online: boolean
}
/**
 * Where a skill stands.
 */
export interface SkillStatus {
/**
 * Whether it is shown whatever the machines can do.
 */
always: boolean
/**
 * What it is for.
 */
description: string
/**
 * Whether an agent is shown it now.
 */
eligible: boolean
/**
 * The connected nodes that can do all it needs.
 */
eligibleHosts: string[]
/**
 * Whether it is switched on.
 */
enabled?: (boolean | null)
/**
 * Where its text is kept.
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
 * What it needs.
 */
requirements: SkillNeedsShape
}
/**
 * What a skill needs.
 */
export interface SkillNeedsShape {
/**
 * What one machine must be able to do.
 */
capabilities: string[]
}
/**
 * Whose skills are looked at anew.
 */
export interface SkillsUpdateParams {
/**
 * The agent; `main` when not said.
 */
agentId?: (string | null)
}
/**
 * Which tool, with what.
 */
export interface ToolInvokeParams {
/**
 * The agent on whose workspace and behalf; `main` when left out.
 */
agentId?: (string | null)
/**
 * Its arguments; none is the same as an empty object.
 */
args?: ({
[k: string]: unknown
} | null)
/**
 * Whether to be told how far it is, by `tool.progress`.
 */
progress?: (boolean | null)
/**
 * The tool's name.
 */
tool: string
}
/**
 * What the tool gave back, in the shape that the tool itself documents.
 */
export interface ToolInvokeResult {
[k: string]: unknown
}
/**
 * Which tool to call for a session.
 */
export interface ToolRequestParams {
/**
 * Its arguments.
 */
args?: ({
[k: string]: unknown
} | null)
/**
 * The asker's own id of the call, by which its events are known.
 */
callId: string
/**
 * The session, in whose agent's name it is called.
 */
sessionKey: string
/**
 * The tool.
 */
tool: string
}
/**
 * The call is on its way.
 */
export interface ToolRequestResult {
/**
 * Always `sent`.
 */
status: string
}
/**
 * What came of a call; exactly one of result and error.
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
 * Why it gave nothing.
 */
error?: (string | null)
/**
 * What the tool gave.
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
 * The tools that the caller may call.
 */
export interface ToolsListResult {
/**
 * The tools.
 */
tools: ToolDefinition[]
}
/**
 * Whether a node takes the file it was offered.
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
 * How many bytes of it are there already; an addition.
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
 * Why it could not send everything; an addition.
 */
error?: (string | null)
/**
 * The SHA-256 of the whole file, 64 hex digits; an addition.
 */
sha256?: (string | null)
/**
 * The transfer.
 */
transferId: number
}
/**
 * The file is in its place, or not.
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
 * Why it is not there.
 */
error?: (string | null)
/**
 * The transfer.
 */
transferId: number
}
/**
 * What the file is that a node was asked for.
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
 * What kind of file it is, where that is known.
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
 * Changes when the file does; an addition.
 */
version?: (string | null)
}
/**
 * Which file of which workspace.
 */
export interface WorkspaceDeleteParams {
/**
 * Whose workspace; `main` when left out.
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
 * Which folder of which workspace.
 */
export interface WorkspaceListParams {
/**
 * Whose workspace; `main` when left out.
 */
agentId?: (string | null)
/**
 * The folder; the root when left out.
 */
path?: (string | null)
}
/**
 * What is in a folder.
 */
export interface WorkspaceListResult {
/**
 * The folders in it.
 */
directories: string[]
/**
 * The files in it.
 */
files: string[]
/**
 * The folder.
 */
path: string
}
/**
 * Which file of which workspace.
 */
export interface WorkspaceReadParams {
/**
 * Whose workspace; `main` when left out.
 */
agentId?: (string | null)
/**
 * The file.
 */
path: string
}
/**
 * A file and what is in it.
 */
export interface WorkspaceReadResult {
/**
 * Its text.
 */
content: string
/**
 * When it was last written, as RFC 3339.
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
 * Changes when its text does; an addition.
 */
version?: (string | null)
}
/**
 * Which file of which workspace gets which text.
 */
export interface WorkspaceWriteParams {
/**
 * Whose workspace; `main` when left out.
 */
agentId?: (string | null)
/**
 * Its whole new text.
 */
content: string
/**
 * Writes only if the file still is of this version, and with an empty one only if there is
 * no such file; else it is a conflict and nothing is written. An addition.
 */
ifVersion?: (string | null)
/**
 * The file; folders on the way are made.
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
 * The version that was written; an addition.
 */
version?: (string | null)
/**
 * Always true.
 */
written: boolean
}
