//! The keys of one authorization server: fetched when they are first needed, kept, and fetched again
//! when a token names one that is not known.
//!
//! Anybody can send tokens that name unknown keys, so fetches are bounded. They come back one by one, so
//! that a key that is really new is known a few seconds later however many others are made up.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use manyhands_config::TrustedIssuer;
use manyhands_core::Clock;
use tokio::sync::Mutex;
use url::Url;

use super::jwt::{Key, Unproven};
use crate::servers::oauth::{OauthError, Way, metadata};

/// How long keys are used before they are looked at again.
const FRESH: Duration = Duration::from_secs(600);
/// How long they are used when they cannot be looked at.
const STALE: Duration = Duration::from_secs(86_400);
/// Within this time of a fetch old keys are used without another.
const RECENT: Duration = Duration::from_secs(60);
/// How many times keys are fetched in a row.
const MAX_FETCHES: u32 = 5;
/// How long it takes until one more fetch is allowed.
pub(super) const REFILL: Duration = Duration::from_secs(5);

struct Known {
    keys: Vec<Key>,
    /// When they came, by the clock that never runs backwards.
    at: Duration,
}

/// The keys of one authorization server.
pub(super) struct Keyring {
    pub(super) trusted: TrustedIssuer,
    known: ArcSwapOption<Known>,
    /// One fetch at a time.
    fetches: Mutex<Fetches>,
}

/// How many fetches are left.
struct Fetches {
    left: u32,
    /// Since when that many are.
    since: Duration,
    last: Option<Duration>,
}

impl Fetches {
    /// Takes one, if there is one left.
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

    /// The keys that may have signed `token`, fetched if there is none among those that are known.
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
            (Err(_), Some(old)) => return Ok(old), // they do while others are fetched
            (Err(_), None) => self.fetches.lock().await,
        };
        if let Some(found) = self.fitting(token, clock, FRESH) {
            return Ok(found); // somebody was faster
        }
        let now = clock.monotonic();
        // Where they could not be fetched a moment ago, nobody else has to wait for that.
        if let Some(old) = self.fitting(token, clock, STALE)
            && fetches.is_recent(now)
        {
            return Ok(old);
        }
        if !fetches.take(now) {
            // It may be signed with a new key, so that is not its bearer's fault: not refused for good.
            return Err(OauthError::Unreachable(
                "they were fetched too often lately".to_owned(),
            ));
        }
        match self.fetch(networks).await {
            Ok(keys) => self.known.store(Some(Arc::new(Known { keys, at: now }))),
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
            OauthError::Unusable("its address in the settings cannot be read".to_owned())
        })?;
        let way = Way::from(&home, networks)?;
        let place = match &self.trusted.jwks {
            Some(place) => place.clone(),
            None => {
                let found = metadata::issuer(&way, &self.trusted.issuer).await?;
                found.jwks_uri.ok_or_else(|| {
                    OauthError::Unusable("its metadata do not say where its keys are".to_owned())
                })?
            }
        };
        let place = way.place("where its keys are", &place)?;
        let list = way.document(&place).await?;
        let list = list.ok_or_else(|| OauthError::Unusable("it shows no keys".to_owned()))?;
        Ok(Key::all(&list))
    }
}
