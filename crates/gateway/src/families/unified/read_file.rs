//! `read_file`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_hands::files;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::{Host, PAST_THE_CUT, blocking, file_failure};

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
    /// The text, or its beginning.
    content: String,
    /// The size of the whole file in bytes.
    size: u64,
    /// Whether `content` is only the beginning.
    truncated: bool,
}

pub(super) struct ReadFile(pub(super) Host);

impl TypedTool for ReadFile {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec("read_file").effects(Effects::READS)
    }

    fn canonical(&self, arguments: Value) -> Value {
        self.0.canonical_place(arguments)
    }

    async fn run(&self, params: Params, _: &CallContext) -> Result<Outcome, ToolError> {
        let limit = self.0.settings().tools.read_file.max_bytes;
        let host = self.0.clone();
        blocking(move || {
            let place = host.to_read(&params.path)?;
            let path = place.shown();
            let file = files::read_text(place.root.jail(), &place.path, limit + PAST_THE_CUT)
                .map_err(|e| file_failure(&e, &path))?;
            let (content, cut) = host.redacted_cut(file.text, limit);
            Outcome::of(&Output {
                path,
                content,
                size: file.size,
                truncated: file.truncated || cut,
            })
        })
        .await
    }
}
