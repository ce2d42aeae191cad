//! `datastore_write`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{self as store, CollectionKind, Level, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Resources;

/// A row to write.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRow {
    /// Its id, 1-128 bytes; a fresh one when not given.
    id: Option<String>,
    /// What it holds: a JSON object.
    data: Map<String, Value>,
}

/// Write rows into a datastore, all or none of them. A row with an id takes the place of the row of that id; one without gets a fresh id.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Which one: its collectionId.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// The rows.
    #[schemars(length(min = 1, max = 500))]
    rows: Vec<NewRow>,
}

/// What was written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The ids of the rows, in their order.
    ids: Vec<String>,
    /// How many of them are new.
    created: u64,
    /// How many took the place of others.
    replaced: u64,
}

pub(super) struct DatastoreWrite(pub(super) Resources);

impl TypedTool for DatastoreWrite {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec("datastore_write").effects(Effects::WRITES)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let id = &params.collection_id;
        let found = self
            .0
            .open(&context.agent, id, CollectionKind::Datastore, Level::Write)
            .await?;
        let rows = params.rows.into_iter().map(|row| store::NewRow {
            id: row.id,
            data: row.data,
        });
        let written = self
            .0
            .store
            .put_rows(found.id, rows.collect(), self.0.room())
            .await;
        let (ids, created) = written.map_err(|e| match e {
            StoreError::Invalid { what } => ToolError::parameter("rows", what),
            other => other.into(),
        })?;
        let replaced = ids.len() as u64 - created;
        Outcome::of(&Output {
            ids,
            created,
            replaced,
        })
    }
}
