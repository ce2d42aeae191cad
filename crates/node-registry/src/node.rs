//! One node that is connected: what it is asked, and what it answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use manyhands_core::{CallContext, ErrorCode, NodeId, Progress, ToolError};
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

use super::naming::full_name;

/// How long a node may take to send its log.
const LOGS_WITHIN: Duration = Duration::from_secs(20);
/// How many programs in its background may be watched.
const MAX_WATCHES: usize = 32;
/// What of one transfer may wait for whoever carries it on: a whole window and its talk.
const MAX_WAITING: usize = 32;

/// The two ways to a peer: words first, then what is large.
#[derive(Clone)]
pub struct Outbox {
    /// Words: requests, answers, events.
    pub words: mpsc::Sender<Message>,
    /// Pieces of files, and the words that must not overtake them.
    pub bulk: mpsc::Sender<Message>,
}

/// What a node is, as it said when it connected.
pub struct About {
    /// Its name here.
    pub id: NodeId,
    /// Whether it stops a call when it is told.
    pub cancels: bool,
    /// Whether it knows hashes, offsets and windows of transfers.
    pub checked: bool,
    /// Whether it tells what a call prints.
    pub prints: bool,
    /// Whether it gives all of an output that its result shows in part.
    pub full_output: bool,
    /// Whether it tells what programs in its background print.
    pub watched: bool,
    /// Whether its programs and writes stay inside a sandbox, as its owner started it.
    pub sandboxed: bool,
    /// Its tools that read files.
    pub readers: Box<[String]>,
    /// Its tools that write files.
    pub writers: Box<[String]>,
    /// Its tools that cannot be offered, and why.
    pub left_out: Box<[LeftOutTool]>,
}

/// A node that is connected.
pub struct Node {
    about: About,
    outbox: Outbox,
    waiting: Mutex<Waiting>,
    gone: CancellationToken,
    why: OnceLock<String>,
}

#[derive(Default)]
struct Waiting {
    calls: HashMap<String, Waiter>,
    logs: HashMap<String, oneshot::Sender<LogsResultParams>>,
    transfers: HashMap<u32, mpsc::Sender<FromNode>>,
    watches: HashMap<String, mpsc::Sender<ProcessOutputEvent>>,
}

/// Whoever waits for a call, and watches it.
struct Waiter {
    answer: oneshot::Sender<ToolResultParams>,
    progress: Progress,
}

/// What a node says about a transfer it was given.
#[derive(Debug)]
pub enum FromNode {
    /// What the file is that it sends.
    Meta(TransferMetaParams),
    /// It takes a file.
    Accept(TransferAcceptParams),
    /// A whole binary frame, header and all.
    Frame(Bytes),
    /// How many bytes it has stored.
    Ack(u64),
    /// It has sent everything.
    Complete(TransferCompleteParams),
    /// It has stored everything.
    Done(TransferDoneParams),
}

impl Node {
    /// A node that has just connected.
    pub fn new(about: About, outbox: Outbox) -> Self {
        Self {
            about,
            outbox,
            waiting: Mutex::default(),
            gone: CancellationToken::new(),
            why: OnceLock::new(),
        }
    }

    /// Its name.
    pub fn id(&self) -> &NodeId {
        &self.about.id
    }

    /// Whether its programs and writes stay inside a sandbox.
    pub fn is_sandboxed(&self) -> bool {
        self.about.sandboxed
    }

    /// Whether it knows hashes, offsets and windows of transfers.
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

    /// Its tools that cannot be offered, and why.
    pub fn left_out(&self) -> &[LeftOutTool] {
        &self.about.left_out
    }

    /// Fires when the connection is no more.
    pub fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    /// Why it was ended from this side.
    pub fn why(&self) -> Option<&str> {
        self.why.get().map(String::as_str)
    }

    /// Ends it: everything that waits for an answer is told at once.
    pub fn end(&self, why: &str) {
        let _ = self.why.set(why.to_owned()); // the first reason stands
        self.gone.cancel();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect("no panic while held")
    }

    /// Whether nobody waits for anything of it.
    pub fn is_idle(&self) -> bool {
        let waiting = self.waiting();
        waiting.calls.is_empty() && waiting.logs.is_empty() && waiting.transfers.is_empty()
    }

