//! OAuth logins at MCP servers.
//!
//! `challenge`, `metadata`, `token` and `login` implement the protocol; `way` is the HTTP client;
//! `client` is our own identity; `login_store` holds the tokens of one account, `renewal` renews them,
//! and `shown` presents them to a server. Everything that a server or an authorization server says
//! is untrusted: nothing is stored before a login has completed.
//!
//! Not with the crate `oauth2`: it builds authorization and token requests, and has neither discovery (RFC 8414, 9728) nor
//! client registration (RFC 7591), resource indicators or checks of the issuer, which are most of this module.

mod challenge;
pub mod client;
mod error;
pub(crate) mod http;
mod login;
mod login_store;
pub(crate) mod metadata;
mod renewal;
mod token;
mod views;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::BoxFuture;
use manyhands_config::McpServer;
use manyhands_core::{
    Clock, ConnectionId, ErrorCode, Ids, Secret, ServerName, Timestamp, TokenId, ToolError,
};
use manyhands_store::{ConnectionKind, ConnectionRecord, ConnectionStatus, Vault};
use manyhands_upstream::Credentials;
use tokio_util::task::TaskTracker;
use url::Url;

use client::Registry;
use login::{Logins, OFFLINE, WITHIN};
use login_store::{LoginStore, StoredLogin};
use token::{Grant, Proof};
use views::AccountTokens;

pub use error::OauthError;
pub use http::OauthHttp;
pub use login::{LoginState, LoginTarget, Pending, Returned};

use manyhands_host::LiveSettings;

use super::launch::Keys;
use super::{ConnectionDraft, ServiceAccounts};

/// The redirect path for authorization codes.
const CALLBACK: &str = "/oauth/callback";

/// Reloads the redactor's list of secrets.
type Learner = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Shared services of all logins.
struct OauthDeps {
    accounts: ServiceAccounts,
    vault: Vault,
    clock: Arc<dyn Clock>,
    ids: Ids,
    settings: LiveSettings,
    /// Renewals and code exchanges; they run to completion even if the caller goes away.
    tasks: TaskTracker,
    /// The listen address, once known.
    base: OnceLock<String>,
    learner: OnceLock<Learner>,
    /// Access tokens that are kept in memory only.
    passing: Mutex<BTreeMap<ConnectionId, Secret>>,
}

impl OauthDeps {
    fn way(&self, home: &Url) -> Result<Arc<OauthHttp>, OauthError> {
        OauthHttp::from(home, &self.settings.current().egress.allow_private)
    }

    async fn learn(&self) {
        if let Some(learner) = self.learner.get() {
            learner().await;
        }
    }

    async fn learn_passing(&self, id: ConnectionId, token: &Secret) {
        {
            let mut passing = self.passing.lock().expect("no panic while held");
            passing.retain(|id, _| self.accounts.get(&id.to_string()).is_ok());
            passing.insert(id, token.clone());
        }
        self.learn().await;
    }

    /// The base URL under which browsers and servers reach the gateway.
    fn base(&self) -> Option<String> {
        let public = self.settings.current().public_url.clone();
        let base = public.or_else(|| self.base.get().cloned())?;
        Some(base.trim_end_matches('/').to_owned())
    }

    fn redirect_uri(&self) -> Option<String> {
        Some(format!("{}{CALLBACK}", self.base()?))
    }

    async fn forget_client(&self, issuer: &str) {
        if let Some(redirect_uri) = self.redirect_uri() {
            client::forget(&self.vault, issuer, &redirect_uri).await;
        }
    }
}

/// Arguments of [`Oauth::open`].
pub(super) struct OauthParts {
    pub(super) accounts: ServiceAccounts,
    pub(super) vault: Vault,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Ids,
    pub(super) settings: LiveSettings,
}

/// All logins.
pub struct Oauth {
    deps: Arc<OauthDeps>,
    login_stores: Mutex<BTreeMap<ConnectionId, Arc<LoginStore>>>,
    logins: Mutex<Logins>,
}

