//! `Edit`

use manyhands_hands::Matches;
use manyhands_hands::local::LocalFiles;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{NodeTool, blocking, tool};

/// Edit a file of this machine by replacing exact text, literally.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Params {
    /// Path to the file. Relative paths start at the node's workspace.
    #[schemars(length(min = 1))]
    path: String,
    /// Exact text to find and replace.
    #[schemars(length(min = 1))]
    old_string: String,
    /// Replacement text.
    new_string: String,
    /// Replace all occurrences. When false, exactly one match is required.
    replace_all: Option<bool>,
}

pub(super) fn edit(files: LocalFiles) -> NodeTool {
    tool::<Params, _>("Edit", "filesystem.edit", move |params, _| {
        let files = files.clone();
        let matches = if params.replace_all == Some(true) {
            Matches::All
        } else {
            Matches::One
        };
        Box::pin(blocking(move || {
            files.edit(
                &params.path,
                &params.old_string,
                &params.new_string,
                matches,
            )
        }))
    })
}
