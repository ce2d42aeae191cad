//! Against a strict Telegram on loopback.

mod hooks;
mod reading;
mod receiving;
mod sending;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use manyhands_core::{ChatRef, Ids, ManualClock, PeerKind, Secret, SeededEntropy, Timestamp};
use manyhands_guard::{Egress, EgressPolicy, SystemLookup};
use manyhands_platforms::telegram::Telegram as Fake;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::listen::Pace;
use super::{Telegram, TelegramAccount, UpdateDelivery};
use crate::channel::{Channel, ChannelError, ConnectionStatus, EventSink};
use crate::message::{Inbound, InboundEvent, InboundMessage};

const NOW: i64 = 1_700_000_123_456;
const SECRET: &str = "webhook_secret-1";

fn egress() -> Arc<Egress> {
    let policy = EgressPolicy {
        allow_private: vec!["127.0.0.0/8".parse().unwrap()],
        max_bytes: 64 * 1024 * 1024,
        ..EgressPolicy::default()
    };
    Arc::new(Egress::new(policy, Arc::new(SystemLookup)))
}

fn channel_with(api: &str, token: &str, mode: UpdateDelivery) -> Telegram {
    let clock = Arc::new(ManualClock::at(Timestamp(NOW)));
    let ids = Ids::new(clock.clone(), Arc::new(SeededEntropy::new(7)));
    let account = TelegramAccount {
        name: "main".to_owned(),
        token: Secret::new(token),
        api: Url::parse(api).unwrap(),
        mode,
    };
    let mut channel = Telegram::new(account, egress(), clock, ids);
    channel.pace = Pace {
        hold: Duration::from_secs(2),
        first: Duration::from_millis(2),
        longest: Duration::from_millis(8),
        settle: Duration::from_millis(5),
        look: Duration::from_millis(5),
        ..Pace::default()
    };
    channel
}

fn polling(fake: &Fake) -> Telegram {
    channel_with(&fake.url, Fake::TOKEN, UpdateDelivery::Poll)
}

fn hooked(fake: &Fake, url: &str) -> Telegram {
    let mode = UpdateDelivery::Webhook {
        url: Url::parse(url).unwrap(),
        secret: Secret::new(SECRET),
    };
    channel_with(&fake.url, Fake::TOKEN, mode)
}

fn chat(id: i64, kind: PeerKind) -> ChatRef {
    ChatRef {
        kind,
        ..ChatRef::dm("telegram", "main", id.to_string())
    }
}

/// Somebody who keeps what is heard, once per event.
#[derive(Default)]
struct Keeper {
    kept: watch::Sender<Vec<Inbound>>,
    /// How often it was handed something.
    asked: AtomicUsize,
    /// How often it still fails.
    failing: AtomicUsize,
    notes: Mutex<HashMap<String, String>>,
    stood: watch::Sender<Vec<ConnectionStatus>>,
}

impl Keeper {
    async fn until(&self, count: usize) -> Vec<Inbound> {
        let mut kept = self.kept.subscribe();
        let all = kept.wait_for(|all| all.len() >= count).await.unwrap();
        all.clone()
    }

    async fn set_status(&self, fits: impl Fn(&ConnectionStatus) -> bool) -> ConnectionStatus {
        let mut stood = self.stood.subscribe();
        let all = stood.wait_for(|all| all.iter().any(&fits)).await.unwrap();
        all.iter().find(|one| fits(one)).unwrap().clone()
    }
}

#[async_trait]
impl EventSink for Keeper {
    async fn receive(&self, events: Vec<Inbound>) -> Result<(), ChannelError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let fails = self
            .failing
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
        if fails.is_ok() {
            return Err(ChannelError::NotStored("the disk is full".to_owned()));
        }
        self.kept.send_modify(|kept| {
            for event in events {
                if kept.iter().all(|one| one.event != event.event) {
                    kept.push(event);
                }
            }
        });
        Ok(())
    }

    async fn load_value(&self, name: &str) -> Result<Option<String>, ChannelError> {
        Ok(self.notes.lock().unwrap().get(name).cloned())
    }

    async fn store_value(&self, name: &str, value: &str) -> Result<(), ChannelError> {
        let mut notes = self.notes.lock().unwrap();
        notes.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    fn set_status(&self, status: ConnectionStatus) {
        self.stood.send_modify(|all| all.push(status));
    }
}

/// A channel that listens, until it is dropped or stopped.
struct Listening {
    keeper: Arc<Keeper>,
    channel: Arc<Telegram>,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<Result<(), ChannelError>>,
}

impl Listening {
    fn start(channel: Telegram, keeper: Arc<Keeper>) -> Self {
        let (channel, stop) = (Arc::new(channel), CancellationToken::new());
        let (speaks, sink, ends) = (channel.clone(), keeper.clone(), stop.clone());
        let task = tokio::spawn(async move { speaks.listen(&*sink, &ends).await });
        Self {
            keeper,
            channel,
            stop,
            task,
        }
    }

    async fn end(self) -> Result<(), ChannelError> {
        self.stop.cancel();
        self.task.await.unwrap()
    }
}

fn ada() -> Value {
    json!({"id": 5, "is_bot": false, "first_name": "Ada", "last_name": "L", "username": "ada"})
}

/// A message of Ada's to the bot, with these fields more.
fn private(more: Value) -> Value {
    let chat = json!({"id": 42, "type": "private", "first_name": "Ada"});
    let base = json!({"message_id": 9, "date": 1_700_000_000, "chat": chat, "from": ada()});
    json!({ "message": with(base, more) })
}

/// A message of Ada's in a group.
fn grouped(more: Value) -> Value {
    let chat = json!({"id": -100, "type": "supergroup", "title": "The group"});
    let base = json!({"message_id": 9, "date": 1_700_000_000, "chat": chat, "from": ada()});
    json!({ "message": with(base, more) })
}

fn with(mut base: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        base[name] = value.clone();
    }
    base
}

fn said(event: &Inbound) -> &InboundMessage {
    match &event.what {
        InboundEvent::Message(message) => message,
        other => panic!("{other:?}"),
    }
}
