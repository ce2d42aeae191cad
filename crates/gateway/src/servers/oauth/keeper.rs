//! The tokens of one account: kept, and renewed ahead of their end.
//!
//! Whoever finds the token old starts its renewal or waits for the one that is under way. A renewal
//! runs to its end whoever stops waiting: the old refresh token is used up by then, and the new one
//! must be on disk before anything else happens.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use manyhands_core::{ConnectionId, Secret, Timestamp};
use tokio::sync::Mutex;
use url::Url;

use super::challenge::{Challenge, MAX_SCOPES};
use super::error::OauthError;
use super::token::{self, Client, Grant, Shows, Tokens};
use super::{Ground, metadata};
use crate::servers::Draft;
use crate::servers::launch::Keys;

/// Where its parts are kept.
const ACCESS: &str = "access_token";
const REFRESH: &str = "refresh_token";
const SECRET: &str = "client_secret";
const GRANT: &str = "grant";

/// How tokens are come by.
pub(super) enum Flow {
    /// By a person's login, which is kept.
    Person,
    /// By a name and a secret, whenever it is needed.
    Machine { id: String, secret: Secret },
}

/// A token that is of no more use.
pub(super) enum Spent {
    /// The server does not know it.
    Refused(Secret),
    /// It is not good for enough.
    Narrow(Secret),
}

impl Spent {
    fn is(&self, token: &Secret) -> bool {
        let (Self::Refused(spent) | Self::Narrow(spent)) = self;
        spent == token
    }
}

/// A token as it is used now.
pub(super) struct Current {
    pub(super) token: Secret,
    pub(super) resource: String,
    renew: Option<Timestamp>,
    expires: Option<Timestamp>,
    /// When it was made, if that was because another was refused.
    pub(super) forced: Option<Duration>,
}

/// Everything that is known of a login.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) grant: Grant,
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) secret: Option<Secret>,
}

impl Held {
    /// What a token endpoint gave for the first time.
    pub(super) fn new(grant: Grant, client: &Client, tokens: &Tokens) -> Self {
        Self {
            grant,
            access: tokens.access.clone(),
            refresh: tokens.refresh.clone(),
            secret: client.secret.clone(),
        }
    }

    fn client(&self) -> Client {
        Client {
            id: self.grant.client_id.clone(),
            secret: self.secret.clone(),
            shows: self.grant.shows,
        }
    }
}

/// The tokens of one account.
pub(super) struct Keeper {
    pub(super) id: ConnectionId,
    pub(super) flow: Flow,
    pub(super) ground: Arc<Ground>,
    pub(super) current: ArcSwapOption<Current>,
    /// One renewal at a time.
    held: Mutex<Option<Held>>,
}

impl Keeper {
    pub(super) fn person(id: ConnectionId, ground: Arc<Ground>) -> Arc<Self> {
        Self::new(id, Flow::Person, ground)
    }

    pub(super) fn machine(id: ConnectionId, keys: &Keys, ground: Arc<Ground>) -> Option<Arc<Self>> {
        let flow = Flow::Machine {
            id: keys.get("client_id")?.expose().to_owned(),
            secret: keys.get("client_secret")?.clone(),
        };
        Some(Self::new(id, flow, ground))
    }

    fn new(id: ConnectionId, flow: Flow, ground: Arc<Ground>) -> Arc<Self> {
        Arc::new(Self {
            id,
            flow,
            ground,
            current: ArcSwapOption::empty(),
            held: Mutex::default(),
        })
    }

    /// Takes a new login in place of what was there; kept when this returns.
    pub(super) async fn replace(&self, fresh: Held) -> Result<(), OauthError> {
        let mut held = self.held.lock().await;
        self.keep(&fresh).await?;
        self.use_now(&fresh, None);
        *held = Some(fresh);
        Ok(())
    }

    /// What is known of the login.
    pub(super) async fn login(&self) -> Result<Held, OauthError> {
        let mut held = self.held.lock().await;
        Ok(self.known(&mut held).await?.clone())
    }

    /// The token to show now, renewed if it is old or is the one that was spent.
    pub(super) async fn token(
        self: &Arc<Self>,
        spent: Option<Spent>,
    ) -> Result<Option<Arc<Current>>, OauthError> {
        let good = |current: &Current| self.is_good(current, spent.as_ref());
        if let Some(current) = self.current.load_full().filter(|current| good(current)) {
            return Ok(Some(current));
        }
        if matches!(self.flow, Flow::Machine { .. }) && self.current.load().is_none() {
            return Ok(None); // whether one is wanted is not known yet
        }
        let this = self.clone();
        let renewal = self
            .ground
            .tasks
            .spawn(async move { this.renew(spent).await });
        let renewed = renewal.await;
        renewed.map_err(|_| OauthError::Unreachable("the gateway is stopping".to_owned()))??;
        Ok(self.current.load_full())
    }

