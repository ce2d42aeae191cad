//! Authorization requests and verdicts. `path` decides; everything else asks it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Reach;
use crate::caller::Caller;
use crate::effects::Effects;
use crate::error::{ErrorCode, ToolError};
use crate::id::AgentId;
use crate::spec::ToolSpec;
use crate::taint::Taint;

/// What happens to a call.
// Ordered from lenient to strict: the greater of two decisions is the one that counts.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It runs.
    Allow,
    /// It needs the owner's approval.
    Ask,
    /// It is refused.
    Deny,
}

/// All that a decision depends on, and nothing else.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The caller, and the actor that decided to call.
    pub caller: &'a Caller,
    /// On whose behalf.
    pub agent: &'a AgentId,
    /// The tool.
    pub spec: &'a ToolSpec,
    /// What the call does.
    pub effects: Effects,
    /// The canonical arguments; `None` to find out whether the tool is available at all.
    pub arguments: Option<&'a Value>,
    /// Whether untrusted text may have caused it.
    pub taint: &'a Taint,
    /// The tools that the task is given.
    pub reach: &'a Reach,
    /// The session whose turn makes the call.
    pub session: Option<&'a str>,
    /// Whether the call is part of the answer in the chat in which it is made ([`Tool::replies`](crate::Tool::replies)).
    pub replies: bool,
}

impl<'a> Question<'a> {
    /// Whether a direct caller has the tool at all.
    pub fn available(caller: &'a Caller, agent: &'a AgentId, spec: &'a ToolSpec) -> Self {
        // Statics, because a question only borrows what it is about.
        static ANYTHING: Reach = Reach::ANY;
        static CLEAN: Taint = Taint::NONE;
        Self {
            caller,
            agent,
            spec,
            effects: spec.effects,
            arguments: None,
            taint: &CLEAN,
            reach: &ANYTHING,
            session: None,
            replies: false,
        }
    }

    /// The same, for a call in a turn of `session`.
    #[must_use]
    pub fn in_session(mut self, session: Option<&'a str>) -> Self {
        self.session = session;
        self
    }

    /// The same, for a task that is given only what is within `reach`.
    #[must_use]
    pub fn within(mut self, reach: &'a Reach) -> Self {
        self.reach = reach;
        self
    }
}

/// What decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleRef {
    /// The rule at this place in `policy.rules`, counted from 0.
    Rule(usize),
    /// The rule at this place among those of an agent.
    Agent(AgentId, usize),
    /// No rule matched: the caller's rights, the tool's restrictions or the approval mode.
    Default(&'static str),
}

impl fmt::Display for RuleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(at) => write!(f, "policy.rules.{at}"),
            Self::Agent(agent, at) => write!(f, "agents.{agent}.policy.rules.{at}"),
            Self::Default(why) => write!(f, "default: {why}"),
        }
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Allow, ask or deny.
    pub decision: Decision,
    /// What decided.
    pub rule: RuleRef,
    /// Why: the owner's words beside the rule, or what is missing.
    pub reason: Option<String>,
    /// Whether programs that the call starts may use the network.
    pub network: bool,
    /// The error that a refused caller gets.
    pub refusal: Option<Box<ToolError>>,
}

impl Verdict {
    /// A verdict without a rule.
    pub fn default_rule(decision: Decision, why: &'static str) -> Self {
        Self {
            decision,
            rule: RuleRef::Default(why),
            reason: None,
            network: false,
            refusal: None,
        }
    }

    /// Refused because of the caller's rights, or the tools it was given.
    pub fn forbidden(why: &'static str, message: impl Into<String>, hint: &str) -> Self {
        let refusal = ToolError::new(ErrorCode::Forbidden, message).hint(hint);
        Self {
            reason: Some(refusal.message.clone()),
            refusal: Some(Box::new(refusal)),
            ..Self::default_rule(Decision::Deny, why)
        }
    }

    /// Whether it is refused.
    pub fn is_denied(&self) -> bool {
        self.decision == Decision::Deny
    }

    /// The verdict itself, or the error if it denies.
    pub fn refused(self, spec: &ToolSpec) -> Result<Self, ToolError> {
        if !self.is_denied() {
            return Ok(self);
        }
        Err(self.refusal.as_deref().cloned().unwrap_or_else(|| {
            let why = self.reason.as_deref().map(|why| format!(": {why}"));
            let message = format!(
                "{} is refused by {}{}",
                spec.name,
                self.rule,
                why.unwrap_or_default()
            );
            ToolError::new(ErrorCode::DeniedByPolicy, message)
                .hint("the owner can see and change the rules with `manyhands policy list` and config.toml")
        }))
    }
}
