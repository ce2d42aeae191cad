//! What a node offers when it connects, validated before anything is used.

use std::collections::BTreeSet;

use manyhands_core::{NodeId, ToolError, ToolName};
use manyhands_wire::{
    ADDITION_CANCEL, ADDITION_CHECKED, ADDITION_FULL_OUTPUT, ADDITION_OUTPUT, ADDITION_SANDBOXED,
    ADDITION_TERMINAL, ADDITION_WATCH, CAPABILITIES, ConnectParams, LeftOutTool, NodeRuntime,
    ToolDefinition,
};
use serde_json::Value;

use super::names::full_name;

/// The most tools of one node.
const MAX_TOOLS: usize = 128;
/// The longest description plus schema of a tool.
const MAX_DESCRIPTION: usize = 64 * 1024;

/// A validated offer.
#[derive(Debug)]
pub struct Offer {
    pub(super) platform: String,
    pub(super) version: String,
    pub(super) capabilities: Vec<String>,
    pub(super) tools: Vec<Tool>,
    /// Tools with an unusable schema; the others are offered all the same.
    pub(super) left_out: Vec<LeftOutTool>,
    pub(super) cancels: bool,
    pub(super) checked: bool,
    pub(super) prints: bool,
    pub(super) full_output: bool,
    pub(super) watched: bool,
    /// Whether it says that its programs and writes are sandboxed.
    pub(super) sandboxed: bool,
    /// Whether its owner allows terminals.
    pub(super) terminals: bool,
}

/// An offered tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
    pub(super) capabilities: Vec<String>,
}

impl Offer {
    /// Validates an offer: each tool has capabilities, a subset of the machine's; nothing unknown,
    /// nothing twice.
    pub fn read(params: ConnectParams) -> Result<Self, ToolError> {
        let runtime = params
            .node_runtime
            .ok_or_else(|| ToolError::parameter("nodeRuntime", "is required of a node"))?;
        let offered = params.tools.unwrap_or_default();
        if offered.len() > MAX_TOOLS {
            let message = format!("must be at most {MAX_TOOLS}");
            return Err(ToolError::parameter("tools", message));
        }
        host(&runtime)?;
        let (mut tools, mut left_out) = (Vec::new(), Vec::new());
        let mut names = BTreeSet::new();
        // A malformed tool rejects the whole offer (a broken node), an unusable schema only its
        // tool (often a third party's).
        for mut tool in offered
            .into_iter()
            .map(|tool| check(tool, &runtime))
            .collect::<Result<Vec<_>, _>>()?
        {
            if !names.insert(tool.name.clone()) {
                let message = format!("{} is listed twice", tool.name);
                return Err(ToolError::parameter("tools", message));
            }
            match usable(&mut tool.schema) {
                Ok(()) => tools.push(tool),
                Err(reason) => left_out.push(LeftOutTool {
                    tool: tool.name,
                    reason,
                }),
            }
        }
        if let Some(stray) = runtime
            .tool_capabilities
            .keys()
            .find(|name| !names.contains(*name))
        {
            let message = format!("{stray} is not one of the tools");
            return Err(ToolError::parameter(
                "nodeRuntime.toolCapabilities",
                message,
            ));
        }
        let knows = |addition: &str| params.additions.iter().any(|known| known == addition);
        Ok(Self {
            platform: short(&params.client.platform),
            version: short(&params.client.version),
            cancels: knows(ADDITION_CANCEL),
            checked: knows(ADDITION_CHECKED),
            prints: knows(ADDITION_OUTPUT),
            full_output: knows(ADDITION_FULL_OUTPUT),
            watched: knows(ADDITION_WATCH),
            sandboxed: knows(ADDITION_SANDBOXED),
            terminals: knows(ADDITION_TERMINAL),
            capabilities: runtime.host_capabilities,
            tools,
            left_out,
        })
    }

