//! `datastore_query`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, DataRow, Filter, FilterError, Level, RowQuery, Sort};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// A field to order by.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The field.
    field: String,
    /// Whether to sort in descending order. Default false.
    descending: Option<bool>,
}

/// A row.
#[derive(Serialize, JsonSchema)]
pub struct Row {
    /// Its id.
    id: String,
    /// Its data.
    data: Value,
    /// When it was created, RFC 3339.
    created: String,
    /// When it was last changed, RFC 3339.
    updated: String,
}

impl From<DataRow> for Row {
    fn from(row: DataRow) -> Self {
        Self {
            id: row.id,
            data: row.data,
            created: row.created.rfc3339(),
            updated: row.updated.rfc3339(),
        }
    }
}

/// Find rows in a datastore. A filter tests fields: {"field": "status", "op": "eq", "value": "open"}, put together with {"and": [...]},
/// {"or": [...]} and {"not": {...}}. The ops are eq, ne, lt, lte, gt, gte, in, contains and exists. Fields inside objects are written
/// with dots; $id, $created and $updated are the row's own.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the datastore.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Filter for the rows; all by default.
    filter: Option<Map<String, Value>>,
    /// Sort order; oldest first by default.
    #[schemars(length(max = 3))]
    sort: Option<Vec<Order>>,
    /// Maximum number of rows. Default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// Number of rows to skip. Default 0.
    offset: Option<u32>,
}

/// Matching rows.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The rows.
    rows: Vec<Row>,
    /// Number of all matching rows.
    total: u64,
    /// Whether there are more.
    has_more: bool,
    /// Offset to continue from.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "datastore_query",
    enabled: always,
    build: |deps| typed(DatastoreQuery(deps.resources.clone())),
};

struct DatastoreQuery(Resources);

impl TypedTool for DatastoreQuery {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let id = &params.collection_id;
        let found = self
            .0
            .open(&context.agent, id, CollectionKind::Datastore, Level::Read)
            .await?;
        let filter = params.filter.as_ref().map(Filter::parse).transpose();
        let sort = params.sort.unwrap_or_default();
        let sort = sort
            .iter()
            .map(|by| Sort::by(&by.field, by.descending.unwrap_or(false)));
        let query = RowQuery {
            filter: filter.map_err(|e| ToolError::parameter("filter", e.to_string()))?,
            sort: sort
                .collect::<Result<_, _>>()
                .map_err(|e: FilterError| ToolError::parameter("sort", e.to_string()))?,
            limit: params.limit.unwrap_or(50),
            offset: params.offset.unwrap_or(0),
        };
        let rows = self.0.store.rows(found.id, &query).await?;
        let next = u64::from(query.offset) + rows.rows.len() as u64;
        // Without rows the offset would not advance, and a caller would never come to an end.
        let has_more = next < rows.total && !rows.rows.is_empty();
        Outcome::of(&Output {
            rows: rows.rows.into_iter().map(Row::from).collect(),
            total: rows.total,
            has_more,
            next_offset: has_more.then_some(next),
        })
    }
}
