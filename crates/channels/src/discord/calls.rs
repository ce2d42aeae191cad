//! Requests, and what their answers mean.

use std::time::Duration;

use bytes::Bytes;
use manyhands_guard::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;

use super::Discord;
use crate::api::{Answer, Part, multipart};
use crate::channel::{Me, SendError};

/// How long one waits here for Discord to allow a request; longer is told to whoever asks.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a request may take.
const WITHIN: Duration = Duration::from_secs(30);
/// How long one with a file may take.
const UPLOAD: Duration = Duration::from_secs(180);
/// The largest answer.
const MOST: u64 = 8 * 1024 * 1024;
/// How a bot says what it is, which Discord wants from all of them.
const AGENT: &str = concat!("DiscordBot (manyhands, ", env!("CARGO_PKG_VERSION"), ")");

/// One request.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    /// What it does, for the limits: the path without ids other than the chat's.
    pub(super) route: &'static str,
    /// The chat, by which limits are counted.
    pub(super) chat: &'a str,
    /// The path, without a slash at its beginning.
    pub(super) path: String,
    pub(super) body: Body<'a>,
    /// Whether it is good to be asked twice.
    pub(super) again: bool,
    /// Whether the path itself is the secret.
    pub(super) bare: bool,
}

/// What a request holds.
pub(super) enum Body<'a> {
    None,
    Json(Value),
    Form(&'a [Part]),
}

impl<'a> Call<'a> {
    /// One that only reads.
    pub(super) fn get(route: &'static str, chat: &'a str, path: String) -> Self {
        Self {
            method: Method::GET,
            ..Self::post(route, chat, path, Body::None)
        }
    }

    /// One that does something, and does it once whenever it is asked.
    pub(super) fn post(route: &'static str, chat: &'a str, path: String, body: Body<'a>) -> Self {
        Self {
            method: Method::POST,
            route,
            chat,
            path,
            body,
            again: true,
            bare: false,
        }
    }
}

impl Discord {
    /// Asks, as fast as Discord allows, and reads the answer.
    pub(super) async fn call(&self, call: Call<'_>) -> Result<Value, SendError> {
        self.place_for(&call).await?;
        let headers = self.headers(call.bare)?;
        let body = match &call.body {
            Body::None => None,
            Body::Json(body) => {
                Some(("application/json".to_owned(), Bytes::from(body.to_string())))
            }
            Body::Form(parts) => Some(self.form(parts)),
        };
        let url = self.api.url(&call.path);
        let within = match &call.body {
            Body::Form(_) => UPLOAD,
            _ => WITHIN,
        };
        let method = call.method.clone();
        let sent = self
            .api
            .send_within(method, url, headers, body, within, MOST);
        let answer = sent.await;
        let answer = answer.map_err(|error| unsure(error, call.again))?;
        self.limits.learn(call.route, call.chat, &answer.headers);
        let read = self.read(&call, &answer);
        read.map_err(|error| unsure(error, call.again))
    }

