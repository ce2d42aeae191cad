//! All configured models.

use std::collections::BTreeMap;
use std::sync::Arc;

use manyhands_core::{Clock, Ids};

use crate::budget::Budget;
use crate::model::ModelId;
use crate::presets::ProviderPreset;
use crate::price::Prices;
use crate::provider::{Backend, Provider, Secrets};
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
    pub(crate) fallbacks: Vec<ModelId>,
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
            if let Backend::Broken(why) = &provider.backend {
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

    /// Whether `model` can be asked for the title of a conversation. A script can only if it has one: it is played in
    /// order, and a request it does not expect would take the turn of another.
    pub fn can_title(&self, model: &ModelId) -> bool {
        match self.provider(model).map(|provider| &provider.backend) {
            Some(Backend::Http(_)) => true,
            Some(Backend::Script(script)) => script.has_title(),
            Some(Backend::Broken(_)) | None => false,
        }
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
}
