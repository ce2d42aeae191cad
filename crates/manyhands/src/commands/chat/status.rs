//! The status line of the interactive chat: agent, model, context, tokens and cost.

use manyhands_core::AgentId;
use manyhands_wire::ChatUsage;
use serde_json::Value;

use crate::commands::call::segment;
use crate::remote::Remote;

/// What is known of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionStatus {
    agent: String,
    model: Option<String>,
    /// Tokens of the model's context that are used, and all that it has.
    context: Option<(u64, u64)>,
    cost_micros: u64,
    /// Number of messages in the session.
    messages: u64,
}

impl SessionStatus {
    /// Asks the gateway. What it does not say is left out; `default` is the model of agents without one.
    pub async fn read(
        remote: &Remote,
        session: &str,
        agent: &AgentId,
        default: Option<&str>,
    ) -> Self {
        let path = format!("/api/sessions/{}", segment(session));
        let found = remote.get(&path).await.unwrap_or_default();
        let mut status = Self::of(&found, agent);
        // A new session does not exist yet; its agent's model will be used.
        if status.model.is_none() {
            let path = format!("/api/agents/{}", segment(agent.as_str()));
            let found = remote.get(&path).await.unwrap_or_default();
            let model = found["agent"]["model"].as_str().or(default);
            status.model = model.map(str::to_owned);
        }
        status
    }

    fn of(found: &Value, agent: &AgentId) -> Self {
        let session = match found["session"].is_object() {
            true => &found["session"],
            false => found,
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let context = &session["context"];
        Self {
            agent: agent.to_string(),
            model: text(&session["model"]).or_else(|| text(&session["settings"]["model"])),
            context: context["used"].as_u64().zip(context["limit"].as_u64()),
            cost_micros: session["costMicros"].as_u64().unwrap_or(0),
            messages: session["messages"].as_u64().unwrap_or(0),
        }
    }

    /// Agent and model.
    pub fn about(&self) -> String {
        match &self.model {
            Some(model) => format!("{} · {model}", self.agent),
            None => self.agent.clone(),
        }
    }

    /// The line above the conversation.
    pub fn greeting(&self, session: &str) -> String {
        let about = self.about();
        match self.messages {
            0 => format!("session {session} · {about}"),
            1 => format!("session {session} · {about} · 1 message; /new starts over"),
            n => format!("session {session} · {about} · {n} messages; /new starts over"),
        }
    }

    /// The line below a reply.
    pub fn line(&self, usage: Option<&ChatUsage>) -> String {
        let mut parts = vec![self.about()];
        if let Some(usage) = usage {
            parts.push(format!(
                "{} in, {} out",
                count(usage.input_tokens),
                count(usage.output_tokens)
            ));
        }
        if let Some((used, limit)) = self.context.filter(|(_, limit)| *limit > 0) {
            parts.push(format!("context {} %", used.saturating_mul(100) / limit));
        }
        let cost = usage.map_or(0, |usage| usage.cost_micros);
        if cost > 0 {
            parts.push(dollars(cost));
        }
        // The sum says something new only after the first reply.
        if self.cost_micros > cost {
            parts.push(format!("session {}", dollars(self.cost_micros)));
        }
        if let Some(took) = usage.and_then(|usage| usage.duration_ms) {
            parts.push(seconds(took));
        }
        parts.join(" · ")
    }
}

/// Formats a number of tokens: 950, 1.2k, 34k, 1.5M.
fn count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..10_000 => format!("{:.1}k", tokens as f64 / 1e3),
        10_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

fn dollars(micros: u64) -> String {
    match micros {
        // Two digits of what is less than a cent.
        0..10_000 => format!("${:.4}", micros as f64 / 1e6),
        _ => format!("${:.2}", micros as f64 / 1e6),
    }
}

fn seconds(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{:.1} s", ms as f64 / 1e3),
        _ => format!("{} s", ms / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_line_shows_what_is_known() {
        let agent = AgentId::main();
        let usage = ChatUsage {
            replies: 1,
            input_tokens: 1_234,
            output_tokens: 56,
            cost_micros: 1_200,
            duration_ms: Some(2_100),
        };
        let found = json!({ "session": {
            "model": "a/b", "context": { "used": 5, "limit": 100 }, "costMicros": 50_000,
        } });
        assert_eq!(
            SessionStatus::of(&found, &agent).line(Some(&usage)),
            "main · a/b · 1.2k in, 56 out · context 5 % · $0.0012 · session $0.05 · 2.1 s"
        );
        let old = json!({ "session": { "settings": { "model": "a/b" } } });
        assert_eq!(SessionStatus::of(&old, &agent).line(None), "main · a/b");
        assert_eq!(SessionStatus::of(&Value::Null, &agent).line(None), "main");
        let used = json!({ "session": { "messages": 4 } });
        assert_eq!(
            SessionStatus::of(&used, &agent).greeting("work"),
            "session work · main · 4 messages; /new starts over"
        );
    }

    #[test]
    fn numbers_are_short() {
        for (tokens, text) in [
            (999, "999"),
            (1_250, "1.2k"),
            (45_600, "45k"),
            (2_500_000, "2.5M"),
        ] {
            assert_eq!(count(tokens), text);
        }
        assert_eq!(
            (dollars(12), dollars(1_234_567)),
            ("$0.0000".to_owned(), "$1.23".to_owned())
        );
    }
}
