//! Sending texts, buttons and reactions.

use bytes::Bytes;
use manyhands_core::ChatRef;
use serde_json::{Value, json};

use super::calls::Failed;
use super::{Slack, emoji, render, units};
use crate::channel::{SendError, SendReceipt};
use crate::chunk;
use crate::message::{Button, OutgoingContent, OutgoingMessage};

/// Maximum text length of a section.
const SECTION: usize = 3_000;
/// Maximum blocks per message.
const BLOCKS: usize = 50;
/// Maximum buttons per block.
const ROW: usize = 25;
/// Maximum length of a button label.
const LABEL: usize = 75;

impl Slack {
    /// Sends a message.
    pub(super) async fn say(
        &self,
        message: &OutgoingMessage,
        file: Option<Bytes>,
    ) -> Result<SendReceipt, SendError> {
        let chat = self.conversation(&message.to).await?;
        // On Slack, a reply to a message is a thread below it.
        let thread = message.to.thread.as_ref().or(message.reply_to.as_ref());
        let thread = thread.map(String::as_str);
        match &message.content {
            OutgoingContent::Text {
                text,
                buttons,
                edits: None,
            } => self.post_text(&chat, thread, text, buttons).await,
            OutgoingContent::Text {
                text,
                buttons,
                edits: Some(ts),
            } => self.update(&chat, ts, text, buttons).await.map_err(again),
            OutgoingContent::File {
                name,
                mime,
                caption,
                ..
            } => {
                let Some(bytes) = file else {
                    let why = "the file content is missing";
                    return Err(SendError::Never(why.to_owned()));
                };
                let caption = caption.as_deref();
                self.upload(&chat, thread, (name, mime, bytes), caption)
                    .await
            }
            OutgoingContent::React { message, emoji, .. } => {
                self.react(&chat, message, emoji).await.map_err(again)
            }
        }
    }

    async fn post_text(
        &self,
        chat: &str,
        thread: Option<&str>,
        text: &str,
        buttons: &[Vec<Button>],
    ) -> Result<SendReceipt, SendError> {
        // The text is sent even with blocks: notifications show it.
        let (words, blocks) = written(text, buttons)?;
        let mut fields = vec![("channel", chat), ("text", &words)];
        if let Some(thread) = thread {
            fields.push(("thread_ts", thread));
        }
        let blocks = Value::Array(blocks).to_string();
        if !buttons.is_empty() {
            fields.push(("blocks", &blocks));
        }
        let said = self.post("chat.postMessage", &fields).await?;
        Ok(SendReceipt {
            message: said["ts"].as_str().map(str::to_owned),
        })
    }

    async fn update(
        &self,
        chat: &str,
        ts: &str,
        text: &str,
        buttons: &[Vec<Button>],
    ) -> Result<SendReceipt, SendError> {
        let (words, blocks) = written(text, buttons)?;
        // Blocks that are omitted stay, including obsolete buttons.
        let blocks = Value::Array(blocks).to_string();
        let fields = [
            ("channel", chat),
            ("ts", ts),
            ("text", words.as_str()),
            ("blocks", &blocks),
        ];
        let said = self.post("chat.update", &fields).await?;
        let ts = said["ts"].as_str().unwrap_or(ts);
        Ok(SendReceipt {
            message: Some(ts.to_owned()),
        })
    }

    async fn react(&self, chat: &str, ts: &str, emoji: &str) -> Result<SendReceipt, SendError> {
        let name = emoji::name(emoji);
        let fields = [("channel", chat), ("timestamp", ts), ("name", &name)];
        match self.post("reactions.add", &fields).await {
            Ok(_) => Ok(SendReceipt::default()),
            // A retry after a lost response must count as success.
            Err(Failed::Said(said)) if said.code == "already_reacted" => Ok(SendReceipt::default()),
            Err(failed) => Err(failed.into()),
        }
    }

    /// The conversation of a place: a person's id means the direct chat with them.
    pub(super) async fn conversation(&self, place: &ChatRef) -> Result<String, SendError> {
        let chat = place.chat.as_str();
        if !chat.starts_with(['U', 'W']) {
            return Ok(chat.to_owned());
        }
        // Saves a request per message: the id of a direct chat never changes.
        if let Some(known) = self.direct.get(chat) {
            return Ok(known);
        }
        let said = self.post("conversations.open", &[("users", chat)]).await;
        let said = said.map_err(SendError::from).map_err(again)?;
        let Some(id) = said["channel"]["id"].as_str() else {
            let why = "Slack did not open a direct chat with that person".to_owned();
            return Err(SendError::Later { after: None, why });
        };
        self.direct.put(chat, id.to_owned());
        Ok(id.to_owned())
    }
}

/// An operation that is safe to repeat is retried.
pub(super) fn again(error: SendError) -> SendError {
    match error {
        SendError::Unknown(why) => SendError::Later { after: None, why },
        other => other,
    }
}

/// A rendered text, and the blocks that show it with its buttons; none without buttons.
fn written(text: &str, buttons: &[Vec<Button>]) -> Result<(String, Vec<Value>), SendError> {
    let words = render::mrkdwn(text);
    if words.trim().is_empty() && buttons.iter().all(Vec::is_empty) {
        return Err(SendError::Never("the message is empty".to_owned()));
    }
    if buttons.is_empty() {
        return Ok((words, Vec::new()));
    }
    // Sections have a smaller limit than messages.
    let size = |piece: &str| units(&render::mrkdwn(piece));
    let mut blocks: Vec<Value> = chunk::pieces(text, SECTION, &size)
        .iter()
        .map(|piece| {
            let text = render::mrkdwn(piece);
            json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } })
        })
        .collect();
    let mut number = 0;
    for row in buttons.iter().flat_map(|row| row.chunks(ROW)) {
        let elements: Vec<Value> = row
            .iter()
            .map(|one| {
                number += 1;
                button(one, number)
            })
            .collect();
        blocks.push(json!({ "type": "actions", "elements": elements }));
    }
    if blocks.len() > BLOCKS {
        let why = "the message has more blocks than Slack allows";
        return Err(SendError::Never(why.to_owned()));
    }
    Ok((words, blocks))
}

fn button(button: &Button, number: usize) -> Value {
    let mut label: String = button.label.chars().take(LABEL).collect();
    // An emoji counts as two units, so cutting by characters may not suffice.
    while units(&label) > LABEL {
        label.pop();
    }
    let mut element = json!({
        "type": "button",
        "action_id": format!("press-{number}"),
        "text": { "type": "plain_text", "text": label, "emoji": true },
        "value": button.data,
    });
    if button.refuses {
        element["style"] = json!("danger");
    }
    element
}
