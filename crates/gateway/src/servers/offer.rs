//! The tools of a server that are offered, under the names they have here.

use std::collections::BTreeMap;

use manyhands_config::McpServer;
use manyhands_core::{Pattern, ServerName, ToolName};
use manyhands_store::Pin;
use serde_json::Value;

use super::naming::Naming;

/// Whether the owner lets a tool of a server be offered.
fn offers(config: &McpServer, tool: &str) -> bool {
    let named = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(tool));
    named(&config.tools) && !named(&config.hide)
}

/// One tool that is offered.
#[derive(Debug)]
pub(crate) struct Offered {
    /// Its name in the catalogue.
    pub(crate) name: ToolName,
    /// Its name there.
    pub(crate) there: String,
    /// What is shown of it, under the name it has on its server's own path.
    pub(crate) definition: Value,
}

/// The tools that are offered, by their names on the server's own path.
#[derive(Debug, Default)]
pub(crate) struct Offer(pub(crate) BTreeMap<String, Offered>);

impl Offer {
    pub(super) fn new(server: &ServerName, config: &McpServer, pins: &[Pin]) -> Self {
        let mut naming = Naming::new(server);
        let mut offer = BTreeMap::new();
        for pin in pins
            .iter()
            .filter(|pin| pin.present && offers(config, &pin.name))
        {
            let taken = pin.taken.as_ref();
            let read = taken.and_then(|taken| serde_json::from_str(&taken.definition).ok());
            let Some(Value::Object(mut definition)) = read else {
                continue;
            };
            let ours = config.rename.get(&pin.name).unwrap_or(&pin.name);
            definition.insert("name".to_owned(), ours.as_str().into());
            if let Some(said) = config.descriptions.get(&pin.name) {
                definition.insert("description".to_owned(), said.as_str().into());
            }
            let offered = Offered {
                name: naming.name(ours),
                there: pin.name.clone(),
                definition: Value::Object(definition),
            };
            offer.insert(ours.clone(), offered);
        }
        Self(offer)
    }
}
