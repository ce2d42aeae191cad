//! Providers of models, added by the name of their maker and removed again.
//!
//! Where a key is sent is decided on this machine: by the program, or by `models.makers` in the
//! file. Whoever asks from afar says a name, and never an address. The key goes into the vault and the rest
//! into config.toml, both or neither.

use std::sync::Arc;

use manyhands_config::{ConfigError, Edit, KeyPath, Settings};
use manyhands_core::{Caller, ErrorCode, Secret, ToolError};
use manyhands_llm::settings::ModelSettings;
use manyhands_llm::{Maker, ModelId, Standing};
use manyhands_store::StoreError;
use serde_json::{Value, json};

use crate::folders::keep_roots_apart;
use crate::gateway::Gateway;
use crate::reconfigure::{config_refusal, rules};

/// A shorter key could not be told from other text, and so not be cut out of results.
const MIN_KEY: usize = 8;
/// Longer than any maker's.
const MAX_KEY: usize = 4_096;

/// Whether the model becomes the one that is used unless said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsDefault {
    /// It does.
    Yes,
    /// Only where there is none yet.
    IfNone,
    /// It does not.
    No,
}

/// Somebody to be added.
pub struct Wanted {
    /// The maker's name.
    pub maker: String,
    /// The model, as the maker calls it.
    pub model: Option<String>,
    /// Its key.
    pub key: Option<Secret>,
    /// Whether the model becomes the default.
    pub default: AsDefault,
}

/// What became of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFate {
    /// It was put into the vault.
    Stored,
    /// The vault had one, which stays.
    Kept,
    /// None is needed.
    None,
}

/// Somebody who was added.
pub struct Added {
    /// The name of the provider.
    pub provider: String,
    /// The model that was chosen.
    pub model: Option<ModelId>,
    /// What became of its key.
    pub key: KeyFate,
}

/// Somebody who was removed.
pub struct Removed {
    /// Whether the key went too.
    pub key: bool,
}

impl Gateway {
    /// Adds a maker as a provider, or mends one that is there: a new key, another default. It goes to its
    /// end whoever stops listening.
    pub async fn add_provider(
        self: &Arc<Self>,
        caller: &Caller,
        wanted: Wanted,
    ) -> Result<Added, ToolError> {
        let (gateway, caller) = (self.clone(), caller.clone());
        let adding = tokio::spawn(async move { gateway.adding(&caller, wanted).await });
        adding
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?
    }

    async fn adding(&self, caller: &Caller, wanted: Wanted) -> Result<Added, ToolError> {
        let _turn = self.thinkers.changing.lock().await;
        let maker = named(&self.settings.current().models, &wanted.maker)?;
        let model = maker.model(wanted.model.as_deref());
        let model = model.map_err(|e| ToolError::parameter("model", e.to_string()))?;
        if model.is_none() && wanted.default == AsDefault::Yes {
            let message = format!("{} has no usual model; say which one", maker.title);
            return Err(ToolError::parameter("model", message));
        }
        let vault = self.store.vault();
        let before = vault.get(&maker.id).await.map_err(|e| unkept(&e))?;
        let key = match (&wanted.key, maker.needs_key) {
            (Some(_), false) => {
                let message = format!("{} takes no key", maker.title);
                return Err(ToolError::parameter("key", message).hint("leave the key out"));
            }
            (Some(key), true) => {
                check_key(key)?;
                KeyFate::Stored
            }
            (None, true) if before.is_none() => {
                let message = format!("{} wants a key, and the vault has none", maker.title);
                return Err(ToolError::parameter("key", message));
            }
            (None, true) => KeyFate::Kept,
            (None, false) => KeyFate::None,
        };
        // The key first: from here on it is cut out of everything that is said.
        if let Some(key) = &wanted.key {
            vault.set(&maker.id, key).await.map_err(|e| unkept(&e))?;
        }
        let written = self.write_provider(maker.clone(), model.clone(), wanted.default);
        if let Err(error) = self.learned(written).await {
            if wanted.key.is_some() {
                self.put_back(&maker.id, before.as_ref()).await;
            }
            return Err(error);
        }
        self.chats().take_over().await; // an account may have waited for the key
        let about = match &model {
            Some(model) => format!("{} {model}", maker.id),
            None => maker.id.clone(),
        };
        let noted = self.note(caller, "model.add", &about).await;
        noted.map_err(|e| ToolError::internal(e.to_string()))?;
        Ok(Added {
            provider: maker.id,
            model,
            key,
        })
    }

    /// Tells the redactor of the new key, then writes.
    async fn learned(
        &self,
        then: impl Future<Output = Result<(), ToolError>>,
    ) -> Result<(), ToolError> {
        self.learn_secrets().await.map_err(|e| unkept(&e))?;
        then.await
    }

