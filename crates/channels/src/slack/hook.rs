//! Slack's webhook requests: signature and content.

use hmac::{Hmac, KeyInit, Mac};
use manyhands_guard::{HeaderMap, StatusCode};
use serde_json::Value;
use sha2::Sha256;
use url::form_urlencoded;

use super::{EventDelivery, Slack};
use crate::channel::{WebhookOutcome, WebhookRefusal, WebhookRequest};

/// Maximum clock difference in milliseconds.
const SKEW: i64 = 5 * 60 * 1_000;

impl Slack {
    /// Verifies a request and parses its events.
    pub(super) fn read_hook(
        &self,
        hook: &WebhookRequest<'_>,
    ) -> Result<WebhookOutcome, WebhookRefusal> {
        let EventDelivery::Events { signing_secret } = &self.account.mode else {
            return Err(WebhookRefusal {
                status: StatusCode::NOT_FOUND,
                why: "this account uses Socket Mode, not webhooks".to_owned(),
            });
        };
        if hook.method != "POST" {
            return Err(WebhookRefusal {
                status: StatusCode::METHOD_NOT_ALLOWED,
                why: "webhook requests must use POST".to_owned(),
            });
        }
        verify(signing_secret.expose(), hook)?;
        let kind = header(hook.headers, "content-type").unwrap_or_default();
        if kind.starts_with("application/x-www-form-urlencoded") {
            return self.read_form(hook.body);
        }
        let payload: Value = serde_json::from_slice(hook.body).map_err(|error| {
            WebhookRefusal::unreadable(format!("the body is not JSON: {error}"))
        })?;
        match payload["type"].as_str() {
            Some("url_verification") => {
                let challenge = payload["challenge"].as_str().unwrap_or_default();
                Ok(WebhookOutcome {
                    events: Vec::new(),
                    content_type: "text/plain",
                    body: challenge.to_owned(),
                })
            }
            Some("event_callback") => {
                self.names.ask(self.names_in(&payload));
                let event = self
                    .read_event(&payload)
                    .map_err(WebhookRefusal::unreadable)?;
                Ok(WebhookOutcome::events(event.into_iter().collect()))
            }
            Some("app_rate_limited") => {
                tracing::warn!(
                    event = "slack_events_dropped",
                    account = self.account.name,
                    "Slack drops events: the app exceeds its event rate limit"
                );
                Ok(WebhookOutcome::events(Vec::new()))
            }
            _ => Ok(WebhookOutcome::events(Vec::new())),
        }
    }

    /// Buttons and commands come as forms.
    fn read_form(&self, body: &[u8]) -> Result<WebhookOutcome, WebhookRefusal> {
        let fields: Vec<(String, String)> = form_urlencoded::parse(body).into_owned().collect();
        let payload = fields.iter().find(|(name, _)| name == "payload");
        let event = match payload {
            Some((_, payload)) => {
                let payload: Value = serde_json::from_str(payload).map_err(|error| {
                    WebhookRefusal::unreadable(format!("the payload is not JSON: {error}"))
                })?;
                self.names.ask(self.names_in(&payload));
                self.read_press(&payload)
            }
            None => {
                let fields = fields.into_iter().map(|(name, value)| (name, value.into()));
                self.read_command(&Value::Object(fields.collect()))
            }
        };
        let event = event.map_err(WebhookRefusal::unreadable)?;
        Ok(WebhookOutcome::events(event.into_iter().collect()))
    }
}

/// Verifies that Slack signed these bytes recently.
fn verify(secret: &str, hook: &WebhookRequest<'_>) -> Result<(), WebhookRefusal> {
    let given = |name| {
        header(hook.headers, name)
            .ok_or_else(|| WebhookRefusal::forged(format!("the header {name} is missing")))
    };
    let at = given("x-slack-request-timestamp")?;
    let signature = given("x-slack-signature")?;
    let signature = signature.strip_prefix("v0=").and_then(unhex);
    let Some(signature) = signature else {
        return Err(WebhookRefusal::forged("the signature version is not v0"));
    };
    let seconds: i64 = at
        .parse()
        .map_err(|_| WebhookRefusal::forged("the time stamp is not a number"))?;
    // Cannot fail: an HMAC accepts keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return Err(WebhookRefusal::forged("the signing secret cannot be used"));
    };
    for part in [b"v0:", at.as_bytes(), b":", hook.body] {
        mac.update(part);
    }
    // An empty secret would make every signature valid.
    if secret.is_empty() || mac.verify_slice(&signature).is_err() {
        return Err(WebhookRefusal::forged("the signature is invalid"));
    }
    // Checked after the signature, which covers the timestamp: otherwise it could be forged.
    let apart = hook.now.saturating_sub(seconds.saturating_mul(1_000));
    if apart.saturating_abs() > SKEW {
        return Err(WebhookRefusal::forged(
            "the request is more than five minutes old, or our clock is wrong",
        ));
    }
    Ok(())
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(bytes)
}
