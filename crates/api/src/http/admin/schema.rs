//! The schema of the settings.

use manyhands_http_common::{Answer, Owner, answer};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The schema of the settings.
#[derive(Serialize, JsonSchema)]
pub struct ConfigSchema {
    /// JSON Schema of the settings. `description` explains a key and `default` gives its default;
    /// `x-secret` marks values masked when read, `x-restart` those that need a restart, and
    /// `x-local` those that can only be set in the file.
    schema: Value,
}

/// Returns the schema of the settings.
pub async fn get(_: Owner) -> Answer<ConfigSchema> {
    answer(ConfigSchema {
        schema: manyhands_config::schema(),
    })
}
