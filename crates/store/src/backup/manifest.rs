//! The manifest of a backup.

use std::io::{self, Read};

use manyhands_core::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::hex;

/// The member that lists all others.
pub(super) const MANIFEST: &str = "manifest.json";
/// The product that makes these backups.
pub(super) const PRODUCT: &str = "manyhands";
/// The format that this version writes and reads.
pub(super) const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    pub(super) format: u32,
    pub(super) product: String,
    pub(super) product_version: String,
    pub(super) created: Timestamp,
    pub(super) members: Vec<Member>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Member {
    pub(super) path: String,
    pub(super) size: u64,
    pub(super) sha256: String,
}

impl Manifest {
    pub(super) fn new(product_version: &str, created: Timestamp, members: Vec<Member>) -> Self {
        Self {
            format: FORMAT,
            product: PRODUCT.to_owned(),
            product_version: product_version.to_owned(),
            created,
            members,
        }
    }
}

/// Counts and hashes what is read through it.
pub(super) struct Hashing<R> {
    inner: R,
    size: u64,
    hash: Sha256,
}

impl<R> Hashing<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            size: 0,
            hash: Sha256::new(),
        }
    }

    pub(super) fn member(self, path: &str) -> Member {
        Member {
            path: path.to_owned(),
            size: self.size,
            sha256: hex::encode(&self.hash.finalize()),
        }
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        // Hashed while copying, so that what is hashed is what was read.
        self.hash.update(&buffer[..count]);
        self.size += count as u64;
        Ok(count)
    }
}
