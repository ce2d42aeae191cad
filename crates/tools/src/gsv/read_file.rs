//! `gsv__ReadFile`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::workspace::{SkillSource, Workspace, WorkspaceEntry, canonical_path};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, always, typed};

/// Read a file or list a directory in the agent's workspace. Paths under `skills/` show
/// the agent's own copy where there is one and the global skill otherwise; listings merge both.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Path relative to the workspace root. Omit it or use "/" to list the root.
    /// Examples: "SOUL.md", "memory/", "skills/summarize/SKILL.md".
    path: Option<String>,
}

/// A file with its content, or a directory with what is in it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", untagged)]
pub enum Output {
    /// A file.
    #[serde(rename_all = "camelCase")]
    File {
        /// The requested path.
        path: String,
        /// The text of the file.
        content: String,
        /// Its size in bytes.
        size: u64,
        /// When it was last written, RFC 3339.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_modified: Option<String>,
        /// For `skills/*`: the key that was read.
        #[serde(skip_serializing_if = "Option::is_none")]
        resolved_path: Option<String>,
        /// For `skills/*`: which copy was found.
        #[serde(skip_serializing_if = "Option::is_none")]
        resolved_source: Option<SkillSource>,
    },
    /// A directory.
    Directory {
        /// The requested path.
        path: String,
        /// Files in it, as paths from the workspace root.
        files: Vec<String>,
        /// Directories in it, as paths from the workspace root, each ending in "/".
        directories: Vec<String>,
    },
}

pub(crate) const TOOL: Registration = Registration {
    name: "gsv__ReadFile",
    enabled: always,
    build: |deps| typed(ReadFile(deps.workspace.clone())),
};

struct ReadFile(Workspace);

impl TypedTool for ReadFile {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    fn canonical(&self, arguments: Value) -> Value {
        canonical_path(arguments)
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        let asked = params.path.unwrap_or_else(|| "/".to_owned());
        let path = if asked.is_empty() {
            "/".to_owned()
        } else {
            asked
        };
        // A file is as trusted as its author was when writing it.
        let (output, taint) = match self.0.find(&context.agent, &path).await? {
            WorkspaceEntry::File(file) => {
                let output = Output::File {
                    path,
                    content: file.text,
                    size: file.size,
                    last_modified: file.modified.map(|at| at.rfc3339()),
                    resolved_path: file.skill.as_ref().map(|_| file.key.clone()),
                    resolved_source: file.skill,
                };
                (output, file.taint)
            }
            WorkspaceEntry::Directory {
                files,
                directories,
                taint,
            } => {
                let output = Output::Directory {
                    path,
                    files,
                    directories,
                };
                (output, taint)
            }
        };
        Ok(Outcome::of(&output)?.tainted_by(taint))
    }
}
