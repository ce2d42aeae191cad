//! Datastores, filestores, knowledge bases and vaults, as granted to agents.

mod reference;

use std::sync::Arc;

use arc_swap::ArcSwap;
use manyhands_core::{AgentId, ErrorCode, ToolError};
use manyhands_guard::Redactor;
use manyhands_store::{CollectionKind, CollectionLimits, CollectionRecord, Collections, Level};

use crate::settings::LiveSettings;

/// The resources of a gateway. Cheap to clone.
#[derive(Clone)]
pub struct Resources {
    /// The collections.
    pub store: Collections,
    /// Removes known secrets from texts.
    pub redactor: Arc<ArcSwap<Redactor>>,
    settings: LiveSettings,
}

impl Resources {
    /// The resources in `store`.
    pub fn new(
        store: Collections,
        settings: LiveSettings,
        redactor: Arc<ArcSwap<Redactor>>,
    ) -> Self {
        Self {
            store,
            redactor,
            settings,
        }
    }

    /// Returns what an agent may use, by kind and name.
    pub async fn of(&self, agent: &AgentId) -> Result<Vec<(CollectionRecord, Level)>, ToolError> {
        self.store.of_agent(agent).await.map_err(ToolError::from)
    }

    /// Opens a collection of a kind, if an agent has this access to it.
    pub async fn open(
        &self,
        agent: &AgentId,
        id: &str,
        kind: CollectionKind,
        wanted: Level,
    ) -> Result<CollectionRecord, ToolError> {
        let (found, level) = self.any(agent, id, Some(kind)).await?;
        if level < wanted {
            let message = format!(
                "{agent} may {} the {} {:?}, and this needs {}",
                level.as_str(),
                kind.as_str(),
                found.name,
                wanted.as_str()
            );
            return Err(ToolError::new(ErrorCode::Forbidden, message)
                .hint("the owner, or an agent with admin, can grant it"));
        }
        Ok(found)
    }

    /// Returns a collection and the agent's access to it.
    pub async fn any(
        &self,
        agent: &AgentId,
        id: &str,
        kind: Option<CollectionKind>,
    ) -> Result<(CollectionRecord, Level), ToolError> {
        let shown: String = id.chars().take(64).collect();
        let what = kind.map_or("resource", CollectionKind::as_str);
        let absent = || {
            ToolError::not_found(format!("there is no {what} {shown:?}"))
                .hint("list resources with gateway_list_workspace")
        };
        let id = id.parse().map_err(|_| absent())?;
        let found = self.store.access(agent, id).await?;
        let found = found.filter(|(found, _)| kind.is_none_or(|kind| found.kind == kind));
        found.ok_or_else(absent)
    }

    /// The size limits of a collection.
    pub fn room(&self) -> CollectionLimits {
        let limits = &self.settings.current().limits;
        CollectionLimits {
            bytes: limits.collection_bytes,
            items: limits.collection_entries,
        }
    }
}
