//! `gsv__ConfigGet`

use manyhands_core::{CallContext, Effects, Outcome, ToolError, ToolSpec, TypedTool};
use manyhands_host::LiveSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::registration::{Registration, always, typed};

/// Inspect the gateway's configuration. Secrets are masked, with or without a path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Dotted path to one value (for example "session.dmScope", "channels.whatsapp.allowFrom"). Omit it for the whole
    /// configuration.
    path: Option<String>,
}

/// One value, or the whole configuration.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Output {
    /// With a path.
    One {
        /// The requested path.
        path: String,
        /// The value.
        value: Value,
    },
    /// Without a path.
    All {
        /// All settings, defaults included.
        config: Value,
    },
}

pub(crate) const TOOL: Registration = Registration {
    name: "gsv__ConfigGet",
    enabled: always,
    build: |deps| typed(ConfigGet(deps.settings.clone())),
};

struct ConfigGet(LiveSettings);

impl TypedTool for ConfigGet {
    type Params = Params;
    type Output = Output;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name).effects(Effects::READS).administers()
    }

    async fn run(&self, params: Params, _: &CallContext) -> Result<Outcome, ToolError> {
        // Models send an empty string for what they leave out.
        let output = match params.path.filter(|path| !path.is_empty()) {
            Some(path) => Output::One {
                value: self.value(&path)?,
                path,
            },
            None => Output::All {
                config: self.0.all(),
            },
        };
        Outcome::of(&output)
    }
}

impl ConfigGet {
    /// The value at a path, spelled as in config.toml or in camel case.
    fn value(&self, path: &str) -> Result<Value, ToolError> {
        // Other programs spell settings in camel case and call this section `session`. The error
        // names the path as it was given.
        self.0.get(path).or_else(|refused| {
            let spelled = snake_case(path);
            let spelled = match spelled.strip_prefix("session.") {
                Some(rest) => format!("sessions.{rest}"),
                None => spelled,
            };
            self.0.get(&spelled).map_err(|_| refused)
        })
    }
}

/// Converts `dmScope` to `dm_scope`.
fn snake_case(path: &str) -> String {
    let mut spelled = String::with_capacity(path.len() + 4);
    for letter in path.chars() {
        if letter.is_ascii_uppercase() {
            spelled.push('_');
        }
        spelled.push(letter.to_ascii_lowercase());
    }
    spelled
}
