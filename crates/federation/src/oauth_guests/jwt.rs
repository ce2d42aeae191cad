//! Parses signed JWT access tokens and checks their signatures.
//!
//! Not with `jsonwebtoken`: as backend it needs `rsa` (RUSTSEC-2023-0071, no fix), aws-lc-rs (a second crypto library beside
//! ring, which TLS uses) or a provider of our own around ring, which would be most of this file.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use manyhands_config::TokenAlgorithm;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde_json::Value;

/// The longest token accepted.
const MAX_TOKEN: usize = 16 * 1024;
/// The most keys used of one key set.
const MAX_KEYS: usize = 64;

/// A parsed token whose signature has not been checked yet.
pub(super) struct Unproven<'a> {
    pub(super) algorithm: TokenAlgorithm,
    pub(super) key: Option<String>,
    signed: &'a str,
    signature: Vec<u8>,
    /// The claimed issuer; untrusted, used only to find the keys.
    pub(super) issuer: String,
    claims: Value,
}

impl<'a> Unproven<'a> {
    /// Parses a token. Rejects malformed tokens and signature algorithms that are never accepted.
    pub(super) fn read(text: &'a str) -> Result<Self, &'static str> {
        if text.len() > MAX_TOKEN {
            return Err("the token is too long");
        }
        let (signed, signature) = text.rsplit_once('.').ok_or("the token is malformed")?;
        let (head, body) = signed.split_once('.').ok_or("the token is malformed")?;
        let head = json(head).ok_or("the token's header is malformed")?;
        let claims = json(body).ok_or("the token's payload is malformed")?;
        let algorithm = match head["alg"].as_str() {
            Some("RS256") => TokenAlgorithm::Rs256,
            Some("ES256") => TokenAlgorithm::Es256,
            // RFC 9864 deprecates the name EdDSA in favour of Ed25519; issuers send either.
            Some("EdDSA" | "Ed25519") => TokenAlgorithm::EdDsa,
            _ => return Err("the token is not signed with RS256, ES256 or EdDSA (Ed25519)"),
        };
        // RFC 7515: an extension marked as critical must be understood, or the token rejected.
        if head.get("crit").is_some() {
            return Err("the token has a critical header (crit) that is not supported");
        }
        // An ID token of the same issuer is signed with the same keys, but grants nothing.
        let kind = head["typ"].as_str().unwrap_or("jwt").to_ascii_lowercase();
        let kind = kind.strip_prefix("application/").unwrap_or(&kind);
        if !matches!(kind, "jwt" | "at+jwt") {
            return Err("the token is not an access token");
        }
        Ok(Self {
            algorithm,
            key: head["kid"].as_str().map(str::to_owned),
            signed,
            signature: decoded(signature).ok_or("the token's signature is malformed")?,
            issuer: claims["iss"].as_str().unwrap_or_default().to_owned(),
            claims,
        })
    }

    /// Returns the claims if one of these keys signed the token.
    pub(super) fn prove<'k>(&self, keys: impl IntoIterator<Item = &'k Key>) -> Option<&Value> {
        let mut fitting = keys.into_iter().filter(|key| self.fits(key));
        let proven = fitting.any(|key| key.signed(self.signed.as_bytes(), &self.signature));
        proven.then_some(&self.claims)
    }

    /// Returns whether a key could have signed the token, by key id and algorithm.
    pub(super) fn fits(&self, key: &Key) -> bool {
        // The algorithm comes from the key and must match: a key must not be used with another
        // algorithm than its own.
        let named = self.key.is_none() || key.name == self.key;
        named && key.algorithm() == self.algorithm
    }
}

/// A public key of an authorization server.
#[derive(Debug, Clone)]
pub(super) struct Key {
    name: Option<String>,
    numbers: Numbers,
}

#[derive(Debug, Clone)]
enum Numbers {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Key {
    /// Returns the usable keys of a key set and skips the others.
    pub(super) fn all(list: &Value) -> Vec<Self> {
        let keys = list["keys"].as_array().into_iter().flatten();
        keys.take(MAX_KEYS).filter_map(Self::read).collect()
    }

    fn read(key: &Value) -> Option<Self> {
        if !matches!(key["use"].as_str(), None | Some("sig")) {
            return None;
        }
        let part = |name: &str| key[name].as_str().and_then(decoded);
        let numbers = match (key["kty"].as_str()?, key["crv"].as_str()) {
            ("RSA", _) => Numbers::Rsa {
                n: unsigned(part("n")?),
                e: unsigned(part("e")?),
            },
            ("EC", Some("P-256")) => {
                let (x, y) = (part("x")?, part("y")?);
                (x.len() == 32 && y.len() == 32).then_some(())?;
                Numbers::P256([&[4][..], &x, &y].concat())
            }
            ("OKP", Some("Ed25519")) => Numbers::Ed25519(part("x")?),
            _ => return None,
        };
        let read = Self {
            name: key["kid"].as_str().map(str::to_owned),
            numbers,
        };
        let words: &[&str] = match read.algorithm() {
            TokenAlgorithm::Rs256 => &["RS256"],
            TokenAlgorithm::Es256 => &["ES256"],
            TokenAlgorithm::EdDsa => &["EdDSA", "Ed25519"],
        };
        let fits = key["alg"].as_str().is_none_or(|said| words.contains(&said));
        fits.then_some(read)
    }

