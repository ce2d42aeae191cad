//! Sending messages.

use bytes::Bytes;
use manyhands_core::ChatRef;
use manyhands_guard::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::calls::{DiscordRequest, RequestBody};
use super::{Discord, TEXT, render};
use crate::api::FormPart;
use crate::channel::{SendError, SendReceipt};
use crate::message::{Button, Inbound, InboundEvent, OutgoingContent, OutgoingMessage};
use crate::shorten::{shortened, units};

/// Maximum length of a button label.
const LABEL: usize = 80;
/// Maximum buttons per row, and maximum rows.
const ROW: usize = 5;
/// Visible only to the recipient.
const EPHEMERAL: u64 = 1 << 6;

impl Discord {
    pub(super) async fn say(
        &self,
        key: &str,
        message: &OutgoingMessage,
        file: Option<Bytes>,
    ) -> Result<SendReceipt, SendError> {
        let chat = self.target(&message.to).await?;
        match &message.content {
            OutgoingContent::Text {
                text,
                buttons,
                edits: Some(edited),
            } => self.edit(&chat, edited, text, buttons).await,
            OutgoingContent::Text { text, buttons, .. } => {
                let mut body = self.body(key, message, &content(text)?);
                if !buttons.is_empty() {
                    body["components"] = rows(buttons)?;
                }
                self.create(&chat, RequestBody::Json(body)).await
            }
            OutgoingContent::File {
                name,
                mime,
                caption,
                ..
            } => {
                let bytes =
                    file.ok_or_else(|| SendError::Never("the file content is missing".to_owned()))?;
                let caption = caption.as_deref().map(render::discord).unwrap_or_default();
                let mut body = self.body(key, message, &shortened(&caption, TEXT));
                body["attachments"] = json!([{ "id": "0", "filename": name }]);
                let parts = [
                    FormPart {
                        mime: Some("application/json".to_owned()),
                        ..FormPart::field("payload_json", body.to_string())
                    },
                    FormPart::file("files[0]", name, mime, bytes),
                ];
                self.create(&chat, RequestBody::Form(&parts)).await
            }
            OutgoingContent::React { message, emoji, .. } => {
                self.react(&chat, message, emoji).await
            }
        }
    }

    /// The channel of a place. Persons are named `user:ID`, and have a direct chat.
    async fn target(&self, place: &ChatRef) -> Result<String, SendError> {
        let chat = place.thread.as_deref().unwrap_or(&place.chat);
        let Some(user) = chat.strip_prefix("user:") else {
            return snowflake(chat).map(str::to_owned);
        };
        if let Some(direct) = self.direct.get(user) {
            return Ok(direct);
        }
        let body = RequestBody::Json(json!({ "recipient_id": snowflake(user)? }));
        let path = "users/@me/channels".to_owned();
        let said = self
            .call(DiscordRequest::post(
                "POST users/@me/channels",
                "",
                path,
                body,
            ))
            .await?;
        let direct = said["id"].as_str().ok_or_else(|| SendError::Later {
            after: None,
            why: "Discord did not return the direct chat".to_owned(),
        })?;
        self.rooms.learn(&said);
        self.direct.put(user, direct.to_owned());
        Ok(direct.to_owned())
    }

    /// Common fields of a new message. It mentions nobody, whatever a model writes.
    fn body(&self, key: &str, message: &OutgoingMessage, content: &str) -> Value {
        let mut body = json!({
            "content": content,
            "nonce": nonce(key),
            "enforce_nonce": true,
            "allowed_mentions": nobody(),
        });
        if let Some(answered) = &message.reply_to {
            body["message_reference"] =
                json!({ "message_id": answered, "fail_if_not_exists": false });
        }
        body
    }

    async fn create(&self, chat: &str, body: RequestBody<'_>) -> Result<SendReceipt, SendError> {
        let path = format!("channels/{chat}/messages");
        let said = self
            .call(DiscordRequest::post(
                "POST channels/messages",
                chat,
                path,
                body,
            ))
            .await?;
        Ok(SendReceipt {
            message: said["id"].as_str().map(str::to_owned),
        })
    }

