//! A Discord that checks what it is told: the REST interface and the gateway.

mod gateway;
mod rest;
mod world;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use url::Url;

use crate::Journal;
use crate::hub::{self, Asked, Fault, Faults, Platform, Told};

use world::World;

/// The token of the bot.
pub const TOKEN: &str = "MTEx.canary.bot-secret_of_discord";
/// The bot's id.
pub const BOT: &str = "111000000000000001";
/// A role of the bot's in the server.
pub const ROLE: &str = "111000000000000002";
/// The id of the application.
pub const APP: &str = "111000000000000003";
/// A server.
pub const SERVER: &str = "222000000000000001";
/// A channel of the server, called `general`.
pub const CHANNEL: &str = "333000000000000001";
/// A thread of that channel, called `plans`.
pub const THREAD: &str = "333000000000000002";
/// A channel that the bot must ask for, since nobody told it: `later`.
pub const UNTOLD: &str = "333000000000000003";
/// A direct chat with Ada.
pub const DIRECT: &str = "333000000000000004";
/// Somebody.
pub const ADA: &str = "444000000000000001";

/// A Discord on loopback. Clones are the same.
#[derive(Clone)]
pub struct Discord {
    inner: Arc<Inner>,
    url: String,
}

struct Inner {
    journal: Journal,
    faults: Faults,
    world: Mutex<World>,
    /// Goes up whenever something changes that a test may wait for.
    changed: watch::Sender<u64>,
}

impl Inner {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

impl Discord {
    /// Starts one.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let gateway = listener.local_addr().expect("an address");
        let inner = Arc::new(Inner {
            journal: Journal::default(),
            faults: Faults::default(),
            world: Mutex::new(World::new(format!("ws://{gateway}"))),
            changed: watch::Sender::new(0),
        });
        let router = Router::new()
            .route("/", get(gateway::link))
            .with_state(Arc::clone(&inner));
        tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        let url = hub::listen(Arc::clone(&inner)).await;
        inner.world().files_at.clone_from(&url);
        Self { inner, url }
    }

    /// Where the interface is.
    pub fn api(&self) -> Url {
        Url::parse(&format!("{}/api/v10", self.url)).expect("an address")
    }

    /// Where the gateway is.
    pub fn gateway(&self) -> String {
        self.inner.world().gateway.clone()
    }

    /// Where files are.
    pub fn files(&self) -> Url {
        Url::parse(&self.url).expect("an address")
    }

    /// Every request that arrived.
    pub fn journal(&self) -> &Journal {
        &self.inner.journal
    }

    /// The next request whose path ends so goes wrong.
    pub fn fail(&self, path: &str, fault: Fault) {
        self.inner.faults.plan(path, fault);
    }

    /// A refusal as Discord writes it.
    pub fn refusal(status: u16, code: u64, message: &str) -> Fault {
        Fault::answer(
            status,
            json!({ "message": message, "code": code }).to_string(),
        )
    }

    /// That one was too fast, as Discord writes it.
    pub fn too_fast(seconds: f64, global: bool) -> Fault {
        let body = json!({
            "message": "You are being rate limited.", "retry_after": seconds, "global": global,
        });
        let mut headers = vec![("retry-after", format!("{}", seconds.ceil()))];
        if global {
            headers.push(("x-ratelimit-global", "true".to_owned()));
        }
        Fault::Answer {
            status: 429,
            headers,
            body: body.to_string(),
        }
    }

    /// From now on a channel takes so many messages within so many milliseconds.
    pub fn limit_rates(&self, messages: u32, milliseconds: u64) {
        self.inner.world().rate = Some((messages, milliseconds));
    }

    /// Makes the token worth nothing.
    pub fn revoke(&self) {
        self.inner.world().revoked = true;
    }

    /// The messages of the bot, in order.
    pub fn posted(&self) -> Vec<Value> {
        self.inner.world().posted.clone()
    }

    /// What the bot reacted with, by message.
    pub fn reactions(&self) -> Vec<(String, String)> {
        self.inner.world().reactions.clone()
    }

    /// What was said only to whoever pressed a button.
    pub fn whispers(&self) -> Vec<Value> {
        self.inner.world().whispers.clone()
    }

