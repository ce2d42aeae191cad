//! One-time codes: how a machine becomes a node without anybody copying a token.
//!
//! Anybody who reaches the gateway may try a code, and every try is checked. A limit on tries cannot
//! be applied before the check without refusing the right code too, which would let whoever shares
//! the address, or everybody if the limit were global, keep a machine from enrolling; and a limit on
//! tries per code would let them use the owner's code up. So the bound is the code itself: 99 random
//! bits. Somebody who tries a million codes a second for the week that a code may be valid at most
//! has tried 2^39 of 2^99.

use std::time::Duration;

use manyhands_core::{NodeId, Timestamp};
use manyhands_store::StoreError;

use super::Nodes;

/// Letters and digits that nobody mistakes for each other.
const ALPHABET: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz!";
/// How many of them are in a code; each has log2(31) = 4.95 bits.
const LETTERS: usize = 20;
// Shorter codes could be guessed, and tries are not limited: see above.
const _: () = assert!(LETTERS * 495 >= 80 * 100);

impl Nodes {
    /// Makes a code that lets its bearer become the node `id`, once.
    pub async fn make_code(
        &self,
        id: &NodeId,
        lifetime: Duration,
    ) -> Result<(String, Timestamp), StoreError> {
        let code = self.random_code();
        let (now, expires) = (self.now(), self.now().plus(lifetime));
        self.records.add_code(&code, id, now, expires).await?;
        Ok((code, expires))
    }

    /// Uses a code up: the name of the node it stands for.
    pub async fn use_code(&self, code: &str) -> Result<Option<NodeId>, StoreError> {
        let code = code.trim().to_ascii_lowercase();
        self.records.take_code(&code, self.now()).await
    }

    /// `join-xxxxx-xxxxx-xxxxx-xxxxx`: about 99 random bits.
    fn random_code(&self) -> String {
        let mut code = "join".to_owned();
        let mut letters = 0;
        while letters < LETTERS {
            let [byte] = self.ids.random::<1>();
            let letter = ALPHABET[usize::from(byte % 32)];
            if letter == b'!' {
                continue; // 31 letters, each as likely as the next
            }
            if letters % 5 == 0 {
                code.push('-');
            }
            code.push(char::from(letter));
            letters += 1;
        }
        code
    }
}
