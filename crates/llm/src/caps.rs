//! In-memory budget limits: a reservation counts as spent until the call ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{Clock, Timestamp};

use crate::budget::{Budget, Estimate, OverBudget, Reservation, Scope};
use crate::settings::{ModelLimit, ModelLimits};
use crate::usage::Cost;
use crate::usage::Spent;

/// Number of entries from which those untouched for a day are removed.
const MANY: usize = 4_096;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A spending limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cap {
    /// Millionths of a dollar.
    pub micro_dollars: Option<u64>,
    /// Input and output tokens together.
    pub tokens: Option<u64>,
}

/// Spending limits by scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caps {
    /// In one call.
    pub call: Cap,
    /// In one turn.
    pub turn: Cap,
    /// In one session.
    pub session: Cap,
    /// By one agent in a day.
    pub agent: Cap,
    /// By everyone in a day.
    pub day: Cap,
}

impl From<&ModelLimits> for Caps {
    fn from(limits: &ModelLimits) -> Self {
        let cap = |limit: &ModelLimit| Cap {
            micro_dollars: limit.dollars.map(crate::price::micros),
            tokens: limit.tokens,
        };
        Self {
            call: cap(&limits.per_call),
            turn: cap(&limits.per_turn),
            session: cap(&limits.per_session),
            agent: cap(&limits.per_agent),
            day: cap(&limits.per_day),
        }
    }
}

impl Caps {
    fn of(&self, scope: Scope) -> Cap {
        match scope {
            Scope::Call => self.call,
            Scope::Turn => self.turn,
            Scope::Session => self.session,
            Scope::Agent => self.agent,
            Scope::Day => self.day,
        }
    }
}

/// Hard limits, kept in memory. Clones share the ledger.
#[derive(Clone)]
pub struct MemoryBudget {
    caps: Caps,
    clock: Arc<dyn Clock>,
    books: Arc<Mutex<Ledger>>,
}

type LedgerKey = (Scope, String);

#[derive(Debug, Default)]
struct Ledger(BTreeMap<LedgerKey, LedgerEntry>);

#[derive(Debug, Clone, Copy, Default)]
struct LedgerEntry {
    spent: Sum,
    reserved: Sum,
    touched: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sum {
    micros: u64,
    tokens: u64,
}

impl Sum {
    fn plus(self, other: Self) -> Self {
        Self {
            micros: self.micros.saturating_add(other.micros),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            micros: self.micros.saturating_sub(other.micros),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }
}

impl MemoryBudget {
    /// Enforces `caps`, with days according to `clock`.
    pub fn new(caps: Caps, clock: Arc<dyn Clock>) -> Self {
        Self {
            caps,
            clock,
            books: Arc::default(),
        }
    }

    /// The same ledger with other limits.
    #[must_use]
    pub fn under(&self, caps: Caps) -> Self {
        Self {
            caps,
            ..self.clone()
        }
    }

    /// Records earlier spending, in millionths of a dollar and tokens.
    pub fn remember(&self, scope: Scope, key: &str, micros: u64, tokens: u64) {
        let now = self.clock.now();
        let mut books = lock(&self.books);
        let entry = books.0.entry(full_key(scope, key, now)).or_default();
        entry.spent = entry.spent.plus(Sum { micros, tokens });
        entry.touched = now.0;
    }

    /// Spending so far, in millionths of a dollar and tokens. The key of [`Scope::Day`] is empty; days
    /// are those of now.
    pub fn spent(&self, scope: Scope, key: &str) -> (u64, u64) {
        let key = full_key(scope, key, self.clock.now());
        let books = lock(&self.books);
        let spent = books.0.get(&key).copied().unwrap_or_default().spent;
        (spent.micros, spent.tokens)
    }

    /// Removes the entry of `key`, such as a session that was reset.
    pub fn forget(&self, scope: Scope, key: &str) {
        let key = full_key(scope, key, self.clock.now());
        lock(&self.books).0.remove(&key);
    }

