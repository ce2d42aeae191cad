//! LINE: signed webhooks in, replies and pushes out.
//!
//! A reply uses the reply token of the message it answers, which is free of charge and valid once
//! within about a minute; after that it is pushed. A push carries a retry key derived from the outbox
//! key, so it arrives once however often it is sent within a day. LINE accepts no file uploads: files
//! are sent as links.

mod events;
mod hook;
mod profiles;
mod send;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use manyhands_core::{ChatRef, Clock, Ids, PeerKind, Secret};
use manyhands_guard::{Egress, HeaderMap, Method, StatusCode};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::api::{Api, ApiResponse};
use crate::channel::{
    BotIdentity, Channel, ChannelCapabilities, ChannelError, EventSink, SendError, SendReceipt,
    WebhookOutcome, WebhookRefusal, WebhookRequest,
};
use crate::download::download;
use crate::message::{Inbound, Media, OutgoingMessage};
use crate::recent::RecentMap;
use crate::shorten::units;

use profiles::People;

/// URL of LINE's API.
pub const API: &str = "https://api.line.me";
/// URL of LINE's content API.
pub const DATA: &str = "https://api-data.line.me";

/// Maximum text length in UTF-16 units.
pub const TEXT: usize = 5_000;
/// Maximum sent messages remembered, to recognise quotes of them.
const OURS: usize = 4_096;

/// A LINE account.
#[derive(Debug, Clone)]
pub struct LineAccount {
    /// Its name in the settings.
    pub name: String,
    /// The channel secret, with which LINE signs.
    pub secret: Secret,
    /// The channel access token.
    pub token: Secret,
    /// URL of the API: [`API`].
    pub api: Url,
    /// URL of the content API: [`DATA`].
    pub data: Url,
    /// Our webhook URL, if we are to register it.
    pub webhook: Option<Url>,
}

/// The LINE channel of one account.
pub struct LineChannel {
    account: LineAccount,
    api: Api,
    data: Api,
    abilities: ChannelCapabilities,
    people: People,
    ours: RecentMap<()>,
}

impl LineChannel {
    /// Creates the channel of an account.
    pub fn new(account: LineAccount, egress: Arc<Egress>, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        let api = Api::new(egress.clone(), account.api.clone(), ids.clone());
        let data = Api::new(egress, account.data.clone(), ids);
        Self {
            people: People::new(clock),
            ours: RecentMap::new(OURS),
            abilities: abilities(),
            account,
            api,
            data,
        }
    }

    /// Headers with our token.
    fn headers(&self) -> Result<HeaderMap, SendError> {
        Api::bearer(&self.account.token)
    }

    /// Sends a GET request.
    async fn get(&self, path: &str) -> Result<ApiResponse, SendError> {
        let url = self.api.url(path);
        self.api.send(Method::GET, url, self.headers()?, None).await
    }
}

fn abilities() -> ChannelCapabilities {
    ChannelCapabilities {
        edits: false,
        typing: true,
        reactions: false,
        buttons: true,
        idempotent: true,
        file_bytes: 200 * 1024 * 1024,
        caption: 2_000,
        per_chat: Duration::ZERO,
        per_group: Duration::ZERO,
        overall: Duration::from_millis(1),
        per_edit: Duration::ZERO,
    }
}

/// Converts a text to plain text: LINE has no markup.
fn plain(text: &str) -> String {
    crate::markdown::plain(text)
}

#[async_trait]
impl Channel for LineChannel {
    fn name(&self) -> &str {
        "line"
    }

    fn account(&self) -> &str {
        &self.account.name
    }

    fn abilities(&self) -> &ChannelCapabilities {
        &self.abilities
    }

