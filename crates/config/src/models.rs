//! Settings of the models that think for agents: who serves them, what they cost, what may be spent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The models that agents think with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// The model to use, as `provider/model`, such as `anthropic/claude-sonnet-5-5`.
    pub default: Option<String>,
    /// Models to turn to, in order, when the one in use fails.
    pub fallbacks: Vec<String>,
    /// The most tokens of one reply, when the agent does not say.
    #[schemars(range(min = 1))]
    pub max_output_tokens: u32,
    /// Who serves models, by a name of your choice. Where a key is sent is decided here, so these
    /// are set in the file.
    #[schemars(extend("x-local" = true, "x-mask" = "names"))]
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Makers of your own, which the page and `manyhands models add` offer beside those that the
    /// program knows, or in the place of one of the same name. They say where a key is sent, so
    /// these are set in the file.
    #[schemars(extend("x-local" = true, "x-mask" = "names"))]
    pub makers: BTreeMap<String, MakerSettings>,
    /// What models cost, by `provider/model` or model name. Goes before the built-in list.
    #[schemars(extend("x-mask" = "names"))]
    pub prices: BTreeMap<String, Price>,
    /// What may be spent. A call that could go over is refused before it is made.
    pub limits: ModelLimits,
    /// How often to try again, and how long.
    pub retry: RetrySettings,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            default: None,
            fallbacks: Vec::new(),
            max_output_tokens: 8_192,
            providers: BTreeMap::new(),
            makers: BTreeMap::new(),
            prices: BTreeMap::new(),
            limits: ModelLimits::default(),
            retry: RetrySettings::default(),
        }
    }
}

/// One that serves models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderSettings {
    /// How it speaks: `anthropic`, `openai` (Chat Completions, which Ollama, vLLM, llama.cpp and
    /// OpenRouter speak too), `openai-responses`, `gemini`, or `scripted`.
    pub kind: ProviderKind,
    /// Its address, such as `http://127.0.0.1:11434/v1`. The maker's own unless said.
    #[serde(default)]
    #[schemars(extend("x-check" = "url", "x-local" = true))]
    pub base_url: Option<String>,
    /// Its key, as `vault:NAME`. Without one no key is sent.
    #[serde(default)]
    #[schemars(extend("x-check" = "vault"))]
    pub api_key: Option<String>,
    /// Headers to send with every request; a value may be `vault:NAME`.
    #[serde(default)]
    #[schemars(extend("x-secret" = true))]
    pub headers: BTreeMap<String, String>,
    /// For `scripted`: the YAML file of turns to replay. Such a provider is called `scripted`, or
    /// `scripted-` and more.
    #[serde(default)]
    #[schemars(extend("x-local" = true))]
    pub script: Option<PathBuf>,
    /// How long to wait for it.
    #[serde(default)]
    pub timeouts: ProviderTimeouts,
}

/// Somebody whose models can be added by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MakerSettings {
    /// How it speaks: `anthropic`, `openai`, `openai-responses` or `gemini`.
    pub kind: ProviderKind,
    /// What people call it; its name here unless said.
    #[serde(default)]
    pub title: Option<String>,
    /// Its address, such as `https://models.example.com/v1`. That of the kind's maker unless said.
    #[serde(default)]
    #[schemars(extend("x-check" = "url", "x-local" = true))]
    pub base_url: Option<String>,
    /// Whether it wants a key.
    #[serde(default = "wanted")]
    pub needs_key: bool,
    /// The model to begin with, as it is called there.
    #[serde(default)]
    pub model: Option<String>,
}

fn wanted() -> bool {
    true
}

/// How a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, and whoever is compatible.
    Openai,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// Google's Gemini.
    Gemini,
    /// Replays a file; no model at all.
    Scripted,
}

/// How long to wait for a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderTimeouts {
    /// Seconds to the first byte of a reply while another model stands by.
    #[schemars(range(min = 1, max = 3600))]
    pub first_byte_seconds: u32,
    /// Seconds between bytes of a reply while another model stands by.
    #[schemars(range(min = 1, max = 3600))]
    pub between_bytes_seconds: u32,
    /// Seconds for either when no other model stands by.
    #[schemars(range(min = 1, max = 3600))]
    pub last_resort_seconds: u32,
    /// Seconds a whole reply may take.
    #[schemars(range(min = 1, max = 86_400))]
    pub total_seconds: u32,
}

impl Default for ProviderTimeouts {
    fn default() -> Self {
        Self {
            first_byte_seconds: 4,
            between_bytes_seconds: 30,
            last_resort_seconds: 120,
            total_seconds: 900,
        }
    }
}

/// What a model costs, in dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens that are read.
    #[schemars(range(min = 0.0))]
    pub input: f64,
    /// Tokens that are written, thinking included.
    #[schemars(range(min = 0.0))]
    pub output: f64,
    /// Tokens read from the provider's cache; as `input` unless said.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub cache_read: Option<f64>,
    /// Tokens written to the provider's cache; as `input` unless said.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub cache_write: Option<f64>,
}

/// What may be spent on models.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelLimits {
    /// For one call of a model.
    pub per_call: ModelLimit,
    /// For one turn of a session.
    pub per_turn: ModelLimit,
    /// For one session.
    pub per_session: ModelLimit,
    /// For one agent in a day, by UTC.
    pub per_agent: ModelLimit,
    /// For everything in a day, by UTC.
    pub per_day: ModelLimit,
}

/// The most that may be spent; what is not said is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelLimit {
    /// Dollars.
    #[schemars(range(min = 0.0))]
    pub dollars: Option<f64>,
    /// Tokens, read and written together.
    pub tokens: Option<u64>,
}

/// How often to try again, and how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetrySettings {
    /// How often a failed call is made again with the same model.
    #[schemars(range(max = 10))]
    pub retries: u32,
    /// Milliseconds before the first new try, doubled each time and varied by chance.
    #[schemars(range(min = 1, max = 60_000))]
    pub base_milliseconds: u32,
    /// The most seconds to wait when a provider says how long.
    #[schemars(range(max = 600))]
    pub max_wait_seconds: u32,
    /// Seconds after which the next model is turned to at the latest.
    #[schemars(range(min = 1, max = 600))]
    pub failover_seconds: u32,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            retries: 2,
            base_milliseconds: 500,
            max_wait_seconds: 30,
            failover_seconds: 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_provider_needs_its_kind_and_nothing_else() {
        let read = |value| serde_json::from_value::<ModelSettings>(value);
        let settings = read(json!({ "providers": { "here": { "kind": "openai-responses" } } }));
        let provider = &settings.unwrap().providers["here"];
        assert_eq!(provider.kind, ProviderKind::OpenaiResponses);
        assert_eq!(provider.timeouts, ProviderTimeouts::default());
        for wrong in [
            json!({ "providers": { "here": {} } }),
            json!({ "providers": { "here": { "kind": "telepathy" } } }),
            json!({ "providers": { "here": { "kind": "openai", "key": "x" } } }),
            json!({ "limits": { "hour": {} } }),
            json!({ "makers": { "ours": { "base_url": "https://a" } } }),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
        assert_eq!(read(json!({})).unwrap(), ModelSettings::default());
        let makers = read(json!({ "makers": { "ours": { "kind": "openai" } } }));
        assert!(makers.unwrap().makers["ours"].needs_key);
    }
}
