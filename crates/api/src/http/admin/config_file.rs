//! The text of config.toml: get, check and replace.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, answer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body;
use crate::http::object::Json;

/// The text of config.toml.
#[derive(Serialize, JsonSchema)]
pub struct ConfigFileText {
    /// The text, with secrets masked as `***`.
    text: String,
    /// Its version, for a write.
    version: String,
}

/// Returns the text of config.toml with secrets masked; that of the default file if there is none.
pub async fn get(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<ConfigFileText> {
    let whole = gateway.config_text().await?;
    answer(ConfigFileText {
        text: whole.text,
        version: whole.version,
    })
}

/// A new text of config.toml.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewConfigFile {
    /// The text. A value that is still `***` keeps what it stands for.
    text: String,
    /// The version it is based on; another current version is a conflict.
    version: String,
}

/// The response after config.toml was replaced.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigFileWritten {
    /// The new version.
    version: String,
    /// Keys whose values changed.
    changed: Vec<String>,
    /// Keys that take effect after a restart.
    needs_restart: Vec<String>,
}

/// Replaces the text of config.toml and applies it.
pub async fn put(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    new: Result<Json<NewConfigFile>, JsonRejection>,
) -> Answer<ConfigFileWritten> {
    let NewConfigFile { text, version } = body(new)?;
    let written = gateway
        .write_config_text(&owner.caller, text, version)
        .await?;
    answer(ConfigFileWritten {
        version: written.version,
        changed: written.changed,
        needs_restart: written.needs_restart,
    })
}

/// A text to check.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigToCheck {
    /// The text.
    text: String,
}

/// Something wrong in a text.
#[derive(Serialize, JsonSchema)]
pub struct ConfigProblem {
    /// Line, counted from 1, if it has one.
    line: Option<usize>,
    /// Dotted key; empty for a syntax error.
    key: String,
    /// What is wrong.
    message: String,
}

/// The result of a check.
#[derive(Serialize, JsonSchema)]
pub struct ConfigChecked {
    /// What keeps the text from being written; empty if nothing does.
    problems: Vec<ConfigProblem>,
}

/// Checks a text of config.toml without writing it.
pub async fn check(
    State(gateway): State<Arc<Gateway>>,
    _: Owner,
    text: Result<Json<ConfigToCheck>, JsonRejection>,
) -> Answer<ConfigChecked> {
    let problems = gateway.check_config_text(body(text)?.text).await?;
    let problems = problems.into_iter().map(|problem| ConfigProblem {
        message: problem.to_string(),
        line: problem.line,
        key: problem.key,
    });
    answer(ConfigChecked {
        problems: problems.collect(),
    })
}
