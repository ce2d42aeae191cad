//! Sending.

use bytes::Bytes;
use manyhands_core::ChatRef;
use manyhands_guard::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::calls::{Body, Call};
use super::{Discord, TEXT, render};
use crate::api::Part;
use crate::channel::{Delivered, SendError};
use crate::short::{shortened, units};
use crate::words::{Button, Heard, Inbound, Outgoing, Say};

/// The longest label of a button.
const LABEL: usize = 80;
/// The most buttons in a row, and the most rows.
const ROW: usize = 5;
/// Seen only by whoever it is for.
const EPHEMERAL: u64 = 1 << 6;

impl Discord {
    pub(super) async fn say(
        &self,
        key: &str,
        message: &Outgoing,
        file: Option<Bytes>,
    ) -> Result<Delivered, SendError> {
        let chat = self.target(&message.to).await?;
        match &message.say {
            Say::Text {
                text,
                buttons,
                edits: Some(edited),
            } => self.edit(&chat, edited, text, buttons).await,
            Say::Text { text, buttons, .. } => {
                let mut body = self.body(key, message, &content(text)?);
                if !buttons.is_empty() {
                    body["components"] = rows(buttons)?;
                }
                self.create(&chat, Body::Json(body)).await
            }
            Say::File {
                name,
                mime,
                caption,
                ..
            } => {
                let bytes = file.ok_or_else(|| {
                    SendError::Never("the bytes of the file are not there".to_owned())
                })?;
                let caption = caption.as_deref().map(render::discord).unwrap_or_default();
                let mut body = self.body(key, message, &shortened(&caption, TEXT));
                body["attachments"] = json!([{ "id": "0", "filename": name }]);
                let parts = [
                    Part {
                        mime: Some("application/json".to_owned()),
                        ..Part::field("payload_json", body.to_string())
                    },
                    Part::file("files[0]", name, mime, bytes),
                ];
                self.create(&chat, Body::Form(&parts)).await
            }
            Say::React { message, emoji, .. } => self.react(&chat, message, emoji).await,
        }
    }

    /// The channel that a place is. People are named `user:ID`, and have one with us.
    async fn target(&self, place: &ChatRef) -> Result<String, SendError> {
        let chat = place.thread.as_deref().unwrap_or(&place.chat);
        let Some(user) = chat.strip_prefix("user:") else {
            return snowflake(chat).map(str::to_owned);
        };
        if let Some(direct) = self.direct.get(user) {
            return Ok(direct);
        }
        let body = Body::Json(json!({ "recipient_id": snowflake(user)? }));
        let path = "users/@me/channels".to_owned();
        let said = self
            .call(Call::post("POST users/@me/channels", "", path, body))
            .await?;
        let direct = said["id"].as_str().ok_or_else(|| SendError::Later {
            after: None,
            why: "Discord does not say where the direct chat is".to_owned(),
        })?;
        self.rooms.learn(&said);
        self.direct.put(user, direct.to_owned());
        Ok(direct.to_owned())
    }

    /// What every new message holds. Nobody is called by it, whatever a model writes.
    fn body(&self, key: &str, message: &Outgoing, content: &str) -> Value {
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

    async fn create(&self, chat: &str, body: Body<'_>) -> Result<Delivered, SendError> {
        let path = format!("channels/{chat}/messages");
        let said = self
            .call(Call::post("POST channels/messages", chat, path, body))
            .await?;
        Ok(Delivered {
            message: said["id"].as_str().map(str::to_owned),
        })
    }

    async fn edit(
        &self,
        chat: &str,
        message: &str,
        text: &str,
        buttons: &[Vec<Button>],
    ) -> Result<Delivered, SendError> {
        let body = json!({
            "content": content(text)?,
            "allowed_mentions": nobody(),
            "components": rows(buttons)?,
        });
        let path = format!("channels/{chat}/messages/{}", snowflake(message)?);
        let call = Call {
            method: Method::PATCH,
            ..Call::post("PATCH channels/messages", chat, path, Body::Json(body))
        };
        self.call(call).await?;
        Ok(Delivered {
            message: Some(message.to_owned()),
        })
    }

    async fn react(&self, chat: &str, message: &str, emoji: &str) -> Result<Delivered, SendError> {
        let message = snowflake(message)?;
        let emoji = escaped(emoji);
        let call = Call {
            method: Method::PUT,
            ..Call::post(
                "PUT channels/messages/reactions",
                chat,
                format!("channels/{chat}/messages/{message}/reactions/{emoji}/@me"),
                Body::None,
            )
        };
        self.call(call).await?;
        Ok(Delivered::default())
    }

    pub(super) async fn show_typing(&self, place: &ChatRef) -> Result<(), SendError> {
        let chat = self.target(place).await?;
        let path = format!("channels/{chat}/typing");
        let call = Call::post("POST channels/typing", &chat, path, Body::None);
        self.call(call).await.map(|_| ())
    }

    /// A word that only whoever pressed a button sees. That it was pressed has been answered when
    /// it was heard.
    pub(super) async fn follow_up(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        let Heard::Button { callback, .. } = &inbound.what else {
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
        let call = Call {
            again: false,
            bare: true,
            ..Call::post(
                "POST webhooks",
                app,
                format!("webhooks/{}/{}", escaped(app), escaped(token)),
                Body::Json(body),
            )
        };
        self.call(call).await.map(|_| ())
    }
}

/// Nobody is called.
fn nobody() -> Value {
    json!({ "parse": [], "replied_user": false })
}

/// A text as it is sent.
fn content(text: &str) -> Result<String, SendError> {
    let content = render::discord(text);
    match units(&content) {
        _ if content.trim().is_empty() => {
            Err(SendError::Never("there is nothing to say".to_owned()))
        }
        0..=TEXT => Ok(content),
        size => Err(SendError::Never(format!(
            "the text is too long for one message: {size} of {TEXT} characters"
        ))),
    }
}

/// The same for the same key: Discord takes it once within some minutes.
fn nonce(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    digest
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect()
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
            "there are too many rows of buttons: {} of {ROW}",
            rows.len()
        )));
    }
    Ok(Value::Array(rows))
}

fn button(button: &Button) -> Value {
    json!({
        "type": 2,
        // Red where it refuses, else blue.
        "style": if button.refuses { 4 } else { 1 },
        "label": shortened(&button.label, LABEL),
        "custom_id": button.data,
    })
}

/// An id of Discord's, which stands in paths.
fn snowflake(id: &str) -> Result<&str, SendError> {
    let fits = (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit());
    match fits {
        true => Ok(id),
        false => Err(SendError::Never(format!(
            "{:?} is no id of Discord's; a channel or message is named by its number",
            shortened(id, 40)
        ))),
    }
}

/// A part of a path.
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
