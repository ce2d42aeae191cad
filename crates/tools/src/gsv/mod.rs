//! The gateway's native tools, `gsv__*`: one file each.

mod config_get;
mod cron;
mod delete_file;
mod edit_file;
mod logs_get;
mod memory_search;
mod message;
mod read_file;
mod session_send;
mod sessions_list;
mod transfer;
mod write_file;

use std::sync::Arc;

use manyhands_core::{Tool, ToolSpec, Typed};
use manyhands_host::LiveSettings;
use manyhands_host::workspace::Workspace;
use manyhands_jobs::JobScheduler;
use manyhands_messaging::Chats;
use manyhands_node_registry::Nodes;
use manyhands_node_registry::transfer::Transfers;

use super::ground::AgentToolDeps;

/// Dependencies of these tools.
pub struct GsvDeps<'a> {
    pub workspace: &'a Workspace,
    pub settings: &'a LiveSettings,
    pub nodes: &'a Arc<Nodes>,
    pub transfers: &'a Transfers,
    pub minds: &'a AgentToolDeps,
    pub cron: &'a JobScheduler,
    pub chats: &'a Chats,
}

/// Builds these tools.
pub fn tools(deps: &GsvDeps<'_>) -> Vec<Arc<dyn Tool>> {
    let GsvDeps {
        workspace,
        settings,
        nodes,
        transfers,
        minds,
        cron,
        chats,
    } = deps;
    vec![
        Arc::new(Typed::new(read_file::ReadFile((*workspace).clone()))),
        Arc::new(Typed::new(write_file::WriteFile((*workspace).clone()))),
        Arc::new(Typed::new(edit_file::EditFile((*workspace).clone()))),
        Arc::new(Typed::new(delete_file::DeleteFile((*workspace).clone()))),
        Arc::new(Typed::new(config_get::ConfigGet((*settings).clone()))),
        Arc::new(Typed::new(logs_get::LogsGet(Arc::clone(nodes)))),
        Arc::new(Typed::new(transfer::Transfer {
            nodes: Arc::clone(nodes),
            transfers: (*transfers).clone(),
        })),
        Arc::new(Typed::new(sessions_list::SessionsList((*minds).clone()))),
        Arc::new(Typed::new(memory_search::MemorySearch((*minds).clone()))),
        Arc::new(Typed::new(session_send::SessionSend((*minds).clone()))),
        Arc::new(Typed::new(cron::CronJobs((*cron).clone()))),
        Arc::new(Typed::new(message::MessageTool((*chats).clone()))),
    ]
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "gsv")
}
