//! Whoever asked for something, while it is done: they are told how far it is and asked what the
//! server wants to know.

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

/// How many words may wait for whoever reads them.
const AHEAD: usize = 256;

/// How long other questions are waited for after one, so that they are answered together.
const TOGETHER: Duration = Duration::from_millis(50);
/// How many questions are asked at once.
const MAX_TOGETHER: usize = 16;
/// How long a question waits for its answer.
const OPEN: Duration = Duration::from_secs(600);

/// What comes of a request while it is done, and in the end.
pub(super) enum Out {
    /// A notification.
    Told(Value),
    /// A question.
    Asked(Question),
    /// The end.
    Done(Result<Value, Fault>),
}

/// Something the server wants to know.
pub(super) struct Question {
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) reply: oneshot::Sender<Result<Value, Value>>,
}

/// What is still to be heard of a request.
pub(super) struct Stretch {
    /// What was heard already, and comes first.
    pub(super) first: VecDeque<Out>,
    pub(super) rest: mpsc::Receiver<Out>,
    /// Under which token whoever listens now is told of progress.
    pub(super) token: Option<Value>,
}

impl Stretch {
    /// The next of it; nothing when whoever did it is gone.
    pub(super) async fn next(&mut self) -> Option<Out> {
        loop {
            let out = match self.first.pop_front() {
                Some(out) => out,
                None => self.rest.recv().await?,
            };
            let Out::Told(mut told) = out else {
                return Some(out);
            };
            if told["method"] == "notifications/progress" {
                let Some(token) = &self.token else { continue };
                told["params"]["progressToken"] = token.clone();
            }
            return Some(Out::Told(told));
        }
    }