    /// Runs [`Offer::read`] on a blocking thread: compiling schemas takes a while.
    pub async fn read_aside(params: ConnectParams) -> Result<Self, ToolError> {
        let read = tokio::task::spawn_blocking(move || Self::read(params)).await;
        read.map_err(|e| ToolError::internal(e.to_string()))?
    }
}

impl Offer {
    /// The full names of the tools of `node` with this capability.
    pub(super) fn able_to(&self, node: &NodeId, capability: &str) -> Box<[String]> {
        let able = |tool: &&Tool| tool.capabilities.iter().any(|has| has == capability);
        let tools = self.tools.iter().filter(able);
        tools.map(|tool| full_name(node, &tool.name)).collect()
    }
}

fn host(runtime: &NodeRuntime) -> Result<(), ToolError> {
    known("nodeRuntime.hostCapabilities", &runtime.host_capabilities)
}

/// Rejects unknown and duplicate capabilities.
fn known(parameter: &str, capabilities: &[String]) -> Result<(), ToolError> {
    let mut seen = BTreeSet::new();
    for capability in capabilities {
        let capability = capability.as_str();
        if !CAPABILITIES.contains(&capability) {
            let all = CAPABILITIES.join(", ");
            let message = format!("unknown capability {capability:?}; known capabilities: {all}");
            return Err(ToolError::parameter(parameter, message));
        }
        if !seen.insert(capability) {
            return Err(ToolError::parameter(
                parameter,
                format!("{capability} is listed twice"),
            ));
        }
    }
    Ok(())
}

fn check(tool: ToolDefinition, runtime: &NodeRuntime) -> Result<Tool, ToolError> {
    let ToolDefinition {
        name,
        description,
        input_schema: schema,
    } = tool;
    let wrong = |message: String| Err(ToolError::parameter("tools", message));
    let plain = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'-';
    let fits = name.len() <= 64 && name.bytes().all(plain) && name.parse::<ToolName>().is_ok();
    if !fits {
        return wrong(format!(
            "{name:?} is not a tool's name: use 1-64 of A-Z, a-z, 0-9, _ and -"
        ));
    }
    if description.len() > MAX_DESCRIPTION || schema.to_string().len() > MAX_DESCRIPTION {
        return wrong(format!(
            "the definition of {name} exceeds {MAX_DESCRIPTION} bytes"
        ));
    }
    let parameter = format!("nodeRuntime.toolCapabilities.{name}");
    let Some(capabilities) = runtime.tool_capabilities.get(&name) else {
        return Err(ToolError::parameter(
            &parameter,
            "is required: the capabilities that the tool needs",
        ));
    };
    if capabilities.is_empty() {
        return Err(ToolError::parameter(
            &parameter,
            "must name at least one capability",
        ));
    }
    known(&parameter, capabilities)?;
    let lacks = |able: &&String| !runtime.host_capabilities.contains(able);
    if let Some(lacking) = capabilities.iter().find(lacks) {
        let message = format!("{lacking} is not among nodeRuntime.hostCapabilities");
        return Err(ToolError::parameter(&parameter, message));
    }
    Ok(Tool {
        name,
        description,
        schema,
        capabilities: capabilities.clone(),
    })
}

/// Completes a tool's schema, or returns why the tool cannot be offered.
fn usable(schema: &mut Value) -> Result<(), String> {
    manyhands_path::check_schema(schema).map_err(|why| format!("its inputSchema {why}"))?;
    // MCP clients reject a whole tool list if one schema lacks `"type": "object"`.
    if let Some(fields) = schema.as_object_mut() {
        fields.entry("type").or_insert_with(|| "object".into());
    }
    match schema["type"] == "object" {
        true => Ok(()),
        false => Err("its inputSchema must have the type object".to_owned()),
    }
}

