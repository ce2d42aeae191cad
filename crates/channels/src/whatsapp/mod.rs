//! WhatsApp, by Meta's Cloud API: signed webhooks in, one call for each message out.
//!
//! WhatsApp lets a business write freely for 24 hours after somebody wrote; what is refused later
//! comes back as a refusal of the call or as a failed status, and both are told. There is no
//! key that makes a message arrive once, so a call without an answer is unknown.

mod events;
pub(crate) mod format;
mod hook;
mod send;
#[cfg(test)]
mod tests;
mod trouble;

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
    Abilities, Channel, ChannelError, Delivered, Ear, Hook, HookRefusal, Hooked, Me, SendError,
};
use crate::download::{download, harmless};
use crate::recent::Recent;
use crate::short::units;
use crate::standby;
use crate::words::{Heard, Inbound, Media, Outgoing};

/// Where the interface is.
pub const API: &str = "https://graph.facebook.com";
/// Where files that people sent are.
pub const MEDIA: &str = "https://lookaside.fbsbx.com";
/// The version of the interface that is spoken.
pub const VERSION: &str = "v23.0";

/// The longest text, in UTF-16 units.
pub const TEXT: usize = 4_096;
/// The longest line below a file.
const CAPTION: usize = 1_024;
/// The largest file.
const FILE: u64 = 100 * 1024 * 1024;
/// How many chats are remembered by their last message.
const CHATS: usize = 4_096;
/// How long one may write freely after somebody wrote.
const WINDOW: Duration = Duration::from_secs(24 * 60 * 60);

/// One number of WhatsApp's.
#[derive(Debug, Clone)]
pub struct Account {
    /// What it is called here.
    pub name: String,
    /// The access token, best of a system user.
    pub token: Secret,
    /// The app secret, with which Meta signs.
    pub secret: Secret,
    /// The word with which Meta proves that it was set up by us.
    pub verify: Secret,
    /// The id of the phone number.
    pub phone: String,
    /// Where the interface is: [`API`].
    pub api: Url,
    /// Which version of it: [`VERSION`].
    pub version: String,
    /// Where files are: [`MEDIA`]. The token is sent to no other place.
    pub media: Url,
}

/// WhatsApp, spoken for one number.
pub struct WhatsApp {
    account: Account,
    api: Api,
    abilities: Abilities,
    /// The last message of each chat: what an indicator of typing is shown for.
    last: Recent<(String, Timestamp)>,
    clock: Arc<dyn Clock>,
}

impl WhatsApp {
    /// The channel of a number.
    pub fn new(account: Account, egress: Arc<Egress>, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        Self {
            api: Api::new(egress, account.api.clone(), ids),
            abilities: abilities(),
            last: Recent::new(CHATS),
            account,
            clock,
        }
    }

    fn headers(&self) -> Result<HeaderMap, SendError> {
        Api::bearer(&self.account.token)
    }

    /// The address of something that belongs to our number.
    fn own(&self, what: &str) -> String {
        let Account { version, phone, .. } = &self.account;
        self.api.url(&format!("{version}/{phone}{what}"))
    }

    async fn get(&self, url: String) -> Result<Value, SendError> {
        let answer = self.api.send(Method::GET, url, self.headers()?, None);
        let answer = answer.await.map_err(harmless)?;
        match answer.status.is_success() {
            true => answer.json().map_err(harmless),
            false => Err(harmless(trouble::of(&answer))),
        }
    }

    /// Whether our token may be shown there.
    fn is_theirs(&self, url: &Url) -> bool {
        let theirs = [&self.account.api, &self.account.media];
        theirs.iter().any(|base| base.origin() == url.origin())
    }
}

fn abilities() -> Abilities {
    Abilities {
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

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn me(&self) -> Result<Me, SendError> {
        let url = self.own("?fields=id,display_phone_number,verified_name");
        let number = self.get(url).await?;
        let field = |name: &str| number[name].as_str().unwrap_or_default();
        let digits = events::digits(field("display_phone_number"));
        Ok(Me {
            id: self.account.phone.clone(),
            name: field("verified_name").to_owned(),
            handle: (!digits.is_empty()).then_some(digits),
            team: None,
        })
    }

    async fn listen(&self, ear: &dyn Ear, stop: &CancellationToken) -> Result<(), ChannelError> {
        let prepare = || async { self.me().await.map(drop) };
        if standby::ready(ear, stop, self.api.ids(), prepare).await? {
            stop.cancelled().await;
        }
        Ok(())
    }

    fn hook(&self, hook: &Hook<'_>) -> Result<Hooked, HookRefusal> {
        if hook.method == "GET" {
            return hook::greeted(hook, &self.account);
        }
        let told = hook::verified(hook, &self.account)?;
        Ok(Hooked::events(self.read(&told)))
    }

    async fn send(
        &self,
        _key: &str,
        message: &Outgoing,
        file: Option<Bytes>,
    ) -> Result<Delivered, SendError> {
        self.deliver(message, file).await
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        crate::chunk::pieces(text, TEXT, &|piece| units(&format::written(piece)))
    }

    async fn typing(&self, place: &ChatRef) -> Result<(), SendError> {
        // It is shown as the answer to a message, and marks that as read.
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

    async fn pressed(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        if let Heard::Button {
            callback: Some(press),
            ..
        } = &inbound.what
        {
            self.mark(press, None).await?;
        }
        // What was pressed is shown in the chat by WhatsApp itself; the word is a short answer.
        if word.trim().is_empty() {
            return Ok(());
        }
        let to = inbound.place.chat_only();
        self.deliver(&Outgoing::text(to, word), None)
            .await
            .map(drop)
    }

    async fn fetch(&self, media: &Media, most: u64) -> Result<Bytes, SendError> {
        let id = &media.id;
        if id.is_empty() || id.len() > 64 || !id.chars().all(|c| c.is_ascii_digit()) {
            return Err(SendError::Never(
                "WhatsApp has no file of this name".to_owned(),
            ));
        }
        let Account { version, phone, .. } = &self.account;
        let path = format!("{version}/{id}?phone_number_id={phone}");
        let told = self.get(self.api.url(&path)).await?;
        // The size comes as a number or as digits.
        let size = &told["file_size"];
        let size = size.as_u64().or_else(|| size.as_str()?.parse().ok());
        if size.is_some_and(|size| size > most) {
            return Err(SendError::Never(format!(
                "the file is larger than {most} bytes"
            )));
        }
        let url = told["url"].as_str().and_then(|url| Url::parse(url).ok());
        let Some(url) = url.filter(|url| self.is_theirs(url)) else {
            return Err(SendError::Never(
                "the file is at a place to which our token is not shown".to_owned(),
            ));
        };
        let headers = self.headers()?;
        let answer = download(&self.api, url.to_string(), headers, most).await?;
        match answer.status {
            StatusCode::OK => Ok(answer.body),
            // An address is good for five minutes; the next try asks for a new one.
            StatusCode::NOT_FOUND => Err(SendError::Later {
                after: None,
                why: "the address of the file is no longer good".to_owned(),
            }),
            _ => Err(harmless(trouble::of(&answer))),
        }
    }
}

impl WhatsApp {
    /// Marks a message as read, and shows what kind of answer is being written.
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
            false => Err(harmless(trouble::of(&answer))),
        }
    }
}
