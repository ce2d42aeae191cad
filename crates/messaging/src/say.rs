//! Saying something in a chat: kept first, sent when its turn comes.

use std::time::Duration;

use bytes::Bytes;
use manyhands_channels::{Button, FileKind, Outgoing, Say, chunk};
use manyhands_core::{AgentId, ArtifactId, CallId, ErrorCode, Place, Timestamp, ToolError};
use manyhands_store::{Bucket, NewArtifact, NewOutbound, OutboxRow, OutboxState, Room};

use super::{Chats, unkept};

/// The longest message where it is not known what a platform takes.
const SAFE: usize = 1_900;
/// How long the bytes of a file that is sent are kept.
const KEPT_MS: i64 = 8 * 86_400_000;

/// Something to be said in a chat.
pub(super) struct Words<'a> {
    pub(super) to: &'a Place,
    pub(super) text: &'a str,
    /// What makes saying it twice saying it once.
    pub(super) key: &'a str,
    pub(super) reply_to: Option<String>,
    pub(super) ticket: Option<String>,
    /// The message of ours whose place it takes.
    pub(super) edits: Option<String>,
    pub(super) buttons: Vec<Vec<Button>>,
    pub(super) session: Option<String>,
}

impl<'a> Words<'a> {
    pub(super) fn new(to: &'a Place, text: &'a str, key: &'a str) -> Self {
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

/// A file to be sent.
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

/// What became of something that was to be said.
#[derive(Debug, Clone)]
pub struct Delivered {
    /// Its id in the outbox; of several pieces, the last one's.
    pub id: String,
    /// Its delivery state.
    pub state: OutboxState,
    /// The platform's id of it, once it arrived.
    pub message: Option<String>,
    /// Why it was not delivered.
    pub why: Option<String>,
}

impl From<OutboxRow> for Delivered {
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
    /// A text as it is kept: in pieces that fit the platform, in order.
    pub(super) fn rows(&self, words: Words<'_>) -> Result<Vec<NewOutbound>, ToolError> {
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
            let message = Outgoing {
                to: words.to.chat_only(),
                reply_to: reply_to.take(),
                ticket: ticket.take(),
                say: Say::Text {
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

    /// Keeps words that are to be said; they are on disk when this returns. The id of the last piece.
    pub(super) async fn put(&self, rows: &[NewOutbound]) -> Result<Option<String>, ToolError> {
        let ids = self.0.records.say(rows).await.map_err(|e| unkept(&e))?;
        self.outbox_changed();
        Ok(ids.last().cloned())
    }

    /// Says something in a chat, and waits a while to see what becomes of it.
    pub async fn tell(
        &self,
        to: &Place,
        text: &str,
        reply_to: Option<&str>,
        key: &str,
        session: Option<&str>,
        within: Duration,
    ) -> Result<Delivered, ToolError> {
        if text.trim().is_empty() {
            return Err(ToolError::parameter("text", "must not be empty"));
        }
        let words = Words {
            reply_to: reply_to.map(str::to_owned),
            session: session.map(str::to_owned),
            ..Words::new(to, text, key)
        };
        let rows = self.rows(words)?;
        let id = self.put(&rows).await?;
        let id =
            id.ok_or_else(|| ToolError::parameter("text", "holds nothing that can be sent"))?;
        self.outcome(&id, within).await
    }

    /// Sends a file to a chat, and waits a while to see what becomes of it.
    pub async fn tell_file(
        &self,
        to: &Place,
        file: NewFile,
        agent: &AgentId,
        key: &str,
        within: Duration,
    ) -> Result<Delivered, ToolError> {
        let now = self.0.clock.now();
        let new = NewArtifact {
            name: file.name.clone(),
            mime: file.mime.clone(),
            agent: agent.clone(),
            call: self.0.ids.next::<CallId>(),
            caller: "gateway".to_owned(),
            bucket: Bucket::Results,
            expires: Some(Timestamp(now.0 + KEPT_MS)),
            room: Room::ENDLESS,
        };
        let kept = self.0.artifacts.store.put(new, file.bytes).await;
        let artifact = kept.map_err(|e| unkept(&e))?.id;
        let link = self.public_link(artifact);
        let message = Outgoing {
            to: to.chat_only(),
            reply_to: None,
            ticket: None,
            say: Say::File {
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

    /// Where a platform can fetch a file, if it can reach the gateway.
    fn public_link(&self, artifact: ArtifactId) -> Option<String> {
        let settings = self.0.settings.current();
        let public = settings.public_url.as_deref()?;
        let good = Duration::from_millis(KEPT_MS.unsigned_abs());
        public.starts_with("https://").then(|| {
            let (url, _) = self.0.artifacts.links.make(artifact, good, Some(public));
            url
        })
    }

    /// Reacts to a message, and waits a while to see what becomes of it.
    pub async fn react(
        &self,
        to: &Place,
        message: &str,
        emoji: &str,
        big: bool,
        key: &str,
        within: Duration,
    ) -> Result<Delivered, ToolError> {
        let say = Say::React {
            message: message.to_owned(),
            emoji: emoji.to_owned(),
            big,
        };
        let message = Outgoing {
            to: to.chat_only(),
            reply_to: None,
            ticket: None,
            say,
        };
        let id = self.put(&[row(&message, key.to_owned(), None)?]).await?;
        self.outcome(&id.unwrap_or_default(), within).await
    }

    /// What became of something that was to be said, as far as it is known within a time.
    pub async fn outcome(&self, id: &str, within: Duration) -> Result<Delivered, ToolError> {
        let mut changes = self.0.outbox.subscribe();
        let waiting = tokio::time::sleep(within);
        tokio::pin!(waiting);
        loop {
            let row = self.0.records.outbound(id).await.map_err(|e| unkept(&e))?;
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

    /// Tells those who wait that something in the outbox changed.
    pub(super) fn outbox_changed(&self) {
        self.0
            .outbox
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Has something tried again that did not arrive.
    pub async fn resend(&self, id: &str) -> Result<(), ToolError> {
        let done = self.0.records.resend(id).await.map_err(|e| unkept(&e))?;
        self.outbox_changed();
        done.then_some(()).ok_or_else(|| not_lost(id))
    }

    /// Lets go of something that did not arrive.
    pub async fn let_go(&self, id: &str) -> Result<(), ToolError> {
        let done = self.0.records.let_go(id).await.map_err(|e| unkept(&e))?;
        self.outbox_changed();
        done.then_some(()).ok_or_else(|| not_lost(id))
    }

    /// Has an event worked on again that could not be.
    pub async fn rehear(&self, id: &str) -> Result<(), ToolError> {
        let done = self.0.records.retry(id).await.map_err(|e| unkept(&e))?;
        self.0.heard.notify_one();
        done.then_some(()).ok_or_else(|| {
            ToolError::not_found(format!("there is no failed message {id} in the inbox"))
        })
    }
}

fn not_lost(id: &str) -> ToolError {
    let message = format!("there is no message {id} that did not arrive");
    ToolError::new(ErrorCode::NotFound, message).hint("`manyhands outbox` lists those there are")
}

pub(super) fn row(
    message: &Outgoing,
    key: String,
    session_key: Option<String>,
) -> Result<NewOutbound, ToolError> {
    Ok(NewOutbound {
        key,
        channel: message.to.channel.clone(),
        account: message.to.account.clone(),
        lane: message.to.lane(),
        body: serde_json::to_string(message).map_err(|e| ToolError::internal(e.to_string()))?,
        session_key,
    })
}
