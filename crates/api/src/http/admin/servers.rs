//! MCP servers: list, add, inspect, accept and remove.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use manyhands_config::{McpServer, masked_text};
use manyhands_core::{Caller, ErrorCode, ServerName, ToolError};
use manyhands_federation::directory::{Directory, Listing};
use manyhands_federation::servers::{AcceptSelection, Server};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_store::Pin;
use manyhands_upstream::{Status, difference};
use manyhands_wire::LeftOutTool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{body, query};
use crate::http::object::Json;

/// The status of a server; without details if it is disabled.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerView {
    /// Its name.
    #[schemars(with = "String")]
    name: ServerName,
    /// State of its connections; the most significant if there are several.
    state: ServerState,
    /// Whether it is enabled.
    enabled: bool,
    /// Disabled tools, by the server's names.
    disabled_tools: Vec<String>,
    /// Whether it has a log: that of its program.
    log: bool,
    /// Details, unless it is disabled.
    #[serde(flatten)]
    more: Option<ServerMore>,
}

/// Details of a server.
#[derive(Serialize, JsonSchema)]
pub struct ServerMore {
    /// Name in the catalogue.
    server: String,
    /// Transport.
    #[serde(rename = "type")]
    kind: ServerKind,
    /// What is wrong, if anything.
    problem: Option<String>,
    /// Number of tools offered.
    tools: usize,
    /// Number of tools held back for review.
    held: usize,
    /// Service whose accounts it uses.
    service: String,
    /// URL.
    url: Option<String>,
    /// Command.
    command: Option<String>,
}

/// State of a server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServerState {
    /// Disabled in the settings.
    Off,
    /// Stopped.
    Stopped,
    /// Not connected, since it is not in use.
    Idle,
    /// Starting.
    Starting,
    /// Ready.
    Ready,
    /// Failing.
    Failing,
}

/// Transport of a server.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServerKind {
    /// OpenAPI document.
    Openapi,
    /// Local command.
    Stdio,
    /// Remote URL.
    Http,
}

/// A list of MCP servers.
#[derive(Serialize, JsonSchema)]
pub struct ServerList {
    /// Number of servers.
    count: usize,
    /// The servers.
    servers: Vec<ServerView>,
}

/// A tool of a server.
#[derive(Serialize, JsonSchema)]
pub struct ServerTool {
    /// Name in the catalogue.
    name: String,
    /// Name at the server.
    tool: String,
    /// Description given by the server.
    description: Option<String>,
}

/// A changed tool definition held back for review.
#[derive(Serialize, JsonSchema)]
pub struct HeldTool {
    /// Name at the server.
    tool: String,
    /// Whether the tool is new.
    new: bool,
    /// Difference to the accepted definition.
    difference: String,
    /// Fingerprint to accept.
    fingerprint: String,
}

/// A server with its tools.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerShown {
    #[serde(flatten)]
    view: ServerView,
    /// Its tools.
    tool_list: Vec<ServerTool>,
    /// Definitions held back for review.
    held_back: Vec<HeldTool>,
    /// Tools left out because one of their schemas cannot be used.
    left_out: Vec<LeftOutTool>,
    /// Last log lines.
    stderr: String,
}

/// The response after a server was added.
#[derive(Serialize, JsonSchema)]
pub struct ServerAdded {
    /// Its name.
    #[schemars(with = "String")]
    pub(super) name: ServerName,
    /// Always true.
    pub(super) added: bool,
}

/// The response after a server was removed.
#[derive(Serialize, JsonSchema)]
pub struct ServerRemoved {
    /// Its name.
    #[schemars(with = "String")]
    name: ServerName,
    /// Always true.
    removed: bool,
}

/// The response after definitions were accepted.
#[derive(Serialize, JsonSchema)]
pub struct ServerAccepted {
    /// The server.
    name: String,
    /// Accepted tools, by their names at the server.
    accepted: Vec<String>,
}

/// Lists all configured servers.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ServerList> {
    let all = gateway.servers.all();
    let mut servers: Vec<ServerView> = all.iter().map(|one| shown(one)).collect();
    let settings = gateway.settings.current();
    let disabled = settings
        .mcp_servers
        .iter()
        .filter(|(_, config)| !config.enabled);
    servers.extend(disabled.map(|(name, config)| off(name, config)));
    answer(ServerList {
        count: servers.len(),
        servers,
    })
}

/// Which well-known servers to list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectoryQuery {
    /// Words that must all occur in the name, title, description or tags; all servers by default.
    #[serde(default)]
    search: String,
}

/// Well-known MCP servers.
#[derive(Serialize, JsonSchema)]
pub struct DirectoryList {
    /// The servers, the best match first.
    servers: Vec<Listing>,
}

