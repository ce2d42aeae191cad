//! One turn: from an input to an answer, with every step on disk before the next.

mod back;
mod calls;
mod end;
mod parking;
mod reply;
mod room;
mod witness;

pub(crate) use parking::Open;
pub(crate) use reply::usage;
pub(crate) use room::{Room, place_to_cut_last, size_of};

use std::sync::Arc;

use manyhands_core::{Caller, Taint, ToolError};
use manyhands_llm::{Block, Message, StopReason};
use manyhands_store::{SessionChange, SessionRecord, StoreError, TurnRecord, TurnState};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::client::{ClientRequest, ClientTool};
use crate::conversation::{Conversation, body, body_of_results, kind};
use crate::event::{TurnUsage, What};
use crate::fence;
use crate::key::SessionKey;
use crate::minds::Inner;
use crate::outcome::{Failure, FailureKind, Outcome};
use crate::outside::Origin;
use crate::plan::Plan;
use crate::settings::{AgentSettings, SessionSettings, TurnLimits};
use crate::shape::Made;

/// What was said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Input {
    /// The text.
    pub text: String,
    /// Pictures beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Block>,
    /// Only these tools, where whoever asks chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Another model than the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<manyhands_llm::ModelId>,
    /// The JSON Schema that the answer has to fit, as far as the provider can see to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<serde_json::Value>,
    /// Another level of thinking than the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<manyhands_llm::Thinking>,
    /// How the client of one request asks, where it speaks a model's own format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Box<ClientRequest>>,
}

impl Input {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Whether it asks for nothing but an answer, so that a running turn may take it in.
    fn is_plain(&self) -> bool {
        self.tools.is_none()
            && self.model.is_none()
            && self.output.is_none()
            && self.thinking.is_none()
            && self.client.is_none()
    }

    /// Whether there is nothing new to say: the conversation that is there is to be continued.
    fn continues(&self) -> bool {
        let client = self.client.as_ref();
        client.is_some_and(|client| client.continues)
    }

    /// The tool of this name that the client runs.
    pub(crate) fn client_tool(&self, name: &str) -> Option<&ClientTool> {
        let client = self.client.as_ref()?;
        client.tools.iter().find(|tool| tool.name == name)
    }
}

/// How far a turn is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Work {
    /// How many replies there were.
    pub(crate) step: i64,
    /// What they used up.
    pub(crate) usage: TurnUsage,
    /// The untrusted text that was read first.
    pub(crate) tainted: Taint,
    /// Runs whose inputs became part of this turn.
    pub(crate) merged: Vec<String>,
    /// The last call and how often it was made in a row.
    pub(crate) repeated: (String, u32),
    /// What the model means to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<Plan>,
}

/// The last words of a turn.
pub(crate) struct Said {
    pub(crate) text: String,
    /// Why the model said no more.
    pub(crate) stop: StopReason,
}

/// Why a turn goes no further.
pub(crate) enum Halt {
    /// It has its answer.
    Done(Said),
    /// It has none.
    Failed(Failure),
    /// Somebody stopped it.
    Stopped,
    /// The session began anew before the turn did: it is taken up again, in the new one.
    Again,
    /// The house closes; it goes on after the next start.
    Suspended,
    /// It waits for the owner and lets other people's turns go first; then it is taken up again.
    Parked,
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Changed { .. } => Self::Stopped, // the session was reset meanwhile
            other => Self::Failed(Failure::new(
                FailureKind::Storage,
                format!("the conversation could not be kept: {other}"),
            )),
        }
    }
}

/// A turn that is being worked on.
pub(crate) struct Turn {
    pub(crate) minds: Arc<Inner>,
    pub(crate) session: SessionRecord,
    pub(crate) record: TurnRecord,
    pub(crate) input: Input,
    pub(crate) origin: Origin,
    pub(crate) caller: Arc<Caller>,
    pub(crate) agent: AgentSettings,
    pub(crate) settings: SessionSettings,
    pub(crate) limits: TurnLimits,
    pub(crate) cancel: CancellationToken,
    pub(crate) conversation: Conversation,
    pub(crate) work: Work,
}

