//! The guarded core tools, `tool::*`, one file each. They work in the workspace folder of this
//! machine, set by `workspace_root`.

mod agent_send;
mod agent_spawn;
mod apply_patch;
mod file_list;
mod file_read;
mod file_write;
mod shell_exec;
mod web_fetch;
mod web_search;

use std::sync::Arc;

use manyhands_config::Tools;
use manyhands_core::{RunsOn, Tool, ToolSpec, Typed};
use manyhands_host::machine::Host;
use manyhands_host::web::Web;

use super::ground::AgentToolDeps;

/// Builds the enabled tools.
pub fn tools(
    switches: &Tools,
    host: &Host,
    web: &Web,
    minds: &AgentToolDeps,
) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if switches.file_read.enabled {
        tools.push(Arc::new(Typed::new(file_read::FileRead(host.clone()))));
    }
    if switches.file_write.enabled {
        tools.push(Arc::new(Typed::new(file_write::FileWrite(host.clone()))));
    }
    if switches.file_list.enabled {
        tools.push(Arc::new(Typed::new(file_list::FileList(host.clone()))));
    }
    if switches.apply_patch.enabled {
        tools.push(Arc::new(Typed::new(apply_patch::ApplyPatch(host.clone()))));
    }
    if switches.shell_exec.enabled {
        tools.push(Arc::new(Typed::new(shell_exec::ShellExec(host.clone()))));
    }
    if switches.web_fetch.enabled {
        tools.push(Arc::new(Typed::new(web_fetch::WebFetch(web.clone()))));
    }
    if switches.web_search.enabled {
        tools.push(Arc::new(Typed::new(web_search::WebSearch(web.clone()))));
    }
    if switches.agent_spawn.enabled {
        tools.push(Arc::new(Typed::new(agent_spawn::AgentSpawn(minds.clone()))));
    }
    if switches.agent_send.enabled {
        tools.push(Arc::new(Typed::new(agent_send::AgentSend(minds.clone()))));
    }
    tools
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "tool").runs_on(RunsOn::Host)
}
