//! `gateway_invoke`: calls one tool of any server, by the server's path.

use std::sync::Arc;

use manyhands_core::{Catalogue, CatalogueEntry, Effects, Forward, Forwarder, ToolError, ToolSpec};
use manyhands_federation::servers::{Servers, address};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::registration::{Registration, always, with_params};

/// Invoke a single tool on a registered server. Good for simple, one-shot tool calls.
///
/// Results are returned in full. For a tool that is likely to return a large amount of data prefer
/// code-execution_execute, which saves large results as artifacts.
///
/// Connections are used by themselves: with one connection of a service that one, with several the
/// first. To use another pass its PCID, which capabilities_discover with types ["connection"] finds.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Server name or path (e.g., "gmail", "gsv", "node/laptop", "dynamic/amplitude",
    /// "remote/linear"). Use capability_details to find exact server names and tool schemas.
    server: String,
    /// The tool name to call. Use capability_details to find exact tool names and their required
    /// arguments.
    tool: String,
    /// Tool arguments as key-value pairs. Do NOT include PCID here: use the top-level PCID parameter
    /// instead.
    #[serde(default)]
    arguments: Map<String, Value>,
    /// The connection to use, where the service has several.
    #[serde(rename = "PCID")]
    pcid: Option<String>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "gateway_invoke",
    enabled: always,
    build: |deps| CatalogueEntry::Forwarder(Arc::new(Invoke::new(deps.finder.servers()))),
};

struct Invoke {
    spec: ToolSpec,
    servers: Arc<Servers>,
}

impl Invoke {
    fn new(servers: &Arc<Servers>) -> Self {
        let spec = super::spec(TOOL.name).effects(Effects::READS);
        Self {
            spec: with_params::<Params>(spec),
            servers: servers.clone(),
        }
    }
}

impl Forwarder for Invoke {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn forward(&self, arguments: &Value, catalogue: &Catalogue) -> Result<Forward, ToolError> {
        let params = Params::deserialize(arguments)
            .map_err(|e| ToolError::parameter("arguments", e.to_string()))?;
        if params.arguments.contains_key("PCID") {
            let message = "PCID must not be in arguments";
            return Err(ToolError::parameter("arguments", message)
                .hint("pass it beside arguments, as the top-level parameter PCID"));
        }
        let tool = address::find(catalogue, &params.server, &params.tool)?;
        // The path replaces one forward by the call it stands for, not a chain of them.
        if tool.spec().name.as_str() == TOOL.name {
            return Err(ToolError::parameter(
                "tool",
                "gateway_invoke cannot call itself",
            ));
        }
        let connection = match params.pcid {
            Some(pcid) => {
                let service = self.servers.service_of(tool.spec()).ok_or_else(|| {
                    let message = format!("{} does not use connections", params.server);
                    ToolError::parameter("PCID", message).hint("omit it")
                })?;
                Some((service, pcid))
            }
            None => None,
        };
        Ok(Forward {
            tool: tool.spec().name.to_string(),
            arguments: Value::Object(params.arguments),
            connection,
        })
    }
}
