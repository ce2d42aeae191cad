//! One connected node: calls, transfers and watches, and the messages that answer them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use manyhands_core::{CallContext, ErrorCode, NodeId, Progress, ToolError};
use manyhands_telemetry::{SpanKind, TraceContext, current, span};
use manyhands_wire::{
    BinaryFrame, LeftOutTool, LogsGetEvent, LogsResultParams, Payload, ProcessOutputEvent,
    ProcessUnwatchEvent, ProcessWatchEvent, ToolCancelEvent, ToolInvokeEvent, ToolOutputEvent,
    ToolResultParams, TransferAcceptParams, TransferCompleteParams, TransferDoneParams,
    TransferMetaParams,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use super::names::full_name;

/// The longest time for a node to send its log.
const LOGS_WITHIN: Duration = Duration::from_secs(20);
/// The most watched background processes of one node.
const MAX_WATCHES: usize = 32;
/// Buffered messages of one transfer: a whole window plus its control messages.
const MAX_WAITING: usize = 32;

/// The two queues to a peer. Messages go before bulk data, so a call never waits for a file.
#[derive(Clone)]
pub struct NodeOutbox {
    /// Requests, responses and events.
    pub messages: mpsc::Sender<Message>,
    /// Pieces of files, and messages that must not overtake them.
    pub bulk: mpsc::Sender<Message>,
}

/// What a node said about itself when it connected.
pub struct NodeInfo {
    /// Its name in the gateway.
    pub id: NodeId,
    /// Whether it supports cancelling a call.
    pub cancels: bool,
    /// Whether it supports hashes, offsets and windows in transfers.
    pub checked: bool,
    /// Whether it streams the output of a call.
    pub prints: bool,
    /// Whether it can send the full output that a result shortens.
    pub full_output: bool,
    /// Whether it streams the output of background processes.
    pub watched: bool,
    /// Whether its programs and writes are sandboxed, as its owner started it.
    pub sandboxed: bool,
    /// Whether its owner allows terminals.
    pub terminals: bool,
    /// Its tools that read files.
    pub readers: Box<[String]>,
    /// Its tools that write files.
    pub writers: Box<[String]>,
    /// Tools that were left out, with reasons.
    pub left_out: Box<[LeftOutTool]>,
}

/// A connected node.
pub struct ConnectedNode {
    about: NodeInfo,
    outbox: NodeOutbox,
    waiting: Mutex<PendingReplies>,
    closed: CancellationToken,
    why: OnceLock<String>,
}

#[derive(Default)]
struct PendingReplies {
    calls: HashMap<String, Waiter>,
    logs: HashMap<String, oneshot::Sender<LogsResultParams>>,
    transfers: HashMap<u32, mpsc::Sender<FromNode>>,
    watches: HashMap<String, mpsc::Sender<ProcessOutputEvent>>,
    terminals: HashMap<String, mpsc::Sender<String>>,
}

/// The receiver of a call's result and progress.
struct Waiter {
    answer: oneshot::Sender<ToolResultParams>,
    progress: Progress,
}

/// A message about a transfer.
#[derive(Debug)]
pub enum FromNode {
    /// Metadata of the file it sends.
    Meta(TransferMetaParams),
    /// It accepts a file.
    Accept(TransferAcceptParams),
    /// A whole binary frame, including its header.
    Frame(Bytes),
    /// How many bytes it has stored.
    Ack(u64),
    /// It has sent everything.
    Complete(TransferCompleteParams),
    /// It has stored everything.
    Done(TransferDoneParams),
}

impl ConnectedNode {
    /// A node that has just connected.
    pub fn new(about: NodeInfo, outbox: NodeOutbox) -> Self {
        Self {
            about,
            outbox,
            waiting: Mutex::default(),
            closed: CancellationToken::new(),
            why: OnceLock::new(),
        }
    }

    /// Its name.
    pub fn id(&self) -> &NodeId {
        &self.about.id
    }

    /// Returns whether its programs and writes are sandboxed.
    pub fn is_sandboxed(&self) -> bool {
        self.about.sandboxed
    }

    /// Returns whether its owner allows terminals.
    pub fn allows_terminals(&self) -> bool {
        self.about.terminals
    }

    pub(super) fn add_terminal(&self, id: String, reader: mpsc::Sender<String>) {
        self.waiting().terminals.insert(id, reader);
    }

    pub(super) fn remove_terminal(&self, id: &str) {
        self.waiting().terminals.remove(id);
    }

    pub(super) fn terminal_reader(&self, id: &str) -> Option<mpsc::Sender<String>> {
        self.waiting().terminals.get(id).cloned()
    }

    /// Returns whether it supports hashes, offsets and windows in transfers.
    pub fn is_checked(&self) -> bool {
        self.about.checked
    }

    /// The names of its tools that read files.
    pub fn readers(&self) -> &[String] {
        &self.about.readers
    }

    /// The names of its tools that write files.
    pub fn writers(&self) -> &[String] {
        &self.about.writers
    }

    /// Tools that were left out, with reasons.
    pub fn left_out(&self) -> &[LeftOutTool] {
        &self.about.left_out
    }

    /// Cancelled when the connection is closed.
    pub fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Why this side closed the connection.
    pub fn why(&self) -> Option<&str> {
        self.why.get().map(String::as_str)
    }

    /// Closes the connection: everything waiting for a response fails at once.
    pub fn end(&self, why: &str) {
        let _ = self.why.set(why.to_owned()); // the first reason counts
        self.closed.cancel();
    }

    fn waiting(&self) -> MutexGuard<'_, PendingReplies> {
        self.waiting.lock().expect("no panic while held")
    }

    /// Returns whether nothing waits for this node.
    pub fn is_idle(&self) -> bool {
        let waiting = self.waiting();
        waiting.calls.is_empty() && waiting.logs.is_empty() && waiting.transfers.is_empty()
    }

    /// The error for calls that waited for it.
    pub fn closed_error(&self) -> ToolError {
        let id = self.id();
        let why = self.why().unwrap_or("its connection was lost");
        ToolError::new(ErrorCode::Unavailable, format!("node {id} is gone: {why}"))
            .hint("call again once it is back; `manyhands nodes` shows connected nodes")
    }

    /// Sends a message; waits while the queue is full.
    pub async fn send_message<P: Payload>(&self, payload: &P) -> Result<(), ToolError> {
        self.send(
            &self.outbox.messages,
            Message::Text(payload.encode().into()),
        )
        .await
    }

    /// Sends a message behind the file pieces already queued.
    pub async fn send_after_files<P: Payload>(&self, payload: &P) -> Result<(), ToolError> {
        self.send(&self.outbox.bulk, Message::Text(payload.encode().into()))
            .await
    }

    /// Sends a piece of a file, as a whole binary frame.
    pub async fn send_file_chunk(&self, frame: Bytes) -> Result<(), ToolError> {
        self.send(&self.outbox.bulk, Message::Binary(frame)).await
    }

    /// Sends a message if the queue has room, for callers that cannot wait (such as `Drop`).
    pub fn try_send_message<P: Payload>(&self, payload: &P) {
        let _ = self
            .outbox
            .messages
            .try_send(Message::Text(payload.encode().into()));
    }

    async fn send(&self, to: &mpsc::Sender<Message>, message: Message) -> Result<(), ToolError> {
        tokio::select! {
            biased;
            () = self.closed.cancelled() => Err(self.closed_error()),
            sent = to.send(message) => sent.map_err(|_| {
                // The writer task has stopped, which shows before the reader notices.
                self.end("its connection was lost");
                self.closed_error()
            }),
        }
    }

    /// Runs one of its tools.
    pub async fn call(
        &self,
        tool: &str,
        args: Value,
        context: &CallContext,
    ) -> Result<ToolResultParams, ToolError> {
        let mut span = span(SpanKind::Client, || format!("tool.invoke {tool}"));
        let answer = span.run(self.invoke(tool, args, context)).await;
        span.describe(|span| {
            span.set("rpc.system.name", "manyhands")
                .set("rpc.method", "tool.invoke")
                .set("gen_ai.tool.name", tool)
                .set("manyhands.node.id", self.id().as_str());
        });
        match &answer {
            Ok(answer) if answer.error.is_some() => {
                span.fail(answer.code.as_deref().unwrap_or("failed"));
            }
            Ok(_) => {}
            Err(error) => span.fail(error.code.as_str()),
        }
        answer
    }

    async fn invoke(
        &self,
        tool: &str,
        args: Value,
        context: &CallContext,
    ) -> Result<ToolResultParams, ToolError> {
        let call_id = context.call.to_string();
        let (answer, mut answered) = oneshot::channel();
        let progress = context.progress.clone();
        let watched = self.about.prints && progress.has_output_listener();
        let waiter = Waiter { answer, progress };
        // Registered before the request is sent: the response could otherwise arrive first and be
        // dropped.
        self.waiting().calls.insert(call_id.clone(), waiter);
        let pending = PendingCall {
            node: self,
            call_id: &call_id,
        };
        let trace = current();
        let event = ToolInvokeEvent {
            call_id: call_id.clone(),
            tool: tool.to_owned(),
            args,
            output: watched.then_some(true),
            full_output: self.about.full_output.then_some(true),
            traceparent: trace.as_ref().map(TraceContext::traceparent),
            tracestate: trace.and_then(|trace| trace.tracestate().map(str::to_owned)),
        };
        self.send_message(&event).await?;
        tokio::select! {
            biased;
            answer = &mut answered => return answer.map_err(|_| self.closed_error()),
            () = self.closed.cancelled() => return Err(self.closed_error()),
            () = context.cancel.cancelled() => pending.cancel(),
        }
        // A cancelled call may still report how far it came. The path's deadline bounds this wait.
        tokio::select! {
            biased;
            answer = answered => answer.map_err(|_| self.closed_error()),
            () = self.closed.cancelled() => Err(self.closed_error()),
        }
    }

    /// Requests the end of its log.
    pub async fn logs(&self, call_id: String, lines: u32) -> Result<LogsResultParams, ToolError> {
        let (answer, answered) = oneshot::channel();
        self.waiting().logs.insert(call_id.clone(), answer);
        let _remove_on_drop = RunOnDrop(|| {
            self.waiting().logs.remove(&call_id);
        });
        let event = LogsGetEvent {
            call_id: call_id.clone(),
            lines,
        };
        self.send_message(&event).await?;
        let answered = async {
            tokio::select! {
                biased;
                answer = answered => answer.map_err(|_| self.closed_error()),
                () = self.closed.cancelled() => Err(self.closed_error()),
            }
        };
        timeout(LOGS_WITHIN, answered).await.unwrap_or_else(|_| {
            let message = format!("node {} did not send its log within 20 seconds", self.id());
            Err(ToolError::new(ErrorCode::DeadlineExceeded, message))
        })
    }

    /// Assigns a transfer to this node; its messages arrive at the receiver.
    pub fn claim_transfer(self: &Arc<Self>, id: u32) -> (mpsc::Receiver<FromNode>, TransferClaim) {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        self.waiting().transfers.insert(id, sender);
        let node = self.clone();
        (receiver, TransferClaim { node, id })
    }

    /// Returns whether it streams the output of background processes.
    pub fn can_be_watched(&self) -> bool {
        self.about.watched
    }

    /// Watches one of its background processes.
    pub fn watch(self: &Arc<Self>, id: String, session: String) -> Result<ProcessWatch, ToolError> {
        let (sender, receiver) = mpsc::channel(1);
        let mut waiting = self.waiting();
        // Checked under the lock that inserts, so that concurrent watches cannot exceed the limit.
        if waiting.watches.len() >= MAX_WATCHES {
            let name = self.id();
            let message =
                format!("too many watched processes on node {name} (limit {MAX_WATCHES})");
            return Err(ToolError::new(ErrorCode::Unavailable, message)
                .hint("close another watch and retry"));
        }
        // Registered before the first request, so that its output finds a receiver.
        waiting.watches.insert(id.clone(), sender);
        drop(waiting);
        Ok(ProcessWatch {
            node: self.clone(),
            id,
            session,
            receiver,
        })
    }

    /// Accepts output of a watched process; drops output that nobody asked for.
    pub fn on_process_output(&self, output: ProcessOutputEvent) {
        let waiting = self.waiting();
        if let Some(watch) = waiting.watches.get(&output.watch_id) {
            let _ = watch.try_send(output);
        }
    }

    /// Accepts a response. Returns whether anyone waited for it.
    pub fn on_result(&self, answer: ToolResultParams) -> bool {
        let waited = self.waiting().calls.remove(&answer.call_id);
        // A response may come twice after a reconnect; the second finds no entry.
        waited.is_some_and(|waited| waited.answer.send(answer).is_ok())
    }

    /// Accepts output of a call; drops output that nobody waits for.
    pub fn on_tool_output(&self, output: &ToolOutputEvent) {
        let waiting = self.waiting();
        let progress = waiting.calls.get(&output.call_id);
        let progress = progress.map(|waiter| waiter.progress.clone());
        // Unlock before printing: progress callbacks may take other locks.
        drop(waiting);
        if let Some(progress) = progress {
            progress.print(&output.text);
        }
    }

    /// Accepts its log. Returns whether anyone waited for it.
    pub fn on_log(&self, answer: LogsResultParams) -> bool {
        let waited = self.waiting().logs.remove(&answer.call_id);
        waited.is_some_and(|waited| waited.send(answer).is_ok())
    }

    /// Accepts a message about a transfer. Returns whether the transfer was assigned to this node.
    /// Waits while the receiver is behind, which slows the node's socket down.
    pub async fn on_transfer_message(&self, transfer: u32, what: FromNode) -> bool {
        let claimed = self.waiting().transfers.get(&transfer).cloned();
        match claimed {
            Some(claimed) => claimed.send(what).await.is_ok(),
            None => false,
        }
    }

    /// Accepts a binary frame; drops one of a transfer that was not assigned to this node.
    pub async fn on_binary_frame(&self, frame: Bytes) {
        if let Ok(BinaryFrame { transfer, .. }) = BinaryFrame::decode(&frame) {
            self.on_transfer_message(transfer, FromNode::Frame(frame))
                .await;
        }
    }
}

