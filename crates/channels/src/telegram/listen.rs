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
const UPDATE_KINDS: [&str; 4] = [
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
const MAX_ALBUM_CHECKS: usize = 5;
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
enum RoundError {
    /// Retrying is pointless.
    Refused(String),
    /// Retry, not before this delay.
    Broken {
        why: String,
        after: Option<Duration>,
    },
}

impl RoundError {
    fn broken(why: impl Into<String>) -> Self {
        Self::Broken {
            why: why.into(),
            after: None,
        }
    }
}

impl From<CallError> for RoundError {
    fn from(error: CallError) -> Self {
        error.sent(Idempotency::Same).into()
    }
}

impl From<SendError> for RoundError {
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

impl From<ChannelError> for RoundError {
    fn from(error: ChannelError) -> Self {
        Self::broken(error.to_string())
    }
}

/// The receiving state.
#[derive(Default)]
struct ReceiveState {
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
    pub(super) async fn receive(
        &self,
        sink: &dyn EventSink,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let mut state = ReceiveState::default();
        self.recall(sink, &mut state).await?;
        sink.set_status(ConnectionStatus::Connecting);
        let Pace { first, longest, .. } = self.pace;
        let mut backoff = Backoff::between(first, longest, self.ids.clone());
        loop {
            let round = tokio::select! {
                biased;
                // Biased towards stopping: updates not confirmed yet are delivered again.
                () = stop.cancelled() => return Ok(()),
                round = self.round(&mut state, sink) => round,
            };
            let (why, after) = match round {
                Ok(()) => {
                    backoff.reset();
                    if !state.connected {
                        state.connected = true;
                        sink.set_status(ConnectionStatus::Connected);
                    }
                    continue;
                }
                Err(RoundError::Refused(why)) => return Err(ChannelError::Refused(why)),
                Err(RoundError::Broken { why, after }) => (why, after),
            };
            state.connected = false;
            sink.set_status(ConnectionStatus::Broken { why });
            // Telegram's own delay counts if it is longer: polling earlier extends it.
            let pause = backoff.wait().max(after.unwrap_or(Duration::ZERO));
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Loads the stored state.
    async fn recall(
        &self,
        sink: &dyn EventSink,
        state: &mut ReceiveState,
    ) -> Result<(), ChannelError> {
        if let Some(noted) = sink.load_value(ME).await?
            && let Ok(me) = serde_json::from_str::<Value>(&noted)
            && let Some(me) = read_me(&me)
            // The token may have been replaced by that of another bot since.
            && self.bot.id().is_some_and(|id| id.to_string() == me.id)
        {
            self.know(me);
        }
        if let Some(noted) = sink.load_value(ALBUMS).await? {
            // An unreadable value costs at most one split album, so it is no reason to fail.
            state.albums = serde_json::from_str(&noted).unwrap_or_default();
        }
        Ok(())
    }

    async fn round(
        &self,
        state: &mut ReceiveState,
        sink: &dyn EventSink,
    ) -> Result<(), RoundError> {
        if !state.ready {
            // Before the first update: mentions can only be recognised with our handle.
            let me = self.ask_me().await?;
            let noted = json!({"id": me.id, "first_name": me.name, "username": me.handle});
            sink.store_value(ME, &noted.to_string()).await?;
        }
        match &self.account.mode {
            UpdateDelivery::Poll => self.ask(state, sink).await,
            UpdateDelivery::Webhook { url, secret } => self.watch(state, url, secret).await,
        }
    }

    /// Polls once, stores the updates, and only then lets Telegram forget them.
    async fn ask(&self, state: &mut ReceiveState, sink: &dyn EventSink) -> Result<(), RoundError> {
        if !state.ready {
            // Keep pending updates: what the webhook did not receive arrives here.
            let options = json!({"drop_pending_updates": false});
            self.bot.call("deleteWebhook", &options).await?;
            state.ready = true;
        }
        // The first poll returns at once, to find out whether polling works.
        let hold = match state.connected {
            true => self.pace.hold,
            false => Duration::ZERO,
        };
        let most = if state.connected { BATCH } else { FEW };
        let mut items = match self.updates(state.offset, hold, most).await {
            Err(CallError::Refused(no)) if no.code == 409 => {
                // Someone set a webhook meanwhile, or another program polls with our token.
                state.ready = false;
                return Err(RoundError::broken(conflict(&no.description)));
            }
            other => other?,
        };
        // No updates: forget the offset, since numbering may restart.
        if items.is_empty() {
            state.offset = None;
            return Ok(());
        }
        // Bounded: someone who keeps sending pictures must not hold back everything else.
        for _ in 0..MAX_ALBUM_CHECKS {
            if !albums::is_open(&items) || items.len() >= most {
                break;
            }
            tokio::time::sleep(self.pace.settle).await;
            let more = self.updates(state.offset, Duration::ZERO, most).await?;
            if more.len() <= items.len() {
                break;
            }
            items = more;
        }
        let last = items.iter().map(|item| item.update).max();
        // Stored before the offset advances: the next poll confirms these updates to Telegram.
        self.store_items(items, state, sink).await?;
        state.offset = last.map(|last| last.saturating_add(1));
        Ok(())
    }

    async fn updates(
        &self,
        offset: Option<i64>,
        hold: Duration,
        most: usize,
    ) -> Result<Vec<ParsedUpdate>, CallError> {
        let mut request = json!({
            "limit": most,
            "timeout": hold.as_secs(),
            "allowed_updates": UPDATE_KINDS,
        });
        if let Some(offset) = offset {
            // Only if there is one: an offset confirms everything below it.
            request["offset"] = json!(offset);
        }
        // Longer than the poll itself, or every poll without updates would count as a failure.
        let within = hold + self.pace.grace;
        let response = self.bot.call_within("getUpdates", &request, within).await?;
        let me = self.known().unwrap_or_default();
        let reader = self.reader(&me, self.clock.now().0);
        let all = response.as_array().map_or(&[][..], Vec::as_slice);
        let mut items: Vec<ParsedUpdate> = all.iter().filter_map(|one| reader.item(one)).collect();
        // Albums are grouped by neighbours, so the order must be that of the updates.
        items.sort_by_key(|item| item.update);
        Ok(items)
    }

    async fn store_items(
        &self,
        items: Vec<ParsedUpdate>,
        state: &mut ReceiveState,
        sink: &dyn EventSink,
    ) -> Result<(), RoundError> {
        let (events, albums) = albums::gathered(items, &state.albums);
        // Stored before the events: see the module documentation on latecomers.
        if !albums.is_empty() && albums != state.albums {
            let noted = json!(albums).to_string();
            sink.store_value(ALBUMS, &noted).await?;
            state.albums = albums;
        }
        // An empty batch would cost a transaction with an fsync for nothing.
        if !events.is_empty() {
            sink.receive(events).await?;
        }
        Ok(())
    }

    /// Registers the webhook, and checks from time to time whether deliveries succeed.
    async fn watch(
        &self,
        state: &mut ReceiveState,
        url: &Url,
        secret: &Secret,
    ) -> Result<(), RoundError> {
        if !state.ready {
            if !is_secret(secret.expose()) {
                let why = "the secret of the webhook must be 1 to 256 letters, digits, _ or -";
                return Err(RoundError::Refused(why.to_owned()));
            }
            let wanted = json!({
                "url": url.as_str(),
                "secret_token": secret.expose(),
                "allowed_updates": UPDATE_KINDS,
            });
            self.bot.call("setWebhook", &wanted).await?;
            state.ready = true;
            // Only failures after the registration count.
            state.failed_at = Some(self.clock.now().0 / 1_000);
            return Ok(());
        }
        // Deliveries do not pass through here, so only Telegram knows whether they succeed.
        tokio::time::sleep(self.pace.look).await;
        let info = self.bot.call("getWebhookInfo", &json!({})).await?;
        // Another program with this token may have replaced it.
        if info["url"] != url.as_str() {
            state.ready = false;
            return Err(RoundError::broken(
                "another webhook was set for this bot; setting ours again",
            ));
        }
        let failed_at = info["last_error_date"].as_i64();
        // Each failure is reported once: Telegram repeats the last one in every answer.
        if failed_at.is_some() && failed_at > state.failed_at {
            state.failed_at = failed_at;
            let said = info["last_error_message"]
                .as_str()
                .unwrap_or("no reason given");
            let said = self.bot.scrub(said);
            return Err(RoundError::broken(format!(
                "Telegram cannot deliver updates to {url}: {said}"
            )));
        }
        Ok(())
    }

    /// Requests our identity and remembers it.
    pub(super) async fn ask_me(&self) -> Result<BotIdentity, SendError> {
        let request = self.bot.call("getMe", &json!({})).await;
        let response = request.map_err(|error| error.sent(Idempotency::Same))?;
        let me = read_me(&response).ok_or_else(|| SendError::Later {
            after: None,
            why: "Telegram did not return our identity".to_owned(),
        })?;
        self.know(me.clone());
        Ok(me)
    }
}

fn read_me(response: &Value) -> Option<BotIdentity> {
    let id = match &response["id"] {
        Value::String(id) => id.clone(),
        id => id.as_i64()?.to_string(),
    };
    let text = |name: &str| response[name].as_str().map(str::to_owned);
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