    /// What the vault had before, so that a failure leaves no trace.
    async fn put_back(&self, name: &str, before: Option<&Secret>) {
        let vault = self.store.vault();
        let put = match before {
            Some(secret) => vault.set(name, secret).await,
            None => vault.remove(name).await.map(drop),
        };
        let put = match put {
            Ok(()) => self.learn_secrets().await,
            wrong => wrong,
        };
        if let Err(error) = put {
            tracing::error!(event = "vault_rollback_failed", entry = name, %error, "failed to restore a vault entry after a failed change");
        }
    }

    async fn write_provider(
        &self,
        maker: Maker,
        model: Option<ModelId>,
        default: AsDefault,
    ) -> Result<(), ToolError> {
        self.amend_models(move |settings| additions(settings, &maker, model.as_ref(), default))
            .await
            .map(drop)
    }

    /// Takes a provider out of the settings, and its key out of the vault where it is its maker's and
    /// nothing else uses it.
    pub async fn remove_provider(
        self: &Arc<Self>,
        caller: &Caller,
        name: &str,
    ) -> Result<Removed, ToolError> {
        let (gateway, caller, name) = (self.clone(), caller.clone(), name.to_owned());
        let removing = tokio::spawn(async move { gateway.removing(&caller, name).await });
        removing
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?
    }

    async fn removing(&self, caller: &Caller, name: String) -> Result<Removed, ToolError> {
        let _turn = self.thinkers.changing.lock().await;
        let (told, heard) = std::sync::mpsc::sync_channel(1);
        let provider = name.clone();
        let settings = self
            .amend_models(move |settings| {
                let models = &settings.models;
                let found = models.providers.get(&provider).ok_or_else(|| {
                    ToolError::not_found(format!("there is no provider {provider:?}"))
                })?;
                let users = users(settings, &provider);
                if !users.is_empty() {
                    let message = format!("{provider} is still used by {}", users.join(", "));
                    return Err(ToolError::new(ErrorCode::Conflict, message).hint(
                        "set these to another model first, with `manyhands config set`, or take them out",
                    ));
                }
                let maker = Maker::named(models, &provider);
                let own = maker.filter(|maker| maker.standing(Some(found)) == Standing::Set);
                // Room for the one that is ever sent.
                let _ = told.send(own.and_then(|maker| maker.key()));
                Ok(vec![Edit {
                    path: provider_path(&provider),
                    value: None,
                }])
            })
            .await?;
        let mut gone = false;
        if let Ok(Some(key)) = heard.try_recv() {
            let elsewhere = mentions(&json!(settings), &key);
            if !elsewhere {
                let removed = self.store.vault().remove(&name).await;
                gone = removed.map_err(|e| unkept(&e))?;
                self.learn_secrets().await.map_err(|e| unkept(&e))?;
            }
        }
        let noted = self.note(caller, "model.remove", &name).await;
        noted.map_err(|e| ToolError::internal(e.to_string()))?;
        Ok(Removed { key: gone })
    }

    /// Changes the file by what `decide` makes of it, and takes it over. What could not be taken over is
    /// not written.
    async fn amend_models(
        &self,
        decide: impl FnOnce(&Settings) -> Result<Vec<Edit>, ToolError> + Send + 'static,
    ) -> Result<Settings, ToolError> {
        let (file, home) = (self.config.clone(), self.home().to_owned());
        let kin = self.post().kin.clone();
        let written = tokio::task::spawn_blocking(move || {
            file.amend(|settings| {
                let broken = |why: String| {
                    ToolError::new(
                        ErrorCode::Conflict,
                        format!("config.toml has other changes that cannot be taken over: {why}"),
                    )
                    .hint("mend config.toml on the gateway's machine first")
                };
                keep_roots_apart(&home, settings).map_err(|e| broken(e.to_string()))?;
                rules(settings, &kin).map_err(broken)?;
                decide(settings)
            })
        });
        let written = written
            .await
            .map_err(|e| ToolError::internal(e.to_string()))?;
        let (settings, _) = written.map_err(|e| unwritten(&e))??;
        self.take_over(settings.clone())?;
        Ok(settings)
    }
}

/// The maker of that name. What was said instead is not repeated: it may be a key in the wrong place.
fn named(models: &ModelSettings, name: &str) -> Result<Maker, ToolError> {
    Maker::named(models, name).ok_or_else(|| {
        let all = Maker::all(models);
        let all: Vec<&str> = all.iter().map(|maker| maker.id.as_str()).collect();
        ToolError::parameter("maker", "there is none of that name").hint(format!(
            "there are {}; others are written into config.toml, under [models.makers] or [models.providers]",
            all.join(", ")
        ))
    })
}

