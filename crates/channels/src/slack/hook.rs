//! Requests of Slack to our webhook: their signature, and what they tell.

use hmac::{Hmac, KeyInit, Mac};
use manyhands_guard::{HeaderMap, StatusCode};
use serde_json::Value;
use sha2::Sha256;
use url::form_urlencoded;

use super::{Mode, Slack};
use crate::channel::{Hook, HookRefusal, Hooked};

/// How far Slack's clock and ours may be apart, in milliseconds.
const SKEW: i64 = 5 * 60 * 1_000;

impl Slack {
    /// Verifies a request and reads what it tells.
    pub(super) fn read_hook(&self, hook: &Hook<'_>) -> Result<Hooked, HookRefusal> {
        let Mode::Events { signing_secret } = &self.account.mode else {
            return Err(HookRefusal {
                status: StatusCode::NOT_FOUND,
                why: "this account hears over a socket, not by webhooks".to_owned(),
            });
        };
        if hook.method != "POST" {
            return Err(HookRefusal {
                status: StatusCode::METHOD_NOT_ALLOWED,
                why: "Slack sends POST".to_owned(),
            });
        }
        verify(signing_secret.expose(), hook)?;
        let kind = header(hook.headers, "content-type").unwrap_or_default();
        if kind.starts_with("application/x-www-form-urlencoded") {
            return self.read_form(hook.body);
        }
        let payload: Value = serde_json::from_slice(hook.body)
            .map_err(|error| HookRefusal::unreadable(format!("the body is not JSON: {error}")))?;
        match payload["type"].as_str() {
            Some("url_verification") => {
                let challenge = payload["challenge"].as_str().unwrap_or_default();
                Ok(Hooked {
                    events: Vec::new(),
                    content_type: "text/plain",
                    body: challenge.to_owned(),
                })
            }
            Some("event_callback") => {
                self.names.ask(self.names_in(&payload));
                let event = self.read_event(&payload).map_err(HookRefusal::unreadable)?;
                Ok(Hooked::events(event.into_iter().collect()))
            }
            Some("app_rate_limited") => {
                tracing::warn!(
                    account = self.account.name,
                    "Slack tells only some of what happens: too much does"
                );
                Ok(Hooked::events(Vec::new()))
            }
            _ => Ok(Hooked::events(Vec::new())),
        }
    }

    /// Buttons and commands come as forms.
    fn read_form(&self, body: &[u8]) -> Result<Hooked, HookRefusal> {
        let fields: Vec<(String, String)> = form_urlencoded::parse(body).into_owned().collect();
        let payload = fields.iter().find(|(name, _)| name == "payload");
        let event = match payload {
            Some((_, payload)) => {
                let payload: Value = serde_json::from_str(payload).map_err(|error| {
                    HookRefusal::unreadable(format!("the payload is not JSON: {error}"))
                })?;
                self.names.ask(self.names_in(&payload));
                self.read_press(&payload)
            }
            None => {
                let fields = fields.into_iter().map(|(name, value)| (name, value.into()));
                self.read_command(&Value::Object(fields.collect()))
            }
        };
        let event = event.map_err(HookRefusal::unreadable)?;
        Ok(Hooked::events(event.into_iter().collect()))
    }
}

/// Whether Slack signed just these bytes, and lately.
fn verify(secret: &str, hook: &Hook<'_>) -> Result<(), HookRefusal> {
    let given = |name| {
        header(hook.headers, name)
            .ok_or_else(|| HookRefusal::forged(format!("the header {name} is missing")))
    };
    let at = given("x-slack-request-timestamp")?;
    let signature = given("x-slack-signature")?;
    let signature = signature.strip_prefix("v0=").and_then(unhex);
    let Some(signature) = signature else {
        return Err(HookRefusal::forged(
            "the signature is not one of version v0",
        ));
    };
    let seconds: i64 = at
        .parse()
        .map_err(|_| HookRefusal::forged("the time stamp is not a number"))?;
    // An HMAC takes a key of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return Err(HookRefusal::forged("the signing secret cannot be used"));
    };
    for part in [b"v0:", at.as_bytes(), b":", hook.body] {
        mac.update(part);
    }
    if secret.is_empty() || mac.verify_slice(&signature).is_err() {
        return Err(HookRefusal::forged("the signature is not Slack's"));
    }
    let apart = hook.now.saturating_sub(seconds.saturating_mul(1_000));
    if apart.saturating_abs() > SKEW {
        return Err(HookRefusal::forged(
            "the request is more than five minutes old, or our clock is wrong",
        ));
    }
    Ok(())
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    if bytes.len() != 64 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok();
    bytes.chunks_exact(2).map(pair).collect()
}
