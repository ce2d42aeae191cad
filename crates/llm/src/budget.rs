//! Money, asked for before it is spent.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::model::ModelId;
use crate::reply::{Cost, Usage};
use crate::request::Account;

/// What a call may come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    /// Who will be asked.
    pub model: ModelId,
    /// Whose money it is.
    pub account: Account,
    /// Tokens to read.
    pub input_tokens: u64,
    /// The most tokens to write.
    pub output_tokens: u64,
    /// The most it can cost.
    pub cost: Cost,
}

/// What a call came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Tokens.
    pub usage: Usage,
    /// Money.
    pub cost: Cost,
}

/// Decides whether a call may be made.
#[async_trait]
pub trait Budget: Send + Sync {
    /// Sets `estimate` aside, so that no other call can spend it, or refuses the call.
    async fn reserve(&self, estimate: &Estimate) -> Result<Box<dyn Reservation>, OverBudget>;
}

/// What was set aside for one call. Dropped without a word it goes back: nothing was spent.
#[async_trait]
pub trait Reservation: Send {
    /// The call is over: books what it came to and gives the rest back.
    async fn settle(self: Box<Self>, spent: Spent);
}

/// Which limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Of one call.
    Call,
    /// Of one turn.
    Turn,
    /// Of one session.
    Session,
    /// Of one agent, in a day.
    Agent,
    /// Of everything, in a day.
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

/// Why a call may not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverBudget {
    /// It could cost more than is left.
    #[error(
        "could cost {asked}, and of models.limits.per_{scope}.dollars ({cap}) only {left} is left",
        asked = Cost::MicroDollars(*.asked), cap = Cost::MicroDollars(*.cap), left = Cost::MicroDollars(*.left)
    )]
    Money {
        /// Which limit.
        scope: Scope,
        /// The limit, in millionths of a dollar.
        cap: u64,
        /// What is left of it.
        left: u64,
        /// What the call could come to.
        asked: u64,
    },
    /// It could take more tokens than are left.
    #[error(
        "could take {asked} tokens, and of models.limits.per_{scope}.tokens ({cap}) only {left} are left"
    )]
    Tokens {
        /// Which limit.
        scope: Scope,
        /// The limit.
        cap: u64,
        /// What is left of it.
        left: u64,
        /// What the call could come to.
        asked: u64,
    },
    /// There is a limit in dollars, and nobody knows what the model costs.
    #[error(
        "has no price, so models.limits.per_{scope}.dollars cannot be kept; give it one in models.prices"
    )]
    NoPrice {
        /// Which limit.
        scope: Scope,
    },
    /// The books cannot be kept.
    #[error("the budget cannot be kept: {0}")]
    Books(String),
}

/// No limits at all.
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
