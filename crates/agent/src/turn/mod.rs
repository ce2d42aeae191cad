//! One turn: from an input to an answer.
//!
//! A turn is a state machine whose every step is on disk before the next one starts: the input, each reply together with
//! the calls it asks for, the start of each call, its result, the results together with the next step's number. A crash
//! at any point leaves a record from which [`Turn::load`] and [`Turn::run`] continue, and no call with effects runs twice.
//!
//! The order within a step is: commit, then update the copy in memory, then publish. A reader who hears of an event finds
//! it in the records; a failed commit leaves memory and subscribers without it.

mod calls;
mod end;
mod parking;
mod reply;
mod room;
mod tools;
mod witness;

pub(crate) use parking::OpenTurn;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use manyhands_core::{Caller, ToolError};
use manyhands_llm::{Message, StopReason};
use manyhands_store::{SessionChange, SessionRecord, StoreError, TurnRecord, TurnState};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::call_output::CallStats;
use crate::conversation::{Conversation, body, body_of_results, kind};
use crate::event::TurnEvent;
use crate::failure::{Failure, FailureKind};
use crate::input::{Input, as_message};
use crate::key::SessionKey;
use crate::origin::Origin;
use crate::outcome::StoredOutcome;
use crate::progress::TurnProgress;
use crate::runtime::MindsInner;
use crate::settings::{AgentSettings, SessionSettings, TurnLimits};
use crate::title;

/// The answer with which a turn ends.
pub(crate) struct FinalAnswer {
    pub(crate) text: String,
    /// Why the model stopped.
    pub(crate) stop: StopReason,
}

/// Why a turn stops running.
pub(crate) enum Halt {
    /// It has an answer.
    Done(FinalAnswer),
    /// It failed.
    Failed(Failure),
    /// The user stopped it, or its session was reset.
    Stopped,
    /// The session was reset before the turn began: it is loaded again, in the new session.
    Again,
    /// The gateway is stopping; the turn resumes after the next start.
    Suspended,
    /// It waits for the owner and lets other people's turns go first; then it is loaded again.
    Parked,
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Changed { .. } => Self::Stopped, // the session was reset
            other => Self::Failed(Failure::new(
                FailureKind::Storage,
                format!("failed to store the conversation: {other}"),
            )),
        }
    }
}

/// A turn that is being worked on.
pub(crate) struct Turn {
    pub(crate) minds: Arc<MindsInner>,
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
    pub(crate) progress: TurnProgress,
    /// What was written of the reply that is being received.
    pub(crate) spoken: Mutex<String>,
    /// The title that this turn gave to its session: a model may find a better one after the reply.
    pub(crate) titled: Option<String>,
}

impl Turn {
    pub(crate) fn spoken(&self) -> MutexGuard<'_, String> {
        self.spoken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads a turn, new or interrupted.
    pub(crate) async fn load(
        minds: &Arc<MindsInner>,
        session: SessionRecord,
        record: TurnRecord,
        cancel: CancellationToken,
    ) -> Result<Self, ToolError> {
        let damaged =
            |e: serde_json::Error| ToolError::internal(format!("the stored turn is damaged: {e}"));
        let input: Input = serde_json::from_str(&record.input).map_err(damaged)?;
        let origin: Origin = serde_json::from_str(&record.origin).map_err(damaged)?;
        let progress: TurnProgress = serde_json::from_str(&record.work).map_err(damaged)?;
        let settings = serde_json::from_str(&session.settings).unwrap_or_default();
        let agent = minds.agent(&session.agent)?;
        // Looked up again rather than stored: rights may have been revoked since the input was queued.
        let caller = minds.env.caller(&origin)?;
        let caller = Arc::new(caller.through(origin.actor(&session.agent)));
        let sessions = &minds.sessions;
        // Taken out, not shared: the turn changes its copy, and puts it back only if it is still what is on disk.
        let conversation = match minds.cache.take(&session) {
            Some(cached) => cached,
            None => Conversation::load(sessions, &session.id, session.floor)
                .await
                .map_err(|e| ToolError::internal(e.to_string()))?,
        };
        Ok(Self {
            limits: minds.env.limits(),
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
            progress,
            spoken: Mutex::default(),
            titled: None,
        })
    }

