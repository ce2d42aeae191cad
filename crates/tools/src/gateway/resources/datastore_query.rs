//! `datastore_query`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, DataRow, Filter, FilterError, Level, RowQuery, Sort};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Resources;

/// A field to order by.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The field.
    field: String,
    /// Whether the largest comes first. Default false.
    descending: Option<bool>,
}

/// One row.
#[derive(Serialize, JsonSchema)]
pub struct Row {
    /// Its id.
    id: String,
    /// What it holds.
    data: Value,
    /// When it was first written, RFC 3339.
    created: String,
    /// When it was last written, RFC 3339.
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
    /// Which one: its collectionId.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Which rows; all when not given.
    filter: Option<Map<String, Value>>,
    /// The order; the oldest first when not given.
    #[schemars(length(max = 3))]
    sort: Option<Vec<Order>>,
    /// How many rows at most. Default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// How many rows to pass over. Default 0.
    offset: Option<u32>,
}

/// The rows that were found.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The rows.
    rows: Vec<Row>,
    /// How many there are in all.
    total: u64,
    /// Whether there are more.
    has_more: bool,
    /// The offset to go on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

pub(super) struct DatastoreQuery(pub(super) Resources);

impl TypedTool for DatastoreQuery {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec("datastore_query").effects(Effects::READS)
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
        let has_more = next < rows.total && !rows.rows.is_empty();
        Outcome::of(&Output {
            rows: rows.rows.into_iter().map(Row::from).collect(),
            total: rows.total,
            has_more,
            next_offset: has_more.then_some(next),
        })
    }
}
