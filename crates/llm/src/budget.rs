//! Budgets, reserved before money is spent.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::model::ModelId;
use crate::request::BillingContext;
use crate::usage::{Cost, Spent};

/// Upper bound of a call's cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    /// The model to call.
    pub model: ModelId,
    /// Whose budget it counts against.
    pub account: BillingContext,
    /// Estimated input tokens.
    pub input_tokens: u64,
    /// Maximum output tokens.
    pub output_tokens: u64,
    /// Maximum cost.
    pub cost: Cost,
}

/// Decides whether a call may be made.
#[async_trait]
pub trait Budget: Send + Sync {
    /// Reserves `estimate` so that no other call can spend it, or refuses the call.
    async fn reserve(&self, estimate: &Estimate) -> Result<Box<dyn Reservation>, OverBudget>;
}

/// A reservation for one call. Dropping it releases the whole amount: nothing was spent.
#[async_trait]
pub trait Reservation: Send {
    /// Ends the call: records what was spent and releases the rest.
    async fn settle(self: Box<Self>, spent: Spent);
}

/// The scope of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One call.
    Call,
    /// One turn.
    Turn,
    /// One session.
    Session,
    /// One agent, per day.
    Agent,
    /// Everything, per day.
    Day,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Call => "call",
            Self::Turn => "turn",
            Self::Session => "session",
            Self::Agent => "agent",
            Self::Day => "day",
        })
    }
}

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverBudget {
    /// It could cost more than the remaining budget.
    #[error(
        "could cost {requested}, but only {left} of models.limits.per_{scope}.dollars ({cap}) is left",
        requested = Cost::MicroDollars(*.requested), cap = Cost::MicroDollars(*.cap), left = Cost::MicroDollars(*.left)
    )]
    Money {
        /// The exceeded limit.
        scope: Scope,
        /// The limit, in millionths of a dollar.
        cap: u64,
        /// What remains of it.
        left: u64,
        /// The maximum cost of the call.
        requested: u64,
    },
    /// It could use more tokens than remain.
    #[error(
        "could use {requested} tokens, but only {left} of models.limits.per_{scope}.tokens ({cap}) are left"
    )]
    Tokens {
        /// The exceeded limit.
        scope: Scope,
        /// The limit.
        cap: u64,
        /// What remains of it.
        left: u64,
        /// The maximum tokens of the call.
        requested: u64,
    },
    /// There is a limit in dollars, but the model's price is unknown.
    #[error(
        "has no price, so models.limits.per_{scope}.dollars cannot be enforced; set one in models.prices"
    )]
    NoPrice {
        /// The limit.
        scope: Scope,
    },
    /// The budget cannot be stored.
    #[error("cannot store the budget: {0}")]
    Books(String),
}

/// No limits.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBudget;

#[async_trait]
impl Budget for NoBudget {
    async fn reserve(&self, _: &Estimate) -> Result<Box<dyn Reservation>, OverBudget> {
        Ok(Box::new(Self))
    }
}

#[async_trait]
impl Reservation for NoBudget {
    async fn settle(self: Box<Self>, _: Spent) {}
}
