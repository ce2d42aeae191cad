//! Providers of models by the names of their makers: who there is, one added, one removed.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use manyhands_config::models::ProviderKind;
use manyhands_core::{Secret, ToolError};
use manyhands_gateway::Gateway;
use manyhands_gateway::provider_presets::{AsDefault, KeyFate, Wanted};
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_llm::{ModelId, PresetStatus, ProviderPreset};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::body;
use super::models::{ProviderView, shown};
use crate::http::object::Json;

/// Somebody whose models can be added by name.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MakerView {
    /// Its name: of the provider in the settings, and of its key in the vault.
    id: String,
    /// Its name for people.
    title: String,
    /// How it speaks.
    kind: ProviderKind,
    /// Where its models are asked, and its key is sent.
    address: String,
    /// The same, where it has to be said in config.toml.
    base_url: Option<String>,
    /// Whether it wants a key.
    needs_key: bool,
    /// Whether the vault has a key under its name.
    has_key: bool,
    /// The model to begin with, where there is a usual one.
    model: Option<String>,
    /// How it stands in the settings.
    standing: MakerStanding,
    /// How the provider differs that has its name, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
}

/// How a maker stands in the settings.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MakerStanding {
    /// The settings do not name it.
    Absent,
    /// The settings name it, and say the same of it.
    Set,
    /// The same, but no key is named there.
    Keyless,
    /// Another provider has its name, and is left alone.
    Different,
}

/// Who can be added.
#[derive(Serialize, JsonSchema)]
pub struct MakerList {
    /// The makers, in the order in which they are offered.
    makers: Vec<MakerView>,
}

/// Everybody who can be added by name, and how each stands.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<MakerList> {
    let settings = gateway.settings.current();
    let kept = gateway.store.vault().names().await?;
    let makers = ProviderPreset::all(&settings.models)
        .into_iter()
        .map(|maker| {
            let provider = settings.models.providers.get(&maker.id);
            let (standing, difference) = match maker.standing(provider) {
                PresetStatus::Absent => (MakerStanding::Absent, None),
                PresetStatus::Set => (MakerStanding::Set, None),
                PresetStatus::Keyless => (MakerStanding::Keyless, None),
                PresetStatus::Different(how) => (MakerStanding::Different, Some(how)),
            };
            MakerView {
                address: maker.address(),
                has_key: kept.contains(&maker.id),
                id: maker.id,
                title: maker.title,
                kind: maker.kind,
                base_url: maker.base_url,
                needs_key: maker.needs_key,
                model: maker.model,
                standing,
                difference,
            }
        });
    answer(MakerList {
        makers: makers.collect(),
    })
}

/// Somebody to be added. Where their models are is not for the request to say.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// The maker's name.
    maker: String,
    /// The model, as the maker calls it; the maker's usual one when not said.
    model: Option<String>,
    /// Its key, which goes into the vault under the maker's name. When not said, the one that is there
    /// is used.
    #[serde(default, deserialize_with = "hidden")]
    #[schemars(with = "Option<String>")]
    key: Option<Secret>,
    /// Whether the model becomes `models.default`; when not said, it does where there is none.
    default: Option<bool>,
}

/// A text that no message about its type repeats.
fn hidden<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(Secret::new(text))),
        _ => Err(de::Error::custom("key must be text")),
    }
}

/// What became of a key.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// It was put into the vault.
    Stored,
    /// The vault had one, which stays.
    Kept,
    /// None is needed.
    None,
}

/// A provider that was added.
#[derive(Serialize, JsonSchema)]
pub struct ProviderAdded {
    /// The provider with its models.
    provider: ProviderView,
    /// The model that was meant; null where none was said and there is no usual one.
    model: Option<ModelId>,
    /// The model that is used unless said.
    default: Option<String>,
    /// What became of its key.
    key: KeyState,
}

/// Adds a maker as a provider, or mends one that is there.
pub async fn add(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    add: Result<Json<Add>, JsonRejection>,
) -> Answer<ProviderAdded> {
    let add = body(add)?;
    let wanted = Wanted {
        maker: add.maker,
        model: add.model,
        key: add.key,
        default: match add.default {
            Some(true) => AsDefault::Yes,
            Some(false) => AsDefault::No,
            None => AsDefault::IfNone,
        },
    };
    let added = gateway.add_provider(&owner.caller, wanted).await?;
    let models = gateway.model_registry.now();
    let gone = CancellationToken::new();
    let _gone = gone.clone().drop_guard();
    let listed = models.list_one(&added.provider, &gone).await;
    let listed = listed.ok_or_else(|| {
        let message = format!("{} was removed again meanwhile", added.provider);
        Refusal(ToolError::not_found(message))
    })?;
    answer(ProviderAdded {
        provider: shown(&models, &listed),
        model: added.model,
        default: gateway.settings.current().models.default.clone(),
        key: match added.key {
            KeyFate::Stored => KeyState::Stored,
            KeyFate::Kept => KeyState::Kept,
            KeyFate::None => KeyState::None,
        },
    })
}

/// A provider that was removed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderRemoved {
    /// Its name.
    name: String,
    /// Always true.
    removed: bool,
    /// Whether its key was taken out of the vault too.
    key_removed: bool,
}

/// Takes a provider out of the settings that nothing uses any more.
pub async fn remove(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    Path(name): Path<String>,
) -> Answer<ProviderRemoved> {
    let removed = gateway.remove_provider(&owner.caller, &name).await?;
    answer(ProviderRemoved {
        name,
        removed: true,
        key_removed: removed.key,
    })
}
