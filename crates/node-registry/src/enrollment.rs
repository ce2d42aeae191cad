//! One-time codes by which a machine becomes a node without anyone copying a token.
//!
//! Anyone who reaches the gateway may try a code, and attempts are not limited. A limit checked
//! before the code would also reject the right code, so anyone who shares the address (or everyone,
//! with a global limit) could keep a machine from enrolling; a limit per code would let them use up
//! the owner's code. So the code itself is the bound: 99 random bits. A million attempts per second
//! for a week, the longest a code is valid, try 2^39 of 2^99.

use std::time::Duration;

use manyhands_core::{NodeId, Timestamp};
use manyhands_store::StoreError;

use super::Nodes;

/// Letters and digits that are not mistaken for each other.
const ALPHABET: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz!";
/// The length of a code; each letter has log2(31) = 4.95 bits.
const LETTERS: usize = 20;
// Shorter codes could be guessed, because attempts are not limited (see above).
const _: () = assert!(LETTERS * 495 >= 80 * 100);

impl Nodes {
    /// Creates a code that lets its bearer become the node `id`, once.
    pub async fn create_code(
        &self,
        id: &NodeId,
        lifetime: Duration,
    ) -> Result<(String, Timestamp), StoreError> {
        let code = self.random_code();
        let (now, expires) = (self.now(), self.now().plus(lifetime));
        self.records.add_code(&code, id, now, expires).await?;
        Ok((code, expires))
    }

    /// Redeems a code and returns the name of its node.
    pub async fn use_code(&self, code: &str) -> Result<Option<NodeId>, StoreError> {
        // Codes are typed from a screen, often with capitals and a trailing space.
        let code = code.trim().to_ascii_lowercase();
        self.records.redeem_code(&code, self.now()).await
    }

    /// `join-xxxxx-xxxxx-xxxxx-xxxxx`: about 99 random bits.
    fn random_code(&self) -> String {
        let mut code = "join".to_owned();
        let mut letters = 0;
        while letters < LETTERS {
            let [byte] = self.ids.random::<1>();
            let letter = ALPHABET[usize::from(byte % 32)];
            if letter == b'!' {
                continue; // 31 letters with equal probability
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
