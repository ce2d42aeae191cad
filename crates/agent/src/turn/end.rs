//! How a turn ends, and how an unfinished one is put in order.

use manyhands_llm::{Message, ToolCall, ToolResult};
use manyhands_store::{CallState, TurnState};
use serde_json::json;

use super::{Halt, Turn};
use crate::conversation::{Conversation, kind};
use crate::event::What;
use crate::shape::Given;

impl Turn {
    /// Keeps how it ended and tells it. A suspended turn stays as it is.
    pub(crate) async fn end(&mut self, halt: Halt) {
        let (state, outcome, what) = match halt {
            Halt::Suspended => return,
            Halt::Done(text) => {
                let usage = self.work.usage;
                return self.tell_all(What::Final { text, usage });
            }
            Halt::Failed(error) => (
                TurnState::Failed,
                json!({ "error": error, "usage": self.work.usage }),
                What::Error(error),
            ),
            Halt::Stopped => (
                TurnState::Stopped,
                json!({ "usage": self.work.usage }),
                What::Stopped,
            ),
        };
        let ended = self.put_in_order(state, outcome.to_string()).await;
        if let Err(Halt::Failed(error)) = ended {
            tracing::error!(
                turn = self.record.id,
                error,
                "how a turn ended could not be kept"
            );
        }
        self.tell_all(what);
    }

    /// Tells it to this run and to those whose inputs were taken in.
    fn tell_all(&self, what: What) {
        for run in &self.work.merged {
            self.minds.tell(&self.session.key, run, what.clone());
        }
        self.tell(what);
    }

    async fn put_in_order(&mut self, state: TurnState, outcome: String) -> Result<(), Halt> {
        // What was being kept when the turn was halted may be kept or not: look again.
        let sessions = self.minds.sessions.clone();
        if let Some(session) = sessions.get(&self.session.key).await?
            && session.id == self.session.id
        {
            self.session = session;
            let (id, floor) = (&self.session.id, self.session.floor);
            self.conversation = Conversation::load(&sessions, id, floor).await?;
            self.close_open_calls("the turn was stopped").await?;
        }
        let acts = vec![self.moved(state, Some(outcome))];
        self.commit(acts).await
    }

    /// Gives every call of the last reply a result, so that the conversation can go on.
    pub(super) async fn close_open_calls(&mut self, why: &str) -> Result<(), Halt> {
        let calls = self.conversation.open_calls();
        if calls.is_empty() {
            return Ok(());
        }
        let turn = self
            .conversation
            .said
            .last()
            .and_then(|said| said.turn.clone());
        let turn = turn.unwrap_or_else(|| self.record.id.clone());
        let step = match turn == self.record.id {
            true => self.work.step,
            false => self.last_step(&turn).await?,
        };
        let records = self.minds.sessions.calls(&turn, step).await?;
        let result = |call: ToolCall| {
            let record = records.iter().find(|record| record.call_id == call.id);
            let kept = record.and_then(|record| record.outcome.as_deref());
            let kept: Option<Given> = kept.and_then(|kept| serde_json::from_str(kept).ok());
            let given = kept.unwrap_or_else(|| match record.map(|record| record.state) {
                Some(CallState::Started) => Given::unknown(&call.name),
                _ => Given::error(&call.name, &format!("not run: {why}")),
            });
            ToolResult {
                id: call.id,
                name: call.name,
                content: given.content,
                is_error: given.is_error,
            }
        };
        let results = calls.into_iter().map(result).collect();
        let message = Message::Tool { results };
        let acts = vec![self.append(kind::TOOL, &message)];
        self.commit(acts).await?;
        self.keep(message);
        Ok(())
    }

    /// Which reply another turn was at.
    async fn last_step(&self, turn: &str) -> Result<i64, Halt> {
        let other = self.minds.sessions.turn(turn).await?;
        let work = other.and_then(|other| serde_json::from_str::<super::Work>(&other.work).ok());
        Ok(work.map_or(0, |work| work.step))
    }
}
