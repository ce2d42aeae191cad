//! Verification of Meta's webhook requests.

use hmac::{Hmac, KeyInit as _, Mac as _};
use manyhands_core::Secret;
use manyhands_guard::StatusCode;
use serde_json::Value;
use sha2::Sha256;
use url::form_urlencoded;

use super::WhatsAppAccount;
use crate::channel::{WebhookOutcome, WebhookRefusal, WebhookRequest};

/// Maximum length of a challenge.
const CHALLENGE: usize = 1_024;

/// Answers Meta's verification request for a webhook.
pub(super) fn greeted(
    hook: &WebhookRequest<'_>,
    account: &WhatsAppAccount,
) -> Result<WebhookOutcome, WebhookRefusal> {
    let (mut mode, mut token, mut challenge) = (None, None, None);
    for (name, value) in form_urlencoded::parse(hook.query.as_bytes()) {
        match &*name {
            "hub.mode" => mode = Some(value),
            "hub.verify_token" => token = Some(value),
            "hub.challenge" => challenge = Some(value),
            _ => {}
        }
    }
    let known = token.is_some_and(|token| same(&token, &account.verify));
    if !known || mode.as_deref() != Some("subscribe") {
        return Err(WebhookRefusal {
            status: StatusCode::FORBIDDEN,
            why: "the verify token does not match this account".to_owned(),
        });
    }
    match challenge.filter(|text| text.len() <= CHALLENGE) {
        Some(challenge) => Ok(WebhookOutcome {
            body: challenge.into_owned(),
            ..WebhookOutcome::events(Vec::new())
        }),
        None => Err(WebhookRefusal::unreadable("hub.challenge is missing")),
    }
}

/// The events of a request whose signature is valid.
pub(super) fn verified(
    hook: &WebhookRequest<'_>,
    account: &WhatsAppAccount,
) -> Result<Value, WebhookRefusal> {
    if hook.method != "POST" {
        return Err(WebhookRefusal {
            status: StatusCode::METHOD_NOT_ALLOWED,
            why: "webhook requests must use POST".to_owned(),
        });
    }
    let Some(signature) = hook.headers.get("x-hub-signature-256") else {
        return Err(WebhookRefusal::forged(
            "the header X-Hub-Signature-256 is missing",
        ));
    };
    let Some(signature) = signature.to_str().ok().and_then(unhex) else {
        return Err(WebhookRefusal::forged(
            "the header X-Hub-Signature-256 is not sha256= and 64 digits",
        ));
    };
    let signed =
        seal(&account.secret, hook.body).is_some_and(|mac| mac.verify_slice(&signature).is_ok());
    if !signed {
        return Err(WebhookRefusal::forged(
            "the signature does not match this account's app secret",
        ));
    }
    let told: Value = serde_json::from_slice(hook.body)
        .map_err(|_| WebhookRefusal::unreadable("the body is not JSON"))?;
    match told["entry"].is_array() {
        true => Ok(told),
        false => Err(WebhookRefusal::unreadable("it contains no entries")),
    }
}

/// The HMAC of some bytes; `None` without a secret, with which anyone could sign.
fn seal(secret: &Secret, bytes: &[u8]) -> Option<Hmac<Sha256>> {
    let key = Some(secret.expose()).filter(|key| !key.is_empty())?;
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).ok()?;
    mac.update(bytes);
    Some(mac)
}

/// Compares a text with the secret in constant time.
fn same(given: &str, secret: &Secret) -> bool {
    // Comparing MACs instead of texts takes the same time for any input.
    let given = seal(secret, given.as_bytes());
    let right = seal(secret, secret.expose().as_bytes());
    match (given, right) {
        (Some(given), Some(right)) => given.verify(&right.finalize().into_bytes()).is_ok(),
        _ => false,
    }
}

fn unhex(header: &str) -> Option<[u8; 32]> {
    let digits = header.strip_prefix("sha256=")?;
    let mut bytes = [0; 32];
    hex::decode_to_slice(digits, &mut bytes).ok()?;
    Some(bytes)
}
