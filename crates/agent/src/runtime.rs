//! The state that everything in this crate shares.
//!
//! This module knows nothing of turns: it holds the stores, the session slots and the subscribers, and the modules above
//! extend [`Minds`] and [`MindsInner`] with what they do.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use manyhands_core::{AgentId, Clock, Ids, Invoke, Timestamp, ToolError};
use manyhands_store::{Blobs, SessionRecord, Sessions};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::cache::ConversationCache;
use crate::conversation::Conversation;
use crate::env::AgentEnv;
use crate::event::{ChatEvent, EventPosition, TurnEvent};
use crate::key::{SessionKey, is_passing};
use crate::listener::{ChatListener, Subscribers, Subscription};
use crate::settings::{AgentSettings, SessionSettings};
use crate::slot::SessionSlot;
use crate::turn_counts::TurnCounts;
use crate::wait_graph::WaitGraph;

/// Titles that are asked for at once; others wait.
const MAX_TITLES: usize = 2;

/// Works on a session until nothing is queued in it. Handed to [`MindsInner`] at construction: a woken session runs
/// turns, and turns are built on this module.
pub(crate) type Worker = fn(Arc<MindsInner>, String) -> BoxFuture<'static, ()>;

/// The dependencies of [`Minds`].
pub struct MindParts {
    /// Conversations.
    pub sessions: Sessions,
    /// Archives.
    pub blobs: Blobs,
    /// The path that every tool call takes.
    pub path: Arc<dyn Invoke>,
    /// The surrounding gateway.
    pub env: Arc<dyn AgentEnv>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Ids,
}

/// All sessions of one gateway. Clones share their state.
#[derive(Clone)]
pub struct Minds {
    pub(crate) inner: Arc<MindsInner>,
}

pub(crate) struct MindsInner {
    pub(crate) sessions: Sessions,
    pub(crate) blobs: Blobs,
    pub(crate) path: Arc<dyn Invoke>,
    pub(crate) env: Arc<dyn AgentEnv>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) subscribers: Subscribers,
    /// Long conversations, so that not every turn reads them from disk.
    pub(crate) cache: ConversationCache,
    /// Held from reading a session record to writing it back, so that no update is lost.
    pub(crate) changing: tokio::sync::Mutex<()>,
    /// The sessions that somebody works on or holds. Never locked across an await.
    pub(crate) slots: Mutex<HashMap<String, SessionSlot>>,
    /// Number of replies begun so far.
    replies: AtomicU64,
    pub(crate) turn_counts: TurnCounts,
    pub(crate) tasks: TaskTracker,
    pub(crate) waits: WaitGraph,
    pub(crate) worker: Worker,
    /// Bounds how many titles are asked for at once.
    pub(crate) titles: Semaphore,
}

impl MindsInner {
    pub(crate) fn new(parts: MindParts, worker: Worker) -> Self {
        Self {
            sessions: parts.sessions,
            blobs: parts.blobs,
            path: parts.path,
            env: parts.env,
            clock: parts.clock,
            ids: parts.ids,
            subscribers: Subscribers::default(),
            cache: ConversationCache::default(),
            changing: tokio::sync::Mutex::default(),
            slots: Mutex::default(),
            replies: AtomicU64::default(),
            turn_counts: TurnCounts::default(),
            tasks: TaskTracker::new(),
            waits: WaitGraph::default(),
            worker,
            titles: Semaphore::new(MAX_TITLES),
        }
    }