/// A login waiting for the browser.
pub struct StartedLogin {
    /// The address to open in a browser.
    pub url: String,
    /// The id of the login.
    pub login: String,
    /// When it expires.
    pub until: Timestamp,
}

impl Oauth {
    pub(super) fn open(parts: OauthParts) -> Arc<Self> {
        let OauthParts {
            accounts,
            vault,
            clock,
            ids,
            settings,
        } = parts;
        let deps = OauthDeps {
            accounts,
            vault,
            clock,
            ids,
            settings,
            tasks: TaskTracker::new(),
            base: OnceLock::new(),
            learner: OnceLock::new(),
            passing: Mutex::default(),
        };
        Arc::new(Self {
            deps: Arc::new(deps),
            login_stores: Mutex::default(),
            logins: Mutex::default(),
        })
    }

    /// Sets the listen address. Called once, by the daemon.
    pub fn listens_at(&self, url: &str) {
        let _ = self.deps.base.set(reachable(url)); // set once, by the daemon
    }

    /// Sets the callback that makes the redactor learn new tokens.
    pub fn teaches(&self, learner: Learner) {
        let _ = self.deps.learner.set(learner); // set once, by the gateway
    }

    /// The base URL under which others reach the gateway, once it listens.
    pub fn base(&self) -> Option<String> {
        self.deps.base()
    }

    /// Returns the access tokens that are kept in memory only.
    pub fn passing_secrets(&self) -> Vec<Secret> {
        let passing = self.deps.passing.lock().expect("no panic while held");
        passing.values().cloned().collect()
    }

    /// Returns our client metadata document, if others can reach it.
    pub fn document(&self) -> Option<serde_json::Value> {
        let id = self.document_address()?;
        let mut document = client::description(&self.deps.redirect_uri()?);
        document["client_id"] = id.into();
        Some(document)
    }

    fn document_address(&self) -> Option<String> {
        let public = self.deps.settings.current().public_url.clone()?;
        let public = public.trim_end_matches('/');
        let far = public.starts_with("https://")
            && !Url::parse(public).is_ok_and(|url| http::is_here(&url));
        far.then(|| format!("{public}{}", client::DOCUMENT))
    }

    /// Returns the OAuth credentials of an account, if it uses OAuth.
    pub(super) fn credentials(
        &self,
        name: &ServerName,
        config: &McpServer,
        account: ConnectionId,
        keys: &Keys,
    ) -> Option<Arc<dyn Credentials>> {
        let url = Url::parse(config.url.as_deref()?).ok()?;
        let kind = self.deps.accounts.get(&account.to_string()).ok()?.kind;
        let login_store = match kind {
            ConnectionKind::Oauth => self.login_store(account),
            ConnectionKind::Keys if by_client(config, keys) => {
                LoginStore::machine(account, keys, self.deps.clone())?
            }
            ConnectionKind::Keys => return None,
        };
        Some(Arc::new(AccountTokens {
            login_store,
            server: name.clone(),
            url,
        }))
    }

    /// Returns the store of an account's tokens, shared by all servers that use it.
    fn login_store(&self, account: ConnectionId) -> Arc<LoginStore> {
        let mut login_stores = self.login_stores.lock().expect("no panic while held");
        if !login_stores.contains_key(&account) {
            let accounts = &self.deps.accounts;
            login_stores.retain(|id, _| accounts.get(&id.to_string()).is_ok());
        }
        login_stores
            .entry(account)
            .or_insert_with(|| LoginStore::person(account, self.deps.clone()))
            .clone()
    }

