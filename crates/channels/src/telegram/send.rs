//! Sending messages.

use bytes::Bytes;
use manyhands_core::ChatRef;
use serde_json::{Map, Value, json};

use crate::api::FormPart;
use crate::channel::{SendError, SendReceipt};
use crate::message::{Button, FileKind, OutgoingContent, OutgoingMessage};

use super::Telegram;
use super::call::{CallError, Idempotency};
use super::html::{self, CAPTION, Html, TEXT};
use super::reactions::reaction;

/// Maximum button data in bytes.
const DATA: usize = 64;
/// Maximum size of a photo.
const PHOTO: usize = 10 * 1024 * 1024;
/// Maximum size of any other file.
pub(super) const FILE: usize = 50 * 1024 * 1024;

type Fields = Map<String, Value>;

impl Telegram {
    pub(super) async fn say(
        &self,
        message: &OutgoingMessage,
        file: Option<Bytes>,
    ) -> Result<SendReceipt, SendError> {
        match &message.content {
            OutgoingContent::Text {
                text,
                buttons,
                edits,
            } => self.text(message, text, buttons, edits.as_deref()).await,
            OutgoingContent::File { .. } => self.file(message, file).await,
            OutgoingContent::React {
                message: of,
                emoji,
                big,
            } => self.react(&message.to, of, emoji, *big).await,
        }
    }

    async fn text(
        &self,
        message: &OutgoingMessage,
        text: &str,
        buttons: &[Vec<Button>],
        edits: Option<&str>,
    ) -> Result<SendReceipt, SendError> {
        let words = fitting(text, TEXT)?
            .ok_or_else(|| SendError::Never("the message is empty".to_owned()))?;
        let mut fields = match edits {
            Some(_) => Fields::new(),
            None => beside(message)?,
        };
        if !buttons.is_empty() {
            fields.insert("reply_markup".to_owned(), keyboard(buttons)?);
        }
        let Some(edited) = edits else {
            let sent = self.worded("sendMessage", &message.to, fields, "text", &words, None);
            return delivered(
                sent.await
                    .map_err(|error| error.sent(Idempotency::Differs))?,
            );
        };
        fields.insert("message_id".to_owned(), number(edited, "message")?);
        let sent = self.worded("editMessageText", &message.to, fields, "text", &words, None);
        match sent.await {
            Ok(result) => delivered(result),
            // A retried edit finds its own text: that is success.
            Err(CallError::Refused(no)) if no.description.contains("message is not modified") => {
                Ok(SendReceipt {
                    message: Some(edited.to_owned()),
                })
            }
            Err(error) => Err(error.sent(Idempotency::Same)),
        }
    }

    async fn file(
        &self,
        message: &OutgoingMessage,
        file: Option<Bytes>,
    ) -> Result<SendReceipt, SendError> {
        let OutgoingContent::File {
            form,
            name,
            mime,
            caption,
            ..
        } = &message.content
        else {
            return Err(SendError::Never("no file given".to_owned()));
        };
        let never = |why: String| Err(SendError::Never(why));
        let Some(bytes) = file else {
            return never("the file content is missing".to_owned());
        };
        if bytes.is_empty() {
            return never("Telegram does not accept empty files".to_owned());
        }
        let (method, field, most) = match form {
            FileKind::Photo => ("sendPhoto", "photo", PHOTO),
            FileKind::Voice => ("sendVoice", "voice", FILE),
            FileKind::Document => ("sendDocument", "document", FILE),
        };
        if bytes.len() > most {
            return never(format!(
                "Telegram allows at most {most} bytes as {field}; this has {}",
                bytes.len()
            ));
        }
        let words = fitting(caption.as_deref().unwrap_or(""), CAPTION)?;
        let words = words.unwrap_or_default();
        let part = FormPart::file(field, name, mime, bytes);
        let fields = beside(message)?;
        let sent = self.worded(method, &message.to, fields, "caption", &words, Some(part));
        delivered(
            sent.await
                .map_err(|error| error.sent(Idempotency::Differs))?,
        )
    }

    async fn react(
        &self,
        place: &ChatRef,
        message: &str,
        emoji: &str,
        big: bool,
    ) -> Result<SendReceipt, SendError> {
        let wanted = match emoji {
            // An empty list removes the reaction.
            "" => json!([]),
            written => {
                let emoji = reaction(written).ok_or_else(|| {
                    SendError::Never(format!("Telegram has no reaction {written:?}"))
                })?;
                json!([{"type": "emoji", "emoji": emoji}])
            }
        };
        let mut fields = Fields::new();
        fields.insert("message_id".to_owned(), number(message, "message")?);
        fields.insert("reaction".to_owned(), wanted);
        if big {
            fields.insert("is_big".to_owned(), json!(true));
        }
        let done = self.moved("setMessageReaction", place, fields, None).await;
        done.map_err(|error| error.sent(Idempotency::Same))?;
        Ok(SendReceipt::default())
    }

