//! `Read`

use manyhands_hands::local::{LocalFiles, ReadRequest};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{NodeTool, blocking, tool};

/// Read a file of this machine: text with numbered lines, or an image. Text over 10 MB needs
/// `offset` or `limit`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Path to the file. Relative paths start at the node's workspace.
    #[schemars(length(min = 1))]
    path: String,
    /// Line number to start reading from (0-based). Ignored for image files.
    offset: Option<u64>,
    /// Maximum number of lines to read. Ignored for image files.
    limit: Option<u64>,
}

pub(super) fn read(files: LocalFiles) -> NodeTool {
    tool::<Params, _>("Read", "filesystem.read", move |params, call| {
        let files = files.clone();
        let request = ReadRequest {
            path: params.path,
            offset: params.offset,
            limit: params.limit,
        };
        Box::pin(blocking(move || files.read(&request, &call.cancel)))
    })
}
