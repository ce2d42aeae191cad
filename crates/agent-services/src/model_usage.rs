//! What models used since the start, for metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use manyhands_llm::{Budget, Estimate, OverBudget, Reservation, Spent, Usage};

/// The most models that are counted by name. Callers of `/v1` can name any model of a provider.
const MAX_MODELS: usize = 200;
/// The name that further models share.
const OTHER: &str = "other";

/// Usage of one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelUsage {
    /// Requests that used tokens.
    pub requests: u64,
    /// Tokens.
    pub tokens: Usage,
    /// Cost, in millionths of a dollar, as far as prices are known.
    pub micro_dollars: u64,
}

/// Usage by model.
#[derive(Clone, Default)]
pub(crate) struct UsageTotals(Arc<Mutex<BTreeMap<String, ModelUsage>>>);

impl UsageTotals {
    pub(crate) fn all(&self) -> BTreeMap<String, ModelUsage> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }

    fn add(&self, model: String, spent: Spent) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.contains_key(&model) || all.len() < MAX_MODELS;
        let usage = all.entry(if known { model } else { OTHER.to_owned() });
        let usage = usage.or_default();
        usage.requests += 1;
        usage.tokens += spent.usage;
        usage.micro_dollars += spent.cost.micro_dollars().unwrap_or(0);
    }
}

/// A budget whose spending is counted.
pub(crate) struct MeteredBudget<B> {
    pub(crate) budget: B,
    pub(crate) totals: UsageTotals,
}

#[async_trait]
impl<B: Budget> Budget for MeteredBudget<B> {
    async fn reserve(&self, estimate: &Estimate) -> Result<Box<dyn Reservation>, OverBudget> {
        Ok(Box::new(MeteredReservation {
            reservation: self.budget.reserve(estimate).await?,
            model: estimate.model.to_string(),
            totals: self.totals.clone(),
        }))
    }
}

struct MeteredReservation {
    reservation: Box<dyn Reservation>,
    model: String,
    totals: UsageTotals,
}

#[async_trait]
impl Reservation for MeteredReservation {
    async fn settle(self: Box<Self>, spent: Spent) {
        self.totals.add(self.model, spent);
        self.reservation.settle(spent).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_llm::Cost;

    #[test]
    fn further_models_share_one_name() {
        let totals = UsageTotals::default();
        let spent = Spent {
            usage: Usage {
                input: 2,
                output: 3,
                ..Usage::default()
            },
            cost: Cost::MicroDollars(5),
        };
        for number in 0..MAX_MODELS + 3 {
            totals.add(format!("p/{number:04}"), spent);
        }
        totals.add("p/0000".to_owned(), spent);
        let all = totals.all();
        assert_eq!(all.len(), MAX_MODELS + 1);
        assert_eq!(all["p/0000"].tokens.total(), 10);
        assert_eq!((all[OTHER].requests, all[OTHER].micro_dollars), (3, 15));
    }
}
