//! Authorize: the one place that decides whether something is allowed.
//!
//! [`Authorizer::authorize`] is a pure function of a question and an immutable snapshot of the
//! settings. The path asks it before a call is validated (is the tool available at all?) and again
//! with the canonical arguments, before anything is queued, shown to the owner or started. Lists,
//! discovery, `/mcp/{server}`, transfers and uploads ask the same function.
//!
//! It answers in three steps, and the first that refuses wins:
//! 1. rights: the caller's role, tool and agent patterns; restrictions of the tool; what the task is given;
//! 2. rules: the owner's in order, then the agent's own, which can only be stricter;
//! 3. defaults: what the owner calls directly runs; other callers by effect; an agent by its approval mode.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::{ApprovalMode, Decision, Policy, Predicate, Rule};
use manyhands_core::{
    AgentId, Caller, Catalogue, Effect, Effects, Pattern, Principal, Question, Role, RuleRef,
    ToolSpec, Verdict,
};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::facts;
use crate::layer::{Call, CallResult, Layer, Next};

/// The largest compiled form of one expression in a rule, in bytes.
const MAX_REGEX: usize = 1 << 20;

/// A rule whose expressions are compiled.
pub(crate) struct CompiledRule {
    rule: Rule,
    when: Vec<(String, Predicate, Option<Regex>)>,
}

/// What the settings say of one agent.
#[derive(Debug, Clone, Default)]
pub struct AgentRules {
    /// Rules of its own, in order.
    pub rules: Vec<Rule>,
    /// When it asks for approval; as `policy.mode` unless said.
    pub mode: Option<ApprovalMode>,
}

/// Finds the configured agent whose rules apply: an agent itself, or for a spawned agent the first
/// of those that spawned it.
pub type RootOf = Arc<dyn Fn(&AgentId) -> AgentId + Send + Sync>;

struct CompiledAgent {
    rules: Vec<CompiledRule>,
    mode: Option<ApprovalMode>,
}

/// The snapshot that decisions are made from.
pub struct Authorizer {
    rules: Vec<CompiledRule>,
    mode: ApprovalMode,
    agents: BTreeMap<AgentId, CompiledAgent>,
    root_of: RootOf,
}

impl Authorizer {
    /// From the owner's rules alone.
    pub fn new(policy: &Policy) -> Result<Self, regex::Error> {
        Self::with_agents(policy, &BTreeMap::new(), Arc::new(AgentId::clone))
    }

    /// From the owner's rules and those of agents.
    pub fn with_agents(
        policy: &Policy,
        agents: &BTreeMap<AgentId, AgentRules>,
        root_of: RootOf,
    ) -> Result<Self, regex::Error> {
        let own = agents.iter().map(|(agent, own)| {
            let compiled = CompiledAgent {
                rules: compile(&own.rules)?,
                mode: own.mode,
            };
            Ok((agent.clone(), compiled))
        });
        Ok(Self {
            rules: compile(&policy.rules)?,
            mode: policy.mode,
            agents: own.collect::<Result<_, regex::Error>>()?,
            root_of,
        })
    }

    /// Whether what is asked is allowed. No clock, no store, no I/O: the same question to the same
    /// snapshot has the same answer.
    pub fn authorize(&self, question: Question<'_>) -> Verdict {
        // Rights first: no rule may give a caller what its token does not include.
        if let Some(refused) = refused_by_rights(question) {
            return refused;
        }
        let agent = self.agent(question.agent);
        // The first rule that matches decides, as in a firewall: an owner can read the outcome off the
        // order of the file.
        let global = first_match(&self.rules, question)
            .map(|(at, rule)| rule.verdict(RuleRef::Rule(at)))
            .unwrap_or_else(|| self.default_verdict(question, agent.and_then(|(_, own)| own.mode)));
        let own = agent.and_then(|(name, own)| {
            let (at, rule) = first_match(&own.rules, question)?;
            Some(rule.verdict(RuleRef::Agent(name.clone(), at)))
        });
        match own {
            // Decisions are ordered from allow to deny, so "greater" is stricter. An agent's rule never
            // allows what the owner's rules would not, nor gives it the network.
            Some(own) if own.decision > global.decision => Verdict {
                network: global.network,
                ..own
            },
            _ => global,
        }
    }

    /// The approval mode of an agent.
    pub fn mode_of(&self, agent: &AgentId) -> ApprovalMode {
        let own = self.agent(agent).and_then(|(_, own)| own.mode);
        own.unwrap_or(self.mode)
    }