    async fn edit(
        &self,
        chat: &str,
        message: &str,
        text: &str,
        buttons: &[Vec<Button>],
    ) -> Result<SendReceipt, SendError> {
        let body = json!({
            "content": content(text)?,
            "allowed_mentions": nobody(),
            "components": rows(buttons)?,
        });
        let path = format!("channels/{chat}/messages/{}", snowflake(message)?);
        let call = DiscordRequest {
            method: Method::PATCH,
            ..DiscordRequest::post(
                "PATCH channels/messages",
                chat,
                path,
                RequestBody::Json(body),
            )
        };
        self.call(call).await?;
        Ok(SendReceipt {
            message: Some(message.to_owned()),
        })
    }

    async fn react(
        &self,
        chat: &str,
        message: &str,
        emoji: &str,
    ) -> Result<SendReceipt, SendError> {
        let message = snowflake(message)?;
        let emoji = escaped(emoji);
        let call = DiscordRequest {
            method: Method::PUT,
            ..DiscordRequest::post(
                "PUT channels/messages/reactions",
                chat,
                format!("channels/{chat}/messages/{message}/reactions/{emoji}/@me"),
                RequestBody::None,
            )
        };
        self.call(call).await?;
        Ok(SendReceipt::default())
    }

    pub(super) async fn show_typing(&self, place: &ChatRef) -> Result<(), SendError> {
        let chat = self.target(place).await?;
        let path = format!("channels/{chat}/typing");
        let call = DiscordRequest::post("POST channels/typing", &chat, path, RequestBody::None);
        self.call(call).await.map(|_| ())
    }

    /// Sends a note visible only to the person who pressed a button. The press itself was acknowledged
    /// on receipt.
    pub(super) async fn follow_up(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        let InboundEvent::Button { callback, .. } = &inbound.what else {
            return Ok(());
        };
        let Some((app, token)) = callback.as_deref().and_then(|text| text.split_once('/')) else {
            return Ok(());
        };
        if word.trim().is_empty() {
            return Ok(());
        }
        let body = json!({
            "content": shortened(&render::discord(word), TEXT),
            "flags": EPHEMERAL,
            "allowed_mentions": nobody(),
        });
        let call = DiscordRequest {
            again: false,
            bare: true,
            ..DiscordRequest::post(
                "POST webhooks",
                app,
                format!("webhooks/{}/{}", escaped(app), escaped(token)),
                RequestBody::Json(body),
            )
        };
        self.call(call).await.map(|_| ())
    }
}

/// Disables all mentions.
fn nobody() -> Value {
    json!({ "parse": [], "replied_user": false })
}

/// Renders a text.
fn content(text: &str) -> Result<String, SendError> {
    let content = render::discord(text);
    match units(&content) {
        _ if content.trim().is_empty() => Err(SendError::Never("the message is empty".to_owned())),
        0..=TEXT => Ok(content),
        size => Err(SendError::Never(format!(
            "the text is too long for one message: {size} of {TEXT} characters"
        ))),
    }
}

/// Derived from the key: Discord deduplicates nonces within some minutes.
fn nonce(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    hex::encode(&digest[..12])
}

/// Buttons in rows of five.
fn rows(buttons: &[Vec<Button>]) -> Result<Value, SendError> {
    let rows: Vec<Value> = buttons
        .iter()
        .flat_map(|row| row.chunks(ROW))
        .map(|row| {
            let row: Vec<Value> = row.iter().map(button).collect();
            json!({ "type": 1, "components": row })
        })
        .collect();
    if rows.len() > ROW {
        return Err(SendError::Never(format!(
            "too many rows of buttons: {} of at most {ROW}",
            rows.len()
        )));
    }
    Ok(Value::Array(rows))
}

fn button(button: &Button) -> Value {
    json!({
        "type": 2,
        // Red for a refusal, otherwise blue.
        "style": if button.refuses { 4 } else { 1 },
        "label": shortened(&button.label, LABEL),
        "custom_id": button.data,
    })
}

/// Validates a Discord id, which becomes part of a path.
fn snowflake(id: &str) -> Result<&str, SendError> {
    let fits = (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit());
    match fits {
        true => Ok(id),
        false => Err(SendError::Never(format!(
            "{:?} is not a Discord id; ids are numbers",
            shortened(id, 40)
        ))),
    }
}

/// Percent-encodes a path segment.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~:".contains(&byte);
    let mut all = String::with_capacity(text.len());
    for byte in text.bytes() {
        match plain(byte) {
            true => all.push(char::from(byte)),
            false => all.push_str(&format!("%{byte:02X}")),
        }
    }
    all
}
