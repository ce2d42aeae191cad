//! Claims about Slack, against a strict workspace on loopback.

mod hooks;
mod reading;
mod receiving;
mod sending;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use manyhands_core::{ManualClock, OsEntropy, PeerKind, Timestamp};
use manyhands_guard::{EgressPolicy, SystemLookup};
use manyhands_platforms::slack::{self as fake, Slack as Workspace};
use serde_json::Value;
use tokio::sync::watch;

use super::*;
use crate::channel::ConnectionStatus;
use crate::message::{InboundEvent, InboundMessage};

/// When it is, in seconds.
const NOW: i64 = 1_700_000_000;

/// An ear that remembers, and that can be told to fail.
#[derive(Clone)]
struct Notebook {
    state: Arc<Mutex<Pages>>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Pages {
    heard: Vec<Inbound>,
    stood: Vec<ConnectionStatus>,
    failing: usize,
    failed: usize,
}

impl Notebook {
    fn new() -> Self {
        Self {
            state: Arc::default(),
            changed: watch::Sender::new(0),
        }
    }

    fn fail(&self, times: usize) {
        self.state.lock().unwrap().failing = times;
    }

    fn heard(&self) -> Vec<Inbound> {
        self.state.lock().unwrap().heard.clone()
    }

    fn stood(&self) -> Vec<ConnectionStatus> {
        self.state.lock().unwrap().stood.clone()
    }

    async fn until<T>(&self, fits: impl Fn(&Pages) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            let found = fits(&self.state.lock().unwrap());
            if let Some(found) = found {
                return found;
            }
            changed.changed().await.unwrap();
        }
    }
}

#[async_trait]
impl EventSink for Notebook {
    async fn receive(&self, events: Vec<Inbound>) -> Result<(), ChannelError> {
        let result = {
            let mut pages = self.state.lock().unwrap();
            if pages.failing > 0 {
                pages.failing -= 1;
                pages.failed += 1;
                Err(ChannelError::NotStored("the disk is full".to_owned()))
            } else {
                pages.heard.extend(events);
                Ok(())
            }
        };
        self.changed.send_modify(|count| *count += 1);
        result
    }

    async fn load_value(&self, _: &str) -> Result<Option<String>, ChannelError> {
        Ok(None)
    }

    async fn store_value(&self, _: &str, _: &str) -> Result<(), ChannelError> {
        Ok(())
    }

    fn set_status(&self, status: ConnectionStatus) {
        self.state.lock().unwrap().stood.push(status);
        self.changed.send_modify(|count| *count += 1);
    }
}

fn socket_mode() -> EventDelivery {
    EventDelivery::Socket {
        app_token: Secret::new(fake::APP_TOKEN),
    }
}

fn events_mode() -> EventDelivery {
    EventDelivery::Events {
        signing_secret: Secret::new(fake::SIGNING_SECRET),
    }
}

fn slack_at(api: Url, token: &str, mode: EventDelivery) -> Slack {
    let policy = EgressPolicy {
        allow_private: vec!["127.0.0.0/8".parse().unwrap()],
        ..EgressPolicy::default()
    };
    let egress = Arc::new(Egress::new(policy, Arc::new(SystemLookup)));
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(Timestamp(NOW * 1_000)));
    let ids = Ids::new(Arc::clone(&clock), Arc::new(OsEntropy));
    let account = SlackAccount {
        name: "team".to_owned(),
        token: Secret::new(token),
        mode,
        api,
    };
    Slack::new(account, egress, clock, ids)
}

async fn start(mode: EventDelivery) -> (Workspace, Slack) {
    let workspace = Workspace::start().await;
    let slack = slack_at(workspace.api(), fake::BOT_TOKEN, mode);
    (workspace, slack)
}

/// Reads a payload as if names had been learned before.
async fn read(slack: &Slack, payload: &Value) -> Option<Inbound> {
    slack.learn(slack.names_in(payload)).await;
    slack.read_event(payload).unwrap()
}

fn message(inbound: &Inbound) -> &InboundMessage {
    match &inbound.what {
        InboundEvent::Message(message) => message,
        other => panic!("{other:?}"),
    }
}

fn channel(chat: &str) -> ChatRef {
    let kind = match chat.as_bytes()[0] {
        b'D' | b'U' => PeerKind::Dm,
        b'G' => PeerKind::Group,
        _ => PeerKind::Channel,
    };
    ChatRef {
        kind,
        ..ChatRef::dm("slack", "team", chat)
    }
}
