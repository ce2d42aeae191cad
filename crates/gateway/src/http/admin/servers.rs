//! MCP servers: listed, added, looked at, taken on, removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use manyhands_config::McpServer;
use manyhands_core::{ErrorCode, ServerName, ToolError};
use manyhands_store::Pin;
use manyhands_upstream::{Status, difference};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::body;
use crate::gateway::Gateway;
use crate::http::asker::Owner;
use crate::http::refusal::{Answer, Refusal, answer};
use crate::servers::{Server, Wanted};

/// Every server of the settings.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer {
    let mut servers: Vec<Value> = gateway.servers.all().iter().map(|one| shown(one)).collect();
    let settings = gateway.settings.current();
    let off = settings
        .mcp_servers
        .iter()
        .filter(|(_, config)| !config.enabled);
    servers.extend(off.map(|(name, _)| json!({ "name": name, "state": "off" })));
    answer(json!({ "count": servers.len(), "servers": servers }))
}

/// One server with its tools, what of them is held back, and its last words.
pub async fn show(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    Path(name): Path<String>,
) -> Answer {
    let server = gateway.servers.get(&name)?;
    let mut view = shown(&server);
    let offer = server.offer();
    let tools = offer.0.values().map(|one| {
        json!({ "name": one.name.wire(), "tool": one.there, "description": one.definition["description"] })
    });
    view["toolList"] = tools.collect();
    view["heldBack"] = server.pins().iter().filter_map(held).collect();
    let mut stderr = json!(server.stderr());
    gateway.redact(&mut stderr);
    view["stderr"] = stderr;
    answer(view)
}

fn shown(server: &Server) -> Value {
    let config = server.config();
    let kind = match (&config.openapi, &config.command) {
        (Some(_), _) => "openapi",
        (None, Some(_)) => "stdio",
        (None, None) => "http",
    };
    let statuses = server.statuses();
    let state = statuses.iter().map(|(_, status)| word(status)).max();
    let failure = statuses.iter().find_map(|(_, status)| match status {
        Status::Failing { error, .. } => Some(error.clone()),
        _ => None,
    });
    let pins = server.pins();
    json!({
        "name": server.name(),
        "server": server.path(),
        "type": kind,
        "state": state.map_or("idle", |(_, word)| word),
        "problem": failure.or(server.problem()),
        "tools": server.offer().0.len(),
        "held": pins.iter().filter(|pin| pin.held.is_some()).count(),
        "service": server.service(),
        "url": config.url,
        "command": config.command,
    })
}

/// How a connection stands, the most telling of several last.
fn word(status: &Status) -> (u8, &'static str) {
    match status {
        Status::Stopped => (0, "stopped"),
        Status::Idle => (1, "idle"),
        Status::Starting => (2, "starting"),
        Status::Ready => (3, "ready"),
        Status::Failing { .. } => (4, "failing"),
    }
}

/// What is held back of a tool, and how it differs from what was taken on.
fn held(pin: &Pin) -> Option<Value> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let now = read(&pin.held.as_ref()?.definition);
    let before = pin.taken.as_ref().map(|taken| read(&taken.definition));
    let new = before.is_none();
    let diff = difference(&before.unwrap_or_else(|| json!({})), &now);
    Some(
        json!({ "tool": pin.name, "new": new, "difference": diff, "fingerprint": pin.held.as_ref()?.hash }),
    )
}

/// A server to be added.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Its name: 1-32 of A-Z, a-z, 0-9, - and _.
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
) -> Answer {
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
    answer(json!({ "name": name, "added": true }))
}

/// Takes a server out of the settings, and forgets what is on record of its tools.
pub async fn remove(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(name): Path<String>,
) -> Answer {
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
    answer(json!({ "name": found, "removed": true }))
}

fn key(name: &ServerName) -> String {
    format!("mcpServers.{name}")
}

/// Asks a server for its tools now.
pub async fn refresh(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    Path(name): Path<String>,
) -> Answer {
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
) -> Answer {
    let accept = body(accept)?;
    let wanted = Wanted {
        tool: accept.tool.as_deref(),
        shown: accept.fingerprints.as_ref(),
    };
    let accepted = gateway.servers.accept(&name, &wanted).await?;
    let about = format!("{name}: {}", accepted.join(", "));
    gateway.note(&owner.caller, "server.accept", &about).await?;
    answer(json!({ "name": name, "accepted": accepted }))
}
