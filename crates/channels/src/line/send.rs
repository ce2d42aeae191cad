//! Sending on LINE: a reply while its token is valid, otherwise a push.

use bytes::Bytes;
use manyhands_guard::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;
use uuid::{Builder, Uuid};

use super::{LineChannel, TEXT, plain};
use crate::api::ApiResponse;
use crate::channel::{SendError, SendReceipt};
use crate::message::{Button, FileKind, OutgoingContent, OutgoingMessage};
use crate::shorten::{shortened, units};

/// Maximum buttons per template.
const BUTTONS: usize = 4;
/// Maximum messages per request.
const MESSAGES: usize = 5;
/// Maximum text length above buttons, in UTF-16 units.
const ABOVE: usize = 160;
/// Maximum length of a button label.
const LABEL: usize = 20;
/// Maximum data of a button.
const POSTBACK: usize = 300;
/// Maximum length of an image URL.
const ADDRESS: usize = 2_000;
/// Maximum size of an image that is its own preview, in bytes.
const PREVIEW: usize = 1024 * 1024;

/// Tokens that a reply needs: one for replying once, one for quoting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ticket<'a> {
    pub reply: Option<&'a str>,
    pub quote: Option<&'a str>,
}

impl<'a> Ticket<'a> {
    pub(super) fn of(message: &'a OutgoingMessage) -> Self {
        Self::parse(message.ticket.as_deref())
    }

    /// Both tokens in one string; neither contains a space.
    pub(super) fn written(self) -> Option<String> {
        match (self.reply, self.quote) {
            (None, None) => None,
            (reply, None) => reply.map(str::to_owned),
            (reply, Some(quote)) => Some(format!("{} {quote}", reply.unwrap_or_default())),
        }
    }

    pub(super) fn parse(ticket: Option<&'a str>) -> Self {
        let Some(ticket) = ticket else {
            return Self::default();
        };
        let (reply, quote) = ticket.split_once(' ').unwrap_or((ticket, ""));
        let some = |token: &'a str| (!token.is_empty()).then_some(token);
        Self {
            reply: some(reply),
            quote: some(quote),
        }
    }
}

/// The result of a reply.
pub(super) enum Replied {
    /// LINE accepted it.
    Taken(SendReceipt),
    /// The token was used or has expired; nothing was sent.
    TokenGone,
}

impl LineChannel {
    /// Replies if possible, otherwise pushes.
    pub(super) async fn deliver(
        &self,
        key: &str,
        message: &OutgoingMessage,
        messages: Vec<Value>,
    ) -> Result<SendReceipt, SendError> {
        // Replies are free, pushes count against the account's monthly limit.
        if let Some(token) = Ticket::of(message).reply
            && let Replied::Taken(delivered) = self.reply(token, &messages).await?
        {
            return Ok(delivered);
        }
        self.push(key, &message.to.chat, &messages).await
    }

    /// Replies with a token, which works once: after an unknown outcome it is tried again, and goes
    /// through only if the first attempt did not.
    pub(super) async fn reply(
        &self,
        token: &str,
        messages: &[Value],
    ) -> Result<Replied, SendError> {
        let body = json!({"replyToken": token, "messages": messages});
        // Remembers an attempt of unknown outcome: later answers must be read in its light.
        let mut doubt = None;
        for _ in 0..2 {
            let url = self.api.url("v2/bot/message/reply");
            let answer = match self.api.post_json(url, self.headers()?, &body).await {
                Ok(answer) => answer,
                Err(SendError::Unknown(why)) => {
                    doubt = Some(why);
                    continue;
                }
                Err(sure) => return Err(unsure(doubt, sure)),
            };
            if answer.status.is_success() {
                return Ok(Replied::Taken(self.sent(&answer)));
            }
            if answer.status.is_server_error() {
                doubt = Some(why(&answer));
                continue;
            }
            // After an unknown outcome, a used token may mean that our own first attempt arrived.
            if doubt.is_none() && token_gone(&answer) {
                return Ok(Replied::TokenGone);
            }
            return Err(unsure(doubt, refused(&answer)));
        }
        Err(SendError::Unknown(doubt.unwrap_or_default()))
    }