    fn is_good(&self, current: &Current, spent: Option<&Spent>) -> bool {
        let fresh = current.renew.is_none_or(|at| self.ground.clock.now() < at);
        fresh && !spent.is_some_and(|spent| spent.is(&current.token))
    }

    async fn renew(&self, spent: Option<Spent>) -> Result<(), OauthError> {
        let mut held = self.held.lock().await;
        let unread = self.current.load().is_none();
        let old = self.known(&mut held).await?.clone();
        if let Some(why) = &old.grant.ended {
            return Err(OauthError::unusable(why.clone()));
        }
        if unread {
            self.use_now(&old, None);
        }
        let current = self.current.load_full();
        if current
            .as_ref()
            .is_some_and(|current| self.is_good(current, spent.as_ref()))
        {
            return Ok(()); // somebody was faster
        }
        match self.renewed(&old).await {
            Ok(fresh) => {
                // Kept before it is used: the old refresh token may be worth nothing now. What cannot be
                // kept is not lost while this process runs, and renewed with the next use.
                let kept = self.keep(&fresh).await;
                if kept.is_ok() {
                    let forced = matches!(spent, Some(Spent::Refused(_)));
                    self.use_now(&fresh, forced.then(|| self.ground.clock.monotonic()));
                }
                *held = Some(fresh);
                kept
            }
            Err(error) if error.passes() => {
                let now = self.ground.clock.now();
                let lasts = |current: Arc<Current>| {
                    current.expires.is_none_or(|at| now < at)
                        && !spent.as_ref().is_some_and(|spent| spent.is(&current.token))
                };
                match current.is_some_and(lasts) {
                    true => Ok(()), // it still holds for a while
                    false => Err(error),
                }
            }
            Err(error) => {
                self.current.store(None); // nobody shows it any more
                if matches!(self.flow, Flow::Machine { .. }) {
                    *held = None; // it begins anew
                    return Err(error);
                }
                let mut over = old;
                over.grant.ended = Some(error.to_string());
                self.keep(&over).await?;
                if matches!(&error, OauthError::Refused { code, .. } if code == "invalid_client") {
                    self.ground.forget_client(&over.grant.issuer).await;
                }
                *held = Some(over);
                Err(error)
            }
        }
    }

    /// Asks for tokens in place of the old ones.
    async fn renewed(&self, old: &Held) -> Result<Held, OauthError> {
        let home = Url::parse(&old.grant.resource)
            .map_err(|_| OauthError::unusable("what is kept of the login cannot be read"))?;
        let way = self.ground.way(&home)?;
        let endpoint = way.place("the token endpoint", &old.grant.token_endpoint)?;
        let scope = old.grant.scope.join(" ");
        let mut form = match (&self.flow, &old.refresh) {
            (Flow::Machine { .. }, _) => vec![("grant_type", "client_credentials")],
            (Flow::Person, Some(refresh)) if old.grant.renewable => vec![
                ("grant_type", "refresh_token"),
                ("refresh_token", refresh.expose()),
            ],
            _ => {
                return Err(OauthError::unusable(
                    "the token is over and cannot be renewed",
                ));
            }
        };
        if matches!(self.flow, Flow::Machine { .. }) && !scope.is_empty() {
            form.push(("scope", &scope));
        }
        let (client, resource) = (old.client(), &old.grant.resource);
        let tokens = token::ask(&way, &endpoint, &client, resource, &form).await?;
        let mut fresh = old.clone();
        fresh.access = tokens.access;
        if tokens.refresh.is_some() {
            fresh.refresh = tokens.refresh;
        }
        let grant = &mut fresh.grant;
        grant.obtained = self.ground.clock.now();
        grant.expires = tokens
            .lifetime
            .map(|lifetime| grant.obtained.plus(lifetime));
        grant.scope = tokens.scope.unwrap_or(std::mem::take(&mut grant.scope));
        Ok(fresh)
    }

