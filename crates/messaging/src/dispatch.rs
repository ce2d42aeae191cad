//! Sends the outbox of one account: in order within each chat, at the platform's pace, with a
//! recorded outcome for every message.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use manyhands_channels::{
    Channel, ChannelCapabilities, ConnectionStatus, OutgoingContent, OutgoingMessage, SendError,
};
use manyhands_core::{ArtifactId, ChatLane, Timestamp, contained};
use manyhands_store::{OutboxRow, OutboxState, SendResult};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Chats;

/// The most messages of one account in flight.
const AT_ONCE: usize = 16;
/// The most chats read at once.
const CHATS: u32 = 256;
/// The first and the longest delay between two attempts.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(600));
/// The delay after a platform rejected the account.
const ACCOUNT_WAIT: Duration = Duration::from_secs(60);
/// The longest time without a change before the outbox is read anyway.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// The most chats whose pace is remembered.
const MAX_PACES: usize = 10_000;

/// Marks a chat as busy until dropped, also after a panic.
struct Sending {
    lane: ChatLane,
    done: mpsc::Sender<ChatLane>,
}

impl Drop for Sending {
    fn drop(&mut self) {
        // The channel has room for every message in flight; if the account is gone, nobody needs
        // the signal.
        let _ = self.done.try_send(std::mem::take(&mut self.lane));
    }
}

/// Rate limits: of the account and of each chat.
#[derive(Default)]
pub(super) struct Pace(Mutex<Paces>);

#[derive(Default)]
struct Paces {
    overall: Option<Instant>,
    chats: BTreeMap<String, Instant>,
}

impl Pace {
    /// How long a chat has to wait because of its own limit.
    fn wait_of(&self, lane: &str) -> Duration {
        let paces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = paces.chats.get(lane);
        at.map_or(Duration::ZERO, |at| {
            at.saturating_duration_since(Instant::now())
        })
    }

    /// Reserves the next slot and returns the delay until it.
    fn take(&self, lane: &str, shared: bool, can: &ChannelCapabilities) -> Duration {
        let now = Instant::now();
        let mut paces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Only entries whose time has passed: they allow sending at once, as absent ones do.
        if paces.chats.len() > MAX_PACES {
            paces.chats.retain(|_, at| *at > now);
        }
        let chat = paces.chats.get(lane).copied().unwrap_or(now);
        let at = chat.max(paces.overall.unwrap_or(now)).max(now);
        // Capped, or one slow chat would hold back the whole account.
        paces.overall = Some(at.min(now + ACCOUNT_WAIT) + can.overall);
        let gap = if shared { can.per_group } else { can.per_chat };
        paces.chats.insert(lane.to_owned(), at + gap);
        at - now
    }

    /// Starts the gap at the time of delivery, so that a slow request does not shorten it.
    fn arrived(&self, lane: &str, shared: bool, can: &ChannelCapabilities) {
        let gap = if shared { can.per_group } else { can.per_chat };
        let next = Instant::now() + gap;
        let mut paces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = paces.chats.get_mut(lane) {
            // Never earlier: a later slot may have been reserved meanwhile.
            *at = next.max(*at);
        }
    }
}

impl Chats {
    /// Settles messages that were in flight when the gateway stopped. Whether they arrived is
    /// unknown; they are sent again only if the platform detects the duplicate.
    async fn settle_interrupted(&self, channel: &Arc<dyn Channel>) {
        let key = (channel.name().to_owned(), channel.account().to_owned());
        let mine = self.interrupted().remove(&key).unwrap_or_default();
        for row in mine {
            let why = "the gateway stopped while sending".to_owned();
            let message = serde_json::from_str::<OutgoingMessage>(&row.body);
            let sent = Err(SendError::Unknown(why));
            let end = match message {
                Ok(message) => self.end_of(channel, &row, &message, sent),
                Err(_) => SendResult::Failed {
                    why: "the message is damaged".to_owned(),
                },
            };
            self.ended(&row, &end, None).await;
        }
    }

