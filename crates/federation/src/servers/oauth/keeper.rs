//! The tokens of one account, in memory and on disk. `renewal` replaces them ahead of their end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use manyhands_core::{ConnectionId, Secret, Timestamp};
use tokio::sync::Mutex;
use url::Url;

use super::challenge::{Challenge, MAX_SCOPES};
use super::error::OauthError;
use super::renewal::Renewals;
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
    pub(super) fn is(&self, token: &Secret) -> bool {
        let (Self::Refused(spent) | Self::Narrow(spent)) = self;
        spent == token
    }
}

/// A token as it is used now.
pub(super) struct Current {
    pub(super) token: Secret,
    pub(super) resource: String,
    /// When to renew it, where it can be.
    pub(super) renew: Option<Timestamp>,
    pub(super) expires: Option<Timestamp>,
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

    pub(super) fn client(&self) -> Client {
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
    /// The login as it is on disk. Not locked while a renewal is on its way: whoever shows a token
    /// that still holds must not wait for an authorization server.
    pub(super) held: Mutex<Option<Held>>,
    pub(super) renewals: Renewals,
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
            renewals: Renewals::default(),
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

    /// Reads what is kept, once.
    pub(super) async fn known<'a>(
        &self,
        held: &'a mut Option<Held>,
    ) -> Result<&'a Held, OauthError> {
        if held.is_none() {
            let keys = self.ground.desk.keys(self.id).await;
            let keys = keys.map_err(|e| OauthError::Unreachable(e.text()))?;
            *held = read(&keys);
        }
        held.as_ref()
            .ok_or_else(|| OauthError::unusable("there is no login"))
    }

    pub(super) fn use_now(&self, held: &Held, forced: Option<Duration>) {
        self.current.store(Some(Arc::new(Current {
            token: held.access.clone(),
            resource: held.grant.resource.clone(),
            renew: held.grant.renew_at().filter(|_| self.renewable(held)),
            expires: held.grant.expires,
            forced,
        })));
    }

    /// Puts a login on disk. The refresh token goes first: with it alone all else can be had again.
    pub(super) async fn keep(&self, held: &Held) -> Result<(), OauthError> {
        if matches!(self.flow, Flow::Machine { .. }) {
            self.ground.learn_passing(self.id, &held.access).await;
            return Ok(());
        }
        let first = held.refresh.iter().map(|secret| (REFRESH, secret.clone()));
        let then = [(ACCESS, held.access.clone()), (GRANT, written(&held.grant))];
        let own = held.secret.iter().map(|secret| (SECRET, secret.clone()));
        self.put(first.collect()).await?;
        self.put(then.into_iter().chain(own).collect()).await?;
        self.ground.learn().await;
        Ok(())
    }

    /// Puts what is known beside the tokens on disk.
    pub(super) async fn keep_grant(&self, grant: &Grant) -> Result<(), OauthError> {
        match self.flow {
            Flow::Person => self.put(vec![(GRANT, written(grant))]).await,
            Flow::Machine { .. } => Ok(()),
        }
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
            sent: None,
            keeps_refresh: false,
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

    /// Forgets what the server wanted more.
    pub(super) async fn narrow(&self) -> Result<(), OauthError> {
        let mut held = self.held.lock().await;
        let mut plain = self.known(&mut held).await?.clone();
        plain.grant.wanted.clear();
        self.keep_grant(&plain.grant).await?;
        *held = Some(plain);
        Ok(())
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

fn written(grant: &Grant) -> Secret {
    Secret::new(serde_json::to_string(grant).unwrap_or_default())
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
