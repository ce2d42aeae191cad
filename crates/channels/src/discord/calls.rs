//! REST requests and their errors.

use std::time::Duration;

use bytes::Bytes;
use manyhands_guard::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;

use super::Discord;
use crate::api::{ApiResponse, FormPart, multipart};
use crate::channel::{BotIdentity, SendError};

/// Maximum wait for the rate limit; longer waits are returned to the caller.
const MAX_LIMIT_WAIT: Duration = Duration::from_secs(5);
/// Timeout of a request.
const WITHIN: Duration = Duration::from_secs(30);
/// Timeout of an upload.
const UPLOAD: Duration = Duration::from_secs(180);
/// Maximum response size.
const MOST: u64 = 8 * 1024 * 1024;
/// The user agent, in the form that Discord requires of bots.
const AGENT: &str = concat!("DiscordBot (manyhands, ", env!("CARGO_PKG_VERSION"), ")");

/// A REST request.
pub(super) struct DiscordRequest<'a> {
    pub(super) method: Method,
    /// The route for rate limits: the path without ids other than the chat's.
    pub(super) route: &'static str,
    /// The chat, which rate limits are counted by.
    pub(super) chat: &'a str,
    /// The path, without a leading slash.
    pub(super) path: String,
    pub(super) body: RequestBody<'a>,
    /// Whether it is safe to repeat.
    pub(super) again: bool,
    /// Whether the path itself contains the secret, so that no token is sent.
    pub(super) bare: bool,
}

/// A request body.
pub(super) enum RequestBody<'a> {
    None,
    Json(Value),
    Form(&'a [FormPart]),
}

impl<'a> DiscordRequest<'a> {
    /// A read-only request.
    pub(super) fn get(route: &'static str, chat: &'a str, path: String) -> Self {
        Self {
            method: Method::GET,
            ..Self::post(route, chat, path, RequestBody::None)
        }
    }