    /// The questions that come together with one.
    pub(super) async fn gather(&mut self, question: Question) -> Vec<Question> {
        let mut questions = vec![question];
        while questions.len() < MAX_TOGETHER {
            match tokio::time::timeout(TOGETHER, self.next()).await {
                Ok(Some(Out::Asked(question))) => questions.push(question),
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

/// One request that is being done.
pub(super) struct Voice {
    capabilities: Value,
    carried: Map<String, Value>,
    calls_again: bool,
    logs: Option<usize>,
    /// The conversation that has a line of its own, if it has one.
    line: Option<(String, Arc<Floor>)>,
    out: mpsc::Sender<Out>,
    /// That of the whole line, where there is one: a question on it may belong to any request.
    thought: Arc<Mutex<Thought>>,
}

/// How long somebody thinks about what they are asked. Questions that are open together count once.
#[derive(Default)]
struct Thought {
    past: Duration,
    open: usize,
    since: Option<Instant>,
}

impl Thought {
    fn all(&self) -> Duration {
        self.past + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// A question that is open, until this is dropped.
struct Thinking<'a>(&'a Mutex<Thought>);

impl<'a> Thinking<'a> {
    fn about(thought: &'a Mutex<Thought>) -> Self {
        let mut held = thought.lock().expect("no panic while held");
        held.open += 1;
        held.since.get_or_insert_with(Instant::now);
        drop(held);
        Self(thought)
    }
}

impl Drop for Thinking<'_> {
    fn drop(&mut self) {
        let mut held = self.0.lock().expect("no panic while held");
        held.open -= 1;
        if held.open == 0 {
            held.past = held.all();
            held.since = None;
        }
    }
}

/// Whose requests are done on one line. What a server asks on it belongs to the newest.
#[derive(Default)]
pub(super) struct Floor {
    voices: Mutex<Vec<Weak<Voice>>>,
    /// Whether it is kept for one request alone.
    taken: AtomicBool,
    thought: Arc<Mutex<Thought>>,
}

impl Floor {
    /// Keeps it for one request, until its voice is gone; whether it was free.
    pub(super) fn take(&self) -> bool {
        !self.taken.swap(true, Ordering::AcqRel)
    }

    fn newest(&self) -> Option<Arc<Voice>> {
        let mut voices = self.voices.lock().expect("no panic while held");
        voices.retain(|voice| voice.strong_count() > 0);
        voices.last().and_then(Weak::upgrade)
    }

    /// Whether nothing is being done on it.
    pub(super) fn is_quiet(&self) -> bool {
        !self.taken.load(Ordering::Acquire) && self.newest().is_none()
    }
}

/// How a request is to be heard.
pub(super) struct Manner {
    pub(super) capabilities: Value,
    pub(super) carried: Map<String, Value>,
    pub(super) calls_again: bool,
    /// From which level on log messages are wanted, if at all.
    pub(super) logs: Option<usize>,
    pub(super) line: Option<(String, Arc<Floor>)>,
}

impl Voice {
    /// A voice, and what is heard by it.
    pub(super) fn new(manner: Manner) -> (Arc<Self>, mpsc::Receiver<Out>) {
        let (out, heard) = mpsc::channel(AHEAD);
        let floor = manner.line.as_ref().map(|(_, floor)| floor);
        let thought = floor.map_or_else(Arc::default, |floor| floor.thought.clone());
        let voice = Arc::new(Self {
            capabilities: manner.capabilities,
            carried: manner.carried,
            calls_again: manner.calls_again,
            logs: manner.logs,
            line: manner.line,
            out,
            thought,
        });
        if let Some((_, floor)) = &voice.line {
            let mut voices = floor.voices.lock().expect("no panic while held");
            voices.push(Arc::downgrade(&voice));
        }
        (voice, heard)
    }

    /// Tells something, unless too much waits already.
    pub(super) fn tell(&self, notification: Value) {
        let _ = self.out.try_send(Out::Told(notification)); // progress and logs may be left out
    }

    /// Tells a log message to those who want it.
    pub(super) fn log(&self, notice: Value) {
        if self
            .logs
            .is_some_and(|from| eras::level_of(&notice) >= from)
        {
            self.tell(notification("notifications/message", notice));
        }
    }

    /// Says what came of it.
    pub(super) async fn end(&self, result: Result<Value, Fault>) {
        let _ = self.out.send(Out::Done(result)).await; // nobody listening is fine
    }

    /// Comes when nobody listens any more.
    pub(super) async fn left(&self) {
        self.out.closed().await;
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, ToolError> {
        let gone = || ToolError::new(ErrorCode::Cancelled, "whoever asked is gone");
        let (reply, answer) = oneshot::channel();
        let question = Question {
            method: method.to_owned(),
            params: match params {
                Value::Null => json!({}),
                params => params,
            },
            reply,
        };
        let asked = self.out.send(Out::Asked(question)).await;
        asked.map_err(|_| gone())?;
        let _thinking = Thinking::about(&self.thought);
        match timeout(OPEN, answer).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(error))) => {
                let said = error["message"].as_str().unwrap_or("it was refused");
                Err(ToolError::new(ErrorCode::Failed, said))
            }
            Ok(Err(_)) => Err(gone()),
            Err(_) => {
                let message = format!("nobody answered {method} within {OPEN:?}");
                Err(ToolError::new(ErrorCode::DeadlineExceeded, message))
            }
        }
    }
}

impl Drop for Voice {
    fn drop(&mut self) {
        if let Some((_, floor)) = &self.line {
            floor.taken.store(false, Ordering::Release);
        }
    }
}

impl fmt::Debug for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Voice")
    }
}

/// A voice as the path carries it.
#[derive(Debug, Clone)]
pub(super) struct Heard(pub(super) Arc<Voice>);

#[async_trait]
impl Answers for Heard {
    fn capabilities(&self) -> Value {
        self.0.capabilities.clone()
    }

    async fn answer(&self, method: &str, params: Value) -> Result<Value, ToolError> {
        let newest = self.0.line.as_ref().and_then(|(_, floor)| floor.newest());
        newest.as_ref().unwrap_or(&self.0).ask(method, params).await
    }

    fn heard(&self, notice: Value) {
        self.0.log(notice);
    }

    fn carried(&self) -> Map<String, Value> {
        self.0.carried.clone()
    }

    fn calls_again(&self) -> bool {
        self.0.calls_again
    }

    fn is_older(&self) -> bool {
        !self.0.calls_again
    }

    fn line(&self) -> Option<String> {
        self.0.line.as_ref().map(|(name, _)| name.clone())
    }

    fn thought(&self) -> Duration {
        self.0.thought.lock().expect("no panic while held").all()
    }
}
