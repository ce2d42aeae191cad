//! Requests that claim to be Meta's.

use hmac::{Hmac, KeyInit as _, Mac as _};
use manyhands_core::Secret;
use manyhands_guard::StatusCode;
use serde_json::Value;
use sha2::Sha256;
use url::form_urlencoded;

use super::Account;
use crate::channel::{Hook, HookRefusal, Hooked};

/// The longest challenge that is repeated.
const CHALLENGE: usize = 1_024;

/// Answers the question with which Meta makes sure that a webhook is ours.
pub(super) fn greeted(hook: &Hook<'_>, account: &Account) -> Result<Hooked, HookRefusal> {
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
        return Err(HookRefusal {
            status: StatusCode::FORBIDDEN,
            why: "the verify token is not that of this account".to_owned(),
        });
    }
    match challenge.filter(|text| text.len() <= CHALLENGE) {
        Some(challenge) => Ok(Hooked {
            body: challenge.into_owned(),
            ..Hooked::events(Vec::new())
        }),
        None => Err(HookRefusal::unreadable("hub.challenge is missing")),
    }
}

/// What a request tells, once its bytes are known to be Meta's.
pub(super) fn verified(hook: &Hook<'_>, account: &Account) -> Result<Value, HookRefusal> {
    if hook.method != "POST" {
        return Err(HookRefusal {
            status: StatusCode::METHOD_NOT_ALLOWED,
            why: "WhatsApp tells its news by POST".to_owned(),
        });
    }
    let Some(signature) = hook.headers.get("x-hub-signature-256") else {
        return Err(HookRefusal::forged(
            "the header X-Hub-Signature-256 is missing",
        ));
    };
    let Some(signature) = signature.to_str().ok().and_then(unhex) else {
        return Err(HookRefusal::forged(
            "the header X-Hub-Signature-256 is not sha256= and 64 digits",
        ));
    };
    let signed =
        seal(&account.secret, hook.body).is_some_and(|mac| mac.verify_slice(&signature).is_ok());
    if !signed {
        return Err(HookRefusal::forged(
            "the signature is not that of this account's app secret",
        ));
    }
    let told: Value = serde_json::from_slice(hook.body)
        .map_err(|_| HookRefusal::unreadable("the body is not JSON"))?;
    match told["entry"].is_array() {
        true => Ok(told),
        false => Err(HookRefusal::unreadable("there are no entries in it")),
    }
}

/// The seal of some bytes; none where there is no secret, which would let everybody sign.
fn seal(secret: &Secret, bytes: &[u8]) -> Option<Hmac<Sha256>> {
    let key = Some(secret.expose()).filter(|key| !key.is_empty())?;
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).ok()?;
    mac.update(bytes);
    Some(mac)
}

/// Whether a word is the secret; takes as long whatever it is.
fn same(given: &str, secret: &Secret) -> bool {
    let given = seal(secret, given.as_bytes());
    let right = seal(secret, secret.expose().as_bytes());
    match (given, right) {
        (Some(given), Some(right)) => given.verify(&right.finalize().into_bytes()).is_ok(),
        _ => false,
    }
}

fn unhex(header: &str) -> Option<[u8; 32]> {
    let digits = header.strip_prefix("sha256=")?.as_bytes();
    let mut bytes = [0; 32];
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        let plain = pair.chars().all(|c| c.is_ascii_hexdigit());
        *byte = u8::from_str_radix(pair, 16).ok().filter(|_| plain)?;
    }
    Some(bytes)
}