    /// A request with an effect that is idempotent.
    pub(super) fn post(
        route: &'static str,
        chat: &'a str,
        path: String,
        body: RequestBody<'a>,
    ) -> Self {
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
    /// Sends a request within the rate limits and parses the response.
    pub(super) async fn call(&self, call: DiscordRequest<'_>) -> Result<Value, SendError> {
        self.place_for(&call).await?;
        let headers = self.headers(call.bare)?;
        let body = match &call.body {
            RequestBody::None => None,
            RequestBody::Json(body) => {
                Some(("application/json".to_owned(), Bytes::from(body.to_string())))
            }
            RequestBody::Form(parts) => Some(self.form(parts)),
        };
        let url = self.api.url(&call.path);
        // Uploads need longer than other requests.
        let within = match &call.body {
            RequestBody::Form(_) => UPLOAD,
            _ => WITHIN,
        };
        let method = call.method.clone();
        let sent = self
            .api
            .send_within(method, url, headers, body, within, MOST);
        let answer = sent.await;
        let answer = answer.map_err(|error| unsure(error, call.again))?;
        // Before the status is looked at: refusals carry rate limits too.
        self.limits.learn(call.route, call.chat, &answer.headers);
        let read = self.read(&call, &answer);
        read.map_err(|error| unsure(error, call.again))
    }

    /// Waits briefly for the rate limit, or returns the remaining wait.
    async fn place_for(&self, call: &DiscordRequest<'_>) -> Result<(), SendError> {
        let mut waited = Duration::ZERO;
        // Asked again after each wait: other requests may have used the slot.
        while let Err(wait) = self.limits.take(call.route, call.chat) {
            waited += wait;
            if waited > MAX_LIMIT_WAIT {
                return Err(SendError::Later {
                    after: Some(wait),
                    why: "rate limited by Discord".to_owned(),
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
        // The interaction token in the path authorises the call; ours need not be exposed.
        if bare {
            return Ok(headers);
        }
        let token = format!("Bot {}", self.account.token.expose());
        let mut token = HeaderValue::from_str(&token)
            .map_err(|_| SendError::Account("the token contains invalid characters".to_owned()))?;
        token.set_sensitive(true);
        headers.insert(HeaderName::from_static("authorization"), token);
        Ok(headers)
    }

    fn form(&self, parts: &[FormPart]) -> (String, Bytes) {
        // Random, so that no content of a file can contain the boundary.
        let random = self.api.ids().random::<16>();
        let boundary = hex::encode(random);
        let kind = format!("multipart/form-data; boundary={boundary}");
        (kind, multipart(&boundary, parts))
    }

    fn read(&self, call: &DiscordRequest<'_>, answer: &ApiResponse) -> Result<Value, SendError> {
        let status = answer.status;
        if status.is_success() && answer.body.is_empty() {
            return Ok(Value::Null);
        }
        let body = serde_json::from_slice::<Value>(&answer.body);
        if status.is_success() {
            return body.map_err(|_| {
                SendError::Unknown(format!("Discord's response ({status}) is not JSON"))
            });
        }
        let body = body.unwrap_or_default();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let limits = &self.limits;
            let after = limits.too_fast(call.route, call.chat, &answer.headers, &body);
            return Err(SendError::Later {
                after,
                why: "rate limited by Discord".to_owned(),
            });
        }
        Err(refusal(status, &body))
    }

    /// Requests our identity.
    pub(super) async fn users_me(&self) -> Result<BotIdentity, SendError> {
        let call = DiscordRequest::get("GET users/@me", "", "users/@me".to_owned());
        let said = self.call(call).await?;
        let me = me(&said).ok_or_else(|| SendError::Later {
            after: None,
            why: "Discord did not return our identity".to_owned(),
        })?;
        self.learn_me(me.clone());
        Ok(me)
    }
}

/// Parses our identity.
pub(super) fn me(user: &Value) -> Option<BotIdentity> {
    let handle = user["username"].as_str();
    let name = user["global_name"].as_str().or(handle);
    Some(BotIdentity {
        id: user["id"].as_str()?.to_owned(),
        name: name.unwrap_or_default().to_owned(),
        handle: handle.map(str::to_owned),
        team: None,
    })
}

/// An unknown result is retried if the request is safe to repeat.
fn unsure(error: SendError, again: bool) -> SendError {
    match error {
        SendError::Unknown(why) if again => SendError::Later { after: None, why },
        error => error,
    }
}

/// The error for a refused request.
fn refusal(status: StatusCode, body: &Value) -> SendError {
    let code = body["code"].as_u64().unwrap_or(0);
    let said = body["message"].as_str().unwrap_or("no reason given");
    // Bounded: it ends up in logs and in the outbox.
    let said: String = said.chars().take(300).collect();
    if status == StatusCode::UNAUTHORIZED {
        return SendError::Account(
            "Discord rejected the bot token; copy it again from the developer portal".to_owned(),
        );
    }
    if status.is_server_error() || body.is_null() {
        let why = format!("Discord failed ({status})");
        // A gateway error may come after Discord executed the request, so the outcome is unknown.
        return match status.is_server_error() {
            true => SendError::Unknown(why),
            false => SendError::Later { after: None, why },
        };
    }
    let advice = match code {
        10_003 => "; the channel is gone or the bot is not in it",
        50_001 | 50_013 => "; give the bot's role the permission in that channel",
        50_007 => "; that person does not accept direct messages from the bot",
        _ => "",
    };
    let wrong = first_error(&body["errors"], 0).unwrap_or_default();
    let why = format!("Discord rejected it ({code}): {said}{wrong}{advice}");
    match code {
        10_003 | 10_013 | 50_001 | 50_007 => SendError::Unreachable(why),
        _ => SendError::Never(why),
    }
}

/// The first validation error in a response, with its path.
fn first_error(errors: &Value, depth: usize) -> Option<String> {
    if let Some(first) = errors["_errors"].get(0) {
        let said = first["message"].as_str()?;
        let said: String = said.chars().take(200).collect();
        return Some(format!(": {said}"));
    }
    // The nesting is Discord's; a broken response must not overflow the stack.
    if depth > 8 {
        return None;
    }
    let (name, inner) = errors.as_object()?.iter().next()?;
    let name: String = name.chars().take(40).collect();
    let rest = first_error(inner, depth + 1)?;
    Some(format!(" {name}{rest}"))
}
