//! All configured models, with retries and failover.

use std::collections::BTreeMap;
use std::sync::Arc;

use manyhands_core::{Clock, Ids};
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::draft::On;
use crate::error::{ErrorKind, Fault, ModelError};
use crate::model::ModelId;
use crate::presets::ProviderPreset;
use crate::price::Prices;
use crate::provider::{Backend, Provider, Secrets};
use crate::reply::{Delta, Reply};
use crate::request::ModelRequest;
use crate::run::FailoverRun;
use crate::settings::{ModelSettings, RetrySettings};

/// Services that models need.
#[derive(Clone)]
pub struct Outside {
    /// Source of API keys.
    pub secrets: Arc<dyn Secrets>,
    /// Budget to reserve from before spending.
    pub budget: Arc<dyn Budget>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Ids, and randomness for retry jitter.
    pub ids: Ids,
}

/// All configured models.
pub struct Models {
    providers: BTreeMap<String, Provider>,
    default: Option<ModelId>,
    fallbacks: Vec<ModelId>,
    problems: Vec<String>,
    pub(crate) max_output: u32,
    pub(crate) retry: RetrySettings,
    pub(crate) prices: Prices,
    pub(crate) outside: Outside,
}

impl Models {
    /// The models of `settings`. Invalid ones do not affect the others; [`Models::problems`] lists them.
    pub fn new(settings: &ModelSettings, outside: Outside) -> Self {
        let providers: BTreeMap<String, Provider> = settings
            .providers
            .iter()
            .map(|(name, provider)| (name.clone(), Provider::new(name, provider)))
            .collect();
        // Problems are collected, not returned: one invalid provider must not take the others down.
        let (prices, mut problems) = Prices::new(&settings.prices);
        problems.extend(ProviderPreset::problems(settings));
        for provider in providers.values() {
            if let Backend::Broken(why) = &provider.way {
                problems.push(why.clone());
            }
        }
        let mut named = |text: &String, key: &str| {
            let wrong = match text.parse::<ModelId>() {
                Ok(id) if providers.contains_key(&id.provider) => return Some(id),
                Ok(id) => format!("{key}: unknown provider {:?}", id.provider),
                Err(error) => format!("{key}: {error}"),
            };
            problems.push(wrong);
            None
        };
        let default = settings.default.as_ref();
        let default = default.and_then(|text| named(text, "models.default"));
        let fallbacks = settings.fallbacks.iter();
        let fallbacks = fallbacks.filter_map(|text| named(text, "models.fallbacks"));
        Self {
            fallbacks: fallbacks.collect(),
            default,
            providers,
            problems,
            max_output: settings.max_output_tokens.max(1),
            retry: settings.retry.clone(),
            prices,
            outside,
        }
    }

    /// Problems in the settings.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The model of requests that name none.
    pub fn default_model(&self) -> Option<&ModelId> {
        self.default.as_ref()
    }

    /// The default model and the fallbacks.
    pub(crate) fn configured(&self) -> impl Iterator<Item = &ModelId> {
        self.default.iter().chain(&self.fallbacks)
    }

    pub(crate) fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.values()
    }

    pub(crate) fn provider(&self, model: &ModelId) -> Option<&Provider> {
        self.providers.get(&model.provider)
    }

    /// Requests a reply, passes its parts to `on` as they arrive, and returns it when complete.
    pub async fn reply(
        &self,
        request: &ModelRequest,
        on: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        self.reply_with(request, on, cancel, self.retry.retries)
            .await
    }

    /// One attempt with one model.
    pub(crate) async fn once(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        self.reply_with(request, &mut |_| {}, cancel, 0).await
    }

    async fn reply_with(
        &self,
        request: &ModelRequest,
        on: On<'_>,
        cancel: &CancellationToken,
        retries: u32,
    ) -> Result<Reply, ModelError> {
        // The first model's error is reported even if later ones fail differently: it is the one
        // the user chose.
        let candidates = self.candidates(request)?;
        let mut run = FailoverRun::new(self, request, on, cancel, retries);
        let mut first: Option<ModelError> = None;
        for (at, model) in candidates.iter().enumerate() {
            let stands_by = at + 1 < candidates.len();
            let fault = match run.model(model, stands_by).await {
                Ok(reply) => return Ok(reply),
                Err(fault) => fault,
            };
            // The first model's overflow is final (its window is what the owner chose), but a smaller fallback
            // that overflows must not hide the models after it.
            let later = at > 0 && fault.kind == ErrorKind::ContextOverflow;
            let goes_on = fault.kind.fails_over() || later;
            let final_word = !goes_on && first.is_some();
            let error = ModelError::new(model, fault);
            tracing::warn!(event = "model_failed", model = %model, kind = ?error.kind, error = error.message, failover = stands_by && goes_on, "model request failed");
            if final_word {
                first = Some(error);
                break;
            }
            first.get_or_insert(error);
            if !goes_on {
                break;
            }
        }
        let mut error = first.expect("at least one candidate failed");
        error.attempts = run.attempts;
        Err(error)
    }

    /// The models to try, in order.
    fn candidates(&self, request: &ModelRequest) -> Result<Vec<ModelId>, ModelError> {
        let Some(model) = request.model.as_ref().or(self.default.as_ref()) else {
            let nobody = ModelId {
                provider: "models".to_owned(),
                model: "default".to_owned(),
            };
            let fault = Fault::new(ErrorKind::NotConfigured, "no model is configured");
            return Err(ModelError::new(&nobody, fault));
        };
        let mut candidates = vec![model.clone()];
        let fallbacks = request.fallbacks.as_ref().unwrap_or(&self.fallbacks);
        for fallback in fallbacks {
            // The chosen model may also be a fallback; trying it twice in a row would only double
            // the wait.
            if !candidates.contains(fallback) {
                candidates.push(fallback.clone());
            }
        }
        Ok(candidates)
    }
}
