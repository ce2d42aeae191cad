//! Secrets, encrypted at rest.
//!
//! Each secret is encrypted with XChaCha20-Poly1305 under a fresh nonce, and its name is authenticated with it: a ciphertext
//! moved to another name does not decrypt.

mod key;

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use manyhands_core::{Clock, Ids, Secret};
use zeroize::Zeroizing;

pub(crate) use key::{FirstUse, VaultKey, keyed};

use crate::error::StoreError;
use crate::sql::{Row, Sql, Statement};

const NONCE: usize = 24;
const MAX_NAME: usize = 128;

/// The secrets. Cheap to clone.
#[derive(Clone)]
pub struct Vault {
    sql: Sql,
    key: Arc<VaultKey>,
    clock: Arc<dyn Clock>,
    ids: Ids,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault(***)")
    }
}

impl Vault {
    pub(crate) fn new(sql: Sql, key: VaultKey, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        Self {
            sql,
            key: Arc::new(key),
            clock,
            ids,
        }
    }

    /// Stores or replaces a secret.
    pub async fn set(&self, name: &str, value: &Secret) -> Result<(), StoreError> {
        check_name(name)?;
        // XChaCha20 has nonces of 24 bytes, so random ones never repeat in practice and no counter has
        // to survive crashes and restored backups.
        let nonce: [u8; NONCE] = self.ids.random();
        let sealed = self.seal(name, &nonce, value)?;
        let now = self.clock.now();
        let upsert = Statement::new(
            "INSERT INTO secret (name, nonce, ciphertext, created, updated)
             VALUES ($1, $2, $3, $4, $4)
             ON CONFLICT (name) DO UPDATE
             SET nonce = excluded.nonce, ciphertext = excluded.ciphertext, updated = excluded.updated",
        )
        .bind(name)
        .bind(STANDARD.encode(nonce))
        .bind(STANDARD.encode(sealed))
        .bind(now);
        self.sql.run(upsert).await.map(drop)
    }

    /// The secret of that name.
    pub async fn get(&self, name: &str) -> Result<Option<Secret>, StoreError> {
        check_name(name)?;
        let select = Statement::new("SELECT name, nonce, ciphertext FROM secret")
            .then_with(" WHERE name = ", name);
        match self.sql.one(select).await? {
            Some(row) => self.unseal(&row).map(|(_, secret)| Some(secret)),
            None => Ok(None),
        }
    }

    /// Removes a secret; whether there was one.
    pub async fn remove(&self, name: &str) -> Result<bool, StoreError> {
        check_name(name)?;
        let delete = Statement::new("DELETE FROM secret WHERE name = $1").bind(name);
        Ok(self.sql.run(delete).await? > 0)
    }

    /// The names, sorted.
    pub async fn names(&self) -> Result<Vec<String>, StoreError> {
        let select = Statement::new("SELECT name FROM secret ORDER BY name");
        let rows = self.sql.all(select).await?;
        rows.iter().map(|row| row.text("name")).collect()
    }

    /// Every secret with its name, so that the redactor knows what to hide.
    pub async fn all(&self) -> Result<Vec<(String, Secret)>, StoreError> {
        let select = Statement::new("SELECT name, nonce, ciphertext FROM secret ORDER BY name");
        let rows = self.sql.all(select).await?;
        rows.iter().map(|row| self.unseal(row)).collect()
    }

    /// A key for another purpose, from which the vault's own cannot be found.
    pub fn subkey(&self, label: &str) -> Zeroizing<[u8; 32]> {
        self.key.subkey(label)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        let key = self.key.subkey("secrets");
        XChaCha20Poly1305::new((&*key).into())
    }

    fn seal(&self, name: &str, nonce: &[u8; NONCE], value: &Secret) -> Result<Vec<u8>, StoreError> {
        // The name is authenticated too: swapping two rows of the table is detected.
        let payload = Payload {
            msg: value.expose().as_bytes(),
            aad: name.as_bytes(),
        };
        self.cipher()
            .encrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| StoreError::invalid(format!("the secret {name} is too long to seal")))
    }

    fn unseal(&self, row: &Row) -> Result<(String, Secret), StoreError> {
        let name = row.text("name")?;
        let damaged = || {
            StoreError::corrupt(format!(
                "the secret {name} does not open with this vault's key: set it again"
            ))
        };
        let nonce = STANDARD.decode(row.text("nonce")?).map_err(|_| damaged())?;
        let nonce: [u8; NONCE] = nonce.try_into().map_err(|_| damaged())?;
        let sealed = STANDARD
            .decode(row.text("ciphertext")?)
            .map_err(|_| damaged())?;
        let payload = Payload {
            msg: &sealed,
            aad: name.as_bytes(),
        };
        let plain = self.cipher().decrypt(&XNonce::from(nonce), payload);
        let plain = Zeroizing::new(plain.map_err(|_| damaged())?);
        let text = std::str::from_utf8(&plain).map_err(|_| damaged())?;
        let secret = Secret::new(text);
        Ok((name, secret))
    }
}

