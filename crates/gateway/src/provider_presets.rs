//! Model providers, added from presets and removed again.
//!
//! Where the key of a preset is sent is decided on this machine: by the program's presets, or by
//! `models.makers` in the settings file. The owner can also add an endpoint of another address
//! ([`crate::endpoints`]), with a key of its own. The key goes into the vault and the rest into config.toml: both or neither.

use std::sync::Arc;

use manyhands_config::{ConfigError, Edit, KeyPath, Settings};
use manyhands_core::{Caller, ErrorCode, Secret, ToolError};
use manyhands_llm::settings::ModelSettings;
use manyhands_llm::{ModelId, PresetStatus, ProviderPreset};
use serde_json::{Value, json};

use crate::folders::keep_roots_apart;
use crate::gateway::Gateway;
use crate::reconfigure::{config_refusal, rules};

/// A shorter key could match ordinary text, so it could not be redacted safely.
const MIN_KEY: usize = 8;
/// Longer than the keys of any provider.
const MAX_KEY: usize = 4_096;

/// Whether a model becomes the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsDefault {
    /// Yes.
    Yes,
    /// Only if there is no default yet.
    IfNone,
    /// No.
    No,
}

/// A provider to add.
pub struct NewProvider {
    /// Name of the preset.
    pub maker: String,
    /// Model id at the provider.
    pub model: Option<String>,
    /// API key.
    pub key: Option<Secret>,
    /// Whether the model becomes the default.
    pub default: AsDefault,
}

/// What happened to the API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFate {
    /// It was stored in the vault.
    Stored,
    /// The existing key was kept.
    Kept,
    /// No key is needed.
    None,
}

/// A provider that was added.
pub struct AddedProvider {
    /// Its name.
    pub provider: String,
    /// The chosen model.
    pub model: Option<ModelId>,
    /// What happened to the API key.
    pub key: KeyFate,
}

/// A provider that was removed.
pub struct RemovedProvider {
    /// Whether its key was removed too.
    pub key: bool,
}

impl Gateway {
    /// Adds a provider, or updates an existing one with a new key or default. Runs to completion
    /// even if the caller stops waiting.
    pub async fn add_provider(
        self: &Arc<Self>,
        caller: &Caller,
        wanted: NewProvider,
    ) -> Result<AddedProvider, ToolError> {
        let (gateway, caller) = (self.clone(), caller.clone());
        // A task of its own: a client that disconnects must not stop it between the vault and the
        // file.
        let adding = tokio::spawn(async move { gateway.adding(&caller, wanted).await });
        adding
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?
    }

    async fn adding(
        &self,
        caller: &Caller,
        wanted: NewProvider,
    ) -> Result<AddedProvider, ToolError> {
        // One change at a time: each reads the vault and the file, then writes both.
        let _turn = self.model_registry.changing.lock().await;
        let maker = named(&self.settings.current().models, &wanted.maker)?;
        let model = maker.model(wanted.model.as_deref());
        let model = model.map_err(|e| ToolError::parameter("model", e.to_string()))?;
        if model.is_none() && wanted.default == AsDefault::Yes {
            let message = format!("{} has no default model; name one", maker.title);
            return Err(ToolError::parameter("model", message));
        }
        let vault = self.store.vault();
        let before = vault.get(&maker.id).await?;
        let key = match (&wanted.key, maker.needs_key) {
            (Some(_), false) => {
                let message = format!("{} does not use an API key", maker.title);
                return Err(ToolError::parameter("key", message).hint("omit the key"));
            }
            (Some(key), true) => {
                check_key(key)?;
                KeyFate::Stored
            }
            (None, true) if before.is_none() => {
                let message = format!("{} needs an API key, and the vault has none", maker.title);
                return Err(ToolError::parameter("key", message));
            }
            (None, true) => KeyFate::Kept,
            (None, false) => KeyFate::None,
        };
        // The key first: from here on it is redacted everywhere.
        if let Some(key) = &wanted.key {
            vault.set(&maker.id, key).await?;
        }
        let written = self.write_provider(maker.clone(), model.clone(), wanted.default);
        if let Err(error) = self.learned(written).await {
            if wanted.key.is_some() {
                self.put_back(&maker.id, before.as_ref()).await;
            }
            return Err(error);
        }
        self.chats().take_over().await; // transcription may have waited for the key
        let about = match &model {
            Some(model) => format!("{} {model}", maker.id),
            None => maker.id.clone(),
        };
        let noted = self.note(caller, "model.add", &about).await;
        noted?;
        Ok(AddedProvider {
            provider: maker.id,
            model,
            key,
        })
    }

