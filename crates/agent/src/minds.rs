//! The minds of one gateway: inputs in, turns worked on, events out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use manyhands_core::{
    AgentId, ApprovalId, Clock, ErrorCode, Ids, Invoke, Panicked, Timestamp, ToolError, contained,
};
use manyhands_store::{
    Blobs, Enqueued, SessionRecord, Sessions, StoreError, TurnRecord, TurnState,
};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::asking::Waits;
use crate::event::{ChatEvent, Mark, TurnUsage, What};
use crate::key::SessionKey;
use crate::listening::Audience;
use crate::outcome::{Failure, FailureKind, Outcome};
use crate::outside::{House, Origin};
use crate::recent::Recent;
use crate::running::Running;
use crate::settings::AgentSettings;
use crate::turn::{Halt, Input, Open, Turn, Work};

/// What the minds are built from.
pub struct MindParts {
    /// Conversations.
    pub sessions: Sessions,
    /// Archives.
    pub blobs: Blobs,
    /// The one path to the tools.
    pub path: Arc<dyn Invoke>,
    /// The house around.
    pub house: Arc<dyn House>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Ids,
}

/// The minds of one gateway. Clones are the same.
#[derive(Clone)]
pub struct Minds {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) sessions: Sessions,
    pub(crate) blobs: Blobs,
    pub(crate) path: Arc<dyn Invoke>,
    pub(crate) house: Arc<dyn House>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) audience: Audience,
    /// Long conversations, so that they need not be read for every turn.
    pub(crate) recent: Recent,
    /// Held from reading a session's record to writing it back, so that no change is lost.
    pub(crate) changing: tokio::sync::Mutex<()>,
    /// The sessions that are being worked on.
    busy: Mutex<HashMap<String, Busy>>,
    /// How many replies were begun.
    replies: AtomicU64,
    pub(crate) tasks: TaskTracker,
    /// Who waits for whom.
    pub(crate) waits: Waits,
}

/// A session that is being worked on.
#[derive(Default)]
struct Busy {
    /// Something came meanwhile: look once more before resting.
    again: bool,
    /// Stops the turn that is running.
    stop: CancellationToken,
    /// The question that the turn waits for, and the tool it is about.
    question: Option<(ApprovalId, String)>,
    /// The turn that is being worked on, as far as it is.
    running: Option<Running>,
    /// Somebody wants the session for itself: no further turn begins.
    wanted: bool,
    /// Fires when nobody works on it any more.
    freed: Arc<Notify>,
    /// Fires when something comes meanwhile.
    news: Arc<Notify>,
    /// Turns that wait for the owner and let others go first.
    passed: Vec<String>,
}

impl Busy {
    /// Remembers what the session waits for, until it goes on.
    fn note_question(&mut self, what: &What) {
        self.question = match what {
            What::Paused { approval, tool, .. } => Some((*approval, tool.clone())),
            What::Delta(_) | What::Thinking(_) | What::Restart { .. } | What::ToolOutput { .. } => {
                return;
            }
            _ => None,
        };
    }
}

/// A session in which no turn begins as long as this is held.
pub(crate) struct Hold {
    inner: Arc<Inner>,
    key: String,
    /// Whether somebody worked on the session before.
    took_over: bool,
    /// Fires when somebody stops what is done meanwhile.
    pub(crate) stop: CancellationToken,
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.inner.free(&self.key) || self.took_over {
            self.inner.wake(&self.key); // whatever came meanwhile, or was left by who worked on it
        }
    }
}

/// A session that is being worked on, until this is dropped: by its work's end, or by a panic.
struct Slot {
    inner: Arc<Inner>,
    key: String,
    /// Whether the session is free already, and may be somebody else's by now.
    freed: bool,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.freed {
            self.inner.free(&self.key);
        }
    }
}

/// What became of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The turn.
    pub turn: String,
    /// The asker's own id of it.
    pub run_id: String,
    /// Whether another turn is before it.
    pub queued: bool,
    /// Whether it had been sent before.
    pub repeated: bool,
}

