//! One call: the request, and the context that the tool sees.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::chat_ref::ChatRef;
use crate::error::ToolError;
use crate::id::{AgentId, ApprovalId, CallId};
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
    /// The caller.
    pub caller: Arc<Caller>,
    /// The agent whose workspace it uses and on whose behalf it is made.
    pub agent: AgentId,
    /// How long to wait for the owner's approval before the call fails with `approval_required`.
    pub approval_wait: Duration,
    /// A shorter deadline than the tool's own.
    pub deadline: Option<Duration>,
    /// Receives progress and output.
    pub progress: Progress,
    /// Notified when the call waits for approval and before it starts.
    pub witness: Option<Arc<dyn Witness>>,
    /// Whether untrusted text may have shaped the request.
    pub taint: Taint,
    /// The sessions whose turns led to this call, the outermost first; each waits for the next.
    pub lineage: Arc<[String]>,
    /// Which connection to use, by service.
    pub connections: Arc<BTreeMap<String, String>>,
    /// Answers requests that an MCP server makes while it works.
    pub answers: Option<Arc<dyn Answers>>,
    /// The tools that it and the calls it leads to may use; by default all that the caller may call.
    pub reach: Reach,
    /// The chat that the call belongs to.
    pub chat: Option<Arc<ChatRef>>,
    /// Whether the result is for a program, which gets it complete up to the size of the largest artifact.
    pub full_result: bool,
    /// A lower limit for the size of the result, in bytes.
    pub max_result_bytes: Option<u64>,
    /// Whether the caller forwards the unchanged result of an MCP server ([`Outcome::raw`]).
    pub wants_raw: bool,
    /// Whether a person's screen shows what it reads, so that a list that succeeds is not an entry of the audit.
    pub is_view: bool,
    /// The version that a file must still have to be written; empty if it must not exist yet.
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
            // Not waiting is the default: where nobody can answer, a call must fail with the id of its request
            // instead of hanging.
            approval_wait: Duration::ZERO,
            deadline: None,
            progress: Progress::default(),
            witness: None,
            taint: Taint::NONE,
            lineage: Arc::default(),
            connections: Arc::default(),
            answers: None,
            reach: Reach::default(),
            chat: None,
            full_result: false,
            max_result_bytes: None,
            wants_raw: false,
            is_view: false,
            if_version: None,
        }
    }
}

/// What a running tool can see of its call: the request it came from, and how it runs. It derefs to
/// the request, so that a tool reads `context.agent` like `context.call`.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The request, without its arguments: the tool has them.
    // All of the request rather than single fields, so that a new field reaches the tools without being copied
    // here.
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

/// The tools that a call may use: all, unless its task was given fewer than the caller may call.
#[derive(Clone, Default)]
// `None` instead of a closure that is always true: most calls have no restriction, and lists ask this for every
// tool.
pub struct Reach(Option<Arc<ReachFilter>>);

/// Whether a tool is within reach.
type ReachFilter = dyn Fn(&ToolSpec) -> bool + Send + Sync;

impl Reach {
    /// Everything that the caller may call.
    pub const ANY: Self = Self(None);

    /// Only those for which `within` holds.
    pub fn only(within: impl Fn(&ToolSpec) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(within)))
    }

    /// Whether a tool is within it.
    pub fn contains(&self, spec: &ToolSpec) -> bool {
        self.0.as_ref().is_none_or(|within| within(spec))
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Reach" } else { "-" })
    }
}

/// The client behind a call, which answers requests of an MCP server while the call runs: for user
/// input (`elicitation/create`) or a model's reply (`sampling/createMessage`).
#[async_trait]
pub trait Answers: Send + Sync + fmt::Debug {
    /// The requests it answers, as MCP client capabilities.
    fn capabilities(&self) -> Value;
    /// The answer to one request, by MCP method and parameters.
    async fn answer(&self, method: &str, params: Value) -> Result<Value, ToolError>;
    /// A log message of the server.
    fn log_message(&self, _notice: Value) {}
    /// Further parameters that are passed to the server unchanged.
    fn extra_params(&self) -> Map<String, Value> {
        Map::new()
    }
    /// Whether it handles results that request input by calling again.
    fn retries_with_input(&self) -> bool {
        false
    }
    /// Whether it speaks MCP up to 2025-11-25, so that a server that knows both protocol eras is
    /// used in the older one.
    fn uses_older_protocol(&self) -> bool {
        false
    }
    /// An id of the conversation, if the server should see one private session for all of it.
    fn conversation_id(&self) -> Option<String> {
        None
    }
    /// Total time it has taken to answer so far, which does not count against the deadline.
    fn time_spent(&self) -> Duration {
        Duration::ZERO
    }
}

/// Records the state of a call before it continues.
#[async_trait]
pub trait Witness: Send + Sync + fmt::Debug {
    /// The call waits for the owner's approval.
    async fn approval_pending(&self, approval: ApprovalId);
    /// Completes when the call should stop waiting for approval. The request stays open: the same call,
    /// repeated, finds it.
    async fn stop_waiting(&self) {
        std::future::pending().await
    }
    /// The call is about to run; an error prevents it.
    async fn starting(&self) -> Result<(), ToolError>;
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

/// Listeners for the progress and output of a call; none by default. Reporting never blocks.
#[derive(Clone, Default)]
pub struct Progress {
    steps: Option<Arc<dyn Fn(Step) + Send + Sync>>,
    output: Option<Arc<OutputListener>>,
}

/// Receives output.
type OutputListener = dyn Fn(&str) + Send + Sync;

impl Progress {
    /// Reports progress to `listener`, which must not block.
    pub fn to(listener: impl Fn(Step) + Send + Sync + 'static) -> Self {
        Self {
            steps: Some(Arc::new(listener)),
            output: None,
        }
    }

    /// Also reports output to `listener` as it is printed; it must not block.
    #[must_use]
    pub fn with_output(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.output = Some(Arc::new(listener));
        self
    }

    /// Reports progress. A listener for output only gets the message as a line of output.
    pub fn report(&self, step: Step) {
        match (&self.steps, &step.message) {
            (Some(listener), _) => listener(step),
            // A listener for output alone still sees what the tool is doing.
            (None, Some(message)) => self.print(&format!("{message}\n")),
            (None, None) => {}
        }
    }

    /// Reports output.
    pub fn print(&self, text: &str) {
        if let Some(listener) = self.output.as_ref().filter(|_| !text.is_empty()) {
            listener(text);
        }
    }

    /// Whether there is a listener for output.
    pub fn has_output_listener(&self) -> bool {
        self.output.is_some()
    }

    /// Whether there is a listener for progress.
    pub fn has_step_listener(&self) -> bool {
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