    /// The error of whoever waited for it.
    pub fn lost(&self) -> ToolError {
        let id = self.id();
        let why = self.why().unwrap_or("its connection broke");
        ToolError::new(ErrorCode::Unavailable, format!("node {id} is gone: {why}"))
            .hint("call again when it is back: `manyhands nodes` shows who is connected")
    }

    /// Tells it something; waits while its queue is full.
    pub async fn tell<P: Payload>(&self, payload: &P) -> Result<(), ToolError> {
        self.send(&self.outbox.words, Message::Text(payload.encode().into()))
            .await
    }

    /// Tells it something behind the pieces of files that are on their way.
    pub async fn tell_after<P: Payload>(&self, payload: &P) -> Result<(), ToolError> {
        self.send(&self.outbox.bulk, Message::Text(payload.encode().into()))
            .await
    }

    /// Sends it a piece of a file: a whole binary frame.
    pub async fn give(&self, frame: Bytes) -> Result<(), ToolError> {
        self.send(&self.outbox.bulk, Message::Binary(frame)).await
    }

    /// Tells it something if there is room: for those who cannot wait.
    pub fn mention<P: Payload>(&self, payload: &P) {
        let _ = self
            .outbox
            .words
            .try_send(Message::Text(payload.encode().into()));
    }

