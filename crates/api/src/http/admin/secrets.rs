//! Secrets: stored, listed by name and removed; values are never returned.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use manyhands_core::{Secret, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::http::object::Json;

/// A secret to store.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// The value, at least 8 characters.
    #[schemars(length(min = 8))]
    value: String,
}

/// The names of secrets.
#[derive(Serialize, JsonSchema)]
pub struct SecretNames {
    /// The names.
    names: Vec<String>,
}

/// The response after a secret was stored.
#[derive(Serialize, JsonSchema)]
pub struct SecretStored {
    /// Its name.
    name: String,
    /// Always true.
    stored: bool,
}

/// The response after a secret was removed.
#[derive(Serialize, JsonSchema)]
pub struct SecretRemoved {
    /// Its name.
    name: String,
    /// Always true.
    removed: bool,
}

/// Lists the names of all secrets.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<SecretNames> {
    answer(SecretNames {
        names: gateway.store.vault().names().await?,
    })
}

/// Stores a secret, encrypted; from then on it is redacted from every result.
pub async fn put(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(name): Path<String>,
    put: Result<Json<Put>, JsonRejection>,
) -> Answer<SecretStored> {
    let secret = Secret::new(body(put)?.value);
    if secret.expose().chars().count() < 8 {
        let message = "must have at least 8 characters: a shorter one could not be redacted from results reliably";
        return Err(Refusal(ToolError::parameter("value", message)));
    }
    gateway.store.vault().set(&name, &secret).await?;
    gateway.redact_stored_secrets().await?;
    gateway.chats().take_over().await; // an account may have waited for it
    gateway.note(&owner.caller, "secret.set", &name).await?;
    answer(SecretStored { name, stored: true })
}

/// Removes a secret.
pub async fn remove(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(name): Path<String>,
) -> Answer<SecretRemoved> {
    if !gateway.store.vault().remove(&name).await? {
        return Err(Refusal(ToolError::not_found(format!("no secret {name:?}"))));
    }
    gateway.redact_stored_secrets().await?;
    gateway.note(&owner.caller, "secret.remove", &name).await?;
    answer(SecretRemoved {
        name,
        removed: true,
    })
}
