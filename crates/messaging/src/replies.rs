//! Answers go to the chats that were promised them.

use std::time::Duration;

use manyhands_agent::{Missed, What, Whose, ended};
use manyhands_core::{ErrorCode, Place, ToolError};
use manyhands_store::{NewOutbound, Promise, TurnState};

use super::intake::answers;
use super::say::Words;
use super::{Chats, unkept};

/// How long a promise whose turn was never begun is kept: the event that asked for it is taken up
/// again after a crash.
const ORPHAN_MS: i64 = 86_400_000;
/// How often promises are looked through.
const ROUND: Duration = Duration::from_secs(60);

impl Chats {
    /// Keeps every promise whose turn has ended, now and whenever one does.
    pub(super) async fn keep_promises(self) {
        let Ok(minds) = self.minds() else { return };
        let mut ends = minds.listen(Whose::Ends);
        self.look_through().await;
        let mut round = tokio::time::interval(ROUND);
        round.tick().await;
        loop {
            tokio::select! {
                event = ends.next() => match event {
                    Ok(event) => {
                        let session = event.session.to_string();
                        let promised = self.0.records.promised(&session, &event.run_id).await;
                        if let Ok(Some(promise)) = promised {
                            self.try_to_keep(&promise).await;
                        }
                    }
                    Err(Missed(_)) => self.look_through().await,
                },
                _ = round.tick() => self.look_through().await,
            }
        }
    }

    async fn look_through(&self) {
        match self.0.records.promises().await {
            Ok(promises) => {
                for promise in promises {
                    self.try_to_keep(&promise).await;
                }
            }
            Err(error) => {
                tracing::warn!(event = "promises_read_failed", %error, "failed to read which replies are owed")
            }
        }
    }

    /// Keeps what a conversation owes while its turns are still on record: it is about to be deleted.
    pub async fn settle(&self, session: &str) {
        match self.0.records.promises().await {
            Ok(promises) => {
                for promise in promises.iter().filter(|one| one.session_key == session) {
                    self.try_to_keep(promise).await;
                }
            }
            Err(error) => {
                tracing::warn!(event = "promises_read_failed", %error, "failed to read which replies are owed")
            }
        }
    }

    pub(super) async fn try_to_keep(&self, promise: &Promise) {
        if let Err(error) = self.keep_if_ended(promise).await {
            tracing::warn!(event = "reply_queue_failed", session = promise.session_key, %error, "failed to queue a reply; will retry");
        }
    }

    /// Puts the answer into the outbox if there is one, and lets go of the promise with it.
    pub(super) async fn keep_if_ended(&self, promise: &Promise) -> Result<(), ToolError> {
        let (session, run) = (&promise.session_key, &promise.run_id);
        let turn = self.0.store.sessions().run(session, run).await;
        let turn = turn.map_err(|e| unkept(&e))?;
        let answer = match &turn {
            None if self.0.clock.now().0 - promise.created.0 > ORPHAN_MS => Vec::new(),
            None => return Ok(()),
            // Whoever spoke meanwhile is answered with the turn that took it in.
            Some(turn) if turn.state == TurnState::Merged => Vec::new(),
            Some(turn) => match ended(turn) {
                None => return Ok(()),
                Some(_) if !self.0.lives.shut(session, run) => return Ok(()),
                Some(what) => {
                    // The last draft may have been noted since the promise was read.
                    let now = self.0.records.promised(session, run).await;
                    match now.map_err(|e| unkept(&e))? {
                        None => return Ok(()),
                        Some(promise) => self.answer(&promise, &what)?,
                    }
                }
            },
        };
        let kept = self.0.records.keep_promise(session, run, &answer).await;
        kept.map_err(|e| unkept(&e))?;
        self.outbox_changed();
        Ok(())
    }

    fn is_owner(&self, place: &Place) -> bool {
        let (settings, known) = (self.0.settings.current(), self.0.known.load());
        let caller = super::caller_of(&settings, &known, place);
        caller.is_some_and(|caller| caller.is_owner())
    }

    fn answer(&self, promise: &Promise, what: &What) -> Result<Vec<NewOutbound>, ToolError> {
        let text = match what {
            What::Final { text, .. } => text.clone(),
            What::Error(failure) if !self.is_owner(&promise.place) => {
                tracing::warn!(
                    event = "turn_failed_for_guest",
                    session = promise.session_key,
                    error = failure.text,
                    "a turn failed; the guest received a generic message"
                );
                "I could not answer that. Please try again later.".to_owned()
            }
            What::Error(failure) => {
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
        self.rows(Words {
            reply_to: answers(&promise.place),
            ticket: promise.ticket.clone(),
            edits: promise.draft.clone(),
            session: Some(promise.session_key.clone()),
            ..Words::new(&promise.place, &text, &key)
        })
    }
}
