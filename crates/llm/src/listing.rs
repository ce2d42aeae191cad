//! Lists models and tests whether one responds.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::{ErrorKind, Fault, ModelError};
use crate::exchange::{self, ExchangeContext, ExchangeTimeouts};
use crate::message::Message;
use crate::model::{ModelId, OfferedModel};
use crate::models::Models;
use crate::provider::{Backend, HttpEndpoint, Provider};
use crate::reply::Reply;
use crate::request::ModelRequest;
use crate::settings::{Price, ProviderKind};
use crate::usage::{Cost, Usage};

/// Timeout of a listing.
const LIST: Duration = Duration::from_secs(10);
/// Enough for a model that thinks before it answers.
const TEST_TOKENS: u32 = 256;

/// A provider and its models.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderModels {
    /// Its name in the settings.
    pub provider: String,
    /// Its API format.
    pub kind: ProviderKind,
    /// Its URL; empty for a script.
    pub base_url: String,
    /// Its models in the settings: default and fallbacks.
    pub configured: Vec<ModelId>,
    /// The models its server offers, or why the listing failed.
    pub offered: Result<Vec<OfferedModel>, ModelError>,
    /// Whether it replays a file.
    pub scripted: bool,
}

/// Result of a successful test request.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The model.
    pub model: ModelId,
    /// Time until the complete reply.
    pub latency: Duration,
    /// The reply.
    pub text: String,
    /// Tokens used.
    pub usage: Usage,
    /// What it cost.
    pub cost: Cost,
    /// Whether it was replayed from a file.
    pub scripted: bool,
}

impl Models {
    /// All providers, with configured models and those their servers offer.
    pub async fn list(&self, cancel: &CancellationToken) -> Vec<ProviderModels> {
        join_all(
            self.providers()
                .map(|provider| self.listed(provider, cancel)),
        )
        .await
    }

    /// The same for one provider.
    pub async fn list_one(
        &self,
        provider: &str,
        cancel: &CancellationToken,
    ) -> Option<ProviderModels> {
        let provider = self.providers().find(|one| one.name == provider)?;
        Some(self.listed(provider, cancel).await)
    }

    async fn listed(&self, provider: &Provider, cancel: &CancellationToken) -> ProviderModels {
        let offered = match &provider.backend {
            Backend::Http(endpoint) => self.offered(endpoint, cancel).await,
            Backend::Script(script) => Ok(script.models.iter().map(|m| named(m)).collect()),
            Backend::Broken(why) => Err(Fault::new(ErrorKind::NotConfigured, why)),
        };
        let configured: Vec<ModelId> = self
            .configured()
            .filter(|model| model.provider == provider.name)
            .cloned()
            .collect();
        let anything = ModelId {
            provider: provider.name.clone(),
            model: "(list)".to_owned(),
        };
        ProviderModels {
            provider: provider.name.clone(),
            kind: provider.kind,
            base_url: match &provider.backend {
                Backend::Http(endpoint) => endpoint.base.url().to_string(),
                Backend::Script(_) | Backend::Broken(_) => String::new(),
            },
            configured,
            offered: offered.map_err(|fault| ModelError::new(&anything, fault)),
            scripted: provider.kind == ProviderKind::Scripted,
        }
    }

    async fn offered(
        &self,
        endpoint: &HttpEndpoint,
        cancel: &CancellationToken,
    ) -> Result<Vec<OfferedModel>, Fault> {
        let timeouts = ExchangeTimeouts {
            first: LIST,
            between: LIST,
            total: LIST,
        };
        let context = ExchangeContext {
            secrets: &*self.outside.secrets,
            clock: &*self.outside.clock,
            cancel,
            timeouts,
        };
        // The first error is reported: it is about the path that most servers have.
        let mut first = None;
        // Ollama also has a path of its own.
        for path in endpoint.wire.lists(&endpoint.base) {
            let read = match exchange::get(endpoint, &path, &context).await {
                Ok(list) => endpoint
                    .wire
                    .read_list(&list)
                    .ok_or_else(|| Fault::garbage("a model list in an unknown format")),
                Err(fault) => Err(fault),
            };
            match read {
                Ok(models) => return Ok(models),
                // Another path helps only if this one does not exist.
                Err(fault)
                    if fault.kind == ErrorKind::BadRequest || fault.kind == ErrorKind::Garbage =>
                {
                    first.get_or_insert(fault);
                }
                Err(fault) => return Err(fault),
            }
        }
        Err(first.unwrap_or_else(|| Fault::garbage("no model list")))
    }

    /// The price of `model`, if known.
    pub fn price(&self, model: &ModelId) -> Option<Price> {
        let free = || self.provider(model).is_some_and(Provider::is_free);
        // The owner's price comes first, even for a local server.
        self.prices.own(model).or_else(|| {
            if free() {
                Some(Price::default())
            } else {
                self.prices.of(model)
            }
        })
    }

    /// Sends `model` a minimal request, without retries.
    pub async fn test(
        &self,
        model: &ModelId,
        cancel: &CancellationToken,
    ) -> Result<Checked, ModelError> {
        let request = ModelRequest {
            model: Some(model.clone()),
            // Without fallbacks: the test is about this model, not about any that answers.
            fallbacks: Some(Vec::new()),
            messages: vec![Message::user("Reply with the one word: ok")],
            max_output_tokens: Some(TEST_TOKENS),
            ..ModelRequest::default()
        };
        let started = Instant::now();
        let reply: Reply = self.once(&request, cancel).await?;
        Ok(Checked {
            model: model.clone(),
            latency: started.elapsed(),
            text: reply.text(),
            usage: reply.usage,
            cost: reply.cost,
            scripted: reply.scripted,
        })
    }
}

fn named(model: &str) -> OfferedModel {
    OfferedModel {
        model: model.to_owned(),
        title: None,
        context_tokens: None,
    }
}