/// A call without a response yet. Dropping it cancels the call on the node.
struct PendingCall<'a> {
    node: &'a ConnectedNode,
    call_id: &'a str,
}

impl PendingCall<'_> {
    fn cancel(&self) {
        if self.node.about.cancels {
            self.node.try_send_message(&ToolCancelEvent {
                call_id: self.call_id.to_owned(),
            });
        }
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        let unanswered = self.node.waiting().calls.remove(self.call_id).is_some();
        if unanswered && !self.node.closed.is_cancelled() {
            self.cancel();
        }
    }
}

/// A transfer assigned to a node. After drop its messages are ignored.
pub struct TransferClaim {
    node: Arc<ConnectedNode>,
    id: u32,
}

impl Drop for TransferClaim {
    fn drop(&mut self) {
        self.node.waiting().transfers.remove(&self.id);
    }
}

/// A watched background process. Dropping it stops the watch.
pub struct ProcessWatch {
    node: Arc<ConnectedNode>,
    id: String,
    session: String,
    receiver: mpsc::Receiver<ProcessOutputEvent>,
}

impl ProcessWatch {
    /// The tool whose permission covers the watch.
    pub fn tool(&self) -> String {
        full_name(self.node.id(), "Process")
    }

    /// Requests and returns the next output, as soon as there is some. The node sends only what was
    /// requested, so a slow reader holds back nothing but itself.
    pub async fn next(&mut self, from: Option<u64>) -> Result<ProcessOutputEvent, ToolError> {
        let _ = self.receiver.try_recv(); // discard output that was not requested
        let request = ProcessWatchEvent {
            watch_id: self.id.clone(),
            session_id: self.session.clone(),
            from,
        };
        self.node.send_message(&request).await?;
        tokio::select! {
            biased;
            output = self.receiver.recv() => output.ok_or_else(|| self.node.closed_error()),
            () = self.node.closed.cancelled() => Err(self.node.closed_error()),
        }
    }
}

impl Drop for ProcessWatch {
    fn drop(&mut self) {
        self.node.waiting().watches.remove(&self.id);
        if !self.node.closed.is_cancelled() {
            // `Drop` cannot wait: if the queue is full, the node sends once more, and that output is dropped.
            let watch_id = std::mem::take(&mut self.id);
            self.node
                .try_send_message(&ProcessUnwatchEvent { watch_id });
        }
    }
}

struct RunOnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for RunOnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
