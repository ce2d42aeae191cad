//! Renews the tokens of one account before they expire.
//!
//! There is one renewal at a time per account. A token that is still valid stays in use meanwhile;
//! only callers without one wait. A renewal runs to completion even if its callers go away.
//!
//! Servers that rotate refresh tokens treat a second use as theft and revoke the login. So the fact
//! that a token is about to be sent is on disk before it is sent, and one that was sent without a
//! response, by this process or by one that crashed, is never sent again, unless the server was
//! seen to keep refresh tokens unchanged.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use url::Url;

use super::error::OauthError;
use super::login_store::{Current, Flow, LoginStore, Spent, StoredLogin};
use super::token;

/// How long to wait after a failed early renewal.
const PAUSE: Duration = Duration::from_secs(5);

type Flight = Shared<BoxFuture<'static, Result<(), OauthError>>>;

/// The renewals of one account.
#[derive(Default)]
pub(super) struct Renewals(Mutex<State>);

#[derive(Default)]
struct State {
    /// The renewal in progress.
    flight: Option<Flight>,
    /// No early renewal before this time on the monotonic clock.
    not_before: Duration,
}

impl Renewals {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic while held")
    }
}

/// Clears the flight on drop, also after a panic.
struct Landing(Arc<LoginStore>);

impl Drop for Landing {
    fn drop(&mut self) {
        self.0.renewals.state().flight = None;
    }
}

impl LoginStore {
    /// Returns a usable token. An expired or rejected one is renewed first; one that is only due
    /// for renewal is returned while a renewal runs in the background.
    pub(super) async fn token(
        self: &Arc<Self>,
        spent: Option<Spent>,
    ) -> Result<Option<Arc<Current>>, OauthError> {
        if self.current.load().is_none() {
            if matches!(self.flow, Flow::Machine { .. }) {
                return Ok(None); // whether the server requires one is not known yet
            }
            self.take_up().await?;
        }
        let lasting = self.current.load_full();
        let lasting = lasting.filter(|current| self.lasts(current, spent.as_ref()));
        if let Some(current) = lasting {
            // Ahead of time and in the background: no call waits for a token that still works.
            if !self.is_fresh(&current) {
                self.renew_ahead();
            }
            return Ok(Some(current));
        }
        if let Some(flight) = self.flight(spent) {
            flight.await?;
        }
        Ok(self.current.load_full())
    }

    /// Loads the stored login.
    async fn take_up(&self) -> Result<(), OauthError> {
        let mut held = self.held.lock().await;
        let known = self.known(&mut held).await?;
        if let Some(why) = &known.grant.ended {
            return Err(OauthError::unusable(why.clone()));
        }
        if self.current.load().is_none() {
            self.use_now(known, None);
        }
        Ok(())
    }

    /// Returns whether a token is usable: not expired and not the rejected one.
    fn lasts(&self, current: &Current, spent: Option<&Spent>) -> bool {
        let now = self.deps.clock.now();
        current.expires.is_none_or(|at| now < at)
            && !spent.is_some_and(|spent| spent.is(&current.token))
    }

    fn is_fresh(&self, current: &Current) -> bool {
        let now = self.deps.clock.now();
        current.renew.is_none_or(|at| now < at)
    }

    /// Returns whether a login can be renewed.
    pub(super) fn renewable(&self, held: &StoredLogin) -> bool {
        match self.flow {
            Flow::Machine { .. } => true,
            Flow::Person => can_renew(held).is_ok(),
        }
    }

    fn renew_ahead(self: &Arc<Self>) {
        let now = self.deps.clock.monotonic();
        if self.renewals.state().not_before <= now {
            // The task keeps running without its handle.
            drop(self.flight(None));
        }
    }

    /// Returns the renewal in progress, starting one if needed; `None` if another has just
    /// succeeded.
    fn flight(self: &Arc<Self>, spent: Option<Spent>) -> Option<Flight> {
        // The lock covers check and start, so two callers cannot start two renewals with one
        // refresh token.
        let mut state = self.renewals.state();
        let current = self.current.load_full();
        let good =
            |current: Arc<Current>| self.lasts(&current, spent.as_ref()) && self.is_fresh(&current);
        if current.is_some_and(good) {
            return None;
        }
        // Shared: a server that rotates refresh tokens revokes the login if one is used twice.
        if let Some(flight) = &state.flight {
            return Some(flight.clone());
        }
        let this = self.clone();
        let forced = matches!(spent, Some(Spent::Refused(_)));
        let job = self.deps.tasks.spawn(async move {
            // Clears the flight even if the task panics; the next caller would wait forever otherwise.
            let landing = Landing(this);
            landing.0.renew(forced).await
        });
        let stopping = |_| OauthError::Unreachable("the gateway is stopping".to_owned());
        let flight = job.map(move |done| done.map_err(stopping)?);
        let flight = flight.boxed().shared();
        state.flight = Some(flight.clone());
        Some(flight)
    }

    async fn renew(&self, forced: bool) -> Result<(), OauthError> {
        // The lock on `held` is released while the request is on its way; the login may be replaced
        // meanwhile, which is checked below.
        let sent = self.prepare().await?;
        let answer = self.ask(&sent).await;
        let mut held = self.held.lock().await;
        let Some(now) = held.as_ref().filter(|now| same(now, &sent)) else {
            return Ok(()); // a login or logout happened meanwhile and wins
        };
        let mut next = now.clone();
        match answer {
            Ok(tokens) => {
                take(&mut next, tokens, self.deps.clock.now());
                // On disk before it is used. If that fails the new tokens stay in memory, and the
                // next use tries to store them again.
                let kept = self.keep(&next).await;
                if kept.is_ok() {
                    self.use_now(&next, forced.then(|| self.deps.clock.monotonic()));
                }
                *held = Some(next);
                kept
            }
            Err(error) if error.passes() => {
                // A pause, or every call during an outage would send a renewal of its own.
                self.renewals.state().not_before = self.deps.clock.monotonic() + PAUSE;
                let lost = matches!(error, OauthError::Unanswered(_)) && !next.grant.keeps_refresh;
                if lost && matches!(self.flow, Flow::Person) {
                    return Err(self.lost(&mut held, next).await);
                }
                // Still valid: the server answered, or does not replace refresh tokens.
                next.grant.sent = None;
                let noted = self.keep_grant(&next.grant).await;
                *held = Some(next);
                noted.and(Err(error))
            }
            Err(error) => Err(self.end(&mut held, next, error).await),
        }
    }