    /// Starts a login at a server for the bearer of the token `by`.
    pub async fn begin(
        &self,
        name: &ServerName,
        config: &McpServer,
        service: &str,
        by: TokenId,
        target: LoginTarget,
    ) -> Result<StartedLogin, ToolError> {
        let home = config.url.as_deref().and_then(|url| Url::parse(url).ok());
        let home = home.filter(|_| config.openapi.is_none()).ok_or_else(|| {
            let message =
                format!("{name} has no url; only MCP servers with a url support logging in");
            ToolError::new(ErrorCode::Failed, message)
        })?;
        let redirect_uri = self.deps.redirect_uri().ok_or_else(|| {
            ToolError::new(ErrorCode::Unavailable, "the gateway is still starting")
        })?;
        let failed = |error: OauthError| failure(name, &error);
        let way = self.deps.way(&home).map_err(failed)?;
        // Discovery goes from the server to its metadata to the authorization server. Each step
        // checks that the address may receive tokens, because all of it is named by the server
        // itself.
        let challenge = metadata::first_challenge(&way, &home)
            .await
            .map_err(failed)?;
        let resource = metadata::resource(&way, &home, &challenge)
            .await
            .map_err(failed)?;
        let issuer = metadata::first_issuer(&way, &resource)
            .await
            .map_err(failed)?;
        // Before registering: without PKCE a stolen code could be redeemed by anyone.
        metadata::binds_codes(&issuer).map_err(failed)?;
        let said = issuer.authorization_endpoint.as_ref();
        let endpoint = issuer
            .endpoint(&way, "authorization_endpoint", said)
            .map_err(failed)?;
        let said = issuer.token_endpoint.as_ref();
        let token_endpoint = issuer
            .endpoint(&way, "token_endpoint", said)
            .map_err(failed)?;
        let wanted = match &target {
            LoginTarget::Known(id) => self
                .login_store(*id)
                .login()
                .await
                .map(|held| held.grant.wanted)
                .unwrap_or_default(),
            LoginTarget::New(_) => Vec::new(),
        };
        let chosen = config.oauth.as_ref().map(|oauth| oauth.scopes.clone());
        let scope = scope(
            chosen.unwrap_or_default(),
            &challenge.scope,
            &resource.scopes,
            &issuer,
            &wanted,
        );
        let registry = Registry {
            vault: &self.deps.vault,
            clock: &*self.deps.clock,
            document: self.document_address(),
            redirect_uri: &redirect_uri,
            resource: &resource,
            scope: &scope,
        };
        let client = registry
            .client(&way, &issuer, config.oauth.as_ref())
            .await
            .map_err(failed)?;
        let now = self.deps.clock.now();
        let proof = Proof::new(&self.deps.ids);
        let state = token::unguessable(&self.deps.ids);
        let pending = Pending {
            id: token::unguessable(&self.deps.ids),
            server: name.clone(),
            service: service.to_owned(),
            home,
            by,
            verifier: proof.verifier.clone(),
            issuer,
            token_endpoint,
            client,
            redirect_uri,
            resource: resource.id,
            scope,
            wanted,
            target,
            until: now.plus(WITHIN),
        };
        let url = pending.address(&endpoint, &state, &proof).to_string();
        let begun = StartedLogin {
            url,
            login: pending.id.clone(),
            until: pending.until,
        };
        let mut logins = self.logins.lock().expect("no panic while held");
        logins.wait_for(state, pending, now);
        Ok(begun)
    }

    /// Takes the login that belongs to `state`. A state works once.
    pub fn take(&self, state: &str) -> Option<Pending> {
        let mut logins = self.logins.lock().expect("no panic while held");
        logins.take(state, self.deps.clock.now())
    }