/// Lists well-known servers that can be added. The list is part of the program; nothing is fetched.
pub async fn directory(
    _: Owner,
    wanted: Result<Query<DirectoryQuery>, QueryRejection>,
) -> Answer<DirectoryList> {
    let found = Directory::builtin().search(&query(wanted)?.search);
    answer(DirectoryList {
        servers: found.into_iter().cloned().collect(),
    })
}

/// Returns a server with its tools, definitions held back and last log lines.
pub async fn show(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    Path(name): Path<String>,
) -> Answer<ServerShown> {
    let server = gateway.servers.get(&name)?;
    let offer = server.offer();
    let tools = offer.tools.values().map(|one| ServerTool {
        name: one.name.wire(),
        tool: one.there.clone(),
        description: one.definition["description"].as_str().map(str::to_owned),
    });
    answer(ServerShown {
        view: shown(&server),
        tool_list: tools.collect(),
        held_back: server.pins().iter().filter_map(held).collect(),
        left_out: offer.left_out.clone(),
        stderr: log_of(&gateway, &server),
    })
}

/// A disabled server.
fn off(name: &ServerName, config: &McpServer) -> ServerView {
    ServerView {
        name: name.clone(),
        state: ServerState::Off,
        enabled: false,
        disabled_tools: disabled_tools(config),
        log: false,
        more: None,
    }
}

/// The tools that are disabled by name; patterns are the owner's own.
fn disabled_tools(config: &McpServer) -> Vec<String> {
    let names = config.hide.iter().map(|one| one.to_string());
    names.filter(|one| !one.contains('*')).collect()
}

fn shown(server: &Server) -> ServerView {
    let config = server.config();
    let kind = match (&config.openapi, &config.command) {
        (Some(_), _) => ServerKind::Openapi,
        (None, Some(_)) => ServerKind::Stdio,
        (None, None) => ServerKind::Http,
    };
    let statuses = server.statuses();
    // One server has a connection per account; the most significant state is shown.
    let state = statuses.iter().map(|(_, status)| state(status)).max();
    let failure = statuses.iter().find_map(|(_, status)| match status {
        Status::Failing { error, .. } => Some(error.clone()),
        _ => None,
    });
    let pins = server.pins();
    ServerView {
        name: server.name().clone(),
        state: state.unwrap_or(ServerState::Idle),
        enabled: true,
        disabled_tools: disabled_tools(config),
        log: config.command.is_some(),
        more: Some(ServerMore {
            server: server.path(),
            kind,
            problem: failure.or(server.problem()),
            tools: server.offer().tools.len(),
            held: pins.iter().filter(|pin| pin.pending.is_some()).count(),
            service: server.service().to_owned(),
            url: config.url.as_deref().map(masked_text),
            command: config.command.clone(),
        }),
    }
}

/// The state of a connection; the greatest is the most significant.
fn state(status: &Status) -> ServerState {
    match status {
        Status::Stopped => ServerState::Stopped,
        Status::Idle => ServerState::Idle,
        Status::Starting => ServerState::Starting,
        Status::Ready => ServerState::Ready,
        Status::Failing { .. } => ServerState::Failing,
    }
}

/// The held-back definition of a tool, and its difference to the accepted one.
fn held(pin: &Pin) -> Option<HeldTool> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let now = read(&pin.pending.as_ref()?.definition);
    let before = pin.approved.as_ref().map(|taken| read(&taken.definition));
    let new = before.is_none();
    // Of a new tool the whole definition is the difference.
    let diff = difference(&before.unwrap_or_else(|| json!({})), &now);
    Some(HeldTool {
        tool: pin.name.clone(),
        new,
        difference: diff,
        fingerprint: pin.pending.as_ref()?.hash.clone(),
    })
}

/// Adds a remote server by its whole entry.
pub(super) async fn add_remote(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    name: &str,
    server: McpServer,
) -> Answer<ServerAdded> {
    let name: ServerName = name
        .parse()
        .map_err(|e| Refusal(ToolError::parameter("name", format!("{e}"))))?;
    // An entry also says in which folder and sandbox a program starts, and documents are read from the gateway's
    // machine, so both are set in the file only.
    if server.url.is_none() || server.command.is_some() || server.openapi.is_some() {
        let message = "only a server with a url can be added over the network as an entry";
        return Err(Refusal(ToolError::new(ErrorCode::Forbidden, message).hint(
            "give `command` and `confirm` for a local command; on the gateway's machine, `manyhands mcp add` also accepts OpenAPI documents",
        )));
    }
    // Setting it would replace the existing entry.
    if gateway.settings.current().mcp_servers.contains_key(&name) {
        let message = format!("a server named {name} already exists");
        return Err(Refusal(ToolError::new(ErrorCode::Conflict, message)));
    }
    gateway
        .set_local(caller, &key(&name), Some(server.brief()))
        .await?;
    gateway.servers.take_over(&gateway.settings).await; // awaited, so that the server is listed when this returns
    answer(ServerAdded { name, added: true })
}

