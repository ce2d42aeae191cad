//! Tokens: how they are asked for, and what is kept of them.

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
use super::metadata::Issuer;
use super::way::Way;

/// The shortest token that can be told from other text, and so be cut out of results.
const SHORTEST: usize = 8;
/// The longest token that fits into a header.
const LONGEST: usize = 16 * 1024;
/// How long before its end a token is renewed, at most: more than a renewal may take, so that calls go
/// on while an authorization server does not answer.
const AHEAD: Duration = Duration::from_secs(60);
/// The longest life of a token that is believed.
const LONGEST_LIFE: u64 = 10 * 365 * 86_400;

/// How a client shows at the token endpoint who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shows {
    /// By its name alone.
    None,
    /// In the `Authorization` header.
    ClientSecretBasic,
    /// In the body.
    ClientSecretPost,
}

impl Shows {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
        }
    }

    /// How a client that is about to be registered shows its secret: the first way the server names.
    /// Revocation at servers of the Python SDK, which name the body first, works only that way.
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

    /// How a client with or without a secret shows itself to `issuer`. One that the owner registered
    /// uses the header unless it was told otherwise (RFC 7591).
    pub(super) fn fitting(issuer: &Issuer, secret: bool) -> Result<Self, OauthError> {
        if !secret {
            return Ok(Self::None);
        }
        let Some(methods) = &issuer.token_endpoint_auth_methods_supported else {
            return Ok(Self::ClientSecretBasic); // what it is unless said
        };
        let known = |one: &Self| methods.iter().any(|method| method == one.word());
        let ours = [Self::ClientSecretBasic, Self::ClientSecretPost];
        ours.into_iter().find(known).ok_or_else(|| {
            OauthError::unusable(format!(
                "the authorization server {} takes no client secret in a way that is known here",
                issuer.issuer
            ))
        })
    }
}

/// A client of one authorization server.
#[derive(Debug, Clone)]
pub struct Client {
    pub id: String,
    pub secret: Option<Secret>,
    pub shows: Shows,
}

/// What is kept of a login beside the tokens themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub issuer: String,
    pub token_endpoint: String,
    #[serde(default)]
    pub revocation_endpoint: Option<String>,
    /// The server that the tokens are for, and no other.
    pub resource: String,
    pub client_id: String,
    pub shows: Shows,
    /// What they are good for.
    pub scope: Vec<String>,
    /// What the server wanted beyond that; the next login asks for it.
    #[serde(default)]
    pub wanted: Vec<String>,
    pub obtained: Timestamp,
    pub expires: Option<Timestamp>,
    /// Whether the refresh token that is kept belongs to it.
    pub renewable: bool,
    /// The fingerprint of the refresh token that was sent last, until its answer is on disk.
    #[serde(default)]
    pub sent: Option<String>,
    /// Whether the last renewal left the refresh token as it was, so that it can be sent again.
    #[serde(default)]
    pub keeps_refresh: bool,
    /// Why it is over.
    #[serde(default)]
    pub ended: Option<String>,
}

impl Grant {
    /// When to renew the token: a little before it ends.
    pub fn renew_at(&self) -> Option<Timestamp> {
        let expires = self.expires?;
        let ahead = (expires.since(self.obtained) / 2).min(AHEAD);
        Some(Timestamp(
            expires.0 - i64::try_from(ahead.as_millis()).unwrap_or(0),
        ))
    }
}

/// What a token endpoint gave.
#[derive(Debug, Clone)]
pub struct Tokens {
    pub access: Secret,
    pub refresh: Option<Secret>,
    pub lifetime: Option<Duration>,
    /// What they are good for, where it says so.
    pub scope: Option<Vec<String>>,
}

/// Asks a token endpoint, as `client`, for tokens for `resource`.
pub(super) async fn ask(
    way: &Way,
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
    let body = body.ok_or_else(|| OauthError::unusable("the token endpoint gave no JSON"))?;
    read(&body)
}

/// Tells an authorization server that a token is no longer used.
pub(super) async fn revoke(
    way: &Way,
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
    way: &Way,
    endpoint: &Url,
    client: &Client,
    fields: &[(&str, &str)],
) -> Result<(u16, Option<Value>), OauthError> {
    let mut fields = fields.to_vec();
    let mut headers = HeaderMap::new();
    let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert("content-type", kind);
    // Beside Basic it is redundant, and servers of the Python SDK refuse a request without it.
    fields.push(("client_id", &client.id));
    match (client.shows, &client.secret) {
        (Shows::ClientSecretBasic, Some(secret)) => {
            headers.insert("authorization", basic(&client.id, secret)?);
        }
        (Shows::ClientSecretPost, Some(secret)) => {
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
    // A space as %20 is read right both by those who decode forms and those who decode addresses.
    let encoded = |text: &str| {
        let form: String = byte_serialize(text.as_bytes()).collect();
        form.replace('+', "%20")
    };
    let pair = format!("{}:{}", encoded(id), encoded(secret.expose()));
    let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)));
    let mut value = value.map_err(|_| OauthError::unusable("the client secret cannot be sent"))?;
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
        // A proxy lost the answer of the server behind it, which may have carried the request out.
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
            "the token is of the type {kind:?}, and only Bearer can be used"
        )));
    }
    let access = token(&body["access_token"])?
        .ok_or_else(|| OauthError::unusable("the token endpoint gave no token"))?;
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
        "the token endpoint gave a token that cannot be used: it is too short, too long, or has other characters than a header takes",
    ))
}

/// A secret of our own, and what of it is shown beforehand.
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

/// What a token is recognised by, without being one.
pub(super) fn fingerprint(token: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token.expose()))
}

/// 256 bits that nobody can guess, as text.
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
            shows: Shows::None,
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
