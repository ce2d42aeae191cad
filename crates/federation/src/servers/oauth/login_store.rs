//! The tokens of one account, in memory and on disk. `renewal` replaces them before they expire.

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
use super::token::{self, Client, ClientAuthMethod, Grant, Tokens};
use super::{OauthDeps, metadata};
use crate::servers::ConnectionDraft;
use crate::servers::launch::Keys;

/// Credential names in the vault.
const ACCESS: &str = "access_token";
const REFRESH: &str = "refresh_token";
const SECRET: &str = "client_secret";
const GRANT: &str = "grant";

/// How tokens are obtained.
pub(super) enum Flow {
    /// A person logged in; the tokens are stored.
    Person,
    /// Client credentials, requested when needed and never stored.
    Machine { id: String, secret: Secret },
}

/// A token that must not be used again.
pub(super) enum Spent {
    /// The server rejected it.
    Refused(Secret),
    /// It lacks a scope.
    Narrow(Secret),
}

impl Spent {
    pub(super) fn is(&self, token: &Secret) -> bool {
        let (Self::Refused(spent) | Self::Narrow(spent)) = self;
        spent == token
    }
}

/// The token in use.
pub(super) struct Current {
    pub(super) token: Secret,
    pub(super) resource: String,
    /// When to renew it, if it can be renewed.
    pub(super) renew: Option<Timestamp>,
    pub(super) expires: Option<Timestamp>,
    /// When it was obtained, if it replaced a rejected token.
    pub(super) forced: Option<Duration>,
}

/// A login with its tokens.
#[derive(Clone)]
pub(super) struct StoredLogin {
    pub(super) grant: Grant,
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) secret: Option<Secret>,
}

impl StoredLogin {
    /// A login from the first token response.
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
pub(super) struct LoginStore {
    pub(super) id: ConnectionId,
    pub(super) flow: Flow,
    pub(super) deps: Arc<OauthDeps>,
    pub(super) current: ArcSwapOption<Current>,
    /// The login as stored. Not locked during a renewal request: callers with a token that is still
    /// valid must not wait for an authorization server.
    pub(super) held: Mutex<Option<StoredLogin>>,
    pub(super) renewals: Renewals,
}

impl LoginStore {
    pub(super) fn person(id: ConnectionId, deps: Arc<OauthDeps>) -> Arc<Self> {
        Self::new(id, Flow::Person, deps)
    }

    pub(super) fn machine(
        id: ConnectionId,
        keys: &Keys,
        deps: Arc<OauthDeps>,
    ) -> Option<Arc<Self>> {
        let flow = Flow::Machine {
            id: keys.get("client_id")?.expose().to_owned(),
            secret: keys.get("client_secret")?.clone(),
        };
        Some(Self::new(id, flow, deps))
    }

    fn new(id: ConnectionId, flow: Flow, deps: Arc<OauthDeps>) -> Arc<Self> {
        Arc::new(Self {
            id,
            flow,
            deps,
            current: ArcSwapOption::empty(),
            held: Mutex::default(),
            renewals: Renewals::default(),
        })
    }

    /// Replaces the login; it is on disk when this returns.
    pub(super) async fn replace(&self, fresh: StoredLogin) -> Result<(), OauthError> {
        let mut held = self.held.lock().await;
        self.keep(&fresh).await?;
        self.use_now(&fresh, None);
        *held = Some(fresh);
        Ok(())
    }

    /// Returns the stored login.
    pub(super) async fn login(&self) -> Result<StoredLogin, OauthError> {
        let mut held = self.held.lock().await;
        Ok(self.known(&mut held).await?.clone())
    }

