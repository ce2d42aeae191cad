//! Datastores, filestores, knowledge bases and vaults, as agents use them: one file each.
//!
//! Each is a collection that the owner, or an agent with the right to, lets agents use. To an
//! agent without a grant it is not there, in the same words as one that never was.

mod datastore_delete;
mod datastore_query;
mod datastore_write;
mod filestore_delete;
mod filestore_list;
mod filestore_read;
mod filestore_write;
mod knowledge_add;
mod knowledge_list;
mod knowledge_read;
mod knowledge_remove;
mod knowledge_search;
mod reference;
mod resource_create;
mod resource_delete;
mod resource_grant;
mod vault_list;

use std::sync::Arc;

use arc_swap::ArcSwap;
use manyhands_core::{AgentId, ErrorCode, Exposure, Tool, ToolError, ToolSpec, Typed};
use manyhands_guard::Redactor;
use manyhands_store::{CollectionKind, CollectionRecord, CollectionRoom, Collections, Level};

use crate::settings::LiveSettings;

/// The resources of a gateway. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Resources {
    pub(crate) store: Collections,
    redactor: Arc<ArcSwap<Redactor>>,
    settings: LiveSettings,
}

impl Resources {
    pub(crate) fn new(
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

    /// What an agent may use, by kind and name.
    pub(crate) async fn of(
        &self,
        agent: &AgentId,
    ) -> Result<Vec<(CollectionRecord, Level)>, ToolError> {
        self.store.of(agent).await.map_err(ToolError::from)
    }

    /// A collection of a kind that an agent may use like this.
    async fn open(
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
                level.word(),
                kind.word(),
                found.name,
                wanted.word()
            );
            return Err(ToolError::new(ErrorCode::Forbidden, message)
                .hint("the owner, or an agent with admin, can grant it"));
        }
        Ok(found)
    }

    /// A collection that an agent may use, and how.
    async fn any(
        &self,
        agent: &AgentId,
        id: &str,
        kind: Option<CollectionKind>,
    ) -> Result<(CollectionRecord, Level), ToolError> {
        let shown: String = id.chars().take(64).collect();
        let what = kind.map_or("resource", CollectionKind::word);
        let absent = || {
            ToolError::not_found(format!("there is no {what} {shown:?}"))
                .hint("gateway_list_workspace shows what there is")
        };
        let id = id.parse().map_err(|_| absent())?;
        let found = self.store.access(agent, id).await?;
        let found = found.filter(|(found, _)| kind.is_none_or(|kind| found.kind == kind));
        found.ok_or_else(absent)
    }

    /// How much a collection may hold.
    fn room(&self) -> CollectionRoom {
        let limits = &self.settings.current().limits;
        CollectionRoom {
            bytes: limits.collection_bytes,
            items: limits.collection_entries,
        }
    }
}

/// The tools for resources. They are found by discovery, so that agents without any are not
/// shown what they have no use for.
pub(super) fn tools(resources: &Resources) -> Vec<Arc<dyn Tool>> {
    let own = || resources.clone();
    vec![
        Arc::new(Typed::new(resource_create::ResourceCreate(own()))),
        Arc::new(Typed::new(resource_grant::ResourceGrant(own()))),
        Arc::new(Typed::new(resource_delete::ResourceDelete(own()))),
        Arc::new(Typed::new(datastore_query::DatastoreQuery(own()))),
        Arc::new(Typed::new(datastore_write::DatastoreWrite(own()))),
        Arc::new(Typed::new(datastore_delete::DatastoreDelete(own()))),
        Arc::new(Typed::new(filestore_list::FilestoreList(own()))),
        Arc::new(Typed::new(filestore_read::FilestoreRead(own()))),
        Arc::new(Typed::new(filestore_write::FilestoreWrite(own()))),
        Arc::new(Typed::new(filestore_delete::FilestoreDelete(own()))),
        Arc::new(Typed::new(knowledge_search::KnowledgeSearch(own()))),
        Arc::new(Typed::new(knowledge_list::KnowledgeList(own()))),
        Arc::new(Typed::new(knowledge_read::KnowledgeRead(own()))),
        Arc::new(Typed::new(knowledge_add::KnowledgeAdd(own()))),
        Arc::new(Typed::new(knowledge_remove::KnowledgeRemove(own()))),
        Arc::new(Typed::new(vault_list::VaultList(own()))),
    ]
}

fn spec(name: &str) -> ToolSpec {
    super::spec(name).exposure(Exposure::Discoverable)
}
