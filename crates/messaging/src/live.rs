//! An answer that can be seen coming: typing, a draft that grows, and questions to the owner.
//!
//! Nothing here has to happen: what must not be lost goes through the outbox.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use manyhands_agent::{Listener, Missed, SessionKey, What, Whose};
use manyhands_channels::{Channel, Outgoing, Say, SendError};
use manyhands_store::Promise;
use tokio::time::Instant;

use super::Chats;
use super::intake::answers;
use super::say::Words;

/// How often a chat is shown that something is being written.
const TYPING: Duration = Duration::from_secs(4);
/// How much there must be before a draft is shown.
const ENOUGH: usize = 40;
/// How many answers are shown coming at once; others come when they are done.
const MAX_LIVE: usize = 500;

/// The answers that are shown coming, by session and run.
#[derive(Default, Clone)]
pub(super) struct Lives(Arc<Mutex<HashMap<Key, Gate>>>);

type Key = (String, String);

/// Drafts and the answer itself never pass each other: nothing is shown any more once the answer is
/// put into the outbox, and it is not put there while a draft is on its way.
#[derive(Default)]
struct Gate {
    /// A draft is on its way.
    busy: bool,
    /// The answer is there.
    shut: bool,
    /// Somebody came with the answer meanwhile.
    waited: bool,
}

impl Lives {
    fn gates(&self) -> MutexGuard<'_, HashMap<Key, Gate>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, promise: &Promise) -> Option<Entered> {
        let key = (promise.session_key.clone(), promise.run_id.clone());
        let mut gates = self.gates();
        if gates.len() >= MAX_LIVE || gates.contains_key(&key) {
            return None;
        }
        gates.insert(key.clone(), Gate::default());
        let lives = self.clone();
        Some(Entered { lives, key })
    }

    /// Lets nothing more be shown of a run. False while something is on its way: whoever shows it
    /// sees to the answer then.
    pub(super) fn shut(&self, session: &str, run: &str) -> bool {
        let key = (session.to_owned(), run.to_owned());
        let mut gates = self.gates();
        let Some(gate) = gates.get_mut(&key) else {
            return true;
        };
        gate.shut = true;
        gate.waited |= gate.busy;
        !gate.busy
    }
}

/// One of them.
struct Entered {
    lives: Lives,
    key: Key,
}

impl Entered {
    /// Whether the answer is there.
    fn is_shut(&self) -> bool {
        self.lives
            .gates()
            .get(&self.key)
            .is_none_or(|gate| gate.shut)
    }

    /// Whether something may be shown; then it is on its way until [`finish`](Self::finish).
    fn begin(&self) -> bool {
        match self.lives.gates().get_mut(&self.key) {
            Some(gate) if !gate.shut => {
                gate.busy = true;
                true
            }
            _ => false,
        }
    }

    fn finish(&self) {
        if let Some(gate) = self.lives.gates().get_mut(&self.key) {
            gate.busy = false;
        }
    }

    /// Whether somebody came with the answer while something was on its way.
    fn leave(self) -> bool {
        let gate = self.lives.gates().remove(&self.key);
        gate.is_some_and(|gate| gate.waited)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.lives.gates().remove(&self.key);
    }
}

/// One answer on its way.
struct Live {
    chats: Chats,
    channel: Arc<dyn Channel>,
    promise: Promise,
    by_owner: bool,
    /// Whether drafts are shown.
    drafts: bool,
    /// What the model says since the last tool.
    text: String,
    /// What the draft shows.
    shown: String,
    draft: Option<String>,
    next_edit: Instant,
    gate: Entered,
}

impl Chats {
    /// Shows the chats of an account again that their answers are coming, after a restart, and asks
    /// the owner what waits for them.
    pub(super) async fn show_again(&self, channel: &str, account: &str) {
        let (Ok(promises), Ok(minds)) = (self.0.records.promises().await, self.minds()) else {
            return;
        };
        let (settings, known) = (self.0.settings.current(), self.0.known.load_full());
        let of_account = |promise: &Promise| {
            let place = &promise.place;
            place.channel == channel && place.account == account
        };
        for promise in promises.into_iter().filter(of_account) {
            let Ok(key) = promise.session_key.parse::<SessionKey>() else {
                continue;
            };
            let caller = super::caller_of(&settings, &known, &promise.place);
            let by_owner = caller.is_some_and(|caller| caller.is_owner());
            let listener = minds.listen(Whose::Session(&key));
            if let Some((id, tool)) = minds.question(&key)
                && let Ok(Some(asked)) = self.0.store.approvals().get(id, self.0.clock.now()).await
                && let Err(error) = self
                    .ask_owner(&promise, by_owner, id, &tool, &asked.arguments)
                    .await
            {
                tracing::warn!(event = "approval_request_not_sent", %error, "failed to send an approval request to the owner's chat");
            }
            self.show_live(promise, listener, by_owner);
        }
    }

    /// Shows a chat that its answer is coming, until it is there.
    pub(super) fn show_live(&self, promise: Promise, listener: Listener, by_owner: bool) {
        let place = &promise.place;
        let Some(channel) = self.channel(&place.channel, &place.account) else {
            return;
        };
        let Some(gate) = self.0.lives.enter(&promise) else {
            return;
        };
        let settings = self.0.settings.current();
        let said = settings.channels.get(&place.channel);
        let drafts = said.is_some_and(|said| said.stream) && channel.abilities().edits;
        let live = Live {
            chats: self.clone(),
            drafts,
            by_owner,
            text: String::new(),
            shown: String::new(),
            draft: promise.draft.clone(),
            next_edit: Instant::now() + channel.abilities().per_edit,
            channel,
            promise,
            gate,
        };
        self.spawn(|this| async move {
            let (promise, gate) = live.follow(listener).await;
            if gate.leave() {
                this.try_to_keep(&promise).await;
            }
        });
    }
}

