//! Public keys of one authorization server: fetched on first use, cached, and fetched again when a
//! token names an unknown key.
//!
//! Anyone can send tokens that name unknown keys, so fetches are rate limited. The limit refills
//! one fetch at a time: a key that is really new becomes known within seconds, however many made-up
//! ones were named before.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use manyhands_config::TrustedIssuer;
use manyhands_core::Clock;
use tokio::sync::Mutex;
use url::Url;

use super::jwt::{Key, Unproven};
use crate::servers::oauth::{OauthError, OauthHttp, metadata};

/// How long keys are used before they are fetched again.
const FRESH: Duration = Duration::from_secs(600);
/// How long cached keys are used while fetching fails.
const STALE: Duration = Duration::from_secs(86_400);
/// Within this time of a fetch, cached keys are used without fetching again.
const RECENT: Duration = Duration::from_secs(60);
/// The most fetches in a row.
const MAX_FETCHES: u32 = 5;
/// How long it takes until one more fetch is allowed.
pub(super) const REFILL: Duration = Duration::from_secs(5);

struct FetchedKeys {
    keys: Vec<Key>,
    /// When they were fetched, on the monotonic clock.
    at: Duration,
}

/// The keys of one authorization server.
pub(super) struct Keyring {
    pub(super) trusted: TrustedIssuer,
    known: ArcSwapOption<FetchedKeys>,
    /// Serializes fetches.
    fetches: Mutex<Fetches>,
}

/// The remaining fetches of the rate limit.
struct Fetches {
    left: u32,
    /// When `left` was last refilled.
    since: Duration,
    last: Option<Duration>,
}

impl Fetches {
    /// Takes one fetch from the budget; returns `false` if none is left.
    fn take(&mut self, now: Duration) -> bool {
        let more = now.saturating_sub(self.since).as_secs() / REFILL.as_secs();
        if more > 0 {
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            self.left = self.left.saturating_add(more).min(MAX_FETCHES);
            self.since = now;
        }
        let some = self.left > 0;
        if some {
            self.left -= 1;
            self.last = Some(now);
        }
        some
    }

    fn is_recent(&self, now: Duration) -> bool {
        let recent = |last: Duration| now.saturating_sub(last) < RECENT;
        self.last.is_some_and(recent)
    }
}

impl Keyring {
    pub(super) fn new(trusted: TrustedIssuer) -> Arc<Self> {
        Arc::new(Self {
            trusted,
            known: ArcSwapOption::empty(),
            fetches: Mutex::new(Fetches {
                left: MAX_FETCHES,
                since: Duration::ZERO,
                last: None,
            }),
        })
    }

    /// Returns the keys that could have signed `token`; fetches the key set if no cached key fits.
    pub(super) async fn keys(
        &self,
        token: &Unproven<'_>,
        clock: &dyn Clock,
        networks: &[String],
    ) -> Result<Vec<Key>, OauthError> {
        if let Some(found) = self.fitting(token, clock, FRESH) {
            return Ok(found);
        }
        let old = self.fitting(token, clock, STALE);
        let mut fetches = match (self.fetches.try_lock(), old) {
            (Ok(free), _) => free,
            (Err(_), Some(old)) => return Ok(old), // still valid while new ones are fetched
            (Err(_), None) => self.fetches.lock().await,
        };
        if let Some(found) = self.fitting(token, clock, FRESH) {
            return Ok(found); // another caller was faster
        }
        let now = clock.monotonic();
        // A fetch failed a moment ago: use the old keys instead of making every caller wait for
        // another timeout.
        if let Some(old) = self.fitting(token, clock, STALE)
            && fetches.is_recent(now)
        {
            return Ok(old);
        }
        if !fetches.take(now) {
            // The token may be signed with a key that is really new. Unreachable (retry later)
            // rather than invalid, because that is not the bearer's fault.
            return Err(OauthError::Unreachable(
                "too many fetches; try again in a few seconds".to_owned(),
            ));
        }
        match self.fetch(networks).await {
            Ok(keys) => self
                .known
                .store(Some(Arc::new(FetchedKeys { keys, at: now }))),
            Err(error) => {
                let issuer = &self.trusted.issuer;
                tracing::warn!(event = "oauth_keys_fetch_failed", issuer, %error, "failed to fetch the keys of an authorization server");
                return self.fitting(token, clock, STALE).ok_or(error);
            }
        }
        Ok(self.fitting(token, clock, STALE).unwrap_or_default())
    }

    fn fitting(
        &self,
        token: &Unproven<'_>,
        clock: &dyn Clock,
        within: Duration,
    ) -> Option<Vec<Key>> {
        let known = self.known.load();
        let known = known.as_ref()?;
        let young = clock.monotonic().saturating_sub(known.at) < within;
        let fitting = known.keys.iter().filter(|key| token.fits(key)).cloned();
        let fitting: Vec<Key> = fitting.collect();
        (young && !fitting.is_empty()).then_some(fitting)
    }

    async fn fetch(&self, networks: &[String]) -> Result<Vec<Key>, OauthError> {
        let home = self.trusted.jwks.as_ref().unwrap_or(&self.trusted.issuer);
        let home = Url::parse(home).map_err(|_| {
            OauthError::Unusable("the issuer URL in the settings is invalid".to_owned())
        })?;
        let way = OauthHttp::from(&home, networks)?;
        let place = match &self.trusted.jwks {
            Some(place) => place.clone(),
            None => {
                let found = metadata::issuer(&way, &self.trusted.issuer).await?;
                found.jwks_uri.ok_or_else(|| {
                    OauthError::Unusable("its metadata has no jwks_uri".to_owned())
                })?
            }
        };
        let place = way.place("its jwks_uri", &place)?;
        let list = way.document(&place).await?;
        let list =
            list.ok_or_else(|| OauthError::Unusable("its key set is empty or invalid".to_owned()))?;
        Ok(Key::all(&list))
    }
}
