//! The vault's key: random in `vault.key`, or derived from a passphrase. Then it is never on disk, and the file only says how
//! to derive and check it.

use std::path::Path;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use manyhands_core::{Ids, Secret};
use manyhands_guard::{PrivateFileError, create_private, read_private};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::error::StoreError;
use crate::home::VAULT_KEY;

const FORMAT: u32 = 1;
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
const LANES: u32 = 1;
/// Limits of what the file may demand: deriving with more would exhaust the machine.
const MAX_MEMORY_KIB: u32 = 4 * 1024 * 1024;
const MAX_PASSES: u32 = 64;

/// The key that all others are derived from.
pub(crate) struct VaultKey(Zeroizing<[u8; 32]>);

/// Whether a missing key file may be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstUse {
    /// Nothing is encrypted yet.
    Yes,
    /// Something is; a new key would make it unreadable for good.
    No,
}

/// Contents of `vault.key`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeyFile {
    version: u32,
    #[serde(flatten)]
    key: KeySource,
}

#[derive(Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum KeySource {
    /// The key itself.
    Random { key: String },
    /// How to derive it, and a value to check it with.
    Argon2id {
        memory_kib: u32,
        passes: u32,
        lanes: u32,
        salt: String,
        check: String,
    },
}

impl VaultKey {
    /// Opens the key of a home, creating it at first use. Blocks while the key is derived.
    pub(crate) fn open(
        home: &Path,
        passphrase: Option<&Secret>,
        first_use: FirstUse,
        ids: &Ids,
    ) -> Result<Self, StoreError> {
        let path = home.join(VAULT_KEY);
        match read_private(&path) {
            Ok(bytes) => return unlock(&Zeroizing::new(bytes), passphrase),
            Err(PrivateFileError::NotFound(_)) => {}
            Err(error) => return Err(refusal(error)),
        }
        // A missing key with sealed data is an accident, not a first start. A new key would make every
        // secret unreadable and the audit look forged.
        if first_use == FirstUse::No {
            return Err(StoreError::corrupt(format!(
                "{} is missing, and without it the secrets and the audit cannot be read: \
                 put it back from a backup",
                path.display()
            )));
        }
        let (key, file) = make(passphrase, ids)?;
        match create_private(&path, &file) {
            Ok(()) => Ok(key),
            // Another process was first: its key counts.
            Err(PrivateFileError::Exists(_)) => {
                let bytes = read_private(&path).map_err(refusal)?;
                unlock(&Zeroizing::new(bytes), passphrase)
            }
            Err(error) => Err(refusal(error)),
        }
    }

    /// A key for one purpose, which reveals neither this key nor that of another purpose.
    pub(crate) fn subkey(&self, label: &str) -> Zeroizing<[u8; 32]> {
        let mut mac = keyed(&self.0);
        // Separates these keys from other uses of HMAC with the same key.
        mac.update(b"manyhands subkey v1\0");
        mac.update(label.as_bytes());
        Zeroizing::new(mac.finalize().into_bytes().into())
    }
}

fn refusal(error: PrivateFileError) -> StoreError {
    match error {
        PrivateFileError::Io { path, error } => {
            StoreError::io(format!("opening {}", path.display()), &error)
        }
        other => StoreError::invalid(other.to_string()),
    }
}

/// HMAC-SHA256 under `key`.
pub(crate) fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes a key of any length")
}

fn make(
    passphrase: Option<&Secret>,
    ids: &Ids,
) -> Result<(VaultKey, Zeroizing<Vec<u8>>), StoreError> {
    let (key, source) = match passphrase {
        None => {
            let key = VaultKey(Zeroizing::new(ids.random()));
            let text = STANDARD.encode(*key.0);
            (key, KeySource::Random { key: text })
        }
        Some(passphrase) => {
            let salt: [u8; 16] = ids.random();
            let key = derive(passphrase, &salt, (MEMORY_KIB, PASSES, LANES))?;
            let source = KeySource::Argon2id {
                memory_kib: MEMORY_KIB,
                passes: PASSES,
                lanes: LANES,
                salt: STANDARD.encode(salt),
                check: STANDARD.encode(*key.subkey("check")),
            };
            (key, source)
        }
    };
    let file = KeyFile {
        version: FORMAT,
        key: source,
    };
    let text = serde_json::to_vec(&file).map_err(|error| StoreError::invalid(error.to_string()))?;
    Ok((key, Zeroizing::new(text)))
}

