//! The OAuth client we act as at an authorization server: the one in the settings, our client
//! metadata document, or a dynamically registered one.

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
use super::http::{OauthHttp, OauthResponse, is_here};
use super::metadata::{Issuer, Resource};
use super::token::{self, Client, ClientAuthMethod};
use crate::servers::launch::{Keys, filled};

/// Our client name.
const NAME: &str = "Manyhands";
/// A dummy PKCE verifier of the minimum length.
const NO_VERIFIER: &str = "manyhands-asks-whether-its-client-is-still-known";
/// The path of our client metadata document.
pub const DOCUMENT: &str = "/oauth/client.json";

/// A dynamically registered client.
#[derive(Serialize, Deserialize)]
struct Registered {
    issuer: String,
    redirect_uri: String,
    client_id: String,
    shows: ClientAuthMethod,
    /// Seconds since 1970; 0 means never.
    expires: i64,
    /// Whether no browser has returned from a login since the client was registered or last used.
    /// An authorization server that deleted a client shows its error page and never redirects back,
    /// so this is the only sign.
    #[serde(default)]
    unreturned: bool,
    /// The scopes it was registered for, if the server was told any.
    #[serde(default)]
    scope: Option<Vec<String>>,
}

impl Registered {
    /// Returns whether it was registered for these scopes.
    fn covers(&self, scope: &[String]) -> bool {
        let own = self.scope.as_ref();
        own.is_none_or(|own| scope.iter().all(|one| own.contains(one)))
    }
}

/// The client metadata used for registration and for the metadata document.
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

/// Finds or registers the client for one authorization server.
pub(super) struct Registry<'a> {
    pub(super) vault: &'a Vault,
    pub(super) clock: &'a dyn Clock,
    /// URL of our client metadata document, if others can reach it.
    pub(super) document: Option<String>,
    pub(super) redirect_uri: &'a str,
    /// The resource that tokens are requested for.
    pub(super) resource: &'a Resource,
    /// The requested scopes.
    pub(super) scope: &'a [String],
}

