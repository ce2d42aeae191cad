//! Who we are towards an authorization server: the client that the owner named, the document that
//! describes us, or a client that is registered there once and kept.

use bytes::Bytes;
use manyhands_config::OauthSettings;
use manyhands_core::{Clock, Secret, ToolError};
use manyhands_guard::{HeaderMap, HeaderValue, Method};
use manyhands_store::Vault;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::challenge::MAX_SCOPES;
use super::error::{OauthError, tame};
use super::metadata::{Issuer, Resource};
use super::token::{self, Client, Shows};
use super::way::{Answer, Way, is_here};
use crate::servers::launch::{Keys, filled};

/// What we call ourselves.
const NAME: &str = "Manyhands";
/// A verifier of no code, as long as one must be.
const NO_VERIFIER: &str = "manyhands-asks-whether-its-client-is-still-known";
/// Where the document that describes us is.
pub const DOCUMENT: &str = "/oauth/client.json";

/// A client that was registered.
#[derive(Serialize, Deserialize)]
struct Registered {
    issuer: String,
    redirect_uri: String,
    client_id: String,
    shows: Shows,
    /// Seconds since 1970; 0 for never.
    expires: i64,
    /// A login was begun with it, and no browser has come back from one since. An authorization
    /// server that has forgotten a client shows an error and sends nobody back.
    #[serde(default)]
    unreturned: bool,
    /// The scopes it was registered for; unknown where the server was not told any.
    #[serde(default)]
    scope: Option<Vec<String>>,
}

impl Registered {
    /// Whether it may ask for these scopes.
    fn covers(&self, scope: &[String]) -> bool {
        let own = self.scope.as_ref();
        own.is_none_or(|own| scope.iter().all(|one| own.contains(one)))
    }
}

/// What every way of registering says of us.
pub fn description(redirect_uri: &str) -> Value {
    let native = Url::parse(redirect_uri).is_ok_and(|url| is_here(&url));
    json!({
        "client_name": NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": if native { "native" } else { "web" },
    })
}

/// Finds the client to be at one authorization server.
pub(super) struct Registry<'a> {
    pub(super) vault: &'a Vault,
    pub(super) clock: &'a dyn Clock,
    /// Where others find the document that describes us, if they can.
    pub(super) document: Option<String>,
    pub(super) redirect_uri: &'a str,
    /// What tokens are asked for.
    pub(super) resource: &'a Resource,
    /// What they are to be good for.
    pub(super) scope: &'a [String],
}

