//! Connected accounts, as the workspace listing shows them.

use async_trait::async_trait;
use manyhands_core::{AgentId, ToolError};
use manyhands_store::ConnectionStatus;
use schemars::JsonSchema;
use serde::Serialize;

/// A connected account.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Connection {
    /// Its id, used to select it in a call.
    #[serde(rename = "PCID")]
    pub pcid: String,
    /// Its name.
    pub name: String,
    /// The service.
    pub service: String,
    /// Last known status.
    pub status: ConnectionStatus,
}

/// Source of connected accounts.
#[async_trait]
pub trait Connections: Send + Sync {
    /// The accounts an agent may use.
    async fn of(&self, agent: &AgentId) -> Result<Vec<Connection>, ToolError>;
}

#[async_trait]
impl Connections for manyhands_store::Connections {
    async fn of(&self, agent: &AgentId) -> Result<Vec<Connection>, ToolError> {
        let all = self.list().await?.into_iter();
        let may_use =
            all.filter(|one| one.agents.iter().any(|named| named.matches(agent.as_str())));
        Ok(may_use
            .map(|one| Connection {
                pcid: one.id.to_string(),
                name: one.name,
                service: one.service,
                status: one.status,
            })
            .collect())
    }
}
