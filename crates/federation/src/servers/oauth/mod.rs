//! Logging in at servers that want OAuth.
//!
//! `challenge`, `metadata`, `token` and `login` are the protocol; `way` is how it leaves the house;
//! `client` says who we are; `keeper` holds the tokens of one account, `renewal` renews them and `shown` shows them. What a server or an authorization
//! server says is a stranger's word: nothing is kept before a login has gone well to its end.

mod challenge;
pub mod client;
mod error;
mod keeper;
mod login;
pub(crate) mod metadata;
mod renewal;
mod shown;
mod token;
pub(crate) mod way;

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
use keeper::{Held, Keeper};
use login::{Logins, OFFLINE, WITHIN};
use shown::Shown;
use token::{Grant, Proof};

pub use error::OauthError;
pub use login::{Pending, Returned, Target, Told};
pub use way::Way;

use manyhands_host::LiveSettings;

use super::launch::Keys;
use super::{Desk, Draft};

/// Where browsers bring codes.
const CALLBACK: &str = "/oauth/callback";

/// Tells the redactor every secret there is.
type Learner = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// What logins stand on.
struct Ground {
    desk: Desk,
    vault: Vault,
    clock: Arc<dyn Clock>,
    ids: Ids,
    settings: LiveSettings,
    /// Renewals and exchanges that run to their end whoever waits.
    tasks: TaskTracker,
    /// Where the gateway listens, once it does.
    base: OnceLock<String>,
    learner: OnceLock<Learner>,
    /// Tokens that are on no record.
    passing: Mutex<BTreeMap<ConnectionId, Secret>>,
}

impl Ground {
    fn way(&self, home: &Url) -> Result<Arc<Way>, OauthError> {
        Way::from(home, &self.settings.current().egress.allow_private)
    }

    async fn learn(&self) {
        if let Some(learner) = self.learner.get() {
            learner().await;
        }
    }

    async fn learn_passing(&self, id: ConnectionId, token: &Secret) {
        {
            let mut passing = self.passing.lock().expect("no panic while held");
            passing.retain(|id, _| self.desk.get(&id.to_string()).is_ok());
            passing.insert(id, token.clone());
        }
        self.learn().await;
    }

    /// The address by which browsers and others reach the gateway.
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

/// What logins are opened with.
pub(super) struct OauthParts {
    pub(super) desk: Desk,
    pub(super) vault: Vault,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Ids,
    pub(super) settings: LiveSettings,
}

/// The logins at servers.
pub struct Oauth {
    ground: Arc<Ground>,
    keepers: Mutex<BTreeMap<ConnectionId, Arc<Keeper>>>,
    logins: Mutex<Logins>,
}

/// A login that was begun.
pub struct Begun {
    /// The address to open in a browser.
    pub url: String,
    /// Which login it is.
    pub login: String,
    /// Until when it may be ended.
    pub until: Timestamp,
}

impl Oauth {
    pub(super) fn open(parts: OauthParts) -> Arc<Self> {
        let OauthParts {
            desk,
            vault,
            clock,
            ids,
            settings,
        } = parts;
        let ground = Ground {
            desk,
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
            ground: Arc::new(ground),
            keepers: Mutex::default(),
            logins: Mutex::default(),
        })
    }

    /// Says where the gateway listens.
    pub fn listens_at(&self, url: &str) {
        let _ = self.ground.base.set(reachable(url)); // said once, by the daemon
    }

    /// Says who is to be told of new tokens, so that they are cut out of results.
    pub fn teaches(&self, learner: Learner) {
        let _ = self.ground.learner.set(learner); // said once, by the gateway
    }

    /// The address by which others reach the gateway, once it listens.
    pub fn base(&self) -> Option<String> {
        self.ground.base()
    }

    /// Tokens that are on no record.
    pub fn passing_secrets(&self) -> Vec<Secret> {
        let passing = self.ground.passing.lock().expect("no panic while held");
        passing.values().cloned().collect()
    }

    /// The document that describes us as a client, where others can read it.
    pub fn document(&self) -> Option<serde_json::Value> {
        let id = self.document_address()?;
        let mut document = client::description(&self.ground.redirect_uri()?);
        document["client_id"] = id.into();
        Some(document)
    }