    /// Completes a login: exchanges the authorization code for tokens.
    pub(super) async fn exchange(
        &self,
        login: &Pending,
        returned: &Returned,
    ) -> Result<ConnectionRecord, ToolError> {
        let failed = |error: OauthError| failure(&login.server, &error);
        let issuer = &login.issuer.issuer;
        client::returned(&self.deps.vault, issuer, &login.redirect_uri).await;
        let code = login.code(returned);
        if let (Err(OauthError::Refused { code, .. }), LoginTarget::Known(id)) =
            (&code, &login.target)
            && code == "invalid_scope"
        {
            // The extra scopes are unknown to the server, or the client was not registered for
            // them. Drop both, or every later login would fail the same way.
            self.login_store(*id).narrow().await.map_err(failed)?;
            self.deps.forget_client(issuer).await;
        }
        let code = code.map_err(failed)?;
        let way = self.deps.way(&login.home).map_err(failed)?;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", login.redirect_uri.as_str()),
            ("code_verifier", login.verifier.expose()),
        ];
        let asked = token::ask(
            &way,
            &login.token_endpoint,
            &login.client,
            &login.resource,
            &form,
        );
        let asked = asked.await;
        // The server deleted our client. Forget it, so that the next login registers a new one.
        if matches!(&asked, Err(OauthError::Refused { code, .. }) if code == "invalid_client") {
            self.deps.forget_client(&login.issuer.issuer).await;
        }
        let tokens = asked.map_err(failed)?;
        let now = self.deps.clock.now();
        let grant = Grant {
            issuer: login.issuer.issuer.clone(),
            token_endpoint: login.token_endpoint.to_string(),
            revocation_endpoint: login.issuer.revocation_endpoint.clone(),
            resource: login.resource.clone(),
            client_id: login.client.id.clone(),
            shows: login.client.shows,
            scope: tokens.scope.clone().unwrap_or(login.scope.clone()),
            wanted: login.wanted.clone(),
            obtained: now,
            expires: tokens.lifetime.map(|lifetime| now.plus(lifetime)),
            renewable: tokens.refresh.is_some(),
            sent: None,
            keeps_refresh: false,
            ended: None,
        };
        self.keep(login, StoredLogin::new(grant, &login.client, &tokens))
            .await
    }

    async fn keep(
        &self,
        login: &Pending,
        held: StoredLogin,
    ) -> Result<ConnectionRecord, ToolError> {
        let accounts = &self.deps.accounts;
        let (id, new) = match &login.target {
            LoginTarget::Known(id) => (*id, false),
            LoginTarget::New(name) => {
                let draft = ConnectionDraft {
                    name: Some(name.clone()),
                    ..ConnectionDraft::default()
                };
                let made = accounts
                    .add(&login.service, ConnectionKind::Oauth, draft)
                    .await?;
                (made.id, true)
            }
        };
        if let Err(error) = self.login_store(id).replace(held).await {
            if new {
                let _ = accounts.remove(&id.to_string()).await; // an account without a login is useless
            }
            return Err(failure(&login.server, &error));
        }
        accounts.mark(id, ConnectionStatus::Connected, "").await;
        accounts.get(&id.to_string())
    }

    /// Records how a login ended.
    pub(super) fn tell(&self, login: &Pending, ended: &Result<ConnectionRecord, ToolError>) {
        let (state, detail, connection) = match ended {
            Ok(record) => ("done", None, Some(record.id)),
            Err(error) => ("failed", Some(error.text()), None),
        };
        let mut logins = self.logins.lock().expect("no panic while held");
        logins.tell(login, state, detail, connection);
    }

    /// Returns the state of the last login at a server.
    pub fn last(&self, server: &ServerName) -> Option<LoginState> {
        let mut logins = self.logins.lock().expect("no panic while held");
        logins.last(server, self.deps.clock.now())
    }

    /// Logs an account out: revokes its tokens and deletes its record. Returns the error if
    /// revoking failed, which does not stop the rest.
    pub async fn log_out(
        &self,
        server: &ServerName,
        account: &ConnectionRecord,
    ) -> Result<Option<String>, ToolError> {
        let login_store = self.login_store(account.id);
        let told = login_store
            .revoke()
            .await
            .err()
            .map(|error| error.to_string());
        // Revocation first, while the tokens are still stored; the account is removed even if it
        // fails.
        self.deps.accounts.remove(&account.id.to_string()).await?;
        self.login_stores
            .lock()
            .expect("no panic while held")
            .remove(&account.id);
        self.logins
            .lock()
            .expect("no panic while held")
            .forget(server);
        self.deps.learn().await;
        Ok(told)
    }

    /// Waits for running renewals and exchanges.
    pub(super) async fn rest(&self) {
        self.deps.tasks.close();
        self.deps.tasks.wait().await;
    }
}