    fn algorithm(&self) -> TokenAlgorithm {
        match self.numbers {
            Numbers::Rsa { .. } => TokenAlgorithm::Rs256,
            Numbers::P256(_) => TokenAlgorithm::Es256,
            Numbers::Ed25519(_) => TokenAlgorithm::EdDsa,
        }
    }

    fn signed(&self, text: &[u8], signature: &[u8]) -> bool {
        let proven = match &self.numbers {
            Numbers::Rsa { n, e } => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, text, signature)
            }
            Numbers::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(text, signature)
            }
            Numbers::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(text, signature)
            }
        };
        proven.is_ok()
    }
}

/// Strips leading zeros, which some issuers write and the verifier rejects.
fn unsigned(bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes[zeros..].to_vec()
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

fn json(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_slice(&decoded(text)?).ok()?;
    value.is_object().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{Ed25519KeyPair, KeyPair};
    use serde_json::json;

    fn token(head: &Value, body: &Value, pair: &Ed25519KeyPair) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(head), encode(body));
        let signature = URL_SAFE_NO_PAD.encode(pair.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    fn pair(seed: u8) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
    }

    fn list(pair: &Ed25519KeyPair, kid: &str) -> Vec<Key> {
        let x = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        Key::all(&json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x }] }))
    }

    #[test]
    fn a_token_is_believed_only_if_the_named_key_signed_it() {
        let (good, other) = (pair(1), pair(2));
        let head = json!({ "alg": "EdDSA", "kid": "a" });
        let text = token(&head, &json!({ "iss": "i", "sub": "s" }), &good);
        let read = Unproven::read(&text).unwrap();
        assert_eq!(read.prove(&list(&good, "a")).unwrap()["sub"], "s");
        assert!(read.prove(&list(&good, "b")).is_none());
        assert!(read.prove(&list(&other, "a")).is_none());
        let (signed, signature) = text.rsplit_once('.').unwrap();
        let (head, _) = signed.split_once('.').unwrap();
        let forged = URL_SAFE_NO_PAD.encode(json!({ "iss": "i", "sub": "root" }).to_string());
        let forged = format!("{head}.{forged}.{signature}");
        assert!(
            Unproven::read(&forged)
                .unwrap()
                .prove(&list(&good, "a"))
                .is_none()
        );
    }

    #[test]
    fn weak_and_foreign_tokens_are_not_even_read() {
        let good = pair(1);
        let body = json!({ "iss": "i" });
        assert!(Unproven::read(&token(&json!({ "alg": "EdDSA" }), &body, &good)).is_ok());
        for head in [
            json!({ "alg": "none" }),
            json!({ "alg": "HS256" }),
            json!({ "alg": "eddsa" }),
            json!({}),
            json!({ "alg": "EdDSA", "crit": ["x"] }),
            json!({ "alg": "EdDSA", "typ": "logout+jwt" }),
        ] {
            assert!(
                Unproven::read(&token(&head, &body, &good)).is_err(),
                "{head}"
            );
        }
        for text in [
            "",
            "a.b",
            "a.b.c",
            "..",
            "e30.e30.",
            &"x".repeat(MAX_TOKEN + 1),
        ] {
            assert!(Unproven::read(text).is_err());
        }
    }

    #[test]
    fn a_key_for_something_else_is_left_out() {
        let x = URL_SAFE_NO_PAD.encode([7; 32]);
        let key = |more: Value| {
            let mut key = json!({ "kty": "OKP", "crv": "Ed25519", "x": x });
            key.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            Key::all(&json!({ "keys": [key] })).len()
        };
        assert_eq!(key(json!({})), 1);
        assert_eq!(key(json!({ "use": "sig", "alg": "EdDSA" })), 1);
        assert_eq!(key(json!({ "alg": "Ed25519" })), 1);
        assert_eq!(key(json!({ "use": "enc" })), 0);
        assert_eq!(key(json!({ "alg": "ES256" })), 0);
        assert_eq!(key(json!({ "kty": "oct" })), 0);
        assert_eq!(key(json!({ "crv": "X25519" })), 0);
        assert_eq!(Key::all(&json!({ "keys": "x" })).len(), 0);
    }
}