    fn document_address(&self) -> Option<String> {
        let public = self.ground.settings.current().public_url.clone()?;
        let public = public.trim_end_matches('/');
        let far = public.starts_with("https://")
            && !Url::parse(public).is_ok_and(|url| way::is_here(&url));
        far.then(|| format!("{public}{}", client::DOCUMENT))
    }

    /// Who an account is towards a server, where that is a matter of OAuth.
    pub(super) fn credentials(
        &self,
        name: &ServerName,
        config: &McpServer,
        account: ConnectionId,
        keys: &Keys,
    ) -> Option<Arc<dyn Credentials>> {
        let url = Url::parse(config.url.as_deref()?).ok()?;
        let kind = self.ground.desk.get(&account.to_string()).ok()?.kind;
        let keeper = match kind {
            ConnectionKind::Oauth => self.keeper(account),
            ConnectionKind::Keys if by_client(config, keys) => {
                Keeper::machine(account, keys, self.ground.clone())?
            }
            ConnectionKind::Keys => return None,
        };
        Some(Arc::new(Shown {
            keeper,
            server: name.clone(),
            url,
        }))
    }

    /// Who keeps the tokens of an account: one for all servers that use it.
    fn keeper(&self, account: ConnectionId) -> Arc<Keeper> {
        let mut keepers = self.keepers.lock().expect("no panic while held");
        if !keepers.contains_key(&account) {
            let desk = &self.ground.desk;
            keepers.retain(|id, _| desk.get(&id.to_string()).is_ok());
        }
        keepers
            .entry(account)
            .or_insert_with(|| Keeper::person(account, self.ground.clone()))
            .clone()
    }

    /// Begins a login at a server for the bearer of `by`.
    pub async fn begin(
        &self,
        name: &ServerName,
        config: &McpServer,
        service: &str,
        by: TokenId,
        target: Target,
    ) -> Result<Begun, ToolError> {
        let home = config.url.as_deref().and_then(|url| Url::parse(url).ok());
        let home = home.filter(|_| config.openapi.is_none()).ok_or_else(|| {
            let message =
                format!("{name} is no MCP server with a url, so there is nothing to log in to");
            ToolError::new(ErrorCode::Failed, message)
        })?;
        let redirect_uri = self.ground.redirect_uri().ok_or_else(|| {
            ToolError::new(ErrorCode::Unavailable, "the gateway does not listen yet")
        })?;
        let failed = |error: OauthError| failure(name, &error);
        let way = self.ground.way(&home).map_err(failed)?;
        let challenge = metadata::first_challenge(&way, &home)
            .await
            .map_err(failed)?;
        let resource = metadata::resource(&way, &home, &challenge)
            .await
            .map_err(failed)?;
        let issuer = metadata::first_issuer(&way, &resource)
            .await
            .map_err(failed)?;
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
            Target::Known(id) => self
                .keeper(*id)
                .login()
                .await
                .map(|held| held.grant.wanted)
                .unwrap_or_default(),
            Target::New(_) => Vec::new(),
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
            vault: &self.ground.vault,
            clock: &*self.ground.clock,
            document: self.document_address(),
            redirect_uri: &redirect_uri,
            resource: &resource,
            scope: &scope,
        };
        let client = registry
            .client(&way, &issuer, config.oauth.as_ref())
            .await
            .map_err(failed)?;
        let now = self.ground.clock.now();
        let proof = Proof::new(&self.ground.ids);
        let state = token::unguessable(&self.ground.ids);
        let pending = Pending {
            id: token::unguessable(&self.ground.ids),
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
        let begun = Begun {
            url,
            login: pending.id.clone(),
            until: pending.until,
        };
        let mut logins = self.logins.lock().expect("no panic while held");
        logins.wait_for(state, pending, now);
        Ok(begun)
    }

    /// The login that a state belongs to; it is used up by this.
    pub fn take(&self, state: &str) -> Option<Pending> {
        let mut logins = self.logins.lock().expect("no panic while held");
        logins.take(state, self.ground.clock.now())
    }