    async fn me(&self) -> Result<BotIdentity, SendError> {
        let answer = self.get("v2/bot/info").await?;
        if !answer.status.is_success() {
            return Err(send::refused(&answer));
        }
        let info = answer.json()?;
        let field = |name: &str| info[name].as_str().unwrap_or_default().to_owned();
        let handle = field("basicId").trim_start_matches('@').to_owned();
        Ok(BotIdentity {
            id: field("userId"),
            name: field("displayName"),
            handle: (!handle.is_empty()).then_some(handle),
            team: None,
        })
    }

    async fn listen(
        &self,
        sink: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        self.stand_by(sink, stop).await
    }

    fn hook(&self, hook: &WebhookRequest<'_>) -> Result<WebhookOutcome, WebhookRefusal> {
        let events = hook::verified(hook, &self.account.secret)?;
        let mut heard = Vec::with_capacity(events.len());
        for event in events {
            match self.read(&event) {
                Some(inbound) => heard.push(inbound),
                None => {
                    tracing::debug!(event = "line_event_ignored", kind = %event["type"], "ignored an event of this type")
                }
            }
        }
        Ok(WebhookOutcome::events(heard))
    }

    async fn send(
        &self,
        key: &str,
        message: &OutgoingMessage,
        file: Option<Bytes>,
    ) -> Result<SendReceipt, SendError> {
        let messages = send::messages(message, file.as_ref())?;
        self.deliver(key, message, messages).await
    }

    /// A push is repeatable, a reply is not: its token may have been used by a lost attempt.
    fn repeatable(&self, message: &OutgoingMessage) -> bool {
        send::Ticket::of(message).reply.is_none()
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        crate::chunk::pieces(text, TEXT, &|piece| units(&plain(piece)))
    }

    async fn typing(&self, place: &ChatRef) -> Result<(), SendError> {
        // LINE shows it only in direct chats.
        if place.kind != PeerKind::Dm {
            return Ok(());
        }
        let body = json!({"chatId": place.chat, "loadingSeconds": 20});
        let url = self.api.url("v2/bot/chat/loading/start");
        let answer = self.api.post_json(url, self.headers()?, &body).await?;
        match answer.status.is_success() {
            true => Ok(()),
            false => Err(send::refused(&answer)),
        }
    }

    async fn acknowledge_button(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        // LINE itself shows the press in the chat; the note is a short reply.
        let ticket = send::Ticket::parse(inbound.ticket.as_deref());
        let (false, Some(token)) = (word.trim().is_empty(), ticket.reply) else {
            return Ok(());
        };
        let messages = vec![send::text_message(&plain(word))?];
        match self.reply(token, &messages).await? {
            send::Replied::Taken(_) | send::Replied::TokenGone => Ok(()),
        }
    }

    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        let (url, headers) = match Url::parse(&media.id) {
            // Content hosted by the sender's program: our token must not be sent there.
            Ok(url) if url.scheme() == "https" => (url.to_string(), HeaderMap::new()),
            Ok(_) => {
                return Err(SendError::Never("the file URL does not use https".into()));
            }
            Err(_) if is_id(&media.id) => {
                let path = format!("v2/bot/message/{}/content", media.id);
                (self.data.url(&path), self.headers()?)
            }
            Err(_) => return Err(SendError::Never("LINE has no file of this name".into())),
        };
        let answer = download(&self.data, url, headers, most).await?;
        match answer.status {
            StatusCode::OK => Ok(answer.body),
            // Audio and video are still being transcoded.
            StatusCode::ACCEPTED => Err(SendError::Later {
                after: Some(Duration::from_secs(3)),
                why: "LINE is still preparing the file".to_owned(),
            }),
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                Err(SendError::Never("LINE no longer has the file".to_owned()))
            }
            _ => Err(send::refused(&answer)),
        }
    }

    async fn sender_name(&self, place: &ChatRef) -> Result<Option<String>, SendError> {
        self.name_of(place).await
    }
}

/// Whether this is a LINE id and not a path.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 128 && id.chars().all(|c| c.is_ascii_alphanumeric())
}
