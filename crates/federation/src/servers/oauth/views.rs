//! Presents the tokens of one account to one server.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{Secret, ServerName};
use manyhands_guard::HeaderName;
use manyhands_store::ConnectionStatus;
use manyhands_upstream::{Credentials, UpstreamError};
use url::Url;

use super::challenge::Challenge;
use super::error::OauthError;
use super::login_store::{Flow, LoginStore, Spent};
use super::metadata;

/// A token that replaced a rejected one and is itself rejected within this time is not renewed
/// again, which stops a loop with a server that rejects every token.
const YOUNG: Duration = Duration::from_secs(10);

/// The credentials of one account at one server.
pub(super) struct AccountTokens {
    pub(super) login_store: Arc<LoginStore>,
    pub(super) server: ServerName,
    pub(super) url: Url,
}

impl AccountTokens {
    async fn mark(&self, why: &str) {
        let accounts = &self.login_store.deps.accounts;
        accounts
            .mark(self.login_store.id, ConnectionStatus::Error, why)
            .await;
    }

    /// The error message for a login that cannot be used.
    fn words(&self, error: &OauthError) -> String {
        let server = &self.server;
        match (&self.login_store.flow, error.passes()) {
            (_, true) => format!("cannot renew the login at {server}: {error}"),
            (Flow::Person, false) => format!(
                "the login at {server} has expired or was revoked: {error}; log in again with `manyhands mcp login {server}`"
            ),
            (Flow::Machine { .. }, false) => format!(
                "the client id and secret of the connection were not accepted by {server}: {error}"
            ),
        }
    }

    fn failed(&self, error: &OauthError) -> UpstreamError {
        let words = self.words(error);
        match error.passes() {
            true => UpstreamError::Unreachable(words),
            false => UpstreamError::Login(words),
        }
    }

    async fn again_after_401(
        &self,
        challenge: &Challenge,
        sent: Option<Secret>,
    ) -> Result<bool, OauthError> {
        let login_store = &self.login_store;
        let Some(current) = login_store.current.load_full() else {
            login_store.begin(&self.url, challenge).await?;
            return Ok(login_store.current.load().is_some());
        };
        let now = login_store.deps.clock.monotonic();
        let young = |forced: Duration| now.saturating_sub(forced) < YOUNG;
        if sent.as_ref() == Some(&current.token) && current.forced.is_some_and(young) {
            return Err(OauthError::unusable("it rejected a newly issued token"));
        }
        login_store.token(sent.map(Spent::Refused)).await?;
        Ok(true)
    }

    async fn again_after_403(
        &self,
        challenge: &Challenge,
        sent: Option<Secret>,
    ) -> Result<bool, OauthError> {
        let login_store = &self.login_store;
        if !challenge.wants_more() || sent.is_none() {
            return Ok(false);
        }
        let new = login_store.widen(challenge).await?;
        match &login_store.flow {
            Flow::Machine { .. } if new => login_store
                .token(sent.map(Spent::Narrow))
                .await
                .map(|now| now.is_some()),
            _ => Ok(false),
        }
    }

    /// The error message for a login that lacks scopes.
    fn wants_more(&self, challenge: &Challenge) -> Option<String> {
        let person = matches!(self.login_store.flow, Flow::Person);
        let (server, scope) = (&self.server, challenge.scope.join(" "));
        (person && challenge.wants_more()).then(|| {
            format!(
                "{server} requires more scopes ({scope}); log in again with `manyhands mcp login {server}`"
            )
        })
    }
}

#[async_trait]
impl Credentials for AccountTokens {
    async fn headers(&self) -> Result<Vec<(HeaderName, Secret)>, UpstreamError> {
        let current = match self.login_store.token(None).await {
            Ok(current) => current,
            Err(error) => {
                self.mark(&self.words(&error)).await;
                return Err(self.failed(&error));
            }
        };
        let Some(current) = current else {
            return Ok(Vec::new());
        };
        // A token is for one server: if the configured URL changed since, the new address must not
        // get it.
        if !metadata::covers(&current.resource, &self.url) {
            let error = OauthError::unusable(format!("it is for {}", current.resource));
            return Err(self.failed(&error));
        }
        let bearer = Secret::new(format!("Bearer {}", current.token.expose()));
        Ok(vec![(HeaderName::from_static("authorization"), bearer)])
    }

    async fn refused(
        &self,
        status: u16,
        www_authenticate: Option<String>,
        sent: &[(HeaderName, Secret)],
    ) -> Result<bool, UpstreamError> {
        let challenge = Challenge::read(www_authenticate.as_deref());
        let sent = sent.iter().find(|(name, _)| name == "authorization");
        let sent =
            sent.and_then(|(_, value)| value.expose().strip_prefix("Bearer ").map(Secret::new));
        let again = match status {
            401 => self.again_after_401(&challenge, sent).await,
            _ => self.again_after_403(&challenge, sent).await,
        };
        match again {
            Ok(false) if status == 403 => match self.wants_more(&challenge) {
                Some(words) => Err(UpstreamError::Login(words)),
                None => Ok(false),
            },
            Ok(again) => Ok(again),
            Err(error) => {
                self.mark(&self.words(&error)).await;
                Err(self.failed(&error))
            }
        }
    }
}
