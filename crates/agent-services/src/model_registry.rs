//! The models that the settings name, and what was spent on them.

use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::Settings;
use manyhands_core::{Clock, Ids, Secret, Timestamp};
use manyhands_llm::{Caps, MemoryBudget, Models, Outside, Scope, Secrets};
use manyhands_store::{Store, StoreError, Vault};

use crate::spawned_agents::SpawnedAgents;

/// The models there are now.
pub struct ModelRegistry {
    models: ArcSwap<Models>,
    /// Held by whoever adds or removes a provider: the vault and the file change as one.
    pub changing: tokio::sync::Mutex<()>,
    budget: MemoryBudget,
    vault: Vault,
    clock: Arc<dyn Clock>,
    ids: Ids,
}

impl ModelRegistry {
    /// The models of `settings`. What was spent today, before a restart, still counts.
    pub async fn open(
        settings: &Settings,
        store: &Store,
        spawned_agents: &SpawnedAgents,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Result<Self, StoreError> {
        let budget = MemoryBudget::new(Caps::default(), clock.clone());
        let today = day(clock.now());
        for row in store.sessions().usage(&today).await? {
            let count = |number: i64| u64::try_from(number).unwrap_or(0);
            let usage = &row.usage;
            let tokens = count(usage.input_tokens).saturating_add(count(usage.output_tokens));
            let micros = count(usage.cost_micros);
            let (_, payer) = spawned_agents.place(&row.agent);
            budget.remember(Scope::Agent, payer.as_str(), micros, tokens);
            budget.remember(Scope::Day, "", micros, tokens);
        }
        let vault = store.vault().clone();
        let models = make(settings, &budget, &vault, &clock, &ids);
        Ok(Self {
            models: ArcSwap::from_pointee(models),
            changing: tokio::sync::Mutex::new(()),
            budget,
            vault,
            clock,
            ids,
        })
    }

    /// The models there are now.
    pub fn now(&self) -> Arc<Models> {
        self.models.load_full()
    }

    /// Takes new settings over, from the next question on.
    pub fn reconfigure(&self, settings: &Settings) {
        let models = make(settings, &self.budget, &self.vault, &self.clock, &self.ids);
        for problem in models.problems() {
            tracing::warn!(event = "model_settings_problem", %problem, "a model in the settings cannot be used");
        }
        self.models.store(Arc::new(models));
    }
}

/// The day of an instant by UTC, as what was spent is booked.
fn day(at: Timestamp) -> String {
    at.rfc3339().chars().take(10).collect()
}

fn make(
    settings: &Settings,
    budget: &MemoryBudget,
    vault: &Vault,
    clock: &Arc<dyn Clock>,
    ids: &Ids,
) -> Models {
    let caps = Caps::from(&settings.models.limits);
    let outside = Outside {
        secrets: Arc::new(Keys(vault.clone())),
        budget: Arc::new(budget.under(caps)),
        clock: clock.clone(),
        ids: ids.clone(),
    };
    Models::new(&settings.models, outside)
}

/// Keys of providers, from the vault.
struct Keys(Vault);

#[async_trait]
impl Secrets for Keys {
    async fn secret(&self, name: &str) -> Result<Option<Secret>, String> {
        self.0.get(name).await.map_err(|e| e.to_string())
    }
}