    async fn send(&self, to: &mpsc::Sender<Message>, message: Message) -> Result<(), ToolError> {
        tokio::select! {
            biased;
            () = self.gone.cancelled() => Err(self.lost()),
            sent = to.send(message) => sent.map_err(|_| {
                // Whoever writes to it has stopped: it is gone before its reader notices.
                self.end("its connection broke");
                self.lost()
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
        let call_id = context.call.to_string();
        let (answer, mut answered) = oneshot::channel();
        let progress = context.progress.clone();
        let watched = self.about.prints && progress.is_printing();
        let waiter = Waiter { answer, progress };
        self.waiting().calls.insert(call_id.clone(), waiter);
        let asked = Asked {
            node: self,
            call_id: &call_id,
        };
        let event = ToolInvokeEvent {
            call_id: call_id.clone(),
            tool: tool.to_owned(),
            args,
            output: watched.then_some(true),
            full_output: self.about.full_output.then_some(true),
        };
        self.tell(&event).await?;
        tokio::select! {
            biased;
            answer = &mut answered => return answer.map_err(|_| self.lost()),
            () = self.gone.cancelled() => return Err(self.lost()),
            () = context.cancel.cancelled() => asked.take_back(),
        }
        // Told to stop, it may still say how far it came; whoever asked decides how long to wait.
        tokio::select! {
            biased;
            answer = answered => answer.map_err(|_| self.lost()),
            () = self.gone.cancelled() => Err(self.lost()),
        }
    }

    /// The end of its log.
    pub async fn logs(&self, call_id: String, lines: u32) -> Result<LogsResultParams, ToolError> {
        let (answer, answered) = oneshot::channel();
        self.waiting().logs.insert(call_id.clone(), answer);
        let _forget = Forget(|| {
            self.waiting().logs.remove(&call_id);
        });
        let event = LogsGetEvent {
            call_id: call_id.clone(),
            lines,
        };
        self.tell(&event).await?;
        let answered = async {
            tokio::select! {
                biased;
                answer = answered => answer.map_err(|_| self.lost()),
                () = self.gone.cancelled() => Err(self.lost()),
            }
        };
        timeout(LOGS_WITHIN, answered).await.unwrap_or_else(|_| {
            let message = format!("node {} did not send its log within 20 seconds", self.id());
            Err(ToolError::new(ErrorCode::DeadlineExceeded, message))
        })
    }

    /// Gives it a transfer: what it says about it comes out of the receiver.
    pub fn give_transfer(self: &Arc<Self>, id: u32) -> (mpsc::Receiver<FromNode>, Given) {
        let (said, hear) = mpsc::channel(MAX_WAITING);
        self.waiting().transfers.insert(id, said);
        let node = self.clone();
        (hear, Given { node, id })
    }

    /// Whether it tells what programs in its background print.
    pub fn can_be_watched(&self) -> bool {
        self.about.watched
    }

    /// Watches one of the programs in its background.
    pub fn watch(self: &Arc<Self>, id: String, session: String) -> Result<Watched, ToolError> {
        let (told, hear) = mpsc::channel(1);
        let mut waiting = self.waiting();
        if waiting.watches.len() >= MAX_WATCHES {
            let name = self.id();
            let message = format!("{MAX_WATCHES} programs of node {name} are watched already");
            return Err(ToolError::new(ErrorCode::Unavailable, message)
                .hint("try again when somebody watches one no more"));
        }
        waiting.watches.insert(id.clone(), told);
        drop(waiting);
        Ok(Watched {
            node: self.clone(),
            id,
            session,
            hear,
        })
    }

    /// Takes what a program prints that is watched; what nobody asked for is nobody's.
    pub fn watched(&self, output: ProcessOutputEvent) {
        let waiting = self.waiting();
        if let Some(watch) = waiting.watches.get(&output.watch_id) {
            let _ = watch.try_send(output);
        }
    }

    /// Takes an answer; whether anybody waited for it.
    pub fn answered(&self, answer: ToolResultParams) -> bool {
        let waited = self.waiting().calls.remove(&answer.call_id);
        waited.is_some_and(|waited| waited.answer.send(answer).is_ok())
    }

    /// Takes what one of its calls printed; what nobody waits for is nobody's.
    pub fn printed(&self, output: &ToolOutputEvent) {
        let waiting = self.waiting();
        let progress = waiting.calls.get(&output.call_id);
        let progress = progress.map(|waiter| waiter.progress.clone());
        drop(waiting);
        if let Some(progress) = progress {
            progress.print(&output.text);
        }
    }

    /// Takes its log; whether anybody waited for it.
    pub fn logged(&self, answer: LogsResultParams) -> bool {
        let waited = self.waiting().logs.remove(&answer.call_id);
        waited.is_some_and(|waited| waited.send(answer).is_ok())
    }

    /// Takes what it says about a transfer; whether it was given that transfer. Waits while
    /// whoever carries it on is behind.
    pub async fn said(&self, transfer: u32, what: FromNode) -> bool {
        let given = self.waiting().transfers.get(&transfer).cloned();
        match given {
            Some(given) => given.send(what).await.is_ok(),
            None => false,
        }
    }

    /// Takes a binary frame; one of a transfer that it was not given is nobody's.
    pub async fn sent(&self, frame: Bytes) {
        if let Ok(BinaryFrame { transfer, .. }) = BinaryFrame::decode(&frame) {
            self.said(transfer, FromNode::Frame(frame)).await;
        }
    }
}

/// A call that was asked and is not answered yet.
struct Asked<'a> {
    node: &'a Node,
    call_id: &'a str,
}

impl Asked<'_> {
    fn take_back(&self) {
        if self.node.about.cancels {
            self.node.mention(&ToolCancelEvent {
                call_id: self.call_id.to_owned(),
            });
        }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let unanswered = self.node.waiting().calls.remove(self.call_id).is_some();
        if unanswered && !self.node.gone.is_cancelled() {
            self.take_back();
        }
    }
}

/// A transfer that a node was given; dropped, what it says of it is nobody's.
pub struct Given {
    node: Arc<Node>,
    id: u32,
}

impl Drop for Given {
    fn drop(&mut self) {
        self.node.waiting().transfers.remove(&self.id);
    }
}

/// A program in the background of a node that is watched; dropped, it is no more.
pub struct Watched {
    node: Arc<Node>,
    id: String,
    session: String,
    hear: mpsc::Receiver<ProcessOutputEvent>,
}

impl Watched {
    /// The tool by which the node tells of programs in its background.
    pub fn tool(&self) -> String {
        full_name(self.node.id(), "Process")
    }

    /// What it prints next, as soon as there is something.
    pub async fn next(&mut self, from: Option<u64>) -> Result<ProcessOutputEvent, ToolError> {
        let _ = self.hear.try_recv(); // what came unasked
        let ask = ProcessWatchEvent {
            watch_id: self.id.clone(),
            session_id: self.session.clone(),
            from,
        };
        self.node.tell(&ask).await?;
        tokio::select! {
            biased;
            told = self.hear.recv() => told.ok_or_else(|| self.node.lost()),
            () = self.node.gone.cancelled() => Err(self.node.lost()),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.node.waiting().watches.remove(&self.id);
        if !self.node.gone.is_cancelled() {
            let watch_id = std::mem::take(&mut self.id);
            self.node.mention(&ProcessUnwatchEvent { watch_id });
        }
    }
}

struct Forget<F: FnMut()>(F);

impl<F: FnMut()> Drop for Forget<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