    /// Pushes: LINE deduplicates by key, so an unknown outcome can be retried.
    async fn push(
        &self,
        key: &str,
        to: &str,
        messages: &[Value],
    ) -> Result<SendReceipt, SendError> {
        let body = json!({"to": to, "messages": messages});
        let mut headers = self.headers()?;
        let retry = HeaderValue::from_str(&retry_key(key).to_string())
            .map_err(|_| SendError::Never("the retry key is invalid".to_owned()))?;
        headers.insert(HeaderName::from_static("x-line-retry-key"), retry);
        let url = self.api.url("v2/bot/message/push");
        let answer = match self.api.post_json(url, headers, &body).await {
            Ok(answer) => answer,
            // Safe to repeat: LINE recognises the retry key.
            Err(SendError::Unknown(why)) => return Err(SendError::Later { after: None, why }),
            Err(other) => return Err(other),
        };
        let accepted = answer.headers.contains_key("x-line-accepted-request-id");
        match answer.status {
            status if status.is_success() => Ok(self.sent(&answer)),
            // An earlier attempt with this key had arrived.
            StatusCode::CONFLICT if accepted => Ok(self.sent(&answer)),
            _ => Err(refused(&answer)),
        }
    }

    /// Parses LINE's confirmation. Our messages are remembered to recognise quotes of them.
    fn sent(&self, answer: &ApiResponse) -> SendReceipt {
        let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let sent = said["sentMessages"].as_array().into_iter().flatten();
        let ids: Vec<&str> = sent.filter_map(|one| one["id"].as_str()).collect();
        for id in &ids {
            // A quote of our message counts as a mention in a group.
            self.ours.put(id, ());
        }
        SendReceipt {
            message: ids.first().map(|id| (*id).to_owned()),
        }
    }
}

/// After an unknown outcome, a later refusal says nothing about the first attempt.
fn unsure(doubt: Option<String>, sure: SendError) -> SendError {
    match doubt {
        Some(why) => SendError::Unknown(why),
        None => sure,
    }
}

