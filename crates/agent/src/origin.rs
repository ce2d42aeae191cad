//! Who sent an input, and on whose behalf.

use manyhands_core::{AgentId, ChatRef, Principal, Taint, TokenId};
use serde::{Deserialize, Serialize};

/// The sender of an input, as far as it must survive a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The access token; `None` for the gateway itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenId>,
    /// The sender in a chat, as `channel:id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// The chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<ChatRef>,
    /// Display name.
    pub name: String,
    /// Whether this is the owner or somebody trusted like the owner. Messages of others are data.
    pub trusted: bool,
    /// Number of agents between the first requester and this input.
    #[serde(default)]
    pub depth: u32,
    /// The untrusted text that may have caused this input.
    #[serde(default)]
    pub tainted: Taint,
    /// The scheduled job that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The sessions that wait for the answer, the first requester's first; each waits for the next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<String>,
}

impl Origin {
    /// The principal that makes the calls of the turn: the job, else the agent.
    pub fn actor(&self, agent: &AgentId) -> Principal {
        match &self.job {
            Some(job) => Principal::Job(job.clone()),
            None => Principal::Agent(agent.clone()),
        }
    }

    /// The initial taint of the turn: what caused the input, or who sent it.
    pub fn taint(&self) -> Taint {
        match self.trusted {
            true => self.tainted.clone(),
            false => {
                let who = self.person.clone().unwrap_or_else(|| self.name.clone());
                self.tainted.clone().or(&Taint::by(format!("person:{who}")))
            }
        }
    }

    /// Whether two inputs have the same sender and chat, so that one answer serves both.
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
