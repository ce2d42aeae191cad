//! Secrets: put in, named, taken out; never shown.

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

/// A secret's value.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// The secret itself, of at least 8 characters.
    #[schemars(length(min = 8))]
    value: String,
}

/// The names of secrets.
#[derive(Serialize, JsonSchema)]
pub struct SecretNames {
    /// The names.
    names: Vec<String>,
}

/// A secret that was stored.
#[derive(Serialize, JsonSchema)]
pub struct SecretStored {
    /// Its name.
    name: String,
    /// Always true.
    stored: bool,
}

/// A secret that was forgotten.
#[derive(Serialize, JsonSchema)]
pub struct SecretRemoved {
    /// Its name.
    name: String,
    /// Always true.
    removed: bool,
}

/// The names of all secrets.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<SecretNames> {
    answer(SecretNames {
        names: gateway.store.vault().names().await?,
    })
}

/// Stores a secret, encrypted; from now on it is cut out of every result.
pub async fn put(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(name): Path<String>,
    put: Result<Json<Put>, JsonRejection>,
) -> Answer<SecretStored> {
    let secret = Secret::new(body(put)?.value);
    if secret.expose().chars().count() < 8 {
        let message = "must have at least 8 characters: a shorter one could not be told from other text, and so not be cut out of results";
        return Err(Refusal(ToolError::parameter("value", message)));
    }
    gateway.store.vault().set(&name, &secret).await?;
    gateway.learn_secrets().await?;
    gateway.chats().take_over().await; // an account may have waited for it
    gateway.note(&owner.caller, "secret.set", &name).await?;
    answer(SecretStored { name, stored: true })
}

/// Forgets a secret.
pub async fn remove(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(name): Path<String>,
) -> Answer<SecretRemoved> {
    if !gateway.store.vault().remove(&name).await? {
        return Err(Refusal(ToolError::not_found(format!(
            "there is no secret {name:?}"
        ))));
    }
    gateway.learn_secrets().await?;
    gateway.note(&owner.caller, "secret.remove", &name).await?;
    answer(SecretRemoved {
        name,
        removed: true,
    })
}
