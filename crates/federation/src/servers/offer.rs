//! The tools of a server that are published, with their catalogue names.

use std::collections::BTreeMap;
use std::sync::Arc;

use manyhands_config::McpServer;
use manyhands_core::{Pattern, ServerName, ToolName};
use manyhands_store::Pin;
use manyhands_wire::LeftOutTool;
use serde_json::{Map, Value};

use super::naming::Naming;

/// Returns whether the settings publish a tool.
fn offers(config: &McpServer, tool: &str) -> bool {
    let named = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(tool));
    named(&config.tools) && !named(&config.hide)
}

/// A published tool.
#[derive(Debug)]
pub struct Offered {
    /// Its name in the catalogue.
    pub name: ToolName,
    /// Its name on the server.
    pub there: String,
    /// Its definition as shown to clients of the server's own path.
    pub definition: Value,
}

/// The published tools, by their names on the server's own path.
#[derive(Debug, Default)]
pub struct Offer {
    pub tools: BTreeMap<String, Offered>,
    /// Tools left out because of an unusable schema; the others are published all the same.
    pub left_out: Vec<LeftOutTool>,
}

impl Offer {
    /// Runs [`Offer::new`] on a blocking thread: compiling the schemas of a large server takes a
    /// while.
    pub(super) async fn aside(
        server: &ServerName,
        config: &McpServer,
        pins: &Arc<Vec<Pin>>,
    ) -> Self {
        let (name, config, pins) = (server.clone(), config.clone(), pins.clone());
        let made = tokio::task::spawn_blocking(move || Self::new(&name, &config, &pins));
        made.await.unwrap_or_else(|error| {
            tracing::error!(event = "server_tools_read_failed", %server, %error, "failed to read the stored tools of a server");
            Self::default()
        })
    }

    fn new(server: &ServerName, config: &McpServer, pins: &[Pin]) -> Self {
        let mut naming = Naming::new(server);
        let mut offer = Self::default();
        for pin in pins
            .iter()
            .filter(|pin| pin.present && offers(config, &pin.name))
        {
            let taken = pin.approved.as_ref();
            let read = taken.and_then(|taken| serde_json::from_str(&taken.definition).ok());
            let Some(Value::Object(mut definition)) = read else {
                continue;
            };
            let left_out = |reason: String| {
                tracing::warn!(event = "server_tool_rejected", %server, tool = pin.name, reason, "a tool definition of a server is not used as it is");
                LeftOutTool {
                    tool: pin.name.clone(),
                    reason,
                }
            };
            if let Err(why) = schema_in(&definition, "inputSchema") {
                offer.left_out.push(left_out(why));
                continue;
            }
            if let Err(why) = schema_in(&definition, "outputSchema") {
                // An output schema only describes results; the tool works without it.
                definition.remove("outputSchema");
                offer
                    .left_out
                    .push(left_out(format!("{why}; the tool is offered without it")));
            }
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
            offer.tools.insert(ours.clone(), offered);
        }
        offer
    }
}

/// Checks a schema of a definition, if it has one.
fn schema_in(definition: &Map<String, Value>, key: &str) -> Result<(), String> {
    match definition.get(key) {
        Some(schema @ Value::Object(_)) => {
            manyhands_path::check_schema(schema).map_err(|why| format!("its {key} {why}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_store::PinnedDefinition;
    use serde_json::json;

    #[test]
    fn a_tool_whose_schema_cannot_be_used_is_left_out_and_the_others_are_offered() {
        let bomb = {
            let level = |n: usize| {
                let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
                (
                    format!("d{n}"),
                    json!({ "anyOf": [next, next, next, next] }),
                )
            };
            let mut defs: Map<String, Value> = (0..40).map(level).collect();
            defs.insert("d40".to_owned(), json!({}));
            json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": defs })
        };
        let plain = json!({ "type": "object" });
        let pin = |name: &str, input: &Value, output: &Value| Pin {
            name: name.to_owned(),
            approved: Some(PinnedDefinition {
                hash: String::new(),
                definition: json!({ "name": name, "inputSchema": input, "outputSchema": output })
                    .to_string(),
            }),
            pending: None,
            present: true,
        };
        let pins = [
            pin("bomb", &bomb, &plain),
            pin("half", &plain, &bomb),
            pin("good", &plain, &plain),
        ];
        let offer = Offer::new(&"s".parse().unwrap(), &McpServer::default(), &pins);
        let offered: Vec<(&str, bool)> = offer
            .tools
            .iter()
            .map(|(name, one)| (name.as_str(), one.definition.get("outputSchema").is_some()))
            .collect();
        assert_eq!(offered, [("good", true), ("half", false)]);
        let left: Vec<(&str, bool)> = offer
            .left_out
            .iter()
            .map(|one| {
                (
                    one.tool.as_str(),
                    one.reason.contains("expands to more than"),
                )
            })
            .collect();
        assert_eq!(left, [("bomb", true), ("half", true)]);
    }
}
