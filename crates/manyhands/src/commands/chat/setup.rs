//! What to do when there is no model to talk to.

use crate::remote::Remote;

/// What to do so that there is a model.
pub const ADVICE: &str = r#"hint: add one by its maker's name; the key is asked for, and kept in the vault:

    manyhands models add anthropic

or a model of your own machine, which needs no key:

    manyhands models add ollama --model qwen3:8b

`manyhands models makers` lists everybody who can be added so. Others are written into config.toml in the home
(the gateway takes it over by itself), with the key stored by `printf %s "$KEY" | manyhands secret set work`:

    [models]
    default = "work/some-model"
    [models.providers.work]
    kind = "openai"
    base_url = "https://models.example.com/v1"
    api_key = "vault:work"

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
