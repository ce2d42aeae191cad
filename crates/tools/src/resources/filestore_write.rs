//! `filestore_write`

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_store::{CollectionKind, Level, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use manyhands_host::Resources;

use crate::registration::{Registration, always, typed};

/// Encoding of the content.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// Text.
    Utf8,
    /// Base64.
    Base64,
}

/// Write a file into a filestore, replacing an existing one. The write is atomic.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// collectionId of the filestore.
    #[schemars(length(min = 1))]
    collection_id: String,
    /// Its path, such as "reports/june.csv".
    #[schemars(length(min = 1))]
    path: String,
    /// Its content.
    content: String,
    /// Encoding of the content. Default utf8.
    encoding: Option<Encoding>,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The normalized path.
    path: String,
    /// Its size in bytes.
    size: u64,
    /// Its SHA-256, in hexadecimal.
    sha256: String,
    /// Whether the file is new.
    created: bool,
}

pub(crate) const TOOL: Registration = Registration {
    name: "filestore_write",
    enabled: always,
    build: |deps| typed(FilestoreWrite(deps.resources.clone())),
};

struct FilestoreWrite(Resources);

impl TypedTool for FilestoreWrite {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::WRITES)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let id = &params.collection_id;
        let found = self
            .0
            .open(&context.agent, id, CollectionKind::Filestore, Level::Write)
            .await?;
        let content = match params.encoding.unwrap_or(Encoding::Utf8) {
            Encoding::Utf8 => Bytes::from(params.content),
            // Encoders often end with a line break.
            Encoding::Base64 => match STANDARD.decode(params.content.trim()) {
                Ok(bytes) => Bytes::from(bytes),
                Err(e) => {
                    return Err(ToolError::parameter(
                        "content",
                        format!("is not base64: {e}"),
                    ));
                }
            },
        };
        let put = self
            .0
            .store
            .put_file(found.id, &params.path, content, self.0.room())
            .await;
        let (file, created) = put.map_err(|e| match e {
            StoreError::Invalid { what } => ToolError::parameter("path", what),
            other => other.into(),
        })?;
        Outcome::of(&Output {
            path: file.path,
            size: file.size,
            sha256: file.sha256,
            created,
        })
    }
}
