//! Sending on WhatsApp.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{CAPTION, TEXT, WhatsApp, error, format};
use crate::api::FormPart;
use crate::channel::{SendError, SendReceipt};
use crate::download::harmless;
use crate::message::{Button, FileKind, OutgoingContent, OutgoingMessage};
use crate::shorten::{shortened, units};

/// Maximum buttons below a text; more become a list.
const BUTTONS: usize = 3;
/// Maximum rows of a list.
const ROWS: usize = 10;
/// Maximum text length above buttons, and above a list.
const ABOVE: usize = 1_024;
/// Maximum length of a button title.
const TITLE: usize = 20;
/// Maximum length of a list row.
const ROW: usize = 24;
/// Maximum data of a button, and of a list row.
const DATA: usize = 256;
const ROW_DATA: usize = 200;
/// Maximum size of a picture and of a recording shown as such, in bytes.
const PICTURE: usize = 5 * 1024 * 1024;
const RECORDING: usize = 16 * 1024 * 1024;

impl WhatsApp {
    pub(super) async fn deliver(
        &self,
        message: &OutgoingMessage,
        file: Option<Bytes>,
    ) -> Result<SendReceipt, SendError> {
        match &message.content {
            OutgoingContent::Text { edits: Some(_), .. } => Err(SendError::Never(
                "WhatsApp does not support editing messages".to_owned(),
            )),
            OutgoingContent::Text { text, buttons, .. } => {
                let bodies = text_with_buttons(text, buttons)?;
                self.post_all(message, bodies).await
            }
            OutgoingContent::File { .. } => self.deliver_file(message, file).await,
            OutgoingContent::React {
                message: to, emoji, ..
            } => {
                let reaction = json!({"message_id": to, "emoji": emoji});
                let body = json!({"type": "reaction", "reaction": reaction});
                self.post(message, body).await
            }
        }
    }

    /// Uploads a file, which nobody sees, and then sends a message that refers to it.
    async fn deliver_file(
        &self,
        message: &OutgoingMessage,
        file: Option<Bytes>,
    ) -> Result<SendReceipt, SendError> {
        let OutgoingContent::File {
            form,
            name,
            mime,
            caption,
            link,
            ..
        } = &message.content
        else {
            return Err(SendError::Never("this is not a file".to_owned()));
        };
        let Some(bytes) = file else {
            return Err(SendError::Never(format!(
                "the content of {name} is missing"
            )));
        };
        // WhatsApp rejects MIME parameters.
        let mime = mime.split(';').next().unwrap_or(mime).trim();
        let kind = shown_as(*form, mime, bytes.len());
        let caption = caption.as_deref().map(format::written);
        let caption = caption.filter(|line| !line.trim().is_empty());
        // Checked before the upload, which would be in vain.
        if caption.as_deref().is_some_and(|line| units(line) > CAPTION) {
            return Err(SendError::Never(format!(
                "the caption is longer than {CAPTION} UTF-16 units"
            )));
        }
        let uploaded = match (self.upload(name, mime, bytes).await, link) {
            (Ok(id), _) => id,
            // A type that WhatsApp rejects can still be downloaded from a link.
            (Err(SendError::Never(_)), Some(link)) => {
                let lines = [caption.as_deref(), Some(name), Some(link)];
                let lines: Vec<&str> = lines.into_iter().flatten().collect();
                return self.post(message, text_body(&lines.join("\n"))?).await;
            }
            (Err(error), _) => return Err(error),
        };
        let mut media = json!({"id": uploaded});
        // Only documents show a name; WhatsApp rejects one for other kinds.
        if kind == "document" {
            media["filename"] = json!(name);
        }
        let mut follows = None;
        if let Some(line) = caption {
            // A recording has no caption: the text follows as a message.
            match kind {
                "audio" => follows = Some(text_body(&line)?),
                _ => media["caption"] = json!(line),
            }
        }
        let mut bodies = vec![json!({"type": kind, kind: media})];
        bodies.extend(follows);
        self.post_all(message, bodies).await
    }

    /// Sends messages that belong together. Once one has arrived, the whole is no longer surely unsent,
    /// whatever happens to the next.
    async fn post_all(
        &self,
        message: &OutgoingMessage,
        bodies: Vec<Value>,
    ) -> Result<SendReceipt, SendError> {
        let mut bodies = bodies.into_iter();
        let first = bodies.next().unwrap_or_default();
        let mut delivered = self.post(message, first).await?;
        let rest = OutgoingMessage {
            // Only the first part quotes the message it replies to.
            reply_to: None,
            ..message.clone()
        };
        for body in bodies {
            delivered = self.post(&rest, body).await.map_err(|error| {
                SendError::Unknown(format!("the first part was sent, the rest failed: {error}"))
            })?;
        }
        Ok(delivered)
    }

    /// Uploads a file. Repeating it is harmless.
    async fn upload(&self, name: &str, mime: &str, bytes: Bytes) -> Result<String, SendError> {
        let parts = [
            FormPart::field("messaging_product", "whatsapp"),
            FormPart::field("type", mime),
            FormPart::file("file", name, mime, bytes),
        ];
        let url = self.own("/media");
        let answer = self.api.post_form(url, self.headers()?, &parts);
        let answer = answer.await.map_err(harmless)?;
        if !answer.status.is_success() {
            return Err(harmless(error::of(&answer)));
        }
        let said = answer.json().map_err(harmless)?;
        said["id"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| SendError::Later {
                after: None,
                why: "WhatsApp returned no file id".to_owned(),
            })
    }

