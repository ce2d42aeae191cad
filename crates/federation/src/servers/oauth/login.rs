//! A login in a browser: started by the owner, completed once by the request that brings its state
//! back.

use std::collections::BTreeMap;
use std::time::Duration;

use manyhands_core::{ConnectionId, Secret, ServerName, Timestamp, TokenId};
use url::Url;

use super::error::{OauthError, tame};
use super::metadata::Issuer;
use super::token::{Client, Proof};

/// How long a login may take.
pub(super) const WITHIN: Duration = Duration::from_secs(600);
/// The scope that requests a refresh token.
pub(super) const OFFLINE: &str = "offline_access";
/// The most logins in progress.
const MAX_PENDING: usize = 64;

/// The account that a login is for.
#[derive(Debug, Clone)]
pub enum LoginTarget {
    /// An existing account.
    Known(ConnectionId),
    /// A new account with this name.
    New(String),
}

/// A login in progress.
pub struct Pending {
    pub(super) id: String,
    /// The server to log in to.
    pub server: ServerName,
    pub(super) service: String,
    pub(super) home: Url,
    /// The token of the caller that started it.
    pub by: TokenId,
    pub(super) verifier: Secret,
    pub(super) issuer: Issuer,
    pub(super) token_endpoint: Url,
    pub(super) client: Client,
    pub(super) redirect_uri: String,
    pub(super) resource: String,
    pub(super) scope: Vec<String>,
    /// Scopes the server required beyond its own list; every later login requests them too.
    pub(super) wanted: Vec<String>,
    pub(super) target: LoginTarget,
    pub(super) until: Timestamp,
}

/// What the browser brought back.
#[derive(Debug, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Returned {
    /// What was sent along.
    pub state: Option<String>,
    /// What a token is given for.
    pub(super) code: Option<String>,
    /// Who says so.
    pub(super) iss: Option<String>,
    /// Why there is no code.
    pub(super) error: Option<String>,
    /// More about that.
    pub(super) error_description: Option<String>,
}

impl Pending {
    /// The authorization URL for the browser.
    pub(super) fn address(&self, endpoint: &Url, state: &str, proof: &Proof) -> Url {
        let mut url = endpoint.clone();
        let scope = self.scope.join(" ");
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &self.client.id)
                .append_pair("redirect_uri", &self.redirect_uri)
                .append_pair("state", state)
                .append_pair("code_challenge", &proof.challenge)
                .append_pair("code_challenge_method", "S256")
                .append_pair("resource", &self.resource);
            if !scope.is_empty() {
                query.append_pair("scope", &scope);
            }
            // OpenID Connect Core, section 11: without `prompt=consent`, `offline_access` is
            // ignored and the login would end with its first access token.
            if self.scope.iter().any(|one| one == OFFLINE) {
                query.append_pair("prompt", "consent");
            }
        }
        url
    }

    /// Returns the authorization code, if the response is from the expected authorization server.
    pub(super) fn code(&self, returned: &Returned) -> Result<String, OauthError> {
        let issuer = &self.issuer;
        // RFC 9207: without this check a malicious authorization server could have its code
        // redeemed at an honest one (mix-up attack).
        match &returned.iss {
            Some(iss) if *iss != issuer.issuer => {
                let shown = tame(iss);
                return Err(OauthError::unusable(format!(
                    "the response is from {shown:?}, not from {}",
                    issuer.issuer
                )));
            }
            None if issuer.authorization_response_iss_parameter_supported => {
                return Err(OauthError::unusable(format!(
                    "the response does not name its issuer {}",
                    issuer.issuer
                )));
            }
            _ => {}
        }
        if let Some(error) = &returned.error {
            return Err(OauthError::Refused {
                code: tame(error),
                description: tame(returned.error_description.as_deref().unwrap_or_default()),
            });
        }
        let code = returned.code.clone().filter(|code| !code.is_empty());
        code.ok_or_else(|| OauthError::unusable("the response has no authorization code"))
    }
}

/// The state of a login.
#[derive(Debug, Clone)]
pub struct LoginState {
    /// The id of the login.
    pub login: String,
    /// `waiting`, `done` or `failed`.
    pub state: &'static str,
    /// The error, if it failed.
    pub detail: Option<String>,
    /// The account it created or renewed.
    pub connection: Option<ConnectionId>,
    /// When it expires.
    pub until: Timestamp,
}

/// Logins in progress, and the last one of each server.
#[derive(Default)]
pub(super) struct Logins {
    pending: BTreeMap<String, Pending>,
    last: BTreeMap<ServerName, LoginState>,
}

impl Logins {
    /// Adds a login. If there are too many, the oldest is dropped.
    pub(super) fn wait_for(&mut self, state: String, pending: Pending, now: Timestamp) {
        self.sweep(now);
        while self.pending.len() >= MAX_PENDING {
            let oldest = self.pending.iter().min_by_key(|(_, one)| one.until);
            let Some(oldest) = oldest.map(|(state, _)| state.clone()) else {
                break;
            };
            self.pending.remove(&oldest);
        }
        self.tell(&pending, "waiting", None, None);
        self.pending.insert(state, pending);
    }

    /// Takes the login that belongs to `state`, if it has not expired.
    pub(super) fn take(&mut self, state: &str, now: Timestamp) -> Option<Pending> {
        self.sweep(now);
        self.pending.remove(state)
    }

    fn sweep(&mut self, now: Timestamp) {
        let over: Vec<String> = self
            .pending
            .iter()
            .filter(|(_, one)| one.until <= now)
            .map(|(state, _)| state.clone())
            .collect();
        for state in over {
            if let Some(one) = self.pending.remove(&state) {
                self.tell(&one, "failed", Some("the login timed out".to_owned()), None);
            }
        }
    }

    pub(super) fn tell(
        &mut self,
        login: &Pending,
        state: &'static str,
        detail: Option<String>,
        connection: Option<ConnectionId>,
    ) {
        let newer = self.last.get(&login.server);
        if newer.is_some_and(|last| last.login != login.id && last.until > login.until) {
            return; // a newer login was started since
        }
        self.last.insert(
            login.server.clone(),
            LoginState {
                login: login.id.clone(),
                state,
                detail,
                connection,
                until: login.until,
            },
        );
    }

    /// Returns the last login at a server.
    pub(super) fn last(&mut self, server: &ServerName, now: Timestamp) -> Option<LoginState> {
        self.sweep(now);
        self.last.get(server).cloned()
    }

    pub(super) fn forget(&mut self, server: &ServerName) {
        self.last.remove(server);
        self.pending.retain(|_, one| one.server != *server);
    }
}