impl Turn {
    /// Takes a turn up, from its beginning or from where it was.
    pub(crate) async fn take_up(
        minds: &Arc<Inner>,
        session: SessionRecord,
        record: TurnRecord,
        cancel: CancellationToken,
    ) -> Result<Self, ToolError> {
        let damaged =
            |e: serde_json::Error| ToolError::internal(format!("the turn is damaged: {e}"));
        let input: Input = serde_json::from_str(&record.input).map_err(damaged)?;
        let origin: Origin = serde_json::from_str(&record.origin).map_err(damaged)?;
        let work: Work = serde_json::from_str(&record.work).map_err(damaged)?;
        let settings = serde_json::from_str(&session.settings).unwrap_or_default();
        let agent = minds.agent(&session.agent)?;
        let caller = minds.house.caller(&origin)?;
        let caller = Arc::new(caller.through(origin.actor(&session.agent)));
        let sessions = &minds.sessions;
        let conversation = match minds.recent.take(&session) {
            Some(held) => held,
            None => Conversation::load(sessions, &session.id, session.floor)
                .await
                .map_err(|e| ToolError::internal(e.to_string()))?,
        };
        Ok(Self {
            limits: minds.house.limits(),
            minds: minds.clone(),
            session,
            record,
            input,
            origin,
            caller,
            agent,
            settings,
            cancel,
            conversation,
            work,
        })
    }

    /// The conversation is held for the next turn.
    pub(crate) fn leave(self) {
        self.minds.recent.hold(&self.session, self.conversation);
    }

    /// Works until there is an answer, or a reason why there is none.
    pub(crate) async fn run(&mut self) -> Halt {
        let (cancel, minds) = (self.cancel.clone(), self.minds.clone());
        tokio::select! {
            biased;
            () = cancel.cancelled() => Halt::Stopped,
            () = minds.house.stopping().cancelled() => Halt::Suspended,
            halt = self.go_on() => halt.unwrap_or_else(|halt| halt),
        }
    }

    async fn go_on(&mut self) -> Result<Halt, Halt> {
        if self.record.state == TurnState::Queued {
            self.begin().await?;
        } else if !self.input.continues() && !self.conversation.has(&self.record.id) {
            return Err(Halt::Stopped); // the session was reset while this turn stepped aside
        } else {
            self.wait_for_tools().await?;
        }
        loop {
            if !self.conversation.open_calls(&self.record.id).is_empty() {
                if let Some(said) = self.run_calls().await? {
                    return Ok(Halt::Done(said));
                }
                self.take_in().await?;
            }
            if let Some(said) = self.next_reply().await? {
                return Ok(Halt::Done(said));
            }
        }
    }

    /// The input becomes part of the conversation.
    async fn begin(&mut self) -> Result<(), Halt> {
        if let Some(turn) = self.cut_off().await? {
            self.close_open_calls(&turn, "it was interrupted before this message came")
                .await?;
        }
        let (input, origin) = (self.input.clone(), self.origin.clone());
        self.work.tainted.absorb(&origin.taint());
        self.work.tainted.absorb(&self.session.taint);
        self.work.tainted.absorb(&self.agent.taint);
        if let Some(client) = &input.client {
            self.work.tainted.absorb(&client.taint);
        }
        let message = (!input.continues()).then(|| as_message(&input, &origin));
        let mut acts = vec![self.moved(TurnState::Running, None)];
        acts.extend(
            message
                .iter()
                .map(|message| self.append(kind::USER, message)),
        );
        acts.extend(self.newly_tainted());
        let begun = self.commit(acts).await;
        begun.map_err(|halt| match halt {
            Halt::Stopped => Halt::Again,
            other => other,
        })?;
        if let Some(message) = message {
            self.tell_taken(&self.record.run_id, &message, None);
            self.keep(message);
        }
        self.record.state = TurnState::Running;
        self.record.started = self.record.started.or(Some(self.session.updated));
        Ok(())
    }

    /// The conversation becomes tainted with the turn: what was read stays in it.
    fn newly_tainted(&self) -> Option<SessionChange> {
        let newly = self.work.tainted.is_tainted() && !self.session.taint.is_tainted();
        newly.then(|| SessionChange::Taint(self.work.tainted.clone()))
    }

