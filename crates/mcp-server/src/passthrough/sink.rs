//! The client's side of a running request: it receives progress, logs and questions, and finally
//! the result.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{Answers, ErrorCode, ToolError};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::eras;
use crate::message::{Fault, notification};

/// Messages queued for a slow client.
const AHEAD: usize = 256;

/// How long to wait for further questions after one, so that the client answers them together.
const TOGETHER: Duration = Duration::from_millis(50);
/// Questions sent together.
const MAX_TOGETHER: usize = 16;
/// How long a question waits for its answer.
const OPEN: Duration = Duration::from_secs(600);

/// A message to the client while a request runs.
pub(super) enum ClientMessage {
    Notification(Value),
    /// A question of the server.
    Question(Question),
    /// The result; nothing follows.
    Done(Result<Value, Fault>),
}

/// A question a server asks the client.
pub(super) struct Question {
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) reply: oneshot::Sender<Result<Value, Value>>,
}

/// The remaining messages of a request.
pub(super) struct MessageStream {
    /// Messages received already, which come first.
    pub(super) first: VecDeque<ClientMessage>,
    pub(super) rest: mpsc::Receiver<ClientMessage>,
    /// Progress token of the request that listens now.
    pub(super) token: Option<Value>,
}

impl MessageStream {
    /// The next message; `None` if the request is gone.
    pub(super) async fn next(&mut self) -> Option<ClientMessage> {
        loop {
            let out = match self.first.pop_front() {
                Some(out) => out,
                None => self.rest.recv().await?,
            };
            let ClientMessage::Notification(mut notification) = out else {
                return Some(out);
            };
            if notification["method"] == "notifications/progress" {
                let Some(token) = &self.token else { continue };
                notification["params"]["progressToken"] = token.clone();
            }
            return Some(ClientMessage::Notification(notification));
        }
    }

    /// Collects the questions that arrive shortly after one.
    pub(super) async fn gather(&mut self, question: Question) -> Vec<Question> {
        let mut questions = vec![question];
        while questions.len() < MAX_TOGETHER {
            match tokio::time::timeout(TOGETHER, self.next()).await {
                Ok(Some(ClientMessage::Question(question))) => questions.push(question),
                Ok(Some(other)) => {
                    self.first.push_front(other);
                    break;
                }
                Ok(None) | Err(_) => break,
            }
        }
        questions
    }
}

/// The client of a running request.
pub(super) struct ClientSink {
    capabilities: Value,
    carried: Map<String, Value>,
    calls_again: bool,
    logs: Option<usize>,
    /// Name and requests of the private server session, if there is one.
    line: Option<(String, Arc<ActiveRequests>)>,
    out: mpsc::Sender<ClientMessage>,
    /// Shared by the whole private session: a question on it may belong to any request.
    thought: Arc<Mutex<WaitTime>>,
}

/// Time spent waiting for a person's answers. Overlapping questions count once.
#[derive(Default)]
struct WaitTime {
    past: Duration,
    open: usize,
    since: Option<Instant>,
}

impl WaitTime {
    fn total(&self) -> Duration {
        self.past + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// An open question; dropping it stops the clock.
struct OpenQuestion<'a>(&'a Mutex<WaitTime>);

impl<'a> OpenQuestion<'a> {
    fn about(thought: &'a Mutex<WaitTime>) -> Self {
        let mut held = thought.lock().expect("no panic while held");
        held.open += 1;
        held.since.get_or_insert_with(Instant::now);
        drop(held);
        Self(thought)
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let mut held = self.0.lock().expect("no panic while held");
        held.open -= 1;
        if held.open == 0 {
            held.past = held.total();
            held.since = None;
        }
    }
}

/// The requests running on one private server session. A question of the server belongs to the
/// newest.
#[derive(Default)]
pub(super) struct ActiveRequests {
    sinks: Mutex<Vec<Weak<ClientSink>>>,
    /// Whether it is reserved for one request.
    taken: AtomicBool,
    thought: Arc<Mutex<WaitTime>>,
}

impl ActiveRequests {
    /// Reserves it until the request ends; returns whether it was free.
    pub(super) fn take(&self) -> bool {
        !self.taken.swap(true, Ordering::AcqRel)
    }

    fn newest(&self) -> Option<Arc<ClientSink>> {
        let mut sinks = self.sinks.lock().expect("no panic while held");
        sinks.retain(|sink| sink.strong_count() > 0);
        sinks.last().and_then(Weak::upgrade)
    }

