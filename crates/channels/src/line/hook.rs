//! Verification of LINE's webhook requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use manyhands_core::Secret;
use manyhands_guard::StatusCode;
use serde_json::Value;
use sha2::Sha256;

use crate::channel::{WebhookRefusal, WebhookRequest};

/// The events of a request whose signature is valid. The request's size bounds their number.
pub(super) fn verified(
    hook: &WebhookRequest<'_>,
    secret: &Secret,
) -> Result<Vec<Value>, WebhookRefusal> {
    if hook.method != "POST" {
        return Err(WebhookRefusal {
            status: StatusCode::METHOD_NOT_ALLOWED,
            why: "webhook requests must use POST".to_owned(),
        });
    }
    let Some(signature) = hook.headers.get("x-line-signature") else {
        return Err(WebhookRefusal::forged(
            "the header X-Line-Signature is missing",
        ));
    };
    let Ok(signature) = STANDARD.decode(signature.as_bytes()) else {
        return Err(WebhookRefusal::forged(
            "the header X-Line-Signature is not base64",
        ));
    };
    if !signed(hook.body, &signature, secret) {
        return Err(WebhookRefusal::forged(
            "the signature does not match this account's channel secret",
        ));
    }
    let mut told: Value = serde_json::from_slice(hook.body)
        .map_err(|_| WebhookRefusal::unreadable("the body is not JSON"))?;
    match told.get_mut("events").map(Value::take) {
        Some(Value::Array(events)) => Ok(events),
        _ => Err(WebhookRefusal::unreadable("it contains no events")),
    }
}

/// Whether `signature` is valid for these bytes, in constant time.
fn signed(body: &[u8], signature: &[u8], secret: &Secret) -> bool {
    // With an empty secret anyone could sign.
    if secret.expose().is_empty() {
        return false;
    }
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()) else {
        return false;
    };
    mac.update(body);
    mac.verify_slice(signature).is_ok()
}
