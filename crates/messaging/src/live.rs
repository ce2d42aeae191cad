//! Live view of a reply: typing notices, a growing draft, and approval requests.
//!
//! Everything here is best effort; what must not be lost goes through the outbox.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use manyhands_agent::{ChatListener, Lagged, SessionKey, Subscription, TurnEvent};
use manyhands_channels::{Channel, OutgoingContent, OutgoingMessage, SendError};
use manyhands_store::PendingReply;
use tokio::time::Instant;

use super::Chats;
use super::intake::answers;
use super::outgoing::OutgoingText;

/// The interval of typing notices.
const TYPING: Duration = Duration::from_secs(4);
/// The shortest draft shown.
const ENOUGH: usize = 40;
/// The most replies shown live at once; others arrive when they are complete.
const MAX_LIVE: usize = 500;

/// Replies shown live, by session and run.
#[derive(Default, Clone)]
pub(super) struct Lives(Arc<Mutex<HashMap<Key, Gate>>>);

type Key = (String, String);

/// Keeps drafts and the final reply in order: nothing is shown once the reply is in the outbox, and
/// the reply waits while a draft is being sent.
#[derive(Default)]
struct Gate {
    /// A draft is being sent.
    busy: bool,
    /// The reply is complete.
    shut: bool,
    /// The reply arrived while a draft was being sent.
    waited: bool,
}

impl Lives {
    fn gates(&self) -> MutexGuard<'_, HashMap<Key, Gate>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, promise: &PendingReply) -> Option<Entered> {
        let key = (promise.session_key.clone(), promise.run_id.clone());
        let mut gates = self.gates();
        // At the limit the reply is simply not shown live; it still arrives through the outbox.
        if gates.len() >= MAX_LIVE || gates.contains_key(&key) {
            return None;
        }
        gates.insert(key.clone(), Gate::default());
        let lives = self.clone();
        Some(Entered { lives, key })
    }

    /// Stops showing drafts of a run. Returns `false` while a draft is being sent; the task that
    /// sends it then queues the reply.
    pub(super) fn shut(&self, session: &str, run: &str) -> bool {
        let key = (session.to_owned(), run.to_owned());
        let mut gates = self.gates();
        let Some(gate) = gates.get_mut(&key) else {
            return true;
        };
        gate.shut = true;
        // Set under the same lock that `begin` takes, so either the draft sees `shut` or the reply
        // sees `busy`.
        gate.waited |= gate.busy;
        !gate.busy
    }
}

/// One reply shown live.
struct Entered {
    lives: Lives,
    key: Key,
}

impl Entered {
    /// Returns whether the reply is complete.
    fn is_shut(&self) -> bool {
        self.lives
            .gates()
            .get(&self.key)
            .is_none_or(|gate| gate.shut)
    }

    /// Starts showing a draft, until [`finish`](Self::finish); `false` if the reply is complete.
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

    /// Ends the live view. Returns whether the reply arrived while a draft was being sent.
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

/// The live view of one reply.
struct Live {
    chats: Chats,
    channel: Arc<dyn Channel>,
    promise: PendingReply,
    by_owner: bool,
    /// Whether drafts are shown.
    drafts: bool,
    /// The model's text since the last tool call.
    text: String,
    /// The text of the draft on the platform.
    shown: String,
    draft: Option<String>,
    next_edit: Instant,
    gate: Entered,
}

impl Chats {
    /// After a restart: resumes the live views of an account and repeats open approval requests.
    pub(super) async fn show_again(&self, channel: &str, account: &str) {
        let (Ok(promises), Ok(minds)) = (self.0.records.pending_replies().await, self.minds())
        else {
            return;
        };
        let (settings, known) = (self.0.settings.current(), self.0.known.load_full());
        let of_account = |promise: &PendingReply| {
            let place = &promise.chat;
            place.channel == channel && place.account == account
        };
        for promise in promises.into_iter().filter(of_account) {
            let Ok(key) = promise.session_key.parse::<SessionKey>() else {
                continue;
            };
            let caller = super::caller_of(&settings, &known, &promise.chat);
            let by_owner = caller.is_some_and(|caller| caller.is_owner());
            let listener = minds.listen(Subscription::Session(&key));
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

    /// Shows a reply live until it is complete.
    pub(super) fn show_live(&self, promise: PendingReply, listener: ChatListener, by_owner: bool) {
        let place = &promise.chat;
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
                this.try_to_fulfil(&promise.session_key).await;
            }
        });
    }
}