    /// Caches the conversation for the next turn.
    pub(crate) fn release(self) {
        self.minds.cache.put(&self.session, self.conversation);
    }

    /// Runs until there is an answer or a reason to stop.
    pub(crate) async fn run(&mut self) -> Halt {
        let (cancel, minds) = (self.cancel.clone(), self.minds.clone());
        // Biased: a stop wins over a step that is ready at the same moment. Dropping `go_on` is safe because every step
        // is committed before it counts; `end` reads from disk what was stored.
        tokio::select! {
            biased;
            () = cancel.cancelled() => Halt::Stopped,
            () = minds.env.stopping().cancelled() => Halt::Suspended,
            halt = self.go_on() => halt.unwrap_or_else(|halt| halt),
        }
    }

    async fn go_on(&mut self) -> Result<Halt, Halt> {
        if self.record.state == TurnState::Queued {
            self.begin().await?;
        } else if !self.input.continues() && !self.conversation.has(&self.record.id) {
            return Err(Halt::Stopped); // the session was reset while this turn was parked
        } else {
            self.wait_for_tools().await?;
        }
        loop {
            // Open calls come first: after a crash the last stored reply may have calls without results.
            if !self.conversation.open_calls(&self.record.id).is_empty() {
                if let Some(answer) = self.run_calls().await? {
                    return Ok(Halt::Done(answer));
                }
                self.merge_queued().await?;
            }
            if let Some(answer) = self.next_reply().await? {
                return Ok(Halt::Done(answer));
            }
        }
    }

    /// Adds the input to the conversation.
    async fn begin(&mut self) -> Result<(), Halt> {
        if let Some(turn) = self.interrupted_turn().await? {
            // The commit of the input below would otherwise follow calls without results.
            self.close_open_calls(&turn, "it was interrupted before this message came")
                .await?;
        }
        let (input, origin) = (self.input.clone(), self.origin.clone());
        self.progress.tainted.absorb(&origin.taint());
        self.progress.tainted.absorb(&self.session.taint);
        self.progress.tainted.absorb(&self.agent.taint);
        if let Some(client) = &input.client {
            self.progress.tainted.absorb(&client.taint);
        }
        let message = (!input.continues()).then(|| as_message(&input, &origin));
        // State, message and taint in one commit: a turn that is `running` always has its input in the conversation.
        let mut acts = vec![self.moved(TurnState::Running, None)];
        acts.extend(
            message
                .iter()
                .map(|message| self.append(kind::USER, message)),
        );
        acts.extend(self.newly_tainted());
        let title = message
            .as_ref()
            .and_then(|message| self.first_title(message));
        acts.extend(title.iter().map(|title| SessionChange::Title {
            replaces: None,
            title: title.clone(),
        }));
        let committed = self.commit(acts).await;
        // The commit is refused when the session got a new id since it was loaded. Nothing was done yet, so the input is not
        // lost but starts in the new session.
        committed.map_err(|halt| match halt {
            Halt::Stopped => Halt::Again,
            other => other,
        })?;
        if let Some(message) = message {
            self.publish_taken(&self.record.run_id, &message, None);
            self.remember(message);
        }
        if title.is_some() {
            self.minds.publish_changed(&self.session.key);
            self.titled = title;
        }
        self.record.state = TurnState::Running;
        self.record.started = self.record.started.or(Some(self.session.updated));
        Ok(())
    }

    /// The title of a session that has none yet: the beginning of its first message.
    fn first_title(&self, message: &Message) -> Option<String> {
        if self.session.title.is_some() {
            return None;
        }
        let earlier = self.conversation.entries.iter().map(|entry| &entry.message);
        let mut said = earlier.chain([message]);
        said.find_map(title::beginning)
    }

