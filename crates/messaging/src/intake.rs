//! Turns incoming events into commands, decisions or turns; each event once, in order within its
//! chat.

use std::collections::VecDeque;
use std::time::Duration;

use manyhands_agent::{
    Addressing, Correspondent, Input, Origin, ParsedMessage as Meant, SessionKey, Subscription,
};
use manyhands_channels::{Inbound, InboundEvent, InboundMessage};
use manyhands_core::{Caller, ChatRef, ErrorCode, Taint, ToolError, contained};
use manyhands_store::{InboxRow, InboxState, PendingReply, StoreError};

use super::access::{Reception, reception};
use super::outgoing::OutgoingText;
use super::{Chats, agent_for};

/// The most chats read ahead of those in progress.
const AHEAD: usize = 512;
/// The most events of one chat processed in a row, so that a busy chat cannot starve the others.
const STINT: usize = 16;
/// How often an event is tried before it is marked as failed.
const ATTEMPTS: i64 = 8;
/// The delay between two attempts.
pub(super) const BETWEEN: Duration = Duration::from_secs(2);

/// What became of an event.
pub(super) enum IntakeOutcome {
    /// Final state and reason.
    Settled(InboxState, Option<String>),
    /// To be retried a limited number of times.
    Again(String),
    /// To be retried when the session queue has room.
    Full(String),
}

impl Chats {
    /// Processes the inbox while the gateway runs. A chat whose events fail does not delay others:
    /// while it waits it takes no slot.
    pub(super) async fn work_on_inbox(self) {
        let lanes = &self.0.lanes;
        let mut waiting: VecDeque<InboxRow> = VecDeque::new();
        loop {
            if waiting.is_empty() && lanes.has_room() {
                let heads = self.0.records.next_inbound(&lanes.not_now(), AHEAD).await;
                waiting = heads.map_or_else(
                    |error| {
                        tracing::warn!(event = "inbox_read_failed", %error, "failed to read the inbox; will retry");
                        VecDeque::new()
                    },
                    VecDeque::from,
                );
            }
            while lanes.has_room()
                && let Some(head) = waiting.pop_front()
            {
                let Some(lane) = lanes.enter(&head.lane) else {
                    continue;
                };
                let (this, crowded) = (self.clone(), lanes.is_crowded());
                self.0.tasks.spawn(async move {
                    let mut rest = this.work_on_chat(head).await;
                    // When too many chats rest, waiting here keeps the slot busy, which slows the
                    // intake instead of growing the list.
                    if crowded && let Some(rest) = rest.take() {
                        this.pause(rest).await;
                    }
                    lane.leave(rest);
                });
            }
            tokio::select! {
                () = lanes.left() => {}
                () = self.0.heard.notified(), if lanes.has_room() => {}
                () = tokio::time::sleep_until(lanes.wake()) => {}
            }
        }
    }

    async fn pause(&self, rest: Duration) {
        tokio::select! {
            () = tokio::time::sleep(rest) => {}
            () = self.0.stopping.cancelled() => {}
        }
    }

    /// Processes events of a chat, a limited number at a time. Returns how long the chat has to
    /// wait, if it has to.
    async fn work_on_chat(&self, first: InboxRow) -> Option<Duration> {
        let mut next = Some(first);
        for _ in 0..STINT {
            let row = next?;
            if self.0.stopping.is_cancelled() {
                return None;
            }
            let end = tokio::select! {
                () = self.0.stopping.cancelled() => return None,
                end = contained(self.take(&row)) => end.unwrap_or_else(|panicked| {
                    let (inbox_id, reason) = (&row.id, &panicked.reason);
                    tracing::error!(event = "inbox_message_panicked", inbox_id, reason, "internal error: processing an incoming message panicked");
                    IntakeOutcome::Again(panicked.to_string())
                }),
            };
            let kept = match end {
                IntakeOutcome::Settled(state, why) => {
                    let why = why.as_deref();
                    let settled = self.0.records.finish_inbound(&row.id, state, why).await;
                    settled.map(|()| None)
                }
                IntakeOutcome::Again(why) => self.again(&row, &why).await,
                IntakeOutcome::Full(why) => self.retry_when_queue_has_room(&row, why).await,
            };
            match kept {
                Ok(None) => {}
                Ok(rest) => return rest,
                Err(error) => {
                    tracing::warn!(event = "inbox_state_save_failed", inbox_id = row.id, %error, "failed to persist the outcome of an incoming message; will retry");
                    return Some(BETWEEN);
                }
            }
            next = self
                .0
                .records
                .next_inbound_in(&row.lane)
                .await
                .unwrap_or(None);
        }
        None
    }

