//! Advice for when there is no model to talk to.

use crate::remote::Remote;

/// How to configure a model.
pub const ADVICE: &str = r#"hint: add a provider; the API key is prompted for and stored in the vault:

    manyhands models add anthropic

or use a local model, which needs no API key:

    manyhands models add ollama --model qwen3:8b

`manyhands models providers` lists the supported providers. Configure others in config.toml in the home
(it is applied automatically), with the API key stored by `printf %s "$KEY" | manyhands secret set work`:

    [models]
    default = "work/some-model"
    [models.providers.work]
    kind = "openai"
    base_url = "https://models.example.com/v1"
    api_key = "vault:work"

then: manyhands models test"#;

/// Whether the settings contain a usable model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    /// No provider is configured.
    NoProvider,
    /// No default model is set.
    NoDefault,
    /// A model is set, or the settings are not readable with this token.
    Fine,
}

/// Reads the model settings of a gateway.
pub async fn check(remote: &Remote) -> Setup {
    let Ok(found) = remote.get("/api/config?path=models").await else {
        return Setup::Fine; // only the owner may read settings; others get the error from the turn
    };
    let models = &found["value"];
    let providers = models["providers"].as_object();
    match (providers, models["default"].as_str()) {
        (None, _) => Setup::NoProvider,
        (Some(providers), _) if providers.is_empty() => Setup::NoProvider,
        // A provider without a default still serves sessions that name a model.
        (Some(_), None) => Setup::NoDefault,
        _ => Setup::Fine,
    }
}
