//! Claims about LINE, against a LINE that refuses what the real one refuses.

mod connection;
mod receiving;
mod sending;

use std::sync::Arc;

use manyhands_core::{ChatRef, ManualClock, PeerKind, Secret};
use manyhands_platforms::line::{Event, Line as Fake};
use serde_json::Value;

use super::{LineAccount, LineChannel};
use crate::channel::{Channel as _, WebhookRefusal};
use crate::message::{Inbound, InboundEvent, InboundMessage};
use crate::testing;

const ADA: &str = "U4af4980629f5ea6f8f0c29a1a3c8b5d1";
const BOB: &str = "U0000000000000000000000000000b0b1";
const GROUP: &str = "Ca56f94637cc4347f90a25382909b24b9";
const ROOM: &str = "Ra8dbf4673c4c812cd491258042226c99";

struct Near {
    fake: Fake,
    line: LineChannel,
    clock: Arc<ManualClock>,
}

impl Near {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut LineAccount)) -> Self {
        let fake = Fake::start("line-token", "line-secret").await;
        let mut account = LineAccount {
            name: "main".to_owned(),
            secret: Secret::new("line-secret"),
            token: Secret::new("line-token"),
            api: fake.url.parse().unwrap(),
            data: fake.url.parse().unwrap(),
            webhook: None,
        };
        change(&mut account);
        let clock = testing::clock();
        let ids = testing::ids(&clock);
        let line = LineChannel::new(account, testing::egress(), clock.clone(), ids);
        Self { fake, line, clock }
    }

    /// Hears what LINE tells.
    fn receive(&self, events: &[Event]) -> Result<Vec<Inbound>, WebhookRefusal> {
        self.told(&self.fake.body(events))
    }

    /// Hears any bytes, signed.
    fn told(&self, body: &str) -> Result<Vec<Inbound>, WebhookRefusal> {
        let headers = testing::headers(&[("x-line-signature", &self.fake.sign(body.as_bytes()))]);
        let hooked = self.line.hook(&testing::posted(&headers, body))?;
        assert_eq!(hooked.body, "");
        Ok(hooked.events)
    }

    /// The one message that somebody writes.
    fn heard(&self, chat: &str, message: Value) -> (Inbound, InboundMessage) {
        let event = self.fake.message(chat, ADA, message);
        let mut all = self.receive(&[event]).unwrap();
        assert_eq!(all.len(), 1);
        let inbound = all.remove(0);
        let InboundEvent::Message(message) = &inbound.what else {
            panic!("{inbound:?}");
        };
        let message = (**message).clone();
        (inbound, message)
    }

    fn arrived(&self) -> Vec<Value> {
        self.fake
            .arrived()
            .into_iter()
            .map(|(_, message)| message)
            .collect()
    }
}

fn dm() -> ChatRef {
    ChatRef::dm("line", "main", ADA)
}

fn group() -> ChatRef {
    ChatRef {
        kind: PeerKind::Group,
        ..ChatRef::dm("line", "main", GROUP)
    }
}
