//! One call: what is asked, and what the tool may know of its circumstances.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::authorize::{Question, Verdict};
use crate::caller::Caller;
use crate::catalogue::Catalogue;
use crate::chat_ref::ChatRef;
use crate::error::ToolError;
use crate::id::{AgentId, ApprovalId, CallId};
use crate::outcome::Outcome;
use crate::spec::ToolSpec;
use crate::taint::Taint;

/// A request to call a tool.
#[derive(Debug, Clone)]
pub struct CallRequest {
    /// The id of the call, if the interface needs to know it in advance; the path creates one otherwise.
    pub id: Option<CallId>,
    /// The tool's canonical name or alias.
    pub tool: String,
    /// Its arguments. Shared, because they can be megabytes large; the path moves them into the tool
    /// when it runs, so a [`CallContext`] has none.
    pub arguments: Arc<Value>,
    /// Who asks.
    pub caller: Arc<Caller>,
    /// On whose workspace and behalf.
    pub agent: AgentId,
    /// How long to wait for the owner's approval before coming back empty-handed.
    pub approval_wait: Duration,
    /// A shorter deadline than the tool's own.
    pub deadline: Option<Duration>,
    /// Who is told how far it is.
    pub progress: Progress,
    /// Who is told when it waits and when it starts.
    pub witness: Option<Arc<dyn Witness>>,
    /// Whether the request may have been shaped by text from outside.
    pub taint: Taint,
    /// The sessions in whose turns this is asked, the first asker's first: each waits for the next.
    pub lineage: Arc<[String]>,
    /// Which connection to use, by service.
    pub connections: Arc<BTreeMap<String, String>>,
    /// Who answers what a far server asks while it works.
    pub answers: Option<Arc<dyn Answers>>,
    /// Which tools it may come to, also by way of others; all that the caller may call unless said.
    pub reach: Reach,
    /// The chat in which this is asked.
    pub place: Option<Arc<ChatRef>>,
    /// Whether the result is for a program, which takes it whole up to the largest that is kept.
    pub whole: bool,
    /// How many bytes of the result the caller takes, where that is less than the limit.
    pub room: Option<u64>,
    /// Whether the caller forwards the unchanged result of an MCP server ([`Outcome::raw`]).
    pub wants_raw: bool,
    /// Which version a file has to have still for it to be written; empty: none may be there yet.
    pub if_version: Option<Arc<str>>,
}

impl CallRequest {
    /// A call by `caller` for the main agent, without waiting for approvals.
    pub fn new(
        tool: impl Into<String>,
        arguments: impl Into<Arc<Value>>,
        caller: Arc<Caller>,
    ) -> Self {
        Self {
            id: None,
            tool: tool.into(),
            arguments: arguments.into(),
            caller,
            agent: AgentId::main(),
            approval_wait: Duration::ZERO,
            deadline: None,
            progress: Progress::default(),
            witness: None,
            taint: Taint::NONE,
            lineage: Arc::default(),
            connections: Arc::default(),
            answers: None,
            reach: Reach::default(),
            place: None,
            whole: false,
            room: None,
            wants_raw: false,
            if_version: None,
        }
    }
}

/// What a running tool can see of its call: the request it came from, and how it runs. It derefs to
/// the request, so that a tool reads `context.agent` like `context.call`.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The request, without its arguments: the tool has them.
    pub request: CallRequest,
    /// The id of this call.
    pub call: CallId,
    /// Fires when the call should stop.
    pub cancel: CancellationToken,
    /// Whether a rule lets programs that the call starts use the network.
    pub network: bool,
}

impl CallContext {
    /// The context of a call that may not use the network.
    pub fn new(request: CallRequest, call: CallId, cancel: CancellationToken) -> Self {
        Self {
            request,
            call,
            cancel,
            network: false,
        }
    }
}

impl Deref for CallContext {
    type Target = CallRequest;

    fn deref(&self) -> &CallRequest {
        &self.request
    }
}

/// Which tools a call may come to: all, unless whoever makes it is given fewer than they may call.
#[derive(Clone, Default)]
pub struct Reach(Option<Arc<Within>>);

/// Whether a tool is within reach.
type Within = dyn Fn(&ToolSpec) -> bool + Send + Sync;

impl Reach {
    /// Everything that the caller may call.
    pub const ANY: Self = Self(None);

