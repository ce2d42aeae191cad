//! The unified agent's tools: one file each. They work in `file_cache_dir` and `file_state_dir`.

mod acp_desk;
mod acp_permit;
mod acp_spawn;
mod bash;
mod command;
mod envelope;
mod plan_create;
mod powershell;
mod read_file;
mod spawn;
mod url_fetch;
mod web_search;
mod write_file;

use std::sync::Arc;

use manyhands_config::Tools;
use manyhands_core::{RunsOn, Tool, ToolSpec, Typed};

use super::MindGround;
use crate::host::Host;
use crate::web::Web;

/// Every tool of the family that is switched on.
pub(crate) fn tools(
    switches: &Tools,
    host: &Host,
    web: &Web,
    minds: &MindGround,
) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if switches.read_file.enabled {
        tools.push(Arc::new(Typed::new(read_file::ReadFile(host.clone()))));
    }
    if switches.write_file.enabled {
        tools.push(Arc::new(Typed::new(write_file::WriteFile(host.clone()))));
    }
    if switches.bash.enabled {
        let (host, ids) = (host.clone(), minds.ids.clone());
        tools.push(Arc::new(Typed::new(bash::Bash { host, ids })));
    }
    if switches.powershell.enabled {
        tools.push(Arc::new(Typed::new(powershell::PowerShell(host.clone()))));
    }
    if switches.url_fetch.enabled {
        let (web, host) = (web.clone(), host.clone());
        tools.push(Arc::new(Typed::new(url_fetch::UrlFetch { web, host })));
    }
    if switches.web_search.enabled {
        tools.push(Arc::new(Typed::new(web_search::WebSearch(web.clone()))));
    }
    if switches.spawn.enabled {
        tools.push(Arc::new(Typed::new(spawn::Spawn(minds.clone()))));
    }
    if switches.acp_spawn.enabled {
        let (minds, host, web) = (minds.clone(), host.clone(), web.clone());
        let spawn = acp_spawn::AcpSpawn::new(minds, host, web);
        tools.push(Arc::new(Typed::new(spawn)));
        tools.push(Arc::new(Typed::new(acp_permit::AcpPermit)));
    }
    if switches.plan_create.enabled {
        tools.push(Arc::new(Typed::new(plan_create::PlanCreate(minds.clone()))));
    }
    tools
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "unified").runs_on(RunsOn::Host)
}