    async fn again(&self, row: &InboxRow, why: &str) -> Result<Option<Duration>, StoreError> {
        let tried = self.0.records.record_attempt(&row.id, why).await?;
        if tried < ATTEMPTS {
            let rest = BETWEEN * u32::try_from(tried.max(1)).unwrap_or(1);
            return Ok(Some(rest));
        }
        self.mark_failed(row, why).await.map(|()| None)
    }

    /// A full session queue is no failed attempt: the event waits, as long as an outgoing message
    /// would.
    async fn retry_when_queue_has_room(
        &self,
        row: &InboxRow,
        why: String,
    ) -> Result<Option<Duration>, StoreError> {
        let hours = i64::from(self.0.settings.current().channels.retry_hours);
        if self.0.clock.now().0 - row.received.0 < hours * 3_600_000 {
            return Ok(Some(BETWEEN));
        }
        let why = format!("the session queue stayed full for {hours} hours: {why}");
        self.mark_failed(row, &why).await.map(|()| None)
    }

    async fn mark_failed(&self, row: &InboxRow, why: &str) -> Result<(), StoreError> {
        tracing::warn!(
            event = "inbox_message_failed",
            inbox_id = row.id,
            chat = %row.lane,
            reason = why,
            "gave up on an incoming message; `manyhands inbox` can retry it"
        );
        let state = InboxState::Failed;
        self.0
            .records
            .finish_inbound(&row.id, state, Some(why))
            .await
    }

    async fn take(&self, row: &InboxRow) -> IntakeOutcome {
        let inbound: Inbound = match serde_json::from_str(&row.body) {
            Ok(inbound) => inbound,
            Err(error) => {
                let why = format!("the event is damaged: {error}");
                return IntakeOutcome::Settled(InboxState::Failed, Some(why));
            }
        };
        self.spoken(&inbound.place);
        let mut inbound = inbound;
        // Looked up here and not when the event arrives: it may take a request, and the platform
        // waits for the acknowledgement.
        if inbound.place.sender_name.is_none()
            && let Some(channel) = self.channel(&row.channel, &row.account)
            && let Ok(name) = channel.sender_name(&inbound.place).await
        {
            inbound.place.sender_name = name;
        }
        let taken = match &inbound.what {
            InboundEvent::Message(message) => self.take_message(row, &inbound, message).await,
            InboundEvent::Button { data, .. } => self.take_button(&inbound, data).await,
            InboundEvent::Reaction { .. } => Ok(IntakeOutcome::Settled(
                InboxState::Ignored,
                Some("reactions do not start a turn".to_owned()),
            )),
            InboundEvent::Failed { message, why } => self.bounced(row, message, why).await,
        };
        taken.unwrap_or_else(|error| match error.code {
            ErrorCode::RateLimited => IntakeOutcome::Full(error.message),
            ErrorCode::Unavailable | ErrorCode::StorageFull | ErrorCode::Conflict => {
                IntakeOutcome::Again(error.message)
            }
            _ => IntakeOutcome::Settled(InboxState::Failed, Some(error.message)),
        })
    }

    async fn take_message(
        &self,
        row: &InboxRow,
        inbound: &Inbound,
        message: &InboundMessage,
    ) -> Result<IntakeOutcome, ToolError> {
        let place = &inbound.place;
        let settings = self.0.settings.current();
        let known = self.0.known.load_full();
        match reception(
            &settings,
            &known,
            place,
            inbound.from_bot,
            message.mentioned,
        ) {
            Reception::Welcome => {}
            Reception::Stranger => {
                self.meet(inbound, &message.text).await?;
                let why = "the sender is not paired yet".to_owned();
                return Ok(IntakeOutcome::Settled(InboxState::Ignored, Some(why)));
            }
            Reception::Ignored(why) => {
                return Ok(IntakeOutcome::Settled(
                    InboxState::Ignored,
                    Some(why.to_owned()),
                ));
            }
        }
        let records = &self.0.records;
        let name = inbound.chat_name.as_deref();
        records.record_chat(place, name).await?;
        // Best effort: under load some senders are recorded later, when they write again.
        let _ = self.0.seen.try_send(inbound.clone());
        // Rights are computed when the event is processed and not when it arrived, so a sender
        // rejected meanwhile starts nothing.
        let Some(caller) = super::caller_of(&settings, &known, place) else {
            let why = "the sender is no longer allowed".to_owned();
            return Ok(IntakeOutcome::Settled(InboxState::Ignored, Some(why)));
        };
        let key = self.session_at(place);
        let (text, pictures) = self.content(inbound, message, &caller).await?;
        let minds = self.minds()?;
        let heard = minds.parse_message(&key, &text, &caller).await?;
        let mut input = match heard {
            Meant::Message { input, .. } => *input,
            Meant::Command(reply) => {
                self.answer_now(row, inbound, &reply.response).await?;
                return Ok(IntakeOutcome::Settled(InboxState::Done, None));
            }
            Meant::OnlyDirectives { response, .. } => {
                self.answer_now(row, inbound, &response).await?;
                return Ok(IntakeOutcome::Settled(InboxState::Done, None));
            }
        };
        input.pictures = pictures;
        if input.text.trim().is_empty() && input.pictures.is_empty() {
            let why = "the message is empty".to_owned();
            return Ok(IntakeOutcome::Settled(InboxState::Ignored, Some(why)));
        }
        self.begin_turn(row, inbound, &key, input, &caller).await?;
        Ok(IntakeOutcome::Settled(InboxState::Done, None))
    }

