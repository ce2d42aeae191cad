//! Requests to the Bot API, and what their answers mean.
//!
//! The token is part of every address, so no address is ever shown, and whatever an error says is
//! searched for it.

use std::time::Duration;

use bytes::Bytes;
use manyhands_core::Secret;
use manyhands_guard::{HeaderMap, Method};
use serde_json::Value;
use uuid::Uuid;

use crate::api::{Answer, Api, Part, multipart};
use crate::channel::SendError;

/// How long an ordinary request may take.
const ORDINARY: Duration = Duration::from_secs(30);
/// How long a file may take.
const FILE: Duration = Duration::from_secs(300);
/// The largest answer.
const MOST: u64 = 8 * 1024 * 1024;
/// The most that is shown of what the far end says.
const SHOWN: usize = 300;

/// The Bot API for one token.
pub(super) struct Bot {
    api: Api,
    token: Secret,
}

/// Why a request was not fulfilled.
#[derive(Debug)]
pub(super) enum CallError {
    /// Telegram said no.
    Refused(Refusal),
    /// It said nothing, or what it said cannot be read.
    Failed(SendError),
}

/// What Telegram said.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    pub code: i64,
    pub description: String,
    pub retry_after: Option<Duration>,
    /// The chat has become this one.
    pub migrate_to: Option<i64>,
}

/// Whether doing something twice is the same as doing it once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Twice {
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

    /// Our id, with which every token begins.
    pub fn id(&self) -> Option<i64> {
        let (id, rest) = self.token.expose().split_once(':')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let digits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        let good = digits && !rest.is_empty() && rest.chars().all(plain);
        good.then(|| id.parse().ok()).flatten()
    }

    /// The address of a method, or of what stands below `file/`. It holds the token.
    pub fn url(&self, folder: &str, rest: &str) -> Result<String, SendError> {
        if self.id().is_none() {
            let why = "the token is not one: BotFather gives it as 123456789:letters";
            return Err(SendError::Account(why.to_owned()));
        }
        let token = self.token.expose();
        Ok(self.api.url(&format!("{folder}bot{token}/{rest}")))
    }

    /// Calls a method with JSON.
    pub async fn call(&self, method: &str, body: &Value) -> Result<Value, CallError> {
        self.call_within(method, body, ORDINARY).await
    }

    /// The same with a time of its own.
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

    /// Calls a method with a form that holds a file.
    pub async fn form(&self, method: &str, parts: &[Part]) -> Result<Value, CallError> {
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

    fn read(&self, answer: &Answer) -> Result<Value, CallError> {
        let status = answer.status;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if body["ok"] == true {
            return Ok(body["result"].clone());
        }
        if body["ok"] != false && status.is_success() {
            let why = format!("the answer ({status}) is not one of Telegram's");
            return Err(CallError::Failed(SendError::Unknown(why)));
        }
        let seconds = body["parameters"]["retry_after"].as_u64();
        let retry_after = seconds.map(|seconds| Duration::from_secs(seconds.min(86_400)));
        let description = body["description"].as_str().map_or_else(
            || format!("an answer ({status}) that is not Telegram's"),
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

    /// A text without the token, nor the part of it that is secret.
    pub fn scrub(&self, text: &str) -> String {
        let token = self.token.expose();
        let mut clean = text.to_owned();
        for secret in [token, token.split_once(':').map_or("", |(_, rest)| rest)] {
            if secret.len() >= 8 {
                clean = clean.replace(secret, "***");
            }
        }
        clean
    }
}

impl CallError {
    /// What it means for what was sent.
    pub fn sent(self, twice: Twice) -> SendError {
        match self {
            Self::Refused(refusal) => refusal.sent(twice),
            Self::Failed(SendError::Unknown(why)) if twice == Twice::Same => {
                SendError::Later { after: None, why }
            }
            Self::Failed(error) => error,
        }
    }
}

/// Whether a refusal says that nobody is there to be written to.
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
    fn sent(self, twice: Twice) -> SendError {
        let said = self.description;
        let later = |why| SendError::Later {
            after: self.retry_after,
            why,
        };
        match self.code {
            429 => later(format!("Telegram asks to wait: {said}")),
            401 | 404 => SendError::Account(format!(
                "Telegram does not know the token ({said}); BotFather shows the one that is good"
            )),
            409 => later(said),
            400..500 if self.retry_after.is_some() => later(said),
            400..500 if self.code == 403 || is_nobody(&said) => {
                SendError::Unreachable(format!("Telegram refuses it: {said}"))
            }
            400..500 => SendError::Never(format!("Telegram refuses it: {said}")),
            _ if twice == Twice::Same => later(said),
            _ => SendError::Unknown(said),
        }
    }
}
