//! Working on sessions: one turn at a time, in order, until the queue is empty.
//!
//! A worker exists only while its session has something to do. It owns the session's slot, so turns of one session never
//! overlap, and it releases the slot even if a turn panics.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use manyhands_core::{Panicked, ToolError, contained};
use manyhands_store::{SessionChange, SessionRecord, StoreError, TurnRecord};
use tokio_util::sync::CancellationToken;

use crate::conversation::kind;
use crate::event::TurnEvent;
use crate::failure::{Failure, FailureKind};
use crate::key::SessionKey;
use crate::outcome::StoredOutcome;
use crate::progress::TurnProgress;
use crate::running::RunningTurn;
use crate::runtime::{MindParts, Minds, MindsInner};
use crate::slots::SlotGuard;
use crate::trace;
use crate::turn::{Halt, OpenTurn, Turn};
use crate::turn_note::TurnNote;
use crate::usage::TurnUsage;

impl Minds {
    /// Builds the sessions' state without starting any work; see [`resume`](Self::resume).
    pub fn new(parts: MindParts) -> Self {
        let inner = MindsInner::new(parts, |inner, key| {
            Box::pin(async move { inner.work(&key).await })
        });
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Resumes every turn that a shutdown or a crash interrupted; returns the number of sessions.
    pub async fn resume(&self) -> Result<usize, StoreError> {
        let unfinished = self.inner.sessions.with_open_turns().await?;
        let mut count = 0;
        for key in &unfinished {
            // A sub-agent works for a call of its parent's turn, and that call is recorded as interrupted: nobody would
            // read the answer.
            if key.parse::<SessionKey>().is_ok_and(|key| key.is_sub()) {
                self.inner.abandon(key).await?;
                continue;
            }
            self.inner.wake(key);
            count += 1;
        }
        Ok(count)
    }

    /// Turns that ended since the start, by how they ended.
    pub fn turn_counts(&self) -> [(&'static str, u64); 3] {
        self.inner.turn_counts.all()
    }

    /// Waits until all workers have finished. The environment must be stopping, or new ones keep starting.
    pub async fn rest(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

impl MindsInner {
    /// Works on a session until nothing is queued in it.
    async fn work(self: Arc<Self>, key: &str) {
        let mut guard = SlotGuard::new(&self, key);
        loop {
            let wanted = self.slots().get(key).is_none_or(|slot| slot.wanted);
            if wanted {
                return; // the new holder wakes the session again for whatever is queued
            }
            let next = self.next(key).await;
            if let Some(record) = next
                && !self.env.stopping().is_cancelled()
            {
                match self.one_turn(key, record).await {
                    true => continue,
                    // Its end is not on disk, so it is still first in the queue and would fail again at once: leave
                    // until the next input or start instead of looping.
                    false => return,
                }
            }
            let mut slots = self.slots();
            let slot = slots.get_mut(key);
            let again = slot.is_some_and(|slot| std::mem::take(&mut slot.again) || slot.wanted);
            if !again || self.env.stopping().is_cancelled() {
                // Released under the same lock as the check: an input that arrives after it finds the session free and
                // wakes a new worker. Between the two locks it would set `again` for nobody.
                Self::release(&mut slots, key);
                guard.freed = true;
                return;
            }
        }
    }

    /// The turn to work on next.
    async fn next(&self, key: &str) -> Option<TurnRecord> {
        match self.sessions.open_turns(key).await {
            Ok(open) => {
                let mut slots = self.slots();
                let parked = slots.get_mut(key).map(|slot| &mut slot.parked);
                let Some(parked) = parked.filter(|parked| !parked.is_empty()) else {
                    return open.into_iter().next();
                };
                let all: Vec<OpenTurn> = open.iter().cloned().map(OpenTurn::of).collect();
                let next = OpenTurn::next(&all, parked);
                if next.is_none() {
                    parked.clear(); // nobody else is queued: the parked turns get their place back
                }
                next.or_else(|| open.into_iter().next())
            }
            Err(error) => {
                tracing::error!(
                    event = "session_queue_unreadable",
                    session = key,
                    %error,
                    "cannot read the queue of a session"
                );
                None
            }
        }
    }

    /// Works on one turn; returns whether the next one may start.
    async fn one_turn(self: &Arc<Self>, key: &str, record: TurnRecord) -> bool {
        // The token is the slot's, which exists since the session was woken: a stop that arrives before the turn begins
        // stops it too.
        let stop = self.slots().get_mut(key).map(|slot| {
            slot.running = Some(RunningTurn::of(&record.run_id));
            slot.stop.clone()
        });
        let stop = stop.unwrap_or_default();
        let ran = contained(self.run_turn(key, record.clone(), stop)).await;
        let mut parked = false;
        let settled = match ran {
            Ok(is_parked) => {
                parked = is_parked;
                true
            }
            Err(panicked) => {
                let ending = contained(self.turn_panicked(key, &record, &panicked)).await;
                ending.unwrap_or(false)
            }
        };
        if let Some(slot) = self.slots().get_mut(key) {
            // A fresh token: the stop was meant for this turn, not for the queued ones.
            slot.stop = CancellationToken::new();
            slot.running = None;
            match parked {
                true => slot.parked.push(record.id),
                false => slot.parked.clear(),
            }
        }
        settled
    }

    /// Ends a turn that panicked and notifies everybody who waits for it or for an input it merged. It is not retried,
    /// since it would panic again. Returns whether its end is on disk.
    async fn turn_panicked(&self, key: &str, record: &TurnRecord, panicked: &Panicked) -> bool {
        let (turn, reason) = (&record.id, &panicked.reason);
        tracing::error!(
            event = "turn_panicked",
            session = key,
            turn,
            reason,
            "internal error (a bug in manyhands): a turn panicked"
        );
        // Read again: the panic may have come after steps that `record` does not know.
        let stored = self.sessions.turn(&record.id).await.ok().flatten();
        let progress = stored.and_then(|turn| TurnProgress::of(&turn));
        let progress = progress.unwrap_or_default();
        let mut why = Failure::new(FailureKind::Other, panicked.to_string());
        let calls = self.sessions.calls(&record.id, progress.step).await;
        why.acted = progress.step > 0 || calls.is_ok_and(|calls| !calls.is_empty());
        for run in &progress.merged {
            self.publish(key, run, TurnEvent::Error(why.clone()));
        }
        self.give_up(key, record, why).await
    }

    /// Runs a turn; returns whether it was parked to let others go first.
    async fn run_turn(
        self: &Arc<Self>,
        key: &str,
        record: TurnRecord,
        stop: CancellationToken,
    ) -> bool {
        let run_id = record.run_id.clone();
        let session = match self.session_of(key).await {
            Ok(session) => session,
            Err(error) => {
                self.give_up(key, &record, Failure::from(&error)).await;
                return false;
            }
        };
        match Turn::load(self, session, record.clone(), stop).await {
            Ok(mut turn) => {
                let mut span = trace::begin(&turn);
                let halt = span.run(turn.run()).await;
                trace::describe(&mut span, &turn, &halt);
                drop(span);
                self.count(&halt);
                if let Halt::Failed(error) = &halt {
                    let (kind, error) = (error.kind.word(), &error.text);
                    tracing::warn!(
                        event = "turn_failed",
                        session = key,
                        run = run_id,
                        kind,
                        error,
                        "turn failed"
                    );
                }
                let parked = matches!(halt, Halt::Parked);
                turn.end(halt).await;
                turn.release();
                parked
            }
            Err(error) => {
                self.give_up(key, &record, Failure::from(&error)).await;
                false
            }
        }
    }

    /// Counts a turn that has ended; others go on later.
    fn count(&self, halt: &Halt) {
        let counts = &self.turn_counts;
        let counter = match halt {
            Halt::Done(_) => &counts.done,
            Halt::Failed(_) => &counts.failed,
            Halt::Stopped => &counts.stopped,
            Halt::Again | Halt::Suspended | Halt::Parked => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The session of a turn; created again if it was deleted just before the turn was queued.
    async fn session_of(self: &Arc<Self>, key: &str) -> Result<SessionRecord, ToolError> {
        if let Some(session) = self.sessions.get(key).await? {
            return Ok(session);
        }
        let parsed: Result<SessionKey, _> = key.parse();
        let key = parsed.map_err(|e| ToolError::internal(e.to_string()))?;
        self.session(&key).await
    }

    /// Ends the turns of a session whose requester no longer waits.
    async fn abandon(&self, key: &str) -> Result<(), StoreError> {
        let why = "the gateway restarted and the requester is no longer connected";
        let why = Failure::new(FailureKind::Interrupted, why);
        self.end_open(key, &why).await.map(drop)
    }

    /// Notes in the conversation why a turn failed, if its message is there.
    async fn note_failure(
        &self,
        key: &str,
        record: &TurnRecord,
        why: &Failure,
    ) -> Result<(), StoreError> {
        let begun = self.sessions.turn(&record.id).await?;
        let Some(session) = self.sessions.get(key).await? else {
            return Ok(());
        };
        if begun.is_none_or(|turn| turn.started.is_none()) {
            return Ok(());
        }
        let note = SessionChange::Append {
            turn: Some(record.id.clone()),
            kind: kind::NOTE,
            body: TurnNote::failed(why).body(),
        };
        let (id, now) = (&session.id, self.clock.now());
        self.sessions
            .commit(key, id, vec![note], now)
            .await
            .map(drop)
    }

    /// Ends a turn that cannot be worked on, so that it does not block the queue; returns whether its end is on disk.
    async fn give_up(&self, key: &str, record: &TurnRecord, why: Failure) -> bool {
        let outcome = StoredOutcome::failed(&why, TurnUsage::default()).json();
        let ended = self
            .sessions
            .fail_turn(&record.id, &outcome, self.clock.now())
            .await;
        if let Err(error) = self.note_failure(key, record, &why).await {
            tracing::warn!(
                event = "turn_note_not_persisted",
                session = key,
                %error,
                "failed to persist why a turn failed"
            );
        }
        if let Err(error) = &ended {
            tracing::error!(
                event = "turn_end_not_persisted",
                session = key,
                %error,
                "failed to persist the end of a turn"
            );
        }
        self.publish(key, &record.run_id, TurnEvent::Error(why));
        ended.is_ok()
    }
}
