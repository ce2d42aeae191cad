//! Charges callers for the bytes that their calls write.
//!
//! A call writes through many layers: a tool, a workspace, a blob store. The payer is bound to the call's task, so that
//! every write in it is charged, whatever function makes it. Writes outside of a call, such as maintenance, are charged to
//! nobody.

use std::sync::Arc;

use crate::error::StoreError;

/// Pays for bytes before they are written.
pub trait Charge: Send + Sync {
    /// Takes `bytes` from what is left, or refuses.
    fn charge(&self, bytes: u64) -> Result<(), StoreError>;
    /// Gives back `bytes` that were not written after all.
    fn refund(&self, bytes: u64);
}

tokio::task_local! {
    static PAYER: Arc<dyn Charge>;
}

/// Runs `work`, charging everything it stores to `payer`.
pub async fn charged_to<F: Future>(payer: Arc<dyn Charge>, work: F) -> F::Output {
    PAYER.scope(payer, work).await
}

/// Charged bytes; refunded when dropped without [`Charged::keep`].
pub(crate) struct Charged {
    payer: Option<Arc<dyn Charge>>,
    bytes: u64,
}

impl Charged {
    /// Charges whoever pays for the running call.
    pub(crate) fn new(bytes: u64) -> Result<Self, StoreError> {
        // Absent outside of calls: maintenance is charged to nobody.
        let payer = PAYER.try_with(Arc::clone).ok();
        if let Some(payer) = &payer {
            payer.charge(bytes)?;
        }
        Ok(Self { payer, bytes })
    }

    /// The bytes are stored.
    pub(crate) fn keep(mut self) {
        self.payer = None;
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        if let Some(payer) = &self.payer {
            payer.refund(self.bytes);
        }
    }
}
