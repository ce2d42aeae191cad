//! Resources: created, listed, granted and removed by the owner; secrets of vaults.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use manyhands_core::{AgentId, CollectionId, Secret, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_store::{CollectionKind, CollectionRecord, Grant, Level, VaultEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::http::object::Json;

/// A resource to create.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateResource {
    /// What it contains.
    kind: CollectionKind,
    /// Its name.
    name: String,
    /// Purpose.
    #[serde(default)]
    description: String,
    /// Agents that may use it.
    #[serde(default)]
    grants: Vec<Grant>,
}

/// A grant to an agent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Allow {
    /// Access level.
    level: Level,
}

/// A secret for a vault.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutSecret {
    /// The value.
    value: String,
    /// Hosts it may be sent to, such as `api.example.com` or `*.example.com`.
    #[serde(default)]
    hosts: Vec<String>,
}

/// A list of resources.
#[derive(Serialize, JsonSchema)]
pub struct ResourceList {
    /// The resources.
    resources: Vec<CollectionRecord>,
}

/// A resource and its grants.
#[derive(Serialize, JsonSchema)]
pub struct ResourceShown {
    #[serde(flatten)]
    record: CollectionRecord,
    /// Agents that may use it.
    grants: Vec<Grant>,
    /// Names and hosts of its secrets, if it is a vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    secrets: Option<Vec<VaultEntry>>,
}

/// The response after a resource was removed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRemoved {
    /// Its id.
    collection_id: CollectionId,
    /// Always true.
    removed: bool,
}

/// The response after a grant.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceGranted {
    /// Id of the resource.
    collection_id: CollectionId,
    /// The agent.
    #[schemars(with = "String")]
    agent: AgentId,
    /// Access level.
    level: Level,
}

/// The response after a grant was revoked.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRevoked {
    /// Id of the resource.
    collection_id: CollectionId,
    /// The agent.
    #[schemars(with = "String")]
    agent: AgentId,
    /// Always true.
    revoked: bool,
}

/// The response after a secret was stored.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VaultSecretStored {
    /// The vault.
    collection_id: CollectionId,
    /// The secret's name.
    name: String,
    /// Hosts it may be sent to.
    hosts: Vec<String>,
    /// Always true.
    stored: bool,
}

/// The response after a secret was removed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VaultSecretRemoved {
    /// The vault.
    collection_id: CollectionId,
    /// The secret's name.
    name: String,
    /// Always true.
    removed: bool,
}

/// Lists all resources.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ResourceList> {
    answer(ResourceList {
        resources: gateway.store.collections().all().await?,
    })
}

/// Creates a resource.
pub async fn create(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    new: Result<Json<CreateResource>, JsonRejection>,
) -> Answer<CollectionRecord> {
    let new = body(new)?;
    let store = gateway.store.collections();
    let made = store
        .create(new.kind, &new.name, &new.description, &new.grants)
        .await?;
    let about = format!("{} {} {}", made.kind.as_str(), made.id, made.name);
    gateway
        .note(&owner.caller, "resource.create", &about)
        .await?;
    answer(made)
}

/// Returns a resource and its grants.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    Path(id): Path<String>,
) -> Answer<ResourceShown> {
    let found = find(&gateway, &id).await?;
    let store = gateway.store.collections();
    let secrets = match found.kind {
        CollectionKind::Vault => Some(store.vault_entries(found.id).await?),
        _ => None,
    };
    answer(ResourceShown {
        grants: store.grants(found.id).await?,
        record: found,
        secrets,
    })
}

