//! Policy: ordered rules say allow, ask or deny; where none speaks, the effects do.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::{Decision, Policy, Predicate, Rule};
use manyhands_core::{
    AgentId, Caller, CallerKind, Effect, Effects, ErrorCode, Role, ToolError, ToolSpec,
};
use regex::Regex;
use serde_json::Value;

use crate::layer::{Call, CallResult, Layer, Next};

/// What a decision depends on, and nothing else.
#[derive(Clone, Copy)]
pub struct PolicyInput<'a> {
    /// The tool.
    pub spec: &'a ToolSpec,
    /// Who asks.
    pub caller: &'a Caller,
    /// On whose behalf.
    pub agent: &'a AgentId,
    /// With which arguments.
    pub arguments: &'a Value,
    /// What the call does.
    pub effects: Effects,
    /// Whether whoever asks may be doing what a text from outside said.
    pub tainted: bool,
}

/// Which rule decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleRef {
    /// The rule at this place in `policy.rules`, counted from 0.
    Rule(usize),
    /// The rule at this place among those of an agent.
    Agent(AgentId, usize),
    /// No rule spoke; this is the default for the caller and the tool's effects.
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

/// A decision, who made it, and the owner's words about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Allow, ask or deny.
    pub decision: Decision,
    /// Which rule decided.
    pub rule: RuleRef,
    /// What the owner wrote beside the rule.
    pub reason: Option<String>,
    /// Whether programs that the call starts may use the network.
    pub network: bool,
}

struct CompiledRule {
    rule: Rule,
    when: Vec<(String, Predicate, Option<Regex>)>,
}

/// Rules of agents, by name.
pub type AgentRules = BTreeMap<AgentId, Policy>;

/// Tells which agent of the settings an agent goes back to: itself, or the first of those who
/// made it.
pub type RootOf = Arc<dyn Fn(&AgentId) -> AgentId + Send + Sync>;

/// The rules, ready to be asked. Deciding is a pure function.
pub struct PolicyEngine {
    rules: Vec<CompiledRule>,
    agents: BTreeMap<AgentId, Vec<CompiledRule>>,
    root_of: RootOf,
}

impl PolicyEngine {
    /// Compiles the rules; the configuration has already checked every pattern.
    pub fn new(policy: &Policy) -> Result<Self, regex::Error> {
        Self::with_agents(policy, &AgentRules::new(), Arc::new(AgentId::clone))
    }

    /// Compiles the rules, and those of agents.
    pub fn with_agents(
        policy: &Policy,
        agents: &AgentRules,
        root_of: RootOf,
    ) -> Result<Self, regex::Error> {
        let own = agents.iter().filter(|(_, own)| !own.rules.is_empty());
        let own = own.map(|(agent, own)| Ok((agent.clone(), compile(&own.rules)?)));
        Ok(Self {
            rules: compile(&policy.rules)?,
            agents: own.collect::<Result<_, regex::Error>>()?,
            root_of,
        })
    }

    /// The stricter of what the agent's own rules say and what the house says. An agent's rule
    /// never lets through what the house would not, nor gives it the network.
    pub fn decide(&self, input: PolicyInput<'_>) -> Verdict {
        let house = self.house(input);
        match self.own(input) {
            Some(own) if strictness(own.decision) > strictness(house.decision) => Verdict {
                network: house.network,
                ..own
            },
            _ => house,
        }
    }

    /// What the rules of the agent say; those it goes back to hold for agents that it made.
    fn own(&self, input: PolicyInput<'_>) -> Option<Verdict> {
        if self.agents.is_empty() {
            return None;
        }
        let root = (self.root_of)(input.agent);
        let (agent, rules) = self.agents.get_key_value(&root)?;
        let mut rules = rules.iter().enumerate();
        let (at, compiled) = rules.find(|(_, rule)| rule.fits(input))?;
        Some(compiled.verdict(RuleRef::Agent(agent.clone(), at)))
    }

    /// The first rule that fits decides; without one, the defaults.
    fn house(&self, input: PolicyInput<'_>) -> Verdict {
        let fitting = self
            .rules
            .iter()
            .enumerate()
            .find(|(_, rule)| rule.fits(input));
        match fitting {
            Some((at, compiled)) => compiled.verdict(RuleRef::Rule(at)),
            None => default_verdict(input),
        }
    }
}