    /// Waits a little for a place, or says how long there is none.
    async fn place_for(&self, call: &Call<'_>) -> Result<(), SendError> {
        let mut waited = Duration::ZERO;
        while let Err(wait) = self.limits.take(call.route, call.chat) {
            waited += wait;
            if waited > PATIENCE {
                return Err(SendError::Later {
                    after: Some(wait),
                    why: "Discord wants it slower".to_owned(),
                });
            }
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }

    fn headers(&self, bare: bool) -> Result<HeaderMap, SendError> {
        let mut headers = HeaderMap::new();
        let agent = HeaderName::from_static("user-agent");
        headers.insert(agent, HeaderValue::from_static(AGENT));
        if bare {
            return Ok(headers);
        }
        let token = format!("Bot {}", self.account.token.expose());
        let mut token = HeaderValue::from_str(&token).map_err(|_| {
            SendError::Account("the token holds characters that cannot be sent".to_owned())
        })?;
        token.set_sensitive(true);
        headers.insert(HeaderName::from_static("authorization"), token);
        Ok(headers)
    }

    fn form(&self, parts: &[Part]) -> (String, Bytes) {
        let random = self.api.ids().random::<16>();
        let boundary: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let kind = format!("multipart/form-data; boundary={boundary}");
        (kind, multipart(&boundary, parts))
    }

    fn read(&self, call: &Call<'_>, answer: &Answer) -> Result<Value, SendError> {
        let status = answer.status;
        if status.is_success() && answer.body.is_empty() {
            return Ok(Value::Null);
        }
        let body = serde_json::from_slice::<Value>(&answer.body);
        if status.is_success() {
            return body.map_err(|_| {
                SendError::Unknown(format!("Discord's answer ({status}) is not JSON"))
            });
        }
        let body = body.unwrap_or_default();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let limits = &self.limits;
            let after = limits.too_fast(call.route, call.chat, &answer.headers, &body);
            return Err(SendError::Later {
                after,
                why: "Discord wants it slower".to_owned(),
            });
        }
        Err(refusal(status, &body))
    }

    /// Who we are.
    pub(super) async fn users_me(&self) -> Result<Me, SendError> {
        let call = Call::get("GET users/@me", "", "users/@me".to_owned());
        let said = self.call(call).await?;
        let me = me(&said).ok_or_else(|| SendError::Later {
            after: None,
            why: "Discord does not say who we are".to_owned(),
        })?;
        self.learn_me(me.clone());
        Ok(me)
    }
}

/// A user as who we are.
pub(super) fn me(user: &Value) -> Option<Me> {
    let handle = user["username"].as_str();
    let name = user["global_name"].as_str().or(handle);
    Some(Me {
        id: user["id"].as_str()?.to_owned(),
        name: name.unwrap_or_default().to_owned(),
        handle: handle.map(str::to_owned),
        team: None,
    })
}

/// What is good to be asked twice is asked again instead of being unknown.
fn unsure(error: SendError, again: bool) -> SendError {
    match error {
        SendError::Unknown(why) if again => SendError::Later { after: None, why },
        error => error,
    }
}

/// What a refusal means.
fn refusal(status: StatusCode, body: &Value) -> SendError {
    let code = body["code"].as_u64().unwrap_or(0);
    let said = body["message"].as_str().unwrap_or("no reason given");
    let said: String = said.chars().take(300).collect();
    if status == StatusCode::UNAUTHORIZED {
        return SendError::Account(
            "Discord does not accept the token of the bot; copy it again from the developer portal"
                .to_owned(),
        );
    }
    if status.is_server_error() || body.is_null() {
        let why = format!("Discord has trouble ({status})");
        // What came from something between us and Discord may still have been done.
        return match status.is_server_error() {
            true => SendError::Unknown(why),
            false => SendError::Later { after: None, why },
        };
    }
    let advice = match code {
        10_003 => "; the channel is gone or the bot is not in it",
        50_001 | 50_013 => "; give the bot's role the permission in that channel",
        50_007 => "; that person takes no direct messages from the bot",
        _ => "",
    };
    let wrong = first_error(&body["errors"], 0).unwrap_or_default();
    let why = format!("Discord refuses it ({code}): {said}{wrong}{advice}");
    match code {
        10_003 | 10_013 | 50_001 | 50_007 => SendError::Unreachable(why),
        _ => SendError::Never(why),
    }
}

/// The first thing that is wrong with a body, with where it is.
fn first_error(errors: &Value, depth: usize) -> Option<String> {
    if let Some(first) = errors["_errors"].get(0) {
        let said = first["message"].as_str()?;
        let said: String = said.chars().take(200).collect();
        return Some(format!(": {said}"));
    }
    if depth > 8 {
        return None;
    }
    let (name, inner) = errors.as_object()?.iter().next()?;
    let name: String = name.chars().take(40).collect();
    let rest = first_error(inner, depth + 1)?;
    Some(format!(" {name}{rest}"))
}
