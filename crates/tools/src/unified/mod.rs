//! The unified agent's tools, one file each. They work in `file_cache_dir` and `file_state_dir`.

mod acp_desk;
mod acp_permit;
mod acp_spawn;
mod bash;
mod command;
pub mod contacts_send;
mod envelope;
mod message_react;
mod plan_create;
mod powershell;
mod read_file;
mod spawn;
mod telegram;
mod telegram_send_file;
mod telegram_send_photo;
mod telegram_send_voice;
pub mod todo_update;
mod url_fetch;
mod web_search;
mod write_file;

use std::sync::Arc;

use manyhands_config::Tools;
use manyhands_core::{RunsOn, Tool, ToolSpec, Typed};
use manyhands_host::machine::Host;
use manyhands_host::web::Web;
use manyhands_messaging::Chats;

use super::ground::AgentToolDeps;

/// Builds the enabled tools.
pub fn tools(
    switches: &Tools,
    host: &Host,
    web: &Web,
    minds: &AgentToolDeps,
    chats: &Chats,
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
    if switches.todo_update.enabled {
        tools.push(Arc::new(Typed::new(todo_update::TodoUpdate(minds.clone()))));
    }
    if switches.contacts_send.enabled {
        let (people, ids) = (minds.people.clone(), minds.ids.clone());
        let send = contacts_send::ContactsSend { people, ids };
        tools.push(Arc::new(Typed::new(send)));
    }
    let telegram = telegram::Telegram {
        host: host.clone(),
        chats: chats.clone(),
    };
    let file = telegram_send_file::TelegramSendFile(telegram.clone());
    let photo = telegram_send_photo::TelegramSendPhoto(telegram.clone());
    // Outside of chats these two need a chat parameter, and an account to reach it.
    let used = |channel: &str| {
        let settings = minds.settings.current();
        let accounts = settings.channels.get(channel).map(|said| &said.accounts);
        accounts.is_some_and(|accounts| accounts.values().any(|account| account.enabled))
    };
    let voice = telegram_send_voice::TelegramSendVoice {
        telegram,
        outside: used("telegram"),
    };
    let react = message_react::MessageReact {
        chats: chats.clone(),
        outside: used("telegram") || used("slack"),
    };
    tools.push(Arc::new(Typed::new(file)));
    tools.push(Arc::new(Typed::new(photo)));
    tools.push(Arc::new(Typed::new(voice)));
    tools.push(Arc::new(Typed::new(react)));
    tools
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "unified").runs_on(RunsOn::Host)
}
