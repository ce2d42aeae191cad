//! Provider presets: providers that can be added by name alone, with their API format and URL.
//!
//! A key is sent only to the URL listed here or written into the settings file by the owner; remote
//! callers cannot name another.

use url::Url;

use crate::model::{InvalidModel, ModelId};
use crate::settings::{ModelSettings, ProviderKind, ProviderSettings, ProviderTimeouts};
use crate::wire;

/// Maximum length of a model name.
const MAX_MODEL: usize = 200;
/// Maximum length of a preset name.
const MAX_NAME: usize = 64;

/// A provider that can be added by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderPreset {
    /// Its id: the provider's name in the settings, and its key's name in the vault.
    pub id: String,
    /// Its display name.
    pub title: String,
    /// Its API format.
    pub kind: ProviderKind,
    /// Its URL, unless it is the default of its format.
    pub base_url: Option<String>,
    /// Whether it requires a key.
    pub needs_key: bool,
    /// The suggested model, if there is one.
    pub model: Option<String>,
}

/// State of a preset in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PresetStatus {
    /// Not configured.
    Absent,
    /// Configured as the preset says.
    Set,
    /// Configured, but without a key.
    Keyless,
    /// Another provider has its name; this is the difference.
    Different(String),
}

/// A built-in preset.
struct BuiltInPreset {
    id: &'static str,
    title: &'static str,
    kind: ProviderKind,
    base_url: Option<&'static str>,
    needs_key: bool,
    model: Option<&'static str>,
}

const fn hosted(
    id: &'static str,
    title: &'static str,
    kind: ProviderKind,
    base_url: Option<&'static str>,
    model: Option<&'static str>,
) -> BuiltInPreset {
    BuiltInPreset {
        id,
        title,
        kind,
        base_url,
        needs_key: true,
        model,
    }
}

/// A server on this machine, at its default port.
const fn local(
    id: &'static str,
    title: &'static str,
    base_url: &'static str,
    model: Option<&'static str>,
) -> BuiltInPreset {
    BuiltInPreset {
        id,
        title,
        kind: ProviderKind::Openai,
        base_url: Some(base_url),
        needs_key: false,
        model,
    }
}

/// The built-in presets, in display order.
const KNOWN: &[BuiltInPreset] = &[
    hosted(
        "anthropic",
        "Anthropic",
        ProviderKind::Anthropic,
        None,
        Some("claude-sonnet-5-5"),
    ),
    hosted(
        "openai",
        "OpenAI",
        ProviderKind::OpenaiResponses,
        None,
        Some("gpt-5.5"),
    ),
    hosted(
        "gemini",
        "Google Gemini",
        ProviderKind::Gemini,
        None,
        Some("gemini-3.1-pro"),
    ),
    hosted(
        "openrouter",
        "OpenRouter",
        ProviderKind::Openai,
        Some("https://openrouter.ai/api/v1"),
        Some("anthropic/claude-sonnet-5.5"),
    ),
    hosted(
        "mistral",
        "Mistral",
        ProviderKind::Openai,
        Some("https://api.mistral.ai/v1"),
        Some("mistral-large-latest"),
    ),
    hosted(
        "deepseek",
        "DeepSeek",
        ProviderKind::Openai,
        Some("https://api.deepseek.com/v1"),
        None,
    ),
    hosted(
        "groq",
        "Groq",
        ProviderKind::Openai,
        Some("https://api.groq.com/openai/v1"),
        None,
    ),
    hosted(
        "xai",
        "xAI",
        ProviderKind::Openai,
        Some("https://api.x.ai/v1"),
        None,
    ),
    local(
        "ollama",
        "Ollama, on this machine",
        "http://127.0.0.1:11434/v1",
        Some("qwen3:8b"),
    ),
    local(
        "llamacpp",
        "llama.cpp, on this machine",
        "http://127.0.0.1:8080/v1",
        None,
    ),
    local(
        "vllm",
        "vLLM, on this machine",
        "http://127.0.0.1:8000/v1",
        None,
    ),
    local(
        "lmstudio",
        "LM Studio, on this machine",
        "http://127.0.0.1:1234/v1",
        None,
    ),
];

