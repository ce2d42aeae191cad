//! Delivers replies to the chats they were promised to.

use std::collections::BTreeSet;
use std::time::Duration;

use manyhands_agent::{Lagged, Subscription, TurnEvent, ended};
use manyhands_core::{ChatRef, ErrorCode, ToolError};
use manyhands_store::{NewOutbound, PendingReply, TurnState};

use super::Chats;
use super::intake::answers;
use super::outgoing::OutgoingText;

/// How long a promise without a turn is stored: after a crash the event is processed again and
/// starts the turn.
const ORPHAN_MS: i64 = 86_400_000;
/// How often all promises are checked.
const ROUND: Duration = Duration::from_secs(60);

/// How a turn ended whose reply is owed.
enum End {
    /// Nothing is to be said.
    WithoutReply,
    /// With a text or a failure.
    Reply(TurnEvent),
}

impl Chats {
    /// Fulfils every promise whose turn has ended, now and whenever a turn ends.
    pub(super) async fn fulfil_promises(self) {
        let Ok(minds) = self.minds() else { return };
        // Subscribe before the first pass, or a turn that ends in between would wait for the next
        // round.
        let mut ends = minds.listen(Subscription::Ends);
        self.check_promises().await;
        let mut round = tokio::time::interval(ROUND);
        round.tick().await;
        loop {
            tokio::select! {
                event = ends.next() => match event {
                    Ok(event) => self.try_to_fulfil(&event.session.to_string()).await,
                    // Events were lost, so any promise may be due.
                    Err(Lagged(_)) => self.check_promises().await,
                },
                _ = round.tick() => self.check_promises().await,
            }
        }
    }

    async fn check_promises(&self) {
        match self.0.records.pending_replies().await {
            Ok(mut promises) => {
                let mut sessions = BTreeSet::new();
                promises.retain(|one| sessions.insert(one.session_key.clone()));
                for first in promises {
                    self.try_to_fulfil(&first.session_key).await;
                }
            }
            Err(error) => {
                tracing::warn!(event = "promises_read_failed", %error, "failed to read which replies are owed")
            }
        }
    }

    /// Queues the replies that a session owes, logging a failure.
    pub async fn try_to_fulfil(&self, session: &str) {
        if let Err(error) = self.fulfil(session).await {
            tracing::warn!(event = "reply_queue_failed", session, %error, "failed to queue a reply; will retry");
        }
    }

    /// Queues the replies that a session owes for turns that have ended, in order.
    pub(super) async fn fulfil(&self, session: &str) -> Result<(), ToolError> {
        let promises = self.0.records.pending_replies_of(session).await?;
        let mut due = Vec::new();
        // The newest first: a turn that ended before a later one is then seen to have ended, too. One that waits for an
        // approval holds nothing up.
        for promise in promises.into_iter().rev() {
            if let Some(end) = self.turn_end(&promise).await? {
                due.push((promise, end));
            }
        }
        for (promise, end) in due.into_iter().rev() {
            if !self.queue_reply(&promise, end).await? {
                break;
            }
        }
        Ok(())
    }

    /// How the turn of a promise ended; `None` if it goes on, or is still to begin.
    async fn turn_end(&self, promise: &PendingReply) -> Result<Option<End>, ToolError> {
        let (session, run) = (&promise.session_key, &promise.run_id);
        let turn = self.0.store.sessions().turn_of_run(session, run).await?;
        Ok(match &turn {
            None if self.0.clock.now().0 - promise.created.0 > ORPHAN_MS => Some(End::WithoutReply),
            None => None,
            // The message was merged into a running turn, whose reply covers it.
            Some(turn) if turn.state == TurnState::Merged => Some(End::WithoutReply),
            Some(turn) => ended(turn).map(End::Reply),
        })
    }

    /// Queues the reply; the promise is removed in the same transaction, so a crash neither loses nor doubles it.
    /// Returns `false` while a draft is being sent, which later replies must not overtake.
    async fn queue_reply(&self, promise: &PendingReply, end: End) -> Result<bool, ToolError> {
        let (session, run) = (&promise.session_key, &promise.run_id);
        let answer = match end {
            End::WithoutReply => Vec::new(),
            // The sending task queues the reply afterwards, so the two cannot overtake each other.
            End::Reply(_) if !self.0.lives.shut(session, run) => return Ok(false),
            End::Reply(what) => {
                // Read the promise again: the last draft may have been recorded since.
                let now = self.0.records.pending_reply(session, run).await;
                match now? {
                    None => return Ok(true),
                    Some(promise) => self.answer(&promise, &what)?,
                }
            }
        };
        self.0.records.send_reply(session, run, &answer).await?;
        self.outbox_changed();
        Ok(true)
    }

    fn is_owner(&self, place: &ChatRef) -> bool {
        let (settings, known) = (self.0.settings.current(), self.0.known.load());
        let caller = super::caller_of(&settings, &known, place);
        caller.is_some_and(|caller| caller.is_owner())
    }

    fn answer(
        &self,
        promise: &PendingReply,
        what: &TurnEvent,
    ) -> Result<Vec<NewOutbound>, ToolError> {
        let text = match what {
            TurnEvent::Final { text, .. } => text.clone(),
            // Error texts may name hosts, models and paths; guests get a generic one.
            TurnEvent::Error(failure) if !self.is_owner(&promise.chat) => {
                tracing::warn!(
                    event = "turn_failed_for_guest",
                    session = promise.session_key,
                    error = failure.text,
                    "a turn failed; the guest received a generic message"
                );
                "I could not answer that. Please try again later.".to_owned()
            }
            TurnEvent::Error(failure) => {
                let wait = match failure.kind.code() {
                    ErrorCode::RateLimited | ErrorCode::Unavailable => " Please try again later.",
                    _ => "",
                };
                format!(
                    "I could not answer: {}.{wait}",
                    failure.text.trim_end_matches('.')
                )
            }
            _ => "Stopped.".to_owned(),
        };
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let key = format!("reply:{}:{}", promise.session_key, promise.run_id);
        self.rows(OutgoingText {
            reply_to: answers(&promise.chat),
            ticket: promise.ticket.clone(),
            edits: promise.draft.clone(),
            session: Some(promise.session_key.clone()),
            ..OutgoingText::new(&promise.chat, &text, &key)
        })
    }
}
