//! Signed tokens that others made: read, and their signatures checked.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use manyhands_config::TokenAlgorithm;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde_json::Value;

/// The longest token that is looked at.
const MAX_TOKEN: usize = 16 * 1024;
/// The most keys of one list that are kept.
const MAX_KEYS: usize = 64;

/// A token before anything of it is believed.
pub(super) struct Unproven<'a> {
    pub(super) algorithm: TokenAlgorithm,
    pub(super) key: Option<String>,
    signed: &'a str,
    signature: Vec<u8>,
    /// What it says of who made it; only good for finding the key.
    pub(super) issuer: String,
    claims: Value,
}

impl<'a> Unproven<'a> {
    /// Reads a token. What cannot be one, or is signed in a way that is never taken, is refused.
    pub(super) fn read(text: &'a str) -> Result<Self, &'static str> {
        if text.len() > MAX_TOKEN {
            return Err("the token is too long");
        }
        let (signed, signature) = text.rsplit_once('.').ok_or("the token cannot be read")?;
        let (head, body) = signed.split_once('.').ok_or("the token cannot be read")?;
        let head = json(head).ok_or("the token's head cannot be read")?;
        let claims = json(body).ok_or("the token's body cannot be read")?;
        let algorithm = match head["alg"].as_str() {
            Some("RS256") => TokenAlgorithm::Rs256,
            Some("ES256") => TokenAlgorithm::Es256,
            // The second name is that of RFC 9864, which deprecates the first.
            Some("EdDSA" | "Ed25519") => TokenAlgorithm::EdDsa,
            _ => return Err("the token is not signed with RS256, ES256 or EdDSA (Ed25519)"),
        };
        if head.get("crit").is_some() {
            return Err("the token wants something to be understood that is not");
        }
        let kind = head["typ"].as_str().unwrap_or("jwt").to_ascii_lowercase();
        let kind = kind.strip_prefix("application/").unwrap_or(&kind);
        if !matches!(kind, "jwt" | "at+jwt") {
            return Err("the token is not an access token");
        }
        Ok(Self {
            algorithm,
            key: head["kid"].as_str().map(str::to_owned),
            signed,
            signature: decoded(signature).ok_or("the token's signature cannot be read")?,
            issuer: claims["iss"].as_str().unwrap_or_default().to_owned(),
            claims,
        })
    }

    /// What it says, if one of these keys signed it.
    pub(super) fn prove<'k>(&self, keys: impl IntoIterator<Item = &'k Key>) -> Option<&Value> {
        let mut fitting = keys.into_iter().filter(|key| self.fits(key));
        let proven = fitting.any(|key| key.signed(self.signed.as_bytes(), &self.signature));
        proven.then_some(&self.claims)
    }

    /// Whether a key may have signed it, by its name and its kind.
    pub(super) fn fits(&self, key: &Key) -> bool {
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
    /// The keys of a list that can be used; others are left out.
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

/// A number without zeros before it, which some write and others refuse.
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