/// A change of a server.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ChangeServer {
    /// Whether it is enabled.
    enabled: Option<bool>,
    /// Tools to disable, by the server's names; replaces the previous ones.
    disabled_tools: Option<Vec<String>>,
}

/// Enables or disables a server, and its tools.
pub async fn change(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(name): Path<String>,
    change: Result<Json<ChangeServer>, JsonRejection>,
) -> Answer<ServerView> {
    let change = body(change)?;
    let name = configured(&gateway, &name)?;
    let tools = change.disabled_tools.as_deref();
    gateway
        .change_server(&owner.caller, &name, change.enabled, tools)
        .await?;
    match gateway.servers.get(name.as_str()) {
        Ok(server) => answer(shown(&server)),
        Err(_) => {
            let settings = gateway.settings.current();
            let config = settings.mcp_servers.get(&name);
            let config = config.ok_or_else(|| unknown(name.as_str()))?;
            answer(off(&name, config))
        }
    }
}

/// How much of a log to return.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerLogQuery {
    /// Number of lines; 200 by default.
    #[schemars(range(min = 1, max = 10_000))]
    lines: Option<usize>,
}

/// The log of a server.
#[derive(Serialize, JsonSchema)]
pub struct ServerLog {
    /// Last lines, oldest first.
    lines: Vec<String>,
}

/// Returns the last log lines of a server's program.
pub async fn log(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    Path(name): Path<String>,
    which: Result<Query<ServerLogQuery>, QueryRejection>,
) -> Answer<ServerLog> {
    let count = query(which)?.lines.unwrap_or(200);
    if !(1..=10_000).contains(&count) {
        return Err(ToolError::parameter("lines", "must be 1 to 10000").into());
    }
    let name = configured(&gateway, &name)?;
    // A disabled server has no program, and so no log.
    let text = gateway.servers.get(name.as_str());
    let text = text
        .map(|server| log_of(&gateway, &server))
        .unwrap_or_default();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let first = lines.len().saturating_sub(count);
    answer(ServerLog {
        lines: lines[first..].to_vec(),
    })
}

/// The log of a server without secrets: programs may log their settings, and with them credentials.
fn log_of(gateway: &Gateway, server: &Server) -> String {
    let mut text = json!(server.stderr());
    gateway.redact(&mut text);
    text.as_str().unwrap_or_default().to_owned()
}

fn unknown(name: &str) -> Refusal {
    Refusal(ToolError::not_found(format!("no MCP server {name:?}")))
}

/// The name of a server in the settings.
fn configured(gateway: &Gateway, name: &str) -> Result<ServerName, Refusal> {
    let settings = gateway.settings.current();
    let mut names = settings.mcp_servers.keys();
    let found = names.find(|known| known.as_str() == name);
    found.cloned().ok_or_else(|| unknown(name))
}

/// Removes a server from the settings and forgets its accepted tools.
pub async fn remove(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(name): Path<String>,
) -> Answer<ServerRemoved> {
    let found = configured(&gateway, &name)?;
    gateway.set_local(&owner.caller, &key(&found), None).await?;
    gateway.store.pins().remove(found.as_str()).await?;
    answer(ServerRemoved {
        name: found,
        removed: true,
    })
}

fn key(name: &ServerName) -> String {
    format!("mcpServers.{name}")
}

/// Refreshes the tools of a server now.
pub async fn refresh(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    Path(name): Path<String>,
) -> Answer<ServerView> {
    let server = gateway.servers.refresh(&name).await?;
    answer(shown(&server))
}

/// What to accept.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// Name of the tool at the server; all held back by default.
    tool: Option<String>,
    /// Fingerprint of each tool as reviewed. Definitions changed since are not accepted.
    fingerprints: Option<BTreeMap<String, String>>,
}

/// Accepts the current tool definitions of a server.
pub async fn accept(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(name): Path<String>,
    accept: Result<Json<Accept>, JsonRejection>,
) -> Answer<ServerAccepted> {
    let accept = body(accept)?;
    let wanted = AcceptSelection {
        tool: accept.tool.as_deref(),
        shown: accept.fingerprints.as_ref(),
    };
    let accepted = gateway.servers.accept(&name, &wanted).await?;
    let about = format!("{name}: {}", accepted.join(", "));
    gateway.note(&owner.caller, "server.accept", &about).await?;
    answer(ServerAccepted { name, accepted })
}