fn unlock(file: &[u8], passphrase: Option<&Secret>) -> Result<VaultKey, StoreError> {
    let damaged = || StoreError::corrupt("vault.key is damaged: put it back from a backup");
    let wrong = |what: &str| StoreError::Passphrase {
        what: what.to_owned(),
    };
    let file: KeyFile = serde_json::from_slice(file).map_err(|_| damaged())?;
    if file.version != FORMAT {
        return Err(StoreError::Schema {
            what: "vault.key was made by a newer version: use that version".to_owned(),
        });
    }
    match (file.key, passphrase) {
        (KeySource::Random { .. }, Some(_)) => Err(wrong(
            "a passphrase was given, but this home's vault was made without one: start without it",
        )),
        (KeySource::Random { key }, None) => {
            let key = Zeroizing::new(key);
            let bytes = Zeroizing::new(STANDARD.decode(&*key).map_err(|_| damaged())?);
            let key = bytes.as_slice().try_into().map_err(|_| damaged())?;
            Ok(VaultKey(Zeroizing::new(key)))
        }
        (KeySource::Argon2id { .. }, None) => Err(wrong(
            "this home's vault needs its passphrase: start again and give it",
        )),
        (
            KeySource::Argon2id {
                memory_kib,
                passes,
                lanes,
                salt,
                check,
            },
            Some(passphrase),
        ) => {
            // The file is not authenticated before the key is derived: bounds keep a tampered one from
            // exhausting memory or time.
            if memory_kib > MAX_MEMORY_KIB || passes > MAX_PASSES {
                return Err(damaged());
            }
            let salt = STANDARD.decode(salt).map_err(|_| damaged())?;
            let check = STANDARD.decode(check).map_err(|_| damaged())?;
            let key = derive(passphrase, &salt, (memory_kib, passes, lanes))?;
            // In constant time, and compared before anything is unsealed: a wrong passphrase is told
            // apart from damaged secrets.
            if bool::from(key.subkey("check").as_slice().ct_eq(&check)) {
                Ok(key)
            } else {
                Err(wrong(
                    "the passphrase is not the one this home's vault was made with",
                ))
            }
        }
    }
}

fn derive(
    passphrase: &Secret,
    salt: &[u8],
    (memory_kib, passes, lanes): (u32, u32, u32),
) -> Result<VaultKey, StoreError> {
    let refused =
        |error: argon2::Error| StoreError::corrupt(format!("vault.key is damaged: {error}"));
    let params = Params::new(memory_kib, passes, lanes, Some(32)).map_err(refused)?;
    let mut key = Zeroizing::new([0; 32]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.expose().as_bytes(), salt, &mut *key)
        .map_err(refused)?;
    Ok(VaultKey(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestHome, ids};
    use std::os::unix::fs::MetadataExt as _;

    fn phrase(text: &str) -> Option<Secret> {
        Some(Secret::new(text))
    }

    #[tokio::test]
    async fn a_passphrase_opens_its_vault_and_the_key_is_not_on_disk() {
        let home = TestHome::new();
        let store = home.try_open(phrase("right")).await.unwrap();
        store.vault().set("s", &Secret::new("value")).await.unwrap();
        let before = home.contents();
        for (given, words) in [
            (phrase("wrong"), "is not the one"),
            (None, "needs its passphrase"),
        ] {
            let error = home.try_open(given).await.unwrap_err();
            assert!(matches!(error, StoreError::Passphrase { .. }), "{error:?}");
            assert!(error.to_string().contains(words), "{error}");
        }
        assert_eq!(home.contents(), before, "a refusal changes nothing");
        let again = home.try_open(phrase("right")).await.unwrap();
        assert_eq!(
            again.vault().get("s").await.unwrap(),
            Some(Secret::new("value"))
        );
        let file = std::fs::read_to_string(home.path().join(VAULT_KEY)).unwrap();
        assert!(
            file.contains(r#""kind":"argon2id""#) && !file.contains(r#""key""#),
            "{file}"
        );
    }

    #[tokio::test]
    async fn an_unexpected_passphrase_is_refused() {
        let home = TestHome::new();
        home.open().await.close().await.unwrap();
        let error = home.try_open(phrase("any")).await.unwrap_err();
        assert!(matches!(error, StoreError::Passphrase { .. }), "{error:?}");
        home.open().await;
    }

    #[tokio::test]
    async fn a_lost_key_file_is_not_replaced_silently() {
        let home = TestHome::new();
        let store = home.open().await;
        store.vault().set("s", &Secret::new("value")).await.unwrap();
        store.close().await.unwrap();
        let path = home.path().join(VAULT_KEY);
        let kept = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let error = home.try_open(None).await.unwrap_err();
        assert!(
            error.to_string().contains("vault.key is missing"),
            "{error}"
        );
        assert!(!path.exists());
        create_private(&path, &kept).unwrap();
        let store = home.open().await;
        assert_eq!(
            store.vault().get("s").await.unwrap(),
            Some(Secret::new("value"))
        );
    }

    #[test]
    fn the_key_file_is_private_and_a_damaged_one_is_refused() {
        let home = tempfile::tempdir().unwrap();
        VaultKey::open(home.path(), None, FirstUse::Yes, &ids()).unwrap_or_else(|e| panic!("{e}"));
        let path = home.path().join(VAULT_KEY);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        for damage in [
            &b""[..],
            b"{}",
            br#"{"version":1,"kind":"random","key":"AAAA"}"#,
        ] {
            std::fs::write(&path, damage).unwrap();
            let error = VaultKey::open(home.path(), None, FirstUse::Yes, &ids()).err();
            assert!(
                matches!(error, Some(StoreError::Corrupt { .. })),
                "{error:?}"
            );
            assert_eq!(std::fs::read(&path).unwrap(), damage, "kept for repair");
        }
    }
}
