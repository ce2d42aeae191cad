//! The catalogue of the built-in tools.

use manyhands_core::{Catalogue, CatalogueEntry};

use crate::registration::{Registration, ToolDeps};
use crate::{gateway, gsv, resources, tool, unified};

/// What the files of each folder of tools register.
fn families() -> [&'static [&'static Registration]; 5] {
    [
        gateway::TOOLS,
        gsv::TOOLS,
        resources::TOOLS,
        tool::TOOLS,
        unified::TOOLS,
    ]
}

fn registrations() -> impl Iterator<Item = &'static Registration> {
    families().into_iter().flatten().copied()
}

/// Builds the tools that the current settings enable.
pub fn built_in(deps: &ToolDeps) -> Catalogue {
    let settings = deps.settings.current();
    let mut catalogue = Catalogue::default();
    for tool in registrations() {
        if !(tool.enabled)(&settings.tools) {
            // Its name stays known, so that a call fails with this reason and not as a misspelled
            // name.
            catalogue.disable(tool.name);
            continue;
        }
        let added = match (tool.build)(deps) {
            CatalogueEntry::Tool(tool) => catalogue.add(tool),
            CatalogueEntry::Forwarder(forwarder) => catalogue.add_forwarder(forwarder),
        };
        added.expect("built-in tools have names of their own");
    }
    catalogue
}

#[cfg(test)]
mod tests;
