//! Names of people and groups. Events do not contain them, so they are requested, at most once a day.

use std::sync::Arc;
use std::time::Duration;

use manyhands_core::{ChatRef, Clock, PeerKind, Timestamp};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::{LineChannel, is_id, send};
use crate::channel::{ChannelError, EventSink, SendError};
use crate::download::harmless;
use crate::recent::RecentMap;
use crate::webhook_setup;

/// Maximum names cached.
const KNOWN: usize = 4_096;
/// Maximum pending requests; others are requested with the next message.
const WAITING: usize = 64;
/// Validity of a name.
const GOOD: Duration = Duration::from_secs(24 * 60 * 60);

/// The name cache.
pub(super) struct People {
    clock: Arc<dyn Clock>,
    names: RecentMap<(Option<String>, Timestamp)>,
    ask: mpsc::Sender<ChatRef>,
    asked: Mutex<mpsc::Receiver<ChatRef>>,
}

/// The known names of a place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct KnownNames {
    pub sender: Option<String>,
    pub chat: Option<String>,
}

impl People {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let (ask, asked) = mpsc::channel(WAITING);
        Self {
            clock,
            names: RecentMap::new(KNOWN),
            ask,
            asked: Mutex::new(asked),
        }
    }

    /// Cached names; missing ones are requested in the background.
    pub(super) fn known(&self, place: &ChatRef) -> KnownNames {
        let sender = sender_key(place).map(|key| self.fresh(&key));
        let chat = chat_key(place).map(|key| self.fresh(&key));
        if matches!(sender, Some(None)) || matches!(chat, Some(None)) {
            // If the queue is full, the next message tries again.
            let _ = self.ask.try_send(place.clone());
        }
        KnownNames {
            sender: sender.flatten().flatten(),
            chat: chat.flatten().flatten(),
        }
    }

    /// A valid cached entry; its inner value is `None` if there is no name.
    fn fresh(&self, key: &str) -> Option<Option<String>> {
        let (name, at) = self.names.get(key)?;
        (self.clock.now().since(at) < GOOD).then_some(name)
    }
}

fn sender_key(place: &ChatRef) -> Option<String> {
    let sender = place.sender.as_deref()?;
    Some(format!("{} {sender}", place.chat))
}

/// Only groups have names; rooms have none.
fn chat_key(place: &ChatRef) -> Option<String> {
    let named = place.kind != PeerKind::Dm && place.chat.starts_with('C');
    named.then(|| place.chat.clone())
}

impl LineChannel {
    /// The sender's name, requested if unknown.
    pub(super) async fn name_of(&self, place: &ChatRef) -> Result<Option<String>, SendError> {
        let (Some(key), Some(sender)) = (sender_key(place), place.sender.as_deref()) else {
            return Ok(None);
        };
        let chat = &place.chat;
        let path = match place.kind {
            PeerKind::Dm => format!("v2/bot/profile/{sender}"),
            _ if chat.starts_with('R') => format!("v2/bot/room/{chat}/member/{sender}"),
            _ => format!("v2/bot/group/{chat}/member/{sender}"),
        };
        if !is_id(chat) || !is_id(sender) {
            return Ok(None);
        }
        self.ask(&key, &path, "displayName").await
    }

    async fn ask(&self, key: &str, path: &str, field: &str) -> Result<Option<String>, SendError> {
        if let Some(name) = self.people.fresh(key) {
            return Ok(name);
        }
        let answer = self.get(path).await.map_err(harmless)?;
        let name = match answer.status.as_u16() {
            200 => answer.json()?[field].as_str().map(str::to_owned),
            // Not a friend of this account, or hidden from it.
            404 => None,
            _ => return Err(send::refused(&answer)),
        };
        let at = self.people.clock.now();
        self.people.names.put(key, (name.clone(), at));
        Ok(name)
    }

    /// Registers the webhook, then looks names up until it is stopped.
    pub(super) async fn stand_by(
        &self,
        sink: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let ready = webhook_setup::ready(sink, stop, self.api.ids(), || self.prepare());
        if !ready.await? {
            return Ok(());
        }
        let mut asked = self.people.asked.lock().await;
        loop {
            let place = tokio::select! {
                place = asked.recv() => place,
                () = stop.cancelled() => return Ok(()),
            };
            let Some(place) = place else { return Ok(()) };
            tokio::select! {
                () = self.introduce(&place) => {}
                () = stop.cancelled() => return Ok(()),
            }
        }
    }

    async fn introduce(&self, place: &ChatRef) {
        if let Err(error) = self.name_of(place).await {
            tracing::debug!(event = "line_profile_lookup_failed", %error, "cannot look up a sender's name");
        }
        if let Some(key) = chat_key(place).filter(|key| is_id(key)) {
            let path = format!("v2/bot/group/{key}/summary");
            if let Err(error) = self.ask(&key, &path, "groupName").await {
                tracing::debug!(event = "line_group_lookup_failed", %error, "cannot look up a group's name");
            }
        }
    }

    /// Checks the token, and registers our webhook if we are to.
    async fn prepare(&self) -> Result<(), SendError> {
        crate::channel::Channel::me(self).await?;
        let Some(webhook) = &self.account.webhook else {
            return Ok(());
        };
        let path = "v2/bot/channel/webhook/endpoint";
        let answer = self.get(path).await?;
        let known = match answer.status.as_u16() {
            200 => answer.json()?,
            404 => serde_json::Value::Null,
            _ => return Err(send::refused(&answer)),
        };
        if known["endpoint"].as_str() != Some(webhook.as_str()) {
            let body = serde_json::json!({"endpoint": webhook.as_str()}).to_string();
            let body = ("application/json".to_owned(), body.into());
            let url = self.api.url(path);
            let put = manyhands_guard::Method::PUT;
            let answer = self.api.send(put, url, self.headers()?, Some(body)).await?;
            if !answer.status.is_success() {
                return Err(send::refused(&answer));
            }
        }
        if known["active"] == false {
            return Err(SendError::Never(
                "LINE has the webhook disabled\nturn on \"Use webhook\" in the LINE Developers \
                 console, on the page Messaging API of the channel"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}
