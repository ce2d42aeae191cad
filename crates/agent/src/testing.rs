//! Fakes for tests of this crate and of those that use it: an environment, a path without tools, and a model's reply.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use manyhands_core::{
    AgentId, CallRequest, Caller, Catalogue, Decision, Invoke, Outcome, Question, Taint, ToolError,
    Verdict,
};
use manyhands_llm::{Cost, ModelId, Reply, ReplyBlock, StopReason, Usage};
use tokio_util::sync::CancellationToken;

use crate::env::{AgentEnv, ApprovalReply, LocalTime, ModelClient, SkillNote};
use crate::origin::Origin;
use crate::settings::{AgentSettings, TurnLimits};

/// The caller behind an origin.
pub type CallerOf = Box<dyn Fn(&Origin) -> Result<Arc<Caller>, ToolError> + Send + Sync>;

/// An environment whose parts a test replaces as it needs.
pub struct FakeEnv {
    /// The only model; its provider is `test`.
    pub model: Arc<dyn ModelClient>,
    /// The default model.
    pub default_model: Option<ModelId>,
    /// The model for titles; none by default.
    pub title_model: Mutex<Option<ModelId>>,
    /// Limits of a turn.
    pub limits: Mutex<TurnLimits>,
    /// Files of every workspace, by path.
    pub files: Mutex<Vec<(&'static str, &'static str)>>,
    /// The agents that exist; every name by default.
    pub agents: fn(&AgentId) -> Option<AgentSettings>,
    /// Callers; the gateway itself by default.
    pub callers: CallerOf,
    /// Approval requests that were decided.
    pub decided: Mutex<Vec<(String, ApprovalReply)>>,
    /// See [`AgentEnv::stopping`].
    pub stopping: CancellationToken,
}

impl FakeEnv {
    /// An environment with this model.
    pub fn new(model: Arc<dyn ModelClient>) -> Self {
        Self {
            model,
            default_model: None,
            title_model: Mutex::default(),
            limits: Mutex::default(),
            files: Mutex::default(),
            agents: |id| Some(AgentSettings::new(id.clone())),
            callers: Box::new(|_| Ok(Arc::new(Caller::gateway()))),
            decided: Mutex::default(),
            stopping: CancellationToken::new(),
        }
    }
}

#[async_trait]
impl AgentEnv for FakeEnv {
    fn models(&self) -> Arc<dyn ModelClient> {
        self.model.clone()
    }

    fn default_model(&self) -> Option<ModelId> {
        self.default_model.clone()
    }

    fn title_model(&self, _: &ModelId) -> Option<ModelId> {
        let model = self.title_model.lock().expect("no panic while held");
        model.clone()
    }

    fn knows(&self, model: &ModelId) -> Result<(), ToolError> {
        match model.provider.as_str() {
            "test" => Ok(()),
            other => Err(ToolError::not_found(format!(
                "there is no provider {other}"
            ))),
        }
    }

    async fn decide(
        &self,
        _: &Caller,
        approval: &str,
        verdict: ApprovalReply,
    ) -> Result<String, ToolError> {
        let mut decided = self.decided.lock().expect("no panic while held");
        decided.push((approval.to_owned(), verdict));
        Ok("decided".to_owned())
    }

    fn agent(&self, id: &AgentId) -> Option<AgentSettings> {
        (self.agents)(id)
    }

    fn limits(&self) -> TurnLimits {
        *self.limits.lock().expect("no panic while held")
    }

    fn caller(&self, origin: &Origin) -> Result<Arc<Caller>, ToolError> {
        (self.callers)(origin)
    }

    async fn file(&self, _: &AgentId, path: &str) -> Option<(String, Taint)> {
        let files = self.files.lock().expect("no panic while held");
        let (_, text) = files.iter().find(|(name, _)| *name == path)?;
        // There is no record of where a fake file is from, so its text says it.
        let taint = Taint::when(text.contains("(from the web)"), "tool:web_fetch");
        Some(((*text).to_owned(), taint))
    }

    async fn skills(&self, _: &AgentId) -> Vec<SkillNote> {
        Vec::new()
    }

    fn facts(&self) -> Vec<String> {
        Vec::new()
    }

    fn local_time(&self) -> LocalTime {
        LocalTime {
            day: "2026-11-15".to_owned(),
            day_before: "2026-11-14".to_owned(),
            clock: "09:30".to_owned(),
            zone: "UTC".to_owned(),
            since_midnight_ms: 9 * 3_600_000,
        }
    }

    fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }
}

/// A path on which there are no tools.
pub struct NoTools;

#[async_trait]
impl Invoke for NoTools {
    async fn invoke(&self, _: CallRequest) -> Result<Outcome, ToolError> {
        Err(ToolError::internal("there are no tools"))
    }

    fn authorize(&self, question: Question<'_>) -> Verdict {
        verdict(&question)
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::default()
    }
}

/// Allows what the caller has any tools for and is not kept from.
pub fn verdict(question: &Question<'_>) -> Verdict {
    let denied = question.caller.rights.tools.is_empty() || !question.reach.contains(question.spec);
    let decision = match denied {
        true => Decision::Deny,
        false => Decision::Allow,
    };
    Verdict::default_rule(decision, "test")
}

/// A reply of the model `test/model`.
pub fn reply(content: Vec<ReplyBlock>) -> Reply {
    let calls = |block: &ReplyBlock| matches!(block, ReplyBlock::Call(_));
    Reply {
        stop: match content.iter().any(calls) {
            true => StopReason::Calls,
            false => StopReason::End,
        },
        content,
        usage: Usage::default(),
        cost: Cost::MicroDollars(1),
        model: "test/model".parse().expect("a model's name"),
        attempts: Vec::new(),
        notes: Vec::new(),
        scripted: false,
    }
}