fn compile(rules: &[Rule]) -> Result<Vec<CompiledRule>, regex::Error> {
    let one = |rule: &Rule| {
        let when = rule.when.iter().map(|(path, predicate)| {
            let regex = predicate.matches.as_deref().map(Regex::new).transpose()?;
            Ok((path.clone(), predicate.clone(), regex))
        });
        Ok(CompiledRule {
            rule: rule.clone(),
            when: when.collect::<Result<_, regex::Error>>()?,
        })
    };
    rules.iter().map(one).collect()
}

fn strictness(decision: Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Ask => 1,
        Decision::Deny => 2,
    }
}

impl CompiledRule {
    fn verdict(&self, rule: RuleRef) -> Verdict {
        Verdict {
            decision: self.rule.decision,
            rule,
            reason: self.rule.reason.clone(),
            network: self.rule.network,
        }
    }

    fn fits(&self, input: PolicyInput<'_>) -> bool {
        let rule = &self.rule;
        let (name, wire) = (input.spec.name.as_str(), input.spec.name.wire());
        let caller = match &input.caller.kind {
            CallerKind::Gateway => "gateway".to_owned(),
            CallerKind::Person(who) => format!("person:{who}"),
            CallerKind::Token(_) => format!("{}:{}", input.caller.rights.role, input.caller.name),
        };
        rule.tools
            .iter()
            .any(|tool| tool.matches(name) || tool.matches(&wire))
            && (rule.effects.is_empty() || rule.effects.iter().any(|e| input.effects.has(*e)))
            && (rule.callers.is_empty() || rule.callers.iter().any(|c| c.matches(&caller)))
            && (rule.agents.is_empty()
                || rule.agents.iter().any(|a| a.matches(input.agent.as_str())))
            && self.when.iter().all(|(path, predicate, regex)| {
                argument(input.arguments, path)
                    .is_some_and(|value| holds(predicate, regex.as_ref(), value))
            })
    }
}

/// The argument at a dotted path; an absent one fits no predicate.
fn argument<'a>(arguments: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(arguments, |here, key| match here {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

fn holds(predicate: &Predicate, regex: Option<&Regex>, value: &Value) -> bool {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    predicate
        .equals
        .as_ref()
        .is_none_or(|wanted| wanted == value)
        && predicate
            .contains
            .as_ref()
            .is_none_or(|part| text.contains(part))
        && predicate
            .starts_with
            .as_ref()
            .is_none_or(|start| text.starts_with(start))
        && regex.is_none_or(|regex| regex.is_match(&text))
}

/// Where no rule speaks: the owner does as they like; others look and write, and ask before
/// they run programs, speak to people, or do something undeclared. Whoever has read text from
/// outside asks before that too, the owner's own agents included.
fn default_verdict(input: PolicyInput<'_>) -> Verdict {
    let effects = input.effects;
    let acts = effects.has(Effect::Runs) || effects.has(Effect::Sends);
    let (decision, why) = if input.tainted && (acts || effects.iter().next().is_none()) {
        (
            Decision::Ask,
            "text from outside was read before, and may be what asks for this",
        )
    } else if input.caller.rights.role == Role::Owner {
        (Decision::Allow, "the owner may call every tool")
    } else if effects.iter().next().is_none() {
        (Decision::Ask, "the tool does not declare what it does")
    } else if effects.has(Effect::Runs) {
        (Decision::Ask, "the tool runs programs")
    } else if effects.has(Effect::Sends) {
        (Decision::Ask, "the tool speaks to somebody")
    } else {
        (
            Decision::Allow,
            "the tool neither runs programs nor speaks to anybody",
        )
    };
    Verdict {
        decision,
        rule: RuleRef::Default(why),
        reason: None,
        network: false,
    }
}

/// Asks the rules and refuses what they deny. `ask` is left to the approval layer.
pub struct PolicyLayer {
    pub(crate) engine: Arc<ArcSwap<PolicyEngine>>,
}

#[async_trait]
impl Layer for PolicyLayer {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        let verdict = self.engine.load().decide(PolicyInput {
            spec: call.spec()?,
            caller: &call.caller,
            agent: &call.agent,
            arguments: &call.arguments,
            effects: call.tool()?.effects_of(&call.arguments),
            tainted: call.tainted,
        });
        if verdict.decision == Decision::Deny {
            let why = verdict
                .reason
                .as_deref()
                .map(|r| format!(": {r}"))
                .unwrap_or_default();
            let message = format!("{} is refused by {}{why}", call.spec()?.name, verdict.rule);
            return Err(ToolError::new(ErrorCode::DeniedByPolicy, message)
                .hint("the owner can see and change the rules with `manyhands policy list` and config.toml"));
        }
        call.verdict = Some(verdict);
        next.run(call).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use manyhands_core::Pattern;
    use serde_json::json;

