//! The format of tokens: `mh_<id>_<secret>`. The id finds the record without revealing anything; only a hash of the whole
//! text is stored.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use manyhands_core::{Ids, Secret, TokenId};
use sha2::{Digest as _, Sha256};

const ID_CHARS: usize = 32;
const SECRET_CHARS: usize = 43;

/// SHA-256 of a token's text.
pub type TokenHash = [u8; 32];

/// A new token. Its text is not stored anywhere.
#[derive(Debug)]
pub struct MintedToken {
    /// The id of its record.
    pub id: TokenId,
    /// The text, to be shown once.
    pub text: Secret,
    /// The hash to store.
    pub hash: TokenHash,
}

/// Creates a token with 256 random bits.
pub fn mint_token(ids: &Ids) -> MintedToken {
    let id: TokenId = ids.next();
    let secret = URL_SAFE_NO_PAD.encode(ids.random::<32>());
    let text = format!("mh_{}_{secret}", id.0.simple());
    MintedToken {
        id,
        hash: hash(&text),
        text: Secret::new(text),
    }
}

/// Parses a token; `None` if the text does not have its format.
pub fn parse_token(text: &str) -> Option<(TokenId, TokenHash)> {
    let rest = text.strip_prefix("mh_")?;
    let (id, secret) = rest.split_at_checked(ID_CHARS)?;
    let secret = secret.strip_prefix('_')?;
    let lower_hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    if secret.len() != SECRET_CHARS || !id.bytes().all(lower_hex) {
        return None;
    }
    URL_SAFE_NO_PAD.decode(secret).ok()?;
    Some((id.parse().ok()?, hash(text)))
}

// A plain hash: a slow one protects guessable passwords, and 256 random bits cannot be guessed.
fn hash(text: &str) -> TokenHash {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ids;

    #[test]
    fn a_minted_token_parses_to_its_record() {
        let minted = mint_token(&ids());
        let text = minted.text.expose();
        assert_eq!(text.len(), 3 + 32 + 1 + 43);
        assert_eq!(parse_token(text), Some((minted.id, minted.hash)));
        assert_eq!(
            format!("{minted:?}").matches(text).count(),
            0,
            "prints masked"
        );
    }

    #[test]
    fn other_texts_are_no_tokens() {
        let minted = mint_token(&ids());
        let good = minted.text.expose();
        let bad = [
            String::new(),
            "mh_".to_owned(),
            good[1..].to_owned(),
            format!("{good}x"),
            good[..good.len() - 1].to_owned(),
            good.replace("mh_", "MH_"),
            format!("{}*", &good[..good.len() - 1]),
            format!("mh_{}_{}", "A".repeat(32), &good[36..]),
            format!("mh_{}ü", "a".repeat(31)),
        ];
        for text in bad {
            assert_eq!(parse_token(&text), None, "{text}");
        }
    }

    #[test]
    fn another_secret_has_another_hash() {
        let ids = ids();
        let (one, two) = (mint_token(&ids), mint_token(&ids));
        assert_ne!(one.hash, two.hash);
        assert_ne!(one.id, two.id);
    }
}
