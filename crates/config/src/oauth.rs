//! Settings of external logins: whose access tokens are accepted at `/mcp`, and what they permit.

use std::collections::BTreeMap;

use manyhands_core::{Pattern, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Authorization servers whose access tokens are accepted at `/mcp`, besides the gateway's own tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Oauth {
    /// Authorization servers by a name of your choice: a bearer is identified as `NAME/SUBJECT`.
    #[schemars(extend("x-mask" = "names"))]
    pub issuers: BTreeMap<String, TrustedIssuer>,
    /// Audience that tokens must have. Default: the URL of `/mcp`.
    pub audience: Option<String>,
    /// Scopes that clients are told to request.
    pub scopes: Vec<String>,
    /// Rights of bearers. The first matching grant applies; without one, access is denied.
    pub grants: Vec<OauthGrant>,
}

/// A trusted authorization server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustedIssuer {
    /// Its issuer URL, exactly as in its tokens.
    #[schemars(extend("x-check" = "url"))]
    pub issuer: String,
    /// URL of its keys. Default: from its metadata.
    #[serde(default)]
    #[schemars(extend("x-check" = "url"))]
    pub jwks: Option<String>,
    /// Accepted signature algorithms.
    #[serde(default = "TokenAlgorithm::all")]
    pub algorithms: Vec<TokenAlgorithm>,
}

/// Signature algorithm of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TokenAlgorithm {
    /// RSA with SHA-256.
    #[serde(rename = "RS256")]
    Rs256,
    /// ECDSA over P-256 with SHA-256.
    #[serde(rename = "ES256")]
    Es256,
    /// Ed25519; tokens may also name it `Ed25519`, as in RFC 9864.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

impl TokenAlgorithm {
    fn all() -> Vec<Self> {
        // Asymmetric ones only: a shared secret would let every client sign tokens.
        vec![Self::Rs256, Self::Es256, Self::EdDsa]
    }
}

/// Rights of some bearers. All given conditions have to match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OauthGrant {
    /// Authorization servers, by their names here.
    #[serde(default = "anything")]
    pub issuers: Vec<Pattern>,
    /// Subjects of tokens.
    #[serde(default = "anything")]
    pub subjects: Vec<Pattern>,
    /// Required scopes: all of these.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Role of the bearer.
    #[serde(default)]
    pub role: OauthRole,
    /// Tools the bearer may call; `*` matches any characters.
    pub tools: Vec<Pattern>,
}

/// Role of the bearer of an external token; never the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OauthRole {
    /// A program that calls tools.
    #[default]
    Client,
    /// Reads, but changes nothing.
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
    fn a_grant_never_includes_the_owners_rights() {
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
