//! Slack: the Web API, Socket Mode and the signing of webhooks.

mod api;
mod blocks;
mod socket;
mod world;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::routing::{any, get, post};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::sync::watch;
use url::Url;

use crate::{Journal, hub};

use world::World;
pub use world::{Posted, Uploaded};

/// The token of the bot.
pub const BOT_TOKEN: &str = "xoxb-1111-2222-canarybotsecret";
/// The token of the app.
pub const APP_TOKEN: &str = "xapp-1-A0APP-3333-canaryappsecret";
/// With which requests to webhooks are signed.
pub const SIGNING_SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
/// The id of the bot's user.
pub const BOT_USER: &str = "U0BOT";
/// The id of the bot.
pub const BOT: &str = "B0BOT";
/// The id of the app.
pub const APP: &str = "A0APP";

/// How a call is to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// 429 with so many seconds to wait.
    RateLimited(u64),
    /// A status with a page that is not Slack's own.
    Status(u16),
    /// `ok: false` with this word.
    Said(&'static str),
    /// It is done, and the connection breaks before the answer is whole.
    DoneThenReset,
    /// It is never answered.
    Hang,
    /// 200 with something that is no JSON.
    Garbage,
}

/// A workspace of Slack on loopback. Clones are the same.
#[derive(Clone)]
pub struct Slack {
    address: SocketAddr,
    journal: Journal,
    state: Arc<State>,
}

struct State {
    world: Mutex<World>,
    journal: Journal,
    address: SocketAddr,
    /// Goes up whenever something changes that a test may wait for.
    changed: watch::Sender<u64>,
}

impl State {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

impl Slack {
    /// Opens a workspace with two people (`U0ADA`, `U0EVE`), a channel (`C0GENERAL`), a group
    /// (`G0GROUP`) and a direct chat (`D0ADA`).
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let journal = Journal::default();
        let state = Arc::new(State {
            world: Mutex::new(World::new()),
            journal: journal.clone(),
            address,
            changed: watch::Sender::new(0),
        });
        let router = Router::new()
            .route("/api/{method}", any(api::call))
            .route("/upload/{id}", post(api::upload))
            .route("/files-pri/{id}", get(api::download))
            .route("/signin", get(api::signin))
            .route("/link", get(socket::link))
            .layer(axum::extract::DefaultBodyLimit::max(64 * 1024 * 1024))
            .with_state(Arc::clone(&state));
        tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Self {
            address,
            journal,
            state,
        }
    }

    /// Where the Web API is.
    pub fn api(&self) -> Url {
        let url = format!("http://{}/api", self.address);
        Url::parse(&url).expect("an address")
    }

    /// Every request that arrived.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Lets the next call of a method fail; several are used up in order.
    pub fn fail(&self, method: &str, failure: Failure) {
        let mut world = self.state.world();
        world.failures.push((method.to_owned(), failure));
    }

    /// Refuses everything for one chat from now on.
    pub fn poison(&self, chat: &str, word: &'static str) {
        self.state.world().poisoned.insert(chat.to_owned(), word);
    }

    /// Lets only one message a second into each channel from now on.
    pub fn limit_rates(&self) {
        self.state.world().rates = true;
    }

    /// Gives the workspace another id than `T0TEAM`.
    pub fn set_team(&self, team: &str) {
        team.clone_into(&mut self.state.world().team);
    }

    /// Makes the token of the bot worth nothing.
    pub fn revoke(&self) {
        self.state.world().revoked = true;
    }

    /// What was posted by the bot and is to be seen, in order.
    pub fn posted(&self) -> Vec<Posted> {
        self.state.world().posted.clone()
    }

    /// Files that were shared.
    pub fn shared(&self) -> Vec<Uploaded> {
        let world = self.state.world();
        let shared = world.uploads.values().filter(|one| one.shared.is_some());
        shared.cloned().collect()
    }

    /// The names with which the bot reacted, by message.
    pub fn reactions(&self) -> Vec<(String, String)> {
        self.state.world().reactions.clone()
    }

    /// Puts a file at Slack and gives it as it stands in a message.
    pub fn put_file(&self, id: &str, name: &str, mime: &str, bytes: &[u8]) -> Value {
        let mut world = self.state.world();
        world
            .files
            .insert(id.to_owned(), (mime.to_owned(), bytes.to_vec()));
        let url = format!("http://{}/files-pri/{id}", self.address);
        json!({
            "id": id, "name": name, "title": name, "mimetype": mime, "size": bytes.len(),
            "mode": "hosted", "is_external": false,
            "url_private": url, "url_private_download": url,
        })
    }

