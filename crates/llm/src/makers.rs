//! Who can be asked for models by name alone: how each speaks, and where.
//!
//! A key is sent to the address that stands here, or that the owner wrote into the file; nobody who
//! asks from afar can name another.

use url::Url;

use crate::model::{InvalidModel, ModelId};
use crate::settings::{ModelSettings, ProviderKind, ProviderSettings, ProviderTimeouts};
use crate::wire;

/// The longest name of a model.
const MAX_MODEL: usize = 200;
/// The longest name of a maker.
const MAX_NAME: usize = 64;

/// Somebody whose models can be added by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maker {
    /// Its name: of the provider in the settings, and of its key in the vault.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// How it speaks.
    pub kind: ProviderKind,
    /// Where it is, unless it is the maker of that kind itself.
    pub base_url: Option<String>,
    /// Whether it wants a key.
    pub needs_key: bool,
    /// The model to begin with, where there is a usual one.
    pub model: Option<String>,
}

/// How a maker stands in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The settings do not name it.
    Absent,
    /// The settings name it, and say the same of it.
    Set,
    /// The same, but no key is named there.
    Keyless,
    /// Another provider has its name, and this is how it differs.
    Different(String),
}

/// One of the makers that everybody knows.
struct Known {
    id: &'static str,
    title: &'static str,
    kind: ProviderKind,
    base_url: Option<&'static str>,
    needs_key: bool,
    model: Option<&'static str>,
}

const fn far(
    id: &'static str,
    title: &'static str,
    kind: ProviderKind,
    base_url: Option<&'static str>,
    model: Option<&'static str>,
) -> Known {
    Known {
        id,
        title,
        kind,
        base_url,
        needs_key: true,
        model,
    }
}

/// A server of this machine, at the port where it listens unless told otherwise.
const fn here(
    id: &'static str,
    title: &'static str,
    base_url: &'static str,
    model: Option<&'static str>,
) -> Known {
    Known {
        id,
        title,
        kind: ProviderKind::Openai,
        base_url: Some(base_url),
        needs_key: false,
        model,
    }
}

/// The makers that everybody knows, in the order in which they are offered.
const KNOWN: &[Known] = &[
    far(
        "anthropic",
        "Anthropic",
        ProviderKind::Anthropic,
        None,
        Some("claude-sonnet-5-5"),
    ),
    far(
        "openai",
        "OpenAI",
        ProviderKind::OpenaiResponses,
        None,
        Some("gpt-5.5"),
    ),
    far(
        "gemini",
        "Google Gemini",
        ProviderKind::Gemini,
        None,
        Some("gemini-3.1-pro"),
    ),
    far(
        "openrouter",
        "OpenRouter",
        ProviderKind::Openai,
        Some("https://openrouter.ai/api/v1"),
        Some("anthropic/claude-sonnet-5.5"),
    ),
    far(
        "mistral",
        "Mistral",
        ProviderKind::Openai,
        Some("https://api.mistral.ai/v1"),
        Some("mistral-large-latest"),
    ),
    far(
        "deepseek",
        "DeepSeek",
        ProviderKind::Openai,
        Some("https://api.deepseek.com/v1"),
        None,
    ),
    far(
        "groq",
        "Groq",
        ProviderKind::Openai,
        Some("https://api.groq.com/openai/v1"),
        None,
    ),
    far(
        "xai",
        "xAI",
        ProviderKind::Openai,
        Some("https://api.x.ai/v1"),
        None,
    ),
    here(
        "ollama",
        "Ollama, on this machine",
        "http://127.0.0.1:11434/v1",
        Some("qwen3:8b"),
    ),
    here(
        "llamacpp",
        "llama.cpp, on this machine",
        "http://127.0.0.1:8080/v1",
        None,
    ),
    here(
        "vllm",
        "vLLM, on this machine",
        "http://127.0.0.1:8000/v1",
        None,
    ),
    here(
        "lmstudio",
        "LM Studio, on this machine",
        "http://127.0.0.1:1234/v1",
        None,
    ),
];

impl From<&Known> for Maker {
    fn from(known: &Known) -> Self {
        Self {
            id: known.id.to_owned(),
            title: known.title.to_owned(),
            kind: known.kind,
            base_url: known.base_url.map(str::to_owned),
            needs_key: known.needs_key,
            model: known.model.map(str::to_owned),
        }
    }
}

