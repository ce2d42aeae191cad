//! Token requests, and the record of a login.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use manyhands_core::{Ids, Secret, Timestamp};
use manyhands_guard::{HeaderMap, HeaderValue, Method};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::challenge::scopes;
use super::error::{OauthError, tame};
use super::http::OauthHttp;
use super::metadata::Issuer;

/// The shortest token accepted: shorter ones could not be redacted from results reliably.
const SHORTEST: usize = 8;
/// The longest token that fits into a header.
const LONGEST: usize = 16 * 1024;
/// How long before expiry a token is renewed, at most. Longer than a renewal may take, so that
/// calls continue while an authorization server does not answer.
const AHEAD: Duration = Duration::from_secs(60);
/// The longest token lifetime accepted.
const LONGEST_LIFE: u64 = 10 * 365 * 86_400;

/// How a client authenticates at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuthMethod {
    /// Client id only.
    None,
    /// Secret in the `Authorization` header.
    ClientSecretBasic,
    /// Secret in the request body.
    ClientSecretPost,
}

impl ClientAuthMethod {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
        }
    }

    /// The method for a client about to be registered: the first one the server lists. Servers of
    /// the Python SDK list the body first, and their revocation endpoint works only that way.
    pub(super) fn preferred(issuer: &Issuer) -> Result<Self, OauthError> {
        let ours = [Self::ClientSecretBasic, Self::ClientSecretPost];
        let methods = issuer
            .token_endpoint_auth_methods_supported
            .iter()
            .flatten();
        let mut known =
            methods.filter_map(|method| ours.into_iter().find(|one| one.word() == method));
        known.next().map_or_else(|| Self::fitting(issuer, true), Ok)
    }

    /// The method for a client with or without a secret. A client that the owner registered uses
    /// the header unless the metadata says otherwise (RFC 7591).
    pub(super) fn fitting(issuer: &Issuer, secret: bool) -> Result<Self, OauthError> {
        if !secret {
            return Ok(Self::None);
        }
        let Some(methods) = &issuer.token_endpoint_auth_methods_supported else {
            return Ok(Self::ClientSecretBasic); // the default of RFC 8414
        };
        let known = |one: &Self| methods.iter().any(|method| method == one.word());
        let ours = [Self::ClientSecretBasic, Self::ClientSecretPost];
        ours.into_iter().find(known).ok_or_else(|| {
            OauthError::unusable(format!(
                "the authorization server {} supports no client authentication method known here",
                issuer.issuer
            ))
        })
    }
}

/// A client at one authorization server.
#[derive(Debug, Clone)]
pub struct Client {
    pub id: String,
    pub secret: Option<Secret>,
    pub shows: ClientAuthMethod,
}

/// The stored record of a login, without the tokens themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub issuer: String,
    pub token_endpoint: String,
    #[serde(default)]
    pub revocation_endpoint: Option<String>,
    /// The only server that the tokens may be sent to.
    pub resource: String,
    pub client_id: String,
    pub shows: ClientAuthMethod,
    /// The granted scopes.
    pub scope: Vec<String>,
    /// Scopes the server asked for beyond that; the next login requests them.
    #[serde(default)]
    pub wanted: Vec<String>,
    pub obtained: Timestamp,
    pub expires: Option<Timestamp>,
    /// Whether the stored refresh token belongs to this grant.
    pub renewable: bool,
    /// Fingerprint of the refresh token that was sent last, until the response is on disk.
    #[serde(default)]
    pub sent: Option<String>,
    /// Whether the last renewal did not rotate the refresh token, so that it can be sent again.
    #[serde(default)]
    pub keeps_refresh: bool,
    /// Why the login ended.
    #[serde(default)]
    pub ended: Option<String>,
}

impl Grant {
    /// When to renew the token: shortly before it expires.
    pub fn renew_at(&self) -> Option<Timestamp> {
        let expires = self.expires?;
        let ahead = (expires.since(self.obtained) / 2).min(AHEAD);
        Some(Timestamp(
            expires.0 - i64::try_from(ahead.as_millis()).unwrap_or(0),
        ))
    }
}

