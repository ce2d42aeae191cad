//! Renewing the tokens of one account ahead of their end.
//!
//! One renewal at a time, whoever asks. While it is on its way a token that still holds is shown as
//! before; only who has none waits. A renewal runs to its end whoever stops waiting.
//!
//! Servers that rotate refresh tokens take the second use of one for a theft and revoke the login. So
//! that a token is about to be sent is on disk before it is sent, and one that was sent without an
//! answer, by this process or one that crashed, is not sent again, unless the server was seen to
//! leave refresh tokens as they are.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use url::Url;

use super::error::OauthError;
use super::keeper::{Current, Flow, Held, Keeper, Spent};
use super::token;

/// How long a renewal ahead of time is not tried again after it failed.
const PAUSE: Duration = Duration::from_secs(5);

type Flight = Shared<BoxFuture<'static, Result<(), OauthError>>>;

/// The renewals of one account.
#[derive(Default)]
pub(super) struct Renewals(Mutex<State>);

#[derive(Default)]
struct State {
    /// The one under way.
    flight: Option<Flight>,
    /// None is begun ahead of time before this, by the monotonic clock.
    not_before: Duration,
}

impl Renewals {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic while held")
    }
}

/// Ends a flight, also one that panics.
struct Landing(Arc<Keeper>);

impl Drop for Landing {
    fn drop(&mut self) {
        self.0.renewals.state().flight = None;
    }
}

