//! LINE: signed webhooks in, replies and pushes out.
//!
//! An answer goes out with the reply token of what it answers, which is free of charge and good for
//! one use within about a minute; after that it is pushed. A push carries a retry key made of the
//! outbox's own key, so that it arrives once however often it is sent within a day. LINE takes no
//! bytes: files go out as links.

mod events;
mod hook;
mod people;
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

use crate::api::{Answer, Api};
use crate::channel::{
    Abilities, Channel, ChannelError, Delivered, Ear, Hook, HookRefusal, Hooked, Me, SendError,
};
use crate::download::download;
use crate::recent::Recent;
use crate::short::units;
use crate::words::{Inbound, Media, Outgoing};

use people::People;

/// Where LINE's interface is.
pub const API: &str = "https://api.line.me";
/// Where LINE keeps what people send.
pub const DATA: &str = "https://api-data.line.me";

/// The longest text, in UTF-16 units.
pub const TEXT: usize = 5_000;
/// How many messages of ours are known again when somebody quotes them.
const OURS: usize = 4_096;

/// One account of LINE.
#[derive(Debug, Clone)]
pub struct Account {
    /// What it is called here.
    pub name: String,
    /// The channel secret, with which LINE signs.
    pub secret: Secret,
    /// The channel access token.
    pub token: Secret,
    /// Where the interface is: [`API`].
    pub api: Url,
    /// Where files are: [`DATA`].
    pub data: Url,
    /// The address at which LINE reaches our webhook, if it is ours to see to.
    pub webhook: Option<Url>,
}

/// LINE, spoken for one account.
pub struct Line {
    account: Account,
    api: Api,
    data: Api,
    abilities: Abilities,
    people: People,
    ours: Recent<()>,
}

impl Line {
    /// The channel of an account.
    pub fn new(account: Account, egress: Arc<Egress>, clock: Arc<dyn Clock>, ids: Ids) -> Self {
        let api = Api::new(egress.clone(), account.api.clone(), ids.clone());
        let data = Api::new(egress, account.data.clone(), ids);
        Self {
            people: People::new(clock),
            ours: Recent::new(OURS),
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

    /// Asks LINE for something.
    async fn get(&self, path: &str) -> Result<Answer, SendError> {
        let url = self.api.url(path);
        self.api.send(Method::GET, url, self.headers()?, None).await
    }
}

fn abilities() -> Abilities {
    Abilities {
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

/// A text as LINE shows it: it has no markup.
fn plain(text: &str) -> String {
    crate::markdown::plain(text)
}

#[async_trait]
impl Channel for Line {
    fn name(&self) -> &str {
        "line"
    }

    fn account(&self) -> &str {
        &self.account.name
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn me(&self) -> Result<Me, SendError> {
        let answer = self.get("v2/bot/info").await?;
        if !answer.status.is_success() {
            return Err(send::refused(&answer));
        }
        let info = answer.json()?;
        let field = |name: &str| info[name].as_str().unwrap_or_default().to_owned();
        let handle = field("basicId").trim_start_matches('@').to_owned();
        Ok(Me {
            id: field("userId"),
            name: field("displayName"),
            handle: (!handle.is_empty()).then_some(handle),
            team: None,
        })
    }

    async fn listen(&self, ear: &dyn Ear, stop: &CancellationToken) -> Result<(), ChannelError> {
        self.stand_by(ear, stop).await
    }

    fn hook(&self, hook: &Hook<'_>) -> Result<Hooked, HookRefusal> {
        let events = hook::verified(hook, &self.account.secret)?;
        let mut heard = Vec::with_capacity(events.len());
        for event in events {
            match self.read(&event) {
                Some(inbound) => heard.push(inbound),
                None => tracing::debug!(kind = %event["type"], "this event of LINE's is not heard"),
            }
        }
        Ok(Hooked::events(heard))
    }

    async fn send(
        &self,
        key: &str,
        message: &Outgoing,
        file: Option<Bytes>,
    ) -> Result<Delivered, SendError> {
        let messages = send::messages(message, file.as_ref())?;
        self.deliver(key, message, messages).await
    }

    /// A push is repeatable, a reply is not: nobody can tell whether its token was used by it.
    fn repeatable(&self, message: &Outgoing) -> bool {
        send::Ticket::of(message).reply.is_none()
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        crate::chunk::pieces(text, TEXT, &|piece| units(&plain(piece)))
    }

    async fn typing(&self, place: &ChatRef) -> Result<(), SendError> {
        // LINE shows it only to one person, and never in a group.
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

    async fn pressed(&self, inbound: &Inbound, word: &str) -> Result<(), SendError> {
        // What was pressed is shown in the chat by LINE itself; the word is a short reply.
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
            // Something that the sender's program keeps elsewhere: our token is none of its business.
            Ok(url) if url.scheme() == "https" => (url.to_string(), HeaderMap::new()),
            Ok(_) => {
                return Err(SendError::Never(
                    "the file is not at an https address".into(),
                ));
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
            // Sound and moving pictures are still being prepared.
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

    async fn called(&self, place: &ChatRef) -> Result<Option<String>, SendError> {
        self.name_of(place).await
    }
}

/// Whether this is an id as LINE writes them, and not a way to somewhere else.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 128 && id.chars().all(|c| c.is_ascii_alphanumeric())
}
