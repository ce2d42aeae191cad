//! Bot API requests and their errors.
//!
//! The token is part of every URL, so no URL is ever shown, and error texts are searched for it.

use std::time::Duration;

use bytes::Bytes;
use manyhands_core::Secret;
use manyhands_guard::{HeaderMap, Method};
use serde_json::Value;
use uuid::Uuid;

use crate::api::{Api, ApiResponse, FormPart, multipart};
use crate::channel::SendError;

/// Timeout of an ordinary request.
const ORDINARY: Duration = Duration::from_secs(30);
/// Timeout of a file transfer.
const FILE: Duration = Duration::from_secs(300);
/// Maximum response size.
const MOST: u64 = 8 * 1024 * 1024;
/// Maximum length of a remote error text.
const SHOWN: usize = 300;

/// The Bot API with one token.
pub(super) struct Bot {
    api: Api,
    token: Secret,
}

/// Why a request failed.
#[derive(Debug)]
pub(super) enum CallError {
    /// Telegram refused it.
    Refused(Refusal),
    /// No response, or an invalid one.
    Failed(SendError),
}

/// An error response of Telegram.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    pub code: i64,
    pub description: String,
    pub retry_after: Option<Duration>,
    /// The chat was migrated to this id.
    pub migrate_to: Option<i64>,
}

/// Whether repeating a request is harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Idempotency {
    Same,
    Differs,
}

impl Bot {
    pub fn new(api: Api, token: Secret) -> Self {
        Self { api, token }
    }

    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Our id, which every token starts with.
    pub fn id(&self) -> Option<i64> {
        let (id, rest) = self.token.expose().split_once(':')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let digits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        let good = digits && !rest.is_empty() && rest.chars().all(plain);
        good.then(|| id.parse().ok()).flatten()
    }

    /// The URL of a method, or of a path below `file/`. It contains the token.
    pub fn url(&self, folder: &str, rest: &str) -> Result<String, SendError> {
        if self.id().is_none() {
            // Checked here: an invalid token would produce a URL with unexpected path segments.
            let why = "invalid token; BotFather issues it as 123456789:letters";
            return Err(SendError::Account(why.to_owned()));
        }
        let token = self.token.expose();
        Ok(self.api.url(&format!("{folder}bot{token}/{rest}")))
    }

    /// Calls a method with JSON.
    pub async fn call(&self, method: &str, body: &Value) -> Result<Value, CallError> {
        self.call_within(method, body, ORDINARY).await
    }

    /// Calls a method with another timeout.
    pub async fn call_within(
        &self,
        method: &str,
        body: &Value,
        within: Duration,
    ) -> Result<Value, CallError> {
        let body = Bytes::from(body.to_string());
        self.exchange(method, "application/json".to_owned(), body, within)
            .await
    }

    /// Calls a method with a multipart form.
    pub async fn form(&self, method: &str, parts: &[FormPart]) -> Result<Value, CallError> {
        let boundary = format!("manyhands-{}", self.api.ids().next::<Uuid>().simple());
        let body = multipart(&boundary, parts);
        let kind = format!("multipart/form-data; boundary={boundary}");
        self.exchange(method, kind, body, FILE).await
    }

    async fn exchange(
        &self,
        method: &str,
        kind: String,
        body: Bytes,
        within: Duration,
    ) -> Result<Value, CallError> {
        let url = self.url("", method).map_err(CallError::Failed)?;
        let body = Some((kind, body));
        let headers = HeaderMap::new();
        let sent = self
            .api
            .send_within(Method::POST, url, headers, body, within, MOST);
        let answer = sent
            .await
            .map_err(|error| CallError::Failed(self.hidden(error)))?;
        self.read(&answer)
    }

    fn read(&self, answer: &ApiResponse) -> Result<Value, CallError> {
        let status = answer.status;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if body["ok"] == true {
            return Ok(body["result"].clone());
        }
        // A captive portal or proxy answers with success, too.
        if body["ok"] != false && status.is_success() {
            let why = format!("the response ({status}) is not from Telegram");
            return Err(CallError::Failed(SendError::Unknown(why)));
        }
        let seconds = body["parameters"]["retry_after"].as_u64();
        // Bounded: a broken value must not stop sending for years.
        let retry_after = seconds.map(|seconds| Duration::from_secs(seconds.min(86_400)));
        let description = body["description"].as_str().map_or_else(
            || format!("a response ({status}) that is not from Telegram"),
            |said| self.scrub(said).chars().take(SHOWN).collect(),
        );
        Err(CallError::Refused(Refusal {
            code: body["error_code"]
                .as_i64()
                .unwrap_or_else(|| status.as_u16().into()),
            description,
            retry_after: retry_after.or_else(|| answer.retry_after()),
            migrate_to: body["parameters"]["migrate_to_chat_id"].as_i64(),
        }))
    }

    /// An error without the token.
    pub fn hidden(&self, error: SendError) -> SendError {
        match error {
            SendError::Later { after, why } => {
                let why = self.scrub(&why);
                SendError::Later { after, why }
            }
            SendError::Never(why) => SendError::Never(self.scrub(&why)),
            SendError::Unreachable(why) => SendError::Unreachable(self.scrub(&why)),
            SendError::Account(why) => SendError::Account(self.scrub(&why)),
            SendError::Unknown(why) => SendError::Unknown(self.scrub(&why)),
        }
    }

    /// A text without the token or its secret part.
    pub fn scrub(&self, text: &str) -> String {
        let token = self.token.expose();
        let mut clean = text.to_owned();
        for secret in [token, token.split_once(':').map_or("", |(_, rest)| rest)] {
            // A shorter one is no token of Telegram, and would mask ordinary words.
            if secret.len() >= 8 {
                clean = clean.replace(secret, "***");
            }
        }
        clean
    }
}

impl CallError {
    /// What it means for the message being sent.
    pub fn sent(self, twice: Idempotency) -> SendError {
        match self {
            Self::Refused(refusal) => refusal.sent(twice),
            Self::Failed(SendError::Unknown(why)) if twice == Idempotency::Same => {
                SendError::Later { after: None, why }
            }
            Self::Failed(error) => error,
        }
    }
}

/// Whether a refusal means that the recipient does not exist or blocked us.
fn is_nobody(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    let words = [
        "chat not found",
        "user is deactivated",
        "user not found",
        "peer_id_invalid",
    ];
    words.iter().any(|words| said.contains(words))
}

impl Refusal {
    fn sent(self, twice: Idempotency) -> SendError {
        let said = self.description;
        let later = |why| SendError::Later {
            after: self.retry_after,
            why,
        };
        match self.code {
            429 => later(format!("rate limited by Telegram: {said}")),
            401 | 404 => SendError::Account(format!(
                "Telegram rejected the token ({said}); BotFather shows the current one"
            )),
            // Another program polls with this token; the conflict may end by itself.
            409 => later(said),
            400..500 if self.retry_after.is_some() => later(said),
            400..500 if self.code == 403 || is_nobody(&said) => {
                SendError::Unreachable(format!("Telegram rejected it: {said}"))
            }
            400..500 => SendError::Never(format!("Telegram rejected it: {said}")),
            // A server error may come after the request was executed.
            _ if twice == Idempotency::Same => later(said),
            _ => SendError::Unknown(said),
        }
    }
}