impl Keeper {
    /// The token to show now. One that is old or was spent is renewed first; one that is only due
    /// for renewal is shown while that goes on.
    pub(super) async fn token(
        self: &Arc<Self>,
        spent: Option<Spent>,
    ) -> Result<Option<Arc<Current>>, OauthError> {
        if self.current.load().is_none() {
            if matches!(self.flow, Flow::Machine { .. }) {
                return Ok(None); // whether one is wanted is not known yet
            }
            self.take_up().await?;
        }
        let lasting = self.current.load_full();
        let lasting = lasting.filter(|current| self.lasts(current, spent.as_ref()));
        if let Some(current) = lasting {
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

    /// Uses the login that is on disk.
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

    /// Whether a token can be shown: it has not expired and is not the one that was spent.
    fn lasts(&self, current: &Current, spent: Option<&Spent>) -> bool {
        let now = self.ground.clock.now();
        current.expires.is_none_or(|at| now < at)
            && !spent.is_some_and(|spent| spent.is(&current.token))
    }

    fn is_fresh(&self, current: &Current) -> bool {
        let now = self.ground.clock.now();
        current.renew.is_none_or(|at| now < at)
    }

    /// Whether there is something to renew a login with.
    pub(super) fn renewable(&self, held: &Held) -> bool {
        match self.flow {
            Flow::Machine { .. } => true,
            Flow::Person => can_renew(held).is_ok(),
        }
    }

    fn renew_ahead(self: &Arc<Self>) {
        let now = self.ground.clock.monotonic();
        if self.renewals.state().not_before <= now {
            drop(self.flight(None)); // it goes on by itself
        }
    }

    /// The renewal that is under way, begun if there is none; nothing if another has just ended well.
    fn flight(self: &Arc<Self>, spent: Option<Spent>) -> Option<Flight> {
        let mut state = self.renewals.state();
        let current = self.current.load_full();
        let good =
            |current: Arc<Current>| self.lasts(&current, spent.as_ref()) && self.is_fresh(&current);
        if current.is_some_and(good) {
            return None;
        }
        if let Some(flight) = &state.flight {
            return Some(flight.clone());
        }
        let this = self.clone();
        let forced = matches!(spent, Some(Spent::Refused(_)));
        let job = self.ground.tasks.spawn(async move {
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
        let sent = self.prepare().await?;
        let answer = self.ask(&sent).await;
        let mut held = self.held.lock().await;
        let Some(now) = held.as_ref().filter(|now| same(now, &sent)) else {
            return Ok(()); // somebody logged in or out meanwhile, and that stands
        };
        let mut next = now.clone();
        match answer {
            Ok(tokens) => {
                take(&mut next, tokens, self.ground.clock.now());
                // On disk before it is used. What cannot be kept is not lost while this process
                // runs, and renewed with the next use.
                let kept = self.keep(&next).await;
                if kept.is_ok() {
                    self.use_now(&next, forced.then(|| self.ground.clock.monotonic()));
                }
                *held = Some(next);
                kept
            }
            Err(error) if error.passes() => {
                self.renewals.state().not_before = self.ground.clock.monotonic() + PAUSE;
                let lost = matches!(error, OauthError::Unanswered(_)) && !next.grant.keeps_refresh;
                if lost && matches!(self.flow, Flow::Person) {
                    return Err(self.lost(&mut held, next).await);
                }
                next.grant.sent = None;
                let noted = self.keep_grant(&next.grant).await;
                *held = Some(next);
                noted.and(Err(error))
            }
            Err(error) => Err(self.end(&mut held, next, error).await),
        }
    }

    /// What to send, once it is on disk that it is sent.
    async fn prepare(&self) -> Result<Held, OauthError> {
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
        next.grant.sent = next.refresh.as_ref().map(token::fingerprint);
        self.keep_grant(&next.grant).await?;
        *held = Some(next.clone());
        Ok(next)
    }

    /// Asks for tokens in place of the old ones.
    async fn ask(&self, old: &Held) -> Result<token::Tokens, OauthError> {
        let home = Url::parse(&old.grant.resource)
            .map_err(|_| OauthError::unusable("the stored login is damaged"))?;
        let way = self.ground.way(&home)?;
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

    /// No answer came: the refresh token is not used again. The login ends with its access token.
    async fn lost(&self, held: &mut Option<Held>, next: Held) -> OauthError {
        let current = self.current.load_full();
        if !current.is_some_and(|current| self.lasts(&current, None)) {
            return self.end(held, next, OauthError::unusable(UNKNOWN)).await;
        }
        self.use_now(&next, None);
        OauthError::unusable(UNKNOWN)
    }

    /// Ends a login that cannot be renewed; a client with a secret begins again. Gives why.
    async fn end(&self, held: &mut Option<Held>, mut over: Held, error: OauthError) -> OauthError {
        self.current.store(None); // nobody shows it any more
        if matches!(self.flow, Flow::Machine { .. }) {
            *held = None;
            return error;
        }
        over.grant.ended = Some(error.to_string());
        if let Err(unkept) = self.keep(&over).await {
            return unkept;
        }
        if matches!(&error, OauthError::Refused { code, .. } if code == "invalid_client") {
            self.ground.forget_client(&over.grant.issuer).await;
        }
        *held = Some(over);
        error
    }
}

const NO_REFRESH: &str = "the access token has expired, and there is no refresh token";
const UNKNOWN: &str = "the authorization server did not answer the last renewal, and the refresh token is not sent twice: a server that rotates refresh tokens would revoke the login";

/// Why a login of a person cannot be renewed, if it cannot.
fn can_renew(held: &Held) -> Result<(), OauthError> {
    let refresh = held.refresh.as_ref().filter(|_| held.grant.renewable);
    let refresh = refresh.ok_or_else(|| OauthError::unusable(NO_REFRESH))?;
    let sent = held.grant.sent.as_ref() == Some(&token::fingerprint(refresh));
    match sent && !held.grant.keeps_refresh {
        true => Err(OauthError::unusable(UNKNOWN)),
        false => Ok(()),
    }
}

/// Whether two are the same login with the same tokens.
fn same(one: &Held, other: &Held) -> bool {
    one.access == other.access && one.refresh == other.refresh
}

/// Puts new tokens in place of the old ones.
fn take(held: &mut Held, tokens: token::Tokens, now: manyhands_core::Timestamp) {
    let grant = &mut held.grant;
    grant.sent = None;
    grant.keeps_refresh = match &tokens.refresh {
        Some(new) => held.refresh.as_ref() == Some(new),
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
