//! Rate limits: no caller can exhaust the gateway.
//!
//! The owner is not metered. Every other caller has a number of calls a minute and, if configured, a
//! number of calls a day. All callers together share a number of concurrent calls; more wait in a
//! bounded queue.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use manyhands_config::Limits;
use manyhands_core::{Clock, ErrorCode, Timestamp, ToolError};
use manyhands_store::Audit as Chain;
use tokio::sync::Semaphore;

use crate::layer::{Call, CallResult, Layer, Next};

/// How many calls may wait for a permit.
const MAX_WAITING: usize = 4_096;
/// How many callers are metered at once.
const MAX_CALLERS: usize = 10_000;

/// Meters callers.
pub struct Budget {
    limits: Arc<ArcSwap<Limits>>,
    clock: Arc<dyn Clock>,
    chain: Chain,
    meters: Mutex<HashMap<String, CallMeter>>,
}

/// Limits how many calls run at once. It stands behind the approval, so that a call that waits for
/// the owner holds no permit.
pub struct Concurrency {
    permits: Semaphore,
    waiting: AtomicUsize,
}

/// Usage of one caller.
struct CallMeter {
    /// Calls left in the current minute, refilled evenly.
    tokens: f64,
    refilled: Duration,
    day: Timestamp,
    today: u64,
}

impl Budget {
    pub(crate) fn new(limits: Arc<ArcSwap<Limits>>, clock: Arc<dyn Clock>, chain: Chain) -> Self {
        Self {
            limits,
            clock,
            chain,
            meters: Mutex::default(),
        }
    }

    async fn meter(&self, call: &Call) -> Result<(), ToolError> {
        let limits = self.limits.load_full();
        let key = call.request.caller.key();
        let day = self.clock.now().day_start();
        let known = self
            .meters
            .lock()
            .expect("no panic while held")
            .get(&key)
            .map(|meter| meter.day);
        let used_before = if known == Some(day) || limits.calls_per_day == 0 {
            0
        } else {
            let counted = self.chain.count_since(&key, day).await;
            counted.map_err(|error| {
                ToolError::from(error).context("the calls of this day could not be counted")
            })?
        };
        // Locked again only after the count from disk: a std mutex must not be held across an await.
        let mut meters = self.meters.lock().expect("no panic while held");
        if meters.len() >= MAX_CALLERS && !meters.contains_key(&key) {
            // Meters of earlier days can go: a returning caller is counted from disk again.
            meters.retain(|_, meter| meter.day == day);
        }
        let per_minute = f64::from(limits.calls_per_minute);
        let now = self.clock.monotonic();
        let meter = meters.entry(key).or_insert(CallMeter {
            tokens: per_minute,
            refilled: now,
            day,
            today: used_before,
        });
        if meter.day != day {
            (meter.day, meter.today) = (day, used_before);
        }
        meter.spend(per_minute, now, limits.calls_per_day)
    }
}

impl CallMeter {
    fn spend(&mut self, per_minute: f64, now: Duration, per_day: u64) -> Result<(), ToolError> {
        // Refilled evenly rather than at every full minute, so that a caller at its limit gets a call now and then
        // instead of bursts.
        let elapsed = now.saturating_sub(self.refilled).as_secs_f64();
        self.tokens = (self.tokens + elapsed * per_minute / 60.0).min(per_minute);
        self.refilled = now;
        if self.tokens < 1.0 {
            let wait = Duration::from_secs_f64((1.0 - self.tokens) * 60.0 / per_minute);
            let message = format!("more than {per_minute} calls in a minute");
            return Err(ToolError::new(ErrorCode::RateLimited, message)
                .hint("call less often, or ask the owner to raise limits.calls_per_minute")
                .retry_after(wait));
        }
        if per_day > 0 && self.today >= per_day {
            let message = format!("all {per_day} calls of this day are used up");
            return Err(ToolError::new(ErrorCode::BudgetExceeded, message)
                .hint("wait for midnight UTC, or ask the owner to raise limits.calls_per_day"));
        }
        // Only now: a refused call uses up nothing.
        self.tokens -= 1.0;
        self.today += 1;
        Ok(())
    }
}

#[async_trait]
impl Layer for Budget {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        if !call.request.caller.is_owner() {
            self.meter(call).await?;
        }
        next.run(call).await
    }
}

