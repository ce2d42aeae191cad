//! Updates that Telegram brings.

use manyhands_core::Secret;
use manyhands_guard::StatusCode;
use serde_json::Value;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::channel::{Hook, HookRefusal, Hooked};
use crate::words::Heard;

use super::read::Item;
use super::{Mode, Telegram};

/// The header with which a request proves that it is Telegram's.
const HEADER: &str = "x-telegram-bot-api-secret-token";

impl Telegram {
    pub(super) fn hooked(&self, hook: &Hook<'_>) -> Result<Hooked, HookRefusal> {
        let Mode::Webhook { secret, .. } = &self.account.mode else {
            return Err(HookRefusal {
                status: StatusCode::NOT_FOUND,
                why: "this account asks Telegram for updates, and takes none here".to_owned(),
            });
        };
        if hook.method != "POST" {
            return Err(HookRefusal {
                status: StatusCode::METHOD_NOT_ALLOWED,
                why: "updates are posted".to_owned(),
            });
        }
        let Some(given) = hook.headers.get(HEADER) else {
            return Err(HookRefusal::forged("the secret token is missing"));
        };
        if !same(given.as_bytes(), secret) {
            return Err(HookRefusal::forged("the secret token is wrong"));
        }
        let update: Value = serde_json::from_slice(hook.body)
            .map_err(|_| HookRefusal::unreadable("the update is not JSON"))?;
        let Some(me) = self.known() else {
            // Telegram brings it again.
            return Err(HookRefusal {
                status: StatusCode::SERVICE_UNAVAILABLE,
                why: "it is not known yet who we are at Telegram".to_owned(),
            });
        };
        let item = self.reader(&me, hook.now).item(&update);
        let mut item = item.ok_or_else(|| HookRefusal::unreadable("the update has no number"))?;
        self.called_with(&mut item);
        Ok(Hooked::events(item.events))
    }

    /// Pictures of an album are brought one by one, and only one has the words: if those call us,
    /// the pictures behind them do too.
    fn called_with(&self, item: &mut Item) {
        let Some(album) = &item.album else {
            return;
        };
        for event in &mut item.events {
            if let Heard::Message(message) = &mut event.what {
                match message.mentioned {
                    true => self.calling.put(album, ()),
                    false => message.mentioned = self.calling.get(album).is_some(),
                }
            }
        }
    }
}

/// Whether the secret was given, in a time that tells nothing of it.
fn same(given: &[u8], secret: &Secret) -> bool {
    let digest = |bytes: &[u8]| Sha256::digest(bytes);
    let (given, wanted) = (digest(given), digest(secret.expose().as_bytes()));
    // An empty secret proves nothing.
    !secret.expose().is_empty() && bool::from(given.as_slice().ct_eq(wanted.as_slice()))
}
