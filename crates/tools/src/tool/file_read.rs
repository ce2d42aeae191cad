//! `tool::file_read`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_hands::files;
use manyhands_host::machine::{Host, PAST_THE_CUT, blocking, file_failure, located};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, typed};

/// Read a text file of the workspace folder. Nothing outside that folder is opened, whatever links lead there.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// File path relative to the workspace root.
    #[schemars(length(min = 1))]
    path: String,
    /// Read at most this many bytes, cut between characters.
    max_bytes: Option<u64>,
}

/// The file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The text, or its first `maxBytes`.
    content: String,
    /// The absolute path.
    path: String,
    /// The size of the whole file in bytes.
    size: u64,
    /// Present if `content` is only the beginning.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

pub(crate) const TOOL: Registration = Registration {
    name: "tool::file_read",
    enabled: |tools| tools.file_read.enabled,
    build: |deps| typed(FileRead(deps.host.clone())),
};

struct FileRead(Host);

impl TypedTool for FileRead {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    fn canonical(&self, arguments: Value) -> Value {
        self.0.canonical_in_workspace(arguments, "path")
    }

    async fn run(&self, params: Params, _: &CallContext) -> Result<Outcome, ToolError> {
        let root = self.0.workspace().clone();
        let place = located(root.locate(&params.path), "path")?;
        let ceiling = self.0.settings().limits.artifact_bytes;
        let limit = params.max_bytes.unwrap_or(ceiling).min(ceiling);
        let host = self.0.clone();
        blocking(move || {
            let shown = root.absolute(&place);
            // Beyond the limit, because redaction comes before the cut: half a secret would not be
            // recognised.
            let file = files::read_text(root.jail(), &place, limit.saturating_add(PAST_THE_CUT))
                .map_err(|e| file_failure(&e, &shown))?;
            let (content, cut) = host.redacted_cut(&file.text, limit);
            Outcome::of(&Output {
                content,
                path: shown,
                size: file.size,
                truncated: file.truncated || cut,
            })
        })
        .await
    }
}