/// A display name of limited length.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(change: impl FnOnce(&mut Value)) -> Result<Offer, String> {
        let mut params = json!({
            "minProtocol": 1, "maxProtocol": 1,
            "client": { "id": "laptop", "version": "1", "platform": "linux-x64", "mode": "node" },
            "tools": [{ "name": "Read", "description": "reads", "inputSchema": { "type": "object" } }],
            "nodeRuntime": {
                "hostCapabilities": ["filesystem.read", "shell.exec"],
                "toolCapabilities": { "Read": ["filesystem.read"] },
            },
        });
        change(&mut params);
        let params = serde_json::from_value(params).map_err(|e| e.to_string())?;
        Offer::read(params).map_err(|e| e.message)
    }

    #[test]
    fn a_valid_offer_is_accepted() {
        let offer = read(|_| {}).unwrap();
        assert_eq!(offer.tools[0].capabilities, ["filesystem.read"]);
        assert!(!offer.cancels && !offer.checked);
        let offer = read(|p| p["additions"] = json!(["tool.cancel", "theirs"])).unwrap();
        assert!(offer.cancels && !offer.checked);
        assert!(
            read(|p| p["tools"] = json!([])).is_err(),
            "a capability of no tool"
        );
    }

    #[test]
    fn a_tool_whose_schema_cannot_be_used_is_left_out_and_the_others_are_taken() {
        let level = |n: usize| {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            (
                format!("d{n}"),
                json!({ "allOf": [next, next, next, next] }),
            )
        };
        let mut defs: serde_json::Map<String, Value> = (0..40).map(level).collect();
        defs.insert("d40".to_owned(), json!({}));
        for (schema, says) in [
            (
                json!({ "$ref": "#/$defs/d0", "$defs": defs }),
                "expands to more than",
            ),
            (json!({ "type": "strin" }), "its inputSchema"),
            (json!({ "type": "array" }), "must have the type object"),
            (json!(7), "is not a JSON object"),
        ] {
            let offer = read(|p| {
                let invalid = json!({ "name": "Bad", "description": "", "inputSchema": schema });
                p["tools"].as_array_mut().unwrap().push(invalid);
                p["nodeRuntime"]["toolCapabilities"]["Bad"] = json!(["shell.exec"]);
            });
            let offer = offer.unwrap();
            assert_eq!(offer.tools.len(), 1);
            assert_eq!(offer.tools[0].name, "Read");
            let [left] = offer.left_out.as_slice() else {
                panic!("{:?}", offer.left_out);
            };
            assert_eq!(left.tool, "Bad");
            assert!(left.reason.contains(says), "{}", left.reason);
        }
        assert!(read(|_| {}).unwrap().left_out.is_empty());
    }

    #[test]
    fn an_offer_out_of_order_is_refused_by_name() {
        let runtime = |path: &'static str, value: Value| {
            move |p: &mut Value| *p.pointer_mut(path).unwrap() = value
        };
        let host = "/nodeRuntime/hostCapabilities";
        let tool = "/nodeRuntime/toolCapabilities/Read";
        for (change, says) in [
            (
                runtime(host, json!(["filesystem.read", "x"])),
                "unknown capability \"x\"",
            ),
            (
                runtime(host, json!(["filesystem.read", "filesystem.read"])),
                "listed twice",
            ),
            (
                runtime(host, json!(["shell.exec"])),
                "is not among nodeRuntime.hostCapabilities",
            ),
            (runtime(tool, json!([])), "at least one"),
            (runtime(tool, json!(["text.search"])), "is not among"),
            (
                runtime("/nodeRuntime/toolCapabilities", json!({})),
                "toolCapabilities.Read",
            ),
            (
                runtime("/tools/0/name", json!("a__b c")),
                "not a tool's name",
            ),
            (runtime("/tools/0/name", json!("")), "not a tool's name"),
        ] {
            let refused = read(change).unwrap_err();
            assert!(refused.contains(says), "{refused} / {says}");
        }
        let twice = read(|p| {
            let tool = p["tools"][0].clone();
            p["tools"].as_array_mut().unwrap().push(tool);
        });
        assert!(twice.unwrap_err().contains("listed twice"));
        let none = read(|p| drop(p.as_object_mut().unwrap().remove("nodeRuntime")));
        assert!(none.unwrap_err().contains("nodeRuntime"));
    }
}