#[async_trait]
impl Layer for Concurrency {
    async fn handle(&self, call: &mut Call, next: Next<'_>) -> CallResult {
        if call.spec()?.waits_for_turns {
            // It waits for calls that need a permit each. Holding one itself could deadlock: with all
            // permits held by waiting tools, none of their calls could run.
            return next.run(call).await;
        }
        let _permit = match self.permits.try_acquire() {
            Ok(permit) => permit,
            Err(_) => self.wait_for_permit(call).await?,
        };
        next.run(call).await
    }
}

impl Concurrency {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            permits: Semaphore::new(limit as usize),
            waiting: AtomicUsize::new(0),
        }
    }

    async fn wait_for_permit(
        &self,
        call: &Call,
    ) -> Result<tokio::sync::SemaphorePermit<'_>, ToolError> {
        // A guard, because a cancelled caller drops this future while it waits.
        struct Leave<'a>(&'a AtomicUsize);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let already = self.waiting.fetch_add(1, Ordering::SeqCst);
        let _leave = Leave(&self.waiting);
        let busy = || {
            ToolError::new(
                ErrorCode::Unavailable,
                "too many calls are waiting for a free place",
            )
        };
        if already >= MAX_WAITING {
            return Err(busy()
                .hint("call again in a moment")
                .retry_after(Duration::from_secs(1)));
        }
        tokio::select! {
            permit = self.permits.acquire() => permit.map_err(|_| busy()),
            () = call.cancel.cancelled() => Err(ToolError::new(ErrorCode::Cancelled, "cancelled while waiting for a free place")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Fixture};
    use serde_json::json;

    #[tokio::test]
    async fn a_client_is_limited_per_minute_and_the_owner_is_not() {
        let fixture = Fixture::with_limits(|limits| limits.calls_per_minute = 3).await;
        let client = testing::client("busy", &["*"]);
        let call = || fixture.call_as(client.clone(), "test::count", json!({}));
        for _ in 0..3 {
            call().await.unwrap();
        }
        let error = call().await.unwrap_err();
        assert_eq!(
            (error.code, error.retry_after),
            (ErrorCode::RateLimited, Some(Duration::from_secs(20)))
        );
        assert_eq!(fixture.count(), 3, "a refused call does not run");
        fixture.clock.advance(Duration::from_secs(20));
        call().await.unwrap();
        for _ in 0..10 {
            fixture.call("test::count", json!({})).await.unwrap();
        }
    }

    #[tokio::test]
    async fn calls_are_limited_per_day_across_restarts() {
        let fixture = Fixture::with_limits(|limits| limits.calls_per_day = 2).await;
        let client = testing::client("daily", &["*"]);
        for (tool, arguments) in [
            ("test::count", json!({})),
            ("test::echo", json!({ "text": "x" })),
        ] {
            fixture
                .call_as(client.clone(), tool, arguments)
                .await
                .unwrap();
        }
        fixture.audit("test::echo").await; // and so everything is on disk
        let restarted = fixture.restarted();
        for path in [&fixture.path, &restarted] {
            let error = testing::call_on(path, client.clone(), "test::count", json!({}))
                .await
                .unwrap_err();
            assert_eq!(error.code, ErrorCode::BudgetExceeded);
        }
        fixture.clock.advance(Duration::from_secs(86_400));
        fixture
            .call_as(client, "test::count", json!({}))
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_tool_that_waits_for_turns_takes_no_permit() {
        let fixture = Fixture::with_limits(|limits| limits.concurrent_calls = 1).await;
        let waits = fixture.call("test::wait", json!({}));
        let works = async {
            fixture.hanging.notified().await;
            let done = fixture.call("test::count", json!({})).await;
            fixture.path.drain(Duration::ZERO).await;
            done
        };
        let (_, done) = tokio::join!(waits, works);
        assert!(done.is_ok(), "{done:?}");
    }

    #[tokio::test]
    async fn calls_beyond_the_limit_are_queued() {
        let fixture = Fixture::with_limits(|limits| limits.concurrent_calls = 2).await;
        let calls = (0..50).map(|_| fixture.call("test::count", json!({})));
        let results = futures_util::future::join_all(calls).await;
        assert!(results.iter().all(Result::is_ok));
        assert_eq!(fixture.count(), 50);
    }
}
