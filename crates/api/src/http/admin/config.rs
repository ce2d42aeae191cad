//! Configuration over HTTP: the same file, the same checks.

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
use crate::http::shapes;

/// Which value to show.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// A dotted path; everything when not said.
    #[schemars(regex(pattern = shapes::SETTING))]
    path: Option<String>,
}

/// A value to set.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// A dotted path.
    #[schemars(regex(pattern = shapes::SETTING))]
    path: String,
    /// The new value.
    value: Value,
}

/// A value to take out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unset {
    /// A dotted path.
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
    /// Everything.
    All {
        /// The settings, as they would stand in config.toml.
        config: Value,
    },
}

/// A value that was set.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSet {
    /// Always true.
    ok: bool,
    /// The dotted path.
    path: String,
    /// The keys that hold only after the next start.
    needs_restart: Vec<String>,
}

/// What was taken over from config.toml.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReloaded {
    /// The keys whose values changed.
    changed: Vec<String>,
    /// Those of them that hold only after the next start.
    needs_restart: Vec<String>,
}

/// One value or all, secrets masked.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    which: Result<Query<Which>, QueryRejection>,
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

/// Sets one value in config.toml; it holds from the next call on where that is possible.
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

/// Takes one value out of config.toml, so that its default holds again.
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

/// Takes over what somebody wrote into config.toml, at once.
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