    /// Loads the login on first use.
    pub(super) async fn known<'a>(
        &self,
        held: &'a mut Option<StoredLogin>,
    ) -> Result<&'a StoredLogin, OauthError> {
        if held.is_none() {
            let keys = self.deps.accounts.keys(self.id).await;
            let keys = keys.map_err(|e| OauthError::Unreachable(e.text()))?;
            *held = read(&keys);
        }
        held.as_ref()
            .ok_or_else(|| OauthError::unusable("not logged in"))
    }

    pub(super) fn use_now(&self, held: &StoredLogin, forced: Option<Duration>) {
        self.current.store(Some(Arc::new(Current {
            token: held.access.clone(),
            resource: held.grant.resource.clone(),
            renew: held.grant.renew_at().filter(|_| self.renewable(held)),
            expires: held.grant.expires,
            forced,
        })));
    }

    /// Persists a login. The refresh token is written first: everything else can be obtained again
    /// with it.
    pub(super) async fn keep(&self, held: &StoredLogin) -> Result<(), OauthError> {
        if matches!(self.flow, Flow::Machine { .. }) {
            self.deps.learn_passing(self.id, &held.access).await;
            return Ok(());
        }
        let first = held.refresh.iter().map(|secret| (REFRESH, secret.clone()));
        let then = [(ACCESS, held.access.clone()), (GRANT, written(&held.grant))];
        let own = held.secret.iter().map(|secret| (SECRET, secret.clone()));
        self.put(first.collect()).await?;
        self.put(then.into_iter().chain(own).collect()).await?;
        self.deps.learn().await;
        Ok(())
    }

    /// Persists the grant record without the tokens.
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
        let draft = ConnectionDraft {
            credentials: credentials.collect::<BTreeMap<_, _>>(),
            ..ConnectionDraft::default()
        };
        let kept = self.deps.accounts.change(&self.id.to_string(), draft).await;
        kept.map(drop)
            .map_err(|e| OauthError::Unreachable(e.text()))
    }

    /// Requests a first token with the client credentials, after the server asked for one.
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
            return Ok(()); // another caller was faster
        }
        let way = self.deps.way(server)?;
        let resource = metadata::resource(&way, server, challenge).await?;
        let issuer = metadata::first_issuer(&way, &resource).await?;
        if !issuer.grants("client_credentials") {
            return Err(OauthError::unusable(format!(
                "the authorization server {} does not support the client credentials grant",
                issuer.issuer
            )));
        }
        let endpoint = issuer.endpoint(&way, "token_endpoint", issuer.token_endpoint.as_ref())?;
        let client = Client {
            id: id.clone(),
            secret: Some(secret.clone()),
            shows: ClientAuthMethod::fitting(&issuer, true)?,
        };
        let scope = challenge.scope.join(" ");
        let mut form = vec![("grant_type", "client_credentials")];
        if !scope.is_empty() {
            form.push(("scope", &scope));
        }
        let tokens = token::ask(&way, &endpoint, &client, &resource.id, &form).await?;
        let now = self.deps.clock.now();
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
        let fresh = StoredLogin::new(grant, &client, &tokens);
        self.keep(&fresh).await?;
        self.use_now(&fresh, None);
        *held = Some(fresh);
        Ok(())
    }

    /// Records that the server requires more scopes. Returns whether they are new.
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

    /// Drops the scopes requested beyond the server's own list.
    pub(super) async fn narrow(&self) -> Result<(), OauthError> {
        let mut held = self.held.lock().await;
        let mut plain = self.known(&mut held).await?.clone();
        plain.grant.wanted.clear();
        self.keep_grant(&plain.grant).await?;
        *held = Some(plain);
        Ok(())
    }

    /// Revokes the tokens at the authorization server.
    pub(super) async fn revoke(&self) -> Result<(), OauthError> {
        let held = self.login().await?;
        let Some(endpoint) = &held.grant.revocation_endpoint else {
            return Ok(());
        };
        let home = Url::parse(&held.grant.resource)
            .map_err(|_| OauthError::unusable("the stored login is damaged"))?;
        let way = self.deps.way(&home)?;
        let endpoint = way.place("the revocation endpoint", endpoint)?;
        let last = held.refresh.as_ref().unwrap_or(&held.access);
        token::revoke(&way, &endpoint, &held.client(), last).await
    }
}

fn written(grant: &Grant) -> Secret {
    Secret::new(serde_json::to_string(grant).unwrap_or_default())
}

/// Reads a login from stored credentials.
fn read(keys: &Keys) -> Option<StoredLogin> {
    Some(StoredLogin {
        grant: serde_json::from_str(keys.get(GRANT)?.expose()).ok()?,
        access: keys.get(ACCESS)?.clone(),
        refresh: keys.get(REFRESH).cloned(),
        secret: keys.get(SECRET).cloned(),
    })
}
