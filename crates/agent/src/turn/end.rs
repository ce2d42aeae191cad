//! Ending turns, and repairing the conversation after interrupted ones.

use manyhands_llm::{Message, ReplyBlock, ToolCall, ToolResult};
use manyhands_store::{CallState, SessionChange, TurnState};

use super::{FinalAnswer, Halt, Turn};
use crate::call_output::{CallOutput, CallStats, CallVerdict};
use crate::conversation::{Conversation, body_of_stopped, kind};
use crate::event::TurnEvent;
use crate::failure::Failure;
use crate::outcome::{StoredOutcome, took};
use crate::progress::TurnProgress;
use crate::turn_note::TurnNote;
use crate::usage::TurnUsage;

/// What is left to say of a turn without an answer.
enum LastWords {
    /// Somebody stopped it; what had been written of the reply.
    Stopped(String),
    /// It failed.
    Failed(Failure),
}

impl Turn {
    /// Stores how the turn ended and publishes it. Suspended and parked turns stay open.
    pub(crate) async fn end(&mut self, halt: Halt) {
        let usage = self.progress.usage;
        let (state, outcome, what) = match halt {
            Halt::Suspended | Halt::Again | Halt::Parked => return,
            // The end is on disk already: it was committed together with the answer, so there is nothing left to store.
            Halt::Done(answer) => {
                let FinalAnswer { text, stop } = answer;
                let ended = Some(self.session.updated);
                let usage = TurnUsage {
                    duration_ms: took(self.record.started, ended),
                    ..usage
                };
                let what = TurnEvent::Final { text, stop, usage };
                for run in self.runs() {
                    self.publish_message(run, what.clone());
                }
                return;
            }
            Halt::Failed(mut failure) => {
                let open = self.conversation.open_calls(&self.record.id);
                failure.acted = self.progress.step > 0 || !open.is_empty();
                let outcome = StoredOutcome::failed(&failure, usage);
                (TurnState::Failed, outcome, TurnEvent::Error(failure))
            }
            Halt::Stopped => (
                TurnState::Stopped,
                StoredOutcome::stopped(usage),
                TurnEvent::Stopped,
            ),
        };
        let last_words = match &what {
            TurnEvent::Error(failure) => LastWords::Failed(failure.clone()),
            _ => LastWords::Stopped(std::mem::take(&mut *self.spoken())),
        };
        let ended = self.close(state, outcome.json(), last_words).await;
        if let Err(Halt::Failed(failure)) = ended {
            // Published all the same: subscribers must not wait forever because the disk is full.
            let error = failure.text;
            tracing::error!(
                event = "turn_end_not_persisted",
                turn = self.record.id,
                error,
                "failed to persist the end of a turn"
            );
        }
        self.publish_to_all(&what);
    }

    /// Publishes an event to this run and to the runs merged into it.
    fn publish_to_all(&self, what: &TurnEvent) {
        for run in self.runs() {
            self.minds.publish(&self.session.key, run, what.clone());
        }
    }

    /// The merged runs and this one. Its own comes last, because its end clears the snapshot of the running turn.
    fn runs(&self) -> impl Iterator<Item = &String> {
        let own = std::iter::once(&self.record.run_id);
        self.progress.merged.iter().chain(own)
    }

    /// Gives open calls a result and stores the final state, with what is left of the reply.
    async fn close(
        &mut self,
        state: TurnState,
        outcome: String,
        last_words: LastWords,
    ) -> Result<(), Halt> {
        // `run` may have been dropped in the middle of a commit, so memory may be a step behind the disk: read it again.
        let sessions = self.minds.sessions.clone();
        let Some(session) = sessions.get(&self.session.key).await? else {
            // Deleted meanwhile; only the turn's record is left.
            let (id, now) = (&self.record.id, self.minds.now());
            return Ok(sessions.fail_turn(id, &outcome, now).await?);
        };
        let same = session.id == self.session.id;
        self.session = session;
        let mut acts = Vec::new();
        // A reset gave the session a new id and archived its messages; there is no call left to close.
        if same {
            let (id, floor) = (&self.session.id, self.session.floor);
            self.conversation = Conversation::load(&sessions, id, floor).await?;
            let own = self.record.id.clone();
            self.close_open_calls(&own, "the turn was stopped").await?;
            // Only after its own message: a turn that did not begin left nothing in the conversation.
            if self.conversation.has(&own) {
                acts.push(self.append_last_words(last_words));
            }
        }
        acts.push(self.moved(state, Some(outcome)));
        self.commit(acts).await
    }

