//! A login in a browser: begun by the owner, ended by whoever brings its state back, once.

use std::collections::BTreeMap;
use std::time::Duration;

use manyhands_core::{ConnectionId, Secret, ServerName, Timestamp, TokenId};
use url::Url;

use super::error::{OauthError, tame};
use super::metadata::Issuer;
use super::token::{Client, Proof};

/// How long a login may take.
pub(super) const WITHIN: Duration = Duration::from_secs(600);
/// The scope that a refresh token is asked for with.
pub(super) const OFFLINE: &str = "offline_access";
/// How many logins may be under way.
const MAX_PENDING: usize = 64;

/// The account that a login is for.
#[derive(Debug, Clone)]
pub enum Target {
    /// One that there is.
    Known(ConnectionId),
    /// A new one of this name.
    New(String),
}

/// A login that is under way.
pub struct Pending {
    pub(super) id: String,
    /// The server that is logged in to.
    pub server: ServerName,
    pub(super) service: String,
    pub(super) home: Url,
    /// The token of whoever began it.
    pub by: TokenId,
    pub(super) verifier: Secret,
    pub(super) issuer: Issuer,
    pub(super) token_endpoint: Url,
    pub(super) client: Client,
    pub(super) redirect_uri: String,
    pub(super) resource: String,
    pub(super) scope: Vec<String>,
    /// What of it the server wanted beyond its own list; every later login asks for it too.
    pub(super) wanted: Vec<String>,
    pub(super) target: Target,
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
    /// Where the browser is sent.
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
            // OpenID Connect Core, section 11: without consent being asked for, `offline_access` is
            // ignored, and the login would end with its first access token.
            if self.scope.iter().any(|one| one == OFFLINE) {
                query.append_pair("prompt", "consent");
            }
        }
        url
    }

    /// The code that came back, if it came from the authorization server that was asked.
    pub(super) fn code(&self, returned: &Returned) -> Result<String, OauthError> {
        let issuer = &self.issuer;
        match &returned.iss {
            Some(iss) if *iss != issuer.issuer => {
                let shown = tame(iss);
                return Err(OauthError::unusable(format!(
                    "the answer is from {shown:?}, and {} was asked",
                    issuer.issuer
                )));
            }
            None if issuer.authorization_response_iss_parameter_supported => {
                return Err(OauthError::unusable(format!(
                    "the answer does not say that it is from {}",
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
        code.ok_or_else(|| OauthError::unusable("the answer holds no code"))
    }
}

/// How a login stands.
#[derive(Debug, Clone)]
pub struct Told {
    /// Which login.
    pub login: String,
    /// `waiting`, `done` or `failed`.
    pub state: &'static str,
    /// What went wrong, if something did.
    pub detail: Option<String>,
    /// The account that it opened.
    pub connection: Option<ConnectionId>,
    /// Until when it may be ended.
    pub until: Timestamp,
}

/// Logins under way, and how the last of each server went.
#[derive(Default)]
pub(super) struct Logins {
    pending: BTreeMap<String, Pending>,
    last: BTreeMap<ServerName, Told>,
}

impl Logins {
    /// Waits for `state` to come back; when too many are waited for, the oldest is given up.
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

    /// The login that `state` belongs to: once, and while it is waited for.
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
                self.tell(
                    &one,
                    "failed",
                    Some("nobody logged in in time".to_owned()),
                    None,
                );
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
            return; // another login was begun since
        }
        self.last.insert(
            login.server.clone(),
            Told {
                login: login.id.clone(),
                state,
                detail,
                connection,
                until: login.until,
            },
        );
    }

    /// How the last login at a server stands.
    pub(super) fn last(&mut self, server: &ServerName, now: Timestamp) -> Option<Told> {
        self.sweep(now);
        self.last.get(server).cloned()
    }

    pub(super) fn forget(&mut self, server: &ServerName) {
        self.last.remove(server);
        self.pending.retain(|_, one| one.server != *server);
    }
}
