//! Capabilities, artifacts and resources: `gateway_*` and the tools beside them, one file each.

mod connections;
mod details;
mod discover;
mod execute;
mod invoke;
mod list_artifacts;
mod list_workspace;
mod read_artifact;
pub(crate) mod resources;
mod write_artifact;
mod write_artifact_from_url;

use std::sync::Arc;

use manyhands_core::{Forwarder, Tool, ToolSpec, Typed};
use tokio::sync::Semaphore;

use crate::artifacts::Shelf;
use crate::finder::Finder;
use crate::minds::Thinkers;
use crate::settings::LiveSettings;
use crate::web::Web;

pub(crate) use connections::Connections;
pub(crate) use execute::Scripts;
use resources::Resources;

/// How many files are read as JSON at once, since each is in memory while it is.
const JSON_READERS: usize = 2;

/// What the tools of artifacts and resources stand on.
pub(crate) struct Ground<'a> {
    pub(crate) shelf: &'a Shelf,
    pub(crate) resources: &'a Resources,
    pub(crate) connections: &'a Arc<dyn Connections>,
    pub(crate) web: &'a Web,
    pub(crate) thinkers: &'a Arc<Thinkers>,
    pub(crate) finder: &'a Arc<Finder>,
    pub(crate) scripts: &'a Scripts,
    pub(crate) settings: &'a LiveSettings,
}

/// The tools for artifacts and resources.
pub(crate) fn tools(ground: &Ground<'_>) -> Vec<Arc<dyn Tool>> {
    let shelf = || ground.shelf.clone();
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Typed::new(write_artifact::WriteArtifact(shelf()))),
        Arc::new(Typed::new(write_artifact_from_url::WriteArtifactFromUrl {
            shelf: shelf(),
            web: ground.web.clone(),
            resources: ground.resources.clone(),
        })),
        Arc::new(Typed::new(read_artifact::ReadArtifact {
            shelf: shelf(),
            thinkers: ground.thinkers.clone(),
            places: Arc::new(Semaphore::new(JSON_READERS)),
        })),
        Arc::new(Typed::new(list_artifacts::ListArtifacts(shelf()))),
        Arc::new(Typed::new(list_workspace::ListWorkspace {
            resources: ground.resources.clone(),
            connections: ground.connections.clone(),
        })),
    ];
    let finder = || ground.finder.clone();
    tools.push(Arc::new(Typed::new(discover::Discover {
        finder: finder(),
        thinkers: ground.thinkers.clone(),
        settings: ground.settings.clone(),
    })));
    tools.push(Arc::new(Typed::new(details::Details { finder: finder() })));
    tools.push(Arc::new(execute::Execute::new(ground.scripts)));
    tools.extend(resources::tools(ground.resources));
    tools
}

/// The tool that forwards calls to the tools of any server.
pub(crate) fn forwarder(ground: &Ground<'_>) -> Arc<dyn Forwarder> {
    Arc::new(invoke::Invoke::new(ground.finder.servers()))
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "gateway")
}
