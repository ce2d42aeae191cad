//! `gateway_list_artifacts`

use manyhands_core::{ArtifactId, CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::artifacts::{ArtifactReader, ArtifactStore};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::registration::{Registration, always, typed};

/// Most files returned.
const SHOWN: usize = 1_000;
const PAGE: u32 = 500;

/// List all artifact files in a chat, the newest first. Returns file names, IDs, sizes, MIME types, and creation dates.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Chat ID to list artifacts from; "results" for large results that were kept whole.
    #[serde(rename = "chatId")]
    #[schemars(length(min = 1))]
    chat_id: String,
    /// Filter by MIME type prefix (e.g., "text/", "application/json").
    filter_type: Option<String>,
    /// Filter by filename pattern (case-insensitive substring match).
    filter_name: Option<String>,
}

/// The files of a chat.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The chat.
    chat_id: String,
    /// The files in it.
    files: Vec<ArtifactFile>,
    /// Whether there are more: narrow the filters.
    truncated: bool,
}

/// One file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactFile {
    /// Its id.
    id: ArtifactId,
    /// Its name.
    filename: String,
    /// Its size in bytes.
    size: u64,
    /// Its media type.
    mime_type: String,
    /// When it was created, RFC 3339.
    created: String,
    /// When it expires, RFC 3339, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "gateway_list_artifacts",
    enabled: always,
    build: |deps| typed(ListArtifacts(deps.artifacts.clone())),
};

struct ListArtifacts(ArtifactStore);

impl TypedTool for ListArtifacts {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let reader = ArtifactReader::from(context);
        let chat = self.0.chat(&params.chat_id, &reader).await?;
        let kind = params.filter_type.unwrap_or_default().to_lowercase();
        let name = params.filter_name.unwrap_or_default().to_lowercase();
        let (mut files, mut offset) = (Vec::new(), 0);
        // One file more than is shown, to know whether there are more.
        while files.len() <= SHOWN {
            // Filters apply here page by page, so memory is bounded by what matches and not by the
            // chat.
            let page = self.0.list(chat, &reader, PAGE, offset).await?;
            let last = page.len() < PAGE as usize;
            let fits = page.into_iter().filter(|one| {
                one.mime.to_lowercase().starts_with(&kind)
                    && one.name.to_lowercase().contains(&name)
            });
            files.extend(fits.map(|one| ArtifactFile {
                id: one.id,
                filename: one.name,
                size: one.size,
                mime_type: one.mime,
                created: one.created.rfc3339(),
                expires: one.expires.map(|at| at.rfc3339()),
            }));
            if last {
                break;
            }
            offset += PAGE;
        }
        let truncated = files.len() > SHOWN;
        files.truncate(SHOWN);
        Outcome::of(&Output {
            chat_id: params.chat_id,
            files,
            truncated,
        })
    }
}
