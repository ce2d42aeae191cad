//! Sub-agents: a session of their own for one task, with the tools that were chosen for it.

use std::sync::Arc;

use manyhands_core::{AgentId, CallContext, ErrorCode, Invoke, Pattern, ToolError};
use manyhands_store::TurnState;
use uuid::Uuid;

use crate::key::SessionKey;
use crate::minds::{Inner, Minds};
use crate::settings::{AgentSettings, SessionSettings};
use crate::shape::{Shape, chosen, is_given};
use crate::turn::Input;

/// Tools that make agents, which a sub-agent may not.
const MAKERS: [&str; 3] = ["spawn", "acp_spawn", "tool__agent_spawn"];

/// Stops the turn of a session when it is dropped, so that nobody works for an asker who is gone.
pub struct Leash {
    minds: Minds,
    key: SessionKey,
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.minds.stop(&self.key);
    }
}

impl Minds {
    /// The one door to the tools, for work that has questions of its own.
    pub fn path(&self) -> &Arc<dyn Invoke> {
        &self.inner.path
    }

    /// Holds a session as long as its asker is there.
    pub fn leash(&self, key: &SessionKey) -> Leash {
        Leash {
            minds: self.clone(),
            key: key.clone(),
        }
    }

    /// A new session for one task of a sub-agent, whose model is told `about` it.
    pub async fn sub_session(&self, agent: &AgentId, about: &str) -> Result<SessionKey, ToolError> {
        let id = self.inner.ids.next::<Uuid>().to_string();
        let key = SessionKey::sub(agent, &id);
        let settings = SessionSettings {
            system_prompt: Some(about.to_owned()),
            ..SessionSettings::default()
        };
        self.seed(&key, &[], &settings).await?;
        Ok(key)
    }

    /// The tools that a call names for a sub-agent: of those that its asker has, without those
    /// that make agents.
    pub async fn tools_for_sub(
        &self,
        named: &[String],
        context: &CallContext,
    ) -> Result<Vec<String>, ToolError> {
        let only = self.inner.limits_of_asker(context).await?;
        let agent = self.inner.agent(&context.agent)?;
        let shape = Shape {
            path: &*self.inner.path,
            caller: &context.caller,
            agent: &context.agent,
            tools: &agent.tools,
            discover: &agent.discover,
            only: only.as_deref(),
            place: None,   // it works apart from the chat
            session: None, // and in a session of its own
        };
        let catalogue = self.inner.path.catalogue();
        let mut names = chosen(&catalogue, &shape, named).map_err(|unknown| {
            let message = format!("there are no such tools for you: {}", unknown.join(", "));
            ToolError::parameter("tools", message).hint("`manyhands tools` lists them")
        })?;
        names.retain(|name| !MAKERS.contains(&name.as_str()));
        if names.is_empty() {
            let message = "must name at least one tool besides those that make agents";
            return Err(ToolError::parameter("tools", message));
        }
        Ok(names)
    }

    /// How an agent is set.
    pub fn agent(&self, id: &AgentId) -> Result<AgentSettings, ToolError> {
        self.inner.agent(id)
    }

    /// The tools of a new agent: of those that fit `patterns`, the ones that both its parent and its
    /// asker have. Where those have all, tools that come later are among them too.
    pub async fn tools_for_child(
        &self,
        parent: &AgentId,
        patterns: &[Pattern],
        context: &CallContext,
    ) -> Result<Vec<Pattern>, ToolError> {
        let only = self.inner.limits_of_asker(context).await?;
        let (parent, asker) = (self.agent(parent)?, self.agent(&context.agent)?);
        let all = |agent: &AgentSettings| agent.tools.contains(&Pattern::new("*"));
        if only.is_none() && all(&parent) && all(&asker) {
            return Ok(patterns.to_vec());
        }
        let shape = |(tools, discover)| Shape {
            path: &*self.inner.path,
            caller: &context.caller,
            agent: &context.agent,
            tools,
            discover,
            only: only.as_deref(),
            place: None,   // it works apart from the chat
            session: None, // and in a session of its own
        };
        let shapes = [
            (&parent.tools[..], &parent.discover[..]),
            (&asker.tools, &asker.discover),
            (patterns, &[]),
        ]
        .map(shape);
        let catalogue = self.inner.path.catalogue();
        let given = catalogue
            .specs()
            .filter(|spec| shapes.iter().all(|shape| is_given(spec, shape)));
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

impl Inner {
    /// The tools to which the turn is limited in which a call is made that makes an agent; refused
    /// for a sub-agent.
    async fn limits_of_asker(
        &self,
        context: &CallContext,
    ) -> Result<Option<Vec<String>>, ToolError> {
        let of_sub = |key: &String| key.parse::<SessionKey>().is_ok_and(|key| key.is_sub());
        if context.lineage.iter().any(of_sub) {
            let message = "a sub-agent cannot make agents";
            return Err(ToolError::new(ErrorCode::Forbidden, message)
                .hint("do it yourself, or say in your answer what is left to do"));
        }
        match context.lineage.last() {
            Some(session) => self.tools_of_turn(session).await,
            None => Ok(None),
        }
    }

    /// The tools to which whoever asked limited the turn that is running in a session.
    async fn tools_of_turn(&self, session: &str) -> Result<Option<Vec<String>>, ToolError> {
        let open = self.sessions.open_turns(session).await?;
        let running = open.iter().find(|turn| turn.state != TurnState::Queued);
        let input = running.map(|turn| serde_json::from_str::<Input>(&turn.input));
        match input {
            Some(Ok(input)) => Ok(input.tools),
            Some(Err(error)) => Err(ToolError::internal(format!("the turn is damaged: {error}"))),
            None => Ok(None),
        }
    }
}