impl Live {
    async fn follow(mut self, mut listener: Listener) -> (Promise, Entered) {
        let mut typing = tokio::time::interval(TYPING);
        let types = self.channel.abilities().typing;
        loop {
            tokio::select! {
                event = listener.next() => match event {
                    Ok(event) if event.run_id == self.promise.run_id => {
                        if event.what.is_end() {
                            return (self.promise, self.gate);
                        }
                        self.happened(&event.what).await;
                    }
                    Ok(_) => {}
                    Err(Missed(_)) => self.drafts = false, // what is shown would have holes
                },
                _ = typing.tick() => {
                    if self.gate.is_shut() {
                        return (self.promise, self.gate); // its end was among what was missed
                    }
                    if types {
                        let _ = self.channel.typing(&self.promise.place).await; // it is only shown
                    }
                }
                () = tokio::time::sleep_until(self.next_edit), if self.wants_edit() => {
                    self.show().await;
                }
            }
        }
    }

    fn wants_edit(&self) -> bool {
        let enough = self.draft.is_some() || self.text.chars().count() >= ENOUGH;
        self.drafts && enough && self.text != self.shown
    }

    async fn happened(&mut self, what: &What) {
        match what {
            What::Delta(more) => self.text.push_str(more),
            What::Restart { .. } => self.text.clear(),
            What::Partial(said) => self.part(said).await,
            What::Paused {
                approval,
                tool,
                arguments,
            } => {
                let asked = self
                    .chats
                    .ask_owner(&self.promise, self.by_owner, *approval, tool, arguments)
                    .await;
                if let Err(error) = asked {
                    tracing::warn!(event = "approval_request_not_sent", %error, "failed to send an approval request to the owner's chat");
                }
            }
            _ => {}
        }
    }

    /// The model said something before it goes on with its tools: that is a message of its own.
    async fn part(&mut self, said: &str) {
        self.text.clear();
        self.shown.clear();
        if said.trim().is_empty() {
            return;
        }
        let mut hash = DefaultHasher::new();
        said.hash(&mut hash);
        let key = format!(
            "part:{}:{}:{:x}",
            self.promise.session_key,
            self.promise.run_id,
            hash.finish()
        );
        let words = Words {
            edits: self.draft.take(),
            session: Some(self.promise.session_key.clone()),
            ..Words::new(&self.promise.place, said, &key)
        };
        let (session, run) = (&self.promise.session_key, &self.promise.run_id);
        // From here on the draft is a message that stays.
        let records = &self.chats.0.records;
        let kept = records.drafted(session, run, None).await;
        let put = match self.chats.rows(words) {
            Ok(rows) if kept.is_ok() => self.chats.put(&rows).await.map(drop),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = put {
            tracing::warn!(event = "draft_not_shown", %error, "failed to show a part of a reply");
        }
    }

    /// Shows the draft as it is now, behind all that was to be said before it.
    async fn show(&mut self) {
        let can = self.channel.abilities();
        self.next_edit = Instant::now() + can.per_edit;
        let lane = self.promise.place.lane();
        if self.draft.is_none() && self.chats.0.records.is_waiting(&lane).await.unwrap_or(true) {
            return;
        }
        if !self.gate.begin() {
            self.drafts = false;
            return;
        }
        match self.draft.is_some() || self.is_owed().await {
            true => self.show_now().await,
            false => self.drafts = false,
        }
        self.gate.finish();
    }

    /// Whether the answer is still to come: the turn may have ended before it was followed.
    async fn is_owed(&self) -> bool {
        let (session, run) = (&self.promise.session_key, &self.promise.run_id);
        let owed = self.chats.0.records.promised(session, run).await;
        matches!(owed, Ok(Some(_)))
    }

    async fn show_now(&mut self) {
        let can = self.channel.abilities();
        let pieces = self.channel.pieces(&self.text);
        let Some(first) = pieces.into_iter().next() else {
            return;
        };
        self.shown.clone_from(&self.text);
        let message = Outgoing {
            to: self.promise.place.chat_only(),
            reply_to: answers(&self.promise.place),
            ticket: None,
            say: Say::Text {
                text: first,
                buttons: Vec::new(),
                edits: self.draft.clone(),
            },
        };
        let key = self.chats.0.ids.next::<uuid::Uuid>().to_string();
        match self.channel.send(&key, &message, None).await {
            Ok(sent) if self.draft.is_none() => self.drafted(sent.message).await,
            Ok(_) => {}
            Err(SendError::Later { after, .. }) => {
                let wait = after.unwrap_or(can.per_edit).max(can.per_edit);
                self.next_edit = Instant::now() + wait;
            }
            Err(_) => self.drafts = false,
        }
    }

    async fn drafted(&mut self, message: Option<String>) {
        let Some(message) = message else {
            self.drafts = false;
            return;
        };
        let (session, run) = (&self.promise.session_key, &self.promise.run_id);
        let records = &self.chats.0.records;
        match records.drafted(session, run, Some(&message)).await {
            Ok(()) => self.draft = Some(message),
            Err(_) => self.drafts = false,
        }
    }
}
