//! Links that log a browser in, once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

/// How long a link is good that nobody used.
const LINK_MS: i64 = 3_600_000;
/// How many links may wait.
const MAX_LINKS: usize = 32;

/// Links that wait to be used, by the hash of their code, and until when they are good. How long it
/// takes to find a hash says nothing about a code.
#[derive(Default)]
pub(crate) struct Links(Mutex<BTreeMap<[u8; 32], i64>>);

impl Links {
    /// A code is good from now on, for one use.
    pub(crate) fn add(&self, code: &str, now: i64) {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|_, until| *until > now);
        if links.len() >= MAX_LINKS {
            links.pop_first();
        }
        links.insert(Sha256::digest(code).into(), now + LINK_MS);
    }

    /// Uses a code up; whether it was good.
    pub(crate) fn take(&self, code: &str, now: i64) -> bool {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let until = links.remove(&<[u8; 32]>::from(Sha256::digest(code)));
        until.is_some_and(|until| until > now)
    }
}
