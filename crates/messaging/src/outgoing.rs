//! Outgoing messages: stored first, sent by the dispatcher.

use std::time::Duration;

use bytes::Bytes;
use manyhands_channels::{Button, FileKind, OutgoingContent, OutgoingMessage, chunk};
use manyhands_core::{AgentId, ArtifactId, CallId, ChatRef, ErrorCode, Timestamp, ToolError};
use manyhands_store::{
    ArtifactQuota, Bucket, NewArtifact, NewOutbound, OutboxKey, OutboxRow, OutboxState,
};

use super::Chats;

/// The longest message while the limit of the platform is unknown.
const SAFE: usize = 1_900;
/// How long the bytes of an outgoing file are stored: longer than a message is retried.
const KEPT_MS: i64 = 8 * 86_400_000;

/// A text message to a chat.
pub(super) struct OutgoingText<'a> {
    pub(super) to: &'a ChatRef,
    pub(super) text: &'a str,
    /// Idempotency key: the same key is sent once.
    pub(super) key: &'a str,
    pub(super) reply_to: Option<String>,
    pub(super) ticket: Option<String>,
    /// Our message that it replaces.
    pub(super) edits: Option<String>,
    pub(super) buttons: Vec<Vec<Button>>,
    pub(super) session: Option<String>,
}

impl<'a> OutgoingText<'a> {
    pub(super) fn new(to: &'a ChatRef, text: &'a str, key: &'a str) -> Self {
        Self {
            to,
            text,
            key,
            reply_to: None,
            ticket: None,
            edits: None,
            buttons: Vec::new(),
            session: None,
        }
    }
}

/// A file to send.
pub struct NewFile {
    /// How it is shown.
    pub form: FileKind,
    /// Its name.
    pub name: String,
    /// Its media type.
    pub mime: String,
    /// The text shown with it.
    pub caption: Option<String>,
    /// Its content.
    pub bytes: Bytes,
}

/// The delivery state of a message.
#[derive(Debug, Clone)]
pub struct DeliveryReport {
    /// Its id in the outbox; of several pieces, that of the last.
    pub id: String,
    /// Its delivery state.
    pub state: OutboxState,
    /// The platform's id, once it arrived.
    pub message: Option<String>,
    /// Why it was not delivered.
    pub why: Option<String>,
}

impl From<OutboxRow> for DeliveryReport {
    fn from(row: OutboxRow) -> Self {
        Self {
            id: row.id,
            state: row.state,
            message: row.message,
            why: row.why,
        }
    }
}

impl Chats {
    /// Splits a text into outbox rows that fit the platform, in order.
    pub(super) fn rows(&self, words: OutgoingText<'_>) -> Result<Vec<NewOutbound>, ToolError> {
        let channel = self.channel(&words.to.channel, &words.to.account);
        let pieces = match &channel {
            Some(channel) => channel.pieces(words.text),
            None => chunk::pieces(words.text, SAFE, &|piece| piece.encode_utf16().count()),
        };
        let last = pieces.len().saturating_sub(1);
        let (mut reply_to, mut ticket, mut edits) = (words.reply_to, words.ticket, words.edits);
        let mut rows = Vec::with_capacity(pieces.len());
        for (at, text) in pieces.into_iter().enumerate() {
            let buttons = match at == last {
                true => words.buttons.clone(),
                false => Vec::new(),
            };
            let message = OutgoingMessage {
                to: words.to.chat_only(),
                reply_to: reply_to.take(),
                ticket: ticket.take(),
                content: OutgoingContent::Text {
                    text,
                    buttons,
                    edits: edits.take(),
                },
            };
            let key = format!("{}:{at}", words.key);
            rows.push(row(&message, key, words.session.clone())?);
        }
        Ok(rows)
    }

    /// Stores outgoing rows and returns the id of the last. They are on disk when this returns.
    pub(super) async fn put(&self, rows: &[NewOutbound]) -> Result<Option<String>, ToolError> {
        let ids = self.0.records.send(rows).await?;
        self.outbox_changed();
        Ok(ids.last().cloned())
    }

    /// Sends a text and waits a while for its delivery state.
    pub async fn tell(
        &self,
        to: &ChatRef,
        text: &str,
        reply_to: Option<&str>,
        key: &str,
        session: Option<&str>,
        within: Duration,
    ) -> Result<DeliveryReport, ToolError> {
        if text.trim().is_empty() {
            return Err(ToolError::parameter("text", "must not be empty"));
        }
        let words = OutgoingText {
            reply_to: reply_to.map(str::to_owned),
            session: session.map(str::to_owned),
            ..OutgoingText::new(to, text, key)
        };
        let rows = self.rows(words)?;
        let id = self.put(&rows).await?;
        let id =
            id.ok_or_else(|| ToolError::parameter("text", "contains nothing that can be sent"))?;
        self.outcome(&id, within).await
    }

