//! Telegram's webhook requests.

use manyhands_core::Secret;
use manyhands_guard::StatusCode;
use serde_json::Value;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::channel::{WebhookOutcome, WebhookRefusal, WebhookRequest};
use crate::message::InboundEvent;

use super::read::ParsedUpdate;
use super::{Telegram, UpdateDelivery};

/// The header that proves a request's authenticity.
const HEADER: &str = "x-telegram-bot-api-secret-token";

impl Telegram {
    pub(super) fn hooked(
        &self,
        hook: &WebhookRequest<'_>,
    ) -> Result<WebhookOutcome, WebhookRefusal> {
        let UpdateDelivery::Webhook { secret, .. } = &self.account.mode else {
            return Err(WebhookRefusal {
                status: StatusCode::NOT_FOUND,
                why: "this account uses polling, not webhooks".to_owned(),
            });
        };
        if hook.method != "POST" {
            return Err(WebhookRefusal {
                status: StatusCode::METHOD_NOT_ALLOWED,
                why: "webhook requests must use POST".to_owned(),
            });
        }
        let Some(given) = hook.headers.get(HEADER) else {
            return Err(WebhookRefusal::forged("the secret token is missing"));
        };
        if !same(given.as_bytes(), secret) {
            return Err(WebhookRefusal::forged("the secret token is wrong"));
        }
        let update: Value = serde_json::from_slice(hook.body)
            .map_err(|_| WebhookRefusal::unreadable("the update is not JSON"))?;
        let Some(me) = self.known() else {
            // Telegram will send it again.
            return Err(WebhookRefusal {
                status: StatusCode::SERVICE_UNAVAILABLE,
                why: "our Telegram identity is not known yet".to_owned(),
            });
        };
        let item = self.reader(&me, hook.now).item(&update);
        let mut item =
            item.ok_or_else(|| WebhookRefusal::unreadable("the update has no number"))?;
        self.called_with(&mut item);
        Ok(WebhookOutcome::events(item.events))
    }

    /// Pictures of an album arrive one by one, and only one has a caption: if it addresses us, so do the
    /// pictures after it.
    fn called_with(&self, item: &mut ParsedUpdate) {
        let Some(album) = &item.album else {
            return;
        };
        for event in &mut item.events {
            if let InboundEvent::Message(message) = &mut event.what {
                match message.mentioned {
                    true => self.calling.put(album, ()),
                    false => message.mentioned = self.calling.get(album).is_some(),
                }
            }
        }
    }
}

/// Compares the secret in constant time.
fn same(given: &[u8], secret: &Secret) -> bool {
    let digest = |bytes: &[u8]| Sha256::digest(bytes);
    let (given, wanted) = (digest(given), digest(secret.expose().as_bytes()));
    // An empty secret proves nothing.
    !secret.expose().is_empty() && bool::from(given.as_slice().ct_eq(wanted.as_slice()))
}
