//! All built-in tools: their dependencies, and the catalogue they form.

use std::sync::{Arc, OnceLock};

use manyhands_agent::Minds;
use manyhands_agent_services::{AgentMailer, ModelRegistry, People};
use manyhands_config::Tools;
use manyhands_core::{Catalogue, Ids};
use manyhands_host::artifacts::ArtifactStore;
use manyhands_host::machine::Host;
use manyhands_host::web::Web;
use manyhands_host::workspace::Workspace;
use manyhands_host::{LiveSettings, Resources};
use manyhands_jobs::JobScheduler;
use manyhands_messaging::Chats;
use manyhands_node_registry::Nodes;
use manyhands_node_registry::transfer::Transfers;
use manyhands_store::Blobs;

use super::gateway::{Connections, Scripts};
use super::ground::AgentToolDeps;
use super::{gateway, gsv, tool, unified};
use crate::finder::Finder;

/// The dependencies of the built-in tools.
pub struct BuiltinTools {
    /// The agents' workspaces.
    pub workspace: Workspace,
    /// The running agents.
    pub minds: Arc<OnceLock<Minds>>,
    /// Connected nodes.
    pub nodes: Arc<Nodes>,
    /// File transfers.
    pub transfers: Transfers,
    /// This machine.
    pub host: Host,
    /// Outbound HTTP requests.
    pub web: Web,
    /// Ids.
    pub ids: Ids,
    /// The blob store.
    pub blobs: Blobs,
    /// Messages between agents.
    pub post: AgentMailer,
    /// Contacts and to-dos.
    pub people: People,
    /// Artifacts.
    pub artifacts: ArtifactStore,
    /// Collections that agents are granted.
    pub resources: Resources,
    /// Connected accounts.
    pub connections: Arc<dyn Connections>,
    /// The models.
    pub model_registry: Arc<ModelRegistry>,
    /// The search over the catalogue.
    pub finder: Arc<Finder>,
    /// Dependencies of scripts.
    pub scripts: Scripts,
    /// Jobs.
    pub cron: JobScheduler,
    /// Chats on messaging platforms.
    pub chats: Chats,
}

impl BuiltinTools {
    /// The catalogue of all enabled tools.
    pub fn catalogue(&self, settings: &LiveSettings) -> Catalogue {
        let switches = &settings.current().tools;
        let minds = AgentToolDeps {
            minds: self.minds.clone(),
            settings: settings.clone(),
            ids: self.ids.clone(),
            workspace: self.workspace.clone(),
            blobs: self.blobs.clone(),
            post: self.post.clone(),
            people: self.people.clone(),
        };
        let gsv = gsv::tools(&gsv::GsvDeps {
            workspace: &self.workspace,
            settings,
            nodes: &self.nodes,
            transfers: &self.transfers,
            minds: &minds,
            cron: &self.cron,
            chats: &self.chats,
        });
        let tool = tool::tools(switches, &self.host, &self.web, &minds);
        let unified = unified::tools(switches, &self.host, &self.web, &minds, &self.chats);
        let deps = gateway::GatewayDeps {
            artifacts: &self.artifacts,
            resources: &self.resources,
            connections: &self.connections,
            web: &self.web,
            model_registry: &self.model_registry,
            finder: &self.finder,
            scripts: &self.scripts,
            settings,
        };
        let gateway = gateway::tools(&deps);
        let mut catalogue = Catalogue::default();
        for name in switched_off(switches) {
            catalogue.disable(name);
        }
        for tool in gsv.into_iter().chain(tool).chain(unified).chain(gateway) {
            catalogue.add(tool).expect("built-in tool names are unique");
        }
        catalogue
            .add_forwarder(gateway::forwarder(&deps))
            .expect("built-in tools have names of their own");
        catalogue
    }
}

/// The names of the disabled tools.
fn switched_off(switches: &Tools) -> impl Iterator<Item = &'static str> {
    let all = [
        ("read_file", switches.read_file.enabled),
        ("write_file", switches.write_file.enabled),
        ("bash", switches.bash.enabled),
        ("powershell", switches.powershell.enabled),
        ("url_fetch", switches.url_fetch.enabled),
        ("web_search", switches.web_search.enabled),
        ("tool::file_read", switches.file_read.enabled),
        ("tool::file_write", switches.file_write.enabled),
        ("tool::file_list", switches.file_list.enabled),
        ("tool::apply_patch", switches.apply_patch.enabled),
        ("tool::shell_exec", switches.shell_exec.enabled),
        ("tool::web_fetch", switches.web_fetch.enabled),
        ("tool::web_search", switches.web_search.enabled),
        ("spawn", switches.spawn.enabled),
        ("acp_spawn", switches.acp_spawn.enabled),
        ("acp_permit", switches.acp_spawn.enabled),
        ("plan_create", switches.plan_create.enabled),
        ("todo_update", switches.todo_update.enabled),
        ("contacts_send", switches.contacts_send.enabled),
        ("tool::agent_spawn", switches.agent_spawn.enabled),
        ("tool::agent_send", switches.agent_send.enabled),
    ];
    all.into_iter().filter(|(_, on)| !on).map(|(name, _)| name)
}
