//! What can be set, and what it means.

use manyhands_http_common::{Answer, Owner, answer};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Everything that can be set.
#[derive(Serialize, JsonSchema)]
pub struct ConfigSchema {
    /// The JSON Schema of the settings. `description` says what a key means, `default` what holds when it
    /// is not set; `x-secret` marks what is masked when read, `x-restart` what a restart brings into force,
    /// and `x-local` what is set in the file alone.
    schema: Value,
}

/// The schema of the settings.
pub async fn get(_: Owner) -> Answer<ConfigSchema> {
    answer(ConfigSchema {
        schema: manyhands_config::schema(),
    })
}
