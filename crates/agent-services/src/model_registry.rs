//! The configured models, and what was spent on them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::Settings;
use manyhands_core::{Clock, Ids, Secret, Timestamp};
use manyhands_llm::{Caps, MemoryBudget, Models, Outside, Scope, Secrets};
use manyhands_store::{Store, StoreError, Vault};

use crate::model_usage::{MeteredBudget, ModelUsage, UsageTotals};
use crate::spawned_agents::SpawnedAgents;

/// The present models. Replaced as a whole when the settings change.
pub struct ModelRegistry {
    models: ArcSwap<Models>,
    /// Held while a provider is added or removed: the vault and the settings file must change
    /// together.
    pub changing: tokio::sync::Mutex<()>,
    budget: MemoryBudget,
    totals: UsageTotals,
    vault: Vault,
    clock: Arc<dyn Clock>,
    ids: Ids,
}

impl ModelRegistry {
    /// Creates the models of `settings`. Today's spending from before a restart still counts.
    pub async fn open(
        settings: &Settings,
        store: &Store,
        spawned_agents: &SpawnedAgents,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Result<Self, StoreError> {
        let budget = MemoryBudget::new(Caps::default(), clock.clone());
        let today = day(clock.now());
        // Usage is on disk but budgets are in memory: without this a restart would reset the limits.
        for row in store.sessions().usage(&today).await? {
            let count = |number: i64| u64::try_from(number).unwrap_or(0);
            let usage = &row.usage;
            let tokens = count(usage.input_tokens).saturating_add(count(usage.output_tokens));
            let micros = count(usage.cost_micros);
            // What a spawned agent spends counts for the configured agent at its root.
            let (_, payer) = spawned_agents.position(&row.agent);
            budget.remember(Scope::Agent, payer.as_str(), micros, tokens);
            budget.remember(Scope::Day, "", micros, tokens);
        }
        let vault = store.vault().clone();
        let totals = UsageTotals::default();
        let models = make(settings, (&budget, &totals), &vault, &clock, &ids);
        Ok(Self {
            models: ArcSwap::from_pointee(models),
            changing: tokio::sync::Mutex::new(()),
            budget,
            totals,
            vault,
            clock,
            ids,
        })
    }

    /// The present models.
    pub fn now(&self) -> Arc<Models> {
        self.models.load_full()
    }

    /// What each model used since the start.
    pub fn usage(&self) -> BTreeMap<String, ModelUsage> {
        self.totals.all()
    }

    /// Applies new settings, from the next request on.
    pub fn reconfigure(&self, settings: &Settings) {
        let spending = (&self.budget, &self.totals);
        let models = make(settings, spending, &self.vault, &self.clock, &self.ids);
        for problem in models.problems() {
            tracing::warn!(event = "model_settings_problem", %problem, "a model in the settings cannot be used");
        }
        self.models.store(Arc::new(models));
    }
}

/// The UTC day under which spending is recorded.
fn day(at: Timestamp) -> String {
    at.rfc3339().chars().take(10).collect()
}

fn make(
    settings: &Settings,
    (budget, totals): (&MemoryBudget, &UsageTotals),
    vault: &Vault,
    clock: &Arc<dyn Clock>,
    ids: &Ids,
) -> Models {
    let caps = Caps::from(&settings.models.limits);
    let outside = Outside {
        secrets: Arc::new(VaultKeys(vault.clone())),
        budget: Arc::new(MeteredBudget {
            budget: budget.under(caps),
            totals: totals.clone(),
        }),
        clock: clock.clone(),
        ids: ids.clone(),
    };
    Models::new(&settings.models, outside)
}

/// API keys of providers, read from the vault.
struct VaultKeys(Vault);

#[async_trait]
impl Secrets for VaultKeys {
    async fn secret(&self, name: &str) -> Result<Option<Secret>, String> {
        self.0.get(name).await.map_err(|e| e.to_string())
    }
}
