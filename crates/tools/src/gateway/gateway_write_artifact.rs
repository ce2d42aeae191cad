//! `gateway_write_artifact`

use bytes::Bytes;
use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::artifacts::{ArtifactReader, ArtifactStore, FileType, KeptFile, check_name};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registration::{Registration, always, typed};

/// Create a downloadable file (CSV, JSON, TXT, MD, HTML, JS, TS, PY) stored as an artifact. If chatId is not provided, a new
/// chat is auto-created as a storage bucket and its ID is returned.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// Name of the file with extension (e.g. "data.csv").
    #[schemars(length(min = 1))]
    filename: String,
    /// The file content as a string.
    content: String,
    /// File extension/type: csv, json, txt, md, html, js, ts, py or xml.
    file_type: String,
    /// Chat ID to store the artifact in. If omitted, a new chat is created automatically.
    chat_id: Option<String>,
    /// Agent ID for auto-creating a chat; yourself when not given. Only used when chatId is not provided.
    agent_id: Option<String>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "gateway_write_artifact",
    enabled: always,
    build: |deps| typed(WriteArtifact(deps.artifacts.clone())),
};

struct WriteArtifact(ArtifactStore);

impl TypedTool for WriteArtifact {
    type Params = Params;
    type Output = KeptFile;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::WRITES)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        check_name(&params.filename, "filename")?;
        let kind = FileType::of(&params.file_type, &params.filename)?;
        let reader = ArtifactReader::from(context);
        let (chat, agent) = (params.chat_id.as_deref(), params.agent_id.as_deref());
        let bucket = self.0.bucket(chat, agent, &reader).await?;
        let whole = futures_util::stream::once(async { Ok(Bytes::from(params.content)) });
        let stored = self
            .0
            .store(&params.filename, kind.mime, bucket, &reader, whole);
        let stored = stored.await?;
        // The result only names what the caller wrote, so it does not taint the turn.
        Ok(Outcome::of(&self.0.describe(stored))?.clean(true))
    }
}
