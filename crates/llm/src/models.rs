//! All models there are, and how a reply is got from one of them: tried again while that helps,
//! and from the next one when it does not.

use std::collections::BTreeMap;
use std::sync::Arc;

use manyhands_core::{Clock, Ids};
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::draft::On;
use crate::error::{ErrorKind, Fault, ModelError};
use crate::makers::Maker;
use crate::model::ModelId;
use crate::price::Prices;
use crate::provider::{Provider, Secrets, Way};
use crate::reply::{Delta, Reply};
use crate::request::Request;
use crate::run::Run;
use crate::settings::{ModelSettings, RetrySettings};

/// What models need from whoever owns them.
#[derive(Clone)]
pub struct Outside {
    /// Where keys come from.
    pub secrets: Arc<dyn Secrets>,
    /// Who is asked before money is spent.
    pub budget: Arc<dyn Budget>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Ids, and the chance by which waits vary.
    pub ids: Ids,
}

/// All models there are.
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
    /// The models of `settings`. What is wrong with some of them does not keep the others from
    /// working; [`Models::problems`] tells it.
    pub fn new(settings: &ModelSettings, outside: Outside) -> Self {
        let providers: BTreeMap<String, Provider> = settings
            .providers
            .iter()
            .map(|(name, provider)| (name.clone(), Provider::new(name, provider)))
            .collect();
        let (prices, mut problems) = Prices::new(&settings.prices);
        problems.extend(Maker::problems(settings));
        for provider in providers.values() {
            if let Way::Broken(why) = &provider.way {
                problems.push(why.clone());
            }
        }
        let mut named = |text: &String, key: &str| {
            let wrong = match text.parse::<ModelId>() {
                Ok(id) if providers.contains_key(&id.provider) => return Some(id),
                Ok(id) => format!("{key}: there is no provider {:?}", id.provider),
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

    /// What is wrong with the settings, in words.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The model that is used when a request names none.
    pub fn default_model(&self) -> Option<&ModelId> {
        self.default.as_ref()
    }

    /// The default and the fallbacks.
    pub(crate) fn configured(&self) -> impl Iterator<Item = &ModelId> {
        self.default.iter().chain(&self.fallbacks)
    }

    pub(crate) fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.values()
    }

    pub(crate) fn provider(&self, model: &ModelId) -> Option<&Provider> {
        self.providers.get(&model.provider)
    }

    /// Asks for a reply, hands its pieces to `on` as they come, and gives it whole at the end.
    pub async fn reply(
        &self,
        request: &Request,
        on: &mut (dyn FnMut(Delta) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        self.reply_with(request, on, cancel, self.retry.retries)
            .await
    }

    /// One try with one model.
    pub(crate) async fn once(
        &self,
        request: &Request,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        self.reply_with(request, &mut |_| {}, cancel, 0).await
    }

    async fn reply_with(
        &self,
        request: &Request,
        on: On<'_>,
        cancel: &CancellationToken,
        retries: u32,
    ) -> Result<Reply, ModelError> {
        let candidates = self.candidates(request)?;
        let mut run = Run::new(self, request, on, cancel, retries);
        let mut first: Option<ModelError> = None;
        for (at, model) in candidates.iter().enumerate() {
            let stands_by = at + 1 < candidates.len();
            let fault = match run.model(model, stands_by).await {
                Ok(reply) => return Ok(reply),
                Err(fault) => fault,
            };
            let later = at > 0 && fault.kind == ErrorKind::ContextOverflow;
            let goes_on = fault.kind.fails_over() || later;
            let final_word = !goes_on && first.is_some();
            let error = ModelError::new(model, fault);
            tracing::warn!(model = %model, kind = ?error.kind, "a model failed: {}", error.message);
            if final_word {
                first = Some(error);
                break;
            }
            first.get_or_insert(error);
            if !goes_on {
                break;
            }
        }
        let mut error = first.expect("there is at least one candidate, and it failed");
        error.attempts = run.attempts;
        Err(error)
    }

    /// Who is asked, in order.
    fn candidates(&self, request: &Request) -> Result<Vec<ModelId>, ModelError> {
        let Some(model) = request.model.as_ref().or(self.default.as_ref()) else {
            let nobody = ModelId {
                provider: "models".to_owned(),
                model: "default".to_owned(),
            };
            let fault = Fault::new(ErrorKind::NotConfigured, "no model is set");
            return Err(ModelError::new(&nobody, fault));
        };
        let mut candidates = vec![model.clone()];
        let fallbacks = request.fallbacks.as_ref().unwrap_or(&self.fallbacks);
        for fallback in fallbacks {
            if !candidates.contains(fallback) {
                candidates.push(fallback.clone());
            }
        }
        Ok(candidates)
    }
}
