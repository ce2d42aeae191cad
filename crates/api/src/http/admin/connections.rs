//! Connected accounts of services. Credentials are never returned.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use manyhands_core::{ConnectionId, Pattern, Secret, ToolError};
use manyhands_federation::servers::ConnectionDraft;
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_store::{ConnectionKind, ConnectionRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::http::object::Json;

/// A list of accounts.
#[derive(Serialize, JsonSchema)]
pub struct ConnectionList {
    /// Number of accounts.
    count: usize,
    /// The accounts.
    connections: Vec<ConnectionRecord>,
}

/// Lists all accounts.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ConnectionList> {
    let all = gateway.servers.accounts().all();
    answer(ConnectionList {
        count: all.len(),
        connections: all.to_vec(),
    })
}

/// Returns an account.
pub async fn show(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    Path(id): Path<String>,
) -> Answer<ConnectionRecord> {
    answer(gateway.servers.accounts().get(&id)?)
}

/// An account to add.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewConnection {
    /// Service: the name of an MCP server, or its `service` setting.
    service: String,
    /// Display name; the service's name by default.
    name: Option<String>,
    /// Credentials by name. `token` is sent as a bearer token unless the server's headers say
    /// otherwise; a program receives each as an environment variable.
    #[serde(default)]
    credentials: BTreeMap<String, String>,
    /// Agents that may use it, by pattern; all by default.
    agents: Option<Vec<Pattern>>,
}

/// Adds an account.
pub async fn add(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    add: Result<Json<NewConnection>, JsonRejection>,
) -> Answer<ConnectionRecord> {
    let add = body(add)?;
    let known = gateway.servers.all();
    // A misspelled service would be an account that no server ever uses.
    if !known.iter().any(|server| server.service() == add.service) {
        let services: Vec<&str> = known.iter().map(|server| server.service()).collect();
        let message = format!(
            "no MCP server uses the service {:?}; available: {}",
            add.service,
            services.join(", ")
        );
        return Err(Refusal(ToolError::parameter("service", message)));
    }
    let draft = draft(add.name, add.credentials, add.agents);
    let made = gateway
        .servers
        .accounts()
        .add(&add.service, ConnectionKind::Keys, draft)
        .await?;
    gateway.redact_stored_secrets().await?;
    gateway.servers.reconnect(&made).await;
    // A server that needs an account could not list its tools before.
    gateway.servers.look_again(&add.service);
    gateway
        .note(
            &owner.caller,
            "connection.add",
            &format!("{} for {}", made.id, made.service),
        )
        .await?;
    answer(made)
}

/// A change of an account.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionChange {
    /// New display name.
    name: Option<String>,
    /// Credentials to set, by name.
    #[serde(default)]
    credentials: BTreeMap<String, String>,
    /// Agents that may use it, by pattern.
    agents: Option<Vec<Pattern>>,
}

/// Changes an account.
pub async fn change(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
    change: Result<Json<ConnectionChange>, JsonRejection>,
) -> Answer<ConnectionRecord> {
    let change = body(change)?;
    let draft = draft(change.name, change.credentials, change.agents);
    let changed = gateway.servers.accounts().change(&id, draft).await?;
    gateway.redact_stored_secrets().await?;
    // Open connections still use the old credentials.
    gateway.servers.reconnect(&changed).await;
    gateway
        .note(&owner.caller, "connection.change", &id)
        .await?;
    answer(changed)
}

fn draft(
    name: Option<String>,
    credentials: BTreeMap<String, String>,
    agents: Option<Vec<Pattern>>,
) -> ConnectionDraft {
    let hidden = credentials
        .into_iter()
        .map(|(field, value)| (field, Secret::new(value)));
    ConnectionDraft {
        name,
        credentials: hidden.collect(),
        agents,
    }
}

/// Tests an account by listing the tools of a server of its service.
pub async fn test(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    Path(id): Path<String>,
) -> Answer<ConnectionRecord> {
    answer(gateway.servers.test(&id).await?)
}

/// The response after an account was removed.
#[derive(Serialize, JsonSchema)]
pub struct ConnectionRemoved {
    /// Its id.
    pcid: ConnectionId,
    /// Always true.
    removed: bool,
}

/// Removes an account and its credentials.
pub async fn remove(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<ConnectionRemoved> {
    let gone = gateway.servers.accounts().remove(&id).await?;
    // First, because open connections still use the credentials, which stay redacted until then.
    gateway.servers.reconnect(&gone).await;
    gateway.redact_stored_secrets().await?;
    gateway
        .note(&owner.caller, "connection.remove", &id)
        .await?;
    answer(ConnectionRemoved {
        pcid: gone.id,
        removed: true,
    })
}
