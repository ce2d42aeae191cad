//! How a turn ends, and how an unfinished one is put in order.

use manyhands_llm::{Message, ToolCall, ToolResult};
use manyhands_store::{CallState, TurnState};

use super::{Halt, Said, Turn};
use crate::conversation::Conversation;
use crate::event::{TurnUsage, What};
use crate::outcome::{Outcome, took};
use crate::shape::Given;

impl Turn {
    /// Keeps how it ended and tells it. A suspended turn stays as it is.
    pub(crate) async fn end(&mut self, halt: Halt) {
        let usage = self.work.usage;
        let (state, outcome, what) = match halt {
            Halt::Suspended | Halt::Again | Halt::Parked => return,
            Halt::Done(said) => {
                let Said { text, stop } = said;
                // It ended with the last step that was kept.
                let ended = Some(self.session.updated);
                let usage = TurnUsage {
                    duration_ms: took(self.record.started, ended),
                    ..usage
                };
                let what = What::Final { text, stop, usage };
                for run in self.runs() {
                    self.tell_said(run, what.clone());
                }
                return;
            }
            Halt::Failed(mut failure) => {
                let open = self.conversation.open_calls(&self.record.id);
                failure.acted = self.work.step > 0 || !open.is_empty();
                let outcome = Outcome::failed(&failure, usage);
                (TurnState::Failed, outcome, What::Error(failure))
            }
            Halt::Stopped => (TurnState::Stopped, Outcome::stopped(usage), What::Stopped),
        };
        let ended = self.put_in_order(state, outcome.json()).await;
        if let Err(Halt::Failed(failure)) = ended {
            let error = failure.text;
            tracing::error!(
                turn = self.record.id,
                error,
                "how a turn ended could not be kept"
            );
        }
        self.tell_all(&what);
    }

    /// Tells it to this run and to those whose inputs were taken in.
    fn tell_all(&self, what: &What) {
        for run in self.runs() {
            self.minds.tell(&self.session.key, run, what.clone());
        }
    }

    /// The runs whose inputs were taken in, and this one, which is the last to be told.
    fn runs(&self) -> impl Iterator<Item = &String> {
        let own = std::iter::once(&self.record.run_id);
        self.work.merged.iter().chain(own)
    }

    async fn put_in_order(&mut self, state: TurnState, outcome: String) -> Result<(), Halt> {
        // What was being kept when the turn was halted may be kept or not: look again.
        let sessions = self.minds.sessions.clone();
        let Some(session) = sessions.get(&self.session.key).await? else {
            let (id, now) = (&self.record.id, self.minds.now());
            return Ok(sessions.fail_turn(id, &outcome, now).await?);
        };
        let same = session.id == self.session.id;
        self.session = session;
        if same {
            let (id, floor) = (&self.session.id, self.session.floor);
            self.conversation = Conversation::load(&sessions, id, floor).await?;
            let own = self.record.id.clone();
            self.close_open_calls(&own, "the turn was stopped").await?;
        }
        let acts = vec![self.moved(state, Some(outcome))];
        self.commit(acts).await
    }

    /// The turn that was cut off after its last reply: its calls have no results, and nobody will give them
    /// any. One that waits for the owner, or lets others go first, was not.
    pub(super) async fn cut_off(&self) -> Result<Option<String>, Halt> {
        let Some(turn) = self.conversation.cut_off() else {
            return Ok(None);
        };
        let open = self.minds.sessions.open_turns(&self.session.key).await?;
        let goes_on = open.iter().any(|one| one.id == turn);
        Ok((!goes_on).then(|| turn.to_owned()))
    }

    /// Gives every call of a turn's last reply a result, so that the conversation can go on.
    pub(super) async fn close_open_calls(&mut self, turn: &str, why: &str) -> Result<(), Halt> {
        let calls = self.conversation.open_calls(turn);
        if calls.is_empty() {
            return Ok(());
        }
        // As it is kept: what this turn has in mind may be a step ahead when it was halted.
        let step = self.last_step(turn).await?;
        let records = self.minds.sessions.calls(turn, step).await?;
        let mut made = Vec::with_capacity(calls.len());
        let result = |(at, call): (usize, ToolCall)| {
            let record = records.get(at).filter(|record| record.call_id == call.id);
            let kept = record.and_then(|record| record.outcome.as_deref());
            let kept: Option<Given> = kept.and_then(|kept| serde_json::from_str(kept).ok());
            let given = kept.unwrap_or_else(|| match record.map(|record| record.state) {
                Some(CallState::Started) => Given::unknown(&call.name),
                _ => Given::error(&call.name, &format!("not run: {why}")),
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
        self.keep_results(message, made);
        Ok(())
    }

    /// Which reply a turn was at, as it is kept.
    async fn last_step(&self, turn: &str) -> Result<i64, Halt> {
        let other = self.minds.sessions.turn(turn).await?;
        let work = other.and_then(|other| serde_json::from_str::<super::Work>(&other.work).ok());
        Ok(work.map_or(0, |work| work.step))
    }
}
