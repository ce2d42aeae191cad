//! Receiving: long polling, or registering a webhook.

use std::time::Duration;

use manyhands_core::Secret;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::backoff::Backoff;
use crate::channel::{BotIdentity, ChannelError, ConnectionStatus, EventSink, SendError};

use super::albums::{self, Albums};
use super::call::{CallError, Idempotency};
use super::read::ParsedUpdate;
use super::{Telegram, UpdateDelivery};

/// The update types to receive; edited messages are not among them.
const WANTED: [&str; 4] = [
    "message",
    "channel_post",
    "callback_query",
    "message_reaction",
];
/// Maximum updates per request, Telegram's own limit.
const BATCH: usize = 100;
/// Updates per request until one succeeds: a larger response may have been the failure.
const FEW: usize = 5;
/// Attempts to complete an album.
const LOOKS: usize = 5;
/// Key under which our bot identity is stored.
const ME: &str = "telegram.me";
/// Key under which the last albums are stored.
const ALBUMS: &str = "telegram.albums";

/// Timing parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// How long Telegram holds a poll without updates.
    pub hold: Duration,
    /// Additional time for the response.
    pub grace: Duration,
    /// Initial delay after a failure.
    pub first: Duration,
    /// Maximum delay.
    pub longest: Duration,
    /// How long to wait for the rest of an album.
    pub settle: Duration,
    /// Interval between checks of the webhook.
    pub look: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            hold: Duration::from_secs(30),
            grace: Duration::from_secs(20),
            first: Duration::from_secs(1),
            longest: Duration::from_secs(300),
            settle: Duration::from_millis(600),
            look: Duration::from_secs(300),
        }
    }
}

/// Why a round failed.
enum Trouble {
    /// Retrying is pointless.
    Refused(String),
    /// Retry, not before this delay.
    Broken {
        why: String,
        after: Option<Duration>,
    },
}

impl Trouble {
    fn broken(why: impl Into<String>) -> Self {
        Self::Broken {
            why: why.into(),
            after: None,
        }
    }
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Self {
        error.sent(Idempotency::Same).into()
    }
}

impl From<SendError> for Trouble {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Account(why) => Self::Refused(why),
            SendError::Later { after, why } => Self::Broken { why, after },
            SendError::Never(why) | SendError::Unreachable(why) | SendError::Unknown(why) => {
                Self::broken(why)
            }
        }
    }
}

impl From<ChannelError> for Trouble {
    fn from(error: ChannelError) -> Self {
        Self::broken(error.to_string())
    }
}

/// The receiving state.
#[derive(Default)]
struct Hearing {
    /// Whether polling or the webhook is set up.
    ready: bool,
    /// Whether a round succeeded since the last failure.
    connected: bool,
    /// Telegram may forget updates below this. It is sent only once: after a long silence, update
    /// numbers restart and may be lower.
    offset: Option<i64>,
    /// The albums stored last.
    albums: Albums,
    /// When Telegram last failed to deliver to the webhook.
    failed_at: Option<i64>,
}