    /// Sends one message.
    async fn post(
        &self,
        message: &OutgoingMessage,
        mut body: Value,
    ) -> Result<SendReceipt, SendError> {
        body["messaging_product"] = json!("whatsapp");
        body["recipient_type"] = json!(if message.to.is_shared() {
            "group"
        } else {
            "individual"
        });
        let chat = &message.to.chat;
        match is_scoped(chat) {
            true => body["recipient"] = json!(chat),
            false => body["to"] = json!(chat),
        }
        if let Some(answered) = message
            .reply_to
            .as_deref()
            .filter(|_| body["type"] != "reaction")
        {
            body["context"] = json!({"message_id": answered});
        }
        let url = self.own("/messages");
        let answer = self.api.post_json(url, self.headers()?, &body).await?;
        if !answer.status.is_success() {
            return Err(error::of(&answer));
        }
        let said = answer.json()?;
        let id = said["messages"][0]["id"].as_str().map(str::to_owned);
        match id {
            Some(id) => Ok(SendReceipt { message: Some(id) }),
            // Accepted, but without an id nobody can tell whether it was sent.
            None => Err(SendError::Unknown(
                "WhatsApp returned no message id".to_owned(),
            )),
        }
    }
}

/// Whether this is a user-scoped id instead of a number: `US.13491208655302741918`.
fn is_scoped(chat: &str) -> bool {
    let Some((country, rest)) = chat.split_once('.') else {
        return false;
    };
    country.len() == 2 && country.chars().all(|c| c.is_ascii_uppercase()) && !rest.is_empty()
}

/// How a file is shown: as a picture or recording if WhatsApp can, otherwise as a document.
fn shown_as(form: FileKind, mime: &str, size: usize) -> &'static str {
    let picture = matches!(mime, "image/jpeg" | "image/png") && size <= PICTURE;
    // Other types are refused as audio, but accepted as documents.
    let sound = matches!(
        mime,
        "audio/aac" | "audio/amr" | "audio/mpeg" | "audio/mp4" | "audio/ogg"
    );
    match form {
        FileKind::Photo if picture => "image",
        FileKind::Voice if sound && size <= RECORDING => "audio",
        _ => "document",
    }
}

fn text_body(text: &str) -> Result<Value, SendError> {
    let text = fits(text, TEXT)?;
    Ok(json!({"type": "text", "text": {"body": text, "preview_url": false}}))
}

fn fits(text: &str, most: usize) -> Result<&str, SendError> {
    if text.trim().is_empty() {
        return Err(SendError::Never("the message is empty".to_owned()));
    }
    match units(text) {
        size if size > most => Err(SendError::Never(format!(
            "the text has {size} UTF-16 units; WhatsApp allows {most}"
        ))),
        _ => Ok(text),
    }
}

fn text_with_buttons(text: &str, rows: &[Vec<Button>]) -> Result<Vec<Value>, SendError> {
    let text = format::written(text);
    let buttons: Vec<&Button> = rows.iter().flatten().collect();
    if buttons.is_empty() {
        return Ok(vec![text_body(&text)?]);
    }
    if buttons.len() > ROWS {
        return Err(SendError::Never(format!(
            "WhatsApp allows at most {ROWS} buttons"
        )));
    }
    // Checked before anything is sent, since it may become two messages.
    fits(&text, TEXT)?;
    if units(&text) <= ABOVE {
        return Ok(vec![choice(&text, &buttons)?]);
    }
    // A long text is a message of its own, above the buttons.
    let first = shortened(text.trim().lines().next().unwrap_or_default(), ABOVE);
    Ok(vec![text_body(&text)?, choice(&first, &buttons)?])
}

/// A short text with buttons, or with a list if there are many.
fn choice(text: &str, buttons: &[&Button]) -> Result<Value, SendError> {
    let few = buttons.len() <= BUTTONS;
    let (title, data) = if few { (TITLE, DATA) } else { (ROW, ROW_DATA) };
    if let Some(long) = buttons.iter().find(|one| units(&one.data) > data) {
        let label = &long.label;
        return Err(SendError::Never(format!(
            "the data of button {label} is too long"
        )));
    }
    let titles = titles(buttons, title);
    let titled = buttons.iter().zip(titles);
    let (kind, action) = if few {
        let buttons: Vec<Value> = titled
            .map(|(one, title)| json!({"type": "reply", "reply": {"id": one.data, "title": title}}))
            .collect();
        ("button", json!({"buttons": buttons}))
    } else {
        let rows: Vec<Value> = titled
            .map(|(one, title)| json!({"id": one.data, "title": title}))
            .collect();
        (
            "list",
            json!({"button": "Choose", "sections": [{"title": "Choose", "rows": rows}]}),
        )
    };
    let interactive = json!({"type": kind, "body": {"text": text}, "action": action});
    Ok(json!({"type": "interactive", "interactive": interactive}))
}

/// Button titles: short enough, not blank and unique, as WhatsApp requires.
fn titles(buttons: &[&Button], most: usize) -> Vec<String> {
    let mut titles: Vec<String> = Vec::with_capacity(buttons.len());
    for (index, button) in buttons.iter().enumerate() {
        let number = (index + 1).to_string();
        let label = match button.label.trim() {
            "" => &number,
            label => label,
        };
        let mut title = shortened(label, most);
        if titles.contains(&title) {
            // The number must fit too, or two long labels would become equal again.
            let room = most - number.len() - 1;
            title = format!("{} {number}", shortened(label, room));
        }
        titles.push(title);
    }
    titles
}
