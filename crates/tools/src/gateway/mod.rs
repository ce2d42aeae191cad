//! Capabilities, artifacts and resources: `gateway_*` and the tools beside them, one file each.

mod connections;
mod details;
mod discover;
mod execute;
mod invoke;
mod list_artifacts;
mod list_workspace;
mod read_artifact;
mod resources;
mod write_artifact;
mod write_artifact_from_url;

use std::sync::Arc;

use arc_swap::ArcSwap;
use manyhands_agent_services::ModelRegistry;
use manyhands_core::{Catalogue, Tool, ToolSpec, Typed};
use manyhands_host::artifacts::ArtifactStore;
use manyhands_host::web::Web;
use manyhands_host::{LiveSettings, Resources};
use tokio::sync::Semaphore;

use crate::finder::Finder;

pub use connections::Connections;
pub use execute::Scripts;

/// How many files are read as JSON at once, since each is in memory while it is.
const JSON_READERS: usize = 2;

/// What the tools of artifacts and resources stand on.
pub struct Ground<'a> {
    pub artifacts: &'a ArtifactStore,
    pub resources: &'a Resources,
    pub connections: &'a Arc<dyn Connections>,
    pub web: &'a Web,
    pub model_registry: &'a Arc<ModelRegistry>,
    pub finder: &'a Arc<Finder>,
    pub scripts: &'a Scripts,
    pub settings: &'a LiveSettings,
    pub catalogue: &'a Arc<ArcSwap<Catalogue>>,
}

/// The tools for artifacts and resources.
pub fn tools(ground: &Ground<'_>) -> Vec<Arc<dyn Tool>> {
    let artifacts = || ground.artifacts.clone();
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Typed::new(write_artifact::WriteArtifact(artifacts()))),
        Arc::new(Typed::new(write_artifact_from_url::WriteArtifactFromUrl {
            artifacts: artifacts(),
            web: ground.web.clone(),
            resources: ground.resources.clone(),
        })),
        Arc::new(Typed::new(read_artifact::ReadArtifact {
            artifacts: artifacts(),
            model_registry: ground.model_registry.clone(),
            places: Arc::new(Semaphore::new(JSON_READERS)),
        })),
        Arc::new(Typed::new(list_artifacts::ListArtifacts(artifacts()))),
        Arc::new(Typed::new(list_workspace::ListWorkspace {
            resources: ground.resources.clone(),
            connections: ground.connections.clone(),
        })),
    ];
    let finder = || ground.finder.clone();
    tools.push(Arc::new(invoke::Invoke::new(
        ground.finder.servers(),
        ground.catalogue,
    )));
    tools.push(Arc::new(Typed::new(discover::Discover {
        finder: finder(),
        model_registry: ground.model_registry.clone(),
        settings: ground.settings.clone(),
    })));
    tools.push(Arc::new(Typed::new(details::Details { finder: finder() })));
    tools.push(Arc::new(execute::Execute::new(ground.scripts)));
    tools.extend(resources::tools(ground.resources));
    tools
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "gateway")
}
