//! `filestore_read`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::artifacts::reading::{self, TextRange, TextSource};
use manyhands_store::{CollectionKind, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// Read a file of a filestore, page by page. A file that is not text is returned in base64.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the filestore.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Its path.
    #[schemars(length(min = 1))]
    path: String,
    /// Start offset: characters of text, bytes of other files. Use nextOffset to continue.
    offset: Option<u64>,
    /// Maximum number of characters. Default 10000.
    #[schemars(range(min = 1, max = 100_000))]
    limit: Option<u32>,
}

/// The content read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The requested part.
    content: String,
    /// "utf8", or "base64" for a file that is not text.
    encoding: &'static str,
    /// The size of the whole file in bytes.
    total_size: u64,
    /// Whether there is more.
    has_more: bool,
    /// Offset to continue from.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "filestore_read",
    enabled: always,
    build: |deps| typed(FilestoreRead(deps.resources.clone())),
};

struct FilestoreRead(Resources);

impl TypedTool for FilestoreRead {
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
        let opened = self.0.store.open_file(found.id, &params.path).await;
        let (file, bytes) = opened?;
        let mut source = TextSource::new(bytes, &self.0.redactor.load());
        let page = TextRange {
            offset: params.offset.unwrap_or(0),
            limit: params.limit.unwrap_or(10_000) as usize,
        };
        let (part, encoding) = match source.is_text().await? {
            true => (reading::page(source, page).await?, "utf8"),
            false => (reading::bytes(source, page).await?, "base64"),
        };
        Outcome::of(&Output {
            content: part.content,
            encoding,
            total_size: file.size,
            has_more: part.next.is_some(),
            next_offset: part.next,
        })
    }
}