    /// Only those for which `within` holds.
    pub fn only(within: impl Fn(&ToolSpec) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(within)))
    }

    /// Whether a tool is within it.
    pub fn has(&self, spec: &ToolSpec) -> bool {
        self.0.as_ref().is_none_or(|within| within(spec))
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Reach" } else { "-" })
    }
}

/// Whoever asked for a call, as far as they answer questions about it: a far server may want
/// something filled in (`elicitation/create`) or thought about (`sampling/createMessage`).
#[async_trait]
pub trait Answers: Send + Sync + fmt::Debug {
    /// What they can be asked, as MCP's client capabilities.
    fn capabilities(&self) -> Value;
    /// The answer to one question, by MCP's method and parameters.
    async fn answer(&self, method: &str, params: Value) -> Result<Value, ToolError>;
    /// A line of the far server's log.
    fn heard(&self, _notice: Value) {}
    /// What goes to the far server beside the tool's name and arguments, as it is.
    fn carried(&self) -> Map<String, Value> {
        Map::new()
    }
    /// Whether a result that asks back is handed to them, to be answered with another call.
    fn calls_again(&self) -> bool {
        false
    }
    /// Whether they speak MCP up to 2025-11-25, so that a server which knows both eras is to be
    /// spoken to in that one.
    fn is_older(&self) -> bool {
        false
    }
    /// A name for the conversation, where a far server is to see one line for all of it.
    fn line(&self) -> Option<String> {
        None
    }
    /// For how long a question has been with them so far, all in all: nobody else's time.
    fn thought(&self) -> Duration {
        Duration::ZERO
    }
}

/// Somebody who has to know where a call stands before it goes on.
#[async_trait]
pub trait Witness: Send + Sync + fmt::Debug {
    /// It waits for the owner's answer.
    async fn waits(&self, approval: ApprovalId);
    /// Comes back when whoever made the call no longer waits for the answer. The question stays open: the
    /// same call, made again, finds it.
    async fn gives_up(&self) {
        std::future::pending().await
    }
    /// It is about to run. An error keeps it from running.
    async fn starts(&self) -> Result<(), ToolError>;
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// How much is done.
    pub done: u64,
    /// Of how much, where that is known.
    pub total: Option<u64>,
    /// What is being done.
    pub message: Option<String>,
}

/// Who is told how far a call is and what it prints: nobody, unless a face says so. Telling never
/// waits.
#[derive(Clone, Default)]
pub struct Progress {
    steps: Option<Arc<dyn Fn(Step) + Send + Sync>>,
    output: Option<Arc<Printed>>,
}

/// Hears what is printed.
type Printed = dyn Fn(&str) + Send + Sync;

impl Progress {
    /// Tells `listener` how far it is; it must not block.
    pub fn to(listener: impl Fn(Step) + Send + Sync + 'static) -> Self {
        Self {
            steps: Some(Arc::new(listener)),
            output: None,
        }
    }

    /// Also tells `listener` what the call prints, piece by piece; it must not block.
    #[must_use]
    pub fn printing(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.output = Some(Arc::new(listener));
        self
    }

    /// Tells how far it is. Who listens only to what is printed is told what is being done, as a
    /// line of it.
    pub fn tell(&self, step: Step) {
        match (&self.steps, &step.message) {
            (Some(listener), _) => listener(step),
            (None, Some(message)) => self.print(&format!("{message}\n")),
            (None, None) => {}
        }
    }

    /// Tells what was printed since.
    pub fn print(&self, text: &str) {
        if let Some(listener) = self.output.as_ref().filter(|_| !text.is_empty()) {
            listener(text);
        }
    }

    /// Whether anybody listens to what is printed.
    pub fn is_printing(&self) -> bool {
        self.output.is_some()
    }

    /// Whether anybody listens to how far it is.
    pub fn has_steps(&self) -> bool {
        self.steps.is_some()
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (&self.steps, &self.output) {
            (None, None) => "-",
            _ => "Progress",
        })
    }
}

/// The only way to the tools: every interface, agents, jobs and scripts call through it.
#[async_trait]
pub trait Invoke: Send + Sync {
    /// Takes the call down the whole path. Dropping the future cancels the call.
    async fn invoke(&self, request: CallRequest) -> Result<Outcome, ToolError>;
    /// Whether something is allowed, as the call itself would be judged. Lists and checks
    /// outside of a call ask this too, so that no two interfaces can disagree.
    fn authorize(&self, question: Question<'_>) -> Verdict;
    /// All tools there are now.
    fn catalogue(&self) -> Arc<Catalogue>;
}
