//! `gsv__WriteFile`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::workspace::{Author, Workspace, canonical_path};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, always, typed};

/// Write or create a file in the agent's workspace. Parent directories are created. Writing
/// under `skills/` makes or updates the agent's own copy and leaves the global skill alone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// File path relative to the workspace root.
    #[schemars(length(min = 1))]
    path: String,
    /// Content to write.
    content: String,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The requested path.
    path: String,
    /// The size in bytes.
    size: u64,
    /// Always true: a failed write is an error.
    written: bool,
    /// The content type, from the extension.
    content_type: &'static str,
}

pub(crate) const TOOL: Registration = Registration {
    name: "gsv__WriteFile",
    enabled: always,
    build: |deps| typed(WriteFile(deps.workspace.clone())),
};

struct WriteFile(Workspace);

impl TypedTool for WriteFile {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::WRITES)
    }

    fn canonical(&self, arguments: Value) -> Value {
        canonical_path(arguments)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let Params { path, content } = params;
        // Set by clients that edit a file they have read: a newer version is not overwritten.
        let seen = context.if_version.as_deref();
        let author = Author::of(context);
        let written = self.0.write(&context.agent, &path, content, seen, &author);
        let written = written.await?;
        Outcome::of(&Output {
            path,
            size: written.size,
            written: true,
            content_type: written.content_type,
        })
    }
}
