//! Accounts of services, as far as the workspace lists them.

use async_trait::async_trait;
use manyhands_core::{AgentId, ToolError};
use manyhands_store::ConnectionStatus;
use schemars::JsonSchema;
use serde::Serialize;

/// One account of a service.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Connection {
    /// Its id, by which a call chooses it.
    #[serde(rename = "PCID")]
    pub pcid: String,
    /// Its name.
    pub name: String,
    /// The service.
    pub service: String,
    /// Whether it works, as far as is known.
    pub status: ConnectionStatus,
}

/// Where the accounts are known.
#[async_trait]
pub trait Connections: Send + Sync {
    /// Those that an agent may use.
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