    /// Ends a login with what the browser brought back.
    pub(super) async fn exchange(
        &self,
        login: &Pending,
        returned: &Returned,
    ) -> Result<ConnectionRecord, ToolError> {
        let failed = |error: OauthError| failure(&login.server, &error);
        let issuer = &login.issuer.issuer;
        client::returned(&self.ground.vault, issuer, &login.redirect_uri).await;
        let code = login.code(returned);
        if let (Err(OauthError::Refused { code, .. }), Target::Known(id)) = (&code, &login.target)
            && code == "invalid_scope"
        {
            // What the server wanted more is unknown there, or the client was not registered for it:
            // either would spoil every login.
            self.keeper(*id).narrow().await.map_err(failed)?;
            self.ground.forget_client(issuer).await;
        }
        let code = code.map_err(failed)?;
        let way = self.ground.way(&login.home).map_err(failed)?;
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
        if matches!(&asked, Err(OauthError::Refused { code, .. }) if code == "invalid_client") {
            self.ground.forget_client(&login.issuer.issuer).await;
        }
        let tokens = asked.map_err(failed)?;
        let now = self.ground.clock.now();
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
        self.keep(login, Held::new(grant, &login.client, &tokens))
            .await
    }

    async fn keep(&self, login: &Pending, held: Held) -> Result<ConnectionRecord, ToolError> {
        let desk = &self.ground.desk;
        let (id, new) = match &login.target {
            Target::Known(id) => (*id, false),
            Target::New(name) => {
                let draft = Draft {
                    name: Some(name.clone()),
                    ..Draft::default()
                };
                let made = desk
                    .add(&login.service, ConnectionKind::Oauth, draft)
                    .await?;
                (made.id, true)
            }
        };
        if let Err(error) = self.keeper(id).replace(held).await {
            if new {
                let _ = desk.remove(&id.to_string()).await; // an account without a login is of no use
            }
            return Err(failure(&login.server, &error));
        }
        desk.mark(id, ConnectionStatus::Connected, "").await;
        desk.get(&id.to_string())
    }

    /// Notes how a login ended.
    pub(super) fn tell(&self, login: &Pending, ended: &Result<ConnectionRecord, ToolError>) {
        let (state, detail, connection) = match ended {
            Ok(record) => ("done", None, Some(record.id)),
            Err(error) => ("failed", Some(error.text()), None),
        };
        let mut logins = self.logins.lock().expect("no panic while held");
        logins.tell(login, state, detail, connection);
    }

    /// How the last login at a server stands.
    pub fn last(&self, server: &ServerName) -> Option<Told> {
        let mut logins = self.logins.lock().expect("no panic while held");
        logins.last(server, self.ground.clock.now())
    }

    /// Ends the login of an account: its authorization server is told, and nothing of it stays.
    pub async fn log_out(
        &self,
        server: &ServerName,
        account: &ConnectionRecord,
    ) -> Result<Option<String>, ToolError> {
        let keeper = self.keeper(account.id);
        let told = keeper.revoke().await.err().map(|error| error.to_string());
        self.ground.desk.remove(&account.id.to_string()).await?;
        self.keepers
            .lock()
            .expect("no panic while held")
            .remove(&account.id);
        self.logins
            .lock()
            .expect("no panic while held")
            .forget(server);
        self.ground.learn().await;
        Ok(told)
    }

    /// Lets what is under way come to its end.
    pub(super) async fn rest(&self) {
        self.ground.tasks.close();
        self.ground.tasks.wait().await;
    }
}

/// Whether an account logs in by a client's name and secret: it has both, and the owner did not say
/// what else they are for.
fn by_client(config: &McpServer, keys: &Keys) -> bool {
    let has = |name: &str| keys.contains_key(name);
    let used = |value: &String| value.contains("${client_");
    has("client_id") && has("client_secret") && !has("token") && !config.headers.values().any(used)
}

/// What to ask for: what the owner says, else what the server says, and what it wanted since.
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

/// Where a browser on this machine finds a gateway that listens everywhere.
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
