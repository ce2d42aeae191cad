//! The keys of one authorization server: fetched when they are first needed, kept, and fetched again
//! when a token names one that is not known, a few times a minute at most.

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
/// Within this time keys are fetched [`MAX_FETCHES`] times at most.
const WINDOW: Duration = Duration::from_secs(60);
const MAX_FETCHES: usize = 5;

struct Known {
    keys: Vec<Key>,
    /// When they came, by the clock that never runs backwards.
    at: Duration,
}

/// The keys of one authorization server.
pub(super) struct Keyring {
    pub(super) trusted: TrustedIssuer,
    known: ArcSwapOption<Known>,
    /// When they were fetched lately; one fetch at a time.
    fetches: Mutex<Vec<Duration>>,
}

impl Keyring {
    pub(super) fn new(trusted: TrustedIssuer) -> Arc<Self> {
        Arc::new(Self {
            trusted,
            known: ArcSwapOption::empty(),
            fetches: Mutex::default(),
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
        let mut fetches = self.fetches.lock().await;
        if let Some(found) = self.fitting(token, clock, FRESH) {
            return Ok(found); // somebody was faster
        }
        let now = clock.monotonic();
        fetches.retain(|at| now.saturating_sub(*at) < WINDOW);
        // Where they could not be fetched a moment ago, nobody else has to wait for that.
        if let Some(found) = self
            .fitting(token, clock, STALE)
            .filter(|_| !fetches.is_empty())
        {
            return Ok(found);
        }
        let fetched = match fetches.len() < MAX_FETCHES {
            true => {
                fetches.push(now);
                self.fetch(networks).await
            }
            false => Err(OauthError::Unreachable(
                "its keys were asked for too often lately".to_owned(),
            )),
        };
        match fetched {
            Ok(keys) => self.known.store(Some(Arc::new(Known { keys, at: now }))),
            Err(error) => {
                let issuer = &self.trusted.issuer;
                tracing::warn!(%error, issuer, "the keys of an authorization server could not be fetched");
                if self.known.load().is_none() {
                    return Err(error);
                }
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