    /// A fresh time stamp, as every message has its own.
    pub fn stamp(&self) -> String {
        self.state.world().stamp()
    }

    /// Something that somebody says, as an event; `more` is laid over it.
    pub fn message(&self, chat: &str, user: &str, text: &str, more: Value) -> Value {
        let mut world = self.state.world();
        let ts = world.stamp();
        world.said.push((chat.to_owned(), ts.clone()));
        let mut event = json!({
            "type": "message", "channel": chat, "user": user, "text": text, "ts": ts,
            "event_ts": ts, "team": "T0TEAM", "channel_type": world::channel_type(chat),
            "client_msg_id": format!("00000000-0000-0000-0000-{:012}", world.count),
        });
        if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
            event.extend(more);
        }
        world.callback(event)
    }

    /// Any event with what stands around it.
    pub fn callback(&self, event: Value) -> Value {
        self.state.world().callback(event)
    }

    /// The press of the button with `value` below a message.
    pub fn press(&self, chat: &str, user: &str, message: &str, value: &str) -> Value {
        let mut world = self.state.world();
        let at = world.stamp();
        let direct = if chat.starts_with('D') {
            "directmessage"
        } else {
            "general"
        };
        json!({
            "type": "block_actions",
            "user": { "id": user, "username": user.to_lowercase(), "name": user.to_lowercase(), "team_id": "T0TEAM" },
            "api_app_id": APP, "token": "deprecated", "trigger_id": format!("1.2.{at}"),
            "container": { "type": "message", "message_ts": message, "channel_id": chat, "is_ephemeral": false },
            "team": { "id": "T0TEAM", "domain": "team" },
            "channel": { "id": chat, "name": direct },
            "message": { "type": "message", "user": BOT_USER, "ts": message, "text": "?" },
            "response_url": format!("http://{}/actions", self.address),
            "actions": [{
                "type": "button", "block_id": "b1", "action_id": "press-1", "value": value,
                "text": { "type": "plain_text", "text": "Yes", "emoji": true }, "action_ts": at,
            }],
        })
    }

    /// The headers with which Slack signs `body` at `seconds`.
    pub fn signed(&self, body: &[u8], seconds: i64) -> Vec<(&'static str, String)> {
        let mut mac = Hmac::<Sha256>::new_from_slice(SIGNING_SECRET.as_bytes()).expect("a key");
        mac.update(format!("v0:{seconds}:").as_bytes());
        mac.update(body);
        let hex: String = mac
            .finalize()
            .into_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        vec![
            ("x-slack-request-timestamp", seconds.to_string()),
            ("x-slack-signature", format!("v0={hex}")),
        ]
    }

    /// Sends a JSON payload to a webhook, signed now. `retry` is the number of the retry.
    pub async fn hook(
        &self,
        url: &str,
        payload: &Value,
        retry: Option<u32>,
    ) -> std::io::Result<(u16, String)> {
        let body = payload.to_string();
        let mut headers = self.signed(body.as_bytes(), now());
        if let Some(retry) = retry {
            headers.push(("x-slack-retry-num", retry.to_string()));
            headers.push(("x-slack-retry-reason", "http_timeout".to_owned()));
        }
        hub::post(url, &headers, body.as_bytes()).await
    }

    /// Sends a payload of interactivity to a webhook, as the form that Slack makes of it.
    pub async fn hook_form(&self, url: &str, payload: &Value) -> std::io::Result<(u16, String)> {
        let form: String = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("payload", &payload.to_string())
            .finish();
        let mut headers = self.signed(form.as_bytes(), now());
        let kind = "application/x-www-form-urlencoded";
        headers.push(("content-type", kind.to_owned()));
        hub::post(url, &headers, form.as_bytes()).await
    }

    /// Waits until something is as wanted.
    async fn until<T>(&self, mut fits: impl FnMut(&mut World) -> Option<T>) -> T {
        let mut changed = self.state.changed.subscribe();
        loop {
            let found = fits(&mut self.state.world());
            if let Some(found) = found {
                return found;
            }
            changed.changed().await.expect("the workspace is open");
        }
    }
}

/// The time in seconds, by the far end's own clock.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0))
}
