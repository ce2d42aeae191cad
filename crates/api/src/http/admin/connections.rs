//! Accounts of services: opened, shared, tried, closed. Their credentials are never shown.

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

/// Accounts of services.
#[derive(Serialize, JsonSchema)]
pub struct ConnectionList {
    /// How many.
    count: usize,
    /// The accounts.
    connections: Vec<ConnectionRecord>,
}

/// Every account.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ConnectionList> {
    let all = gateway.servers.accounts().all();
    answer(ConnectionList {
        count: all.len(),
        connections: all.to_vec(),
    })
}

/// One account.
pub async fn show(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    Path(id): Path<String>,
) -> Answer<ConnectionRecord> {
    answer(gateway.servers.accounts().get(&id)?)
}

/// An account to be opened.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// The service: the name of an MCP server, or what its `service` says.
    service: String,
    /// What to call it; the service's name when not said.
    name: Option<String>,
    /// Its credentials by name. `token` is sent as a bearer token unless the server's headers say
    /// otherwise; for a program each is a variable of its environment.
    #[serde(default)]
    credentials: BTreeMap<String, String>,
    /// The agents that may use it, by pattern; all when not said.
    agents: Option<Vec<Pattern>>,
}

/// Opens an account.
pub async fn add(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    add: Result<Json<Add>, JsonRejection>,
) -> Answer<ConnectionRecord> {
    let add = body(add)?;
    let known = gateway.servers.all();
    if !known.iter().any(|server| server.service() == add.service) {
        let services: Vec<&str> = known.iter().map(|server| server.service()).collect();
        let message = format!(
            "no MCP server uses the service {:?}; there are: {}",
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
    gateway.learn_secrets().await?;
    gateway.servers.reconnect(&made).await;
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

/// What is new about an account.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What to call it.
    name: Option<String>,
    /// Credentials to set, by name.
    #[serde(default)]
    credentials: BTreeMap<String, String>,
    /// The agents that may use it, by pattern.
    agents: Option<Vec<Pattern>>,
}

/// Changes an account.
pub async fn change(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
    change: Result<Json<Change>, JsonRejection>,
) -> Answer<ConnectionRecord> {
    let change = body(change)?;
    let draft = draft(change.name, change.credentials, change.agents);
    let changed = gateway.servers.accounts().change(&id, draft).await?;
    gateway.learn_secrets().await?;
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

/// Tries an account: asks a server of its service for its tools by it.
pub async fn test(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    Path(id): Path<String>,
) -> Answer<ConnectionRecord> {
    answer(gateway.servers.test(&id).await?)
}

/// An account that was closed.
#[derive(Serialize, JsonSchema)]
pub struct ConnectionRemoved {
    /// Which one it was.
    pcid: ConnectionId,
    /// Always true.
    removed: bool,
}

/// Closes an account and forgets its credentials.
pub async fn remove(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<ConnectionRemoved> {
    let gone = gateway.servers.accounts().remove(&id).await?;
    gateway.servers.reconnect(&gone).await;
    gateway.learn_secrets().await?;
    gateway
        .note(&owner.caller, "connection.remove", &id)
        .await?;
    answer(ConnectionRemoved {
        pcid: gone.id,
        removed: true,
    })
}
