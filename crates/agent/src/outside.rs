//! What minds need of the house around them.

use std::sync::Arc;

use async_trait::async_trait;
use manyhands_core::{AgentId, Caller, ChatRef, Principal, Taint, TokenId, ToolError};
use manyhands_llm::{Delta, ModelError, ModelId, ModelRequest, Models, Reply};
use manyhands_store::ApprovalScope;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::settings::{AgentSettings, TurnLimits};

/// Who said something, as far as has to be known after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The token by which they came; none for the gateway itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenId>,
    /// Who writes in a chat, as `channel:id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// The chat in which it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<ChatRef>,
    /// What to call them.
    pub name: String,
    /// Whether it is the owner, or somebody whose words count as the owner's. The words of others
    /// are data.
    pub trusted: bool,
    /// How many agents stand between the first asker and this.
    #[serde(default)]
    pub depth: u32,
    /// Whether untrusted text may be why it was said.
    #[serde(default)]
    pub tainted: Taint,
    /// The scheduled job whose run it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The sessions in whose turns it was said, the first asker's first: each waits for the next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<String>,
}

impl Origin {
    /// Who decides what is called in its turn: the job whose run it is, else the agent.
    pub fn actor(&self, agent: &AgentId) -> Principal {
        match &self.job {
            Some(job) => Principal::Job(job.clone()),
            None => Principal::Agent(agent.clone()),
        }
    }

    /// What taints the turn it begins: what it was said because of, or who says it.
    pub fn taint(&self) -> Taint {
        match self.trusted {
            true => self.tainted.clone(),
            false => {
                let who = self.person.clone().unwrap_or_else(|| self.name.clone());
                self.tainted.clone().or(&Taint::by(format!("person:{who}")))
            }
        }
    }

    /// Whether two things were said by the same person, in the same chat if in any: an answer to
    /// one is an answer to both.
    pub fn is_same(&self, other: &Self) -> bool {
        let chat = |origin: &Self| {
            let place = origin.place.as_ref();
            place.map(ChatRef::chat_only)
        };
        let bare = |origin: &Self| Self {
            place: None,
            ..origin.clone()
        };
        chat(self) == chat(other) && bare(self) == bare(other)
    }
}

/// Asks models.
#[async_trait]
pub trait Think: Send + Sync {
    /// A reply to the conversation; `on` is told of it as it comes.
    async fn reply(
        &self,
        request: &ModelRequest,
        on: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError>;
}

#[async_trait]
impl Think for Models {
    async fn reply(
        &self,
        request: &ModelRequest,
        on: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        Models::reply(self, request, on, cancel).await
    }
}

/// A skill that an agent may look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillNote {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where its text is, as a path of the workspace.
    pub path: String,
}

/// The house around the minds.
#[async_trait]
pub trait House: Send + Sync {
    /// The models there are now.
    fn models(&self) -> Arc<dyn Think>;
    /// The model that is asked when nobody names one.
    fn default_model(&self) -> Option<ModelId> {
        None
    }
    /// Whether there is any provider of models at all.
    fn has_models(&self) -> bool {
        true
    }
    /// Whether there is anybody who could serve a model; the error says who there is.
    fn knows(&self, _model: &ModelId) -> Result<(), ToolError> {
        Ok(())
    }
    /// Answers a question that waits for the owner, on behalf of a caller who must be the owner.
    /// Gives what was decided, in words.
    async fn decide(
        &self,
        _caller: &Caller,
        _approval: &str,
        _verdict: Verdict,
    ) -> Result<String, ToolError> {
        let message = "nothing waits for the owner here";
        Err(ToolError::not_found(message))
    }
    /// What is set for an agent; `None` when there is no such agent.
    fn agent(&self, id: &AgentId) -> Option<AgentSettings>;
    /// How far one turn may go.
    fn limits(&self) -> TurnLimits;
    /// Whoever came by an origin, with the rights they have now.
    fn caller(&self, origin: &Origin) -> Result<Arc<Caller>, ToolError>;
    /// Refuses an input of so many bytes while its caller may not store more.
    fn admit(&self, _caller: &Caller, _bytes: u64) -> Result<(), ToolError> {
        Ok(())
    }
    /// A file of an agent's workspace, and what tainted it; `None` when it is not there.
    async fn file(&self, agent: &AgentId, path: &str) -> Option<(String, Taint)>;
    /// The skills that an agent can use now.
    async fn skills(&self, agent: &AgentId) -> Vec<SkillNote>;
    /// What there is to know about here and now, in lines: machines, zone, version.
    fn facts(&self) -> Vec<String>;
    /// The user's local time, as `2026-11-15 09:30`, and the hour of it.
    fn local_time(&self) -> LocalTime;
    /// Fires when the house closes: turns stop where they are, and go on after the next start.
    fn stopping(&self) -> &CancellationToken;
}

/// The owner's answer to an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// What was shown may run, and calls like it as far as the scope reaches.
    Approve(ApprovalScope),
    /// It may not; the model receives the message.
    Deny(Option<String>),
}

/// The user's local time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTime {
    /// `2026-11-15`
    pub day: String,
    /// The day before.
    pub day_before: String,
    /// `09:30`
    pub clock: String,
    /// The name of the zone.
    pub zone: String,
    /// Milliseconds since the user's last midnight.
    pub since_midnight_ms: i64,
}