    /// Takes in what the same person said meanwhile.
    async fn take_in(&mut self) -> Result<(), Halt> {
        let open = self.minds.sessions.open_turns(&self.session.key).await?;
        for waiting in open {
            let theirs = serde_json::from_str::<Origin>(&waiting.origin);
            let ours = waiting.state == TurnState::Queued
                && theirs.is_ok_and(|theirs| theirs.is_same(&self.origin));
            let Ok(input) = serde_json::from_str::<Input>(&waiting.input) else {
                continue;
            };
            if !ours || !input.is_plain() {
                continue;
            }
            let message = as_message(&input, &self.origin);
            let run = waiting.run_id;
            self.work.merged.push(run.clone());
            let merged = SessionChange::Turn {
                id: waiting.id,
                state: TurnState::Merged,
                work: None,
                outcome: Some(Outcome::merged(&self.record.id).json()),
            };
            let acts = vec![
                merged,
                self.append(kind::USER, &message),
                self.moved(TurnState::Running, None),
            ];
            self.commit(acts).await?;
            let into = Some(self.record.run_id.clone());
            self.tell_taken(&run, &message, into);
            self.keep(message);
        }
        Ok(())
    }

    /// Tells that the message that was just kept is what a run asked.
    fn tell_taken(&self, run: &str, message: &Message, into: Option<String>) {
        let taken = What::Taken {
            at: self.session.updated,
            message: message.clone(),
            into,
        };
        let seq = Some(self.last_seq());
        self.minds.tell_kept(&self.session.key, run, taken, seq);
    }

    /// The number of the message that was kept last.
    fn last_seq(&self) -> i64 {
        self.session.next_seq - 1
    }

    /// The key of its session.
    fn key(&self) -> SessionKey {
        let own = self.session.key.parse();
        own.unwrap_or_else(|_| SessionKey::main(&self.session.agent))
    }

    fn append(&self, kind: &'static str, message: &Message) -> SessionChange {
        SessionChange::Append {
            turn: Some(self.record.id.clone()),
            kind,
            body: body(message),
        }
    }

    /// What tools gave, with how their calls went.
    fn append_results(&self, message: &Message, made: &[Option<Made>]) -> SessionChange {
        SessionChange::Append {
            turn: Some(self.record.id.clone()),
            kind: kind::TOOL,
            body: body_of_results(message, made),
        }
    }

    /// This turn in another state, with how far it is.
    fn moved(&self, state: TurnState, outcome: Option<String>) -> SessionChange {
        SessionChange::Turn {
            id: self.record.id.clone(),
            state,
            work: serde_json::to_string(&self.work).ok(),
            outcome,
        }
    }

    async fn commit(&mut self, acts: Vec<SessionChange>) -> Result<(), Halt> {
        let minds = &self.minds;
        let (key, id) = (&self.session.key, &self.session.id);
        let now = minds.clock.now();
        self.session = minds.sessions.commit(key, id, acts, now).await?;
        Ok(())
    }

    /// Adds the message that was just kept.
    fn keep(&mut self, message: Message) {
        self.keep_results(message, Vec::new());
    }

    /// Adds what tools gave, which was just kept with how their calls went.
    fn keep_results(&mut self, message: Message, made: Vec<Option<Made>>) {
        let seq = self.last_seq();
        self.conversation.add(seq, &self.record.id, message, made);
    }

    /// Tells what became the message that was kept last.
    fn tell_said(&self, run: &str, what: What) {
        let seq = Some(self.last_seq());
        self.minds.tell_kept(&self.session.key, run, what, seq);
    }

    fn tell(&self, what: What) {
        self.minds
            .tell(&self.session.key, &self.record.run_id, what);
    }

    /// What takes longer than a turn may is given up.
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Halt> {
        timeout(self.limits.wall, work).await.map_err(|_| {
            let limit = self.limits.wall;
            let message = format!("the turn took longer than {limit:?} and was ended");
            Halt::Failed(Failure::new(FailureKind::TurnTimeout, message))
        })
    }
}

/// What was said, as a model is shown it: the owner's words as they are, others' as data.
fn as_message(input: &Input, origin: &Origin) -> Message {
    let text = match origin.trusted {
        true => input.text.clone(),
        false => fence::fenced(&format!("person:{}", origin.name), &input.text),
    };
    let mut content = vec![Block::Text { text }];
    content.extend(input.pictures.iter().cloned());
    Message::User { content }
}
