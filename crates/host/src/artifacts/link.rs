//! Links by which an artifact is downloaded without a token: signed, and good for a while.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use manyhands_core::{ArtifactId, Clock, Timestamp};
use manyhands_store::Vault;
use sha2::Sha256;
use zeroize::Zeroizing;

/// Makes and checks links. Cheap to clone.
#[derive(Clone)]
pub struct Links(Arc<Inner>);

struct Inner {
    key: Zeroizing<[u8; 32]>,
    clock: Arc<dyn Clock>,
    /// Where the gateway listens, once it does.
    base: OnceLock<String>,
}

impl Links {
    /// Links signed with a key from `vault`.
    pub fn new(vault: &Vault, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            key: vault.subkey("artifact-links"),
            clock,
            base: OnceLock::new(),
        }))
    }

    /// Says where the gateway listens.
    pub fn listens_at(&self, url: &str) {
        let _ = self.0.base.set(url.to_owned()); // said once, by the daemon
    }

    /// A link to `id`, and until when it is good.
    pub fn make(
        &self,
        id: ArtifactId,
        good: Duration,
        public: Option<&str>,
    ) -> (String, Timestamp) {
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

    /// Whether a link was made here and is still good.
    pub fn holds(&self, id: ArtifactId, expires: i64, signature: &str) -> bool {
        let Some(given) = unhex(signature) else {
            return false;
        };
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
