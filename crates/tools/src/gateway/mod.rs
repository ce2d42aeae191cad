//! Discovery, artifacts and resources: `gateway_*` and related tools, one file each.

mod capabilities_discover;
mod capability_details;
mod code_execution_execute;
mod connections;
mod gateway_invoke;
mod gateway_list_artifacts;
mod gateway_list_workspace;
mod gateway_read_artifact;
mod gateway_write_artifact;
mod gateway_write_artifact_from_url;
mod resources;

use std::sync::Arc;

use manyhands_agent_services::ModelRegistry;
use manyhands_core::{Forwarder, Tool, ToolSpec, Typed};
use manyhands_host::artifacts::ArtifactStore;
use manyhands_host::web::Web;
use manyhands_host::{LiveSettings, Resources};
use tokio::sync::Semaphore;

use crate::finder::Finder;

pub use code_execution_execute::Scripts;
pub use connections::Connections;

/// Files parsed as JSON at once, since each is held in memory.
const JSON_READERS: usize = 2;

/// Dependencies of these tools.
pub struct GatewayDeps<'a> {
    pub artifacts: &'a ArtifactStore,
    pub resources: &'a Resources,
    pub connections: &'a Arc<dyn Connections>,
    pub web: &'a Web,
    pub model_registry: &'a Arc<ModelRegistry>,
    pub finder: &'a Arc<Finder>,
    pub scripts: &'a Scripts,
    pub settings: &'a LiveSettings,
}

/// Builds these tools.
pub fn tools(deps: &GatewayDeps<'_>) -> Vec<Arc<dyn Tool>> {
    let artifacts = || deps.artifacts.clone();
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Typed::new(gateway_write_artifact::WriteArtifact(
            artifacts(),
        ))),
        Arc::new(Typed::new(
            gateway_write_artifact_from_url::WriteArtifactFromUrl {
                artifacts: artifacts(),
                web: deps.web.clone(),
                resources: deps.resources.clone(),
            },
        )),
        Arc::new(Typed::new(gateway_read_artifact::ReadArtifact {
            artifacts: artifacts(),
            model_registry: deps.model_registry.clone(),
            places: Arc::new(Semaphore::new(JSON_READERS)),
        })),
        Arc::new(Typed::new(gateway_list_artifacts::ListArtifacts(
            artifacts(),
        ))),
        Arc::new(Typed::new(gateway_list_workspace::ListWorkspace {
            resources: deps.resources.clone(),
            connections: deps.connections.clone(),
        })),
    ];
    let finder = || deps.finder.clone();
    tools.push(Arc::new(Typed::new(capabilities_discover::Discover {
        finder: finder(),
        model_registry: deps.model_registry.clone(),
        settings: deps.settings.clone(),
    })));
    tools.push(Arc::new(Typed::new(capability_details::Details {
        finder: finder(),
    })));
    tools.push(Arc::new(code_execution_execute::Execute::new(deps.scripts)));
    tools.extend(resources::tools(deps.resources));
    tools
}

/// The tool that forwards calls to the tools of any server.
pub fn forwarder(deps: &GatewayDeps<'_>) -> Arc<dyn Forwarder> {
    Arc::new(gateway_invoke::Invoke::new(deps.finder.servers()))
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "gateway")
}
