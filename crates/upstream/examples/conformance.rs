//! A client for the official MCP suite: it lists and uses whatever the server at the URL offers.
//!
//! `conformance client --command target/debug/examples/conformance --scenario tools_call`

use std::sync::Arc;

use async_trait::async_trait;
use manyhands_core::{OsEntropy, SystemClock};
use manyhands_guard::Supervisor;
use manyhands_upstream::{
    Hooks, McpClient, RpcError, Server, ServerRequestHandler, Transport, Upstream, UpstreamDeps,
    UpstreamError,
};
use serde_json::{Map, Value, json};

/// Accepts every form with its defaults.
struct Defaults;

#[async_trait]
impl ServerRequestHandler for Defaults {
    fn capabilities(&self) -> Map<String, Value> {
        let all = json!({ "elicitation": { "form": { "applyDefaults": true } }, "sampling": {}, "roots": {} });
        all.as_object().cloned().unwrap_or_default()
    }

    async fn handle(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        Ok(match method {
            "elicitation/create" => {
                let fields = params["requestedSchema"]["properties"].as_object();
                let fields = fields.into_iter().flatten();
                let filled = fields.map(|(name, field)| {
                    let value = field.get("default").cloned();
                    (name.clone(), value.unwrap_or_else(|| sample(field)))
                });
                json!({ "action": "accept", "content": filled.collect::<Map<_, _>>() })
            }
            "sampling/createMessage" => json!({
                "role": "assistant", "model": "none", "content": { "type": "text", "text": "hello" },
            }),
            _ => json!({ "roots": [] }),
        })
    }
}

/// Something that a schema allows.
fn sample(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("integer" | "number") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") | None => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let fields = fields.map(|(name, field)| (name.clone(), sample(field)));
            Value::Object(fields.collect())
        }
        _ => json!("text"),
    }
}

/// The calls that a scenario names, or one of each tool.
fn calls(tools: &[Value], context: &Value) -> Vec<(String, Value)> {
    if let Some(named) = context["toolCalls"].as_array() {
        let call =
            |call: &Value| Some((call["name"].as_str()?.to_owned(), call["arguments"].clone()));
        return named.iter().filter_map(call).collect();
    }
    let call = |tool: &Value| {
        let name = tool["name"].as_str()?;
        let arguments = match name {
            // It wants to see what arrived of another tool's schema.
            "json_schema_echo" => json!({ "schema": tools.first()?["inputSchema"] }),
            _ => sample(&tool["inputSchema"]),
        };
        Some((name.to_owned(), arguments))
    };
    tools.iter().filter_map(call).collect()
}

async fn run(url: String, context: Value) -> Result<(), UpstreamError> {
    let deps = UpstreamDeps {
        supervisor: Supervisor::new(1),
        clock: Arc::new(SystemClock::default()),
        entropy: Arc::new(OsEntropy),
    };
    let transport = Transport::Http {
        url,
        headers: Vec::new(),
    };
    let server = Upstream::new(Server::new("suite", transport), deps);
    let private = server.open_private(Some(Arc::new(Defaults))).await?;
    let hooks = Hooks::default();
    let tools = private.list_tools(&hooks).await?;
    for (name, arguments) in calls(&tools, &context) {
        match private.call_tool(&name, arguments, &hooks).await {
            Ok(_) | Err(UpstreamError::Rpc(_)) => {}
            Err(why) => return Err(why),
        }
    }
    // What a server does not offer it refuses; that is its right.
    if private.peer().can("resources") {
        for resource in private.list_resources(&hooks).await.unwrap_or_default() {
            let uri = resource["uri"].as_str().unwrap_or_default();
            let _ = private.read_resource(uri, &hooks).await;
        }
    }
    if private.peer().can("prompts") {
        for prompt in private.list_prompts(&hooks).await.unwrap_or_default() {
            let name = prompt["name"].as_str().unwrap_or_default();
            let _ = private.get_prompt(name, json!({}), &hooks).await;
        }
    }
    private.close().await;
    server.stop().await;
    Ok(())
}

#[tokio::main]
#[allow(clippy::disallowed_methods, clippy::print_stderr)] // the suite speaks by the environment
async fn main() {
    let url = std::env::args().next_back().unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context = serde_json::from_str(&context).unwrap_or_default();
    if let Err(why) = run(url, context).await {
        eprintln!("{why}");
        std::process::exit(1);
    }
}
