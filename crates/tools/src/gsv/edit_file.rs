//! `gsv__EditFile`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_hands::{EditError, Matches};
use manyhands_host::workspace::{Author, SkillSource, Workspace, canonical_path};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, always, typed};

/// Edit a file by replacing exact text. The text must stand in the file exactly once unless
/// `replaceAll` is true. The replacement is literal. Editing a global skill writes the agent's own copy.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// File path relative to the workspace root.
    #[schemars(length(min = 1))]
    path: String,
    /// Exact text to find. Must not be empty.
    #[schemars(length(min = 1))]
    old_string: String,
    /// Replacement text.
    new_string: String,
    /// Replace all occurrences. Default false (requires `oldString` to match exactly once).
    replace_all: Option<bool>,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The requested path.
    path: String,
    /// Number of replacements.
    replacements: usize,
    /// Always true: a failed edit is an error.
    edited: bool,
    /// For `skills/*`: which copy was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved_source: Option<SkillSource>,
    /// For `skills/*`: the key that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved_path: Option<String>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "gsv__EditFile",
    enabled: always,
    build: |deps| typed(EditFile(deps.workspace.clone())),
};

struct EditFile(Workspace);

impl TypedTool for EditFile {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS.and(Effects::WRITES))
    }

    fn canonical(&self, arguments: Value) -> Value {
        canonical_path(arguments)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let Params {
            path,
            old_string,
            new_string,
            replace_all,
        } = params;
        let matches = if replace_all == Some(true) {
            Matches::All
        } else {
            Matches::One
        };
        let mut replacements = 0;
        let read = self
            .0
            // Fails if the file changed since it was read, so that no write in between is lost.
            .rewrite(&context.agent, &path, &Author::of(context), |text| {
                let edited =
                    manyhands_hands::replace_exact(text, &old_string, &new_string, matches)
                        .map_err(|error| refusal(&error, &path))?;
                replacements = edited.replacements;
                Ok(edited.text)
            })
            .await?;
        Outcome::of(&Output {
            path,
            replacements,
            edited: true,
            resolved_path: read.skill.as_ref().map(|_| read.key.clone()),
            resolved_source: read.skill,
        })
        .map(|outcome| outcome.tainted_by(read.taint))
    }
}

fn refusal(error: &EditError, path: &str) -> ToolError {
    match error {
        EditError::EmptyOldString => ToolError::parameter("oldString", "must not be empty"),
        EditError::NotFound => ToolError::parameter("oldString", format!("not found in '{path}'"))
            .hint("read the file and copy the text exactly, white space included"),
        EditError::Ambiguous { count } => {
            ToolError::parameter("oldString", format!("found {count} times in '{path}'"))
                .hint("pass replaceAll: true, or give more of the text around the one you mean")
        }
    }
}
