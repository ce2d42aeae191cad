//! Configuration over HTTP: the same file, the same checks.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{body, query};
use crate::gateway::Gateway;
use crate::http::asker::Owner;
use crate::http::refusal::{Answer, answer};

/// Which value to show.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// A dotted path; everything when not said.
    path: Option<String>,
}

/// A value to set.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// A dotted path.
    path: String,
    /// The new value.
    value: Value,
}

/// One value or all, secrets masked.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    which: Result<Query<Which>, QueryRejection>,
) -> Answer {
    match query(which)?.path {
        Some(path) => answer(json!({ "value": gateway.settings.get(&path)?, "path": path })),
        None => answer(json!({ "config": gateway.settings.all() })),
    }
}

/// Sets one value in config.toml; it holds from the next call on where that is possible.
pub async fn set(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    set: Result<Json<Set>, JsonRejection>,
) -> Answer {
    let Set { path, value } = body(set)?;
    let needs_restart = gateway.set_config(&owner.caller, &path, value).await?;
    answer(json!({ "ok": true, "path": path, "needsRestart": needs_restart }))
}
