//! Settings of the policy: when calls need approval, and the rules that decide.

use std::collections::BTreeMap;

use manyhands_core::{Decision, Effect, Pattern};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which calls are allowed, need approval, or are denied.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// When agents need approval if no rule matches: ask, auto or read-only. An agent's own `mode` overrides it.
    pub mode: ApprovalMode,
    /// Rules in order; the first that matches a call decides.
    pub rules: Vec<Rule>,
}

/// When an agent needs approval if no rule matches. Calls made by the owner directly, from the command line, the
/// page or HTTP, never need approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Reading, writing in its own folders and running programs inside the sandbox are allowed. Everything outside of the
    /// sandbox, sending messages and network writes need approval; after reading untrusted text, programs do
    /// too.
    #[default]
    Ask,
    /// Needs approval only after reading untrusted text.
    Auto,
    /// Allows reading and denies everything else.
    ReadOnly,
}

/// Rules of one agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentPolicy {
    /// Rules in order; the first that matches a call decides, unless `policy` is stricter.
    pub rules: Vec<Rule>,
}

/// One rule. All given conditions have to match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Decision for a matching call.
    pub decision: Decision,
    /// Tool name patterns; `*` matches any characters.
    #[serde(default = "any_tool")]
    #[schemars(length(min = 1))]
    pub tools: Vec<Pattern>,
    /// Matches tools with at least one of these effects. Empty: any.
    #[serde(default)]
    pub effects: Vec<Effect>,
    /// For calls allowed by this rule: programs they start may use the network.
    #[serde(default)]
    pub network: bool,
    /// Caller patterns, such as `owner:*`, `client:laptop`, `guest:corp/*` or `person:telegram:42`. Empty: any.
    #[serde(default)]
    pub callers: Vec<Pattern>,
    /// Agent name patterns. Empty: any.
    #[serde(default)]
    pub agents: Vec<Pattern>,
    /// Conditions on arguments, by dotted argument path; quote a path that contains dots.
    #[serde(default)]
    pub when: BTreeMap<String, Predicate>,
    /// Reason, shown with a denial or an approval request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn any_tool() -> Vec<Pattern> {
    vec![Pattern::new("*")]
}

/// A condition on one argument; all given parts have to hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct Predicate {
    /// The argument equals this value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// The argument's text contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// The argument's text starts with this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_with: Option<String>,
    /// The argument's text contains a match of this regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-check" = "regex"))]
    pub matches: Option<String>,
    /// The argument is a URL with one of these hosts; `*.example.com` matches subdomains. A URL that cannot be
    /// parsed matches rules that deny or ask, but not rules that allow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<Pattern>,
    /// The argument is a command whose programs, by their resolved names, are in this list:
    /// `/usr/bin/git` and `env git` are `git`. For rules that allow, all of them have to be, and a command that
    /// cannot be parsed does not match; for rules that deny or ask, one is enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<Pattern>,
}
