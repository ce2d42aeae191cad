//! The MCP servers that an editor names for a session.
//!
//! They are programs of the editor's machine, so they are started here, with the rights of whoever uses the editor; the
//! gateway may be on another machine, and nobody starts programs there over the network. The gateway is offered
//! their tools for the one session over a socket for each server, and calls them through its path like any other tool.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use manyhands_acp::McpProgram;
use manyhands_core::{ErrorCode, NodeId, OsEntropy, ToolError};
use manyhands_gateway::{SERVER_VARIABLES, find_program};
use manyhands_upstream::{
    Hooks, Server, Speak as _, Timeouts, Transport, Upstream, UpstreamDeps as Below, UpstreamError,
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

use super::{There, words};
use crate::socket::{Heard, Socket, client};

/// How long a server may take to start and to list its tools.
const START: Duration = Duration::from_secs(30);
/// How long a call may take.
const CALL: Duration = Duration::from_secs(300);
/// How many tools of one server are offered; a gateway takes no more.
const MAX_TOOLS: usize = 128;
/// How long a description and a schema may be.
const MAX_WORDS: usize = 60_000;
/// How many calls of one server run at a time.
const MAX_CALLS: usize = 64;
/// The longest result; a gateway takes 16 MiB unless its owner says otherwise.
const MAX_RESULT: usize = 15 * 1024 * 1024;
/// How much of what a server wrote to its standard error is shown when it does not start.
const SHOWN: usize = 500;

/// A server that runs, and the socket over which its tools are offered.
pub(super) struct Running {
    upstream: Upstream,
    _serving: AbortOnDropHandle<()>,
}

impl Running {
    /// Starts a server for a session and offers its tools to the gateway.
    pub(super) async fn start(
        there: &Arc<There>,
        session: &str,
        cwd: &Path,
        server: McpProgram,
    ) -> Result<Self, String> {
        let name = server.name.clone();
        let failed = |why: String| format!("the MCP server {name:?} did not start: {why}");
        let transport = transport(there, cwd, server).map_err(failed)?;
        let described = Server {
            timeouts: Timeouts {
                start: START,
                call: CALL,
                ..Timeouts::default()
            },
            ..Server::new(&name, transport)
        };
        let below = Below {
            supervisor: there.supervisor.clone(),
            clock: there.ground.clock.clone(),
            entropy: Arc::new(OsEntropy),
        };
        let upstream = Upstream::new(described, below);
        let hooks = Hooks {
            timeout: Some(START),
            ..Hooks::default()
        };
        let offered = match upstream.list_tools(&hooks).await {
            Ok(tools) => Offered::new(tools),
            Err(error) => {
                let wrote = upstream.stderr();
                let last = wrote.trim();
                let from = last.ceil_char_boundary(last.len().saturating_sub(SHOWN));
                let last = match &last[from..] {
                    "" => String::new(),
                    last => format!("; it wrote: {last}"),
                };
                upstream.stop().await;
                return Err(failed(format!("{error}{last}")));
            }
        };
        let connect = offered.greeting(&name, session);
        let socket = match there.connect(Some(&connect)).await {
            Ok(socket) => socket,
            Err(refused) => {
                upstream.stop().await;
                let why = words(&refused);
                return Err(format!(
                    "the gateway does not take the MCP server {name:?}: {why}"
                ));
            }
        };
        let line = Line {
            there: there.clone(),
            upstream: upstream.clone(),
            names: Arc::new(offered.names),
            connect,
        };
        Ok(Self {
            upstream,
            _serving: AbortOnDropHandle::new(tokio::spawn(line.serve(socket))),
        })
    }

    /// Ends it, and waits for that.
    pub(super) async fn stop(self) {
        self.upstream.stop().await;
    }
}

fn transport(there: &There, cwd: &Path, server: McpProgram) -> Result<Transport, String> {
    if !cwd.is_dir() {
        return Err(format!("cwd: {} is not a directory", cwd.display()));
    }
    let environment = there.ground.environment();
    // What servers of the gateway's settings get: the editor's other variables may hold secrets.
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
        program: program.ok_or_else(|| format!("command: there is no program {command:?}"))?,
        args: server.args.into_iter().map(OsString::from).collect(),
        env,
        cwd: Some(cwd.to_owned()),
        sandbox: None,
    })
}

/// What a server offers, in the words of a node.
struct Offered {
    tools: Vec<ToolDefinition>,
    /// What each tool needs, by its name on the wire.
    capabilities: BTreeMap<String, Vec<String>>,
    /// The server's own names, by those on the wire.
    names: HashMap<String, String>,
}

