//! Claims about WhatsApp, against one that refuses what the real one refuses.

mod receiving;
mod sending;
mod writing;

use std::sync::Arc;

use manyhands_core::{ChatRef, ManualClock, PeerKind, Secret};
use manyhands_platforms::whatsapp::WhatsApp as Fake;
use serde_json::Value;

use super::{WhatsApp, WhatsAppAccount};
use crate::channel::{Channel as _, WebhookOutcome, WebhookRefusal};
use crate::message::{Inbound, InboundEvent, InboundMessage};
use crate::testing;

const ADA: &str = "16505551234";
const GROUP: &str = "Y2FwaV9ncm91cDoxNzA1NTU1MDEzOToxMjAzNjM0MDQ2OTQyMzM4MjAZD";

struct Near {
    fake: Fake,
    whatsapp: WhatsApp,
    clock: Arc<ManualClock>,
}

impl Near {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut WhatsAppAccount)) -> Self {
        let fake = Fake::start("wa-token", "wa-secret").await;
        let mut account = WhatsAppAccount {
            name: "main".to_owned(),
            token: Secret::new("wa-token"),
            secret: Secret::new("wa-secret"),
            verify: Secret::new("open sesame"),
            phone: Fake::PHONE.to_owned(),
            api: fake.url.parse().unwrap(),
            version: super::VERSION.to_owned(),
            media: super::MEDIA.parse().unwrap(),
        };
        change(&mut account);
        let clock = testing::clock();
        let ids = testing::ids(&clock);
        let whatsapp = WhatsApp::new(account, testing::egress(), clock.clone(), ids);
        Self {
            fake,
            whatsapp,
            clock,
        }
    }

    /// Hears what the platform tells.
    fn told(&self, messages: &[Value], statuses: &[Value]) -> Vec<Inbound> {
        self.hooked(&self.fake.body(messages, statuses))
    }

    fn hooked(&self, body: &str) -> Vec<Inbound> {
        self.signed(body).unwrap().events
    }

    fn signed(&self, body: &str) -> Result<WebhookOutcome, WebhookRefusal> {
        let headers =
            testing::headers(&[("x-hub-signature-256", &self.fake.sign(body.as_bytes()))]);
        self.whatsapp.hook(&testing::posted(&headers, body))
    }

    /// The one event that a message is.
    fn heard(&self, kind: &str, what: &Value) -> Inbound {
        let message = self.fake.message(ADA, kind, what);
        let mut all = self.told(&[message], &[]);
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    /// What somebody says by it.
    fn said(&self, kind: &str, what: &Value) -> InboundMessage {
        match self.heard(kind, what).what {
            InboundEvent::Message(message) => *message,
            other => panic!("{other:?}"),
        }
    }
}

fn dm() -> ChatRef {
    ChatRef::dm("whatsapp", "main", ADA)
}