/// LINE's retry key, derived from the outbox key.
pub(super) fn retry_key(key: &str) -> Uuid {
    // Stable across restarts, so that LINE recognises the retry.
    let hash = Sha256::digest(format!("line:{key}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    Builder::from_random_bytes(bytes).into_uuid()
}

fn token_gone(answer: &ApiResponse) -> bool {
    answer.status == StatusCode::BAD_REQUEST
        && message_of(answer).is_some_and(|said| said.contains("Invalid reply token"))
}

fn message_of(answer: &ApiResponse) -> Option<String> {
    let said: Value = serde_json::from_slice(&answer.body).ok()?;
    let mut words = said["message"].as_str()?.to_owned();
    // LINE names the wrong parameter only there.
    for detail in said["details"].as_array().into_iter().flatten().take(5) {
        let field = |name: &str| detail[name].as_str().unwrap_or_default().to_owned();
        words.push_str(&format!("; {}: {}", field("property"), field("message")));
    }
    Some(words.chars().take(500).collect())
}

/// LINE's error message, with the status.
fn why(answer: &ApiResponse) -> String {
    let status = answer.status.as_u16();
    match message_of(answer) {
        Some(words) => format!("LINE says ({status}): {words}"),
        None => format!("LINE answered with {status}"),
    }
}

/// The error for a refused request. Nothing was sent.
pub(super) fn refused(answer: &ApiResponse) -> SendError {
    let why = why(answer);
    match answer.status {
        StatusCode::UNAUTHORIZED => SendError::Account(format!(
            "{why}\nissue a new channel access token in the LINE Developers console"
        )),
        StatusCode::FORBIDDEN => SendError::Account(why),
        // Retrying cannot help before next month.
        StatusCode::TOO_MANY_REQUESTS if why.contains("monthly limit") => SendError::Account(
            format!("{why}\nthe plan of this LINE account allows no more pushes this month"),
        ),
        StatusCode::TOO_MANY_REQUESTS => SendError::Later {
            after: answer.retry_after(),
            why,
        },
        status if status.is_server_error() => SendError::Later {
            after: answer.retry_after(),
            why,
        },
        StatusCode::NOT_FOUND => SendError::Unreachable(why),
        // LINE names the invalid parameter: here, the recipient.
        _ if why.contains("'to'") => SendError::Unreachable(why),
        _ => SendError::Never(why),
    }
}

/// Encodes a message.
pub(super) fn messages(
    message: &OutgoingMessage,
    file: Option<&Bytes>,
) -> Result<Vec<Value>, SendError> {
    let mut messages = match &message.content {
        OutgoingContent::Text { edits: Some(_), .. } => {
            return Err(SendError::Never(
                "LINE does not support editing messages".to_owned(),
            ));
        }
        OutgoingContent::Text { text, buttons, .. } => text_with_buttons(text, buttons)?,
        OutgoingContent::File {
            form,
            name,
            mime,
            caption,
            link,
            ..
        } => {
            let shown = *form == FileKind::Photo && matches!(&**mime, "image/jpeg" | "image/png");
            // Larger images need a separate preview, which we do not produce.
            let small = file.is_none_or(|bytes| bytes.len() <= PREVIEW);
            match link.as_deref().filter(|_| shown && small).and_then(address) {
                Some(url) => picture(&url, caption.as_deref())?,
                None => vec![linked(name, caption.as_deref(), link.as_deref())?],
            }
        }
        OutgoingContent::React { .. } => {
            return Err(SendError::Never(
                "LINE does not support reactions by bots".to_owned(),
            ));
        }
    };
    // Only text messages can quote.
    if message.reply_to.is_some()
        && let Some(quote) = Ticket::of(message).quote
        && let Some(first) = messages.first_mut()
        && first["type"] == "text"
    {
        first["quoteToken"] = json!(quote);
    }
    Ok(messages)
}

/// A text message, which must fit.
pub(super) fn text_message(text: &str) -> Result<Value, SendError> {
    if text.trim().is_empty() {
        return Err(SendError::Never("the message is empty".to_owned()));
    }
    match units(text) {
        size if size > TEXT => Err(SendError::Never(format!(
            "the text has {size} UTF-16 units; LINE allows {TEXT}"
        ))),
        _ => Ok(json!({"type": "text", "text": text})),
    }
}

fn text_with_buttons(text: &str, rows: &[Vec<Button>]) -> Result<Vec<Value>, SendError> {
    let text = plain(text);
    let buttons: Vec<&Button> = rows.iter().flatten().collect();
    if buttons.is_empty() {
        return Ok(vec![text_message(&text)?]);
    }
    if let Some(long) = buttons.iter().find(|one| units(&one.data) > POSTBACK) {
        let label = &long.label;
        return Err(SendError::Never(format!(
            "the data of button {label} is too long"
        )));
    }
    let mut messages = Vec::new();
    // A long text is a message of its own, above the buttons.
    let above = match units(&text) <= ABOVE && !text.trim().is_empty() {
        true => text.clone(),
        false => {
            messages.push(text_message(&text)?);
            let first = text.trim().lines().next().unwrap_or_default();
            shortened(first, ABOVE)
        }
    };
    // A template holds only a few buttons; more make further messages.
    for group in buttons.chunks(BUTTONS) {
        let actions: Vec<Value> = group.iter().map(|one| action(one)).collect();
        let template = json!({"type": "buttons", "text": above, "actions": actions});
        messages.push(json!({"type": "template", "altText": above, "template": template}));
    }
    match messages.len() > MESSAGES {
        true => Err(SendError::Never(
            "LINE allows at most 16 buttons".to_owned(),
        )),
        false => Ok(messages),
    }
}

fn action(button: &Button) -> Value {
    let label = shortened(&button.label, LABEL);
    json!({"type": "postback", "label": label, "data": button.data, "displayText": label})
}

/// An image that LINE downloads by itself.
fn picture(url: &str, caption: Option<&str>) -> Result<Vec<Value>, SendError> {
    let image = json!({"type": "image", "originalContentUrl": url, "previewImageUrl": url});
    let caption = caption.map(plain).filter(|line| !line.trim().is_empty());
    match caption {
        Some(caption) => Ok(vec![image, text_message(&caption)?]),
        None => Ok(vec![image]),
    }
}

/// A file as text: LINE accepts no uploads.
fn linked(name: &str, caption: Option<&str>, link: Option<&str>) -> Result<Value, SendError> {
    let caption = caption.map(plain).filter(|line| !line.trim().is_empty());
    let last = link.unwrap_or("(LINE does not accept files; this one is stored by the gateway)");
    let lines = [caption.as_deref(), Some(name), Some(last)];
    let lines: Vec<&str> = lines.into_iter().flatten().collect();
    text_message(&lines.join("\n"))
}

/// A URL that LINE would download an image from.
fn address(link: &str) -> Option<String> {
    let url = Url::parse(link)
        .ok()
        .filter(|url| url.scheme() == "https")?;
    let url = url.to_string();
    (url.len() <= ADDRESS).then_some(url)
}
