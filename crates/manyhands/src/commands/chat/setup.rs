//! What to do when there is no model to talk to.

use crate::remote::Remote;

/// What to write where so that there is a model.
pub const ADVICE: &str = r#"hint: write this into config.toml in the home (the gateway takes it over by itself), for Anthropic:

    [models]
    default = "anthropic/claude-sonnet-5-5"
    [models.providers.anthropic]
    kind = "anthropic"
    api_key = "vault:anthropic"

and store the key:

    printf %s "$KEY" | manyhands secret set anthropic

or, for a model of your own machine through Ollama, which needs no key:

    [models]
    default = "ollama/qwen3"
    [models.providers.ollama]
    kind = "openai"
    base_url = "http://127.0.0.1:11434/v1"

then: manyhands models test"#;

/// How far the settings lead to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    /// Nobody serves any.
    NoProvider,
    /// None is the default.
    NoDefault,
    /// There is one, or it is not for us to see.
    Fine,
}

/// Looks at the settings of a gateway.
pub async fn look(remote: &Remote) -> Setup {
    let Ok(found) = remote.get("/api/config?path=models").await else {
        return Setup::Fine; // whoever is not the owner is told by the turn itself
    };
    let models = &found["value"];
    let providers = models["providers"].as_object();
    match (providers, models["default"].as_str()) {
        (None, _) => Setup::NoProvider,
        (Some(providers), _) if providers.is_empty() => Setup::NoProvider,
        (Some(_), None) => Setup::NoDefault,
        _ => Setup::Fine,
    }
}
