//! What WhatsApp tells a webhook, in the shapes that it sends.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use super::WhatsApp;
use crate::{Journal, hub};

impl WhatsApp {
    /// Somebody writes: `what` is what follows the type, such as `{"text": {"body": "hi"}}`.
    pub fn message(&self, from: &str, kind: &str, what: &Value) -> Value {
        let mut state = self.inner.state();
        state.next += 1;
        let id = format!("wamid.HBgLMTY1MDM4Nzk0MzkVAgASGBQz{:04}", state.next);
        state.silent.remove(from);
        let mut message = json!({
            "from": from,
            "id": id,
            "timestamp": "1749416383",
            "type": kind,
        });
        for (name, value) in what.as_object().into_iter().flatten() {
            message[name] = value.clone();
        }
        if !message[kind]["mime_type"].is_null() {
            message[kind]["sha256"] = json!("SfInY0gGKTsJlUWbwxC1k+FAD0FZHvzwfpvO0zX0GUI=");
        }
        message
    }

    /// News of a message of ours.
    pub fn status(&self, message: &str, to: &str, status: &str, errors: &Value) -> Value {
        let mut told = json!({
            "id": message,
            "status": status,
            "timestamp": "1750263773",
            "recipient_id": to,
        });
        if !errors.is_null() {
            told["errors"] = errors.clone();
        }
        told
    }

    /// The body of a request that tells of these.
    pub fn body(&self, messages: &[Value], statuses: &[Value]) -> String {
        let mut value = json!({
            "messaging_product": "whatsapp",
            "metadata": {"display_phone_number": Self::NUMBER, "phone_number_id": Self::PHONE},
        });
        if !messages.is_empty() {
            let cards = messages.iter().map(
                |message| json!({"profile": {"name": "Sheena Nelson"}, "wa_id": message["from"]}),
            );
            value["contacts"] = cards.collect();
            value["messages"] = json!(messages);
        }
        if !statuses.is_empty() {
            value["statuses"] = json!(statuses);
        }
        let changes = json!([{"value": value, "field": "messages"}]);
        let entry = json!([{"id": "102290129340398", "changes": changes}]);
        let body = json!({"object": "whatsapp_business_account", "entry": entry}).to_string();
        let signature = self.sign(body.as_bytes());
        Journal::told("whatsapp", &self.inner.secret, &signature, &body);
        body
    }

    /// The value of `X-Hub-Signature-256` for a body.
    pub fn sign(&self, body: &[u8]) -> String {
        let mac = Hmac::<Sha256>::new_from_slice(self.inner.secret.as_bytes());
        let mut mac = mac.expect("any length is a key");
        mac.update(body);
        let seal = mac.finalize().into_bytes();
        let digits: String = seal.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256={digits}")
    }

    /// Tells a webhook, and gives status and body of its answer.
    pub async fn deliver(&self, url: &str, body: &str) -> std::io::Result<(u16, String)> {
        let signature = ("x-hub-signature-256", self.sign(body.as_bytes()));
        hub::post(url, &[signature], body.as_bytes()).await
    }
}
