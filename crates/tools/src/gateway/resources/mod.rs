//! Datastores, filestores, knowledge bases and vaults: the tools agents use, one file each.
//!
//! Each is a collection that the owner, or an agent with admin access, grants to agents. To an
//! agent without a grant it does not exist, with the same error as one that never did.

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
mod resource_create;
mod resource_delete;
mod resource_grant;
mod vault_list;

use std::sync::Arc;

use manyhands_core::{Exposure, Tool, ToolSpec, Typed};
use manyhands_host::Resources;

/// The tools for resources. They are only found by discovery, so that agents without any resources
/// are not shown them.
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