/// Returns whether an account uses the client credentials grant: it has a client id and secret, and
/// the settings do not use them in a header.
fn by_client(config: &McpServer, keys: &Keys) -> bool {
    let has = |name: &str| keys.contains_key(name);
    let used = |value: &String| value.contains("${client_");
    has("client_id") && has("client_secret") && !has("token") && !config.headers.values().any(used)
}

/// The scopes to request: those of the settings, else those of the challenge, else those of the
/// metadata, plus the ones requested since.
fn scope(
    chosen: Vec<String>,
    challenged: &[String],
    offered: &[String],
    issuer: &metadata::Issuer,
    wanted: &[String],
) -> Vec<String> {
    let own = !chosen.is_empty();
    let mut scope = match (own, challenged.is_empty()) {
        (true, _) => chosen,
        (false, false) => challenged.to_vec(),
        (false, true) => offered.to_vec(),
    };
    let offline = OFFLINE.to_owned();
    let lasting = (!own && issuer.scopes_supported.contains(&offline)).then_some(offline);
    for more in wanted.iter().cloned().chain(lasting) {
        if !scope.contains(&more) {
            scope.push(more);
        }
    }
    scope
}

/// Replaces an unspecified listen address by loopback, which a browser on this machine can open.
fn reachable(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url) else {
        return url.to_owned();
    };
    let host = match parsed.host() {
        Some(url::Host::Ipv4(v4)) => IpAddr::V4(v4),
        Some(url::Host::Ipv6(v6)) => IpAddr::V6(v6),
        _ => return url.to_owned(),
    };
    if host.is_unspecified() {
        let here = if host.is_ipv4() { "127.0.0.1" } else { "[::1]" };
        let _ = parsed.set_host(Some(here));
    }
    parsed.to_string().trim_end_matches('/').to_owned()
}

fn failure(server: &ServerName, error: &OauthError) -> ToolError {
    let code = match error {
        OauthError::Unreachable(_) | OauthError::Unanswered(_) => ErrorCode::Unavailable,
        _ => ErrorCode::Failed,
    };
    ToolError::new(code, format!("cannot log in at {server}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_not_sent_to_an_address_that_is_none() {
        for (listens, reached) in [
            ("http://0.0.0.0:7717", "http://127.0.0.1:7717"),
            ("https://[::]:7717", "https://[::1]:7717"),
            ("http://127.0.0.1:7717", "http://127.0.0.1:7717"),
            ("http://10.0.0.7:7717", "http://10.0.0.7:7717"),
        ] {
            assert_eq!(reachable(listens), reached);
        }
    }

    #[test]
    fn what_is_asked_for_is_the_owners_word_then_the_servers() {
        let list = |words: &str| challenge::scopes(words);
        let issuer = metadata::Issuer {
            scopes_supported: list("a b offline_access"),
            ..metadata::Issuer::default()
        };
        let check = |chosen: &str, challenged: &str, offered: &str, wanted: &str, expect: &str| {
            let asked = scope(
                list(chosen),
                &list(challenged),
                &list(offered),
                &issuer,
                &list(wanted),
            );
            assert_eq!(asked, list(expect));
        };
        check("x", "a", "b", "", "x");
        check("x", "a", "b", "y", "x y");
        check("", "a", "b", "", "a offline_access");
        check("", "", "b", "a", "b a offline_access");
    }
}
