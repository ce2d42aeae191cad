//! `Grep`

use manyhands_hands::local::{GrepRequest, LocalFiles};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{NodeTool, blocking, tool};

/// Search file contents with a regular expression (Rust syntax).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Params {
    /// Regex pattern to search for.
    #[schemars(length(min = 1))]
    pattern: String,
    /// Directory to search in. Relative paths start at the node's workspace.
    path: Option<String>,
    /// File name glob pattern to filter files (e.g. "*.md", "*.{rs,ts}").
    include: Option<String>,
    /// Most matches to return. Default 100.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// Lines of context around each match. Default 0.
    context: Option<usize>,
    /// Include files excluded by ignore files. Default false.
    no_ignore: Option<bool>,
    /// Follow links that lead out of the directory. Default false.
    follow_links: Option<bool>,
}

pub(super) fn grep(files: LocalFiles) -> NodeTool {
    tool::<Params, _>("Grep", "text.search", move |params, call| {
        let files = files.clone();
        let request = GrepRequest {
            pattern: params.pattern,
            path: params.path,
            include: params.include,
            limit: params.limit,
            context: params.context.unwrap_or(0),
            no_ignore: params.no_ignore == Some(true),
            follow_links: params.follow_links == Some(true),
        };
        Box::pin(blocking(move || files.grep(&request, &call.cancel)))
    })
}