impl Registry<'_> {
    /// The client of the settings, else the document, else one that is registered.
    pub(super) async fn client(
        &self,
        way: &Way,
        issuer: &Issuer,
        settings: Option<&OauthSettings>,
    ) -> Result<Client, OauthError> {
        if let Some((settings, id)) = settings.and_then(|s| Some((s, s.client_id.clone()?))) {
            let secret = match &settings.client_secret {
                Some(place) => Some(
                    filled(place, &Keys::new(), self.vault)
                        .await
                        .map_err(told)?,
                ),
                None => None,
            };
            let shows = Shows::fitting(issuer, secret.is_some())?;
            return Ok(Client { id, secret, shows });
        }
        if let Some(document) = &self.document
            && issuer.client_id_metadata_document_supported
        {
            return Ok(Client {
                id: document.clone(),
                secret: None,
                shows: Shows::None,
            });
        }
        let kept = self.kept(issuer).await?;
        let before = kept.as_ref().and_then(|(record, _)| record.scope.clone());
        if let Some((record, client)) = kept
            && record.covers(self.scope)
        {
            if !record.unreturned {
                let begun = Registered {
                    unreturned: true,
                    ..record
                };
                self.write(&begun).await?;
                return Ok(client);
            }
            if self.is_known(way, issuer, &client).await {
                return Ok(client);
            }
            tracing::info!(
                event = "oauth_client_unknown",
                issuer = issuer.issuer,
                "the authorization server no longer knows our client; registering a new one"
            );
        }
        self.register(way, issuer, &before.unwrap_or_default())
            .await
    }

    /// Whether the authorization server still knows a client. It says so when it is asked for a token
    /// with a code that it never gave: a client that it knows has an invalid grant.
    async fn is_known(&self, way: &Way, issuer: &Issuer, client: &Client) -> bool {
        let said = issuer.token_endpoint.as_ref();
        let Ok(endpoint) = issuer.endpoint(way, "token_endpoint", said) else {
            return true; // the login fails for that
        };
        let form = [
            ("grant_type", "authorization_code"),
            ("code", "manyhands-asks-whether-its-client-is-known"),
            ("redirect_uri", self.redirect_uri),
            ("code_verifier", NO_VERIFIER),
        ];
        match token::ask(way, &endpoint, client, &self.resource.id, &form).await {
            Err(OauthError::Refused { code, .. }) => code == "invalid_grant",
            Err(error) => error.passes(),
            Ok(_) => false,
        }
    }

    /// Where the vault keeps the client of an authorization server. Its codes come to one address.
    fn place(&self, issuer: &str, what: &str) -> String {
        place(issuer, self.redirect_uri, what)
    }

    async fn kept(&self, issuer: &Issuer) -> Result<Option<(Registered, Client)>, OauthError> {
        let record = self.vault.get(&self.place(&issuer.issuer, "client")).await;
        let Some(record) = record.map_err(broken)? else {
            return Ok(None);
        };
        let Ok(kept) = serde_json::from_str::<Registered>(record.expose()) else {
            return Ok(None);
        };
        let over = kept.expires != 0 && kept.expires * 1000 <= self.clock.now().0;
        if kept.issuer != issuer.issuer || kept.redirect_uri != self.redirect_uri || over {
            return Ok(None);
        }
        let secret = self.vault.get(&self.place(&issuer.issuer, "secret")).await;
        let client = Client {
            id: kept.client_id.clone(),
            secret: secret
                .map_err(broken)?
                .filter(|_| kept.shows != Shows::None),
            shows: kept.shows,
        };
        Ok(Some((kept, client)))
    }

    async fn write(&self, record: &Registered) -> Result<(), OauthError> {
        write(self.vault, record).await.map_err(broken)
    }

    /// Registers a client; `before` are the scopes of the one in whose place it comes, which other
    /// servers may ask for.
    async fn register(
        &self,
        way: &Way,
        issuer: &Issuer,
        before: &[String],
    ) -> Result<Client, OauthError> {
        if issuer.registration_endpoint.is_none() {
            return Err(OauthError::unusable(format!(
                "the authorization server {} does not register clients by itself; get a client id there for the address {}, and write it into the server's oauth.clientId",
                issuer.issuer, self.redirect_uri
            )));
        }
        let said = issuer.registration_endpoint.as_ref();
        let endpoint = issuer.endpoint(way, "registration_endpoint", said)?;
        let mut wanted = description(self.redirect_uri);
        let methods = issuer.token_endpoint_auth_methods_supported.as_deref();
        let public = methods.is_none_or(|all| all.iter().any(|one| one == "none"));
        if !public {
            wanted["token_endpoint_auth_method"] = Shows::preferred(issuer)?.word().into();
        }
        // Servers of the Python SDK refuse scopes that a client was not registered for, and a later
        // login may ask for more of what the resource offers. Others know scopes only together with
        // their resource, and refuse to register a client for them.
        let scope = self.widest(before);
        let mut answer = Answer::default();
        for scope in (!scope.is_empty())
            .then_some(scope)
            .map(Some)
            .into_iter()
            .chain([None])
        {
            let mut wanted = wanted.clone();
            if let Some(scope) = &scope {
                wanted["scope"] = scope.join(" ").into();
            }
            answer = self.send(way, &endpoint, &wanted).await?;
            match answer.status {
                200 | 201 => {
                    let made = answer.json().unwrap_or_default();
                    return self.keep(issuer, &made, scope).await;
                }
                400 => {}
                _ => break,
            }
        }
        let said = answer.json().unwrap_or_default();
        let why = said["error_description"]
            .as_str()
            .or(said["error"].as_str());
        Err(OauthError::unusable(format!(
            "the authorization server {} did not register a client (HTTP {}): {}",
            issuer.issuer,
            answer.status,
            tame(why.unwrap_or_default())
        )))
    }

    async fn send(&self, way: &Way, endpoint: &Url, wanted: &Value) -> Result<Answer, OauthError> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let body = Bytes::from(wanted.to_string());
        way.send(Method::POST, endpoint, headers, Some(body)).await
    }

    /// What may be asked for now or later.
    fn widest(&self, before: &[String]) -> Vec<String> {
        let mut all = self.scope.to_vec();
        for more in self.resource.scopes.iter().chain(before) {
            if !all.contains(more) && all.len() < MAX_SCOPES {
                all.push(more.clone());
            }
        }
        all
    }

    async fn keep(
        &self,
        issuer: &Issuer,
        made: &Value,
        scope: Option<Vec<String>>,
    ) -> Result<Client, OauthError> {
        let plain = |text: &&str| {
            (1..=1_000).contains(&text.len()) && text.bytes().all(|b| matches!(b, 0x20..=0x7e))
        };
        let id = made["client_id"].as_str().filter(plain).ok_or_else(|| {
            OauthError::unusable(format!(
                "{} registered a client without an id",
                issuer.issuer
            ))
        })?;
        let secret = made["client_secret"]
            .as_str()
            .filter(plain)
            .map(Secret::new);
        let shows = match (made["token_endpoint_auth_method"].as_str(), &secret) {
            (Some("none"), _) | (_, None) => Shows::None,
            (Some("client_secret_post"), Some(_)) => Shows::ClientSecretPost,
            (Some("client_secret_basic"), Some(_)) => Shows::ClientSecretBasic,
            (_, Some(_)) => Shows::fitting(issuer, true)?,
        };
        let secret = secret.filter(|_| shows != Shows::None);
        if let Some(secret) = &secret {
            let place = self.place(&issuer.issuer, "secret");
            self.vault.set(&place, secret).await.map_err(broken)?;
        }
        let record = Registered {
            issuer: issuer.issuer.clone(),
            redirect_uri: self.redirect_uri.to_owned(),
            client_id: id.to_owned(),
            shows,
            expires: made["client_secret_expires_at"].as_i64().unwrap_or(0),
            unreturned: true,
            scope,
        };
        self.write(&record).await?;
        Ok(Client {
            id: id.to_owned(),
            secret,
            shows,
        })
    }
}