impl From<&BuiltInPreset> for ProviderPreset {
    fn from(known: &BuiltInPreset) -> Self {
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

impl ProviderPreset {
    /// All presets: the built-in ones and the owner's, which override a built-in one of the same name.
    /// Problems of the owner's presets are among [`crate::Models::problems`].
    pub fn all(settings: &ModelSettings) -> Vec<Self> {
        // The settings key keeps its name: files of existing installations use it.
        let own = settings.makers.keys();
        let mut own: Vec<Self> = own.filter_map(|id| Self::own(settings, id).ok()).collect();
        let mut all: Vec<Self> = Vec::with_capacity(KNOWN.len() + own.len());
        for known in KNOWN {
            let at = own.iter().position(|preset| preset.id == known.id);
            all.push(at.map_or_else(|| known.into(), |at| own.remove(at)));
        }
        all.extend(own);
        all
    }

    /// The preset named `id`.
    pub fn named(settings: &ModelSettings, id: &str) -> Option<Self> {
        Self::all(settings)
            .into_iter()
            .find(|preset| preset.id == id)
    }

    /// Problems of the owner's presets.
    pub(crate) fn problems(settings: &ModelSettings) -> Vec<String> {
        let own = settings.makers.keys();
        own.filter_map(|id| Self::own(settings, id).err()).collect()
    }

    /// A preset from the settings file.
    fn own(settings: &ModelSettings, id: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("models.makers.{id}: {why}"));
        let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
        if !(1..=MAX_NAME).contains(&id.len()) || !id.bytes().all(plain) {
            return wrong("a preset name has 1-64 characters of A-Z, a-z, 0-9, _ and -");
        }
        let entry = &settings.makers[id];
        if entry.kind == ProviderKind::Scripted {
            return wrong("a preset cannot be of kind scripted");
        }
        Ok(Self {
            id: id.to_owned(),
            title: entry.title.clone().unwrap_or_else(|| id.to_owned()),
            kind: entry.kind,
            base_url: entry.base_url.clone(),
            needs_key: entry.needs_key,
            model: entry.model.clone(),
        })
    }

    /// The URL of its API, to which its key is sent.
    pub fn address(&self) -> String {
        address(self.kind, self.base_url.as_deref())
    }

    /// The reference to its key in the settings.
    pub fn key(&self) -> Option<String> {
        self.needs_key.then(|| format!("vault:{}", self.id))
    }

    /// The provider settings it stands for.
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

    /// The model named by `entry`, or the suggested one.
    pub fn model(&self, entry: Option<&str>) -> Result<Option<ModelId>, InvalidModel> {
        let Some(entry) = entry.map(str::trim).or(self.model.as_deref()) else {
            return Ok(None);
        };
        // Some users prefix the provider, as everywhere else. If the provider's own model names contain
        // slashes, a prefix cannot be told from a name, so the text is used as is.
        let slashes = self.model.as_ref().is_some_and(|usual| usual.contains('/'));
        let own = format!("{}/", self.id);
        let model = match entry.strip_prefix(&own) {
            Some(rest) if !slashes => rest,
            _ => entry,
        };
        if model.chars().count() > MAX_MODEL || model.contains(char::is_control) {
            return Err(InvalidModel(format!("{}/…", self.id)));
        }
        format!("{own}{model}").parse().map(Some)
    }

    /// Compares the preset with the configured provider.
    pub fn status(&self, provider: Option<&ProviderSettings>) -> PresetStatus {
        let Some(provider) = provider else {
            return PresetStatus::Absent;
        };
        let there = address(provider.kind, provider.base_url.as_deref());
        if provider.kind != self.kind {
            return PresetStatus::Different("it uses another API format (kind)".to_owned());
        }
        if !same(&there, &self.address()) {
            return PresetStatus::Different(format!("it is at {there}, not at {}", self.address()));
        }
        match (&provider.api_key, self.key()) {
            (None, None) => PresetStatus::Set,
            (None, Some(_)) if provider.headers.is_empty() => PresetStatus::Keyless,
            (None, Some(_)) => {
                PresetStatus::Different("it uses custom headers instead of a key".to_owned())
            }
            (Some(named), Some(key)) if *named == key => PresetStatus::Set,
            (Some(named), _) => PresetStatus::Different(format!("its key is {named}")),
        }
    }
}

fn address(kind: ProviderKind, base_url: Option<&str>) -> String {
    let default_url = || wire::of(kind).map_or("", |wire| wire.default_url());
    base_url.unwrap_or_else(default_url).to_owned()
}

/// Whether two URLs are equivalent.
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

