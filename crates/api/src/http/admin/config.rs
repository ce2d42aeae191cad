//! Settings over HTTP, with the same file and checks as everywhere.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, answer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{body, query};
use crate::http::object::Json;
use crate::http::patterns;

/// Filter.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigQuery {
    /// Dotted path; all settings by default.
    #[schemars(regex(pattern = patterns::SETTING))]
    path: Option<String>,
}

/// A value to set.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Dotted path.
    #[schemars(regex(pattern = patterns::SETTING))]
    path: String,
    /// The new value.
    value: Value,
}

/// A value to remove.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unset {
    /// Dotted path.
    path: String,
}

/// Settings, secrets masked.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ConfigShown {
    /// The value at a path.
    One {
        /// The value.
        value: Value,
        /// Its dotted path.
        path: String,
    },
    /// All settings.
    All {
        /// The settings as they would appear in config.toml.
        config: Value,
    },
}

/// The response after a value was changed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSet {
    /// Always true.
    ok: bool,
    /// The dotted path.
    path: String,
    /// Keys that take effect after a restart.
    needs_restart: Vec<String>,
}

/// Changes applied from config.toml.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReloaded {
    /// Keys whose values changed.
    changed: Vec<String>,
    /// Keys that take effect after a restart.
    needs_restart: Vec<String>,
}

/// Returns one value or all, with secrets masked.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    which: Result<Query<ConfigQuery>, QueryRejection>,
) -> Answer<ConfigShown> {
    match query(which)?.path {
        Some(path) => answer(ConfigShown::One {
            value: gateway.settings.get(&path)?,
            path,
        }),
        None => answer(ConfigShown::All {
            config: gateway.settings.all(),
        }),
    }
}

/// Sets a value in config.toml; effective from the next call on where possible.
pub async fn set(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    set: Result<Json<Set>, JsonRejection>,
) -> Answer<ConfigSet> {
    let Set { path, value } = body(set)?;
    let needs_restart = gateway.set_config(&owner.caller, &path, value).await?;
    answer(ConfigSet {
        ok: true,
        path,
        needs_restart,
    })
}

/// Removes a value from config.toml, so that its default applies.
pub async fn unset(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    unset: Result<Query<Unset>, QueryRejection>,
) -> Answer<ConfigSet> {
    let Unset { path } = query(unset)?;
    let needs_restart = gateway.unset_config(&owner.caller, &path).await?;
    answer(ConfigSet {
        ok: true,
        path,
        needs_restart,
    })
}

/// Applies changes made in config.toml immediately.
pub async fn reload(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
) -> Answer<ConfigReloaded> {
    let changes = gateway.reload_config(&owner.caller).await?;
    answer(ConfigReloaded {
        changed: changes.keys,
        needs_restart: changes.needs_restart,
    })
}
