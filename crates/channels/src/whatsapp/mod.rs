//! WhatsApp through Meta's Cloud API: signed webhooks in, one request per message out.
//!
//! WhatsApp lets a business write freely for 24 hours after the person's last message; later messages
//! are refused by the request or by a failed status, and both are reported. There is no idempotency
//! key, so a request without a response is unknown.

mod error;
mod events;
pub(crate) mod format;
mod hook;
mod send;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use manyhands_core::{ChatRef, Clock, Ids, Secret, Timestamp};
use manyhands_guard::{Egress, HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::api::Api;
use crate::channel::{
    BotIdentity, Channel, ChannelCapabilities, ChannelError, EventSink, SendError, SendReceipt,
    WebhookOutcome, WebhookRefusal, WebhookRequest,
};
use crate::download::{download, harmless};
use crate::message::{Inbound, InboundEvent, Media, OutgoingMessage};
use crate::recent::RecentMap;
use crate::shorten::units;
use crate::webhook_setup;

/// URL of the API.
pub const API: &str = "https://graph.facebook.com";
/// URL of received files.
pub const MEDIA: &str = "https://lookaside.fbsbx.com";
/// The API version in use.
pub const VERSION: &str = "v23.0";

/// Maximum text length in UTF-16 units.
pub const TEXT: usize = 4_096;
/// Maximum length of a caption.
const CAPTION: usize = 1_024;
/// Maximum file size.
const FILE: u64 = 100 * 1024 * 1024;
/// Maximum chats whose last message is remembered.
const CHATS: usize = 4_096;
/// How long one may write freely after a person's message.
const WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

/// A WhatsApp number.
#[derive(Debug, Clone)]
pub struct WhatsAppAccount {
    /// Its name in the settings.
    pub name: String,
    /// The access token, preferably of a system user.
    pub token: Secret,
    /// The app secret, with which Meta signs.
    pub secret: Secret,
    /// The token with which Meta verifies the webhook.
    pub verify: Secret,
    /// The phone number's id.
    pub phone: String,
    /// URL of the API: [`API`].
    pub api: Url,
    /// API version: [`VERSION`].
    pub version: String,
    /// URL of files: [`MEDIA`]. The token is sent nowhere else.
    pub media: Url,
}

/// The WhatsApp channel of one number.
pub struct WhatsApp {
    account: WhatsAppAccount,
    api: Api,
    abilities: ChannelCapabilities,
    /// The last message of each chat: typing indicators refer to it.
    last: RecentMap<(String, Timestamp)>,
    clock: Arc<dyn Clock>,
}

impl WhatsApp {
    /// Creates the channel of a number.
    pub fn new(
        account: WhatsAppAccount,
        egress: Arc<Egress>,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Self {
        Self {
            api: Api::new(egress, account.api.clone(), ids),
            abilities: abilities(),
            last: RecentMap::new(CHATS),
            account,
            clock,
        }
    }

    fn headers(&self) -> Result<HeaderMap, SendError> {
        Api::bearer(&self.account.token)
    }

    /// The URL of a resource of our number.
    fn own(&self, what: &str) -> String {
        let WhatsAppAccount { version, phone, .. } = &self.account;
        self.api.url(&format!("{version}/{phone}{what}"))
    }

    async fn get(&self, url: String) -> Result<Value, SendError> {
        let answer = self.api.send(Method::GET, url, self.headers()?, None);
        let answer = answer.await.map_err(harmless)?;
        match answer.status.is_success() {
            true => answer.json().map_err(harmless),
            false => Err(harmless(error::of(&answer))),
        }
    }

    /// Whether our token may be sent there.
    fn is_theirs(&self, url: &Url) -> bool {
        let theirs = [&self.account.api, &self.account.media];
        theirs.iter().any(|base| base.origin() == url.origin())
    }
}

fn abilities() -> ChannelCapabilities {
    ChannelCapabilities {
        edits: false,
        typing: true,
        reactions: true,
        buttons: true,
        idempotent: false,
        file_bytes: FILE,
        caption: CAPTION,
        per_chat: Duration::from_millis(200),
        per_group: Duration::from_millis(200),
        overall: Duration::from_millis(13),
        per_edit: Duration::ZERO,
    }
}

#[async_trait]
impl Channel for WhatsApp {
    fn name(&self) -> &str {
        "whatsapp"
    }

    fn account(&self) -> &str {
        &self.account.name
    }

    fn abilities(&self) -> &ChannelCapabilities {
        &self.abilities
    }

    async fn me(&self) -> Result<BotIdentity, SendError> {
        let url = self.own("?fields=id,display_phone_number,verified_name");
        let number = self.get(url).await?;
        let field = |name: &str| number[name].as_str().unwrap_or_default();
        let digits = events::digits(field("display_phone_number"));
        Ok(BotIdentity {
            id: self.account.phone.clone(),
            name: field("verified_name").to_owned(),
            handle: (!digits.is_empty()).then_some(digits),
            team: None,
        })
    }

    async fn listen(
        &self,
        sink: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let prepare = || async { self.me().await.map(drop) };
        if webhook_setup::ready(sink, stop, self.api.ids(), prepare).await? {
            stop.cancelled().await;
        }
        Ok(())
    }

    fn hook(&self, hook: &WebhookRequest<'_>) -> Result<WebhookOutcome, WebhookRefusal> {
        if hook.method == "GET" {
            return hook::greeted(hook, &self.account);
        }
        let told = hook::verified(hook, &self.account)?;
        Ok(WebhookOutcome::events(self.read(&told)))
    }

    async fn send(
        &self,
        _key: &str,
        message: &OutgoingMessage,
        file: Option<Bytes>,
    ) -> Result<SendReceipt, SendError> {
        self.deliver(message, file).await
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        crate::chunk::pieces(text, TEXT, &|piece| units(&format::written(piece)))
    }

    async fn typing(&self, place: &ChatRef) -> Result<(), SendError> {
        // The indicator refers to a message, and marks it as read.
        let now = self.clock.now();
        let last = || {
            let (message, at) = self.last.get(&place.chat)?;
            (now.since(at) < WINDOW).then_some(message)
        };
        match place.message.clone().or_else(last) {
            Some(message) => self.mark(&message, Some("text")).await,
            None => Ok(()),
        }
    }

    async fn acknowledge_button(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        if let InboundEvent::Button {
            callback: Some(press),
            ..
        } = &inbound.what
        {
            self.mark(press, None).await?;
        }
        // WhatsApp itself shows the press in the chat; the note is a short reply.
        if word.trim().is_empty() {
            return Ok(());
        }
        let to = inbound.place.chat_only();
        self.deliver(&OutgoingMessage::text(to, word), None)
            .await
            .map(drop)
    }

    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        let id = &media.id;
        // The id becomes part of a path with our token.
        if id.is_empty() || id.len() > 64 || !id.chars().all(|c| c.is_ascii_digit()) {
            return Err(SendError::Never(
                "WhatsApp has no file of this name".to_owned(),
            ));
        }
        let WhatsAppAccount { version, phone, .. } = &self.account;
        let path = format!("{version}/{id}?phone_number_id={phone}");
        let told = self.get(self.api.url(&path)).await?;
        // The size is a number or text.
        let size = &told["file_size"];
        let size = size.as_u64().or_else(|| size.as_str()?.parse().ok());
        if size.is_some_and(|size| size > most) {
            return Err(SendError::Never(format!(
                "the file is larger than {most} bytes"
            )));
        }
        // The URL comes from a response, so it is checked before the token is sent there.
        let url = told["url"].as_str().and_then(|url| Url::parse(url).ok());
        let Some(url) = url.filter(|url| self.is_theirs(url)) else {
            return Err(SendError::Never(
                "the file is on a host to which our token is not sent".to_owned(),
            ));
        };
        let headers = self.headers()?;
        let answer = download(&self.api, url.to_string(), headers, most).await?;
        match answer.status {
            StatusCode::OK => Ok(answer.body),
            // URLs expire after five minutes; the retry requests a new one.
            StatusCode::NOT_FOUND => Err(SendError::Later {
                after: None,
                why: "the file URL has expired".to_owned(),
            }),
            _ => Err(harmless(error::of(&answer))),
        }
    }
}

impl WhatsApp {
    /// Marks a message as read, and shows a typing indicator.
    async fn mark(&self, message: &str, writing: Option<&str>) -> Result<(), SendError> {
        let mut body = json!({
            "messaging_product": "whatsapp",
            "status": "read",
            "message_id": message,
        });
        if let Some(kind) = writing {
            body["typing_indicator"] = json!({"type": kind});
        }
        let url = self.own("/messages");
        let answer = self.api.post_json(url, self.headers()?, &body);
        let answer = answer.await.map_err(harmless)?;
        match answer.status.is_success() {
            true => Ok(()),
            false => Err(harmless(error::of(&answer))),
        }
    }
}
