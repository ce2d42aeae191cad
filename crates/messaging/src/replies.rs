//! Answers go to the chats that were promised them.

use std::time::Duration;

use manyhands_agent::{Lagged, Subscription, TurnEvent, ended};
use manyhands_core::{ChatRef, ErrorCode, ToolError};
use manyhands_store::{NewOutbound, Promise, TurnState};

use super::Chats;
use super::intake::answers;
use super::say::Words;

/// How long a promise whose turn was never begun is kept: the event that asked for it is taken up
/// again after a crash.
const ORPHAN_MS: i64 = 86_400_000;
/// How often promises are looked through.
const ROUND: Duration = Duration::from_secs(60);

impl Chats {
    /// Keeps every promise whose turn has ended, now and whenever one does.
    pub(super) async fn keep_promises(self) {
        let Ok(minds) = self.minds() else { return };
        let mut ends = minds.listen(Subscription::Ends);
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
                    Err(Lagged(_)) => self.look_through().await,
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
            Err(error) => tracing::warn!(%error, "the promises could not be read"),
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
            Err(error) => tracing::warn!(%error, "the promises could not be read"),
        }
    }

    pub(super) async fn try_to_keep(&self, promise: &Promise) {
        if let Err(error) = self.keep_if_ended(promise).await {
            tracing::warn!(%error, session = promise.session_key, "an answer waits");
        }
    }

    /// Puts the answer into the outbox if there is one, and lets go of the promise with it.
    pub(super) async fn keep_if_ended(&self, promise: &Promise) -> Result<(), ToolError> {
        let (session, run) = (&promise.session_key, &promise.run_id);
        let turn = self.0.store.sessions().run(session, run).await;
        let turn = turn?;
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
                    match now? {
                        None => return Ok(()),
                        Some(promise) => self.answer(&promise, &what)?,
                    }
                }
            },
        };
        let kept = self.0.records.keep_promise(session, run, &answer).await;
        kept?;
        self.outbox_changed();
        Ok(())
    }

    fn is_owner(&self, place: &ChatRef) -> bool {
        let (settings, known) = (self.0.settings.current(), self.0.known.load());
        let caller = super::caller_of(&settings, &known, place);
        caller.is_some_and(|caller| caller.is_owner())
    }

    fn answer(&self, promise: &Promise, what: &TurnEvent) -> Result<Vec<NewOutbound>, ToolError> {
        let text = match what {
            TurnEvent::Final { text, .. } => text.clone(),
            TurnEvent::Error(failure) if !self.is_owner(&promise.place) => {
                tracing::warn!(
                    session = promise.session_key,
                    error = failure.text,
                    "a guest was told that there is no answer"
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
        self.rows(Words {
            reply_to: answers(&promise.place),
            ticket: promise.ticket.clone(),
            edits: promise.draft.clone(),
            session: Some(promise.session_key.clone()),
            ..Words::new(&promise.place, &text, &key)
        })
    }
}
