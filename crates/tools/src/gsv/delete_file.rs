//! `gsv__DeleteFile`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::workspace::{Workspace, canonical_path};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, always, typed};

/// Delete a file from the agent's workspace. It cannot be brought back. Deleting under `skills/`
/// removes the agent's own copy, so that the global skill shows again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// File path relative to the workspace root.
    #[schemars(length(min = 1))]
    path: String,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The requested path.
    path: String,
    /// Always true: a failed delete is an error.
    deleted: bool,
}

pub(crate) const TOOL: Registration = Registration {
    name: "gsv__DeleteFile",
    enabled: always,
    build: |deps| typed(DeleteFile(deps.workspace.clone())),
};

struct DeleteFile(Workspace);

impl TypedTool for DeleteFile {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::WRITES)
            .frees_storage()
    }

    fn canonical(&self, arguments: Value) -> Value {
        canonical_path(arguments)
    }

    async fn run(
        &self,
        Params { path }: Params,
        context: &CallContext,
    ) -> Result<Outcome, ToolError> {
        self.0.delete(&context.agent, &path).await?;
        Outcome::of(&Output {
            path,
            deleted: true,
        })
    }
}