    fn rules(toml_like: Value) -> PolicyEngine {
        let rules: Vec<Rule> = serde_json::from_value(toml_like).unwrap();
        PolicyEngine::new(&Policy { rules }).unwrap()
    }

    #[track_caller]
    fn check(
        engine: &PolicyEngine,
        tool: &str,
        effects: Effects,
        caller: &Caller,
        arguments: Value,
        expect: (Decision, &str),
    ) {
        let spec = ToolSpec::new(tool, "test").effects(effects);
        let agent = AgentId::main();
        let verdict = engine.decide(PolicyInput {
            spec: &spec,
            caller,
            agent: &agent,
            arguments: &arguments,
            effects,
            tainted: false,
        });
        assert_eq!(
            (verdict.decision, verdict.rule.to_string().as_str()),
            expect
        );
    }

    #[test]
    fn after_text_from_outside_even_the_owner_is_asked_unless_a_rule_says_otherwise() {
        let (owner, agent, arguments) = (testing::owner(), AgentId::main(), json!({}));
        let decide = |engine: &PolicyEngine, effects, tainted| {
            let spec = ToolSpec::new("x", "test").effects(effects);
            let input = PolicyInput {
                spec: &spec,
                caller: &owner,
                agent: &agent,
                arguments: &arguments,
                effects,
                tainted,
            };
            engine.decide(input).decision
        };
        let open = rules(json!([{ "decision": "allow", "tools": ["x"] }]));
        let none = rules(json!([]));
        for effects in [Effects::RUNS, Effects::SENDS, Effects::default()] {
            assert_eq!(decide(&none, effects, true), Decision::Ask);
            assert_eq!(decide(&none, effects, false), Decision::Allow);
            assert_eq!(decide(&open, effects, true), Decision::Allow);
        }
        assert_eq!(decide(&none, Effects::WRITES, true), Decision::Allow);
    }

    #[test]
    fn an_agents_own_rules_narrow_and_never_widen() {
        let policy =
            |rules: Value| -> Policy { serde_json::from_value(json!({ "rules": rules })).unwrap() };
        let house = policy(json!([
            { "decision": "deny", "tools": ["never"] },
            { "decision": "ask", "tools": ["asked"] },
            { "decision": "allow", "tools": ["open"], "network": true },
        ]));
        let own = policy(json!([
            { "decision": "allow", "tools": ["never", "asked", "first"], "network": true },
            { "decision": "deny", "tools": ["open", "first"], "when": { "x": { "equals": 1 } } },
            { "decision": "ask", "tools": ["open"], "reason": "mind it" },
            { "decision": "deny", "tools": ["plain"] },
        ]));
        let helper: AgentId = "helper".parse().unwrap();
        let child: AgentId = "helper-1".parse().unwrap();
        let root = {
            let (helper, child) = (helper.clone(), child.clone());
            move |id: &AgentId| {
                if *id == child {
                    helper.clone()
                } else {
                    id.clone()
                }
            }
        };
        let agents = AgentRules::from([(helper.clone(), own)]);
        let engine = PolicyEngine::with_agents(&house, &agents, Arc::new(root)).unwrap();
        let owner = testing::owner();
        let mine = "agents.helper.policy.rules";
        for (agent, tool, x, expect, rule, network) in [
            (
                &helper,
                "never",
                0,
                Decision::Deny,
                "policy.rules.0".to_owned(),
                false,
            ),
            (
                &helper,
                "asked",
                0,
                Decision::Ask,
                "policy.rules.1".to_owned(),
                false,
            ),
            (&helper, "open", 0, Decision::Ask, format!("{mine}.2"), true),
            (
                &helper,
                "open",
                1,
                Decision::Deny,
                format!("{mine}.1"),
                true,
            ),
            (
                &helper,
                "plain",
                0,
                Decision::Deny,
                format!("{mine}.3"),
                false,
            ),
            (
                &child,
                "plain",
                0,
                Decision::Deny,
                format!("{mine}.3"),
                false,
            ),
            (
                &AgentId::main(),
                "open",
                0,
                Decision::Allow,
                "policy.rules.2".to_owned(),
                true,
            ),
            (
                &AgentId::main(),
                "plain",
                0,
                Decision::Allow,
                "default: the owner may call every tool".to_owned(),
                false,
            ),
            (
                &helper,
                "first",
                1,
                Decision::Allow,
                "default: the owner may call every tool".to_owned(),
                false,
            ),
        ] {
            let spec = ToolSpec::new(tool, "test").effects(Effects::RUNS);
            let arguments = json!({ "x": x });
            let verdict = engine.decide(PolicyInput {
                spec: &spec,
                caller: &owner,
                agent,
                arguments: &arguments,
                effects: Effects::RUNS,
                tainted: false,
            });
            let said = (verdict.decision, verdict.rule.to_string(), verdict.network);
            assert_eq!(said, (expect, rule, network), "{agent} {tool} {x}");
        }
    }

