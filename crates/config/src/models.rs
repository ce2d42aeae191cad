//! Settings of models: providers, prices and spending limits.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Models and their providers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// Default model, as `provider/model`, such as `anthropic/claude-sonnet-5-5`.
    pub default: Option<String>,
    /// Models to try, in order, when the current one fails.
    pub fallbacks: Vec<String>,
    /// Maximum number of tokens per reply, if the agent does not set it.
    #[schemars(range(min = 1))]
    pub max_output_tokens: u32,
    /// Providers by a name of your choice. They decide where API keys are sent, so they can only be set in the file.
    #[schemars(extend("x-local" = true, "x-mask" = "names"))]
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Additional provider presets, offered by the page and `manyhands models add` besides the built-in ones, or
    /// replacing a built-in one with the same name. They decide where API keys are sent, so they can only be set in
    /// the file.
    #[schemars(extend("x-local" = true, "x-mask" = "names"))]
    pub makers: BTreeMap<String, MakerSettings>,
    /// Prices by `provider/model` or model name. They override the built-in list.
    #[schemars(extend("x-mask" = "names"))]
    pub prices: BTreeMap<String, Price>,
    /// Spending limits. A call that could exceed one is refused before it is made.
    pub limits: ModelLimits,
    /// Retries and failover.
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

/// One provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderSettings {
    /// API: `anthropic`, `openai` (Chat Completions, also provided by Ollama, vLLM, llama.cpp and
    /// OpenRouter), `openai-responses`, `gemini`, or `scripted`.
    pub kind: ProviderKind,
    /// Base URL, such as `http://127.0.0.1:11434/v1`. Default: the official URL of the `kind`.
    #[serde(default)]
    #[schemars(extend("x-check" = "url", "x-local" = true))]
    pub base_url: Option<String>,
    /// API key, as `vault:NAME`. Without one no key is sent.
    #[serde(default)]
    #[schemars(extend("x-check" = "vault"))]
    pub api_key: Option<String>,
    /// HTTP headers to send with every request; a value may be `vault:NAME`.
    #[serde(default)]
    #[schemars(extend("x-secret" = true))]
    pub headers: BTreeMap<String, String>,
    /// For `scripted`: YAML file with the turns to replay. Such a provider must be named `scripted` or
    /// `scripted-...`.
    #[serde(default)]
    #[schemars(extend("x-local" = true))]
    pub script: Option<PathBuf>,
    /// Timeouts.
    #[serde(default)]
    pub timeouts: ProviderTimeouts,
}

/// A provider preset that can be added by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MakerSettings {
    /// API: `anthropic`, `openai`, `openai-responses` or `gemini`.
    pub kind: ProviderKind,
    /// Display name. Default: its key.
    #[serde(default)]
    pub title: Option<String>,
    /// Base URL, such as `https://models.example.com/v1`. Default: the official URL of the `kind`.
    #[serde(default)]
    #[schemars(extend("x-check" = "url", "x-local" = true))]
    pub base_url: Option<String>,
    /// Whether it needs an API key.
    #[serde(default = "wanted")]
    pub needs_key: bool,
    /// Default model id.
    #[serde(default)]
    pub model: Option<String>,
}

fn wanted() -> bool {
    true
}

/// API of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions and compatible APIs.
    Openai,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Google Gemini.
    Gemini,
    /// Replays a file, without a model.
    Scripted,
}

/// Timeouts of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderTimeouts {
    /// Seconds until the first byte of a reply, if there is a fallback.
    #[schemars(range(min = 1, max = 3600))]
    pub first_byte_seconds: u32,
    /// Seconds between bytes of a reply, if there is a fallback.
    #[schemars(range(min = 1, max = 3600))]
    pub between_bytes_seconds: u32,
    /// Seconds for either, if there is no fallback.
    #[schemars(range(min = 1, max = 3600))]
    pub last_resort_seconds: u32,
    /// Seconds for a complete reply.
    #[schemars(range(min = 1, max = 86_400))]
    pub total_seconds: u32,
}

impl Default for ProviderTimeouts {
    fn default() -> Self {
        Self {
            // With a fallback a slow provider should not be waited for.
            first_byte_seconds: 4,
            between_bytes_seconds: 30,
            // Without one, a large prompt on a busy provider can take a minute until the first
            // token.
            last_resort_seconds: 120,
            total_seconds: 900,
        }
    }
}

/// Price of a model, in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens.
    #[schemars(range(min = 0.0))]
    pub input: f64,
    /// Output tokens, including reasoning.
    #[schemars(range(min = 0.0))]
    pub output: f64,
    /// Tokens read from the provider's cache. Default: as `input`.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub cache_read: Option<f64>,
    /// Tokens written to the provider's cache. Default: as `input`.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub cache_write: Option<f64>,
}

/// Spending limits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelLimits {
    /// Per call of a model.
    pub per_call: ModelLimit,
    /// Per turn of a session.
    pub per_turn: ModelLimit,
    /// Per session.
    pub per_session: ModelLimit,
    /// Per agent and day (UTC).
    pub per_agent: ModelLimit,
    /// Per day (UTC), in total.
    pub per_day: ModelLimit,
}

/// A spending limit; unset values are not limited.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelLimit {
    /// Dollars.
    #[schemars(range(min = 0.0))]
    pub dollars: Option<f64>,
    /// Input and output tokens together.
    pub tokens: Option<u64>,
}

/// Retries and failover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetrySettings {
    /// How often a failed call is retried with the same model.
    #[schemars(range(max = 10))]
    pub retries: u32,
    /// Milliseconds before the first retry, doubled each time, with jitter.
    #[schemars(range(min = 1, max = 60_000))]
    pub base_milliseconds: u32,
    /// Maximum number of seconds to wait if a provider sends a retry delay.
    #[schemars(range(max = 600))]
    pub max_wait_seconds: u32,
    /// Seconds after which the next model is tried at the latest.
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