    /// Puts a file where it can be fetched, and gives it as it stands in a message.
    pub fn put_file(&self, name: &str, mime: &str, bytes: impl Into<Bytes>) -> Value {
        let mut world = self.inner.world();
        let (id, bytes) = (world.id(), bytes.into());
        let path = format!("/attachments/{CHANNEL}/{id}/{name}");
        let file = json!({
            "id": id, "filename": name, "size": bytes.len(), "content_type": mime,
            "url": format!("{}{path}?ex=1&hm=2", self.url), "proxy_url": "https://elsewhere.invalid/",
        });
        world.files.insert(path, (mime.to_owned(), bytes));
        file
    }

    /// A message that Ada writes, as an event; `more` is laid over it.
    pub fn message(&self, channel: &str, text: &str, more: Value) -> Value {
        let id = self.inner.world().id();
        let mut event = json!({
            "id": id, "channel_id": channel, "type": 0, "content": text, "flags": 0,
            "author": { "id": ADA, "username": "ada", "global_name": "Ada L.", "discriminator": "0", "avatar": null },
            "timestamp": "2026-11-01T10:00:00.000000+00:00", "edited_timestamp": null, "tts": false,
            "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [],
            "embeds": [], "pinned": false, "components": [],
        });
        if channel != DIRECT {
            event["guild_id"] = json!(SERVER);
            event["member"] = json!({
                "nick": "Countess", "roles": [], "joined_at": "2026-01-01T00:00:00Z",
                "flags": 0, "deaf": false, "mute": false, "avatar": null,
            });
        }
        lay_over(&mut event, more);
        event
    }

    /// The press of a button of ours by Ada, as an event. Discord waits for an answer to it.
    pub fn press(&self, channel: &str, message: &str, data: &str) -> Value {
        let mut world = self.inner.world();
        let id = world.id();
        let token = format!("interaction-token-{id}");
        world.presses.insert(id.clone(), (token.clone(), false));
        let bare = json!({ "id": message, "channel_id": channel, "content": "?" });
        let below = world.posted.iter().find(|one| one["id"] == message);
        let below = below.cloned().unwrap_or(bare);
        json!({
            "id": id, "application_id": APP, "type": 3, "token": token, "version": 1,
            "guild_id": SERVER, "channel_id": channel,
            "channel": world.channels.get(channel),
            "member": {
                "nick": null, "roles": [], "joined_at": "2026-01-01T00:00:00Z", "flags": 0,
                "deaf": false, "mute": false, "avatar": null, "permissions": "2147483647",
                "user": { "id": ADA, "username": "ada", "global_name": "Ada L.", "discriminator": "0", "avatar": null },
            },
            "message": below, "entitlements": [], "authorizing_integration_owners": {},
            "attachment_size_limit": 10_485_760, "locale": "en-US", "app_permissions": "2147483647",
            "data": { "component_type": 2, "custom_id": data },
        })
    }

    /// Waits until something is as wanted.
    async fn until<T>(&self, mut fits: impl FnMut(&mut World) -> Option<T>) -> T {
        let mut changed = self.inner.changed.subscribe();
        loop {
            let found = fits(&mut self.inner.world());
            if let Some(found) = found {
                return found;
            }
            changed.changed().await.expect("it is there");
        }
    }

    /// Waits until so many pressed buttons were answered.
    pub async fn answered(&self, presses: usize) {
        let count = |world: &mut World| world.presses.values().filter(|(_, done)| *done).count();
        self.until(|world| (count(world) >= presses).then_some(()))
            .await;
    }
}

/// Lays fields over an object.
fn lay_over(event: &mut Value, more: Value) {
    if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
        event.extend(more);
    }
}

impl Platform for Inner {
    const NAME: &'static str = "discord";

    fn journal(&self) -> &Journal {
        &self.journal
    }

    fn faults(&self) -> &Faults {
        &self.faults
    }

    fn named(&self, path: &str) -> String {
        rest::named(path)
    }

    fn fields(&self, asked: &Asked) -> Value {
        rest::fields(asked).unwrap_or_default()
    }

    fn answer(&self, asked: &Asked) -> Told {
        let told = rest::answer(&mut self.world(), asked);
        self.change();
        told
    }
}