impl Maker {
    /// Everybody who can be added: those that are known, and the owner's own, which go before a known
    /// one of the same name. What is wrong with the owner's is among [`crate::Models::problems`].
    pub fn all(settings: &ModelSettings) -> Vec<Self> {
        let own = settings.makers.keys();
        let mut own: Vec<Self> = own.filter_map(|id| Self::own(settings, id).ok()).collect();
        let mut all: Vec<Self> = Vec::with_capacity(KNOWN.len() + own.len());
        for known in KNOWN {
            let at = own.iter().position(|maker| maker.id == known.id);
            all.push(at.map_or_else(|| known.into(), |at| own.remove(at)));
        }
        all.extend(own);
        all
    }

    /// The one of that name.
    pub fn named(settings: &ModelSettings, id: &str) -> Option<Self> {
        Self::all(settings).into_iter().find(|maker| maker.id == id)
    }

    /// What is wrong with the owner's own.
    pub(crate) fn problems(settings: &ModelSettings) -> Vec<String> {
        let own = settings.makers.keys();
        own.filter_map(|id| Self::own(settings, id).err()).collect()
    }

    /// One that the owner wrote into the file.
    fn own(settings: &ModelSettings, id: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("models.makers.{id}: {why}"));
        let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
        if !(1..=MAX_NAME).contains(&id.len()) || !id.bytes().all(plain) {
            return wrong("a maker is named by 1-64 of A-Z, a-z, 0-9, _ and -");
        }
        let said = &settings.makers[id];
        if said.kind == ProviderKind::Scripted {
            return wrong("a script is no maker of models");
        }
        Ok(Self {
            id: id.to_owned(),
            title: said.title.clone().unwrap_or_else(|| id.to_owned()),
            kind: said.kind,
            base_url: said.base_url.clone(),
            needs_key: said.needs_key,
            model: said.model.clone(),
        })
    }

    /// Where its models are asked, and its key is sent.
    pub fn address(&self) -> String {
        address(self.kind, self.base_url.as_deref())
    }

    /// How the settings name its key.
    pub fn key(&self) -> Option<String> {
        self.needs_key.then(|| format!("vault:{}", self.id))
    }

    /// What stands in the settings for it.
    pub fn provider(&self) -> ProviderSettings {
        ProviderSettings {
            kind: self.kind,
            base_url: self.base_url.clone(),
            api_key: self.key(),
            headers: Default::default(),
            script: None,
            timeouts: ProviderTimeouts::default(),
        }
    }

    /// The model that is meant by `said`, or the one to begin with.
    pub fn model(&self, said: Option<&str>) -> Result<Option<ModelId>, InvalidModel> {
        let Some(said) = said.map(str::trim).or(self.model.as_deref()) else {
            return Ok(None);
        };
        // Some write the maker before the model, as everywhere else. Where the maker's own names have
        // slashes in them nobody can tell, so they are taken as they are.
        let slashes = self.model.as_ref().is_some_and(|usual| usual.contains('/'));
        let own = format!("{}/", self.id);
        let model = match said.strip_prefix(&own) {
            Some(rest) if !slashes => rest,
            _ => said,
        };
        if model.chars().count() > MAX_MODEL || model.contains(char::is_control) {
            return Err(InvalidModel(format!("{}/…", self.id)));
        }
        format!("{own}{model}").parse().map(Some)
    }

    /// How the settings have it.
    pub fn standing(&self, provider: Option<&ProviderSettings>) -> Standing {
        let Some(provider) = provider else {
            return Standing::Absent;
        };
        let there = address(provider.kind, provider.base_url.as_deref());
        if provider.kind != self.kind {
            return Standing::Different("it speaks another way (kind)".to_owned());
        }
        if !same(&there, &self.address()) {
            return Standing::Different(format!("it is at {there}, not at {}", self.address()));
        }
        match (&provider.api_key, self.key()) {
            (None, None) => Standing::Set,
            (None, Some(_)) if provider.headers.is_empty() => Standing::Keyless,
            (None, Some(_)) => {
                Standing::Different("it names headers of its own in the place of a key".to_owned())
            }
            (Some(named), Some(key)) if *named == key => Standing::Set,
            (Some(named), _) => Standing::Different(format!("its key is {named}")),
        }
    }
}

fn address(kind: ProviderKind, base_url: Option<&str>) -> String {
    let home = || wire::of(kind).map_or("", |wire| wire.home());
    base_url.unwrap_or_else(home).to_owned()
}