impl Offered {
    fn new(listed: Vec<Value>) -> Self {
        let mut offered = Self {
            tools: Vec::new(),
            capabilities: BTreeMap::new(),
            names: HashMap::new(),
        };
        let count = listed.len();
        if count > MAX_TOOLS {
            tracing::warn!(count, MAX_TOOLS, "a server has more tools than are offered");
        }
        for (at, tool) in listed.into_iter().take(MAX_TOOLS).enumerate() {
            let Some(name) = tool["name"].as_str() else {
                continue;
            };
            let schema = match &tool["inputSchema"] {
                Value::Object(schema) => Value::Object(schema.clone()),
                _ => json!({ "type": "object" }),
            };
            if schema.to_string().len() > MAX_WORDS {
                tracing::warn!(
                    name,
                    "a tool of a server has a schema that is too large to be offered"
                );
                continue;
            }
            let mut ours = plain(name);
            if offered.names.contains_key(&ours) {
                ours = format!("{}_{at}", &ours[..ours.len().min(56)]);
            }
            let about = tool["description"].as_str().or(tool["title"].as_str());
            let about = about.unwrap_or_default();
            let end = about.floor_char_boundary(about.len().min(MAX_WORDS));
            // The gateway takes a tool that does not claim to read only for one that may do anything.
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

/// A tool's name as the wire has it: what it cannot carry is an underscore.
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

/// The line between one server and the gateway.
struct Line {
    there: Arc<There>,
    upstream: Upstream,
    names: Arc<HashMap<String, String>>,
    connect: ConnectParams,
}

impl Line {
    /// Answers calls until the gateway stays away.
    async fn serve(self, mut socket: Socket) {
        loop {
            self.answer(&mut socket).await;
            match self.there.redial(Some(&self.connect)).await {
                Ok(again) => socket = again,
                Err(why) => {
                    tracing::warn!(why, "the gateway does not take an MCP server back");
                    return;
                }
            }
        }
    }

    /// Answers calls until the connection is no more, which ends those that run.
    async fn answer(&self, socket: &mut Socket) {
        let mut calls: JoinSet<ToolResultParams> = JoinSet::new();
        let mut running: HashMap<String, CancellationToken> = HashMap::new();
        loop {
            let result = tokio::select! {
                heard = socket.hear() => match heard {
                    Ok(Heard::Event(event)) => match self.call(event, &mut running, &mut calls) {
                        Some(result) => result,
                        None => continue,
                    },
                    Ok(Heard::Answer(..)) => continue,
                    Err(_) => return,
                },
                Some(Ok(result)) = calls.join_next(), if !calls.is_empty() => result,
            };
            running.remove(&result.call_id);
            if socket.say(&result).await.is_err() {
                return;
            }
        }
    }

    /// Begins or cancels a call; the result is there where it cannot begin.
    fn call(
        &self,
        event: Event,
        running: &mut HashMap<String, CancellationToken>,
        calls: &mut JoinSet<ToolResultParams>,
    ) -> Option<ToolResultParams> {
        let asked = match EventKind::from_name(&event.event)? {
            EventKind::ToolInvoke => ToolInvokeEvent::read(event)?,
            EventKind::ToolCancel => {
                let cancelled = ToolCancelEvent::read(event)?;
                running.get(&cancelled.call_id)?.cancel();
                return None;
            }
            _ => return None,
        };
        if calls.len() >= MAX_CALLS {
            let message = format!("{MAX_CALLS} calls of this server run already");
            let error = ToolError::new(ErrorCode::Unavailable, message)
                .hint("try again when one has ended");
            return Some(result_of(asked.call_id, Err(error)));
        }
        let cancel = CancellationToken::new();
        running.insert(asked.call_id.clone(), cancel.clone());
        let (upstream, names) = (self.upstream.clone(), self.names.clone());
        calls.spawn(async move {
            let called = match names.get(&asked.tool) {
                Some(name) => {
                    let hooks = Hooks {
                        cancel,
                        ..Hooks::default()
                    };
                    let called = upstream.call_tool(name, asked.args, &hooks).await;
                    called.map_err(|error| failure(&error))
                }
                None => Err(ToolError::not_found(format!(
                    "there is no tool {:?}",
                    asked.tool
                ))),
            };
            result_of(asked.call_id, called)
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
        let bytes = result.to_string().len();
        match bytes > MAX_RESULT {
            false => Ok(result),
            true => {
                let message =
                    format!("the result is {bytes} bytes, and at most {MAX_RESULT} are sent");
                Err(ToolError::new(ErrorCode::TooLarge, message).hint("ask for less"))
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
            code: Some(error.code.word().to_owned()),
            ..ToolResultParams::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_offered_under_names_of_their_own_that_the_wire_can_carry() {
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
        let mut reads = tool("get.größe");
        reads["annotations"] = json!({ "readOnlyHint": true });
        let listed = vec![
            reads,
            tool("get_gr__e"),
            tool(&"x".repeat(300)),
            json!({ "title": "no name" }),
        ];
        let offered = Offered::new(listed);
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
    fn no_more_tools_are_offered_than_a_gateway_takes_and_texts_are_cut() {
        let long = "ü".repeat(MAX_WORDS);
        let tool = |n: usize| json!({ "name": format!("t{n}"), "description": long });
        let offered = Offered::new((0..500).map(tool).collect());
        assert_eq!(offered.tools.len(), MAX_TOOLS);
        assert!(
            offered
                .tools
                .iter()
                .all(|tool| tool.description.len() <= MAX_WORDS)
        );
        let huge = json!({ "name": "huge", "inputSchema": { "type": "object", "title": long } });
        assert!(Offered::new(vec![huge]).tools.is_empty());
    }
}