    pub(crate) fn slots(&self) -> MutexGuard<'_, HashMap<String, SessionSlot>> {
        // A panic while the lock was held leaves every entry whole, so poisoning carries no information.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn agent(&self, id: &AgentId) -> Result<AgentSettings, ToolError> {
        self.env.agent(id).ok_or_else(|| {
            ToolError::not_found(format!("there is no agent {id}"))
                .hint("`manyhands agents` lists them; config.toml makes them under [agents]")
        })
    }

    pub(crate) async fn conversation(
        &self,
        session: &SessionRecord,
    ) -> Result<Conversation, ToolError> {
        let loaded = Conversation::load(&self.sessions, &session.id, session.floor);
        loaded.await.map_err(ToolError::from)
    }

    pub(crate) fn publish(&self, key: &str, run_id: &str, event: TurnEvent) {
        self.publish_at(key, run_id, event, EventPosition::default());
    }

    /// Publishes an event that became message `seq`.
    pub(crate) fn publish_stored(&self, key: &str, run_id: &str, event: TurnEvent, seq: i64) {
        let mark = EventPosition {
            seq: Some(seq),
            ..EventPosition::default()
        };
        self.publish_at(key, run_id, event, mark);
    }

    /// Publishes that a call needs approval.
    pub(crate) fn publish_paused(&self, key: &str, run_id: &str, event: TurnEvent, call_id: &str) {
        let mark = EventPosition {
            call_id: Some(call_id.to_owned()),
            ..EventPosition::default()
        };
        self.publish_at(key, run_id, event, mark);
    }

    fn publish_at(&self, key: &str, run_id: &str, event: TurnEvent, mut mark: EventPosition) {
        let Ok(session) = key.parse() else { return };
        // The slots stay locked until the event is sent. Otherwise a reader could take a snapshot of the running turn
        // between the two steps and then receive an event that the snapshot already contains; and two threads could
        // publish in another order than they updated the snapshot.
        let mut slots = self.slots();
        if let Some(slot) = slots.get_mut(key) {
            slot.note_question(&event);
            let own = slot.running.as_mut().filter(|one| one.run_id == run_id);
            if let Some(running) = own {
                if matches!(event, TurnEvent::Restart { .. }) {
                    running.new_reply(self.next_reply());
                }
                running.note(&event, &mut mark, self.clock.now());
                if event.is_end() {
                    slot.running = None;
                }
            }
        }
        self.subscribers.publish(ChatEvent {
            session,
            run_id: run_id.to_owned(),
            what: event,
            mark,
        });
    }

    /// Publishes that a session appeared or is listed differently.
    pub(crate) fn publish_changed(&self, key: &str) {
        // Temporary sessions are listed nowhere.
        if !key.parse().is_ok_and(|key| is_passing(&key)) {
            self.publish(key, "", TurnEvent::Changed);
        }
    }

    fn next_reply(&self) -> u64 {
        // Numbers only have to differ; they order nothing.
        self.replies.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Gives the reply that a model is about to make its own number.
    pub(crate) fn begin_reply(&self, key: &str) {
        let number = self.next_reply();
        if let Some(Some(running)) = self.slots().get_mut(key).map(|slot| &mut slot.running) {
            running.new_reply(number);
        }
    }
}

impl Minds {
    /// Publishes an event for work that is done for a session outside of its turns.
    pub fn publish_event(&self, key: &SessionKey, name: &str, what: TurnEvent) {
        self.inner.publish(key.as_str(), name, what);
    }

    /// Subscribes to events from now on.
    pub fn listen(&self, to: Subscription<'_>) -> ChatListener {
        self.inner.subscribers.listen(to)
    }

    /// An existing session.
    pub async fn get(&self, key: &SessionKey) -> Result<SessionRecord, ToolError> {
        let found = self.inner.sessions.get(key.as_str()).await;
        found?.ok_or_else(|| {
            no_session(key.as_str())
                .hint("`manyhands sessions` lists them; a message to a new key makes one")
        })
    }

    /// The settings of a session.
    pub fn settings(&self, session: &SessionRecord) -> SessionSettings {
        // Settings that cannot be read must not make the session unusable.
        serde_json::from_str(&session.settings).unwrap_or_default()
    }

    /// Number of turns in a session that are queued or running.
    pub async fn queued(&self, key: &SessionKey) -> Result<usize, ToolError> {
        let open = self.inner.sessions.open_turns(key.as_str()).await;
        open.map(|open| open.len()).map_err(ToolError::from)
    }

    /// The settings of an agent.
    pub fn agent(&self, id: &AgentId) -> Result<AgentSettings, ToolError> {
        self.inner.agent(id)
    }

    /// The path that every tool call takes.
    pub fn path(&self) -> &Arc<dyn Invoke> {
        &self.inner.path
    }
}

pub(crate) fn no_session(key: &str) -> ToolError {
    ToolError::not_found(format!("there is no session {key}"))
}
