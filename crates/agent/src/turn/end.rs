//! Ending turns, and repairing the conversation after interrupted ones.

use manyhands_llm::{Message, ToolCall, ToolResult};
use manyhands_store::{CallState, TurnState};

use super::{FinalAnswer, Halt, Turn};
use crate::call_output::CallOutput;
use crate::conversation::Conversation;
use crate::event::TurnEvent;
use crate::outcome::{StoredOutcome, took};
use crate::progress::TurnProgress;
use crate::usage::TurnUsage;

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
        let ended = self.close(state, outcome.json()).await;
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

    /// Gives open calls a result and stores the final state.
    async fn close(&mut self, state: TurnState, outcome: String) -> Result<(), Halt> {
        // `run` may have been dropped in the middle of a commit, so memory may be a step behind the disk: read it again.
        let sessions = self.minds.sessions.clone();
        let Some(session) = sessions.get(&self.session.key).await? else {
            // Deleted meanwhile; only the turn's record is left.
            let (id, now) = (&self.record.id, self.minds.now());
            return Ok(sessions.fail_turn(id, &outcome, now).await?);
        };
        let same = session.id == self.session.id;
        self.session = session;
        // A reset gave the session a new id and archived its messages; there is no call left to close.
        if same {
            let (id, floor) = (&self.session.id, self.session.floor);
            self.conversation = Conversation::load(&sessions, id, floor).await?;
            let own = self.record.id.clone();
            self.close_open_calls(&own, "the turn was stopped").await?;
        }
        let acts = vec![self.moved(state, Some(outcome))];
        self.commit(acts).await
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
                _ => CallOutput::error(&call.name, &format!("not run: {why}")),
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