impl Telegram {
    pub(super) async fn hear(
        &self,
        ear: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let mut hearing = Hearing::default();
        self.recall(ear, &mut hearing).await?;
        ear.stands(ConnectionStatus::Connecting);
        let Pace { first, longest, .. } = self.pace;
        let mut backoff = Backoff::between(first, longest, self.ids.clone());
        loop {
            let round = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                round = self.round(&mut hearing, ear) => round,
            };
            let (why, after) = match round {
                Ok(()) => {
                    backoff.reset();
                    if !hearing.connected {
                        hearing.connected = true;
                        ear.stands(ConnectionStatus::Connected);
                    }
                    continue;
                }
                Err(Trouble::Refused(why)) => return Err(ChannelError::Refused(why)),
                Err(Trouble::Broken { why, after }) => (why, after),
            };
            hearing.connected = false;
            ear.stands(ConnectionStatus::Broken { why });
            let pause = backoff.wait().max(after.unwrap_or(Duration::ZERO));
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Loads the stored state.
    async fn recall(&self, ear: &dyn EventSink, hearing: &mut Hearing) -> Result<(), ChannelError> {
        if let Some(noted) = ear.noted(ME).await?
            && let Ok(me) = serde_json::from_str::<Value>(&noted)
            && let Some(me) = read_me(&me)
            && self.bot.id().is_some_and(|id| id.to_string() == me.id)
        {
            self.know(me);
        }
        if let Some(noted) = ear.noted(ALBUMS).await? {
            hearing.albums = serde_json::from_str(&noted).unwrap_or_default();
        }
        Ok(())
    }

    async fn round(&self, hearing: &mut Hearing, ear: &dyn EventSink) -> Result<(), Trouble> {
        if !hearing.ready {
            // Before the first update: mentions can only be recognised with our handle.
            let me = self.ask_me().await?;
            let noted = json!({"id": me.id, "first_name": me.name, "username": me.handle});
            ear.note(ME, &noted.to_string()).await?;
        }
        match &self.account.mode {
            UpdateDelivery::Poll => self.ask(hearing, ear).await,
            UpdateDelivery::Webhook { url, secret } => self.watch(hearing, url, secret).await,
        }
    }

    /// Polls once, stores the updates, and only then lets Telegram forget them.
    async fn ask(&self, hearing: &mut Hearing, ear: &dyn EventSink) -> Result<(), Trouble> {
        if !hearing.ready {
            // Keep pending updates: what the webhook did not receive arrives here.
            let keep = json!({"drop_pending_updates": false});
            self.bot.call("deleteWebhook", &keep).await?;
            hearing.ready = true;
        }
        // The first poll returns at once, to find out whether polling works.
        let hold = match hearing.connected {
            true => self.pace.hold,
            false => Duration::ZERO,
        };
        let most = if hearing.connected { BATCH } else { FEW };
        let mut items = match self.updates(hearing.offset, hold, most).await {
            Err(CallError::Refused(no)) if no.code == 409 => {
                // Someone set a webhook meanwhile, or another program polls with our token.
                hearing.ready = false;
                return Err(Trouble::broken(conflict(&no.description)));
            }
            other => other?,
        };
        // No updates: forget the offset, since numbering may restart.
        if items.is_empty() {
            hearing.offset = None;
            return Ok(());
        }
        for _ in 0..LOOKS {
            if !albums::is_open(&items) || items.len() >= most {
                break;
            }
            tokio::time::sleep(self.pace.settle).await;
            let more = self.updates(hearing.offset, Duration::ZERO, most).await?;
            if more.len() <= items.len() {
                break;
            }
            items = more;
        }
        let last = items.iter().map(|item| item.update).max();
        // Stored before the offset advances: the next poll confirms these updates to Telegram.
        self.keep(items, hearing, ear).await?;
        hearing.offset = last.map(|last| last.saturating_add(1));
        Ok(())
    }

    async fn updates(
        &self,
        offset: Option<i64>,
        hold: Duration,
        most: usize,
    ) -> Result<Vec<ParsedUpdate>, CallError> {
        let mut asked = json!({
            "limit": most,
            "timeout": hold.as_secs(),
            "allowed_updates": WANTED,
        });
        if let Some(offset) = offset {
            asked["offset"] = json!(offset);
        }
        let within = hold + self.pace.grace;
        let told = self.bot.call_within("getUpdates", &asked, within).await?;
        let me = self.known().unwrap_or_default();
        let reader = self.reader(&me, self.clock.now().0);
        let all = told.as_array().map_or(&[][..], Vec::as_slice);
        let mut items: Vec<ParsedUpdate> = all.iter().filter_map(|one| reader.item(one)).collect();
        // Albums are grouped by neighbours, so the order must be that of the updates.
        items.sort_by_key(|item| item.update);
        Ok(items)
    }

    async fn keep(
        &self,
        items: Vec<ParsedUpdate>,
        hearing: &mut Hearing,
        ear: &dyn EventSink,
    ) -> Result<(), Trouble> {
        let (events, albums) = albums::gathered(items, &hearing.albums);
        // Stored before the events: see the module documentation on latecomers.
        if !albums.is_empty() && albums != hearing.albums {
            let noted = json!(albums).to_string();
            ear.note(ALBUMS, &noted).await?;
            hearing.albums = albums;
        }
        if !events.is_empty() {
            ear.hear(events).await?;
        }
        Ok(())
    }

    /// Registers the webhook, and checks from time to time whether deliveries succeed.
    async fn watch(
        &self,
        hearing: &mut Hearing,
        url: &Url,
        secret: &Secret,
    ) -> Result<(), Trouble> {
        if !hearing.ready {
            if !is_secret(secret.expose()) {
                let why = "the secret of the webhook must be 1 to 256 letters, digits, _ or -";
                return Err(Trouble::Refused(why.to_owned()));
            }
            let wanted = json!({
                "url": url.as_str(),
                "secret_token": secret.expose(),
                "allowed_updates": WANTED,
            });
            self.bot.call("setWebhook", &wanted).await?;
            hearing.ready = true;
            // Only failures after the registration count.
            hearing.failed_at = Some(self.clock.now().0 / 1_000);
            return Ok(());
        }
        tokio::time::sleep(self.pace.look).await;
        let info = self.bot.call("getWebhookInfo", &json!({})).await?;
        // Another program with this token may have replaced it.
        if info["url"] != url.as_str() {
            hearing.ready = false;
            return Err(Trouble::broken(
                "another webhook was set for this bot; setting ours again",
            ));
        }
        let failed_at = info["last_error_date"].as_i64();
        if failed_at.is_some() && failed_at > hearing.failed_at {
            hearing.failed_at = failed_at;
            let said = info["last_error_message"]
                .as_str()
                .unwrap_or("no reason given");
            let said = self.bot.scrub(said);
            return Err(Trouble::broken(format!(
                "Telegram cannot deliver updates to {url}: {said}"
            )));
        }
        Ok(())
    }

    /// Requests our identity and remembers it.
    pub(super) async fn ask_me(&self) -> Result<BotIdentity, SendError> {
        let asked = self.bot.call("getMe", &json!({})).await;
        let told = asked.map_err(|error| error.sent(Idempotency::Same))?;
        let me = read_me(&told).ok_or_else(|| SendError::Later {
            after: None,
            why: "Telegram did not return our identity".to_owned(),
        })?;
        self.know(me.clone());
        Ok(me)
    }
}

fn read_me(told: &Value) -> Option<BotIdentity> {
    let id = match &told["id"] {
        Value::String(id) => id.clone(),
        id => id.as_i64()?.to_string(),
    };
    let text = |name: &str| told[name].as_str().map(str::to_owned);
    Some(BotIdentity {
        id,
        name: text("first_name").unwrap_or_default(),
        handle: text("username"),
        team: None,
    })
}

/// Advice for a conflict.
fn conflict(said: &str) -> String {
    match said.contains("webhook") {
        true => format!("a webhook is set for this bot and will be removed ({said})"),
        false => format!(
            "another program polls with the same token ({said})\n\
            stop it, or create a separate bot for this account"
        ),
    }
}

fn is_secret(secret: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=256).contains(&secret.len()) && secret.chars().all(plain)
}
