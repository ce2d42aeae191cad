//! Requests that claim to be LINE's.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use manyhands_core::Secret;
use manyhands_guard::StatusCode;
use serde_json::Value;
use sha2::Sha256;

use crate::channel::{Hook, HookRefusal};

/// The events of a request, once its bytes are known to be LINE's. Its size is what bounds them.
pub(super) fn verified(hook: &Hook<'_>, secret: &Secret) -> Result<Vec<Value>, HookRefusal> {
    if hook.method != "POST" {
        return Err(HookRefusal {
            status: StatusCode::METHOD_NOT_ALLOWED,
            why: "LINE tells its news by POST".to_owned(),
        });
    }
    let Some(signature) = hook.headers.get("x-line-signature") else {
        return Err(HookRefusal::forged(
            "the header X-Line-Signature is missing",
        ));
    };
    let Ok(signature) = STANDARD.decode(signature.as_bytes()) else {
        return Err(HookRefusal::forged(
            "the header X-Line-Signature is not base64",
        ));
    };
    if !signed(hook.body, &signature, secret) {
        return Err(HookRefusal::forged(
            "the signature is not that of this account's channel secret",
        ));
    }
    let mut told: Value = serde_json::from_slice(hook.body)
        .map_err(|_| HookRefusal::unreadable("the body is not JSON"))?;
    match told.get_mut("events").map(Value::take) {
        Some(Value::Array(events)) => Ok(events),
        _ => Err(HookRefusal::unreadable("there are no events in it")),
    }
}

/// Whether `signature` is the secret's for these bytes; takes as long whatever it is.
fn signed(body: &[u8], signature: &[u8], secret: &Secret) -> bool {
    // An empty secret would let everybody sign.
    if secret.expose().is_empty() {
        return false;
    }
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()) else {
        return false;
    };
    mac.update(body);
    mac.verify_slice(signature).is_ok()
}