/// Removes a resource with its contents.
pub async fn remove(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<ResourceRemoved> {
    let found = find(&gateway, &id).await?;
    gateway.store.collections().remove(found.id).await?;
    gateway.redact_stored_secrets().await?;
    // The name too: nothing can look it up any more.
    let about = format!("{} {} {}", found.kind.as_str(), found.id, found.name);
    gateway
        .note(&owner.caller, "resource.remove", &about)
        .await?;
    answer(ResourceRemoved {
        collection_id: found.id,
        removed: true,
    })
}

/// Grants an agent access to a resource.
pub async fn grant(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path((id, agent)): Path<(String, String)>,
    allow: Result<Json<Allow>, JsonRejection>,
) -> Answer<ResourceGranted> {
    let level = body(allow)?.level;
    let (found, agent) = (find(&gateway, &id).await?, agent_id(&agent)?);
    gateway
        .store
        .collections()
        .grant(found.id, &agent, level)
        .await?;
    let about = format!("{} {agent} {}", found.id, level.as_str());
    gateway
        .note(&owner.caller, "resource.grant", &about)
        .await?;
    answer(ResourceGranted {
        collection_id: found.id,
        agent,
        level,
    })
}

/// Revokes an agent's access to a resource.
pub async fn revoke(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path((id, agent)): Path<(String, String)>,
) -> Answer<ResourceRevoked> {
    let (found, agent) = (find(&gateway, &id).await?, agent_id(&agent)?);
    if !gateway.store.collections().revoke(found.id, &agent).await? {
        let message = format!("{agent} had no grant on {:?}", found.name);
        return Err(Refusal(ToolError::not_found(message)));
    }
    let about = format!("{} {agent}", found.id);
    gateway
        .note(&owner.caller, "resource.revoke", &about)
        .await?;
    answer(ResourceRevoked {
        collection_id: found.id,
        agent,
        revoked: true,
    })
}

/// Stores a secret in a vault; from then on it is redacted from every result.
pub async fn put_secret(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path((id, name)): Path<(String, String)>,
    put: Result<Json<PutSecret>, JsonRejection>,
) -> Answer<VaultSecretStored> {
    let PutSecret { value, hosts } = body(put)?;
    let found = vault(&gateway, &id).await?;
    let secret = Secret::new(value);
    if secret.expose().chars().count() < 8 {
        let message = "must have at least 8 characters: a shorter one could not be redacted from results reliably";
        return Err(Refusal(ToolError::parameter("value", message)));
    }
    // Checked before the value is stored: a secret without valid hosts could never be used.
    if let Some(odd) = hosts.iter().find(|host| !is_host(host)) {
        let message = format!("{odd:?} is not a host: use api.example.com or *.example.com");
        return Err(Refusal(ToolError::parameter("hosts", message)));
    }
    let store = gateway.store.collections();
    store.put_secret(found.id, &name, &secret, &hosts).await?;
    gateway.redact_stored_secrets().await?;
    let about = format!("{} {name}", found.id);
    gateway
        .note(&owner.caller, "resource.secret.set", &about)
        .await?;
    answer(VaultSecretStored {
        collection_id: found.id,
        name,
        hosts,
        stored: true,
    })
}

/// Removes a secret from a vault.
pub async fn remove_secret(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path((id, name)): Path<(String, String)>,
) -> Answer<VaultSecretRemoved> {
    let found = vault(&gateway, &id).await?;
    if !gateway
        .store
        .collections()
        .remove_secret(found.id, &name)
        .await?
    {
        let message = format!("no secret {name:?} in {:?}", found.name);
        return Err(Refusal(ToolError::not_found(message)));
    }
    gateway.redact_stored_secrets().await?;
    let about = format!("{} {name}", found.id);
    gateway
        .note(&owner.caller, "resource.secret.remove", &about)
        .await?;
    answer(VaultSecretRemoved {
        collection_id: found.id,
        name,
        removed: true,
    })
}

/// The resource of that id, or of that name if it is unique.
async fn find(gateway: &Gateway, text: &str) -> Result<CollectionRecord, Refusal> {
    let absent = || Refusal(ToolError::not_found(format!("no resource {text:?}")));
    let store = gateway.store.collections();
    if let Ok(id) = text.parse::<CollectionId>() {
        return store.get(id).await?.ok_or_else(absent);
    }
    // Names are unique only within a kind.
    let mut named = store
        .all()
        .await?
        .into_iter()
        .filter(|one| one.name == text);
    match (named.next(), named.next()) {
        (Some(found), None) => Ok(found),
        (None, _) => Err(absent()),
        (Some(_), Some(_)) => {
            let message = format!("several kinds of resources are named {text:?}: use the id");
            Err(Refusal(ToolError::parameter("id", message)))
        }
    }
}

async fn vault(gateway: &Gateway, text: &str) -> Result<CollectionRecord, Refusal> {
    let found = find(gateway, text).await?;
    match found.kind {
        CollectionKind::Vault => Ok(found),
        other => {
            let message = format!("{:?} is a {}, not a vault", found.name, other.as_str());
            Err(Refusal(ToolError::parameter("id", message)))
        }
    }
}

fn agent_id(text: &str) -> Result<AgentId, Refusal> {
    text.parse().map_err(|e: manyhands_core::InvalidName| {
        Refusal(ToolError::parameter("agent", e.to_string()))
    })
}

fn is_host(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let legal = |c: u8| c.is_ascii_alphanumeric() || b".-:[]_".contains(&c);
    (1..=253).contains(&name.len()) && name.bytes().all(legal) && !name.starts_with('.')
}