    /// Reads what is kept, once.
    async fn known<'a>(&self, held: &'a mut Option<Held>) -> Result<&'a Held, OauthError> {
        if held.is_none() {
            let keys = self.ground.desk.keys(self.id).await;
            let keys = keys.map_err(|e| OauthError::Unreachable(e.text()))?;
            *held = read(&keys);
        }
        held.as_ref()
            .ok_or_else(|| OauthError::unusable("there is no login"))
    }

    fn use_now(&self, held: &Held, forced: Option<Duration>) {
        self.current.store(Some(Arc::new(Current {
            token: held.access.clone(),
            resource: held.grant.resource.clone(),
            renew: held.grant.renew_at(),
            expires: held.grant.expires,
            forced,
        })));
    }

    /// Puts a login on disk. The refresh token goes first: with it alone all else can be had again.
    async fn keep(&self, held: &Held) -> Result<(), OauthError> {
        if matches!(self.flow, Flow::Machine { .. }) {
            self.ground.learn_passing(self.id, &held.access).await;
            return Ok(());
        }
        let first = held.refresh.iter().map(|secret| (REFRESH, secret.clone()));
        let grant = serde_json::to_string(&held.grant).unwrap_or_default();
        let then = [(ACCESS, held.access.clone()), (GRANT, Secret::new(grant))];
        let own = held.secret.iter().map(|secret| (SECRET, secret.clone()));
        self.put(first.collect()).await?;
        self.put(then.into_iter().chain(own).collect()).await?;
        self.ground.learn().await;
        Ok(())
    }

    async fn put(&self, parts: Vec<(&str, Secret)>) -> Result<(), OauthError> {
        if parts.is_empty() {
            return Ok(());
        }
        let credentials = parts
            .into_iter()
            .map(|(name, secret)| (name.to_owned(), secret));
        let draft = Draft {
            credentials: credentials.collect::<BTreeMap<_, _>>(),
            ..Draft::default()
        };
        let kept = self.ground.desk.change(&self.id.to_string(), draft).await;
        kept.map(drop)
            .map_err(|e| OauthError::Unreachable(e.text()))
    }

    /// Asks for a first token by name and secret, where the server says that it wants one.
    pub(super) async fn begin(
        &self,
        server: &Url,
        challenge: &Challenge,
    ) -> Result<(), OauthError> {
        let Flow::Machine { id, secret } = &self.flow else {
            return Ok(());
        };
        let mut held = self.held.lock().await;
        if held.is_some() {
            return Ok(()); // somebody was faster
        }
        let way = self.ground.way(server)?;
        let resource = metadata::resource(&way, server, challenge).await?;
        let issuer = metadata::first_issuer(&way, &resource).await?;
        if !issuer.grants("client_credentials") {
            return Err(OauthError::unusable(format!(
                "the authorization server {} gives no tokens for a client id and a secret",
                issuer.issuer
            )));
        }
        let endpoint = issuer.endpoint(&way, "token_endpoint", issuer.token_endpoint.as_ref())?;
        let client = Client {
            id: id.clone(),
            secret: Some(secret.clone()),
            shows: Shows::fitting(&issuer, true)?,
        };
        let scope = challenge.scope.join(" ");
        let mut form = vec![("grant_type", "client_credentials")];
        if !scope.is_empty() {
            form.push(("scope", &scope));
        }
        let tokens = token::ask(&way, &endpoint, &client, &resource.id, &form).await?;
        let now = self.ground.clock.now();
        let grant = Grant {
            issuer: issuer.issuer,
            token_endpoint: endpoint.to_string(),
            revocation_endpoint: None,
            resource: resource.id,
            client_id: client.id.clone(),
            shows: client.shows,
            scope: tokens.scope.clone().unwrap_or(challenge.scope.clone()),
            wanted: Vec::new(),
            obtained: now,
            expires: tokens.lifetime.map(|lifetime| now.plus(lifetime)),
            renewable: true,
            ended: None,
        };
        let fresh = Held::new(grant, &client, &tokens);
        self.keep(&fresh).await?;
        self.use_now(&fresh, None);
        *held = Some(fresh);
        Ok(())
    }

    /// Notes that the server wants the token to be good for more. Whether that was new.
    pub(super) async fn widen(&self, challenge: &Challenge) -> Result<bool, OauthError> {
        let mut held = self.held.lock().await;
        let mut wide = self.known(&mut held).await?.clone();
        let machine = matches!(self.flow, Flow::Machine { .. });
        let grant = &mut wide.grant;
        let list = if machine {
            &mut grant.scope
        } else {
            &mut grant.wanted
        };
        let before = list.len();
        for scope in &challenge.scope {
            if !list.contains(scope) && list.len() < MAX_SCOPES {
                list.push(scope.clone());
            }
        }
        if list.len() == before {
            return Ok(false);
        }
        self.keep(&wide).await?;
        *held = Some(wide);
        Ok(true)
    }

    /// Tells the authorization server that the login is no longer used.
    pub(super) async fn revoke(&self) -> Result<(), OauthError> {
        let held = self.login().await?;
        let Some(endpoint) = &held.grant.revocation_endpoint else {
            return Ok(());
        };
        let home = Url::parse(&held.grant.resource)
            .map_err(|_| OauthError::unusable("what is kept of the login cannot be read"))?;
        let way = self.ground.way(&home)?;
        let endpoint = way.place("the revocation endpoint", endpoint)?;
        let last = held.refresh.as_ref().unwrap_or(&held.access);
        token::revoke(&way, &endpoint, &held.client(), last).await
    }
}

/// What is kept of a login.
fn read(keys: &Keys) -> Option<Held> {
    Some(Held {
        grant: serde_json::from_str(keys.get(GRANT)?.expose()).ok()?,
        access: keys.get(ACCESS)?.clone(),
        refresh: keys.get(REFRESH).cloned(),
        secret: keys.get(SECRET).cloned(),
    })
}
