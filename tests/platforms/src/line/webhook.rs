//! What LINE tells a webhook, in the shapes that it sends.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use super::Line;
use crate::{Journal, hub};

/// An event.
#[derive(Debug, Clone)]
pub struct Event(pub Value);

impl Line {
    /// Somebody writes in a chat: `message` is without its id.
    pub fn message(&self, chat: &str, user: &str, message: Value) -> Event {
        let id = (470_000_000_000_000_000 + self.inner.state().number()).to_string();
        let mut message = message;
        message["id"] = json!(id);
        if matches!(
            message["type"].as_str(),
            Some("text" | "image" | "video" | "sticker")
        ) {
            message["quoteToken"] = json!(format!("yHAz4Ua2wx7-{id}"));
        }
        self.event("message", chat, user, &json!({"message": message}))
    }

    /// Somebody presses a button.
    pub fn postback(&self, chat: &str, user: &str, data: &str) -> Event {
        let postback = json!({"postback": {"data": data}});
        self.event("postback", chat, user, &postback)
    }

    /// Any event, with the fields of its kind.
    pub fn event(&self, kind: &str, chat: &str, user: &str, what: &Value) -> Event {
        let number = self.inner.state().number();
        let source = match chat.get(..1) {
            Some("C") => json!({"type": "group", "groupId": chat, "userId": user}),
            Some("R") => json!({"type": "room", "roomId": chat, "userId": user}),
            _ => json!({"type": "user", "userId": user}),
        };
        let mut event = json!({
            "type": kind,
            "webhookEventId": format!("01H810YECXQQZ37VAX{number:08}"),
            "deliveryContext": {"isRedelivery": false},
            "timestamp": 1_692_251_666_727_i64,
            "source": source,
            "mode": "active",
        });
        if !matches!(kind, "unsend" | "unfollow" | "leave") {
            event["replyToken"] = json!(self.reply_token(chat));
        }
        for (name, value) in what.as_object().into_iter().flatten() {
            event[name] = value.clone();
        }
        Event(event)
    }

    /// The body of a request with these events.
    pub fn body(&self, events: &[Event]) -> String {
        let events: Vec<&Value> = events.iter().map(|event| &event.0).collect();
        let body = json!({"destination": Self::BOT, "events": events}).to_string();
        let signature = self.sign(body.as_bytes());
        Journal::told("line", &self.inner.secret, &signature, &body);
        body
    }

    /// The value of `X-Line-Signature` for a body.
    pub fn sign(&self, body: &[u8]) -> String {
        let mac = Hmac::<Sha256>::new_from_slice(self.inner.secret.as_bytes());
        let mut mac = mac.expect("any length is a key");
        mac.update(body);
        STANDARD.encode(mac.finalize().into_bytes())
    }

    /// Tells a webhook, and gives status and body of its answer.
    pub async fn deliver(&self, url: &str, events: &[Event]) -> std::io::Result<(u16, String)> {
        let body = self.body(events);
        let signature = ("x-line-signature", self.sign(body.as_bytes()));
        hub::post(url, &[signature], body.as_bytes()).await
    }
}

impl Event {
    /// The same once more, as after an answer that did not come.
    #[must_use]
    pub fn again(&self) -> Self {
        let mut event = self.0.clone();
        event["deliveryContext"]["isRedelivery"] = json!(true);
        Self(event)
    }

    /// Its token to reply with.
    pub fn reply_token(&self) -> &str {
        self.0["replyToken"].as_str().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_webhook_is_told_and_its_answer_is_read() {
        let line = Line::start("token", "secret").await;
        let event = line.message("U1", "U1", json!({"type": "text", "text": "hi"}));
        // Another of its kind stands in for a webhook: it wants a token.
        let other = Line::start("token", "secret").await;
        let url = format!("{}/hooks/line/main?a=b", other.url);
        let (status, body) = line
            .deliver(&url, &[event.clone(), event.again()])
            .await
            .unwrap();
        assert_eq!(status, 401, "{body}");
        assert!(body.contains("Authentication failed"), "{body}");
        let all = other.journal().all();
        assert_eq!(all[0].path, "/hooks/line/main");
        assert_eq!(
            all[0].body["events"][1]["deliveryContext"]["isRedelivery"],
            true
        );
        assert_eq!(
            all[0].body["events"][0]["webhookEventId"],
            event.0["webhookEventId"]
        );
    }
}
