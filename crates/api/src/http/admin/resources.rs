//! Resources: made, listed, granted and removed by the owner; secrets put into vaults.

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

/// A resource to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// What it holds.
    kind: CollectionKind,
    /// Its name.
    name: String,
    /// What it is for.
    #[serde(default)]
    description: String,
    /// Who may use it.
    #[serde(default)]
    grants: Vec<Grant>,
}

/// What an agent may do.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Allow {
    /// How much.
    level: Level,
}

/// A secret for a vault.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutSecret {
    /// The secret itself.
    value: String,
    /// The hosts it may be sent to, such as `api.example.com` or `*.example.com`.
    #[serde(default)]
    hosts: Vec<String>,
}

/// Resources.
#[derive(Serialize, JsonSchema)]
pub struct ResourceList {
    /// The resources.
    resources: Vec<CollectionRecord>,
}

/// One resource, with who may use it.
#[derive(Serialize, JsonSchema)]
pub struct ResourceShown {
    #[serde(flatten)]
    record: CollectionRecord,
    /// Who may use it.
    grants: Vec<Grant>,
    /// What is known of the secrets in it, where it is a vault.
    #[serde(skip_serializing_if = "Option::is_none")]
    secrets: Option<Vec<VaultEntry>>,
}

/// A resource that was removed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRemoved {
    /// Which one it was.
    collection_id: CollectionId,
    /// Always true.
    removed: bool,
}

/// What an agent may do with a resource.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceGranted {
    /// Which one.
    collection_id: CollectionId,
    /// The agent.
    #[schemars(with = "String")]
    agent: AgentId,
    /// How much it may do.
    level: Level,
}

/// An agent that may no longer use a resource.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRevoked {
    /// Which one.
    collection_id: CollectionId,
    /// The agent.
    #[schemars(with = "String")]
    agent: AgentId,
    /// Always true.
    revoked: bool,
}

/// A secret that was put into a vault.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VaultSecretStored {
    /// The vault.
    collection_id: CollectionId,
    /// The secret's name.
    name: String,
    /// The hosts it may be sent to.
    hosts: Vec<String>,
    /// Always true.
    stored: bool,
}

/// A secret of a vault that was forgotten.
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

/// Every resource.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ResourceList> {
    answer(ResourceList {
        resources: gateway.store.collections().all().await?,
    })
}

/// Makes a resource.
pub async fn create(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    new: Result<Json<Create>, JsonRejection>,
) -> Answer<CollectionRecord> {
    let new = body(new)?;
    let store = gateway.store.collections();
    let made = store
        .create(new.kind, &new.name, &new.description, &new.grants)
        .await?;
    let about = format!("{} {} {}", made.kind.word(), made.id, made.name);
    gateway
        .note(&owner.caller, "resource.create", &about)
        .await?;
    answer(made)
}

/// One resource, with who may use it.
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

/// Removes a resource with all it holds.
pub async fn remove(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(id): Path<String>,
) -> Answer<ResourceRemoved> {
    let found = find(&gateway, &id).await?;
    gateway.store.collections().remove(found.id).await?;
    gateway.learn_secrets().await?;
    let about = format!("{} {} {}", found.kind.word(), found.id, found.name);
    gateway
        .note(&owner.caller, "resource.remove", &about)
        .await?;
    answer(ResourceRemoved {
        collection_id: found.id,
        removed: true,
    })
}

/// Lets an agent use a resource.
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
    let about = format!("{} {agent} {}", found.id, level.word());
    gateway
        .note(&owner.caller, "resource.grant", &about)
        .await?;
    answer(ResourceGranted {
        collection_id: found.id,
        agent,
        level,
    })
}

/// Lets an agent no longer use a resource.
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

/// Puts a secret into a vault; from now on it is cut out of every result.
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
        let message = "must have at least 8 characters: a shorter one could not be told from other text, and so not be cut out of results";
        return Err(Refusal(ToolError::parameter("value", message)));
    }
    if let Some(odd) = hosts.iter().find(|host| !is_host(host)) {
        let message = format!("{odd:?} is not a host: write api.example.com or *.example.com");
        return Err(Refusal(ToolError::parameter("hosts", message)));
    }
    let store = gateway.store.collections();
    store.put_secret(found.id, &name, &secret, &hosts).await?;
    gateway.learn_secrets().await?;
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

/// Forgets a secret of a vault.
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
        let message = format!("there is no secret {name:?} in {:?}", found.name);
        return Err(Refusal(ToolError::not_found(message)));
    }
    gateway.learn_secrets().await?;
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

/// The resource of that id, or of that name where only one has it.
async fn find(gateway: &Gateway, text: &str) -> Result<CollectionRecord, Refusal> {
    let absent = || {
        Refusal(ToolError::not_found(format!(
            "there is no resource {text:?}"
        )))
    };
    let store = gateway.store.collections();
    if let Ok(id) = text.parse::<CollectionId>() {
        return store.get(id).await?.ok_or_else(absent);
    }
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
            let message = format!("{:?} is a {}, not a vault", found.name, other.word());
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
