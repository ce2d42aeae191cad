//! `tool::file_write`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_hands::files::{self, TextWriteMode};
use manyhands_host::machine::{Host, blocking, jail_failure, located};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, typed};

/// Write a file of the workspace folder, whole or not at all. Parent directories are created.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// File path relative to the workspace root.
    #[schemars(length(min = 1))]
    path: String,
    /// Content to write to the file.
    content: String,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Always true: a failed write is an error.
    written: bool,
    /// The absolute path.
    path: String,
    /// The number of bytes written.
    size: u64,
}

pub(crate) const TOOL: Registration = Registration {
    name: "tool::file_write",
    enabled: |tools| tools.file_write.enabled,
    build: |deps| typed(FileWrite(deps.host.clone())),
};

struct FileWrite(Host);

impl TypedTool for FileWrite {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::WRITES)
    }

    fn canonical(&self, arguments: Value) -> Value {
        self.0.canonical_in_workspace(arguments, "path")
    }

    async fn run(&self, params: Params, _: &CallContext) -> Result<Outcome, ToolError> {
        let root = self.0.workspace().clone();
        let place = located(root.locate(&params.path), "path")?;
        // A name with a slash at its end is that of a folder.
        if place.is_root() || params.path.ends_with('/') {
            return Err(ToolError::parameter("path", "must name a file"));
        }
        let limit = self.0.settings().limits.request_bytes;
        blocking(move || {
            let path = root.absolute(&place);
            let written = files::write_text(
                root.jail(),
                &place,
                &params.content,
                TextWriteMode::Overwrite,
                limit,
            );
            let size = written.map_err(|e| jail_failure(&e, &path))?;
            Outcome::of(&Output {
                written: true,
                path,
                size,
            })
        })
        .await
    }
}
