//! The layers of the path, and the call that passes through them.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use manyhands_core::{
    ApprovalId, CallId, CallRequest, Effects, Outcome, Question, Tool, ToolError, ToolSpec, Verdict,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::canonical::CanonicalText;
use crate::secret_params::mask_secret_params;

/// The result of a call.
pub type CallResult = Result<Outcome, ToolError>;

/// One call on its way. Layers add what they find out.
pub struct Call {
    /// The id of this call.
    pub id: CallId,
    /// What was requested. A forwarded call is replaced by the one it stands for, and the arguments
    /// are moved into the tool when it runs.
    pub request: CallRequest,
    /// Fires when the call should stop.
    pub cancel: CancellationToken,
    /// What the call does: as the tool declares until its arguments are validated, by its arguments
    /// from then on. Unknown until the tool is resolved.
    pub effects: Effects,
    /// Set by authorize.
    pub verdict: Option<Verdict>,
    /// The owner's approval that lets this call through, used up when it starts.
    pub approval: Option<ApprovalId>,
    /// Whether the tool was (or is about to be) run, as opposed to refused.
    pub started: bool,
    tool: Option<Arc<dyn Tool>>,
    recorded: OnceLock<CanonicalText>,
}

impl Call {
    pub(crate) fn new(id: CallId, request: CallRequest, cancel: CancellationToken) -> Self {
        Self {
            id,
            request,
            cancel,
            effects: Effects::default(),
            verdict: None,
            approval: None,
            started: false,
            tool: None,
            recorded: OnceLock::new(),
        }
    }

    /// Sets the tool that will run.
    pub(crate) fn resolved(&mut self, tool: Arc<dyn Tool>) {
        self.effects = tool.spec().effects;
        self.tool = Some(tool);
    }

    /// The resolved tool; layers inside `resolve` can rely on it.
    pub fn tool(&self) -> Result<&Arc<dyn Tool>, ToolError> {
        self.tool
            .as_ref()
            .ok_or_else(|| ToolError::internal("a layer ran before the tool was resolved"))
    }

    /// The resolved tool, if the call came that far.
    pub(crate) fn found(&self) -> Option<&Arc<dyn Tool>> {
        self.tool.as_ref()
    }

    /// The arguments as the audit shows them, in their canonical spelling. Written once: first when
    /// something needs them, and at the latest before the tool takes the arguments.
    pub(crate) fn recorded_arguments(&self) -> &CanonicalText {
        self.recorded.get_or_init(|| {
            let spec = self.tool.as_ref().map(|tool| tool.spec());
            CanonicalText::of(&mask_secret_params(spec, &self.request.arguments))
        })
    }

    /// The arguments that will run, in their canonical spelling. The same text as the recorded one
    /// unless that masks a secret parameter.
    pub(crate) fn exact_arguments(&self) -> Cow<'_, CanonicalText> {
        let spec = self.tool.as_ref().map(|tool| tool.spec());
        match mask_secret_params(spec, &self.request.arguments) {
            Cow::Borrowed(_) => Cow::Borrowed(self.recorded_arguments()),
            Cow::Owned(_) => Cow::Owned(CanonicalText::of(&self.request.arguments)),
        }
    }

    /// Takes the arguments for the tool. They are not copied unless somebody else holds them too.
    pub(crate) fn take_arguments(&mut self) -> Value {
        self.recorded_arguments(); // the record of the call's end needs them
        Arc::unwrap_or_clone(std::mem::take(&mut self.request.arguments))
    }

    /// The call as authorization sees it.
    pub(crate) fn question<'a>(&'a self, spec: &'a ToolSpec) -> Question<'a> {
        Question {
            caller: &self.request.caller,
            agent: &self.request.agent,
            spec,
            effects: self.effects,
            arguments: Some(&self.request.arguments),
            taint: &self.request.taint,
            reach: &self.request.reach,
            session: self.session(),
            replies: false,
        }
    }

    /// The session that the call is made in.
    pub(crate) fn session(&self) -> Option<&str> {
        self.request.lineage.last().map(String::as_str)
    }

    /// The resolved tool's spec.
    pub fn spec(&self) -> Result<&ToolSpec, ToolError> {
        self.tool().map(|tool| tool.spec())
    }
}

/// One step of the path: inspects the call and passes it on, or refuses it.
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

    /// Passes the call on.
    pub fn run(self, call: &'a mut Call) -> BoxFuture<'a, CallResult> {
        match self.rest.split_first() {
            Some((layer, rest)) => layer.handle(call, Next { rest }),
            None => Box::pin(async { Err(ToolError::internal("the path has no end")) }),
        }
    }
}