/// The response of a token endpoint.
#[derive(Debug, Clone)]
pub struct Tokens {
    pub access: Secret,
    pub refresh: Option<Secret>,
    pub lifetime: Option<Duration>,
    /// The granted scopes, if the response names them.
    pub scope: Option<Vec<String>>,
}

/// Requests tokens for `resource` as `client`.
pub(super) async fn ask(
    way: &OauthHttp,
    endpoint: &Url,
    client: &Client,
    resource: &str,
    form: &[(&str, &str)],
) -> Result<Tokens, OauthError> {
    let mut fields = form.to_vec();
    fields.push(("resource", resource));
    let answer = post(way, endpoint, client, &fields).await?;
    let (status, body) = answer;
    if status != 200 {
        return Err(refusal(status, body.as_ref()));
    }
    let body =
        body.ok_or_else(|| OauthError::unusable("the token endpoint did not return JSON"))?;
    read(&body)
}

/// Revokes a token.
pub(super) async fn revoke(
    way: &OauthHttp,
    endpoint: &Url,
    client: &Client,
    token: &Secret,
) -> Result<(), OauthError> {
    let (status, body) = post(way, endpoint, client, &[("token", token.expose())]).await?;
    match status {
        200 => Ok(()),
        _ => Err(refusal(status, body.as_ref())),
    }
}

async fn post(
    way: &OauthHttp,
    endpoint: &Url,
    client: &Client,
    fields: &[(&str, &str)],
) -> Result<(u16, Option<Value>), OauthError> {
    let mut fields = fields.to_vec();
    let mut headers = HeaderMap::new();
    let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert("content-type", kind);
    // Redundant with Basic authentication, but servers of the Python SDK reject requests without
    // it.
    fields.push(("client_id", &client.id));
    match (client.shows, &client.secret) {
        (ClientAuthMethod::ClientSecretBasic, Some(secret)) => {
            headers.insert("authorization", basic(&client.id, secret)?);
        }
        (ClientAuthMethod::ClientSecretPost, Some(secret)) => {
            fields.push(("client_secret", secret.expose()));
        }
        _ => {}
    }
    let form = Serializer::new(String::new()).extend_pairs(fields).finish();
    let body = Bytes::from(form);
    let answer = way
        .send(Method::POST, endpoint, headers, Some(body))
        .await?;
    Ok((answer.status, answer.json()))
}

