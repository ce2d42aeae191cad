//! The tokens of one account as one server is shown them.

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
use super::keeper::{Flow, Keeper, Spent};
use super::metadata;

/// A token that was made because another was refused, and is refused within this time itself, is not
/// renewed once more.
const YOUNG: Duration = Duration::from_secs(10);

/// The tokens of one account as one server is shown them.
pub(super) struct Shown {
    pub(super) keeper: Arc<Keeper>,
    pub(super) server: ServerName,
    pub(super) url: Url,
}

impl Shown {
    async fn mark(&self, why: &str) {
        let desk = &self.keeper.ground.desk;
        desk.mark(self.keeper.id, ConnectionStatus::Error, why)
            .await;
    }

    /// Why the account cannot be used, and what to do.
    fn words(&self, error: &OauthError) -> String {
        let server = &self.server;
        match (&self.keeper.flow, error.passes()) {
            (_, true) => format!("the login at {server} could not be renewed now: {error}"),
            (Flow::Person, false) => format!(
                "the login at {server} is over: {error}; log in again with `manyhands mcp login {server}`"
            ),
            (Flow::Machine { .. }, false) => format!(
                "{server} cannot be logged in to with the client id and secret of the connection: {error}"
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
        let keeper = &self.keeper;
        let Some(current) = keeper.current.load_full() else {
            keeper.begin(&self.url, challenge).await?;
            return Ok(keeper.current.load().is_some());
        };
        let now = keeper.ground.clock.monotonic();
        let young = |forced: Duration| now.saturating_sub(forced) < YOUNG;
        if sent.as_ref() == Some(&current.token) && current.forced.is_some_and(young) {
            return Err(OauthError::unusable(
                "it refuses a token that was only just made",
            ));
        }
        keeper.token(sent.map(Spent::Refused)).await?;
        Ok(true)
    }

    async fn again_after_403(
        &self,
        challenge: &Challenge,
        sent: Option<Secret>,
    ) -> Result<bool, OauthError> {
        let keeper = &self.keeper;
        if !challenge.wants_more() || sent.is_none() {
            return Ok(false);
        }
        let new = keeper.widen(challenge).await?;
        match &keeper.flow {
            Flow::Machine { .. } if new => keeper
                .token(sent.map(Spent::Narrow))
                .await
                .map(|now| now.is_some()),
            _ => Ok(false),
        }
    }

    /// Why a person's token is not good enough, and what to do.
    fn wants_more(&self, challenge: &Challenge) -> Option<String> {
        let person = matches!(self.keeper.flow, Flow::Person);
        let (server, scope) = (&self.server, challenge.scope.join(" "));
        (person && challenge.wants_more()).then(|| {
            format!(
                "{server} wants the login to be good for more ({scope}); log in again with `manyhands mcp login {server}`"
            )
        })
    }
}

#[async_trait]
impl Credentials for Shown {
    async fn headers(&self) -> Result<Vec<(HeaderName, Secret)>, UpstreamError> {
        let current = match self.keeper.token(None).await {
            Ok(current) => current,
            Err(error) => {
                self.mark(&self.words(&error)).await;
                return Err(self.failed(&error));
            }
        };
        let Some(current) = current else {
            return Ok(Vec::new());
        };
        // A token is for one place: an address that was changed since does not get it.
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
