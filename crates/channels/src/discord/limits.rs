//! Rate limits, as reported with every response.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use manyhands_guard::HeaderMap;
use serde_json::Value;
use tokio::time::Instant;

use crate::recent::RecentMap;

/// Maximum routes and buckets remembered.
const MOST: usize = 2_048;
/// Maximum delay that is believed.
const LONGEST: f64 = 86_400.0;

/// State of a rate limit bucket.
#[derive(Debug, Clone, Copy)]
struct BucketState {
    remaining: u32,
    until: Instant,
}

/// Known rate limits.
pub(super) struct RateLimits {
    /// The bucket of each route.
    routes: RecentMap<String>,
    /// Bucket states, by bucket and chat.
    left: RecentMap<BucketState>,
    /// Global limit: no requests before this time.
    all: Mutex<Option<Instant>>,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            routes: RecentMap::new(MOST),
            left: RecentMap::new(MOST),
            all: Mutex::new(None),
        }
    }
}

impl RateLimits {
    /// Takes a slot for a request, or returns the time to wait.
    pub(super) fn take(&self, route: &str, chat: &str) -> Result<(), Duration> {
        let now = Instant::now();
        let all = *self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(until) = all.filter(|until| *until > now) {
            return Err(until - now);
        }
        // The first request of a route is always allowed: only its response names the bucket.
        let Some(name) = self.name(route, chat) else {
            return Ok(());
        };
        let Some(left) = self.left.get(&name).filter(|left| left.until > now) else {
            return Ok(());
        };
        let Some(remaining) = left.remaining.checked_sub(1) else {
            return Err(left.until - now);
        };
        // Counted down locally: concurrent requests would otherwise all use the same last slot.
        self.left.put(&name, BucketState { remaining, ..left });
        Ok(())
    }

    /// Updates from response headers.
    pub(super) fn learn(&self, route: &str, chat: &str, headers: &HeaderMap) {
        let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(bucket) = said("x-ratelimit-bucket") {
            self.routes
                .put(&format!("{route} {chat}"), bucket.to_owned());
        }
        let remaining = said("x-ratelimit-remaining").and_then(|text| text.parse().ok());
        let after = said("x-ratelimit-reset-after").and_then(|text| text.parse().ok());
        if let (Some(remaining), Some(after)) = (remaining, after.and_then(seconds))
            && let Some(name) = self.name(route, chat)
        {
            let until = Instant::now() + after;
            self.left.put(&name, BucketState { remaining, until });
        }
    }

    /// Records a 429 response and returns the time to wait.
    pub(super) fn too_fast(
        &self,
        route: &str,
        chat: &str,
        headers: &HeaderMap,
        body: &Value,
    ) -> Option<Duration> {
        let header = |name: &str| headers.get(name)?.to_str().ok()?.parse().ok();
        // The body first: it has fractions of a second, the header only whole seconds.
        let after = body["retry_after"].as_f64();
        let after = after.or_else(|| header("retry-after")).and_then(seconds)?;
        let until = Instant::now() + after;
        let global = body["global"] == true || headers.contains_key("x-ratelimit-global");
        if global {
            *self.all.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        } else {
            let name = self.name(route, chat);
            // A 429 may come before any response has named the route's bucket.
            let name = name.unwrap_or_else(|| format!("{route} {chat}"));
            self.routes
                .put(&format!("{route} {chat}"), bucket_of(&name).to_owned());
            self.left.put(
                &name,
                BucketState {
                    remaining: 0,
                    until,
                },
            );
        }
        Some(after)
    }

    /// The key of a bucket.
    fn name(&self, route: &str, chat: &str) -> Option<String> {
        let bucket = self.routes.get(&format!("{route} {chat}"))?;
        Some(format!("{bucket} {chat}"))
    }
}

/// The bucket in a key.
fn bucket_of(name: &str) -> &str {
    name.rsplit_once(' ').map_or(name, |(bucket, _)| bucket)
}

fn seconds(said: f64) -> Option<Duration> {
    // A hostile or broken value must not panic or block forever.
    let sane = said.is_finite() && said >= 0.0;
    sane.then(|| Duration::from_secs_f64(said.min(LONGEST)))
}