fn check_name(name: &str) -> Result<(), StoreError> {
    let legal = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-' | b'/');
    if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(legal) {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_NAME).collect();
    Err(StoreError::invalid(format!(
        "{shown:?} is not a secret's name: use 1-{MAX_NAME} of A-Z, a-z, 0-9, _ . - and /"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestHome;

    fn secret(text: &str) -> Secret {
        Secret::new(text)
    }

    #[tokio::test]
    async fn a_secret_round_trips_and_survives_reopening() {
        let home = TestHome::new();
        let vault = home.open().await.vault().clone();
        vault.set("mail/token", &secret("old")).await.unwrap();
        vault.set("mail/token", &secret("hunter2 ü")).await.unwrap();
        vault.set("A_b.c-1", &secret("")).await.unwrap();
        let vault = home.open().await.vault().clone();
        assert_eq!(
            vault.get("mail/token").await.unwrap(),
            Some(secret("hunter2 ü"))
        );
        assert_eq!(vault.get("absent").await.unwrap(), None);
        assert_eq!(vault.names().await.unwrap(), ["A_b.c-1", "mail/token"]);
        assert_eq!(vault.all().await.unwrap()[1].1, secret("hunter2 ü"));
        assert!(vault.remove("A_b.c-1").await.unwrap());
        assert!(!vault.remove("A_b.c-1").await.unwrap());
        assert_eq!(vault.names().await.unwrap(), ["mail/token"]);
    }

    #[tokio::test]
    async fn neither_the_files_nor_debug_output_show_a_secret() {
        let home = TestHome::new();
        let store = home.open().await;
        store
            .vault()
            .set("name", &secret("hunter2-in-clear"))
            .await
            .unwrap();
        let shown = format!(
            "{:?} {:?}",
            store.vault(),
            store.vault().all().await.unwrap()
        );
        assert!(!shown.contains("hunter2"), "{shown}");
        store.close().await.unwrap();
        for entry in std::fs::read_dir(home.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let bytes = std::fs::read(&path).unwrap();
                let found = bytes.windows(7).any(|w| w == b"hunter2");
                assert!(!found, "{}", path.display());
            }
        }
    }

    #[tokio::test]
    async fn a_ciphertext_moved_to_another_name_does_not_open() {
        let home = TestHome::new();
        let store = home.open().await;
        let vault = store.vault();
        vault.set("low", &secret("harmless")).await.unwrap();
        vault.set("high", &secret("powerful")).await.unwrap();
        home.raw(
            "UPDATE secret SET (nonce, ciphertext) =
                 (SELECT nonce, ciphertext FROM secret WHERE name = 'high')
             WHERE name = 'low'",
        )
        .await;
        let error = vault.get("low").await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        assert_eq!(vault.get("high").await.unwrap(), Some(secret("powerful")));
    }

    #[tokio::test]
    async fn names_are_checked_and_a_bad_one_stores_nothing() {
        let home = TestHome::new();
        let store = home.open().await;
        for bad in ["", "a b", "ü", "a\n", &"x".repeat(129)] {
            let error = store.vault().set(bad, &secret("s")).await.unwrap_err();
            assert!(matches!(error, StoreError::Invalid { .. }), "{bad}");
        }
        assert!(store.vault().names().await.unwrap().is_empty());
        store
            .vault()
            .set(&"x".repeat(128), &secret("s"))
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn subkeys_differ_by_label_and_last() {
        let home = TestHome::new();
        let one = home.open().await.vault().subkey("audit");
        let again = home.open().await.vault().subkey("audit");
        let other = home.open().await.vault().subkey("else");
        assert_eq!(one, again);
        assert_ne!(one, other);
    }
}