    /// Sends the messages of an account while it is running.
    pub(super) async fn send_all(&self, name: &str, account: &str, channel: &Arc<dyn Channel>) {
        self.settle_interrupted(channel).await;
        let mut changes = self.0.outbox.subscribe();
        let pace = Arc::new(Pace::default());
        let (done, mut ended) = mpsc::channel::<ChatLane>(AT_ONCE);
        // One message per chat at a time keeps their order, whatever fails.
        let mut busy: HashSet<ChatLane> = HashSet::new();
        loop {
            // Before reading, so that a change during the read wakes the loop again.
            changes.mark_unchanged();
            let waiting = self.0.records.next_outbound(name, account, CHATS).await;
            let waiting = waiting.unwrap_or_else(|error| {
                tracing::warn!(event = "outbox_read_failed", channel = name, account, %error, "failed to read the outbox; will retry");
                Vec::new()
            });
            let now = self.0.clock.now();
            let mut next = LOOK_AGAIN;
            for row in waiting {
                if busy.contains(&row.lane) || row.state == OutboxState::Sending {
                    continue;
                }
                if row.due > now {
                    let wait = u64::try_from(row.due.0 - now.0).unwrap_or(0);
                    next = next.min(Duration::from_millis(wait));
                    continue;
                }
                // A rate-limited chat must not use one of the slots while it waits.
                let wait = pace.wait_of(&row.lane);
                if !wait.is_zero() {
                    next = next.min(wait);
                    continue;
                }
                if busy.len() >= AT_ONCE {
                    break;
                }
                busy.insert(row.lane.clone());
                let (this, channel) = (self.clone(), channel.clone());
                let (pace, done) = (pace.clone(), done.clone());
                // Spawned on the tracker: a request in flight completes and is recorded even if the
                // account is stopped.
                let lane = row.lane.clone();
                let sending = Sending { lane, done };
                self.0.tasks.spawn(async move {
                    let _sending = sending;
                    let sent = contained(this.send_one(&channel, &row, &pace)).await;
                    if let Err(panicked) = sent {
                        let (message, reason) = (&row.id, &panicked.reason);
                        tracing::error!(
                            event = "send_panicked",
                            message,
                            reason,
                            "internal error: sending a message panicked"
                        );
                        let why = panicked.to_string();
                        this.ended(&row, &SendResult::Failed { why }, None).await;
                    }
                });
            }
            tokio::select! {
                lane = ended.recv() => {
                    if let Some(lane) = lane {
                        busy.remove(&lane);
                    }
                    // All that have ended, so that one query serves them together.
                    while let Ok(lane) = ended.try_recv() {
                        busy.remove(&lane);
                    }
                }
                changed = changes.changed(), if busy.len() < AT_ONCE => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = tokio::time::sleep(next) => {}
            }
        }
    }

