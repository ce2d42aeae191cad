//! `read_file`

use manyhands_core::{CallContext, CutPart, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_hands::files;
use manyhands_host::machine::{Host, PAST_THE_CUT, blocking, file_failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, typed};

/// Read a local text file. Very long files are cut, and say so.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// File path. Supports the aliases `file_cache_dir/<path>` and `file_state_dir/<path>`; a relative path is
    /// below `file_cache_dir`.
    #[schemars(length(min = 1))]
    path: String,
}

/// The file.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The absolute path.
    path: String,
    /// The size of the whole file in bytes.
    size: u64,
    /// Whether `content` is only the beginning.
    truncated: bool,
    /// Artifact with the full text, if `content` is only the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_id: Option<String>,
    /// The text, or its beginning.
    content: String,
}

pub(crate) const TOOL: Registration = Registration {
    name: "read_file",
    enabled: |tools| tools.read_file.enabled,
    build: |deps| typed(ReadFile(deps.host.clone())),
};

struct ReadFile(Host);

impl TypedTool for ReadFile {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    fn canonical(&self, arguments: Value) -> Value {
        self.0.canonical_place(arguments)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let settings = self.0.settings();
        let shown = settings.tools.read_file.max_bytes;
        // More than is shown, because the whole text is stored as an artifact.
        let most = settings.limits.artifact_bytes.max(shown) + PAST_THE_CUT;
        let host = self.0.clone();
        let (path, file) = blocking(move || {
            let place = host.to_read(&params.path)?;
            let path = place.shown();
            let file = files::read_text(place.root.jail(), &place.path, most)
                .map_err(|e| file_failure(&e, &path))?;
            Ok((path, file))
        })
        .await?;
        let (content, cut) = self.0.redacted_cut(&file.text, shown);
        let truncated = file.truncated || cut;
        let artifact = match truncated {
            true => self.0.store_text("file.txt", file.text, context).await,
            false => None,
        };
        let outcome = Outcome::of(&Output {
            path,
            content,
            size: file.size,
            truncated,
            artifact_id: artifact.map(|id| id.to_string()),
        })?;
        let part = truncated.then(|| CutPart::text("content", file.size, artifact));
        Ok(outcome.shortened(part.into_iter().collect()))
    }
}