    /// Adds the new key to the redactor, then writes.
    pub(crate) async fn learned(
        &self,
        then: impl Future<Output = Result<(), ToolError>>,
    ) -> Result<(), ToolError> {
        self.redact_stored_secrets().await?;
        then.await
    }

    /// Restores the previous vault entry, so that a failed change leaves no trace.
    pub(crate) async fn put_back(&self, name: &str, before: Option<&Secret>) {
        let vault = self.store.vault();
        let put = match before {
            Some(secret) => vault.set(name, secret).await,
            None => vault.remove(name).await.map(drop),
        };
        let put = match put {
            Ok(()) => self.redact_stored_secrets().await,
            wrong => wrong,
        };
        if let Err(error) = put {
            tracing::error!(event = "vault_rollback_failed", entry = name, %error, "failed to restore a vault entry after a failed change");
        }
    }

    async fn write_provider(
        &self,
        maker: ProviderPreset,
        model: Option<ModelId>,
        default: AsDefault,
    ) -> Result<(), ToolError> {
        self.amend_models(move |settings| additions(settings, &maker, model.as_ref(), default))
            .await
            .map(drop)
    }

    /// Removes a provider from the settings, and its key from the vault if it came from the preset
    /// and nothing else uses it.
    pub async fn remove_provider(
        self: &Arc<Self>,
        caller: &Caller,
        name: &str,
    ) -> Result<RemovedProvider, ToolError> {
        let (gateway, caller, name) = (self.clone(), caller.clone(), name.to_owned());
        let removing = tokio::spawn(async move { gateway.removing(&caller, name).await });
        removing
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?
    }

    async fn removing(&self, caller: &Caller, name: String) -> Result<RemovedProvider, ToolError> {
        // One change at a time: each reads the vault and the file, then writes both.
        let _turn = self.model_registry.changing.lock().await;
        // The closure runs on another thread and returns only edits; the key leaves it through here.
        let (key_sender, key_receiver) = std::sync::mpsc::sync_channel(1);
        let provider = name.clone();
        let settings = self
            .amend_models(move |settings| {
                let models = &settings.models;
                let found = models.providers.get(&provider).ok_or_else(|| {
                    ToolError::not_found(format!("unknown provider {provider:?}"))
                })?;
                let users = users(settings, &provider);
                if !users.is_empty() {
                    let message = format!("{provider} is still used by {}", users.join(", "));
                    return Err(ToolError::new(ErrorCode::Conflict, message).hint(
                        "set these to another model first with `manyhands config set`, or remove them",
                    ));
                }
                let maker = ProviderPreset::named(models, &provider);
                let own = maker.filter(|maker| maker.status(Some(found)) == PresetStatus::Set);
                // The channel has room for the only value ever sent.
                let _ = key_sender.send(own.and_then(|maker| maker.key()));
                Ok(vec![Edit {
                    path: provider_path(&provider),
                    value: None,
                }])
            })
            .await?;
        let mut gone = false;
        if let Ok(Some(key)) = key_receiver.try_recv() {
            // The key may also be used by transcription or another provider.
            let elsewhere = mentions(&json!(settings), &key);
            if !elsewhere {
                let removed = self.store.vault().remove(&name).await;
                gone = removed?;
                self.redact_stored_secrets().await?;
            }
        }
        let noted = self.note(caller, "model.remove", &name).await;
        noted?;
        Ok(RemovedProvider { key: gone })
    }

    /// Edits config.toml as `decide` says and applies it. Settings that could not be applied are
    /// not written.
    pub(crate) async fn amend_models(
        &self,
        decide: impl FnOnce(&Settings) -> Result<Vec<Edit>, ToolError> + Send + 'static,
    ) -> Result<Settings, ToolError> {
        let (file, home) = (self.config.clone(), self.home().to_owned());
        let spawned_agents = self.post().spawned_agents.clone();
        // Reading, deciding and writing happen under the file's lock.
        let written = tokio::task::spawn_blocking(move || {
            file.amend(|settings| {
                let broken = |why: String| {
                    ToolError::new(
                        ErrorCode::Conflict,
                        format!("config.toml has other changes that cannot be applied: {why}"),
                    )
                    .hint("fix config.toml on the gateway's machine first")
                };
                keep_roots_apart(&home, settings).map_err(|e| broken(e.to_string()))?;
                rules(settings, &spawned_agents).map_err(broken)?;
                decide(settings)
            })
        });
        let written = written
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?;
        let (settings, _) = written.map_err(|e| config_write_error(&e))??;
        self.apply_settings(settings.clone())?;
        Ok(settings)
    }
}

