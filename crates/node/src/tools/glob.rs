//! `Glob`

use manyhands_hands::local::{GlobRequest, LocalFiles};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{NodeTool, blocking, tool};

/// Find files by a glob pattern, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Params {
    /// Glob pattern (e.g. "**/*.md", "src/**/*.rs").
    #[schemars(length(min = 1))]
    pattern: String,
    /// Directory to search in. Relative paths start at the node's workspace.
    path: Option<String>,
    /// Include files excluded by ignore files. Default false.
    no_ignore: Option<bool>,
}

pub(super) fn glob(files: LocalFiles) -> NodeTool {
    tool::<Params, _>("Glob", "filesystem.list", move |params, call| {
        let files = files.clone();
        let request = GlobRequest {
            pattern: params.pattern,
            path: params.path,
            no_ignore: params.no_ignore == Some(true),
        };
        Box::pin(blocking(move || files.glob(&request, &call.cancel)))
    })
}
