//! `datastore_delete`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, Filter, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// Remove rows of a datastore, by their ids or by a filter as in datastore_query. Use one of the two.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the datastore.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Ids of the rows.
    #[schemars(length(min = 1, max = 500))]
    ids: Option<Vec<String>>,
    /// Filter for the rows.
    filter: Option<Map<String, Value>>,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// Number of rows deleted.
    deleted: u64,
}

pub(crate) const TOOL: Registration = Registration {
    name: "datastore_delete",
    enabled: always,
    build: |deps| typed(DatastoreDelete(deps.resources.clone())),
};

struct DatastoreDelete(Resources);

impl TypedTool for DatastoreDelete {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::WRITES)
            .frees_storage()
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let id = &params.collection_id;
        let found = self
            .0
            .open(&context.agent, id, CollectionKind::Datastore, Level::Write)
            .await?;
        let deleted = match (params.ids, params.filter) {
            (Some(ids), None) => self.0.store.remove_rows(found.id, ids).await,
            (None, Some(filter)) => {
                let filter = Filter::parse(&filter);
                let filter = filter.map_err(|e| ToolError::parameter("filter", e.to_string()))?;
                self.0.store.remove_matching(found.id, &filter).await
            }
            _ => return Err(ToolError::parameter("ids", "give either ids or filter")),
        };
        let deleted = deleted?;
        Outcome::of(&Output { deleted })
    }
}