    /// The entry after which nothing more of this turn follows. A text that was written before a stop becomes a message,
    /// which the model sees too; anything else is a note, which only people see.
    fn append_last_words(&self, last_words: LastWords) -> SessionChange {
        let (kind, body) = match last_words {
            LastWords::Stopped(text) if !text.trim().is_empty() && !self.has_said(&text) => {
                (kind::ASSISTANT, body_of_stopped(&Message::assistant(text)))
            }
            LastWords::Stopped(_) => (kind::NOTE, TurnNote::stopped().body()),
            LastWords::Failed(failure) => (kind::NOTE, TurnNote::failed(&failure).body()),
        };
        SessionChange::Append {
            turn: Some(self.record.id.clone()),
            kind,
            body,
        }
    }

    /// Whether its last reply has this text: the stop came after it was stored.
    fn has_said(&self, text: &str) -> bool {
        let own = self.conversation.entries.iter().rev();
        let mut own = own.filter(|entry| entry.turn.as_deref() == Some(&self.record.id));
        let last = own.find_map(|entry| match &entry.message {
            Message::Assistant { content } => Some(content),
            _ => None,
        });
        let is_text = |block: &ReplyBlock| matches!(block, ReplyBlock::Text { text: said, .. } if said == text);
        last.is_some_and(|content| content.iter().any(is_text))
    }

    /// The turn whose calls at the end of the conversation will never get results. A turn that is still open (waiting for
    /// the owner, or parked) will finish them itself.
    pub(super) async fn interrupted_turn(&self) -> Result<Option<String>, Halt> {
        let Some(turn) = self.conversation.unanswered_turn() else {
            return Ok(None);
        };
        let open = self.minds.sessions.open_turns(&self.session.key).await?;
        let goes_on = open.iter().any(|one| one.id == turn);
        Ok((!goes_on).then(|| turn.to_owned()))
    }

    /// Gives every call of a turn's last reply a result. Providers reject a conversation in which a call has none, so
    /// without this the session could not be used again.
    pub(super) async fn close_open_calls(&mut self, turn: &str, why: &str) -> Result<(), Halt> {
        let calls = self.conversation.open_calls(turn);
        if calls.is_empty() {
            return Ok(());
        }
        // From disk: the copy in memory may be a step ahead if a commit was interrupted.
        let step = self.last_step(turn).await?;
        let records = self.minds.sessions.calls(turn, step).await?;
        let mut made = Vec::with_capacity(calls.len());
        let result = |(at, call): (usize, ToolCall)| {
            let record = records.get(at).filter(|record| record.call_id == call.id);
            let stored = record.and_then(|record| record.outcome.as_deref());
            let stored: Option<CallOutput> =
                stored.and_then(|text| serde_json::from_str(text).ok());
            let given = stored.unwrap_or_else(|| match record.map(|record| record.state) {
                Some(CallState::Started) => CallOutput::unknown(&call.name),
                _ => CallOutput::error(&call.name, &format!("not run: {why}"))
                    .with(CallStats::ended(CallVerdict::Stopped)),
            });
            made.push(given.made);
            ToolResult {
                id: call.id,
                name: call.name,
                content: given.content,
                is_error: given.is_error,
            }
        };
        let results = calls.into_iter().enumerate().map(result).collect();
        let message = Message::Tool { results };
        let acts = vec![self.append_results(&message, &made)];
        self.commit(acts).await?;
        self.remember_results(message, made);
        Ok(())
    }

    /// The step that a turn has reached, from disk.
    async fn last_step(&self, turn: &str) -> Result<i64, Halt> {
        let other = self.minds.sessions.turn(turn).await?;
        let progress = other.and_then(|other| TurnProgress::of(&other));
        Ok(progress.map_or(0, |progress| progress.step))
    }
}
