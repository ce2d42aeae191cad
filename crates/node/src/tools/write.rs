//! `Write`

use manyhands_hands::local::LocalFiles;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{NodeTool, blocking, tool};

/// Write a file of this machine, whole or not at all. Parent directories are created.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Path to the file. Relative paths start at the node's workspace.
    #[schemars(length(min = 1))]
    path: String,
    /// Content to write.
    content: String,
}

pub(super) fn write(files: LocalFiles) -> NodeTool {
    tool::<Params, _>("Write", "filesystem.write", move |params, _| {
        let files = files.clone();
        Box::pin(blocking(move || files.write(&params.path, &params.content)))
    })
}