    fn known(id: &str) -> ProviderPreset {
        ProviderPreset::named(&ModelSettings::default(), id).unwrap()
    }

    #[test]
    fn keys_are_sent_over_tls_only_and_local_servers_need_none() {
        for preset in ProviderPreset::all(&ModelSettings::default()) {
            let url: Url = preset.address().parse().unwrap();
            match preset.needs_key {
                true => assert_eq!(url.scheme(), "https", "{}", preset.id),
                false => assert_eq!(url.host_str(), Some("127.0.0.1"), "{}", preset.id),
            }
            let provider = preset.provider();
            assert_eq!(preset.status(Some(&provider)), PresetStatus::Set);
            assert_eq!(preset.status(None), PresetStatus::Absent);
            let model = preset.model(Some("m")).unwrap().unwrap();
            assert_eq!((&model.provider, &*model.model), (&preset.id, "m"));
        }
    }

    #[test]
    fn custom_presets_override_built_in_ones_and_invalid_ones_are_reported() {
        let settings = settings(json!({ "makers": {
            "ollama": { "kind": "openai", "base_url": "http://10.0.0.5:11434/v1", "needs_key": false },
            "ours": { "kind": "openai", "base_url": "https://models.example.com/v1", "model": "big" },
            "a.b": { "kind": "openai" },
            "played": { "kind": "scripted" },
        }}));
        let all = ProviderPreset::all(&settings);
        assert_eq!(all.len(), KNOWN.len() + 1);
        let ollama = ProviderPreset::named(&settings, "ollama").unwrap();
        assert_eq!(ollama.address(), "http://10.0.0.5:11434/v1");
        assert_eq!(ollama.model(None).unwrap(), None);
        let custom = ProviderPreset::named(&settings, "ours").unwrap();
        assert_eq!(custom.title, "ours");
        assert_eq!(custom.model(None).unwrap().unwrap().to_string(), "ours/big");
        assert_eq!(ProviderPreset::problems(&settings).len(), 2);
        assert!(ProviderPreset::named(&settings, "played").is_none());
    }

    #[test]
    fn a_provider_that_differs_from_its_preset_is_reported() {
        let anthropic = known("anthropic");
        let with = |change: serde_json::Value| {
            let mut value = json!(anthropic.provider());
            let fields = value.as_object_mut().unwrap();
            fields.extend(change.as_object().unwrap().clone());
            anthropic.status(Some(&serde_json::from_value(value).unwrap()))
        };
        for same in [
            json!({}),
            json!({ "base_url": "https://api.anthropic.com/" }),
            json!({ "timeouts": { "total_seconds": 5 } }),
        ] {
            assert_eq!(with(same.clone()), PresetStatus::Set, "{same}");
        }
        assert_eq!(with(json!({ "api_key": null })), PresetStatus::Keyless);
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
            let PresetStatus::Different(how) = with(other.clone()) else {
                panic!("{other}");
            };
            assert!(how.contains(why), "{how}");
        }
    }

    #[test]
    fn a_model_name_may_have_the_provider_prefix() {
        let model =
            |id: &str, entry: &str| known(id).model(Some(entry)).map(|m| m.unwrap().to_string());
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