    /// Records that the platform could not deliver a message of ours after all.
    async fn bounced(
        &self,
        row: &InboxRow,
        message: &str,
        why: &str,
    ) -> Result<IntakeOutcome, ToolError> {
        let (channel, account) = (&row.channel, &row.account);
        let noted = self
            .0
            .records
            .mark_bounced(channel, account, message, why)
            .await;
        let ours = noted?;
        tracing::warn!(
            event = "message_undeliverable",
            chat = %row.lane,
            message,
            reason = why,
            "the platform reports that a message was not delivered"
        );
        self.outbox_changed();
        Ok(IntakeOutcome::Settled(
            match ours {
                true => InboxState::Done,
                false => InboxState::Ignored,
            },
            None,
        ))
    }

    /// Promises the chat a reply and starts the turn. Idempotent.
    async fn begin_turn(
        &self,
        row: &InboxRow,
        inbound: &Inbound,
        key: &SessionKey,
        input: Input,
        caller: &Caller,
    ) -> Result<(), ToolError> {
        let minds = self.minds()?;
        let promise = PendingReply {
            session_key: key.to_string(),
            run_id: row.id.clone(),
            chat: inbound.place.clone(),
            ticket: inbound.ticket.clone(),
            draft: None,
            created: self.0.clock.now(),
        };
        // The promise is on disk before the turn exists, so a turn never ends without a chat to
        // reply to. The run id is the event id: however often the event is processed, it becomes
        // one turn.
        let kept = self.0.records.add_pending_reply(&promise).await;
        kept?;
        let origin = origin(inbound, caller);
        let listener = minds.listen(Subscription::Session(key)); // before sending, so that no event is missed
        let sent = minds
            .send(key, Some(row.id.clone()), input, &origin)
            .await?;
        match sent.repeated {
            // A repeated event: the turn may have ended before its promise was stored.
            true => self.fulfil(&promise.session_key).await?,
            false => self.show_live(promise, listener, caller.is_owner()),
        }
        Ok(())
    }

    async fn answer_now(
        &self,
        row: &InboxRow,
        inbound: &Inbound,
        text: &str,
    ) -> Result<(), ToolError> {
        let key = format!("said:{}", row.id);
        let words = OutgoingText {
            reply_to: answers(&inbound.place),
            ticket: inbound.ticket.clone(),
            ..OutgoingText::new(&inbound.place, text, &key)
        };
        let rows = self.rows(words)?;
        self.put(&rows).await.map(drop)
    }

    /// The session that a message at a place belongs to.
    pub(super) fn session_at(&self, place: &ChatRef) -> SessionKey {
        let settings = self.0.settings.current();
        let agent = agent_for(&settings, place);
        let known = self.0.known.load();
        let mut links = settings.sessions.identity_links.clone();
        let owners = known
            .owners()
            .map(|(channel, id)| format!("{channel}:{id}"));
        links.entry("owner".to_owned()).or_default().extend(owners);
        let scope = settings.agents.get(&agent).and_then(|agent| agent.dm_scope);
        let how = Addressing {
            scope: scope.unwrap_or(settings.sessions.dm_scope),
            links: &links,
        };
        let id = match place.is_shared() {
            true => &place.chat,
            false => place.sender.as_ref().unwrap_or(&place.chat),
        };
        let from = Correspondent {
            channel: &place.channel,
            account: &place.account,
            kind: place.kind,
            id,
            thread: place.thread.as_deref(),
        };
        SessionKey::for_peer(&agent, &from, &how)
    }
}

/// The sender, recorded as the origin of the turn.
fn origin(inbound: &Inbound, caller: &Caller) -> Origin {
    let place = &inbound.place;
    let sender = place.sender.as_deref().unwrap_or_default();
    Origin {
        token: None,
        person: Some(format!("{}:{sender}", place.channel)),
        place: Some(place.clone()),
        name: caller.name.clone(),
        trusted: caller.is_owner(),
        depth: 0,
        tainted: Taint::NONE,
        job: None,
        lineage: Vec::new(),
    }
}

/// In shared chats a reply quotes the message it answers.
pub(super) fn answers(place: &ChatRef) -> Option<String> {
    place.is_shared().then(|| place.message.clone()).flatten()
}
