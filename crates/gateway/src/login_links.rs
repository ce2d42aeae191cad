//! One-time login links for browsers.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

/// Lifetime of an unused link, in milliseconds.
const LINK_MS: i64 = 3_600_000;
/// Unused links kept at once.
const MAX_LINKS: usize = 32;

/// Unused links by the hash of their code, with their expiry. Looking up a hash leaks no timing
/// information about a code.
#[derive(Default)]
pub(crate) struct LoginLinks(Mutex<BTreeMap<[u8; 32], i64>>);

impl LoginLinks {
    /// Adds a code, valid for one use.
    pub(crate) fn add(&self, code: &str, now: i64) {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|_, until| *until > now);
        // Removes an arbitrary one: the keys are hashes, and 32 open links are not ordinary use.
        if links.len() >= MAX_LINKS {
            links.pop_first();
        }
        links.insert(Sha256::digest(code).into(), now + LINK_MS);
    }

    /// Redeems a code; returns whether it was valid.
    pub(crate) fn take(&self, code: &str, now: i64) -> bool {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Removed whether or not it expired: a code is never valid twice.
        let until = links.remove(&<[u8; 32]>::from(Sha256::digest(code)));
        until.is_some_and(|until| until > now)
    }
}