/// The preset of that name. An unknown name is not repeated in the error: it may be a key in the
/// wrong field.
fn named(models: &ModelSettings, name: &str) -> Result<ProviderPreset, ToolError> {
    ProviderPreset::named(models, name).ok_or_else(|| {
        let all = ProviderPreset::all(models);
        let all: Vec<&str> = all.iter().map(|maker| maker.id.as_str()).collect();
        ToolError::parameter("maker", "unknown provider").hint(format!(
            "available: {}; configure others in config.toml under [models.makers] or [models.providers]",
            all.join(", ")
        ))
    })
}

/// Rejects text that cannot be a key, without repeating it.
pub(crate) fn check_key(key: &Secret) -> Result<(), ToolError> {
    let text = key.expose();
    let flaw = if text.is_empty() {
        "must not be empty"
    } else if text.len() > MAX_KEY {
        "is too long: longer than 4096 characters"
    } else if text.contains(char::is_whitespace) {
        "contains white space; paste only the key"
    } else if text.contains(char::is_control) {
        "contains control characters"
    } else if !text.is_ascii() {
        "contains characters that are not ASCII"
    } else if text.len() < MIN_KEY {
        "is too short: shorter than 8 characters"
    } else {
        return Ok(());
    };
    Err(ToolError::parameter("key", flaw).hint("paste it again exactly as the provider shows it"))
}

/// The edits that add a provider to the settings.
fn additions(
    settings: &Settings,
    maker: &ProviderPreset,
    model: Option<&ModelId>,
    default: AsDefault,
) -> Result<Vec<Edit>, ToolError> {
    let models = &settings.models;
    let path = provider_path(&maker.id);
    // The file may have changed since it was loaded, and it decides the address the key is sent to.
    if ProviderPreset::named(models, &maker.id).as_ref() != Some(maker) {
        let message = format!(
            "the settings of {} in config.toml have just changed",
            maker.id
        );
        return Err(ToolError::new(ErrorCode::Conflict, message).hint("retry"));
    }
    let mut edits = Vec::new();
    match maker.status(models.providers.get(&maker.id)) {
        PresetStatus::Absent => edits.push(Edit {
            path,
            value: Some(entry(maker)),
        }),
        PresetStatus::Keyless => edits.push(Edit {
            path: path.join("api_key"),
            value: maker.key().map(Value::from),
        }),
        PresetStatus::Set => {}
        PresetStatus::Different(how) => {
            let message = format!(
                "config.toml already has a different provider named {}: {how}; nothing was changed",
                maker.id
            );
            let hint = format!(
                "remove it with `manyhands models remove {0}` or rename models.providers.{0} in config.toml, then add {0} again",
                maker.id
            );
            return Err(ToolError::new(ErrorCode::Conflict, message).hint(hint));
        }
    }
    let set = match default {
        AsDefault::Yes => true,
        AsDefault::IfNone => models.default.is_none(),
        AsDefault::No => false,
    };
    if let (true, Some(model)) = (set, model) {
        edits.push(Edit {
            path: KeyPath::default().join("models").join("default"),
            value: Some(json!(model)),
        });
    }
    Ok(edits)
}

/// The settings of a provider, without defaults.
fn entry(maker: &ProviderPreset) -> Value {
    let mut value = json!({ "kind": maker.kind });
    if let Some(address) = &maker.base_url {
        value["base_url"] = json!(address);
    }
    if let Some(key) = maker.key() {
        value["api_key"] = json!(key);
    }
    value
}

pub(crate) fn provider_path(name: &str) -> KeyPath {
    let models = KeyPath::default().join("models");
    models.join("providers").join(name)
}

/// The settings that refer to a provider.
fn users(settings: &Settings, provider: &str) -> Vec<String> {
    let of = |model: &String| {
        let model = model.parse::<ModelId>();
        model.is_ok_and(|model| model.provider == provider)
    };
    let mut users = Vec::new();
    if settings.models.default.as_ref().is_some_and(of) {
        users.push("models.default".to_owned());
    }
    if settings.models.fallbacks.iter().any(of) {
        users.push("models.fallbacks".to_owned());
    }
    for (id, agent) in &settings.agents {
        if agent.model.as_ref().is_some_and(of) {
            users.push(format!("agents.{id}.model"));
        }
    }
    let transcription = settings.channels.transcription.provider.as_deref();
    if transcription == Some(provider) {
        users.push("channels.transcription.provider".to_owned());
    }
    users
}