/// Whether two spellings are one address.
fn same(one: &str, other: &str) -> bool {
    let plain = |text: &str| match text.parse::<Url>() {
        Ok(url) => url.as_str().trim_end_matches('/').to_owned(),
        Err(_) => text.to_owned(),
    };
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settings(value: serde_json::Value) -> ModelSettings {
        serde_json::from_value(value).unwrap()
    }

    fn known(id: &str) -> Maker {
        Maker::named(&ModelSettings::default(), id).unwrap()
    }

    #[test]
    fn keys_go_to_makers_over_tls_and_servers_of_this_machine_want_none() {
        for maker in Maker::all(&ModelSettings::default()) {
            let url: Url = maker.address().parse().unwrap();
            match maker.needs_key {
                true => assert_eq!(url.scheme(), "https", "{}", maker.id),
                false => assert_eq!(url.host_str(), Some("127.0.0.1"), "{}", maker.id),
            }
            let provider = maker.provider();
            assert_eq!(maker.standing(Some(&provider)), Standing::Set);
            assert_eq!(maker.standing(None), Standing::Absent);
            let model = maker.model(Some("m")).unwrap().unwrap();
            assert_eq!((&model.provider, &*model.model), (&maker.id, "m"));
        }
    }

    #[test]
    fn the_owners_own_go_before_the_known_and_wrong_ones_are_told() {
        let settings = settings(json!({ "makers": {
            "ollama": { "kind": "openai", "base_url": "http://10.0.0.5:11434/v1", "needs_key": false },
            "ours": { "kind": "openai", "base_url": "https://models.example.com/v1", "model": "big" },
            "a.b": { "kind": "openai" },
            "played": { "kind": "scripted" },
        }}));
        let all = Maker::all(&settings);
        assert_eq!(all.len(), KNOWN.len() + 1);
        let ollama = Maker::named(&settings, "ollama").unwrap();
        assert_eq!(ollama.address(), "http://10.0.0.5:11434/v1");
        assert_eq!(ollama.model(None).unwrap(), None);
        let ours = Maker::named(&settings, "ours").unwrap();
        assert_eq!(ours.title, "ours");
        assert_eq!(ours.model(None).unwrap().unwrap().to_string(), "ours/big");
        assert_eq!(Maker::problems(&settings).len(), 2);
        assert!(Maker::named(&settings, "played").is_none());
    }

    #[test]
    fn a_provider_that_differs_is_not_the_makers() {
        let anthropic = known("anthropic");
        let with = |change: serde_json::Value| {
            let mut value = json!(anthropic.provider());
            let fields = value.as_object_mut().unwrap();
            fields.extend(change.as_object().unwrap().clone());
            anthropic.standing(Some(&serde_json::from_value(value).unwrap()))
        };
        for same in [
            json!({}),
            json!({ "base_url": "https://api.anthropic.com/" }),
            json!({ "timeouts": { "total_seconds": 5 } }),
        ] {
            assert_eq!(with(same.clone()), Standing::Set, "{same}");
        }
        assert_eq!(with(json!({ "api_key": null })), Standing::Keyless);
        for (other, why) in [
            (json!({ "kind": "openai" }), "kind"),
            (
                json!({ "base_url": "https://proxy.example" }),
                "proxy.example",
            ),
            (
                json!({ "base_url": "https://api.anthropic.com:8443" }),
                "8443",
            ),
            (json!({ "api_key": "vault:work" }), "vault:work"),
            (
                json!({ "api_key": null, "headers": { "x-key": "vault:a" } }),
                "headers",
            ),
        ] {
            let Standing::Different(how) = with(other.clone()) else {
                panic!("{other}");
            };
            assert!(how.contains(why), "{how}");
        }
    }

    #[test]
    fn a_model_is_meant_with_and_without_its_maker() {
        let model =
            |id: &str, said: &str| known(id).model(Some(said)).map(|m| m.unwrap().to_string());
        assert_eq!(model("anthropic", "anthropic/m").unwrap(), "anthropic/m");
        assert_eq!(model("anthropic", " m ").unwrap(), "anthropic/m");
        assert_eq!(
            model("openrouter", "openrouter/auto").unwrap(),
            "openrouter/openrouter/auto"
        );
        for wrong in ["", "a b", "a\u{1}", "a?b", &"x".repeat(201)] {
            assert!(model("anthropic", wrong).is_err(), "{wrong:?}");
        }
    }
}