impl Live {
    async fn follow(mut self, mut listener: ChatListener) -> (PendingReply, Entered) {
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
                    // The lost text would leave holes in the draft; the complete reply follows
                    // anyway.
                    Err(Lagged(_)) => self.drafts = false,
                },
                _ = typing.tick() => {
                    // The end of the turn may be among the lost events.
                    if self.gate.is_shut() {
                        return (self.promise, self.gate);
                    }
                    if types {
                        let _ = self.channel.typing(&self.promise.chat).await; // best effort
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

    async fn happened(&mut self, what: &TurnEvent) {
        match what {
            TurnEvent::Delta(more) => self.text.push_str(more),
            TurnEvent::Restart { .. } => self.text.clear(),
            TurnEvent::Partial(said) => self.part(said).await,
            TurnEvent::Paused {
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

    /// Text before a tool call becomes a message of its own.
    async fn part(&mut self, said: &str) {
        self.text.clear();
        self.shown.clear();
        if said.trim().is_empty() {
            return;
        }
        // The key is derived from the text, so that after a restart the same part is not sent
        // twice.
        let mut hash = DefaultHasher::new();
        said.hash(&mut hash);
        let key = format!(
            "part:{}:{}:{:x}",
            self.promise.session_key,
            self.promise.run_id,
            hash.finish()
        );
        let words = OutgoingText {
            edits: self.draft.take(),
            session: Some(self.promise.session_key.clone()),
            ..OutgoingText::new(&self.promise.chat, said, &key)
        };
        let (session, run) = (&self.promise.session_key, &self.promise.run_id);
        // From here on the draft is a permanent message.
        let records = &self.chats.0.records;
        let kept = records.set_draft(session, run, None).await;
        let put = match self.chats.rows(words) {
            Ok(rows) if kept.is_ok() => self.chats.put(&rows).await.map(drop),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = put {
            tracing::warn!(event = "draft_not_shown", %error, "failed to show a part of a reply");
        }
    }

    /// Sends the draft as it is now, behind everything queued before it.
    async fn show(&mut self) {
        let can = self.channel.abilities();
        self.next_edit = Instant::now() + can.per_edit;
        let lane = self.promise.chat.lane();
        if self.draft.is_none()
            && self
                .chats
                .0
                .records
                .has_outbound(&lane)
                .await
                .unwrap_or(true)
        {
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

    /// Returns whether the reply is still owed: the turn may have ended before the listener
    /// existed.
    async fn is_owed(&self) -> bool {
        let (session, run) = (&self.promise.session_key, &self.promise.run_id);
        let owed = self.chats.0.records.pending_reply(session, run).await;
        matches!(owed, Ok(Some(_)))
    }

    async fn show_now(&mut self) {
        let can = self.channel.abilities();
        let pieces = self.channel.pieces(&self.text);
        let Some(first) = pieces.into_iter().next() else {
            return;
        };
        self.shown.clone_from(&self.text);
        let message = OutgoingMessage {
            to: self.promise.chat.chat_only(),
            reply_to: answers(&self.promise.chat),
            ticket: None,
            content: OutgoingContent::Text {
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
        match records.set_draft(session, run, Some(&message)).await {
            Ok(()) => self.draft = Some(message),
            Err(_) => self.drafts = false,
        }
    }
}
