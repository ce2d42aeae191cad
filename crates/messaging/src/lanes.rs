//! Which chats of the inbox are being processed, and which wait before they are retried.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::intake::BETWEEN;

/// The most chats processed at once.
const AT_ONCE: usize = 64;
/// The most chats that may wait without a slot.
const MAX_RESTING: usize = 1_000;
/// The longest time without a change before the inbox is read anyway.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// The chats of the inbox. Clones share state.
#[derive(Default, Clone)]
pub(super) struct Lanes(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// Signals that a chat was left.
    left: Notify,
}

#[derive(Default)]
struct State {
    busy: HashSet<String>,
    resting: HashMap<String, Instant>,
}

impl Lanes {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_room(&self) -> bool {
        self.state().busy.len() < AT_ONCE
    }

    /// Returns whether so many chats wait that the next one has to keep its slot meanwhile.
    pub(super) fn is_crowded(&self) -> bool {
        self.state().resting.len() >= MAX_RESTING
    }

    /// The chats that must not be started now.
    pub(super) fn not_now(&self) -> Vec<String> {
        let (now, mut state) = (Instant::now(), self.state());
        state.resting.retain(|_, until| *until > now);
        let State { busy, resting } = &*state;
        busy.iter().chain(resting.keys()).cloned().collect()
    }

    /// Starts a chat, unless it is already being processed.
    pub(super) fn enter(&self, lane: &str) -> Option<Lane> {
        let entered = self.state().busy.insert(lane.to_owned());
        entered.then(|| Lane {
            lanes: self.clone(),
            lane: lane.to_owned(),
            rest: Some(BETWEEN),
        })
    }

    /// Waits until a chat is left.
    pub(super) async fn left(&self) {
        self.0.left.notified().await;
    }

    /// When to read the inbox even if nothing happens.
    pub(super) fn wake(&self) -> Instant {
        let latest = Instant::now() + LOOK_AGAIN;
        let first = self.state().resting.values().min().copied();
        first.map_or(latest, |first| first.min(latest))
    }
}

/// A chat being processed, until dropped, also after a panic.
pub(super) struct Lane {
    lanes: Lanes,
    lane: String,
    /// How long it waits before it is processed again. Preset, so that a chat whose processing
    /// panicked waits, too.
    rest: Option<Duration>,
}

impl Lane {
    /// Ends the processing; the chat waits for `rest` before it is processed again.
    pub(super) fn leave(mut self, rest: Option<Duration>) {
        self.rest = rest;
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut state = self.lanes.state();
        state.busy.remove(&self.lane);
        if let Some(rest) = self.rest {
            let until = Instant::now() + rest;
            state.resting.insert(self.lane.clone(), until);
        }
        drop(state);
        self.lanes.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_chat_whose_work_panics_is_free_again_after_a_while() {
        let lanes = Lanes::default();
        let lane = lanes.enter("a").unwrap();
        assert!(lanes.enter("a").is_none(), "one at a time");
        let work = tokio::spawn(async move {
            let _lane = lane;
            std::panic::resume_unwind(Box::new("as planned"));
        });
        assert!(work.await.unwrap_err().is_panic());
        lanes.left().await;
        assert_eq!(lanes.not_now(), ["a"], "it rests");
        tokio::time::sleep_until(lanes.wake()).await;
        assert_eq!(lanes.not_now(), [""; 0]);
        lanes.enter("a").unwrap().leave(None);
        assert_eq!(
            lanes.not_now(),
            [""; 0],
            "control: work that ends leaves it free"
        );
    }

    #[tokio::test]
    async fn a_task_that_is_aborted_frees_its_chat() {
        let lanes = Lanes::default();
        let lane = lanes.enter("a").unwrap();
        let work = tokio::spawn(async move {
            let _lane = lane;
            std::future::pending::<()>().await;
        });
        work.abort();
        assert!(work.await.unwrap_err().is_cancelled());
        assert!(lanes.enter("a").is_some());
    }
}