    fn agent(&self, agent: &AgentId) -> Option<(&AgentId, &CompiledAgent)> {
        // Most gateways have no rules for agents; finding the root of one takes locks.
        if self.agents.is_empty() {
            return None;
        }
        self.agents.get_key_value(&(self.root_of)(agent))
    }

    fn default_verdict(&self, question: Question<'_>, own: Option<ApprovalMode>) -> Verdict {
        let (decision, why) = match &question.caller.actor {
            Some(Principal::Agent(_) | Principal::Job(_)) => {
                agent_default(question, own.unwrap_or(self.mode))
            }
            _ => direct_default(question),
        };
        Verdict::default_rule(decision, why)
    }
}

/// Whether a caller may act for an agent, or talk to it.
pub fn may_act_for(caller: &Caller, agent: &AgentId) -> bool {
    caller.is_owner() || named(&caller.rights.agents, agent.as_str())
}

fn named(patterns: &[Pattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(name))
}

fn names(patterns: &[Pattern], spec: &ToolSpec) -> bool {
    named(patterns, spec.name.as_str()) || named(patterns, &spec.name.wire())
}

fn is_named_in_full(patterns: &[Pattern], spec: &ToolSpec) -> bool {
    let (name, wire) = (
        Pattern::new(spec.name.as_str()),
        Pattern::new(spec.name.wire()),
    );
    patterns
        .iter()
        .any(|pattern| *pattern == name || *pattern == wire)
}

/// The refusal, where the caller has no right to the tool whatever the arguments are.
fn refused_by_rights(question: Question<'_>) -> Option<Verdict> {
    let Question {
        caller,
        agent,
        spec,
        ..
    } = question;
    let tool = &spec.name;
    match caller.rights.role {
        role @ (Role::Node | Role::Channel) => {
            let message = format!("a {role} token cannot call tools");
            return Some(Verdict::forbidden("role", message, "use a client token"));
        }
        // Unknown effects are refused too: a tool that declares nothing may do anything.
        Role::ReadOnly if !question.effects.only_reads() => {
            let effects: Vec<&str> = question.effects.iter().map(Effect::as_str).collect();
            let effects = match effects.is_empty() {
                true => "has unknown effects".to_owned(),
                false => effects.join(", "),
            };
            let message = format!("a read-only token cannot call {tool}: it {effects}");
            return Some(Verdict::forbidden("role", message, "use a client token"));
        }
        Role::Owner | Role::Client | Role::ReadOnly => {}
    }
    // Before the patterns: `*` matches administration as well, and must not grant it.
    if spec.administers && !caller.is_owner() && !is_named_in_full(&caller.rights.tools, spec) {
        let message = format!("{tool} is administration: it shows how the gateway is set up");
        let hint = "it is for the owner, and for tokens whose tool patterns name it in full";
        return Some(Verdict::forbidden("administration", message, hint));
    }
    if !names(&caller.rights.tools, spec) {
        let message = format!("this token's tool patterns do not include {tool}");
        let hint = "ask the owner for a token that includes this tool: `manyhands token create --tools PATTERN`";
        return Some(Verdict::forbidden("tools", message, hint));
    }
    if !may_act_for(caller, agent) {
        let message = format!("this token may not act for the agent {agent}");
        let hint =
            "ask the owner for a token that includes it: `manyhands token create --agents PATTERN`";
        return Some(Verdict::forbidden("agents", message, hint));
    }
    refused_by_audience(question).or_else(|| {
        (!question.reach.contains(spec)).then(|| {
            let message = format!("{tool} is not among your tools");
            Verdict::forbidden("reach", message, "use one of those you were given")
        })
    })
}

/// The refusal, where the tool is restricted to some tokens or agents.
fn refused_by_audience(question: Question<'_>) -> Option<Verdict> {
    let Question {
        caller,
        agent,
        spec,
        ..
    } = question;
    let audience = &spec.audience;
    if audience.session.is_some() && audience.session.as_deref() != question.session {
        let message = format!("{} belongs to another session", spec.name);
        let hint = "it is there for the agent in the session for which an editor started it";
        return Some(Verdict::forbidden("session", message, hint));
    }
    let setting = audience.setting.as_deref().unwrap_or("the tool's settings");
    let lacks = |patterns: &Option<Arc<[Pattern]>>, name: Option<&str>| {
        let listed = |patterns: &Arc<[Pattern]>| {
            // `*` is everybody; a name is only ever that of a token on record.
            name.map_or_else(|| named(patterns, ""), |name| named(patterns, name))
        };
        patterns.as_ref().is_some_and(|patterns| !listed(patterns))
    };
    let (who, key) = if lacks(&audience.agents, Some(agent.as_str())) {
        (format!("agent {agent}"), "agents")
    } else if !caller.is_owner() && lacks(&audience.tokens, caller.principal.token_name()) {
        (caller.principal.to_string(), "tokens")
    } else {
        return None;
    };
    let message = format!("{who} may not use {}", spec.name);
    let hint = format!("the owner can change {setting}.{key}");
    Some(Verdict::forbidden("audience", message, &hint))
}