impl Registry<'_> {
    /// Returns the configured client, else the metadata document, else a registered client.
    pub(super) async fn client(
        &self,
        way: &OauthHttp,
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
            let shows = ClientAuthMethod::fitting(issuer, secret.is_some())?;
            return Ok(Client { id, secret, shows });
        }
        if let Some(document) = &self.document
            && issuer.client_id_metadata_document_supported
        {
            return Ok(Client {
                id: document.clone(),
                secret: None,
                shows: ClientAuthMethod::None,
            });
        }
        let kept = self.kept(issuer).await?;
        let before = kept.as_ref().and_then(|(record, _)| record.scope.clone());
        if let Some((record, client)) = kept
            && record.covers(self.scope)
        {
            // Marked as unreturned before the browser is sent away: if the server no longer knows
            // the client, nobody comes back to tell us.
            if !record.unreturned {
                let begun = Registered {
                    unreturned: true,
                    ..record
                };
                self.write(&begun).await?;
                return Ok(client);
            }
            // Unreturned since the last login: ask whether the client still exists, or the user
            // would see the same error page again.
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

    /// Returns whether the authorization server still knows a client, by requesting a token with a
    /// code it never issued: for a known client the answer is `invalid_grant`, not
    /// `invalid_client`.
    async fn is_known(&self, way: &OauthHttp, issuer: &Issuer, client: &Client) -> bool {
        let said = issuer.token_endpoint.as_ref();
        let Ok(endpoint) = issuer.endpoint(way, "token_endpoint", said) else {
            return true; // the login itself will report the bad endpoint
        };
        let form = [
            ("grant_type", "authorization_code"),
            ("code", "manyhands-asks-whether-its-client-is-known"),
            ("redirect_uri", self.redirect_uri),
            ("code_verifier", NO_VERIFIER),
        ];
        match token::ask(way, &endpoint, client, &self.resource.id, &form).await {
            Err(OauthError::Refused { code, .. }) => code == "invalid_grant",
            // When in doubt keep the client: registering another one at every hiccup would litter
            // the server.
            Err(error) => error.passes(),
            Ok(_) => false,
        }
    }

    /// Vault key of the client of an authorization server; it depends on the redirect URI because
    /// clients are registered for one.
    fn place(&self, issuer: &str, what: &str) -> String {
        place(issuer, self.redirect_uri, what)
    }

    async fn kept(&self, issuer: &Issuer) -> Result<Option<(Registered, Client)>, OauthError> {
        let record = self.vault.get(&self.place(&issuer.issuer, "client")).await;
        let Some(record) = record.map_err(broken)? else {
            return Ok(None);
        };
        // A record of another version is no error: a new registration replaces it.
        let Ok(kept) = serde_json::from_str::<Registered>(record.expose()) else {
            return Ok(None);
        };
        // Zero means that the secret never expires (RFC 7591).
        let over = kept.expires != 0 && kept.expires * 1000 <= self.clock.now().0;
        // Codes are delivered to the registered redirect URI only, so a changed public URL needs a
        // new client.
        if kept.issuer != issuer.issuer || kept.redirect_uri != self.redirect_uri || over {
            return Ok(None);
        }
        let secret = self.vault.get(&self.place(&issuer.issuer, "secret")).await;
        let client = Client {
            id: kept.client_id.clone(),
            secret: secret
                .map_err(broken)?
                .filter(|_| kept.shows != ClientAuthMethod::None),
            shows: kept.shows,
        };
        Ok(Some((kept, client)))
    }

    async fn write(&self, record: &Registered) -> Result<(), OauthError> {
        write(self.vault, record).await.map_err(broken)
    }

    /// Registers a client. `before` are the scopes of the client it replaces, which other servers
    /// may still request.
    async fn register(
        &self,
        way: &OauthHttp,
        issuer: &Issuer,
        before: &[String],
    ) -> Result<Client, OauthError> {
        if issuer.registration_endpoint.is_none() {
            return Err(OauthError::unusable(format!(
                "the authorization server {} does not support dynamic client registration; register a client there with the redirect URI {} and set the server's oauth.clientId",
                issuer.issuer, self.redirect_uri
            )));
        }
        let said = issuer.registration_endpoint.as_ref();
        let endpoint = issuer.endpoint(way, "registration_endpoint", said)?;
        let mut wanted = description(self.redirect_uri);
        let methods = issuer.token_endpoint_auth_methods_supported.as_deref();
        let public = methods.is_none_or(|all| all.iter().any(|one| one == "none"));
        // A public client has no secret that could leak, so it is preferred where it is allowed.
        if !public {
            wanted["token_endpoint_auth_method"] =
                ClientAuthMethod::preferred(issuer)?.word().into();
        }
        // Servers built on the Python SDK reject scopes that a client was not registered for, so
        // request everything that a later login could need. Others know scopes only together with a
        // resource and reject the registration; for those the loop tries again without scopes.
        let scope = self.widest(before);
        let mut answer = OauthResponse::default();
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

    async fn send(
        &self,
        way: &OauthHttp,
        endpoint: &Url,
        wanted: &Value,
    ) -> Result<OauthResponse, OauthError> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let body = Bytes::from(wanted.to_string());
        way.send(Method::POST, endpoint, headers, Some(body)).await
    }

    /// All scopes that this or a later login could request.
    fn widest(&self, before: &[String]) -> Vec<String> {
        let mut all = self.scope.to_vec();
        for more in self.resource.scopes.iter().chain(before) {
            // Bounded: both lists come from servers.
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
            // The id ends up in URLs and headers, so nothing else can be sent.
            (1..=1_000).contains(&text.len()) && text.bytes().all(|b| matches!(b, 0x20..=0x7e))
        };
        let id = made["client_id"].as_str().filter(plain).ok_or_else(|| {
            OauthError::unusable(format!(
                "{} registered a client but returned no client_id",
                issuer.issuer
            ))
        })?;
        let secret = made["client_secret"]
            .as_str()
            .filter(plain)
            .map(Secret::new);
        let shows = match (made["token_endpoint_auth_method"].as_str(), &secret) {
            (Some("none"), _) | (_, None) => ClientAuthMethod::None,
            (Some("client_secret_post"), Some(_)) => ClientAuthMethod::ClientSecretPost,
            (Some("client_secret_basic"), Some(_)) => ClientAuthMethod::ClientSecretBasic,
            (_, Some(_)) => ClientAuthMethod::fitting(issuer, true)?,
        };
        let secret = secret.filter(|_| shows != ClientAuthMethod::None);
        // The secret first: a record whose secret is missing would fail at every login.
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

/// Records that a browser returned from a login, which proves that the server knows the client.
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
        // Not fatal: the next login only probes the client once more.
        tracing::warn!(event = "oauth_client_save_failed", issuer, %error, "failed to record that a login returned");
    }
}

async fn write(vault: &Vault, record: &Registered) -> Result<(), manyhands_store::StoreError> {
    let place = place(&record.issuer, &record.redirect_uri, "client");
    let text = Secret::new(serde_json::to_string(record).unwrap_or_default());
    vault.set(&place, &text).await
}

/// Deletes a client that its authorization server no longer knows, so that the next login registers
/// a new one.
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
