//! Discovery, artifacts and resources: `gateway_*` and related tools, one file each.

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
use manyhands_agent_services::Thinkers;
use manyhands_core::{Catalogue, Tool, ToolSpec, Typed};
use manyhands_host::artifacts::Shelf;
use manyhands_host::web::Web;
use manyhands_host::{LiveSettings, Resources};
use tokio::sync::Semaphore;

use crate::finder::Finder;

pub use connections::Connections;
pub use execute::Scripts;

/// Files parsed as JSON at once, since each is held in memory.
const JSON_READERS: usize = 2;

/// Dependencies of these tools.
pub struct GatewayDeps<'a> {
    pub shelf: &'a Shelf,
    pub resources: &'a Resources,
    pub connections: &'a Arc<dyn Connections>,
    pub web: &'a Web,
    pub thinkers: &'a Arc<Thinkers>,
    pub finder: &'a Arc<Finder>,
    pub scripts: &'a Scripts,
    pub settings: &'a LiveSettings,
    pub catalogue: &'a Arc<ArcSwap<Catalogue>>,
}

/// Builds these tools.
pub fn tools(deps: &GatewayDeps<'_>) -> Vec<Arc<dyn Tool>> {
    let shelf = || deps.shelf.clone();
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Typed::new(write_artifact::WriteArtifact(shelf()))),
        Arc::new(Typed::new(write_artifact_from_url::WriteArtifactFromUrl {
            shelf: shelf(),
            web: deps.web.clone(),
            resources: deps.resources.clone(),
        })),
        Arc::new(Typed::new(read_artifact::ReadArtifact {
            shelf: shelf(),
            thinkers: deps.thinkers.clone(),
            places: Arc::new(Semaphore::new(JSON_READERS)),
        })),
        Arc::new(Typed::new(list_artifacts::ListArtifacts(shelf()))),
        Arc::new(Typed::new(list_workspace::ListWorkspace {
            resources: deps.resources.clone(),
            connections: deps.connections.clone(),
        })),
    ];
    let finder = || deps.finder.clone();
    tools.push(Arc::new(invoke::Invoke::new(
        deps.finder.servers(),
        deps.catalogue,
    )));
    tools.push(Arc::new(Typed::new(discover::Discover {
        finder: finder(),
        thinkers: deps.thinkers.clone(),
        settings: deps.settings.clone(),
    })));
    tools.push(Arc::new(Typed::new(details::Details { finder: finder() })));
    tools.push(Arc::new(execute::Execute::new(deps.scripts)));
    tools.extend(resources::tools(deps.resources));
    tools
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "gateway")
}