    async fn send_one(&self, channel: &Arc<dyn Channel>, row: &OutboxRow, pace: &Pace) {
        let Ok(message) = serde_json::from_str::<OutgoingMessage>(&row.body) else {
            let why = "the message is damaged".to_owned();
            return self.ended(row, &SendResult::Failed { why }, None).await;
        };
        let can = channel.abilities();
        let wait = pace.take(&row.lane, message.to.is_shared(), can);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.0.stopping.cancelled() => return, // sent after the next start
        }
        let file = match self.file_of(&message).await {
            Ok(file) => file,
            Err(why) => return self.ended(row, &SendResult::Failed { why }, None).await,
        };
        // Marked as sending on disk before the request leaves. After a crash the message is then
        // known to be in doubt, and is not silently sent twice.
        match self.0.records.mark_sending(&row.id).await {
            Ok(true) => {}
            Ok(false) => return, // discarded meanwhile
            Err(error) => {
                tracing::warn!(event = "outbox_mark_sending_failed", message = row.id, %error, "cannot mark message as sending; will retry");
                return tokio::time::sleep(WAITS.0).await;
            }
        }
        let sent = contained(deliver(channel, &row.id, &message, file)).await;
        let sent = sent.unwrap_or_else(|panicked| {
            let (message, reason) = (&row.id, &panicked.reason);
            tracing::error!(
                event = "channel_send_panicked",
                message,
                reason,
                "internal error: the channel panicked while sending"
            );
            // The message may have been sent before the panic.
            Err(SendError::Unknown(panicked.to_string()))
        });
        pace.arrived(&row.lane, message.to.is_shared(), can);
        // Only the platform's verdict on the recipient counts: a malformed message or a broken
        // account says nothing about whether the recipient is reachable.
        let reached = match &sent {
            Ok(_) => Some(true),
            Err(SendError::Unreachable(_)) => Some(false),
            Err(_) => None,
        };
        let end = self.end_of(channel, row, &message, sent);
        self.ended(row, &end, reached).await;
    }

    /// Translates the result of an attempt into the next state.
    fn end_of(
        &self,
        channel: &Arc<dyn Channel>,
        row: &OutboxRow,
        message: &OutgoingMessage,
        sent: Result<manyhands_channels::SendReceipt, SendError>,
    ) -> SendResult {
        let settings = self.0.settings.current();
        let now = self.0.clock.now();
        let again = |after: Duration, why: String| {
            let hours = i64::from(settings.channels.retry_hours);
            let millis = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
            let due = Timestamp(now.0.saturating_add(millis));
            match due.0.saturating_sub(row.created.0) > hours * 3_600_000 {
                true => SendResult::Failed {
                    why: format!("not sent within {hours} hours: {why}"),
                },
                false => SendResult::Retry { due, why },
            }
        };
        // Bounded, so that the power below cannot overflow.
        let tried = u32::try_from(row.attempts).unwrap_or(u32::MAX).min(20);
        let wait = WAITS
            .0
            .saturating_mul(2_u32.saturating_pow(tried))
            .min(WAITS.1);
        match sent {
            Ok(delivered) => SendResult::Sent {
                message: delivered.message,
            },
            Err(SendError::Later { after, why }) => again(after.unwrap_or(wait), why),
            Err(SendError::Never(why) | SendError::Unreachable(why)) => SendResult::Failed { why },
            Err(SendError::Account(why)) => {
                let standing = ConnectionStatus::Broken { why: why.clone() };
                self.stands(channel.name(), channel.account(), standing);
                again(ACCOUNT_WAIT, why)
            }
            Err(SendError::Unknown(why)) if channel.repeatable(message) => again(wait, why),
            Err(SendError::Unknown(why)) => SendResult::Unknown {
                why,
                // A message in doubt is resent once, not for ever.
                resend: settings.channels.resend_unknown && !row.key.is_resend(),
            },
        }
    }

    /// Records the outcome of an attempt. Retries until it is on disk, because a lost outcome could
    /// not be reconstructed.
    async fn ended(&self, row: &OutboxRow, end: &SendResult, reached: Option<bool>) {
        if let SendResult::Failed { why } | SendResult::Unknown { why, .. } = end {
            tracing::warn!(
                event = "message_not_delivered",
                message = row.id,
                chat = %row.lane,
                reason = why,
                "a message was not delivered, or its delivery is unknown"
            );
        }
        let mut wait = WAITS.0;
        while let Err(error) = self.0.records.finish_attempt(&row.id, end).await {
            tracing::warn!(event = "outbox_state_save_failed", message = row.id, %error, "failed to persist the delivery state of a message; will retry");
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.0.stopping.cancelled() => return,
            }
            wait = (wait * 2).min(WAITS.1);
        }
        // Before waiting callers are woken, so that their next call sees the updated contact.
        if let Some(reached) = reached {
            self.tell_contacts(row, reached).await;
        }
        // Last: the next message of this chat may be sent as soon as this one is recorded.
        self.outbox_changed();
    }

    /// Records on the contact whether they could be reached.
    async fn tell_contacts(&self, row: &OutboxRow, well: bool) {
        if !row.key.is_to_contact() {
            return;
        }
        let chat = row.lane.chat().to_owned();
        let (contacts, channel) = (self.0.people.contacts.clone(), row.channel.clone());
        let noted = tokio::task::spawn_blocking(move || contacts.sent_to(&channel, &chat, well));
        if let Ok(Err(error)) = noted.await {
            tracing::warn!(event = "contact_update_failed", %error, "failed to update the contact of a recipient");
        }
    }

    /// The bytes of a file message.
    async fn file_of(&self, message: &OutgoingMessage) -> Result<Option<Bytes>, String> {
        let OutgoingContent::File { artifact, .. } = &message.content else {
            return Ok(None);
        };
        let gone = || "the file has been deleted".to_owned();
        let id: ArtifactId = artifact.parse().map_err(|_| gone())?;
        let opened = self.0.artifacts.store.open(id, None).await;
        let mut content = opened.map_err(|e| e.to_string())?;
        let mut all = BytesMut::new();
        while let Some(piece) = content.next().await {
            all.extend_from_slice(&piece.map_err(|e| e.to_string())?);
        }
        Ok(Some(all.freeze()))
    }
}

/// Sends a message through the channel.
async fn deliver(
    channel: &Arc<dyn Channel>,
    id: &str,
    message: &OutgoingMessage,
    file: Option<Bytes>,
) -> Result<manyhands_channels::SendReceipt, SendError> {
    let sent = channel.send(id, message, file.clone()).await;
    if let Err(SendError::Never(_) | SendError::Unreachable(_)) = &sent
        && let Some(fresh) = without_edit(message)
    {
        // The message to edit is gone, so send a new one.
        return channel.send(id, &fresh, file).await;
    }
    sent
}

/// An edit turned into a new message.
fn without_edit(message: &OutgoingMessage) -> Option<OutgoingMessage> {
    let OutgoingContent::Text {
        text,
        buttons,
        edits: Some(_),
    } = &message.content
    else {
        return None;
    };
    let content = OutgoingContent::Text {
        text: text.clone(),
        buttons: buttons.clone(),
        edits: None,
    };
    Some(OutgoingMessage {
        content,
        ..message.clone()
    })
}
