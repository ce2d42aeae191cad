//! Settings of logins that others vouch for: whose access tokens are taken at `/mcp`, and what their
//! bearers may do.

use std::collections::BTreeMap;

use manyhands_core::{Pattern, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Authorization servers whose access tokens are taken at `/mcp`, beside the gateway's own tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Oauth {
    /// The authorization servers, by a name of your choice: a bearer is known as `NAME/SUBJECT`.
    #[schemars(extend("x-mask" = "names"))]
    pub issuers: BTreeMap<String, TrustedIssuer>,
    /// What tokens must be made for; the address of `/mcp` unless said.
    pub audience: Option<String>,
    /// What clients are told to ask for.
    pub scopes: Vec<String>,
    /// What bearers may do. The first that fits counts; whom none fits is not let in.
    pub grants: Vec<OauthGrant>,
}

/// An authorization server that is believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustedIssuer {
    /// Its address, exactly as its tokens say it.
    #[schemars(extend("x-check" = "url"))]
    pub issuer: String,
    /// Where its keys are; as its metadata say unless said.
    #[serde(default)]
    #[schemars(extend("x-check" = "url"))]
    pub jwks: Option<String>,
    /// How its tokens may be signed.
    #[serde(default = "TokenAlgorithm::all")]
    pub algorithms: Vec<TokenAlgorithm>,
}

/// How a token is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TokenAlgorithm {
    /// RSA with SHA-256.
    #[serde(rename = "RS256")]
    Rs256,
    /// ECDSA over P-256 with SHA-256.
    #[serde(rename = "ES256")]
    Es256,
    /// Ed25519; tokens may also call it `Ed25519`, as RFC 9864 does.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

impl TokenAlgorithm {
    fn all() -> Vec<Self> {
        vec![Self::Rs256, Self::Es256, Self::EdDsa]
    }
}

/// What some bearers may do. Every part that is given has to fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OauthGrant {
    /// Authorization servers, by their names here.
    #[serde(default = "anything")]
    pub issuers: Vec<Pattern>,
    /// Subjects of tokens.
    #[serde(default = "anything")]
    pub subjects: Vec<Pattern>,
    /// What a token must be good for: all of these.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// What the bearer is.
    #[serde(default)]
    pub role: OauthRole,
    /// Tools the bearer may call, `*` for any run of characters.
    pub tools: Vec<Pattern>,
}

/// What the bearer of a token that others made may be; never the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OauthRole {
    /// A program that calls tools.
    #[default]
    Client,
    /// Looks but changes nothing.
    ReadOnly,
}

impl From<OauthRole> for Role {
    fn from(role: OauthRole) -> Self {
        match role {
            OauthRole::Client => Self::Client,
            OauthRole::ReadOnly => Self::ReadOnly,
        }
    }
}

fn anything() -> Vec<Pattern> {
    vec![Pattern::new("*")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_grant_says_what_it_gives_and_never_the_owners_rights() {
        let read = |value| serde_json::from_value::<OauthGrant>(value);
        let plain = read(json!({ "tools": ["gsv__*"] })).unwrap();
        assert_eq!(plain.role, OauthRole::Client);
        assert!(plain.subjects[0].matches("anybody"));
        assert!(read(json!({ "subjects": ["*"] })).is_err());
        assert!(read(json!({ "tools": ["*"], "role": "owner" })).is_err());
        let issuer = |value| serde_json::from_value::<TrustedIssuer>(value);
        assert_eq!(
            issuer(json!({ "issuer": "https://l.example" }))
                .unwrap()
                .algorithms
                .len(),
            3
        );
        for weak in ["none", "HS256"] {
            let weak = json!({ "issuer": "https://l.example", "algorithms": [weak] });
            assert!(issuer(weak).is_err());
        }
    }
}