/// Refuses what cannot be a key, without repeating it.
fn check_key(key: &Secret) -> Result<(), ToolError> {
    let text = key.expose();
    let flaw = if text.is_empty() {
        "is empty"
    } else if text.len() > MAX_KEY {
        "is longer than any key: over 4096 characters"
    } else if text.contains(char::is_whitespace) {
        "has white space in it; paste the key alone"
    } else if text.contains(char::is_control) {
        "has control characters in it"
    } else if !text.is_ascii() {
        "has characters in it that no key has"
    } else if text.len() < MIN_KEY {
        "is shorter than any key: under 8 characters"
    } else {
        return Ok(());
    };
    Err(ToolError::parameter("key", flaw).hint("paste it again, as its maker shows it"))
}

/// What is to change in the file so that it has `maker`.
fn additions(
    settings: &Settings,
    maker: &Maker,
    model: Option<&ModelId>,
    default: AsDefault,
) -> Result<Vec<Edit>, ToolError> {
    let models = &settings.models;
    let path = provider_path(&maker.id);
    // The file may have changed since it was last taken over; an address is the file's word.
    if Maker::named(models, &maker.id).as_ref() != Some(maker) {
        let message = format!(
            "what config.toml says of the maker {} has just changed",
            maker.id
        );
        return Err(ToolError::new(ErrorCode::Conflict, message).hint("try again"));
    }
    let mut edits = Vec::new();
    match maker.standing(models.providers.get(&maker.id)) {
        Standing::Absent => edits.push(Edit {
            path,
            value: Some(entry(maker)),
        }),
        Standing::Keyless => edits.push(Edit {
            path: path.join("api_key"),
            value: maker.key().map(Value::from),
        }),
        Standing::Set => {}
        Standing::Different(how) => {
            let message = format!(
                "config.toml has another provider called {}: {how}; it is left as it is",
                maker.id
            );
            let hint = format!(
                "remove it with `manyhands models remove {0}` or rename models.providers.{0} in config.toml, and add {0} again",
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

/// What stands in the file for a maker: no more than has to be said.
fn entry(maker: &Maker) -> Value {
    let mut value = json!({ "kind": maker.kind });
    if let Some(address) = &maker.base_url {
        value["base_url"] = json!(address);
    }
    if let Some(key) = maker.key() {
        value["api_key"] = json!(key);
    }
    value
}

fn provider_path(name: &str) -> KeyPath {
    let models = KeyPath::default().join("models");
    models.join("providers").join(name)
}

/// The settings that name a provider.
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

/// Whether a text stands anywhere in a value.
fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::String(held) => held == text,
        Value::Array(list) => list.iter().any(|one| mentions(one, text)),
        Value::Object(map) => map.values().any(|one| mentions(one, text)),
        _ => false,
    }
}

fn unkept(error: &StoreError) -> ToolError {
    let code = match error {
        StoreError::Full => ErrorCode::StorageFull,
        StoreError::Busy | StoreError::Closed => ErrorCode::Unavailable,
        _ => ErrorCode::Internal,
    };
    ToolError::new(code, format!("the vault: {error}"))
}

fn unwritten(error: &ConfigError) -> ToolError {
    match error {
        ConfigError::Invalid { .. } => ToolError::new(ErrorCode::Conflict, error.to_string())
            .hint("mend config.toml on the gateway's machine first"),
        ConfigError::Io { .. } => ToolError::new(ErrorCode::Failed, error.to_string())
            .hint("make config.toml and its folder writable for the gateway; nothing was changed"),
        other => config_refusal(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_key_is_refused_by_name_and_not_repeated() {
        for (bad, why) in [
            ("", "empty"),
            ("Bearer sk-12345678", "white space"),
            ("sk-12345678\n", "white space"),
            ("sk-\u{1b}12345678", "control"),
            ("sk-12345678ü", "characters"),
            ("sk-1234", "shorter"),
            (&"x".repeat(4_097), "longer"),
        ] {
            let error = check_key(&Secret::new(bad)).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArguments);
            let told = error.text();
            assert!(told.contains("key") && told.contains(why), "{told}");
            assert!(bad.is_empty() || !told.contains(bad), "{told}");
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
        let maker = Maker::named(&settings.models, "openrouter").unwrap();
        let model = maker.model(None).unwrap();
        let edits = additions(&settings, &maker, model.as_ref(), default)?;
        let told = edits.into_iter();
        Ok(told
            .map(|edit| (edit.path.to_string(), edit.value.unwrap_or_default()))
            .collect())
    }

    #[test]
    fn a_maker_is_written_once_and_a_default_only_where_it_is_wanted() {
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
        let told = error.text();
        assert!(told.contains("proxy.example"), "{told}");
        assert!(told.contains("models remove openrouter"), "{told}");
    }

    #[test]
    fn a_provider_that_is_used_is_known_by_where() {
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