/// Notes that a browser came back from a login with a registered client: its server knows it.
pub(super) async fn returned(vault: &Vault, issuer: &str, redirect_uri: &str) {
    let noted = async {
        let record = vault.get(&place(issuer, redirect_uri, "client")).await?;
        let record = record.and_then(|kept| serde_json::from_str::<Registered>(kept.expose()).ok());
        match record {
            Some(record) if record.unreturned => {
                let returned = Registered {
                    unreturned: false,
                    ..record
                };
                write(vault, &returned).await
            }
            _ => Ok(()),
        }
    };
    if let Err(error) = noted.await {
        // The next login asks whether the client is known, which costs one request.
        tracing::warn!(event = "oauth_client_save_failed", issuer, %error, "failed to record that a login returned");
    }
}

async fn write(vault: &Vault, record: &Registered) -> Result<(), manyhands_store::StoreError> {
    let place = place(&record.issuer, &record.redirect_uri, "client");
    let text = Secret::new(serde_json::to_string(record).unwrap_or_default());
    vault.set(&place, &text).await
}

/// Forgets a client that its authorization server no longer knows, so that the next login registers
/// another.
pub(super) async fn forget(vault: &Vault, issuer: &str, redirect_uri: &str) {
    for what in ["client", "secret"] {
        if let Err(error) = vault.remove(&place(issuer, redirect_uri, what)).await {
            tracing::warn!(event = "oauth_client_delete_failed", issuer, %error, "failed to delete a registered client");
        }
    }
}

fn place(issuer: &str, redirect_uri: &str, what: &str) -> String {
    let hash = Sha256::digest(format!("{issuer}\n{redirect_uri}"));
    let hex: String = hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("oauth-client/{hex}/{what}")
}

fn told(error: ToolError) -> OauthError {
    OauthError::Unusable(error.text())
}

fn broken(error: manyhands_store::StoreError) -> OauthError {
    OauthError::Unreachable(error.to_string())
}
