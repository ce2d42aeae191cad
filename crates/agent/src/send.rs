//! Queueing inputs.

use manyhands_core::{ErrorCode, Timestamp, ToolError};
use manyhands_llm::Block;
use manyhands_store::{
    Enqueued, Rearrangement, SessionChange, SessionRecord, TurnRecord, TurnState,
};
use uuid::Uuid;

use crate::input::Input;
use crate::key::SessionKey;
use crate::origin::Origin;
use crate::runtime::{Minds, MindsInner};

/// The most queued inputs that are listed.
const MAX_LISTED: usize = 50;
/// The most characters of a queued input that are listed.
const MAX_LISTED_TEXT: usize = 8_000;

/// Confirms that an input is queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputReceipt {
    /// The turn's id.
    pub turn: String,
    /// The requester's id for it.
    pub run_id: String,
    /// Whether other turns come before it.
    pub queued: bool,
    /// Whether this run id had been sent before.
    pub repeated: bool,
}

/// An input that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedInput {
    /// The run.
    pub run_id: String,
    /// The beginning of its text.
    pub text: String,
    /// Number of attached pictures.
    pub pictures: usize,
    /// When it was queued.
    pub at: Timestamp,
}

impl Minds {
    /// Queues an input: it is on disk when this returns, and worked on in its order.
    pub async fn send(
        &self,
        key: &SessionKey,
        run_id: Option<String>,
        mut input: Input,
        origin: &Origin,
    ) -> Result<InputReceipt, ToolError> {
        let inner = &self.inner;
        inner.agent(key.agent())?;
        let caller = inner.env.caller(origin)?;
        if let Some(context) = manyhands_telemetry::current() {
            input.traceparent = Some(context.traceparent());
            input.tracestate = context.tracestate().map(str::to_owned);
        }
        let text = json(&input)?;
        // Before anything is created: a caller without storage left must not be able to create sessions.
        inner.env.admit(&caller, text.len() as u64)?;
        let limits = inner.env.limits();
        if !caller.is_owner() {
            inner.check_session_limit(key, limits.sessions).await?;
        }
        let session = inner.session(key).await?;
        inner.note_parent(&session, origin).await?;
        if session.arrangement.archived {
            // Somebody talks in it again, so it is listed again.
            let listed = Rearrangement {
                archived: Some(false),
                ..Rearrangement::default()
            };
            self.arrange(key, listed).await?;
        }
        let most = limits.queued;
        let id = inner.ids.next::<Uuid>().to_string();
        let record = TurnRecord {
            run_id: run_id.unwrap_or_else(|| id.clone()),
            id,
            session_key: session.key,
            state: TurnState::Queued,
            input: text,
            origin: json(origin)?,
            work: "{}".to_owned(),
            outcome: None,
            created: inner.clock.now(),
            started: None,
            ended: None,
        };
        let peer = origin.place.as_ref().map(json).transpose()?;
        // The queue limit, the duplicate check by run id and the insert are one transaction, so concurrent senders can
        // neither exceed the limit nor queue one run twice.
        let taken = inner
            .sessions
            .enqueue(&record, most, peer.as_deref())
            .await?;
        let receipt = |turn: TurnRecord, queued, repeated| InputReceipt {
            turn: turn.id,
            run_id: turn.run_id,
            queued,
            repeated,
        };
        match taken {
            Enqueued::New { before } => {
                // Only after the commit: a worker that is woken earlier could find an empty queue and leave.
                inner.wake(key.as_str());
                Ok(receipt(record, before > 0, false))
            }
            Enqueued::Known(turn) => {
                let open = inner.sessions.open_turns(key.as_str()).await;
                let open = open?;
                let queued = open.iter().skip(1).any(|one| one.id == turn.id);
                Ok(receipt(turn, queued, true))
            }
            Enqueued::Full => {
                let message = format!("{most} messages are already queued in {key}");
                Err(ToolError::new(ErrorCode::RateLimited, message)
                    .hint("wait for an answer, or stop the turn with /stop"))
            }
        }
    }

    /// The queued inputs of a session, in order.
    pub async fn waiting(&self, key: &SessionKey) -> Result<Vec<QueuedInput>, ToolError> {
        let open = self.inner.sessions.open_turns(key.as_str()).await;
        let open = open?.into_iter();
        let queued = open.filter(|turn| turn.state == TurnState::Queued);
        let listed = queued.take(MAX_LISTED).filter_map(|turn| {
            let input: Input = serde_json::from_str(&turn.input).ok()?;
            let pictures = input.pictures.iter();
            Some(QueuedInput {
                run_id: turn.run_id,
                text: input.text.chars().take(MAX_LISTED_TEXT).collect(),
                pictures: pictures
                    .filter(|one| matches!(one, Block::Image { .. }))
                    .count(),
                at: turn.created,
            })
        });
        Ok(listed.collect())
    }
}

impl MindsInner {
    /// Notes which call of which session started a new session.
    async fn note_parent(&self, session: &SessionRecord, origin: &Origin) -> Result<(), ToolError> {
        let Some(parent) = origin.lineage.last().filter(|one| **one != session.key) else {
            return Ok(());
        };
        if session.next_seq > 0 || session.parent.is_some() {
            return Ok(());
        }
        // Calls that start sessions have effects, and those run one at a time.
        let call = self.slots().get(parent).and_then(|slot| {
            let calls = &slot.running.as_ref()?.calls;
            let open = calls.iter().rev().find(|call| call.done.is_none())?;
            Some(open.call_id.clone())
        });
        let acts = vec![SessionChange::Parent {
            session: parent.clone(),
            call,
        }];
        let (key, id) = (&session.key, &session.id);
        self.sessions.commit(key, id, acts, self.now()).await?;
        self.publish_changed(key);
        Ok(())
    }

    /// Refuses to create a session for an agent that has `most` or more; 0 means no limit.
    pub(crate) async fn check_session_limit(
        &self,
        key: &SessionKey,
        most: u64,
    ) -> Result<(), ToolError> {
        let exists = || async {
            self.sessions
                .get(key.as_str())
                .await
                .map_err(ToolError::from)
        };
        if most == 0 || exists().await?.is_some() {
            return Ok(());
        }
        let count = self.sessions.count_of(key.agent()).await;
        let count = count?;
        if count < most {
            return Ok(());
        }
        let message = format!("{} has {count} of {most} conversations", key.agent());
        Err(ToolError::new(ErrorCode::BudgetExceeded, message)
            .hint("delete some, or ask the owner to raise limits.agent_sessions"))
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, ToolError> {
    serde_json::to_string(value).map_err(|e| ToolError::internal(e.to_string()))
}