impl Minds {
    /// Minds that are at rest; see [`resume`](Self::resume).
    pub fn new(parts: MindParts) -> Self {
        let inner = Inner {
            sessions: parts.sessions,
            blobs: parts.blobs,
            path: parts.path,
            house: parts.house,
            clock: parts.clock,
            ids: parts.ids,
            audience: Audience::default(),
            recent: Recent::default(),
            changing: tokio::sync::Mutex::default(),
            busy: Mutex::default(),
            replies: AtomicU64::default(),
            tasks: TaskTracker::new(),
            waits: Waits::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Goes on with every turn that a stop or a crash cut off.
    pub async fn resume(&self) -> Result<usize, StoreError> {
        let unfinished = self.inner.sessions.unfinished().await?;
        let mut count = 0;
        for key in &unfinished {
            if key.parse::<SessionKey>().is_ok_and(|key| key.is_sub()) {
                self.inner.let_go(key).await?;
                continue;
            }
            self.inner.wake(key);
            count += 1;
        }
        Ok(count)
    }

    /// Waits until nothing is being worked on; the house must be closing.
    pub async fn rest(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// Takes an input: it is on disk when this returns, and worked on when its place comes.
    pub async fn send(
        &self,
        key: &SessionKey,
        run_id: Option<String>,
        input: Input,
        origin: &Origin,
    ) -> Result<Sent, ToolError> {
        let inner = &self.inner;
        inner.agent(key.agent())?;
        let caller = inner.house.caller(origin)?;
        let text = json(&input)?;
        inner.house.admit(&caller, text.len() as u64)?;
        let limits = inner.house.limits();
        if !caller.is_owner() {
            inner.check_room(key, limits.sessions).await?;
        }
        let session = inner.session(key).await?;
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
        let taken = inner
            .sessions
            .enqueue(&record, most, peer.as_deref())
            .await?;
        let sent = |turn: TurnRecord, queued, repeated| Sent {
            turn: turn.id,
            run_id: turn.run_id,
            queued,
            repeated,
        };
        match taken {
            Enqueued::New { before } => {
                inner.wake(key.as_str());
                Ok(sent(record, before > 0, false))
            }
            Enqueued::Known(turn) => {
                let open = inner.sessions.open_turns(key.as_str()).await?;
                let waits = open.iter().skip(1).any(|one| one.id == turn.id);
                Ok(sent(turn, waits, true))
            }
            Enqueued::Full => {
                let message = format!("{most} messages wait in {key} already");
                Err(ToolError::new(ErrorCode::RateLimited, message)
                    .hint("wait for an answer, or stop the turn with /stop"))
            }
        }
    }

    /// Stops the turn that is running in a session; whether there was one.
    pub fn stop(&self, key: &SessionKey) -> bool {
        let busy = self.inner.busy();
        let found = busy.get(key.as_str());
        found.inspect(|busy| busy.stop.cancel()).is_some()
    }

    /// Whether a session is being worked on.
    pub fn is_busy(&self, key: &SessionKey) -> bool {
        self.inner.busy().contains_key(key.as_str())
    }

    /// The question that a session waits for, and the tool it is about.
    pub fn question(&self, key: &SessionKey) -> Option<(ApprovalId, String)> {
        self.inner.busy().get(key.as_str())?.question.clone()
    }

    /// Tells everybody who listens to a session of something that is done for it outside of its turns.
    pub fn tell(&self, key: &SessionKey, name: &str, what: What) {
        self.inner.tell(key.as_str(), name, what);
    }

    /// How many sessions are being worked on.
    pub fn busy_count(&self) -> usize {
        self.inner.busy().len()
    }
}

impl Inner {
    fn busy(&self) -> MutexGuard<'_, HashMap<String, Busy>> {
        // A panic while it was held leaves every entry whole.
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tell(&self, key: &str, run_id: &str, what: What) {
        self.tell_marked(key, run_id, what, Mark::default());
    }

    /// Tells what became the message of this number.
    pub(crate) fn tell_kept(&self, key: &str, run_id: &str, what: What, seq: Option<i64>) {
        let mark = Mark {
            seq,
            ..Mark::default()
        };
        self.tell_marked(key, run_id, what, mark);
    }

    /// Tells which call is asked about.
    pub(crate) fn tell_asked(&self, key: &str, run_id: &str, what: What, call_id: &str) {
        let mark = Mark {
            call_id: Some(call_id.to_owned()),
            ..Mark::default()
        };
        self.tell_marked(key, run_id, what, mark);
    }

    fn tell_marked(&self, key: &str, run_id: &str, what: What, mut mark: Mark) {
        let Ok(session) = key.parse() else { return };
        // Held until it is told: whoever looks at what is running sees it with this or without it,
        // and hears of things in the order in which they were noted.
        let mut busy = self.busy();
        if let Some(there) = busy.get_mut(key) {
            there.note_question(&what);
            let own = there.running.as_mut().filter(|one| one.run_id == run_id);
            if let Some(running) = own {
                if matches!(what, What::Restart { .. }) {
                    running.new_reply(self.next_reply());
                }
                running.note(&what, &mut mark, self.clock.now());
                if what.is_end() {
                    there.running = None;
                }
            }
        }
        self.audience.tell(ChatEvent {
            session,
            run_id: run_id.to_owned(),
            what,
            mark,
        });
    }

    fn next_reply(&self) -> u64 {
        self.replies.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A model is asked: what it says is another reply than what was said before.
    pub(crate) fn begin_reply(&self, key: &str) {
        let number = self.next_reply();
        if let Some(Some(running)) = self.busy().get_mut(key).map(|busy| &mut busy.running) {
            running.new_reply(number);
        }
    }

    /// The turn that is being worked on in a session, as far as it is.
    pub(crate) fn running(&self, key: &str) -> Option<Running> {
        self.busy().get(key)?.running.clone()
    }

    pub(crate) fn agent(&self, id: &AgentId) -> Result<AgentSettings, ToolError> {
        self.house.agent(id).ok_or_else(|| {
            ToolError::not_found(format!("there is no agent {id}"))
                .hint("`manyhands agents` lists them; config.toml makes them under [agents]")
        })
    }

    pub(crate) fn has_question(&self, key: &str) -> bool {
        let busy = self.busy();
        busy.get(key).is_some_and(|busy| busy.question.is_some())
    }

    /// Keeps turns from beginning in a session; `None` while it is being worked on.
    pub(crate) fn hold(self: &Arc<Self>, key: &str) -> Option<Hold> {
        let stop = CancellationToken::new();
        let mut busy = self.busy();
        if busy.contains_key(key) {
            return None;
        }
        let held = Busy {
            stop: stop.clone(),
            ..Busy::default()
        };
        busy.insert(key.to_owned(), held);
        Some(Hold {
            inner: self.clone(),
            key: key.to_owned(),
            took_over: false,
            stop,
        })
    }

    /// Stops what runs in a session, and keeps turns from beginning in it from then on.
    pub(crate) async fn take_over(self: &Arc<Self>, key: &str) -> Hold {
        loop {
            let freed = {
                let mut busy = self.busy();
                busy.get_mut(key).map(|there| {
                    there.wanted = true;
                    there.stop.cancel();
                    there.freed.clone().notified_owned()
                })
            };
            match freed {
                Some(freed) => freed.await,
                None => {
                    if let Some(mut hold) = self.hold(key) {
                        hold.took_over = true;
                        return hold;
                    }
                }
            }
        }
    }

    /// Fires when nobody works on the session any more; `None` when nobody does.
    pub(crate) fn freed(&self, key: &str) -> Option<OwnedNotified> {
        let busy = self.busy();
        busy.get(key)
            .map(|there| there.freed.clone().notified_owned())
    }

    /// Fires when something comes while the session is being worked on.
    pub(crate) fn news(&self, key: &str) -> OwnedNotified {
        let busy = self.busy();
        let news = busy.get(key).map(|there| there.news.clone());
        news.unwrap_or_default().notified_owned()
    }

    /// Nobody works on the session any more; whether something came meanwhile.
    fn free(&self, key: &str) -> bool {
        Self::release(&mut self.busy(), key)
    }

    fn release(busy: &mut HashMap<String, Busy>, key: &str) -> bool {
        let Some(freed) = busy.remove(key) else {
            return false;
        };
        freed.freed.notify_waiters();
        freed.again
    }

    /// Refuses a session that is not there yet while its agent has `most` or more.
    async fn check_room(&self, key: &SessionKey, most: u64) -> Result<(), ToolError> {
        if most == 0 || self.sessions.get(key.as_str()).await?.is_some() {
            return Ok(());
        }
        let there = self.sessions.count_of(key.agent()).await?;
        if there < most {
            return Ok(());
        }
        let message = format!("{} has {there} of {most} conversations", key.agent());
        Err(ToolError::new(ErrorCode::BudgetExceeded, message)
            .hint("delete some, or ask the owner to raise limits.agent_sessions"))
    }

    /// The session of that key, made when it is not there, begun anew when its time has come.
    pub(crate) async fn session(
        self: &Arc<Self>,
        key: &SessionKey,
    ) -> Result<SessionRecord, ToolError> {
        let now = self.clock.now();
        let there = self.sessions.get(key.as_str()).await?;
        let Some(there) = there else {
            let id = self.ids.next::<Uuid>().to_string();
            let agent = key.agent().clone();
            let fresh = SessionRecord::new(key.to_string(), id, agent, now);
            self.sessions.create(&fresh).await?;
            let made = self.sessions.get(key.as_str()).await?;
            return made.ok_or_else(|| ToolError::internal("a session was not kept"));
        };
        self.reset_if_due(key, there, now).await
    }

    /// Sees to it that somebody works on the session.
    fn wake(self: &Arc<Self>, key: &str) {
        let mut busy = self.busy();
        if let Some(there) = busy.get_mut(key) {
            there.again = true;
            there.news.notify_waiters();
            return;
        }
        busy.insert(key.to_owned(), Busy::default());
        drop(busy);
        let (this, key) = (self.clone(), key.to_owned());
        self.tasks.spawn(async move { this.work(&key).await });
    }

    /// Works on a session until nothing waits in it.
    async fn work(self: Arc<Self>, key: &str) {
        let mut slot = Slot {
            inner: self.clone(),
            key: key.to_owned(),
            freed: false,
        };
        loop {
            let wanted = self.busy().get(key).is_none_or(|busy| busy.wanted);
            if wanted {
                return; // whoever wants it sees to what waits
            }
            let next = self.next(key).await;
            if let Some(record) = next
                && !self.house.stopping().is_cancelled()
            {
                match self.one_turn(key, record).await {
                    true => continue,
                    // It is still the first in line: taken up at once it would fail at once.
                    false => return,
                }
            }
            let mut busy = self.busy();
            let there = busy.get_mut(key);
            let again = there.is_some_and(|there| std::mem::take(&mut there.again) || there.wanted);
            if !again || self.house.stopping().is_cancelled() {
                // While it is still locked: what comes now finds it free, and wakes somebody.
                Self::release(&mut busy, key);
                slot.freed = true;
                return;
            }
        }
    }

    async fn next(&self, key: &str) -> Option<TurnRecord> {
        match self.sessions.open_turns(key).await {
            Ok(open) => {
                let mut busy = self.busy();
                let passed = busy.get_mut(key).map(|there| &mut there.passed);
                let Some(passed) = passed.filter(|passed| !passed.is_empty()) else {
                    return open.into_iter().next();
                };
                let all: Vec<Open> = open.iter().cloned().map(Open::of).collect();
                let next = Open::next(&all, passed);
                if next.is_none() {
                    passed.clear(); // turns that stepped aside come first again
                }
                next.or_else(|| open.into_iter().next())
            }
            Err(error) => {
                tracing::error!(session = key, %error, "a session cannot be worked on");
                None
            }
        }
    }

    /// Works on one turn; whether the next may begin.
    async fn one_turn(self: &Arc<Self>, key: &str, record: TurnRecord) -> bool {
        // Who stops it before it has begun means it too.
        let stop = self.busy().get_mut(key).map(|busy| {
            busy.running = Some(Running::of(&record.run_id));
            busy.stop.clone()
        });
        let stop = stop.unwrap_or_default();
        let played = contained(self.play(key, record.clone(), stop)).await;
        let mut parked = false;
        let settled = match played {
            Ok(let_others) => {
                parked = let_others;
                true
            }
            Err(panicked) => {
                let ending = contained(self.turn_panicked(key, &record, &panicked)).await;
                ending.unwrap_or(false)
            }
        };
        if let Some(busy) = self.busy().get_mut(key) {
            busy.stop = CancellationToken::new();
            busy.running = None;
            match parked {
                true => busy.passed.push(record.id),
                false => busy.passed.clear(),
            }
        }
        settled
    }

    /// Ends a turn whose work panicked: it is not tried again, since it would panic again. Whoever
    /// waits for it, and for what it took in, is told; whether its end is on disk.
    async fn turn_panicked(&self, key: &str, record: &TurnRecord, panicked: &Panicked) -> bool {
        let (turn, reason) = (&record.id, &panicked.reason);
        tracing::error!(
            session = key,
            turn,
            reason,
            "internal error: a turn panicked"
        );
        let kept = self.sessions.turn(&record.id).await.ok().flatten();
        let work = kept.and_then(|kept| serde_json::from_str::<Work>(&kept.work).ok());
        let work = work.unwrap_or_default();
        let mut why = Failure::new(FailureKind::Other, panicked.to_string());
        let calls = self.sessions.calls(&record.id, work.step).await;
        why.acted = work.step > 0 || calls.is_ok_and(|calls| !calls.is_empty());
        for run in &work.merged {
            self.tell(key, run, What::Error(why.clone()));
        }
        self.give_up(key, record, why).await
    }

    /// Works on a turn; whether it lets others go first.
    async fn play(
        self: &Arc<Self>,
        key: &str,
        record: TurnRecord,
        stop: CancellationToken,
    ) -> bool {
        let run_id = record.run_id.clone();
        let session = match self.session_of(key).await {
            Ok(session) => session,
            Err(error) => {
                self.give_up(key, &record, Failure::from(&error)).await;
                return false;
            }
        };
        match Turn::take_up(self, session, record.clone(), stop).await {
            Ok(mut turn) => {
                let halt = turn.run().await;
                if let Halt::Failed(error) = &halt {
                    let (kind, error) = (error.kind.word(), &error.text);
                    tracing::warn!(session = key, run = run_id, kind, error, "a turn failed");
                }
                let parked = matches!(halt, Halt::Parked);
                turn.end(halt).await;
                turn.leave();
                parked
            }
            Err(error) => {
                self.give_up(key, &record, Failure::from(&error)).await;
                false
            }
        }
    }

    /// The session of a turn. One that was deleted just before the turn came is made anew.
    async fn session_of(self: &Arc<Self>, key: &str) -> Result<SessionRecord, ToolError> {
        if let Some(session) = self.sessions.get(key).await? {
            return Ok(session);
        }
        let parsed: Result<SessionKey, _> = key.parse();
        let key = parsed.map_err(|e| ToolError::internal(e.to_string()))?;
        self.session(&key).await
    }

    /// Ends the turns of a session for which nobody waits any more.
    async fn let_go(&self, key: &str) -> Result<(), StoreError> {
        let why = "the gateway stopped, and whoever asked for this no longer waits";
        let why = Failure::new(FailureKind::Interrupted, why);
        self.end_open(key, &why).await.map(drop)
    }

    /// Ends every open turn of a session, none of which may be worked on; their runs.
    pub(crate) async fn end_open(
        &self,
        key: &str,
        why: &Failure,
    ) -> Result<Vec<String>, StoreError> {
        let outcome = Outcome::failed(why, TurnUsage::default()).json();
        let mut runs = Vec::new();
        for turn in self.sessions.open_turns(key).await? {
            self.sessions
                .fail_turn(&turn.id, &outcome, self.clock.now())
                .await?;
            runs.push(turn.run_id);
        }
        Ok(runs)
    }

    /// Ends a turn that cannot even be taken up, so that the next one gets its place; whether its end
    /// is on disk.
    async fn give_up(&self, key: &str, record: &TurnRecord, why: Failure) -> bool {
        let outcome = Outcome::failed(&why, TurnUsage::default()).json();
        let ended = self
            .sessions
            .fail_turn(&record.id, &outcome, self.clock.now())
            .await;
        if let Err(error) = &ended {
            tracing::error!(session = key, %error, "a turn could not be ended");
        }
        self.tell(key, &record.run_id, What::Error(why));
        ended.is_ok()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, ToolError> {
    serde_json::to_string(value).map_err(|e| ToolError::internal(e.to_string()))
}