    /// Whether no request runs on it.
    pub(super) fn is_idle(&self) -> bool {
        !self.taken.load(Ordering::Acquire) && self.newest().is_none()
    }
}

/// What a client expects of a request.
pub(super) struct SinkOptions {
    pub(super) capabilities: Value,
    pub(super) carried: Map<String, Value>,
    pub(super) calls_again: bool,
    /// Lowest level of log messages it wants, if any.
    pub(super) logs: Option<usize>,
    pub(super) line: Option<(String, Arc<ActiveRequests>)>,
}

impl ClientSink {
    /// Creates the client side and the receiver of its messages.
    pub(super) fn new(options: SinkOptions) -> (Arc<Self>, mpsc::Receiver<ClientMessage>) {
        let (out, messages) = mpsc::channel(AHEAD);
        let active = options.line.as_ref().map(|(_, active)| active);
        let thought = active.map_or_else(Arc::default, |active| active.thought.clone());
        let sink = Arc::new(Self {
            capabilities: options.capabilities,
            carried: options.carried,
            calls_again: options.calls_again,
            logs: options.logs,
            line: options.line,
            out,
            thought,
        });
        if let Some((_, active)) = &sink.line {
            let mut sinks = active.sinks.lock().expect("no panic while held");
            sinks.push(Arc::downgrade(&sink));
        }
        (sink, messages)
    }

    /// Sends a notification unless the queue is full.
    pub(super) fn notify(&self, notification: Value) {
        let _ = self.out.try_send(ClientMessage::Notification(notification)); // progress and logs may be dropped
    }

    /// Sends a log message if the client wants its level.
    pub(super) fn log(&self, notice: Value) {
        if self
            .logs
            .is_some_and(|from| eras::level_of(&notice) >= from)
        {
            self.notify(notification("notifications/message", notice));
        }
    }

    /// Sends the result.
    pub(super) async fn end(&self, result: Result<Value, Fault>) {
        let _ = self.out.send(ClientMessage::Done(result)).await; // the client may be gone
    }

    /// Resolves when the client stops listening.
    pub(super) async fn left(&self) {
        self.out.closed().await;
    }

    async fn request(&self, method: &str, params: Value) -> Result<Value, ToolError> {
        let gone = || ToolError::new(ErrorCode::Cancelled, "the client disconnected");
        let (reply, answer) = oneshot::channel();
        let question = Question {
            method: method.to_owned(),
            params: match params {
                Value::Null => json!({}),
                params => params,
            },
            reply,
        };
        let asked = self.out.send(ClientMessage::Question(question)).await;
        asked.map_err(|_| gone())?;
        // Time a person needs to answer does not count against the call's deadline.
        let _thinking = OpenQuestion::about(&self.thought);
        match timeout(OPEN, answer).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(error))) => {
                let said = error["message"]
                    .as_str()
                    .unwrap_or("the client rejected the request");
                Err(ToolError::new(ErrorCode::Failed, said))
            }
            Ok(Err(_)) => Err(gone()),
            Err(_) => {
                let message = format!("no answer to {method} within {OPEN:?}");
                Err(ToolError::new(ErrorCode::DeadlineExceeded, message))
            }
        }
    }
}

impl Drop for ClientSink {
    fn drop(&mut self) {
        if let Some((_, active)) = &self.line {
            active.taken.store(false, Ordering::Release);
        }
    }
}

impl fmt::Debug for ClientSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSink")
    }
}

/// The client's answers, as the call path carries them.
#[derive(Debug, Clone)]
pub(super) struct SinkAnswers(pub(super) Arc<ClientSink>);

#[async_trait]
impl Answers for SinkAnswers {
    fn capabilities(&self) -> Value {
        self.0.capabilities.clone()
    }

    async fn answer(&self, method: &str, params: Value) -> Result<Value, ToolError> {
        // Servers do not say which request a question belongs to, so the newest gets it.
        let newest = self.0.line.as_ref().and_then(|(_, active)| active.newest());
        newest
            .as_ref()
            .unwrap_or(&self.0)
            .request(method, params)
            .await
    }

    fn log_message(&self, notice: Value) {
        self.0.log(notice);
    }

    fn extra_params(&self) -> Map<String, Value> {
        self.0.carried.clone()
    }

    fn retries_with_input(&self) -> bool {
        self.0.calls_again
    }

    fn uses_older_protocol(&self) -> bool {
        !self.0.calls_again
    }

    fn conversation_id(&self) -> Option<String> {
        self.0.line.as_ref().map(|(name, _)| name.clone())
    }

    fn time_spent(&self) -> Duration {
        self.0.thought.lock().expect("no panic while held").total()
    }
}
