//! `write_file`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_hands::files::{self, TextWriteMode};
use manyhands_host::machine::{Host, blocking, jail_failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, typed};

/// Write a local file, overwriting or appending. Only `file_cache_dir` and `file_state_dir` can be written; parent
/// directories are created.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Target path. A relative path is below `file_cache_dir`. Supports `file_state_dir/<path>`.
    #[schemars(length(min = 1))]
    path: String,
    /// Text content to write.
    content: String,
    /// `overwrite` or `append`. Default `overwrite`.
    mode: Option<WriteMode>,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum WriteMode {
    Overwrite,
    Append,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The absolute path.
    path: String,
    /// Bytes written by this call.
    bytes_written: u64,
    /// Size of the file afterwards.
    size: u64,
    /// Write mode.
    mode: WriteMode,
}

pub(crate) const TOOL: Registration = Registration {
    name: "write_file",
    enabled: |tools| tools.write_file.enabled,
    build: |deps| typed(WriteFile(deps.host.clone())),
};

struct WriteFile(Host);

impl TypedTool for WriteFile {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::WRITES)
    }

    fn canonical(&self, arguments: Value) -> Value {
        self.0.canonical_place(arguments)
    }

    async fn run(&self, params: Params, _: &CallContext) -> Result<Outcome, ToolError> {
        let limit = self.0.settings().tools.write_file.max_bytes;
        let host = self.0.clone();
        blocking(move || {
            let place = host.to_write(&params.path)?;
            let path = place.shown();
            let mode = params.mode.unwrap_or(WriteMode::Overwrite);
            let how = match mode {
                WriteMode::Overwrite => TextWriteMode::Overwrite,
                WriteMode::Append => TextWriteMode::Append,
            };
            let size =
                files::write_text(place.root.jail(), &place.path, &params.content, how, limit)
                    .map_err(|e| jail_failure(&e, &path))?;
            Outcome::of(&Output {
                path,
                bytes_written: params.content.len() as u64,
                size,
                mode,
            })
        })
        .await
    }
}