    /// Sends a file and waits a while for its delivery state.
    pub async fn tell_file(
        &self,
        to: &ChatRef,
        file: NewFile,
        agent: &AgentId,
        key: &str,
        within: Duration,
    ) -> Result<DeliveryReport, ToolError> {
        let now = self.0.clock.now();
        let new = NewArtifact {
            name: file.name.clone(),
            mime: file.mime.clone(),
            agent: agent.clone(),
            call: self.0.ids.next::<CallId>(),
            caller: "gateway".to_owned(),
            bucket: Bucket::Results,
            expires: Some(Timestamp(now.0 + KEPT_MS)),
            quota: ArtifactQuota::UNLIMITED,
        };
        let kept = self.0.artifacts.store.put(new, file.bytes).await;
        let artifact = kept?.id;
        let link = self.public_link(artifact);
        let message = OutgoingMessage {
            to: to.chat_only(),
            reply_to: None,
            ticket: None,
            content: OutgoingContent::File {
                form: file.form,
                name: file.name,
                mime: file.mime,
                caption: file.caption,
                artifact: artifact.to_string(),
                link,
            },
        };
        let id = self.put(&[row(&message, key.to_owned(), None)?]).await?;
        self.outcome(&id.unwrap_or_default(), within).await
    }

    /// A download URL that the platform can fetch, if the gateway has a public https address.
    fn public_link(&self, artifact: ArtifactId) -> Option<String> {
        let settings = self.0.settings.current();
        let public = settings.public_url.as_deref()?;
        let good = Duration::from_millis(KEPT_MS.unsigned_abs());
        public.starts_with("https://").then(|| {
            let (url, _) = self.0.artifacts.links.make(artifact, good, Some(public));
            url
        })
    }

    /// Reacts to a message and waits a while for the delivery state.
    pub async fn react(
        &self,
        to: &ChatRef,
        message: &str,
        emoji: &str,
        big: bool,
        key: &str,
        within: Duration,
    ) -> Result<DeliveryReport, ToolError> {
        let content = OutgoingContent::React {
            message: message.to_owned(),
            emoji: emoji.to_owned(),
            big,
        };
        let message = OutgoingMessage {
            to: to.chat_only(),
            reply_to: None,
            ticket: None,
            content,
        };
        let id = self.put(&[row(&message, key.to_owned(), None)?]).await?;
        self.outcome(&id.unwrap_or_default(), within).await
    }

    /// Returns the delivery state of a message, waiting up to `within` for a final one.
    pub async fn outcome(&self, id: &str, within: Duration) -> Result<DeliveryReport, ToolError> {
        // Subscribe before reading, or a change in between would be missed.
        let mut changes = self.0.outbox.subscribe();
        let waiting = tokio::time::sleep(within);
        tokio::pin!(waiting);
        loop {
            let row = self.0.records.outbound(id).await?;
            let row =
                row.ok_or_else(|| ToolError::not_found(format!("there is no message {id}")))?;
            if !matches!(row.state, OutboxState::Pending | OutboxState::Sending) {
                return Ok(row.into());
            }
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() {
                        return Ok(row.into());
                    }
                }
                () = &mut waiting => return Ok(row.into()),
            }
        }
    }

    /// Wakes everyone who waits for a change of the outbox.
    pub(super) fn outbox_changed(&self) {
        self.0
            .outbox
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Retries an undelivered message.
    pub async fn resend(&self, id: &str) -> Result<(), ToolError> {
        let done = self.0.records.resend(id).await?;
        self.outbox_changed();
        done.then_some(()).ok_or_else(|| not_lost(id))
    }

    /// Discards an undelivered message.
    pub async fn let_go(&self, id: &str) -> Result<(), ToolError> {
        let done = self.0.records.drop_outbound(id).await?;
        self.outbox_changed();
        done.then_some(()).ok_or_else(|| not_lost(id))
    }

    /// Retries a failed incoming message.
    pub async fn rehear(&self, id: &str) -> Result<(), ToolError> {
        let done = self.0.records.retry_inbound(id).await?;
        self.0.heard.notify_one();
        done.then_some(()).ok_or_else(|| {
            ToolError::not_found(format!("there is no failed message {id} in the inbox"))
        })
    }
}

fn not_lost(id: &str) -> ToolError {
    let message = format!("no undelivered message has the id {id}");
    ToolError::new(ErrorCode::NotFound, message)
        .hint("`manyhands outbox` lists undelivered messages")
}

pub(super) fn row(
    message: &OutgoingMessage,
    key: String,
    session_key: Option<String>,
) -> Result<NewOutbound, ToolError> {
    Ok(NewOutbound {
        key: OutboxKey::new(key),
        channel: message.to.channel.clone(),
        account: message.to.account.clone(),
        lane: message.to.lane(),
        body: serde_json::to_string(message).map_err(|e| ToolError::internal(e.to_string()))?,
        session_key,
    })
}