fn basic(id: &str, secret: &Secret) -> Result<HeaderValue, OauthError> {
    // %20 for a space is decoded correctly both as a form value and as a URL component; `+` is not.
    let encoded = |text: &str| {
        let form: String = byte_serialize(text.as_bytes()).collect();
        form.replace('+', "%20")
    };
    let pair = format!("{}:{}", encoded(id), encoded(secret.expose()));
    let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)));
    let mut value = value.map_err(|_| {
        OauthError::unusable("the client secret has characters that cannot be sent in a header")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn refusal(status: u16, body: Option<&Value>) -> OauthError {
    let code = body.and_then(|body| body["error"].as_str());
    match code {
        Some(code) => OauthError::Refused {
            code: tame(code),
            description: tame(
                body.and_then(|body| body["error_description"].as_str())
                    .unwrap_or_default(),
            ),
        },
        // A proxy lost the response of the server behind it, which may have carried out the
        // request.
        None if matches!(status, 502 | 504) => OauthError::Unanswered(format!(
            "the authorization server answered with HTTP {status}"
        )),
        None if status == 429 || status >= 500 => OauthError::Unreachable(format!(
            "the authorization server answered with HTTP {status}"
        )),
        None => OauthError::unusable(format!(
            "the authorization server answered with HTTP {status}"
        )),
    }
}

fn read(body: &Value) -> Result<Tokens, OauthError> {
    let kind = body["token_type"].as_str().unwrap_or_default();
    if !kind.eq_ignore_ascii_case("bearer") {
        let kind = tame(kind);
        return Err(OauthError::unusable(format!(
            "unsupported token type {kind:?}; only Bearer is supported"
        )));
    }
    let access = token(&body["access_token"])?
        .ok_or_else(|| OauthError::unusable("the token endpoint returned no access token"))?;
    let seconds = &body["expires_in"];
    let seconds = seconds
        .as_u64()
        .or(seconds.as_f64().map(|float| float.max(0.0) as u64))
        .or(seconds.as_str().and_then(|text| text.parse().ok()));
    Ok(Tokens {
        access,
        refresh: token(&body["refresh_token"])?,
        lifetime: seconds.map(|seconds| Duration::from_secs(seconds.min(LONGEST_LIFE))),
        scope: body["scope"].as_str().map(scopes),
    })
}

fn token(value: &Value) -> Result<Option<Secret>, OauthError> {
    let Some(text) = value.as_str() else {
        return Ok(None);
    };
    let fits = (SHORTEST..=LONGEST).contains(&text.len());
    if fits && text.bytes().all(|b| matches!(b, 0x21..=0x7e)) {
        return Ok(Some(Secret::new(text)));
    }
    Err(OauthError::unusable(
        "the token endpoint returned an unusable token: too short, too long, or with characters not allowed in a header",
    ))
}

/// A PKCE verifier and its challenge.
pub(super) struct Proof {
    pub(super) verifier: Secret,
    pub(super) challenge: String,
}

impl Proof {
    pub(super) fn new(ids: &Ids) -> Self {
        let verifier = unguessable(ids);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        Self {
            verifier: Secret::new(verifier),
            challenge,
        }
    }
}

/// A hash that identifies a token without revealing it.
pub(super) fn fingerprint(token: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token.expose()))
}

/// 256 random bits, as text.
pub(super) fn unguessable(ids: &Ids) -> String {
    URL_SAFE_NO_PAD.encode(ids.random::<32>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_bearer_token_that_fits_a_header_is_taken() {
        let good = json!({ "token_type": "bearer", "access_token": "abcdefgh12", "expires_in": "60", "scope": "a b" });
        let read_good = read(&good).unwrap();
        assert_eq!(read_good.access.expose(), "abcdefgh12");
        assert_eq!(read_good.lifetime, Some(Duration::from_secs(60)));
        assert_eq!(read_good.scope, Some(vec!["a".to_owned(), "b".to_owned()]));
        for (key, value) in [
            ("token_type", json!("DPoP")),
            ("token_type", json!(null)),
            ("access_token", json!("short")),
            ("access_token", json!("abcdefgh\r\nX: y")),
            ("access_token", json!(7)),
            ("refresh_token", json!("with space in it")),
        ] {
            let mut bad = good.clone();
            bad[key] = value;
            assert!(read(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_is_renewed_before_it_ends() {
        let mut grant = Grant {
            issuer: String::new(),
            token_endpoint: String::new(),
            revocation_endpoint: None,
            resource: String::new(),
            client_id: String::new(),
            shows: ClientAuthMethod::None,
            scope: Vec::new(),
            wanted: Vec::new(),
            obtained: Timestamp(1_000_000),
            expires: Some(Timestamp(1_000_000 + 3_600_000)),
            renewable: true,
            sent: None,
            keeps_refresh: false,
            ended: None,
        };
        assert_eq!(grant.renew_at(), Some(Timestamp(1_000_000 + 3_540_000)));
        grant.expires = Some(Timestamp(1_000_000 + 4_000));
        assert_eq!(grant.renew_at(), Some(Timestamp(1_000_000 + 2_000)));
        grant.expires = None;
        assert_eq!(grant.renew_at(), None);
    }

    #[test]
    fn a_name_and_a_secret_are_encoded_before_they_are_joined() {
        let header = basic("a:b", &Secret::new("c d")).unwrap();
        assert_eq!(
            header.to_str().unwrap(),
            format!("Basic {}", STANDARD.encode("a%3Ab:c%20d"))
        );
        assert!(header.is_sensitive());
    }
}
