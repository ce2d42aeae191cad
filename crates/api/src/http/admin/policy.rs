//! The policy rules, and how they would decide a call.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use manyhands_config::{Decision, Rule};
use manyhands_core::{
    AgentId, Caller, CatalogueEntry, Credential, ErrorCode, Invoke, Pattern, Principal, Question,
    Rights, Role, Taint, ToolError,
};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::body;
use crate::http::object::Json;
use crate::http::patterns;

/// A call to evaluate without making it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Explain {
    /// The tool.
    tool: String,
    /// Its arguments.
    #[serde(default)]
    arguments: Value,
    /// Role of the caller; `owner` by default.
    role: Option<Role>,
    /// Token name of the caller.
    name: Option<String>,
    /// Agent the call is made for; `main` by default.
    #[schemars(regex(pattern = patterns::AGENT))]
    agent: Option<String>,
    /// Whether the agent makes the call in a turn, rather than the token's bearer directly.
    #[serde(default)]
    by_agent: bool,
    /// Whether untrusted text was read before.
    #[serde(default)]
    tainted: bool,
}

/// A list of rules.
#[derive(Serialize, JsonSchema)]
pub struct RuleList {
    /// Rules, in order.
    rules: Vec<Rule>,
}

/// The decision about a call.
#[derive(Serialize, JsonSchema)]
pub struct Judged {
    /// The tool.
    tool: String,
    /// The decision.
    decision: Decision,
    /// The deciding rule.
    rule: String,
    /// Reason given by that rule.
    reason: Option<String>,
}

/// Lists the rules, in order.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<RuleList> {
    let settings = gateway.settings.current();
    answer(RuleList {
        rules: settings.policy.rules.clone(),
    })
}

/// Evaluates the rules for a call.
pub async fn explain(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    call: Result<Json<Explain>, JsonRejection>,
) -> Answer<Judged> {
    let call = body(call)?;
    let catalogue = gateway.path.catalogue();
    let tool = catalogue.resolve(&call.tool).ok_or_else(|| {
        Refusal(ToolError::new(
            ErrorCode::UnknownTool,
            format!("there is no tool named {:?}", call.tool),
        ))
    })?;
    let agent = call.agent.as_deref().unwrap_or("main").parse::<AgentId>();
    let agent = agent.map_err(|e| Refusal(ToolError::parameter("agent", e.to_string())))?;
    let role = call.role.unwrap_or(Role::Owner);
    let name = call.name.unwrap_or_else(|| owner.caller.name.clone());
    let credential = Credential {
        id: owner.token,
        name: name.as_str().into(),
    };
    let principal = match role {
        Role::Owner => Principal::Owner(credential),
        Role::Client | Role::ReadOnly => Principal::Token(credential),
        Role::Node => Principal::Node(credential),
        Role::Channel => Principal::Bridge(credential),
    };
    // With all tools: the question is about the rules, not about the rights of one token.
    let mut caller = Caller::new(principal, name, Rights::new(role, vec![Pattern::new("*")]));
    if call.by_agent {
        caller.actor = Some(Principal::Agent(agent.clone()));
    }
    let arguments = match tool {
        // In the spelling that a real call has when rules see it.
        CatalogueEntry::Tool(tool) => tool.canonical(call.arguments),
        CatalogueEntry::Forwarder(_) => call.arguments,
    };
    // There is no turn here, so the source of the taint is made up.
    let taint = Taint::when(call.tainted, "assumed by policy explain");
    let verdict = gateway.path.authorize(Question {
        effects: tool.effects_of(&arguments, &catalogue),
        arguments: Some(&arguments),
        taint: &taint,
        ..Question::available(&caller, &agent, tool.spec())
    });
    answer(Judged {
        tool: tool.spec().name.to_string(),
        decision: verdict.decision,
        rule: verdict.rule.to_string(),
        reason: verdict.reason,
    })
}
