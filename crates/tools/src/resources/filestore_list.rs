//! `filestore_list`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// A file.
#[derive(Serialize, JsonSchema)]
pub struct StoredFile {
    /// Its path.
    path: String,
    /// Its size in bytes.
    size: u64,
    /// Its SHA-256, in hexadecimal.
    sha256: String,
    /// When it was last written, RFC 3339.
    updated: String,
}

/// List the files of a filestore, in the order of their paths.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the filestore.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Only paths with this prefix, such as "reports/".
    prefix: Option<String>,
    /// Maximum number of files. Default 100.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
    /// Number of files to skip. Default 0.
    offset: Option<u32>,
}

/// A list of files.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The files.
    files: Vec<StoredFile>,
    /// Whether there are more.
    has_more: bool,
}

pub(crate) const TOOL: Registration = Registration {
    name: "filestore_list",
    enabled: always,
    build: |deps| typed(FilestoreList(deps.resources.clone())),
};

struct FilestoreList(Resources);

impl TypedTool for FilestoreList {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let id = &params.collection_id;
        let found = self
            .0
            .open(&context.agent, id, CollectionKind::Filestore, Level::Read)
            .await?;
        let prefix = params.prefix.unwrap_or_default();
        let (limit, offset) = (params.limit.unwrap_or(100), params.offset.unwrap_or(0));
        let listed = self
            .0
            .store
            // One more than is shown, to know whether there are more.
            .files(found.id, &prefix, limit + 1, offset)
            .await;
        let mut files = listed?;
        let has_more = files.len() > limit as usize;
        files.truncate(limit as usize);
        let files = files.into_iter().map(|file| StoredFile {
            path: file.path,
            size: file.size,
            sha256: file.sha256,
            updated: file.updated.rfc3339(),
        });
        Outcome::of(&Output {
            files: files.collect(),
            has_more,
        })
    }
}