    /// Returns the login to renew, after recording on disk that its refresh token is being sent.
    async fn prepare(&self) -> Result<StoredLogin, OauthError> {
        let mut held = self.held.lock().await;
        let mut next = self.known(&mut held).await?.clone();
        if let Some(why) = &next.grant.ended {
            return Err(OauthError::unusable(why.clone()));
        }
        if matches!(self.flow, Flow::Machine { .. }) {
            return Ok(next);
        }
        if let Err(error) = can_renew(&next) {
            return Err(self.end(&mut held, next, error).await);
        }
        // Recorded first: after a crash nobody could tell whether the token was used up.
        next.grant.sent = next.refresh.as_ref().map(token::fingerprint);
        self.keep_grant(&next.grant).await?;
        *held = Some(next.clone());
        Ok(next)
    }

    /// Requests new tokens.
    async fn ask(&self, old: &StoredLogin) -> Result<token::Tokens, OauthError> {
        let home = Url::parse(&old.grant.resource)
            .map_err(|_| OauthError::unusable("the stored login is damaged"))?;
        let way = self.deps.way(&home)?;
        let endpoint = way.place("the token endpoint", &old.grant.token_endpoint)?;
        let scope = old.grant.scope.join(" ");
        let form = match (&self.flow, &old.refresh) {
            (Flow::Machine { .. }, _) if scope.is_empty() => {
                vec![("grant_type", "client_credentials")]
            }
            (Flow::Machine { .. }, _) => {
                vec![("grant_type", "client_credentials"), ("scope", &scope)]
            }
            (Flow::Person, Some(refresh)) => vec![
                ("grant_type", "refresh_token"),
                ("refresh_token", refresh.expose()),
            ],
            (Flow::Person, None) => return Err(OauthError::unusable(NO_REFRESH)),
        };
        let (client, resource) = (old.client(), &old.grant.resource);
        token::ask(&way, &endpoint, &client, resource, &form).await
    }

    /// Handles a lost response: the refresh token is not used again, and the login ends when its
    /// access token expires.
    async fn lost(&self, held: &mut Option<StoredLogin>, next: StoredLogin) -> OauthError {
        let current = self.current.load_full();
        if !current.is_some_and(|current| self.lasts(&current, None)) {
            return self.end(held, next, OauthError::unusable(UNKNOWN)).await;
        }
        self.use_now(&next, None);
        OauthError::unusable(UNKNOWN)
    }

    /// Ends a login that cannot be renewed; client credentials start over. Returns the reason.
    async fn end(
        &self,
        held: &mut Option<StoredLogin>,
        mut over: StoredLogin,
        error: OauthError,
    ) -> OauthError {
        self.current.store(None); // from now on nobody presents it
        if matches!(self.flow, Flow::Machine { .. }) {
            *held = None;
            return error;
        }
        // Kept on disk, so that a restart does not try what was refused.
        over.grant.ended = Some(error.to_string());
        if let Err(unkept) = self.keep(&over).await {
            return unkept;
        }
        // The server has forgotten our registration; the next login makes a new one.
        if matches!(&error, OauthError::Refused { code, .. } if code == "invalid_client") {
            self.deps.forget_client(&over.grant.issuer).await;
        }
        *held = Some(over);
        error
    }
}

const NO_REFRESH: &str = "the access token has expired, and there is no refresh token";
const UNKNOWN: &str = "the authorization server did not answer the last renewal, and the refresh token is not sent twice: a server that rotates refresh tokens would revoke the login";

/// Returns why a login cannot be renewed, if it cannot.
fn can_renew(held: &StoredLogin) -> Result<(), OauthError> {
    let refresh = held.refresh.as_ref().filter(|_| held.grant.renewable);
    let refresh = refresh.ok_or_else(|| OauthError::unusable(NO_REFRESH))?;
    let sent = held.grant.sent.as_ref() == Some(&token::fingerprint(refresh));
    match sent && !held.grant.keeps_refresh {
        true => Err(OauthError::unusable(UNKNOWN)),
        false => Ok(()),
    }
}

/// Returns whether both are the same login with the same tokens.
fn same(one: &StoredLogin, other: &StoredLogin) -> bool {
    one.access == other.access && one.refresh == other.refresh
}

/// Replaces the tokens of a login.
fn take(held: &mut StoredLogin, tokens: token::Tokens, now: manyhands_core::Timestamp) {
    let grant = &mut held.grant;
    grant.sent = None;
    grant.keeps_refresh = match &tokens.refresh {
        Some(new) => held.refresh.as_ref() == Some(new),
        // No new refresh token means that the old one stays valid (RFC 6749, section 6).
        None => true,
    };
    grant.obtained = now;
    grant.expires = tokens.lifetime.map(|lifetime| now.plus(lifetime));
    if let Some(scope) = tokens.scope {
        grant.scope = scope;
    }
    held.access = tokens.access;
    if tokens.refresh.is_some() {
        held.refresh = tokens.refresh;
    }
}