    /// Taints the session once the turn is tainted: what was read stays in the conversation.
    fn newly_tainted(&self) -> Option<SessionChange> {
        let newly = self.progress.tainted.is_tainted() && !self.session.taint.is_tainted();
        newly.then(|| SessionChange::Taint(self.progress.tainted.clone()))
    }

    /// Merges queued inputs of the same person into this turn, so that its next reply answers them too.
    async fn merge_queued(&mut self) -> Result<(), Halt> {
        let open = self.minds.sessions.open_turns(&self.session.key).await?;
        for waiting in open {
            let theirs = serde_json::from_str::<Origin>(&waiting.origin);
            let ours = waiting.state == TurnState::Queued
                && theirs.is_ok_and(|theirs| theirs.is_same(&self.origin));
            // A damaged input stays queued; its own turn will report it.
            let Ok(input) = serde_json::from_str::<Input>(&waiting.input) else {
                continue;
            };
            if !ours || !input.is_plain() {
                continue;
            }
            let message = as_message(&input, &self.origin);
            let run = waiting.run_id;
            self.progress.merged.push(run.clone());
            let merged = SessionChange::Turn {
                id: waiting.id,
                state: TurnState::Merged,
                work: None,
                outcome: Some(StoredOutcome::merged(&self.record.id).json()),
            };
            // One commit: the input is either still queued or part of this turn, never both.
            let acts = vec![
                merged,
                self.append(kind::USER, &message),
                self.moved(TurnState::Running, None),
            ];
            self.commit(acts).await?;
            let into = Some(self.record.run_id.clone());
            self.publish_taken(&run, &message, into);
            self.remember(message);
        }
        Ok(())
    }

    /// Publishes that the message stored last is the input of a run.
    fn publish_taken(&self, run: &str, message: &Message, into: Option<String>) {
        let taken = TurnEvent::Taken {
            at: self.session.updated,
            message: message.clone(),
            into,
        };
        self.minds
            .publish_stored(&self.session.key, run, taken, self.last_seq());
    }

    /// The number of the message stored last.
    fn last_seq(&self) -> i64 {
        self.session.next_seq - 1
    }

    /// The session's key.
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

    /// Appends tool results with the stats of their calls.
    fn append_results(&self, message: &Message, made: &[Option<CallStats>]) -> SessionChange {
        SessionChange::Append {
            turn: Some(self.record.id.clone()),
            kind: kind::TOOL,
            body: body_of_results(message, made),
        }
    }

    /// Moves this turn to a state, with its progress.
    fn moved(&self, state: TurnState, outcome: Option<String>) -> SessionChange {
        SessionChange::Turn {
            id: self.record.id.clone(),
            state,
            work: serde_json::to_string(&self.progress).ok(),
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

    /// Adds the message that was just stored to the conversation in memory.
    fn remember(&mut self, message: Message) {
        self.remember_results(message, Vec::new());
    }

    /// The same for tool results.
    fn remember_results(&mut self, message: Message, made: Vec<Option<CallStats>>) {
        let seq = self.last_seq();
        self.conversation.add(seq, &self.record.id, message, made);
    }

    /// Publishes an event about the message stored last.
    fn publish_message(&self, run: &str, what: TurnEvent) {
        self.minds
            .publish_stored(&self.session.key, run, what, self.last_seq());
    }

    fn publish(&self, what: TurnEvent) {
        self.minds
            .publish(&self.session.key, &self.record.run_id, what);
    }

    /// Fails the turn if `work` takes longer than its time limit.
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Halt> {
        timeout(self.limits.wall, work).await.map_err(|_| {
            let limit = self.limits.wall;
            let message = format!("the turn took longer than {limit:?} and was ended");
            Halt::Failed(Failure::new(FailureKind::TurnTimeout, message))
        })
    }
}
