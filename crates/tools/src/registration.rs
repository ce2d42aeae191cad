//! How a tool's file registers its tool, and the dependencies it is built from.

use std::sync::{Arc, OnceLock};

use manyhands_agent::Minds;
use manyhands_agent_services::{AgentMailer, ModelRegistry, People};
use manyhands_config::Tools;
use manyhands_core::{CatalogueEntry, Ids, ToolSpec, Typed, TypedTool, input_schema};
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
use schemars::JsonSchema;
use serde_json::Value;

use crate::agent_deps::AgentToolDeps;
use crate::connections::Connections;
use crate::finder::Finder;
use crate::scripts::Scripts;

/// A built-in tool. Each tool's file has one in a constant `TOOL`.
pub(crate) struct Registration {
    /// Its canonical name.
    pub name: &'static str,
    /// Its switch in the settings, or [`always`].
    pub enabled: fn(&Tools) -> bool,
    /// Builds it; see [`typed`].
    pub build: fn(&ToolDeps) -> CatalogueEntry,
}

/// For tools that only rules of the policy can deny.
pub(crate) fn always(_: &Tools) -> bool {
    true
}

/// A tool whose parameters and result are types.
pub(crate) fn typed(tool: impl TypedTool) -> CatalogueEntry {
    CatalogueEntry::Tool(Arc::new(Typed::new(tool)))
}

/// The schema and description of a tool that parses its parameters itself.
pub(crate) fn with_params<P: JsonSchema>(mut spec: ToolSpec) -> ToolSpec {
    let mut schema = input_schema::<P>();
    let description = schema.as_object_mut().and_then(|o| o.remove("description"));
    if let Some(Value::String(text)) = description {
        spec.description = text.into();
    }
    spec.input_schema = Arc::new(schema);
    spec
}

/// The dependencies of the built-in tools.
pub struct ToolDeps {
    /// The current settings.
    pub settings: LiveSettings,
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

impl ToolDeps {
    /// The dependencies of tools that use agents.
    pub(crate) fn agents(&self) -> AgentToolDeps {
        AgentToolDeps {
            minds: self.minds.clone(),
            settings: self.settings.clone(),
            ids: self.ids.clone(),
            workspace: self.workspace.clone(),
            blobs: self.blobs.clone(),
            post: self.post.clone(),
            people: self.people.clone(),
        }
    }

    /// Whether a platform has an enabled account.
    pub(crate) fn has_account(&self, channel: &str) -> bool {
        let settings = self.settings.current();
        let channel = settings.channels.get(channel);
        channel.is_some_and(|channel| channel.accounts.values().any(|account| account.enabled))
    }
}
