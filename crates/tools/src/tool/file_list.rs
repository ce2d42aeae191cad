//! `tool::file_list`

use manyhands_core::{CallContext, Effects, Outcome, Timestamp, ToolError, ToolSpec, TypedTool};
use manyhands_guard::{EntryKind, ListedEntry};
use manyhands_hands::files::{self, Depth, MAX_COUNTED};
use manyhands_host::machine::{Host, blocking, jail_failure, located};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, typed};

/// List a directory of the workspace folder with size and time of each entry. `recursive` lists everything
/// below it too, hidden and ignored files included, named by their way from the directory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Directory path relative to the workspace root; "." is the root itself.
    path: String,
    /// Whether to list subdirectories too. Default false.
    recursive: Option<bool>,
}

/// Contents of a directory.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The absolute path of the directory.
    path: String,
    /// Its entries.
    entries: Vec<FileListing>,
    /// Present if there are more entries than listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Number of entries, if not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    /// True if there are more: counting stops at 250,000.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    total_is_minimum: bool,
    /// Entries left out: pipes, sockets, and links that lead outside or nowhere.
    #[serde(skip_serializing_if = "is_zero")]
    skipped: u64,
}

#[derive(Serialize, JsonSchema)]
struct FileListing {
    /// Name; with `recursive` the path from the directory.
    name: String,
    /// Type.
    r#type: Type,
    /// Its size in bytes; 0 for a directory.
    size: u64,
    /// When it was last changed, RFC 3339.
    modified: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Type {
    File,
    Directory,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<ListedEntry> for FileListing {
    fn from(entry: ListedEntry) -> Self {
        Self {
            name: entry.name,
            r#type: if entry.kind == EntryKind::Dir {
                Type::Directory
            } else {
                Type::File
            },
            size: entry.size,
            modified: Timestamp(entry.modified_ms).rfc3339(),
        }
    }
}

pub(crate) const TOOL: Registration = Registration {
    name: "tool::file_list",
    enabled: |tools| tools.file_list.enabled,
    build: |deps| typed(FileList(deps.host.clone())),
};

struct FileList(Host);

impl TypedTool for FileList {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS)
    }

    fn canonical(&self, arguments: Value) -> Value {
        self.0.canonical_in_workspace(arguments, "path")
    }

    async fn run(&self, params: Params, _: &CallContext) -> Result<Outcome, ToolError> {
        let root = self.0.workspace().clone();
        let place = located(root.locate(&params.path), "path")?;
        let limit = self.0.settings().tools.file_list.max_entries as usize;
        let depth = if params.recursive == Some(true) {
            Depth::All
        } else {
            Depth::One
        };
        blocking(move || {
            let path = root.absolute(&place);
            let listing = files::list(root.jail(), &place, depth, limit)
                .map_err(|e| jail_failure(&e, &path))?;
            Outcome::of(&Output {
                path,
                entries: listing.entries.into_iter().map(FileListing::from).collect(),
                truncated: listing.truncated,
                total: listing.truncated.then_some(listing.total.min(MAX_COUNTED)),
                // Counting stops there, so that a huge folder cannot occupy the call.
                total_is_minimum: listing.total > MAX_COUNTED,
                skipped: listing.skipped,
            })
        })
        .await
    }
}
