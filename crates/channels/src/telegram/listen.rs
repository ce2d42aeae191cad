//! Hearing: asking Telegram for updates, or seeing to it that it brings them.

use std::time::Duration;

use manyhands_core::Secret;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::backoff::Backoff;
use crate::channel::{ChannelError, Ear, Me, SendError, Standing};

use super::albums::{self, Albums};
use super::call::{CallError, Twice};
use super::read::Item;
use super::{Mode, Telegram};

/// The kinds of updates that are wanted; changed messages are not.
const WANTED: [&str; 4] = [
    "message",
    "channel_post",
    "callback_query",
    "message_reaction",
];
/// How many updates are asked for at once: Telegram's most.
const BATCH: usize = 100;
/// How many as long as it is not known that it works: an answer may have been too large.
const FEW: usize = 5;
/// How often it is looked again whether an album is whole.
const LOOKS: usize = 5;
/// What who we are is noted as.
const ME: &str = "telegram.me";
/// What the last albums are noted as.
const ALBUMS: &str = "telegram.albums";

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// How long Telegram holds a question to which it has no answer yet.
    pub hold: Duration,
    /// How much longer than that an answer may take.
    pub grace: Duration,
    /// The first wait after a failure.
    pub first: Duration,
    /// The longest.
    pub longest: Duration,
    /// How long the rest of an album is waited for.
    pub settle: Duration,
    /// The time between two looks at how Telegram gets along with our webhook.
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

/// Why a round of hearing failed.
enum Trouble {
    /// Nothing changes by trying again.
    Refused(String),
    /// It is tried again, not before this has passed.
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
        error.sent(Twice::Same).into()
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

/// Where hearing stands.
#[derive(Default)]
struct Hearing {
    /// Whether Telegram was prepared for it.
    ready: bool,
    /// Whether something was heard since the last failure.
    connected: bool,
    /// What Telegram may forget is below this. It is told once: an update that comes after a long
    /// silence may have any number, also a lower one.
    offset: Option<i64>,
    /// The albums that were kept last.
    albums: Albums,
    /// When Telegram last failed to bring something, as it told.
    failed_at: Option<i64>,
}

impl Telegram {
    pub(super) async fn hear(
        &self,
        ear: &dyn Ear,
        stop: &CancellationToken,
    ) -> Result<(), ChannelError> {
        let mut hearing = Hearing::default();
        self.recall(ear, &mut hearing).await?;
        ear.stands(Standing::Connecting);
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
                        ear.stands(Standing::Connected);
                    }
                    continue;
                }
                Err(Trouble::Refused(why)) => return Err(ChannelError::Refused(why)),
                Err(Trouble::Broken { why, after }) => (why, after),
            };
            hearing.connected = false;
            ear.stands(Standing::Broken { why });
            let pause = backoff.wait().max(after.unwrap_or(Duration::ZERO));
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// What was noted before.
    async fn recall(&self, ear: &dyn Ear, hearing: &mut Hearing) -> Result<(), ChannelError> {
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

    async fn round(&self, hearing: &mut Hearing, ear: &dyn Ear) -> Result<(), Trouble> {
        if !hearing.ready {
            let me = self.ask_me().await?;
            let noted = json!({"id": me.id, "first_name": me.name, "username": me.handle});
            ear.note(ME, &noted.to_string()).await?;
        }
        match &self.account.mode {
            Mode::Poll => self.ask(hearing, ear).await,
            Mode::Webhook { url, secret } => self.watch(hearing, url, secret).await,
        }
    }

    /// Asks for updates once, keeps them, and only then lets Telegram forget them.
    async fn ask(&self, hearing: &mut Hearing, ear: &dyn Ear) -> Result<(), Trouble> {
        if !hearing.ready {
            // What a webhook has not taken yet is not dropped: it comes here.
            let keep = json!({"drop_pending_updates": false});
            self.bot.call("deleteWebhook", &keep).await?;
            hearing.ready = true;
        }
        // The first question is answered at once, so that it is known that one can ask.
        let hold = match hearing.connected {
            true => self.pace.hold,
            false => Duration::ZERO,
        };
        let most = if hearing.connected { BATCH } else { FEW };
        let mut items = match self.updates(hearing.offset, hold, most).await {
            Err(CallError::Refused(no)) if no.code == 409 => {
                // Somebody set a webhook meanwhile, or asks with our token.
                hearing.ready = false;
                return Err(Trouble::broken(conflict(&no.description)));
            }
            other => other?,
        };
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
        self.keep(items, hearing, ear).await?;
        hearing.offset = last.map(|last| last.saturating_add(1));
        Ok(())
    }

    async fn updates(
        &self,
        offset: Option<i64>,
        hold: Duration,
        most: usize,
    ) -> Result<Vec<Item>, CallError> {
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
        let mut items: Vec<Item> = all.iter().filter_map(|one| reader.item(one)).collect();
        items.sort_by_key(|item| item.update);
        Ok(items)
    }

    async fn keep(
        &self,
        items: Vec<Item>,
        hearing: &mut Hearing,
        ear: &dyn Ear,
    ) -> Result<(), Trouble> {
        let (events, albums) = albums::gathered(items, &hearing.albums);
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

    /// Has Telegram bring updates, and looks now and then how it gets along with that.
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
            // What went wrong before is over.
            hearing.failed_at = Some(self.clock.now().0 / 1_000);
            return Ok(());
        }
        tokio::time::sleep(self.pace.look).await;
        let info = self.bot.call("getWebhookInfo", &json!({})).await?;
        if info["url"] != url.as_str() {
            hearing.ready = false;
            return Err(Trouble::broken(
                "somebody gave Telegram another webhook for this bot; it is set again",
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
                "Telegram cannot bring updates to {url}: {said}"
            )));
        }
        Ok(())
    }

    /// Asks who we are, and remembers it.
    pub(super) async fn ask_me(&self) -> Result<Me, SendError> {
        let asked = self.bot.call("getMe", &json!({})).await;
        let told = asked.map_err(|error| error.sent(Twice::Same))?;
        let me = read_me(&told).ok_or_else(|| SendError::Later {
            after: None,
            why: "Telegram does not say who we are".to_owned(),
        })?;
        self.know(me.clone());
        Ok(me)
    }
}

fn read_me(told: &Value) -> Option<Me> {
    let id = match &told["id"] {
        Value::String(id) => id.clone(),
        id => id.as_i64()?.to_string(),
    };
    let text = |name: &str| told[name].as_str().map(str::to_owned);
    Some(Me {
        id,
        name: text("first_name").unwrap_or_default(),
        handle: text("username"),
        team: None,
    })
}

/// What to do about a conflict.
fn conflict(said: &str) -> String {
    match said.contains("webhook") {
        true => format!("a webhook is set for this bot and will be removed ({said})"),
        false => format!(
            "another program asks for updates with the same token ({said})\n\
            stop it, or give this account a bot of its own"
        ),
    }
}

fn is_secret(secret: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=256).contains(&secret.len()) && secret.chars().all(plain)
}