/// Whether a string occurs anywhere in a value.
fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::String(held) => held == text,
        Value::Array(list) => list.iter().any(|one| mentions(one, text)),
        Value::Object(map) => map.values().any(|one| mentions(one, text)),
        _ => false,
    }
}

fn config_write_error(error: &ConfigError) -> ToolError {
    match error {
        ConfigError::Invalid { .. } => ToolError::new(ErrorCode::Conflict, error.to_string())
            .hint("fix config.toml on the gateway's machine first"),
        ConfigError::Io { .. } => ToolError::new(ErrorCode::Failed, error.to_string())
            .hint("make config.toml and its folder writable for the gateway; nothing was changed"),
        other => config_refusal(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_key_is_refused_and_not_echoed() {
        for (bad, why) in [
            ("", "empty"),
            ("Bearer sk-12345678", "white space"),
            ("sk-12345678\n", "white space"),
            ("sk-\u{1b}12345678", "control"),
            ("sk-12345678ü", "ASCII"),
            ("sk-1234", "too short"),
            (&"x".repeat(4_097), "too long"),
        ] {
            let error = check_key(&Secret::new(bad)).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArguments);
            let message = error.text();
            assert!(
                message.contains("key") && message.contains(why),
                "{message}"
            );
            assert!(bad.is_empty() || !message.contains(bad), "{message}");
        }
        for good in ["sk-12345", &"x".repeat(4_096)] {
            check_key(&Secret::new(good)).unwrap();
        }
    }

    fn settings(models: Value) -> Settings {
        serde_json::from_value(json!({ "models": models })).unwrap()
    }

    fn changes(models: Value, default: AsDefault) -> Result<Vec<(String, Value)>, ToolError> {
        let settings = settings(models);
        let maker = ProviderPreset::named(&settings.models, "openrouter").unwrap();
        let model = maker.model(None).unwrap();
        let edits = additions(&settings, &maker, model.as_ref(), default)?;
        let values = edits.into_iter();
        Ok(values
            .map(|edit| (edit.path.to_string(), edit.value.unwrap_or_default()))
            .collect())
    }

    #[test]
    fn a_provider_is_written_once_and_made_default_only_on_request() {
        let table = json!({ "kind": "openai", "base_url": "https://openrouter.ai/api/v1", "api_key": "vault:openrouter" });
        let provider = ("models.providers.openrouter".to_owned(), table.clone());
        let usual = json!("openrouter/anthropic/claude-sonnet-5.5");
        let default = ("models.default".to_owned(), usual);
        let both = vec![provider.clone(), default.clone()];
        assert_eq!(changes(json!({}), AsDefault::IfNone).unwrap(), both);
        assert_eq!(
            changes(json!({}), AsDefault::No).unwrap(),
            vec![provider.clone()]
        );
        let other = json!({ "default": "a/b" });
        assert_eq!(changes(other.clone(), AsDefault::Yes).unwrap(), both);
        assert_eq!(changes(other, AsDefault::IfNone).unwrap(), vec![provider]);
        let there = json!({ "default": "a/b", "providers": { "openrouter": table } });
        assert!(
            changes(there.clone(), AsDefault::IfNone)
                .unwrap()
                .is_empty()
        );
        assert_eq!(changes(there, AsDefault::Yes).unwrap(), vec![default]);
        let keyless = json!({ "default": "a/b", "providers": { "openrouter": { "kind": "openai", "base_url": "https://openrouter.ai/api/v1/" } } });
        let key = json!("vault:openrouter");
        assert_eq!(
            changes(keyless, AsDefault::IfNone).unwrap(),
            vec![("models.providers.openrouter.api_key".to_owned(), key)]
        );
    }

    #[test]
    fn a_provider_of_another_address_is_never_overwritten() {
        let other = json!({ "providers": { "openrouter": { "kind": "openai", "base_url": "https://proxy.example/v1" } } });
        let error = changes(other, AsDefault::Yes).unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict);
        let message = error.text();
        assert!(message.contains("proxy.example"), "{message}");
        assert!(message.contains("models remove openrouter"), "{message}");
    }

    #[test]
    fn the_uses_of_a_provider_are_listed() {
        let mut settings = settings(json!({ "default": "a/m", "fallbacks": ["b/m", "a/n"] }));
        assert_eq!(
            users(&settings, "a"),
            ["models.default", "models.fallbacks"]
        );
        assert_eq!(users(&settings, "b"), ["models.fallbacks"]);
        assert!(users(&settings, "c").is_empty());
        settings.channels.transcription.provider = Some("c".to_owned());
        assert_eq!(users(&settings, "c"), ["channels.transcription.provider"]);
    }
}
