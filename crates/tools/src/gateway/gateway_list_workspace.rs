//! `gateway_list_workspace`

use std::sync::Arc;

use manyhands_core::{CallContext, CollectionId, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::Resources;
use manyhands_store::{CollectionKind, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::connections::{Connection, Connections};
use crate::registration::{Registration, always, typed};

/// List all connections and resources in the user's workspace (connections, datastores, filestores, knowledge bases, vaults). Returns
/// every item with its ID (PCID for connections, collectionId for resources) and name. Prefer capabilities_discover for task-relevant
/// work; use this to enumerate everything, or to see all connections of a service.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("properties" = {}))] // without any, an unknown parameter could not be named
pub struct Params {}

/// Everything in the workspace.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Connected accounts.
    connections: Vec<Connection>,
    /// Rows of JSON.
    datastores: Vec<Resource>,
    /// Files.
    filestores: Vec<Resource>,
    /// Searchable documents.
    knowledge_bases: Vec<Resource>,
    /// Secrets, which can be used but not read.
    vaults: Vec<Resource>,
}

/// A resource.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Its id.
    collection_id: CollectionId,
    /// Its name.
    name: String,
    /// Purpose.
    description: String,
    /// Your access level.
    access: Level,
    /// Number of rows, files, documents or secrets.
    items: u64,
}

pub(crate) const TOOL: Registration = Registration {
    name: "gateway_list_workspace",
    enabled: always,
    build: |deps| {
        typed(ListWorkspace {
            resources: deps.resources.clone(),
            connections: deps.connections.clone(),
        })
    },
};

struct ListWorkspace {
    resources: Resources,
    connections: Arc<dyn Connections>,
}

impl TypedTool for ListWorkspace {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    async fn run(&self, _: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let mut output = Output {
            connections: self.connections.of(&context.agent).await?,
            ..Output::default()
        };
        for (found, access) in self.resources.of(&context.agent).await? {
            let list = match found.kind {
                CollectionKind::Datastore => &mut output.datastores,
                CollectionKind::Filestore => &mut output.filestores,
                CollectionKind::Knowledge => &mut output.knowledge_bases,
                CollectionKind::Vault => &mut output.vaults,
            };
            list.push(Resource {
                collection_id: found.id,
                name: found.name,
                description: found.description,
                access,
                items: found.items,
            });
        }
        Outcome::of(&output)
    }
}