/// The first rule that matches. Where no arguments are given the question is whether the tool is
/// available with any: rules that look at arguments then count only if they would not refuse.
fn first_match<'a>(
    rules: &'a [CompiledRule],
    question: Question<'_>,
) -> Option<(usize, &'a CompiledRule)> {
    let mut rules = rules.iter().enumerate();
    rules.find(|(_, rule)| {
        // Without arguments it is unknown whether a predicate holds. A denying rule is skipped then, or
        // one forbidden argument would hide the whole tool; the call itself is judged again with them.
        let depends = question.arguments.is_none() && !rule.when.is_empty();
        let refuses = rule.rule.decision == Decision::Deny;
        rule.matches(question) && !(depends && refuses)
    })
}

fn compile(rules: &[Rule]) -> Result<Vec<CompiledRule>, regex::Error> {
    rules.iter().map(CompiledRule::new).collect()
}

impl CompiledRule {
    pub(crate) fn new(rule: &Rule) -> Result<Self, regex::Error> {
        let when = rule.when.iter().map(|(path, predicate)| {
            let regex = predicate.matches.as_deref();
            // Compiled once, with a bound: rules are evaluated for every call, and a rule may be added
            // over the network.
            let regex = regex.map(|text| RegexBuilder::new(text).size_limit(MAX_REGEX).build());
            Ok((path.clone(), predicate.clone(), regex.transpose()?))
        });
        Ok(Self {
            rule: rule.clone(),
            when: when.collect::<Result<_, regex::Error>>()?,
        })
    }

    fn verdict(&self, rule: RuleRef) -> Verdict {
        Verdict {
            decision: self.rule.decision,
            rule,
            reason: self.rule.reason.clone(),
            network: self.rule.network,
            refusal: None,
        }
    }

    pub(crate) fn matches(&self, question: Question<'_>) -> bool {
        let rule = &self.rule;
        names(&rule.tools, question.spec)
            && (rule.effects.is_empty() || rule.effects.iter().any(|e| question.effects.has(*e)))
            && (rule.callers.is_empty()
                || named(&rule.callers, &question.caller.principal.to_string()))
            && (rule.agents.is_empty() || named(&rule.agents, question.agent.as_str()))
            && question.arguments.is_none_or(|arguments| {
                self.when.iter().all(|(path, predicate, regex)| {
                    argument(arguments, path)
                        .is_some_and(|value| self.holds(predicate, regex.as_ref(), value))
                })
            })
    }

    fn holds(&self, predicate: &Predicate, regex: Option<&Regex>, value: &Value) -> bool {
        let text = value
            .as_str()
            .map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed);
        let contains = |part: &String| text.contains(part.as_str());
        let starts = |start: &String| text.starts_with(start.as_str());
        predicate
            .equals
            .as_ref()
            .is_none_or(|wanted| wanted == value)
            && predicate.contains.as_ref().is_none_or(contains)
            && predicate.starts_with.as_ref().is_none_or(starts)
            && regex.is_none_or(|regex| regex.is_match(&text))
            && self.facts_match(predicate, value)
    }

    /// Hosts and programs. What is not understood is never allowed by a rule and never escapes one.
    fn facts_match(&self, predicate: &Predicate, value: &Value) -> bool {
        let allows = self.rule.decision == Decision::Allow;
        let host = predicate.host.is_empty()
            || facts::host(value).map_or(!allows, |host| named(&predicate.host, &host));
        let program = predicate.program.is_empty()
            || facts::programs(value).map_or(!allows, |programs| {
                let mut programs = programs.iter();
                let listed = |program: &String| named(&predicate.program, program);
                match allows {
                    true => programs.all(listed),
                    false => programs.any(listed),
                }
            });
        host && program
    }
}

/// The argument at a dotted path; an absent one matches no predicate.
fn argument<'a>(arguments: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(arguments, |here, key| match here {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

const UNTRUSTED: &str = "untrusted text was read before, and may be what asks for this";
const UNDECLARED: &str = "the tool does not declare what it does";

