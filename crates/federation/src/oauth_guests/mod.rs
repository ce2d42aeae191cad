//! OAuth guests: callers of `/mcp` with an access token that a trusted authorization server issued
//! for this gateway.
//!
//! The token only says who the caller is; what they may do is decided by `oauth.grants` in the
//! settings. The token stays here: no server behind the gateway ever receives it.

mod jwt;
mod keys;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use manyhands_config::{Oauth, OauthGrant};
use manyhands_core::{Clock, Pattern, Rights, Timestamp, TokenId};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use jwt::Unproven;
use keys::Keyring;

/// `Retry-After` for a token that cannot be checked now.
pub const COME_BACK: Duration = keys::REFILL;
/// The tolerated clock difference.
const LEEWAY: Duration = Duration::from_secs(30);
/// The longest subject.
const MAX_SUBJECT: usize = 255;

/// A caller with a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// Identical for every token of the same subject.
    pub id: TokenId,
    /// `ISSUER/SUBJECT`, with the name that the settings give the issuer.
    pub name: String,
    /// The guest's rights.
    pub rights: Rights,
    /// When the token expires.
    pub expires: Timestamp,
}

/// Why a token was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuestRefusal {
    /// The signature was not proven, so the token may be a guess.
    Unproven(&'static str),
    /// Genuine, but not valid here or now.
    Unfit(&'static str),
    /// Valid, but the settings grant its bearer nothing.
    Ungranted,
    /// The keys of the issuer cannot be fetched now.
    Later(String),
}

/// Checks the tokens of guests.
#[derive(Default)]
pub struct Guests {
    rings: Mutex<BTreeMap<String, Arc<Keyring>>>,
}

/// Returns whether a token looks like a JWT, so it cannot be one of ours.
pub fn is_foreign(token: &str) -> bool {
    token.starts_with("ey") && token.matches('.').count() == 2
}

impl Guests {
    /// Authenticates a guest by a token issued for one of `audiences`.
    pub async fn check(
        &self,
        token: &str,
        audiences: &[String],
        settings: &Oauth,
        networks: &[String],
        clock: &dyn Clock,
    ) -> Result<Guest, GuestRefusal> {
        let token = Unproven::read(token).map_err(GuestRefusal::Unproven)?;
        let mut trusted = settings.issuers.iter();
        // Found by the claimed issuer, which is untrusted so far; it only selects the keys that the
        // signature is checked with.
        let found = trusted.find(|(_, trusted)| trusted.issuer == token.issuer);
        let Some((name, trusted)) = found else {
            return Err(GuestRefusal::Unproven(
                "the token is from an issuer that is not trusted here",
            ));
        };
        // The owner's list decides, not the token: an attacker must not pick a weaker algorithm.
        if !trusted.algorithms.contains(&token.algorithm) {
            return Err(GuestRefusal::Unproven(
                "the token's signature algorithm is not allowed for its issuer",
            ));
        }
        let ring = self.ring(name, settings);
        let keys = ring.keys(&token, clock, networks).await;
        let keys = keys.map_err(|error| {
            GuestRefusal::Later(format!("cannot fetch the keys of {name}: {error}"))
        })?;
        let claims = token.prove(&keys).ok_or(GuestRefusal::Unproven(
            "the token is not signed by a key of its issuer",
        ))?;
        // Claims are judged only after the signature: errors about them would otherwise help
        // someone who guesses.
        let (subject, expires) =
            fit(claims, audiences, clock.now()).map_err(GuestRefusal::Unfit)?;
        let grant = settings
            .grants
            .iter()
            .find(|grant| fits(grant, name, subject, claims));
        let grant = grant.ok_or(GuestRefusal::Ungranted)?;
        Ok(Guest {
            id: stable(&token.issuer, subject),
            name: shown(name, subject),
            rights: Rights {
                // A guest never acts for another agent, whatever the grant says about tools.
                agents: vec![Pattern::new("main")],
                ..Rights::new(grant.role.into(), grant.tools.clone())
            },
            expires,
        })
    }

    /// Returns the keyring of an issuer; a new one if its settings changed.
    fn ring(&self, name: &str, settings: &Oauth) -> Arc<Keyring> {
        let mut rings = self.rings.lock().expect("no panic while held");
        // Keyrings of removed or changed issuers are dropped, so that their cached keys stop being
        // trusted at once.
        rings.retain(|name, ring| settings.issuers.get(name) == Some(&ring.trusted));
        let fresh = || Keyring::new(settings.issuers[name].clone());
        rings.entry(name.to_owned()).or_insert_with(fresh).clone()
    }
}

/// Returns subject and expiry of a token that is valid here and now.
fn fit<'a>(
    claims: &'a Value,
    audiences: &[String],
    now: Timestamp,
) -> Result<(&'a str, Timestamp), &'static str> {
    let ours = |audience: &Value| {
        audience
            .as_str()
            .is_some_and(|one| audiences.iter().any(|our| our == one))
    };
    // Without this check, a token that another service received from the same issuer could be
    // replayed here.
    let made_for_us = match &claims["aud"] {
        Value::Array(all) => all.iter().any(ours),
        one => ours(one),
    };
    if !made_for_us {
        return Err("the token is for another audience");
    }
    let time = |name: &str| {
        claims[name]
            .as_f64()
            .map(|seconds| Timestamp((seconds * 1000.0) as i64))
    };
    let expires = time("exp").ok_or("the token has no exp claim")?;
    if expires.plus(LEEWAY) <= now {
        return Err("the token has expired");
    }
    if time("nbf").is_some_and(|from| from > now.plus(LEEWAY)) {
        return Err("the token is not valid yet");
    }
    let subject = claims["sub"].as_str().unwrap_or_default();
    if subject.is_empty() || subject.len() > MAX_SUBJECT || subject.chars().any(char::is_control) {
        return Err("the token has no usable sub claim");
    }
    Ok((subject, expires.plus(LEEWAY)))
}

fn fits(grant: &OauthGrant, issuer: &str, subject: &str, claims: &Value) -> bool {
    let named = |patterns: &[Pattern], name: &str| patterns.iter().any(|one| one.matches(name));
    let scopes = scopes(claims);
    named(&grant.issuers, issuer)
        && named(&grant.subjects, subject)
        && grant
            .scopes
            .iter()
            .all(|scope| scopes.contains(&scope.as_str()))
}

/// The scopes of a token, in RFC 9068 form or in one of the common variants.
fn scopes(claims: &Value) -> Vec<&str> {
    let said = ["scope", "scp"]
        .into_iter()
        .flat_map(|name| match &claims[name] {
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            one => vec![one.as_str().unwrap_or_default()],
        });
    said.flat_map(str::split_ascii_whitespace).collect()
}

/// A stable id per subject that cannot collide with a stored token record.
fn stable(issuer: &str, subject: &str) -> TokenId {
    let hash = Sha256::digest(format!("{issuer}\n{subject}"));
    let mut bytes: [u8; 16] = hash[..16].try_into().expect("a hash is longer");
    bytes[6] = bytes[6] & 0x0f | 0x80; // UUID version 8: custom derivation
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.parse().expect("32 digits are an id")
}

fn shown(issuer: &str, subject: &str) -> String {
    format!("{issuer}/{subject}").chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    #[track_caller]
    fn check(change: Value, good: bool) {
        let mut claims = json!({ "aud": "https://h/mcp", "exp": 1_000_060, "sub": "ada" });
        claims
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let audiences = ["https://h/mcp".to_owned()];
        assert_eq!(fit(&claims, &audiences, NOW).is_ok(), good, "{change}");
    }

    #[test]
    fn a_token_is_good_here_and_now() {
        check(json!({}), true);
        check(json!({ "aud": ["x", "https://h/mcp"] }), true);
        check(json!({ "exp": 999_980 }), true);
        check(json!({ "nbf": 1_000_020 }), true);
        for wrong in [
            json!({ "aud": "https://h" }),
            json!({ "aud": "https://h/mcp/x" }),
            json!({ "aud": [] }),
            json!({ "aud": null }),
            json!({ "exp": 999_960 }),
            json!({ "exp": null }),
            json!({ "exp": "1000060" }),
            json!({ "nbf": 1_000_040 }),
            json!({ "sub": "" }),
            json!({ "sub": null }),
            json!({ "sub": "a\nb" }),
        ] {
            check(wrong, false);
        }
    }

    #[test]
    fn a_grant_wants_all_its_scopes() {
        let grant: OauthGrant = serde_json::from_value(json!({
            "issuers": ["corp"], "subjects": ["ada*"], "scopes": ["a", "b"], "tools": ["*"],
        }))
        .unwrap();
        let good = json!({ "scope": "b a c" });
        assert!(fits(&grant, "corp", "ada", &good));
        assert!(fits(&grant, "corp", "ada", &json!({ "scp": ["a", "b"] })));
        assert!(!fits(&grant, "corp", "ada", &json!({ "scope": "a" })));
        assert!(!fits(&grant, "corp", "bob", &good));
        assert!(!fits(&grant, "other", "ada", &good));
    }

    #[test]
    fn a_subject_keeps_its_id_and_shares_it_with_nobody() {
        let id = stable("https://a", "ada");
        assert_eq!(id, stable("https://a", "ada"));
        assert_ne!(id, stable("https://b", "ada"));
        assert_ne!(id, stable("https://a", "bob"));
    }
}
