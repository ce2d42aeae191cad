//! The owner's decisions about approval requests, from any face: page, command line, chat, editor
//! or HTTP.

use manyhands_config::Rule;
use manyhands_core::{ApprovalId, Caller, ErrorCode, ToolError};
use manyhands_store::{ApprovalDecision, ApprovalRecord, ApprovalScope, ApprovalState};
use serde_json::Value;

use crate::gateway::Gateway;

/// Longest message to the model, in bytes.
const MAX_MESSAGE: usize = 4_000;

impl Gateway {
    /// Decides an approval request. "Always" first adds the proposed rule to config.toml, so that
    /// nothing is approved for longer than is on record.
    pub async fn decide(
        &self,
        caller: &Caller,
        id: ApprovalId,
        decision: ApprovalDecision,
        message: Option<&str>,
    ) -> Result<ApprovalRecord, ToolError> {
        if message.is_some_and(|message| message.len() > MAX_MESSAGE) {
            let message = format!("must be at most {MAX_MESSAGE} bytes");
            return Err(ToolError::parameter("message", message));
        }
        let approvals = self.path.approvals();
        match decision {
            ApprovalDecision::Approve(ApprovalScope::Always) => {
                let asked = approvals.get(id).await?;
                let asked =
                    asked.ok_or_else(|| ToolError::not_found(format!("no approval {id}")))?;
                self.add_rule(caller, &asked).await?;
            }
            ApprovalDecision::Approve(ApprovalScope::Conversation) => {
                let asked = approvals.get(id).await?;
                if asked.is_some_and(|asked| asked.session.is_none()) {
                    let message = "the call does not belong to a conversation";
                    return Err(ToolError::parameter("scope", message).hint("use once or always"));
                }
            }
            _ => {}
        }
        // The rule is already in place: if this fails, the owner can decide again.
        let decided = approvals.decide(id, decision, message, &caller.name).await;
        let record = decided?;
        let what = match decision {
            ApprovalDecision::Approve(_) => "approval.approve",
            ApprovalDecision::Deny => "approval.deny",
        };
        let about = format!("{id} {} {}", record.tool, record.scope.as_str());
        let noted = self.note(caller, what, &about).await;
        noted?;
        Ok(record)
    }

    /// Adds the rule a request proposes just before the rule that asked, so that earlier rules keep
    /// precedence.
    async fn add_rule(&self, caller: &Caller, asked: &ApprovalRecord) -> Result<(), ToolError> {
        if asked.state != ApprovalState::Pending {
            let message = format!("approval {} is already {}", asked.id, asked.state.as_str());
            return Err(ToolError::new(ErrorCode::Conflict, message));
        }
        let proposal = asked.proposal.clone();
        let proposal = proposal
            .and_then(|rule| serde_json::from_value::<Rule>(rule).ok())
            .ok_or_else(|| {
                let message = "no rule was proposed for this request";
                ToolError::parameter("scope", message).hint("approve it once")
            })?;
        // `policy.rules.3` or `agents.NAME.policy.rules.3`; defaults have no position.
        let (list, at) = match asked.rule.rsplit_once('.') {
            Some((list, at)) if list.ends_with("rules") => (list, at.parse::<usize>().ok()),
            _ => ("policy.rules", None),
        };
        let settings = self.settings.current();
        let mut rules = match list.strip_prefix("agents.") {
            Some(agent) => {
                let name = agent.trim_end_matches(".policy.rules");
                let mut agents = settings.agents.iter();
                let found = agents.find(|(id, _)| id.as_str() == name);
                found.map_or_else(Vec::new, |(_, agent)| agent.policy.rules.clone())
            }
            None => settings.policy.rules.clone(),
        };
        // The rules may have changed since the request, so the position is clamped.
        let at = at.unwrap_or(rules.len()).min(rules.len());
        rules.insert(at, proposal);
        let rules = rules.iter().map(serde_json::to_value);
        let rules: Vec<Value> = rules
            .collect::<Result<_, _>>()
            .map_err(|e| ToolError::internal(e.to_string()))?;
        self.set_config(caller, list, Value::Array(rules))
            .await
            .map(drop)
    }
}