/// A call that a person or program makes itself.
fn direct_default(question: Question<'_>) -> (Decision, &'static str) {
    let effects = question.effects;
    let acts = effects.has(Effect::Runs) || effects.has(Effect::Sends);
    // Before the exemption of the owner: after untrusted text it may not be the owner who wants this.
    if question.taint.is_tainted() && (acts || effects == Effects::default()) {
        (Decision::Ask, UNTRUSTED)
    } else if question.caller.is_owner() {
        (Decision::Allow, "the owner may call every tool")
    } else if effects == Effects::default() {
        (Decision::Ask, UNDECLARED)
    } else if effects.has(Effect::Runs) {
        (Decision::Ask, "the tool runs programs")
    } else if effects.has(Effect::Sends) {
        (Decision::Ask, "the tool sends messages")
    } else {
        (
            Decision::Allow,
            "the tool neither runs programs nor sends messages",
        )
    }
}

/// A call that an agent decided on.
fn agent_default(question: Question<'_>, mode: ApprovalMode) -> (Decision, &'static str) {
    let effects = question.effects;
    let tainted = question.taint.is_tainted();
    let outside = !question.spec.is_contained();
    let changes_outside = outside && effects.changes();
    match mode {
        ApprovalMode::ReadOnly if effects.changes() => {
            (Decision::Deny, "the agent's mode is read-only")
        }
        ApprovalMode::ReadOnly => (Decision::Allow, "the tool only reads"),
        // Before taint is considered: an answer in the same chat reaches nobody who did not read along.
        _ if question.replies => (Decision::Allow, "it is part of the answer in this chat"),
        _ if effects == Effects::default() => (Decision::Ask, UNDECLARED),
        ApprovalMode::Ask if effects.has(Effect::Sends) && effects.has(Effect::Leaves) => {
            (Decision::Ask, "it sends something to people or services")
        }
        ApprovalMode::Ask if outside && effects.has(Effect::Runs) => {
            (Decision::Ask, "it runs a program outside of the sandbox")
        }
        ApprovalMode::Ask if changes_outside => (
            Decision::Ask,
            "it changes something outside of the agent's own folders",
        ),
        _ if tainted
            && (effects.has(Effect::Runs) || effects.has(Effect::Sends) || changes_outside) =>
        {
            (Decision::Ask, UNTRUSTED)
        }
        // For other callers an agent may do no more without approval than they may directly.
        _ if !question.caller.is_owner() => direct_default(question),
        ApprovalMode::Ask => (
            Decision::Allow,
            "it stays inside the sandbox and the agent's own folders",
        ),
        ApprovalMode::Auto => (Decision::Allow, "the agent's mode is auto"),
    }
}

/// Refuses what the caller could not call with any arguments, before those are looked at.
pub struct Available {
    pub(crate) authorizer: Arc<ArcSwap<Authorizer>>,
}

#[async_trait]
impl Layer for Available {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let spec = call.spec()?;
        // Refused before validation: its problems would describe a tool that the caller may not see.
        let verdict = self.authorizer.load().authorize(Question {
            arguments: None,
            ..call.question(spec)
        });
        verdict.refused(spec)?;
        next.run(call).await
    }
}

/// Decides the call as it will run, with all that it amounts to. `ask` is left to the approval layer.
pub struct Authorize {
    pub(crate) authorizer: Arc<ArcSwap<Authorizer>>,
    pub(crate) catalogue: Arc<ArcSwap<Catalogue>>,
}

#[async_trait]
impl Layer for Authorize {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let tool = call.tool()?.clone();
        let (spec, authorizer) = (tool.spec(), self.authorizer.load());
        let question = Question {
            replies: tool.replies(&call.request.arguments, call.request.chat.as_deref()),
            ..call.question(spec)
        };
        let mut verdict = authorizer.authorize(question).refused(spec)?;
        // The strictest decision over everything the call amounts to: a transfer must not read or write
        // what the tools for that would not be allowed to.
        for implied in tool.implies(&call.request.arguments, &self.catalogue.load()) {
            let spec = implied.tool.spec();
            // Rules compare canonical spellings; the implied call never passed the validate layer.
            let arguments = implied.tool.canonical(implied.arguments);
            let other = authorizer.authorize(Question {
                spec,
                effects: implied.tool.effects_of(&arguments),
                arguments: Some(&arguments),
                replies: false,
                ..question
            });
            let other = other.refused(spec)?;
            if other.decision > verdict.decision {
                verdict = other;
            }
        }
        call.verdict = Some(verdict);
        next.run(call).await
    }
}

#[cfg(test)]
mod tests;