    fn keys(&self, estimate: &Estimate, now: Timestamp) -> Vec<LedgerKey> {
        let account = &estimate.account;
        let scopes = [
            (Scope::Turn, account.turn.as_deref()),
            (Scope::Session, account.session.as_deref()),
            (Scope::Agent, account.agent.as_deref()),
            (Scope::Day, Some("")),
        ];
        let stored = scopes.into_iter();
        stored
            .filter_map(|(scope, key)| Some(full_key(scope, key?, now)))
            .collect()
    }
}

fn full_key(scope: Scope, key: &str, now: Timestamp) -> LedgerKey {
    let key = match scope {
        // The day is part of the key, so that limits per day reset without a timer.
        Scope::Agent | Scope::Day => format!("{}:{key}", now.day_start().0),
        Scope::Call | Scope::Turn | Scope::Session => key.to_owned(),
    };
    (scope, key)
}

fn lock(books: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    // Sums are consistent between statements, so a panic elsewhere leaves nothing half done.
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether `requested` fits under `cap` on top of `used`.
fn check(scope: Scope, cap: Cap, used: Sum, requested: Sum, cost: Cost) -> Result<(), OverBudget> {
    if let Some(cap) = cap.tokens {
        let left = cap.saturating_sub(used.tokens);
        if requested.tokens > left {
            return Err(OverBudget::Tokens {
                scope,
                cap,
                left,
                requested: requested.tokens,
            });
        }
    }
    let Some(cap) = cap.micro_dollars else {
        return Ok(());
    };
    // Refuse rather than guess: an unpriced model would bypass a limit in dollars.
    if cost == Cost::Unknown {
        return Err(OverBudget::NoPrice { scope });
    }
    let left = cap.saturating_sub(used.micros);
    if requested.micros > left {
        return Err(OverBudget::Money {
            scope,
            cap,
            left,
            requested: requested.micros,
        });
    }
    Ok(())
}

impl Ledger {
    fn prune(&mut self, now: Timestamp) {
        if self.0.len() >= MANY {
            let old = |entry: &LedgerEntry| now.since(Timestamp(entry.touched)) > DAY;
            self.0
                // An entry with a reservation must stay, or settling it would start from zero.
                .retain(|_, entry| entry.reserved != Sum::default() || !old(entry));
        }
    }
}

#[async_trait]
impl Budget for MemoryBudget {
    async fn reserve(&self, estimate: &Estimate) -> Result<Box<dyn Reservation>, OverBudget> {
        let now = self.clock.now();
        let requested = Sum {
            micros: estimate.cost.micro_dollars().unwrap_or(0),
            tokens: estimate.input_tokens.saturating_add(estimate.output_tokens),
        };
        check(
            Scope::Call,
            self.caps.call,
            Sum::default(),
            requested,
            estimate.cost,
        )?;
        let keys = self.keys(estimate, now);
        let mut books = lock(&self.books);
        books.prune(now);
        // All scopes are checked before any is changed, under one lock: a refusal leaves no trace.
        for key in &keys {
            let entry = books.0.get(key).copied().unwrap_or_default();
            let used = entry.spent.plus(entry.reserved);
            check(key.0, self.caps.of(key.0), used, requested, estimate.cost)?;
        }
        for key in &keys {
            let entry = books.0.entry(key.clone()).or_default();
            entry.reserved = entry.reserved.plus(requested);
            entry.touched = now.0;
        }
        Ok(Box::new(MemoryReservation {
            books: Arc::clone(&self.books),
            keys,
            requested,
        }))
    }
}

/// A reservation of one call.
struct MemoryReservation {
    books: Arc<Mutex<Ledger>>,
    keys: Vec<LedgerKey>,
    requested: Sum,
}

impl MemoryReservation {
    fn close(&mut self, spent: Sum) {
        let mut books = lock(&self.books);
        // Taking the keys makes a second close, by `Drop` after `settle`, a no-op.
        for key in std::mem::take(&mut self.keys) {
            let entry = books.0.entry(key).or_default();
            // Both under the lock taken above: between release and booking, another call could
            // overspend.
            entry.reserved = entry.reserved.minus(self.requested);
            entry.spent = entry.spent.plus(spent);
        }
    }
}

#[async_trait]
impl Reservation for MemoryReservation {
    async fn settle(mut self: Box<Self>, spent: Spent) {
        self.close(Sum {
            micros: spent.cost.micro_dollars().unwrap_or(0),
            tokens: spent.usage.total(),
        });
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.close(Sum::default());
    }
}

#[cfg(test)]
mod tests;
