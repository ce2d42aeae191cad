//! MCP servers that an editor configures for a session.
//!
//! They run on the editor's machine, with its user's permissions: the gateway may be on another machine, where
//! no client may start programs. Each server's tools are offered to the gateway for this session over a
//! separate socket, and calls take the same path as any other tool.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use manyhands_acp::McpProgram;
use manyhands_core::{ErrorCode, NodeId, OsEntropy, ToolError};
use manyhands_federation::servers::{SERVER_VARIABLES, find_program};
use manyhands_upstream::{
    Hooks, McpClient as _, Server, Timeouts, Transport, Upstream, UpstreamDeps as Below,
    UpstreamError,
};
use manyhands_wire::{
    ADDITION_CANCEL, ADDITION_SESSION, Client, ClientMode, ConnectParams, Event, EventKind,
    NodeRuntime, PROTOCOL, Payload as _, ToolCancelEvent, ToolDefinition, ToolInvokeEvent,
    ToolResultParams,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::{GatewayLink, message_of};
use crate::socket::{Incoming, Socket, client};

/// Timeout for starting a server and listing its tools.
const START: Duration = Duration::from_secs(30);
/// Timeout of a call.
const CALL: Duration = Duration::from_secs(300);
/// Maximum number of tools offered per server; the gateway's own limit.
const MAX_TOOLS: usize = 128;
/// Maximum length of a description and of a schema.
const MAX_TEXT: usize = 60_000;
/// Maximum number of concurrent calls per server.
const MAX_CALLS: usize = 64;
/// Maximum result size; a gateway accepts 16 MiB by default.
const MAX_RESULT: usize = 15 * 1024 * 1024;
/// How much of a server's stderr is shown if it fails to start.
const STDERR_SHOWN: usize = 500;

/// A running server and the socket over which its tools are offered.
pub(super) struct SessionServer {
    upstream: Upstream,
    _serving: AbortOnDropHandle<()>,
}

impl SessionServer {
    /// Starts a server for a session and offers its tools to the gateway.
    pub(super) async fn start(
        gateway: &Arc<GatewayLink>,
        session: &str,
        cwd: &Path,
        server: McpProgram,
    ) -> Result<Self, String> {
        let name = server.name.clone();
        let failed = |why: String| format!("MCP server {name:?} failed to start: {why}");
        let transport = transport(gateway, cwd, server).map_err(failed)?;
        let described = Server {
            timeouts: Timeouts {
                start: START,
                call: CALL,
                ..Timeouts::default()
            },
            ..Server::new(&name, transport)
        };
        let below = Below {
            supervisor: gateway.supervisor.clone(),
            clock: gateway.ctx.clock.clone(),
            entropy: Arc::new(OsEntropy),
        };
        let upstream = Upstream::new(described, below);
        let hooks = Hooks {
            timeout: Some(START),
            ..Hooks::default()
        };
        let offered = match upstream.list_tools(&hooks).await {
            Ok(tools) => OfferedTools::new(tools),
            Err(error) => {
                let wrote = upstream.stderr();
                let last = wrote.trim();
                let from = last.ceil_char_boundary(last.len().saturating_sub(STDERR_SHOWN));
                let last = match &last[from..] {
                    "" => String::new(),
                    last => format!("; last log lines: {last}"),
                };
                upstream.stop().await;
                return Err(failed(format!("{error}{last}")));
            }
        };
        let connect = offered.greeting(&name, session);
        let socket = match gateway.connect(Some(&connect)).await {
            Ok(socket) => socket,
            Err(refused) => {
                upstream.stop().await;
                let why = message_of(&refused);
                return Err(format!("the gateway refused MCP server {name:?}: {why}"));
            }
        };
        let bridge = ServerBridge {
            gateway: gateway.clone(),
            upstream: upstream.clone(),
            names: Arc::new(offered.names),
            connect,
        };
        Ok(Self {
            upstream,
            _serving: AbortOnDropHandle::new(tokio::spawn(bridge.serve(socket))),
        })
    }

    /// Stops the server and waits for it to exit.
    pub(super) async fn stop(self) {
        self.upstream.stop().await;
    }
}

fn transport(gateway: &GatewayLink, cwd: &Path, server: McpProgram) -> Result<Transport, String> {
    if !cwd.is_dir() {
        return Err(format!("cwd: {} is not a directory", cwd.display()));
    }
    let environment = gateway.ctx.environment();
    // Only the variables that configured servers get: the editor's others may contain secrets.
    let mut env: BTreeMap<OsString, OsString> = SERVER_VARIABLES
        .iter()
        .filter_map(|name| Some(((*name).into(), environment.get(*name)?.into())))
        .collect();
    env.extend(
        server
            .env
            .into_iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
    let path = environment
        .get("PATH")
        .map(OsString::from)
        .unwrap_or_default();
    let command = server.command.to_string_lossy();
    let program = find_program(&command, &path);
    Ok(Transport::Stdio {
        program: program.ok_or_else(|| format!("command not found: {command:?}"))?,
        args: server.args.into_iter().map(OsString::from).collect(),
        env,
        cwd: Some(cwd.to_owned()),
        sandbox: None,
    })
}

/// A server's tools, as offered by a node.
struct OfferedTools {
    tools: Vec<ToolDefinition>,
    /// Required capabilities by wire name.
    capabilities: BTreeMap<String, Vec<String>>,
    /// The server's own tool names by wire name.
    names: HashMap<String, String>,
}

impl OfferedTools {
    fn new(listed: Vec<Value>) -> Self {
        let mut offered = Self {
            tools: Vec::new(),
            capabilities: BTreeMap::new(),
            names: HashMap::new(),
        };
        let count = listed.len();
        if count > MAX_TOOLS {
            tracing::warn!(
                event = "server_tools_truncated",
                count,
                limit = MAX_TOOLS,
                "MCP server has too many tools; the rest is not offered"
            );
        }
        for (at, tool) in listed.into_iter().take(MAX_TOOLS).enumerate() {
            // A tool without a name cannot be called; the rest of the list is still useful.
            let Some(name) = tool["name"].as_str() else {
                continue;
            };
            let schema = match &tool["inputSchema"] {
                Value::Object(schema) => Value::Object(schema.clone()),
                _ => json!({ "type": "object" }),
            };
            if schema.to_string().len() > MAX_TEXT {
                tracing::warn!(
                    event = "tool_schema_too_large",
                    tool = name,
                    limit = MAX_TEXT,
                    "tool schema is too large; tool is not offered"
                );
                continue;
            }
            // Names that differ only in unsupported characters would collide on the wire.
            let mut ours = plain(name);
            if offered.names.contains_key(&ours) {
                ours = format!("{}_{at}", &ours[..ours.len().min(56)]);
            }
            let about = tool["description"].as_str().or(tool["title"].as_str());
            let about = about.unwrap_or_default();
            let end = about.floor_char_boundary(about.len().min(MAX_TEXT));
            // Without a read-only hint the gateway has to assume that a tool may do anything.
            let needs = match tool["annotations"]["readOnlyHint"] == true {
                true => "filesystem.read",
                false => "shell.exec",
            };
            offered
                .capabilities
                .insert(ours.clone(), vec![needs.to_owned()]);
            offered.names.insert(ours.clone(), name.to_owned());
            offered.tools.push(ToolDefinition {
                name: ours,
                description: about[..end].to_owned(),
                input_schema: schema,
            });
        }
        offered
    }

    fn greeting(&self, name: &str, session: &str) -> ConnectParams {
        ConnectParams {
            client: Client {
                id: NodeId::nearest(&format!("acp {name}")).to_string(),
                mode: ClientMode::Node,
                session_key: Some(session.to_owned()),
                ..client()
            },
            min_protocol: PROTOCOL,
            max_protocol: PROTOCOL,
            auth: None,
            tools: Some(self.tools.clone()),
            node_runtime: Some(NodeRuntime {
                host_capabilities: ["filesystem.read", "shell.exec"].map(str::to_owned).into(),
                tool_capabilities: self.capabilities.clone(),
            }),
            additions: [ADDITION_CANCEL, ADDITION_SESSION]
                .map(str::to_owned)
                .into(),
        }
    }
}

/// Converts a tool name to the wire's character set.
fn plain(name: &str) -> String {
    let legal = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().take(60).map(legal).collect();
    match name.is_empty() {
        true => "tool".to_owned(),
        false => name,
    }
}

/// Connects one server to the gateway.
struct ServerBridge {
    gateway: Arc<GatewayLink>,
    upstream: Upstream,
    names: Arc<HashMap<String, String>>,
    connect: ConnectParams,
}

impl ServerBridge {
    /// Answers calls, reconnecting until the gateway stays away.
    async fn serve(self, mut socket: Socket) {
        loop {
            self.answer(&mut socket).await;
            match self.gateway.redial(Some(&self.connect)).await {
                Ok(reconnected) => socket = reconnected,
                Err(why) => {
                    tracing::warn!(
                        event = "server_offer_lost",
                        error = why,
                        "failed to offer an MCP server to the gateway again"
                    );
                    return;
                }
            }
        }
    }

    /// Answers calls until the connection is lost; running calls are dropped with it.
    async fn answer(&self, socket: &mut Socket) {
        let mut calls: JoinSet<ToolResultParams> = JoinSet::new();
        let mut running: HashMap<String, CancellationToken> = HashMap::new();
        loop {
            let result = tokio::select! {
                message = socket.receive() => match message {
                    Ok(Incoming::Event(event)) => match self.call(event, &mut running, &mut calls) {
                        Some(result) => result,
                        None => continue,
                    },
                    Ok(Incoming::Response(..)) => continue,
                    Err(_) => return,
                },
                // A panicked call has no result to send; the gateway's deadline ends it.
                Some(Ok(result)) = calls.join_next(), if !calls.is_empty() => result,
            };
            // Before sending: a cancellation that arrives now must not find a finished call.
            running.remove(&result.call_id);
            if socket.send(&result).await.is_err() {
                return;
            }
        }
    }

    /// Starts or cancels a call; returns a result at once if it cannot be started.
    fn call(
        &self,
        event: Event,
        running: &mut HashMap<String, CancellationToken>,
        calls: &mut JoinSet<ToolResultParams>,
    ) -> Option<ToolResultParams> {
        let call = match EventKind::from_name(&event.event)? {
            EventKind::ToolInvoke => ToolInvokeEvent::read(event)?,
            EventKind::ToolCancel => {
                let cancelled = ToolCancelEvent::read(event)?;
                running.get(&cancelled.call_id)?.cancel();
                return None;
            }
            _ => return None,
        };
        if calls.len() >= MAX_CALLS {
            let message = format!("this server already has {MAX_CALLS} running calls");
            let error =
                ToolError::new(ErrorCode::Unavailable, message).hint("retry when one has finished");
            return Some(result_of(call.call_id, Err(error)));
        }
        let cancel = CancellationToken::new();
        running.insert(call.call_id.clone(), cancel.clone());
        let (upstream, names) = (self.upstream.clone(), self.names.clone());
        calls.spawn(async move {
            let called = match names.get(&call.tool) {
                Some(name) => {
                    let hooks = Hooks {
                        cancel,
                        ..Hooks::default()
                    };
                    let called = upstream.call_tool(name, call.args, &hooks).await;
                    called.map_err(|error| failure(&error))
                }
                None => Err(ToolError::not_found(format!(
                    "unknown tool {:?}",
                    call.tool
                ))),
            };
            result_of(call.call_id, called)
        });
        None
    }
}

fn failure(error: &UpstreamError) -> ToolError {
    let code = match error {
        UpstreamError::TimedOut(_) => ErrorCode::DeadlineExceeded,
        UpstreamError::Cancelled => ErrorCode::Cancelled,
        UpstreamError::TooLarge { .. } => ErrorCode::TooLarge,
        UpstreamError::Rpc(_) => ErrorCode::Failed,
        _ => ErrorCode::Unavailable,
    };
    ToolError::new(code, error.to_string())
}

fn result_of(call_id: String, called: Result<Value, ToolError>) -> ToolResultParams {
    let called = called.and_then(|result| {
        // A frame above the gateway's limit would close the socket and fail all other calls, too.
        let bytes = result.to_string().len();
        match bytes > MAX_RESULT {
            false => Ok(result),
            true => {
                let message = format!("the result has {bytes} bytes; the limit is {MAX_RESULT}");
                Err(ToolError::new(ErrorCode::TooLarge, message).hint("request less data"))
            }
        }
    });
    match called {
        Ok(result) => ToolResultParams {
            call_id,
            result: Some(result),
            ..ToolResultParams::default()
        },
        Err(error) => ToolResultParams {
            call_id,
            error: Some(error.text()),
            code: Some(error.code.as_str().to_owned()),
            ..ToolResultParams::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_get_unique_valid_wire_names() {
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
        let mut reads = tool("get.größe");
        reads["annotations"] = json!({ "readOnlyHint": true });
        let listed = vec![
            reads,
            tool("get_gr__e"),
            tool(&"x".repeat(300)),
            json!({ "title": "no name" }),
        ];
        let offered = OfferedTools::new(listed);
        let names: Vec<&str> = offered
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        assert_eq!(names, ["get_gr__e", "get_gr__e_1", &"x".repeat(60)]);
        assert_eq!(offered.names[names[0]], "get.größe");
        assert_eq!(offered.names[names[1]], "get_gr__e");
        assert_eq!(offered.capabilities[names[0]], ["filesystem.read"]);
        assert_eq!(offered.capabilities[names[1]], ["shell.exec"]);
    }

    #[test]
    fn the_number_of_tools_and_their_texts_are_bounded() {
        let long = "ü".repeat(MAX_TEXT);
        let tool = |n: usize| json!({ "name": format!("t{n}"), "description": long });
        let offered = OfferedTools::new((0..500).map(tool).collect());
        assert_eq!(offered.tools.len(), MAX_TOOLS);
        assert!(
            offered
                .tools
                .iter()
                .all(|tool| tool.description.len() <= MAX_TEXT)
        );
        let huge = json!({ "name": "huge", "inputSchema": { "type": "object", "title": long } });
        assert!(OfferedTools::new(vec![huge]).tools.is_empty());
    }
}