    /// Sends a text with formatting or, if Telegram rejects it, without.
    async fn worded(
        &self,
        method: &str,
        place: &ChatRef,
        mut fields: Fields,
        name: &str,
        words: &Html,
        file: Option<FormPart>,
    ) -> Result<Value, CallError> {
        if words.seen.is_empty() {
            return self.moved(method, place, fields, file).await;
        }
        if words.html.is_empty() {
            fields.insert(name.to_owned(), json!(words.seen));
            return self.moved(method, place, fields, file).await;
        }
        fields.insert(name.to_owned(), json!(words.html));
        fields.insert("parse_mode".to_owned(), json!("HTML"));
        match self
            .moved(method, place, fields.clone(), file.clone())
            .await
        {
            // A model may write markup that our renderer misjudges; the text matters more than its
            // formatting.
            Err(CallError::Refused(no)) if no.description.contains("can't parse entities") => {
                tracing::warn!(
                    event = "telegram_formatting_rejected",
                    error = no.description,
                    "Telegram rejected the formatting; sending plain text"
                );
                // Nothing was sent: Telegram rejects the request as a whole, so this is no duplicate.
                fields.remove("parse_mode");
                fields.insert(name.to_owned(), json!(words.seen));
                self.moved(method, place, fields, file).await
            }
            other => other,
        }
    }

    /// Calls a method for a chat, following a group that was migrated.
    pub(super) async fn moved(
        &self,
        method: &str,
        place: &ChatRef,
        mut fields: Fields,
        file: Option<FormPart>,
    ) -> Result<Value, CallError> {
        let known = self.moves.get(&place.chat);
        let chat = known.map_or_else(|| chat(&place.chat), |moved| json!(moved));
        fields.insert("chat_id".to_owned(), chat);
        match self.once(method, &fields, file.as_ref()).await {
            Err(CallError::Refused(no)) if no.migrate_to.is_some() => {
                if let Some(moved) = no.migrate_to {
                    // Remembered: every request to the old id would cost a refusal first.
                    self.moves.put(&place.chat, moved);
                    fields.insert("chat_id".to_owned(), json!(moved));
                }
                self.once(method, &fields, file.as_ref()).await
            }
            other => other,
        }
    }

    async fn once(
        &self,
        method: &str,
        fields: &Fields,
        file: Option<&FormPart>,
    ) -> Result<Value, CallError> {
        let Some(file) = file else {
            return self.bot.call(method, &Value::Object(fields.clone())).await;
        };
        let mut parts: Vec<FormPart> = fields
            .iter()
            .map(|(name, value)| {
                // A form has only texts: strings go without quotes, everything else as JSON.
                let value = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                FormPart::field(name, value)
            })
            .collect();
        parts.push(file.clone());
        self.bot.form(method, &parts).await
    }
}

/// Common fields of a message.
fn beside(message: &OutgoingMessage) -> Result<Fields, SendError> {
    let mut fields = Fields::new();
    if let Some(thread) = &message.to.thread {
        fields.insert("message_thread_id".to_owned(), number(thread, "thread")?);
    }
    if let Some(answered) = &message.reply_to {
        let id = number(answered, "message")?;
        // A reply without its reference is better than none.
        let parameters = json!({"message_id": id, "allow_sending_without_reply": true});
        fields.insert("reply_parameters".to_owned(), parameters);
    }
    Ok(fields)
}

/// Renders a text; `None` if nothing would be visible.
fn fitting(text: &str, most: usize) -> Result<Option<Html>, SendError> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let mut words = html::render(text);
    if words.seen.trim().is_empty() {
        // Marks around nothing: show the source text.
        words = Html {
            html: String::new(),
            seen: text.to_owned(),
        };
    }
    // Telegram limits the length before parsing too; the plain text may still fit.
    if words.html.len() > html::RAW {
        words.html.clear();
    }
    let length = html::units(&words.seen);
    if length > most {
        let why = format!("Telegram allows at most {most} characters here; this has {length}");
        return Err(SendError::Never(why));
    }
    Ok(Some(words))
}

fn keyboard(rows: &[Vec<Button>]) -> Result<Value, SendError> {
    let mut keyboard = Vec::new();
    for row in rows.iter().filter(|row| !row.is_empty()) {
        let mut buttons = Vec::new();
        for button in row {
            // Checked here, because one invalid button makes Telegram refuse the whole message.
            if button.data.is_empty() || button.data.len() > DATA || button.label.trim().is_empty()
            {
                let label = &button.label;
                let why = format!(
                    "the button {label:?} needs a label and 1 to {DATA} bytes of data, not {}",
                    button.data.len()
                );
                return Err(SendError::Never(why));
            }
            let mut one = json!({"text": button.label, "callback_data": button.data});
            if button.refuses {
                one["style"] = json!("danger");
            }
            buttons.push(one);
        }
        keyboard.push(Value::Array(buttons));
    }
    Ok(json!({"inline_keyboard": keyboard}))
}

/// A chat by number, or a channel by `@name`.
pub(super) fn chat(chat: &str) -> Value {
    let id = chat.parse::<i64>();
    id.map_or_else(|_| json!(chat), |id| json!(id))
}

/// The number of a message or thread.
pub(super) fn number(written: &str, what: &str) -> Result<Value, SendError> {
    let id = written.parse::<i64>().ok().filter(|id| *id > 0);
    id.map(|id| json!(id))
        .ok_or_else(|| SendError::Never(format!("{written:?} is not a Telegram {what}")))
}

fn delivered(result: Value) -> Result<SendReceipt, SendError> {
    let message = result["message_id"].as_i64();
    Ok(SendReceipt {
        message: message.map(|id| id.to_string()),
    })
}
