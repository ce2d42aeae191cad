mod gateway;
mod receiving;
mod sending;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use manyhands_core::{ChatRef, Clock, Ids, ManualClock, OsEntropy, Secret, Timestamp};
use manyhands_guard::{Egress, EgressPolicy, SystemLookup};
use manyhands_platforms::discord as far;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Discord, DiscordAccount};
use crate::channel::{Channel, ChannelError, ConnectionStatus, EventSink};
use crate::message::{Inbound, InboundEvent, InboundMessage};

/// Keeps what is heard, unless it is told not to.
#[derive(Default)]
struct Keeper {
    inner: Mutex<RecordedEvents>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct RecordedEvents {
    heard: Vec<Inbound>,
    notes: HashMap<String, String>,
    standings: Vec<ConnectionStatus>,
    /// How often it could not keep anything, and how often it still will not.
    failed: usize,
    failing: usize,
}

impl Keeper {
    fn inner(&self) -> MutexGuard<'_, RecordedEvents> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until<T>(&self, fits: impl Fn(&RecordedEvents) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            let found = fits(&self.inner());
            if let Some(found) = found {
                return found;
            }
            changed.changed().await.unwrap();
        }
    }

    /// Waits until so many events are kept, and gives them.
    async fn heard(&self, count: usize) -> Vec<Inbound> {
        self.until(|kept| (kept.heard.len() >= count).then(|| kept.heard.clone()))
            .await
    }

    fn change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

#[async_trait]
impl EventSink for Keeper {
    async fn receive(&self, events: Vec<Inbound>) -> Result<(), ChannelError> {
        let mut inner = self.inner();
        let fails = inner.failing > 0;
        if fails {
            inner.failing -= 1;
            inner.failed += 1;
        } else {
            inner.heard.extend(events);
        }
        drop(inner);
        self.change();
        match fails {
            true => Err(ChannelError::NotStored("the disk is full".to_owned())),
            false => Ok(()),
        }
    }

    async fn load_value(&self, name: &str) -> Result<Option<String>, ChannelError> {
        Ok(self.inner().notes.get(name).cloned())
    }

    async fn store_value(&self, name: &str, value: &str) -> Result<(), ChannelError> {
        self.inner().notes.insert(name.to_owned(), value.to_owned());
        self.change();
        Ok(())
    }

    fn set_status(&self, status: ConnectionStatus) {
        self.inner().standings.push(status);
        self.change();
    }
}

/// A Discord, and our end of it.
struct Rig {
    far: far::Discord,
    near: Arc<Discord>,
    sink: Arc<Keeper>,
}

/// Our end while it listens.
struct Listening {
    stop: CancellationToken,
    task: JoinHandle<Result<(), ChannelError>>,
}

impl Listening {
    async fn stop(self) -> Result<(), ChannelError> {
        self.stop.cancel();
        self.task.await.unwrap()
    }
}

impl Rig {
    async fn new() -> Self {
        let far = far::Discord::start().await;
        let near = near(&far, far::TOKEN);
        let sink = Arc::default();
        Self { far, near, sink }
    }

    fn listen(&self) -> Listening {
        let stop = CancellationToken::new();
        let (near, sink, token) = (Arc::clone(&self.near), Arc::clone(&self.sink), stop.clone());
        let task = tokio::spawn(async move { near.listen(&*sink, &token).await });
        Listening { stop, task }
    }

    /// Listens, and is let in.
    async fn connected() -> (Self, Listening) {
        let rig = Self::new().await;
        let listening = rig.listen();
        rig.far.sessions(1, 0).await;
        (rig, listening)
    }
}

fn near(far: &far::Discord, token: &str) -> Arc<Discord> {
    let policy = EgressPolicy {
        allow_private: vec!["127.0.0.0/8".parse().unwrap()],
        ..EgressPolicy::default()
    };
    let egress = Arc::new(Egress::new(policy, Arc::new(SystemLookup)));
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(Timestamp(1_793_000_000_000)));
    let ids = Ids::new(Arc::clone(&clock), Arc::new(OsEntropy));
    let account = DiscordAccount {
        name: "default".to_owned(),
        token: Secret::new(token),
        api: far.api(),
        files: vec![far.files()],
    };
    Arc::new(Discord::new(account, egress, clock, ids))
}

fn place(chat: &str) -> ChatRef {
    ChatRef::dm("discord", "default", chat)
}

/// What somebody said.
fn said(inbound: &Inbound) -> &InboundMessage {
    match &inbound.what {
        InboundEvent::Message(message) => message,
        other => panic!("not a message: {other:?}"),
    }
}
