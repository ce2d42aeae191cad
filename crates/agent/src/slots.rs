//! Exclusive access to sessions: one worker at a time, or one holder that keeps turns from starting.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use manyhands_core::{ApprovalId, ErrorCode, ToolError};
use tokio::sync::futures::OwnedNotified;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::key::SessionKey;
use crate::running::RunningTurn;
use crate::runtime::{Minds, MindsInner};
use crate::slot::SessionSlot;

/// How long a worker without an open turn may take to release its session.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Keeps turns from starting in a session until it is dropped.
pub(crate) struct SessionHold {
    inner: Arc<MindsInner>,
    key: String,
    /// Whether it replaced a worker, which may have left queued turns.
    stopped_turn: bool,
    /// Fires when the user stops what is done meanwhile.
    pub(crate) stop: CancellationToken,
}

impl Drop for SessionHold {
    fn drop(&mut self) {
        // Inputs that arrived while the session was held, or that the replaced worker left, have nobody else to start
        // them.
        if self.inner.free(&self.key) || self.stopped_turn {
            self.inner.wake(&self.key);
        }
    }
}

/// The slot of a worker, released when this is dropped: at the end of its work, or by a panic.
pub(crate) struct SlotGuard {
    inner: Arc<MindsInner>,
    key: String,
    /// Set once the slot is released, since another worker may own it by then.
    pub(crate) freed: bool,
}

impl SlotGuard {
    /// The slot that [`MindsInner::wake`] created for a worker.
    pub(crate) fn new(inner: &Arc<MindsInner>, key: &str) -> Self {
        Self {
            inner: inner.clone(),
            key: key.to_owned(),
            freed: false,
        }
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        if !self.freed {
            self.inner.free(&self.key);
        }
    }
}

impl MindsInner {
    pub(crate) fn has_question(&self, key: &str) -> bool {
        let slots = self.slots();
        slots.get(key).is_some_and(|slot| slot.question.is_some())
    }

    /// Holds a session; `None` while somebody works on it.
    pub(crate) fn hold(self: &Arc<Self>, key: &str) -> Option<SessionHold> {
        let stop = CancellationToken::new();
        let mut slots = self.slots();
        // A running turn or another holder.
        if slots.contains_key(key) {
            return None;
        }
        let slot = SessionSlot {
            stop: stop.clone(),
            ..SessionSlot::default()
        };
        slots.insert(key.to_owned(), slot);
        Some(SessionHold {
            inner: self.clone(),
            key: key.to_owned(),
            stopped_turn: false,
            stop,
        })
    }

    /// Stops the running turn of a session and holds the session.
    pub(crate) async fn stop_and_hold(self: &Arc<Self>, key: &str) -> SessionHold {
        loop {
            let freed = {
                let mut slots = self.slots();
                slots.get_mut(key).map(|slot| {
                    slot.wanted = true;
                    slot.stop.cancel();
                    // Created under the lock, which the release takes too: the notification cannot be missed.
                    slot.freed.clone().notified_owned()
                })
            };
            match freed {
                Some(freed) => freed.await,
                None => {
                    // Another holder may have been faster between the two locks; then wait again.
                    if let Some(mut hold) = self.hold(key) {
                        hold.stopped_turn = true;
                        return hold;
                    }
                }
            }
        }
    }

    /// Resolves when the session is released; `None` when it is free.
    fn freed(&self, key: &str) -> Option<OwnedNotified> {
        let slots = self.slots();
        slots
            .get(key)
            .map(|slot| slot.freed.clone().notified_owned())
    }

    /// Resolves when an input arrives while the session is being worked on.
    pub(crate) fn arrived(&self, key: &str) -> OwnedNotified {
        let slots = self.slots();
        let arrived = slots.get(key).map(|slot| slot.arrived.clone());
        // Without a slot this never resolves: nobody works on the session.
        arrived.unwrap_or_default().notified_owned()
    }

    /// Releases a session; returns whether an input arrived meanwhile.
    fn free(&self, key: &str) -> bool {
        Self::release(&mut self.slots(), key)
    }

    pub(crate) fn release(slots: &mut HashMap<String, SessionSlot>, key: &str) -> bool {
        let Some(slot) = slots.remove(key) else {
            return false;
        };
        slot.freed.notify_waiters();
        slot.again
    }

    /// Makes sure that somebody works on the session.
    pub(crate) fn wake(self: &Arc<Self>, key: &str) {
        let mut slots = self.slots();
        if let Some(slot) = slots.get_mut(key) {
            // Set under the lock under which the worker decides to leave, so that one of the two sees the other.
            slot.again = true;
            slot.arrived.notify_waiters();
            return;
        }
        slots.insert(key.to_owned(), SessionSlot::default());
        drop(slots);
        self.tasks
            .spawn((self.worker)(self.clone(), key.to_owned()));
    }
}

impl Minds {
    /// Stops the running turn of a session; returns whether there was one.
    pub fn stop(&self, key: &SessionKey) -> bool {
        let slots = self.inner.slots();
        let found = slots.get(key.as_str());
        found.inspect(|slot| slot.stop.cancel()).is_some()
    }

    /// Whether somebody works on a session.
    pub fn is_busy(&self, key: &SessionKey) -> bool {
        self.inner.slots().contains_key(key.as_str())
    }

    /// The approval request that a session waits for, and its tool.
    pub fn question(&self, key: &SessionKey) -> Option<(ApprovalId, String)> {
        self.inner.slots().get(key.as_str())?.question.clone()
    }

    /// Number of sessions that somebody works on.
    pub fn busy_count(&self) -> usize {
        self.inner.slots().len()
    }

    /// A snapshot of the running turn. Everything it no longer contains is in the records by the time this returns.
    pub fn running(&self, key: &SessionKey) -> Option<RunningTurn> {
        self.inner.slots().get(key.as_str())?.running.clone()
    }

    /// Holds a session in which nothing is running or queued; fails with a conflict otherwise.
    pub(crate) async fn hold_idle(&self, key: &SessionKey) -> Result<SessionHold, ToolError> {
        let busy = |message: &str| {
            ToolError::new(ErrorCode::Conflict, message)
                .hint("stop it first (/stop, or chat.stop), or wait for the answer")
        };
        let held = async {
            loop {
                // Before the queue is read: a release in between is then not missed.
                let freed = self.inner.freed(key.as_str());
                if self.queued(key).await? > 0 {
                    return Err(busy("a turn is running or queued in the session"));
                }
                if let Some(hold) = self.inner.hold(key.as_str()) {
                    return Ok(hold);
                }
                if let Some(freed) = freed {
                    freed.await; // the worker has answered and is about to leave
                }
            }
        };
        let held = timeout(RELEASE_TIMEOUT, held).await;
        held.unwrap_or_else(|_| Err(busy("the session is busy")))
    }
}
