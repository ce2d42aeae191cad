//! Which models there are, and whether one answers.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::{ErrorKind, Fault, ModelError};
use crate::exchange::{self, Around, Patience};
use crate::message::Message;
use crate::model::ModelId;
use crate::models::Models;
use crate::provider::{Line, Provider, Way};
use crate::reply::{Cost, Reply, Usage};
use crate::request::Request;
use crate::settings::{Price, ProviderKind};

/// How long a list may take.
const LIST: Duration = Duration::from_secs(10);
/// Enough for a model that thinks before it says a word.
const TEST_TOKENS: u32 = 256;

/// A model that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// Its name at the server.
    pub model: String,
    /// Its name for people.
    pub title: Option<String>,
    /// How much it can read, in tokens.
    pub context_tokens: Option<u64>,
}

/// A provider and what it has.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderModels {
    /// Its name in the settings.
    pub provider: String,
    /// How it speaks.
    pub kind: ProviderKind,
    /// Where it is; empty for a script.
    pub base_url: String,
    /// Models of it that the settings name: the default and the fallbacks.
    pub configured: Vec<ModelId>,
    /// What the server offers, or why it does not say.
    pub offered: Result<Vec<Offered>, ModelError>,
    /// It replays a file; no model is there.
    pub scripted: bool,
}

/// A model that answered a tiny request.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The model.
    pub model: ModelId,
    /// How long the whole answer took.
    pub latency: Duration,
    /// What it said.
    pub text: String,
    /// What was used up.
    pub usage: Usage,
    /// What it cost.
    pub cost: Cost,
    /// It was read from a file; no model was asked.
    pub scripted: bool,
}

impl Models {
    /// Every provider with the models that the settings name and those that its server offers.
    pub async fn list(&self, cancel: &CancellationToken) -> Vec<ProviderModels> {
        join_all(
            self.providers()
                .map(|provider| self.listed(provider, cancel)),
        )
        .await
    }

    /// One provider of the settings with the same.
    pub async fn list_one(
        &self,
        provider: &str,
        cancel: &CancellationToken,
    ) -> Option<ProviderModels> {
        let provider = self.providers().find(|one| one.name == provider)?;
        Some(self.listed(provider, cancel).await)
    }

    async fn listed(&self, provider: &Provider, cancel: &CancellationToken) -> ProviderModels {
        let offered = match &provider.way {
            Way::Line(line) => self.offered(line, cancel).await,
            Way::Script(script) => Ok(script.models.iter().map(|m| named(m)).collect()),
            Way::Broken(why) => Err(Fault::new(ErrorKind::NotConfigured, why)),
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
            base_url: match &provider.way {
                Way::Line(line) => line.base.to_string(),
                Way::Script(_) | Way::Broken(_) => String::new(),
            },
            configured,
            offered: offered.map_err(|fault| ModelError::new(&anything, fault)),
            scripted: provider.kind == ProviderKind::Scripted,
        }
    }

    async fn offered(
        &self,
        line: &Line,
        cancel: &CancellationToken,
    ) -> Result<Vec<Offered>, Fault> {
        let patience = Patience {
            first: LIST,
            between: LIST,
            total: LIST,
        };
        let around = Around {
            secrets: &*self.outside.secrets,
            clock: &*self.outside.clock,
            cancel,
            patience,
        };
        let mut first = None;
        for path in line.wire.lists(line) {
            let read = match exchange::get(line, &path, &around).await {
                Ok(list) => line
                    .wire
                    .read_list(&list)
                    .ok_or_else(|| Fault::garbage("a list of models in a shape nobody knows")),
                Err(fault) => Err(fault),
            };
            match read {
                Ok(models) => return Ok(models),
                // Another path only helps where this one is not there.
                Err(fault)
                    if fault.kind == ErrorKind::BadRequest || fault.kind == ErrorKind::Garbage =>
                {
                    first.get_or_insert(fault);
                }
                Err(fault) => return Err(fault),
            }
        }
        Err(first.unwrap_or_else(|| Fault::garbage("no list of models")))
    }

    /// What `model` costs, where it is known.
    pub fn price(&self, model: &ModelId) -> Option<Price> {
        let free = || self.provider(model).is_some_and(Provider::is_free);
        self.prices.own(model).or_else(|| {
            if free() {
                Some(Price::default())
            } else {
                self.prices.of(model)
            }
        })
    }

    /// Asks `model` for a word, once, and says how it went.
    pub async fn test(
        &self,
        model: &ModelId,
        cancel: &CancellationToken,
    ) -> Result<Checked, ModelError> {
        let request = Request {
            model: Some(model.clone()),
            fallbacks: Some(Vec::new()),
            messages: vec![Message::user("Reply with the one word: ok")],
            max_output_tokens: Some(TEST_TOKENS),
            ..Request::default()
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

fn named(model: &str) -> Offered {
    Offered {
        model: model.to_owned(),
        title: None,
        context_tokens: None,
    }
}
