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

use arc_swap::ArcSwap;
use manyhands_core::{Catalogue, Tool, ToolSpec, Typed};

use super::MindGround;
use crate::chats::Chats;
use crate::cron::Cron;
use crate::nodes::Nodes;
use crate::nodes::transfer::Transfers;
use crate::settings::LiveSettings;
use crate::workspace::Workspace;

/// What the tools of the family stand on.
pub(crate) struct Ground<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) settings: &'a LiveSettings,
    pub(crate) nodes: &'a Arc<Nodes>,
    pub(crate) transfers: &'a Transfers,
    pub(crate) catalogue: &'a Arc<ArcSwap<Catalogue>>,
    pub(crate) minds: &'a MindGround,
    pub(crate) cron: &'a Cron,
    pub(crate) chats: &'a Chats,
}

/// Every tool of the family.
pub(crate) fn tools(ground: &Ground<'_>) -> Vec<Arc<dyn Tool>> {
    let Ground {
        workspace,
        settings,
        nodes,
        transfers,
        catalogue,
        minds,
        cron,
        chats,
    } = ground;
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
            catalogue: Arc::clone(catalogue),
        })),
        Arc::new(Typed::new(sessions_list::SessionsList((*minds).clone()))),
        Arc::new(Typed::new(memory_search::MemorySearch((*minds).clone()))),
        Arc::new(Typed::new(session_send::SessionSend((*minds).clone()))),
        Arc::new(Typed::new(cron::CronJobs((*cron).clone()))),
        Arc::new(Typed::new(message::Message((*chats).clone()))),
    ]
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "gsv")
}
