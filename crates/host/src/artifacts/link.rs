//! Signed, time-limited links to download an artifact without a token.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use manyhands_core::{ArtifactId, Clock, Timestamp};
use manyhands_store::Vault;
use sha2::Sha256;
use zeroize::Zeroizing;

/// Creates and checks links. Cheap to clone.
#[derive(Clone)]
pub struct DownloadLinks(Arc<Inner>);

struct Inner {
    key: Zeroizing<[u8; 32]>,
    clock: Arc<dyn Clock>,
    /// The listen address, once known.
    base: OnceLock<String>,
}

impl DownloadLinks {
    /// Links signed with a key from `vault`.
    pub fn new(vault: &Vault, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            key: vault.subkey("artifact-links"),
            clock,
            base: OnceLock::new(),
        }))
    }

    /// Sets the listen address. Called once, by the daemon.
    pub fn listens_at(&self, url: &str) {
        let _ = self.0.base.set(url.to_owned()); // set once, by the daemon
    }

    /// A link to `id`, and when it expires.
    pub fn make(
        &self,
        id: ArtifactId,
        good: Duration,
        public: Option<&str>,
    ) -> (String, Timestamp) {
        // Whole seconds, as in the URL: otherwise the signature would cover another time than the
        // link shows.
        let until = Timestamp(self.0.clock.now().plus(good).0 / 1000 * 1000);
        let expires = until.0 / 1000;
        let sealed = self.seal(id, expires).finalize().into_bytes();
        let signature: String = sealed.iter().map(|byte| format!("{byte:02x}")).collect();
        let base = public
            .or(self.0.base.get().map(String::as_str))
            .unwrap_or_default();
        let base = base.trim_end_matches('/');
        let url = format!("{base}/artifacts/{id}?expires={expires}&signature={signature}");
        (url, until)
    }

    /// Returns whether a link was signed here and has not expired.
    pub fn holds(&self, id: ArtifactId, expires: i64, signature: &str) -> bool {
        let Some(given) = unhex(signature) else {
            return false;
        };
        // Constant-time comparison: a byte-wise one would let an attacker guess the signature step
        // by step.
        let genuine = self.seal(id, expires).verify_slice(&given).is_ok();
        genuine && self.0.clock.now().0 < expires.saturating_mul(1000)
    }

    fn seal(&self, id: ArtifactId, expires: i64) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&*self.0.key).expect("any length of key fits");
        mac.update(format!("{id} {expires}").as_bytes());
        mac
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).ok();
    (0..64).step_by(2).map(pair).collect()
}
