//! MCP servers: listed, added, looked at, taken on, removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use manyhands_config::{McpServer, masked_text};
use manyhands_core::{ErrorCode, ServerName, ToolError};
use manyhands_federation::servers::{AcceptSelection, Server};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_store::Pin;
use manyhands_upstream::{Status, difference};
use manyhands_wire::LeftOutTool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::body;
use crate::http::object::Json;
use crate::http::shapes;

/// How a server stands. Of one that is switched off, only its name is told.
#[derive(Serialize, JsonSchema)]
pub struct ServerView {
    /// Its name.
    #[schemars(with = "String")]
    name: ServerName,
    /// How its connections stand, the most telling of several.
    state: ServerState,
    /// More of it, unless it is switched off.
    #[serde(flatten)]
    more: Option<ServerMore>,
}

/// More of a server.
#[derive(Serialize, JsonSchema)]
pub struct ServerMore {
    /// As it is named in the catalogue.
    server: String,
    /// How it is reached.
    #[serde(rename = "type")]
    kind: ServerKind,
    /// What is wrong, if something is.
    problem: Option<String>,
    /// How many tools it offers.
    tools: usize,
    /// Of how many tools something is held back.
    held: usize,
    /// The service whose accounts it is used with.
    service: String,
    /// Where it is.
    url: Option<String>,
    /// The program that is it.
    command: Option<String>,
}

/// How a server stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServerState {
    /// The settings switch it off.
    Off,
    /// It is not used any more.
    Stopped,
    /// Nobody uses it now.
    Idle,
    /// It starts.
    Starting,
    /// It answers.
    Ready,
    /// It does not.
    Failing,
}

/// How a server is reached.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServerKind {
    /// By an OpenAPI document.
    Openapi,
    /// It is a program of this machine.
    Stdio,
    /// Over the network.
    Http,
}

/// MCP servers.
#[derive(Serialize, JsonSchema)]
pub struct ServerList {
    /// How many.
    count: usize,
    /// The servers.
    servers: Vec<ServerView>,
}

/// A tool of a server.
#[derive(Serialize, JsonSchema)]
pub struct ServerTool {
    /// Its name in the catalogue.
    name: String,
    /// Its name there.
    tool: String,
    /// What it says of itself.
    description: Option<String>,
}

/// What is held back of a tool.
#[derive(Serialize, JsonSchema)]
pub struct HeldTool {
    /// Its name there.
    tool: String,
    /// Nothing of it was taken on before.
    new: bool,
    /// How it differs from what was taken on.
    difference: String,
    /// What is taken on where it is accepted.
    fingerprint: String,
}

/// One server, whole.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerShown {
    #[serde(flatten)]
    view: ServerView,
    /// Its tools.
    tool_list: Vec<ServerTool>,
    /// What of them is held back.
    held_back: Vec<HeldTool>,
    /// Tools that are not offered as they are, because a schema of theirs cannot be used.
    left_out: Vec<LeftOutTool>,
    /// Its last words.
    stderr: String,
}

/// A server that was added.
#[derive(Serialize, JsonSchema)]
pub struct ServerAdded {
    /// Its name.
    #[schemars(with = "String")]
    name: ServerName,
    /// Always true.
    added: bool,
}

/// A server that was removed.
#[derive(Serialize, JsonSchema)]
pub struct ServerRemoved {
    /// Its name.
    #[schemars(with = "String")]
    name: ServerName,
    /// Always true.
    removed: bool,
}

/// What was taken on.
#[derive(Serialize, JsonSchema)]
pub struct ServerAccepted {
    /// The server.
    name: String,
    /// The tools, by their names there.
    accepted: Vec<String>,
}

/// Every server of the settings.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ServerList> {
    let all = gateway.servers.all();
    let mut servers: Vec<ServerView> = all.iter().map(|one| shown(one)).collect();
    let settings = gateway.settings.current();
    let off = settings
        .mcp_servers
        .iter()
        .filter(|(_, config)| !config.enabled);
    servers.extend(off.map(|(name, _)| ServerView {
        name: name.clone(),
        state: ServerState::Off,
        more: None,
    }));
    answer(ServerList {
        count: servers.len(),
        servers,
    })
}

/// One server with its tools, what of them is held back, and its last words.
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
    let mut stderr = json!(server.stderr());
    gateway.redact(&mut stderr);
    answer(ServerShown {
        view: shown(&server),
        tool_list: tools.collect(),
        held_back: server.pins().iter().filter_map(held).collect(),
        left_out: offer.left_out.clone(),
        stderr: stderr.as_str().unwrap_or_default().to_owned(),
    })
}

