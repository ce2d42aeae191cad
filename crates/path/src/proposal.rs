//! The rule that "always allow" would add, shown with the request before it is answered.

use manyhands_config::{Decision, Predicate, Rule};
use manyhands_core::{Pattern, Principal, ToolSpec};
use serde_json::Value;

use crate::facts;
use crate::layer::Call;

/// The narrowest rule that would allow calls like this one: the same tool, agent and caller, and where
/// the call names a program, a host or a recipient, that one.
pub(crate) fn propose(call: &Call, spec: &ToolSpec) -> Rule {
    let when = call.request.arguments.as_object().into_iter().flatten();
    let when = when.filter_map(|(name, value)| {
        let predicate = match name.as_str() {
            "command" | "cmd" | "argv" | "script" => match facts::programs(value) {
                Some(programs) => Predicate {
                    program: programs.into_iter().map(Pattern::new).collect(),
                    ..Predicate::default()
                },
                // A command that cannot be parsed is proposed literally: any pattern could allow more than the
                // owner saw.
                None => exactly(value),
            },
            "url" | "uri" => match facts::host(value) {
                Some(host) => Predicate {
                    host: vec![Pattern::new(host)],
                    ..Predicate::default()
                },
                None => exactly(value),
            },
            name if RECIPIENTS.contains(&name) => exactly(value),
            _ => return None,
        };
        Some((name.clone(), predicate))
    });
    let caller = match &call.request.caller.principal {
        // Not the one token: the owner's tokens have the same rights, and the rule should survive a new login.
        Principal::Owner(_) => "owner:*".to_owned(),
        other => other.to_string(),
    };
    Rule {
        decision: Decision::Allow,
        tools: vec![Pattern::new(spec.name.as_str())],
        effects: Vec::new(),
        network: false,
        callers: vec![Pattern::new(caller)],
        agents: vec![Pattern::new(call.request.agent.as_str())],
        when: when.collect(),
        reason: None,
    }
}

/// Parameters that say to whom or where something goes.
const RECIPIENTS: [&str; 12] = [
    "to",
    "channel",
    "target",
    "recipient",
    "chat_id",
    "contact_id",
    "contactId",
    "sessionKey",
    "agent",
    "nodeId",
    "source",
    "destination",
];

fn exactly(value: &Value) -> Predicate {
    Predicate {
        equals: Some(value.clone()),
        ..Predicate::default()
    }
}
