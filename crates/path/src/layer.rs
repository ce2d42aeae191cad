//! What a layer is, and the call that travels through them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use manyhands_core::{
    AgentId, Answers, ApprovalId, CallId, CallRequest, Caller, Effects, Outcome, Place, Progress,
    Question, Reach, Taint, Tool, ToolError, ToolSpec, Verdict, Witness,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What a call gives.
pub type CallResult = Result<Outcome, ToolError>;

/// One call on its way. Layers fill in what they find out.
pub struct Call {
    /// This call.
    pub id: CallId,
    /// The name it was asked by.
    pub asked: String,
    /// The arguments.
    pub arguments: Value,
    /// Who asks.
    pub caller: Arc<Caller>,
    /// On whose behalf.
    pub agent: AgentId,
    /// How long the asker will wait for an approval.
    pub approval_wait: Duration,
    /// How long the asker will wait for the outcome, when shorter than the tool's own limit.
    pub deadline: Option<Duration>,
    /// Who is told how far it is.
    pub progress: Progress,
    /// Who is told when it waits and when it starts.
    pub witness: Option<Arc<dyn Witness>>,
    /// Whether the request may have been shaped by text from outside.
    pub taint: Taint,
    /// The sessions in whose turns this is asked.
    pub lineage: Arc<[String]>,
    /// Which connection to use, by service.
    pub connections: Arc<BTreeMap<String, String>>,
    /// Who answers what a far server asks while it works.
    pub answers: Option<Arc<dyn Answers>>,
    /// Which tools it may come to.
    pub reach: Reach,
    /// The chat in which this is asked.
    pub place: Option<Arc<Place>>,
    /// Whether the result comes whole up to the largest that is kept.
    pub whole: bool,
    /// How many bytes of the result the caller takes, where that is less than the limit.
    pub room: Option<u64>,
    /// Which version a file has to have still for it to be written.
    pub if_version: Option<Arc<str>>,
    /// Fires when the call should stop.
    pub cancel: CancellationToken,
    /// Found by resolve.
    pub tool: Option<Arc<dyn Tool>>,
    /// Found by authorize.
    pub verdict: Option<Verdict>,
    /// The owner's yes that lets this call through, used up when it starts.
    pub approval: Option<ApprovalId>,
    /// Whether the tool was (or is about to be) run, as opposed to refused.
    pub started: bool,
}

impl Call {
    pub(crate) fn new(id: CallId, request: CallRequest, cancel: CancellationToken) -> Self {
        Self {
            id,
            asked: request.tool,
            arguments: request.arguments,
            caller: request.caller,
            agent: request.agent,
            approval_wait: request.approval_wait,
            deadline: request.deadline,
            progress: request.progress,
            witness: request.witness,
            taint: request.taint,
            lineage: request.lineage,
            connections: request.connections,
            answers: request.answers,
            reach: request.reach,
            place: request.place,
            whole: request.whole,
            room: request.room,
            if_version: request.if_version,
            cancel,
            tool: None,
            verdict: None,
            approval: None,
            started: false,
        }
    }

    /// The resolved tool; layers inside `resolve` can rely on it.
    pub fn tool(&self) -> Result<&Arc<dyn Tool>, ToolError> {
        self.tool
            .as_ref()
            .ok_or_else(|| ToolError::internal("a layer ran before the tool was resolved"))
    }

    /// What authorization depends on.
    pub(crate) fn question<'a>(&'a self, spec: &'a ToolSpec, effects: Effects) -> Question<'a> {
        Question {
            caller: &self.caller,
            agent: &self.agent,
            spec,
            effects,
            arguments: Some(&self.arguments),
            taint: &self.taint,
            reach: &self.reach,
            session: self.session(),
            replies: false,
        }
    }

    /// The conversation that the call is made in.
    pub(crate) fn session(&self) -> Option<&str> {
        self.lineage.last().map(String::as_str)
    }

    /// The resolved tool's spec.
    pub fn spec(&self) -> Result<&ToolSpec, ToolError> {
        self.tool().map(|tool| tool.spec())
    }
}

/// One step of the path: looks at the call, and hands it on or refuses it.
#[async_trait]
pub trait Layer: Send + Sync {
    /// Handles `call`, usually by calling `next`.
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult;
}

/// The rest of the path.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    rest: &'a [Arc<dyn Layer>],
}

impl<'a> Next<'a> {
    pub(crate) fn new(layers: &'a [Arc<dyn Layer>]) -> Self {
        Self { rest: layers }
    }

    /// Hands the call on.
    pub fn run(self, call: &'a mut Call) -> BoxFuture<'a, CallResult> {
        match self.rest.split_first() {
            Some((layer, rest)) => layer.handle(call, Next { rest }),
            None => Box::pin(async { Err(ToolError::internal("the path has no end")) }),
        }
    }
}
