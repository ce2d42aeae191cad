//! The gateway's native tools, `gsv__*`: one file each.

mod config_get;
mod delete_file;
mod edit_file;
mod read_file;
mod write_file;

use std::sync::Arc;

use manyhands_core::{Tool, ToolSpec, Typed};

use crate::settings::LiveSettings;
use crate::workspace::Workspace;

/// Every tool of the family.
pub fn tools(workspace: &Workspace, settings: &LiveSettings) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Typed::new(read_file::ReadFile(workspace.clone()))),
        Arc::new(Typed::new(write_file::WriteFile(workspace.clone()))),
        Arc::new(Typed::new(edit_file::EditFile(workspace.clone()))),
        Arc::new(Typed::new(delete_file::DeleteFile(workspace.clone()))),
        Arc::new(Typed::new(config_get::ConfigGet(settings.clone()))),
    ]
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "gsv")
}
