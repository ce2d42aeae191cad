//! `tool::apply_patch`

use manyhands_core::{CallContext, Effects, ErrorCode, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_guard::RelPath;
use manyhands_guard::{EntryKind, JailError};
use manyhands_hands::patch::{self, ApplyError, FileReport};
use manyhands_hands::{LocateError, Root};
use manyhands_host::machine::{Host, blocking, jail_failure, located};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, typed};

/// Apply a unified diff in the workspace folder, whole or not at all. With the path of a file the patch is for that file,
/// whatever name it gives; with the path of a directory it may change, create, delete, rename and copy any number of
/// files below it. Context must stand in the file exactly; a hunk is looked for up to 1,000 lines from where it says it is.
/// A hunk that does not apply changes nothing and says which and why.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// File path to apply the patch to, or a directory that its names are below; relative to the workspace root.
    path: String,
    /// Unified diff.
    #[schemars(length(min = 1))]
    patch: String,
}

/// The outcome.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Always true: a patch that does not apply is an error.
    patched: bool,
    /// The absolute path.
    path: String,
    /// What was done to each file.
    files: Vec<Patched>,
}

#[derive(Serialize, JsonSchema)]
struct Patched {
    /// Absolute path, the new one if it was renamed.
    path: String,
    /// Original path of a renamed or copied file.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Change: modified, created, deleted, renamed or copied.
    action: &'static str,
    /// Where its hunks were applied.
    hunks: Vec<Hunk>,
}

#[derive(Serialize, JsonSchema)]
struct Hunk {
    /// The line it was applied at.
    line: usize,
    /// Distance from the line it named.
    offset: isize,
}

pub(crate) const TOOL: Registration = Registration {
    name: "tool::apply_patch",
    enabled: |tools| tools.apply_patch.enabled,
    build: |deps| typed(ApplyPatch(deps.host.clone())),
};

struct ApplyPatch(Host);

impl TypedTool for ApplyPatch {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS.and(Effects::WRITES))
    }

    fn canonical(&self, arguments: Value) -> Value {
        self.0.canonical_in_workspace(arguments, "path")
    }

    async fn run(&self, params: Params, _: &CallContext) -> Result<Outcome, ToolError> {
        let root = self.0.workspace().clone();
        let place: Result<RelPath, LocateError> = root.locate(&params.path);
        let place = located(place, "path")?;
        blocking(move || {
            let shown = root.absolute(&place);
            let parsed = patch::parse(&params.patch)
                .map_err(|e| ToolError::parameter("patch", e.to_string()))?;
            // Decided by what exists: a patch for a single file may call it by another name.
            let there = root
                .jail()
                .metadata(&place)
                .map_err(|e| jail_failure(&e, &shown))?;
            let reports = if there.is_some_and(|meta| meta.kind == EntryKind::Dir) {
                patch::apply_to_dir(root.jail(), &place, &parsed)
            } else {
                patch::apply_to_file(root.jail(), &place, &parsed).map(|report| vec![report])
            };
            let reports = reports.map_err(|e| refusal(&e))?;
            Outcome::of(&Output {
                patched: true,
                path: shown,
                files: reports
                    .into_iter()
                    .map(|report| patched(&root, report))
                    .collect(),
            })
        })
        .await
    }
}

fn patched(root: &Root, report: FileReport) -> Patched {
    Patched {
        path: root.absolute(&report.path),
        from: report.from.as_ref().map(|from| root.absolute(from)),
        action: report.action.as_str(),
        hunks: report
            .hunks
            .iter()
            .map(|hunk| Hunk {
                line: hunk.at_line,
                offset: hunk.offset,
            })
            .collect(),
    }
}

fn refusal(error: &ApplyError) -> ToolError {
    let code = match error {
        ApplyError::SeveralFiles { .. } => {
            return ToolError::parameter("path", error.to_string())
                .hint("or give the directory that the patch's names are below");
        }
        ApplyError::Missing { .. } => ErrorCode::NotFound,
        ApplyError::Exists { .. } | ApplyError::NotEmptied { .. } | ApplyError::Hunk { .. } => {
            ErrorCode::Conflict
        }
        ApplyError::FileTooLarge { .. } | ApplyError::TotalTooLarge => ErrorCode::TooLarge,
        ApplyError::File {
            error: JailError::Full,
            ..
        } => ErrorCode::StorageFull,
        ApplyError::File {
            error: JailError::Changed,
            ..
        } => ErrorCode::Conflict,
        ApplyError::NotInPlace | ApplyError::Unnamed { .. } | ApplyError::Name { .. } => {
            ErrorCode::InvalidArguments
        }
        _ => ErrorCode::Failed,
    };
    let failure = ToolError::new(code, error.to_string());
    match error {
        ApplyError::Hunk { .. } => {
            failure.hint("nothing was changed; read the file again and create a new patch")
        }
        _ => failure,
    }
}
