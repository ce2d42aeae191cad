//! Model providers added from presets: list, add, remove.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use manyhands_config::models::ProviderKind;
use manyhands_core::{Secret, ToolError};
use manyhands_gateway::Gateway;
use manyhands_gateway::endpoints::{self, NewEndpoint};
use manyhands_gateway::provider_presets::{AsDefault, KeyFate, NewProvider};
use manyhands_http_common::{Answer, Owner, Refusal, answer};
use manyhands_llm::{ModelId, PresetStatus, ProviderPreset};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::body;
use super::models::{ProviderView, shown};
use crate::http::object::Json;

/// A provider preset.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MakerView {
    /// Name, of the provider in the settings and of its key in the vault.
    id: String,
    /// Display name.
    title: String,
    /// Wire format.
    kind: ProviderKind,
    /// Endpoint of its models, where its key is sent.
    address: String,
    /// The same, if config.toml must contain it.
    base_url: Option<String>,
    /// Whether it needs an API key.
    needs_key: bool,
    /// Whether the vault has a key for it.
    has_key: bool,
    /// Suggested model, if any.
    model: Option<String>,
    /// Whether the settings contain it.
    standing: MakerStanding,
    /// How an existing provider of the same name differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
}

/// Whether the settings contain a preset.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MakerStanding {
    /// Not in the settings.
    Absent,
    /// In the settings, unchanged.
    Set,
    /// In the settings, but without an API key.
    Keyless,
    /// A different provider has its name and is left alone.
    Different,
}

/// A list of presets.
#[derive(Serialize, JsonSchema)]
pub struct MakerList {
    /// Presets, in display order.
    makers: Vec<MakerView>,
}

/// Lists all presets with their status.
pub async fn list(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<MakerList> {
    let settings = gateway.settings.current();
    // Names only: whether there is a key must not need the key.
    let kept = gateway.store.vault().names().await?;
    let makers = ProviderPreset::all(&settings.models)
        .into_iter()
        .map(|maker| {
            let provider = settings.models.providers.get(&maker.id);
            let (standing, difference) = match maker.status(provider) {
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

/// A provider to add: a preset, or the endpoint at a URL.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AddProvider {
    /// Name of the preset.
    maker: Option<String>,
    /// Instead of a preset: base URL of an OpenAI-compatible endpoint. A private address has to be in
    /// `egress.allow_private`, except for the usual ports of model servers on the gateway's machine.
    base_url: Option<String>,
    /// With `baseUrl`: name of the provider; derived from the URL by default.
    name: Option<String>,
    /// Model id at the provider; the suggested or only one by default.
    model: Option<String>,
    /// API key, stored in the vault under the provider's name. By default the existing key of a preset is used; an
    /// endpoint gets no other key than this one.
    #[serde(default, deserialize_with = "hidden")]
    #[schemars(with = "Option<String>")]
    key: Option<Secret>,
    /// Whether the model becomes `models.default`; by default only if there is none.
    default: Option<bool>,
}

/// Reads text without repeating it in a type error, which would leak a key.
fn hidden<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(Secret::new(text))),
        _ => Err(de::Error::custom("key must be text")),
    }
}

/// What happened to an API key.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// It was stored in the vault.
    Stored,
    /// The existing key was kept.
    Kept,
    /// No key is needed.
    None,
}

/// The response after a provider was added.
#[derive(Serialize, JsonSchema)]
pub struct ProviderAdded {
    /// The provider with its models.
    provider: ProviderView,
    /// The chosen model; null if none was named and there is no suggestion.
    model: Option<ModelId>,
    /// The default model.
    default: Option<String>,
    /// What happened to its API key.
    key: KeyState,
}

/// Adds a provider, or updates an existing one.
pub async fn add(
    State(gateway): State<Arc<Gateway>>,
    Owner(owner): Owner,
    add: Result<Json<AddProvider>, JsonRejection>,
) -> Answer<ProviderAdded> {
    let add = body(add)?;
    let default = match add.default {
        Some(true) => AsDefault::Yes,
        Some(false) => AsDefault::No,
        None => AsDefault::IfNone,
    };
    let added = match (add.maker, add.base_url) {
        (Some(maker), None) if add.name.is_none() => {
            let wanted = NewProvider {
                maker,
                model: add.model,
                key: add.key,
                default,
            };
            gateway.add_provider(&owner.caller, wanted).await?
        }
        (None, Some(base_url)) => {
            let wanted = NewEndpoint {
                base_url,
                name: add.name,
                model: add.model,
                key: add.key,
                default,
            };
            gateway.add_endpoint(&owner.caller, wanted).await?
        }
        (Some(_), None) => {
            let message = "needs baseUrl: a preset has a name of its own";
            return Err(Refusal(ToolError::parameter("name", message)));
        }
        _ => {
            let message = "give either maker or baseUrl";
            return Err(Refusal(ToolError::parameter("maker", message)));
        }
    };
    let models = gateway.model_registry.now();
    // Cancels the request to the provider if the client disconnects.
    let gone = CancellationToken::new();
    let _gone = gone.clone().drop_guard();
    let listed = models.list_one(&added.provider, &gone).await;
    // Another request may have removed it since.
    let listed = listed.ok_or_else(|| {
        let message = format!("{} was removed in the meantime", added.provider);
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

/// The response after a provider was removed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderRemoved {
    /// Its name.
    name: String,
    /// Always true.
    removed: bool,
    /// Whether its key was removed from the vault too.
    key_removed: bool,
}

/// Removes an unused provider from the settings.
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

/// A model server on the gateway's machine.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DetectedServer {
    /// What it is, such as `Ollama`.
    name: String,
    /// Its base URL, to add it by.
    base_url: String,
    /// Ids of its models.
    models: Vec<String>,
}

/// Model servers on the gateway's machine.
#[derive(Serialize, JsonSchema)]
pub struct DetectedServers {
    /// Those that answered.
    found: Vec<DetectedServer>,
}

/// Looks for Ollama, LM Studio, llama.cpp and vLLM on their usual ports of the gateway's machine.
pub async fn detect(_: Owner) -> Answer<DetectedServers> {
    let found = endpoints::detect().await.into_iter();
    answer(DetectedServers {
        found: found
            .map(|one| DetectedServer {
                name: one.name,
                base_url: one.base_url,
                models: one.models,
            })
            .collect(),
    })
}