fn shown(server: &Server) -> ServerView {
    let config = server.config();
    let kind = match (&config.openapi, &config.command) {
        (Some(_), _) => ServerKind::Openapi,
        (None, Some(_)) => ServerKind::Stdio,
        (None, None) => ServerKind::Http,
    };
    let statuses = server.statuses();
    let state = statuses.iter().map(|(_, status)| state(status)).max();
    let failure = statuses.iter().find_map(|(_, status)| match status {
        Status::Failing { error, .. } => Some(error.clone()),
        _ => None,
    });
    let pins = server.pins();
    ServerView {
        name: server.name().clone(),
        state: state.unwrap_or(ServerState::Idle),
        more: Some(ServerMore {
            server: server.path(),
            kind,
            problem: failure.or(server.problem()),
            tools: server.offer().tools.len(),
            held: pins.iter().filter(|pin| pin.held.is_some()).count(),
            service: server.service().to_owned(),
            url: config.url.as_deref().map(masked_text),
            command: config.command.clone(),
        }),
    }
}

/// How a connection stands, the most telling of several last.
fn state(status: &Status) -> ServerState {
    match status {
        Status::Stopped => ServerState::Stopped,
        Status::Idle => ServerState::Idle,
        Status::Starting => ServerState::Starting,
        Status::Ready => ServerState::Ready,
        Status::Failing { .. } => ServerState::Failing,
    }
}

/// What is held back of a tool, and how it differs from what was taken on.
fn held(pin: &Pin) -> Option<HeldTool> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let now = read(&pin.held.as_ref()?.definition);
    let before = pin.taken.as_ref().map(|taken| read(&taken.definition));
    let new = before.is_none();
    let diff = difference(&before.unwrap_or_else(|| json!({})), &now);
    Some(HeldTool {
        tool: pin.name.clone(),
        new,
        difference: diff,
        fingerprint: pin.held.as_ref()?.hash.clone(),
    })
}

/// A server to be added.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Its name: 1-32 of A-Z, a-z, 0-9, - and _.
    #[schemars(regex(pattern = shapes::SERVER), length(max = 32))]
    name: String,
    /// What would stand under `mcpServers` in config.toml. Only servers elsewhere, by `url`, are added
    /// over the network; programs of the gateway's machine are set in the file.
    server: McpServer,
}

/// Adds a server elsewhere.
pub async fn add(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    add: Result<Json<Add>, JsonRejection>,
) -> Answer<ServerAdded> {
    let Add { name, server } = body(add)?;
    let name: ServerName = name
        .parse()
        .map_err(|e| Refusal(ToolError::parameter("name", format!("{e}"))))?;
    if server.url.is_none() || server.command.is_some() || server.openapi.is_some() {
        let message = "only a server with a url is added over the network";
        return Err(Refusal(ToolError::new(ErrorCode::Forbidden, message).hint(
            "on the gateway's machine, `manyhands mcp add` also takes programs and documents",
        )));
    }
    if gateway.settings.current().mcp_servers.contains_key(&name) {
        let message = format!("there is a server {name} already");
        return Err(Refusal(ToolError::new(ErrorCode::Conflict, message)));
    }
    let mut value = json!(server);
    let plain = json!(McpServer::default());
    if let Some(map) = value.as_object_mut() {
        map.retain(|key, value| plain.get(key) != Some(value)); // the file says only what is said
        if let Some(Value::Object(oauth)) = map.get_mut("oauth") {
            oauth.retain(|_, value| !value.is_null());
        }
    }
    gateway
        .set_local(&owner.caller, &key(&name), Some(value))
        .await?;
    gateway.servers.take_over(&gateway.settings).await; // it stands when this is answered
    answer(ServerAdded { name, added: true })
}

/// Takes a server out of the settings, and forgets what is on record of its tools.
pub async fn remove(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(name): Path<String>,
) -> Answer<ServerRemoved> {
    let known = gateway.settings.current();
    let found = known
        .mcp_servers
        .keys()
        .find(|known| known.as_str() == name);
    let found = found.cloned().ok_or_else(|| {
        Refusal(ToolError::not_found(format!(
            "there is no MCP server {name:?}"
        )))
    })?;
    gateway.set_local(&owner.caller, &key(&found), None).await?;
    gateway.store.pins().forget(found.as_str()).await?;
    answer(ServerRemoved {
        name: found,
        removed: true,
    })
}

fn key(name: &ServerName) -> String {
    format!("mcpServers.{name}")
}

/// Asks a server for its tools now.
pub async fn refresh(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    Path(name): Path<String>,
) -> Answer<ServerView> {
    let server = gateway.servers.refresh(&name).await?;
    answer(shown(&server))
}

/// What to take on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// The tool, by its name there; all that is held back when not said.
    tool: Option<String>,
    /// What was shown: the fingerprint of each tool. What has changed again since is not taken on.
    fingerprints: Option<BTreeMap<String, String>>,
}

/// Takes on what a server's tools now say of themselves.
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
