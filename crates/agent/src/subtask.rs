//! Sub-agents: a session for one task, with the tools chosen for it.

use manyhands_core::{AgentId, CallContext, ErrorCode, Pattern, ToolError};
use manyhands_store::TurnState;
use uuid::Uuid;

use crate::input::Input;
use crate::key::SessionKey;
use crate::runtime::{Minds, MindsInner};
use crate::settings::{AgentSettings, SessionSettings};
use crate::toolset::{ToolScope, chosen, is_given};

/// Tools that spawn agents; sub-agents do not get them, so that spawning cannot recurse.
const SPAWN_TOOLS: [&str; 3] = ["spawn", "acp_spawn", "tool__agent_spawn"];

/// Stops the turn of a session when it is dropped, so that no sub-agent works for a requester that is gone.
pub struct StopOnDrop {
    minds: Minds,
    key: SessionKey,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.minds.stop(&self.key);
    }
}

impl Minds {
    /// Ties the turn of a session to the lifetime of the returned guard.
    pub fn stop_on_drop(&self, key: &SessionKey) -> StopOnDrop {
        StopOnDrop {
            minds: self.clone(),
            key: key.clone(),
        }
    }

    /// Creates a session for one task of a sub-agent, with `about` as its system prompt.
    pub async fn sub_session(&self, agent: &AgentId, about: &str) -> Result<SessionKey, ToolError> {
        let id = self.inner.ids.next::<Uuid>().to_string();
        let key = SessionKey::sub(agent, &id);
        let settings = SessionSettings {
            system_prompt: Some(about.to_owned()),
            ..SessionSettings::default()
        };
        // Created here rather than by its first message, which cannot carry settings.
        self.seed(&key, &[], &settings).await?;
        Ok(key)
    }

    /// Resolves the tools named for a sub-agent. The requester must have them; tools that spawn agents are dropped.
    pub async fn tools_for_sub(
        &self,
        named: &[String],
        context: &CallContext,
    ) -> Result<Vec<String>, ToolError> {
        let only = self.inner.limits_of_requester(context).await?;
        let agent = self.inner.agent(&context.agent)?;
        let scope = ToolScope {
            path: &*self.inner.path,
            caller: &context.caller,
            agent: &context.agent,
            tools: &agent.tools,
            discover: &agent.discover,
            only: only.as_deref(),
            place: None,   // it does not run in the chat
            session: None, // and has its own session
        };
        let catalogue = self.inner.path.catalogue();
        let mut names = chosen(&catalogue, &scope, named).map_err(|unknown| {
            let message = format!("there are no such tools for you: {}", unknown.join(", "));
            ToolError::parameter("tools", message).hint("`manyhands tools` lists them")
        })?;
        names.retain(|name| !SPAWN_TOOLS.contains(&name.as_str()));
        if names.is_empty() {
            let message = "must name at least one tool besides those that spawn agents";
            return Err(ToolError::parameter("tools", message));
        }
        Ok(names)
    }

    /// The tools of a new agent: those matching `patterns` that both its parent and the requester have. If these have all
    /// tools, the patterns are kept as they are and also match tools added later.
    pub async fn tools_for_child(
        &self,
        parent: &AgentId,
        patterns: &[Pattern],
        context: &CallContext,
    ) -> Result<Vec<Pattern>, ToolError> {
        let only = self.inner.limits_of_requester(context).await?;
        let (parent, requester) = (self.agent(parent)?, self.agent(&context.agent)?);
        let all = |agent: &AgentSettings| agent.tools.contains(&Pattern::new("*"));
        if only.is_none() && all(&parent) && all(&requester) {
            return Ok(patterns.to_vec());
        }
        let scope = |(tools, discover)| ToolScope {
            path: &*self.inner.path,
            caller: &context.caller,
            agent: &context.agent,
            tools,
            discover,
            only: only.as_deref(),
            place: None,   // it does not run in the chat
            session: None, // and has its own session
        };
        let scopes = [
            (&parent.tools[..], &parent.discover[..]),
            (&requester.tools, &requester.discover),
            (patterns, &[]),
        ]
        .map(scope);
        let catalogue = self.inner.path.catalogue();
        let given = catalogue
            .specs()
            .filter(|spec| scopes.iter().all(|scope| is_given(spec, scope)));
        let tools: Vec<Pattern> = given.map(|spec| Pattern::new(spec.name.as_str())).collect();
        match tools.is_empty() {
            true => {
                let message = "the template names no tool that you have";
                Err(ToolError::new(ErrorCode::Forbidden, message))
            }
            false => Ok(tools),
        }
    }
}

impl MindsInner {
    /// The tools to which the requesting turn is limited. Fails inside a sub-agent.
    async fn limits_of_requester(
        &self,
        context: &CallContext,
    ) -> Result<Option<Vec<String>>, ToolError> {
        let of_sub = |key: &String| key.parse::<SessionKey>().is_ok_and(|key| key.is_sub());
        if context.lineage.iter().any(of_sub) {
            let message = "a sub-agent cannot spawn agents";
            return Err(ToolError::new(ErrorCode::Forbidden, message)
                .hint("do it yourself, or say in your answer what is left to do"));
        }
        // A turn that is limited to some tools must not get the others by spawning an agent that has them.
        match context.lineage.last() {
            Some(session) => self.tools_of_turn(session).await,
            None => Ok(None),
        }
    }

    /// The tools to which the running turn of a session is limited by its input.
    async fn tools_of_turn(&self, session: &str) -> Result<Option<Vec<String>>, ToolError> {
        let open = self.sessions.open_turns(session).await?;
        let running = open.iter().find(|turn| turn.state != TurnState::Queued);
        let input = running.map(|turn| serde_json::from_str::<Input>(&turn.input));
        match input {
            Some(Ok(input)) => Ok(input.tools),
            Some(Err(error)) => Err(ToolError::internal(format!(
                "the stored turn is damaged: {error}"
            ))),
            None => Ok(None),
        }
    }
}