    #[test]
    fn without_rules_the_effects_decide() {
        let engine = rules(json!([]));
        let owner = testing::owner();
        let client = testing::client("laptop", &["*"]);
        let all = "default: the owner may call every tool";
        let fine = "default: the tool neither runs programs nor speaks to anybody";
        check(
            &engine,
            "x",
            Effects::RUNS,
            &owner,
            json!({}),
            (Decision::Allow, all),
        );
        check(
            &engine,
            "x",
            Effects::READS,
            &client,
            json!({}),
            (Decision::Allow, fine),
        );
        check(
            &engine,
            "x",
            Effects::WRITES,
            &client,
            json!({}),
            (Decision::Allow, fine),
        );
        check(
            &engine,
            "x",
            Effects::RUNS.and(Effects::READS),
            &client,
            json!({}),
            (Decision::Ask, "default: the tool runs programs"),
        );
        check(
            &engine,
            "x",
            Effects::SENDS,
            &client,
            json!({}),
            (Decision::Ask, "default: the tool speaks to somebody"),
        );
        check(
            &engine,
            "x",
            Effects::default(),
            &client,
            json!({}),
            (
                Decision::Ask,
                "default: the tool does not declare what it does",
            ),
        );
    }

    #[test]
    fn the_first_fitting_rule_decides() {
        let engine = rules(json!([
            { "decision": "allow", "tools": ["gsv__*"], "when": { "path": { "starts_with": "memory/" } } },
            { "decision": "ask", "tools": ["gsv__WriteFile"], "callers": ["client:*"] },
            { "decision": "deny", "effects": ["writes", "runs"] },
        ]));
        let client = testing::client("laptop", &["*"]);
        let owner = testing::owner();
        let at = |path: &str| json!({ "path": path });
        check(
            &engine,
            "gsv__WriteFile",
            Effects::WRITES,
            &client,
            at("memory/a.md"),
            (Decision::Allow, "policy.rules.0"),
        );
        check(
            &engine,
            "gsv__WriteFile",
            Effects::WRITES,
            &client,
            at("SOUL.md"),
            (Decision::Ask, "policy.rules.1"),
        );
        check(
            &engine,
            "gsv__WriteFile",
            Effects::WRITES,
            &owner,
            at("SOUL.md"),
            (Decision::Deny, "policy.rules.2"),
        );
        check(
            &engine,
            "gsv__ReadFile",
            Effects::READS,
            &owner,
            at("SOUL.md"),
            (Decision::Allow, "default: the owner may call every tool"),
        );
    }

    #[test]
    fn predicates_look_at_arguments_by_path() {
        let engine = rules(json!([
            { "decision": "deny", "when": { "cmd.0": { "equals": "rm" }, "cwd": { "matches": "^/(etc|usr)(/|$)" } } },
        ]));
        let owner = testing::owner();
        let allowed = (Decision::Allow, "default: the owner may call every tool");
        let denied = (Decision::Deny, "policy.rules.0");
        check(
            &engine,
            "x",
            Effects::RUNS,
            &owner,
            json!({ "cmd": ["rm", "-r"], "cwd": "/etc" }),
            denied,
        );
        check(
            &engine,
            "x",
            Effects::RUNS,
            &owner,
            json!({ "cmd": ["ls"], "cwd": "/etc" }),
            allowed,
        );
        check(
            &engine,
            "x",
            Effects::RUNS,
            &owner,
            json!({ "cmd": ["rm"], "cwd": "/home" }),
            allowed,
        );
        check(
            &engine,
            "x",
            Effects::RUNS,
            &owner,
            json!({ "cmd": ["rm"] }),
            allowed,
        );
    }

    #[test]
    fn rules_match_aliases_too() {
        let rule = Rule {
            tools: vec![Pattern::new("tool__*")],
            ..serde_json::from_value(json!({ "decision": "deny" })).unwrap()
        };
        let engine = PolicyEngine::new(&Policy { rules: vec![rule] }).unwrap();
        check(
            &engine,
            "tool::shell_exec",
            Effects::RUNS,
            &testing::owner(),
            json!({}),
            (Decision::Deny, "policy.rules.0"),
        );
    }
}
