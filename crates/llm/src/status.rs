//! Classification of provider errors.

use std::time::Duration;

use manyhands_core::Timestamp;
use manyhands_guard::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::error::{ErrorKind, Fault};

const MAX_MESSAGE: usize = 500;

/// Phrases that mean the conversation is too long.
const OVERFLOW: [&str; 10] = [
    "context_length_exceeded",
    "exceed_context_size",
    "prompt is too long",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "input token count",
    "request_too_large",
    "input is too long",
];
/// Phrases that mean a safety refusal.
const SAFETY: [&str; 4] = [
    "content_policy",
    "content_filter",
    "content management policy",
    "usage policies",
];
/// Phrases that mean an invalid key or account, regardless of the status.
const ACCOUNT: [&str; 8] = [
    "invalid_api_key",
    "api_key_invalid",
    "api key not valid",
    "authentication_error",
    "permission_error",
    "insufficient_quota",
    "credit balance is too low",
    "billing",
];

/// The error for a response with `status`.
pub(crate) fn of_answer(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Fault {
    let said = ErrorDetails::read(body);
    let code = status.as_u16();
    let error_message = said.error_message();
    let kind = match code {
        // OpenAI reports an exhausted quota as 429 and Google an invalid key as 400, so the text comes first;
        // 529 (overloaded at Anthropic) is never a problem of the account.
        _ if any(&error_message, &ACCOUNT) && code != 529 => ErrorKind::Auth,
        401..=403 => ErrorKind::Auth,
        413 => ErrorKind::ContextOverflow,
        400 | 422 if any(&error_message, &OVERFLOW) => ErrorKind::ContextOverflow,
        400 | 422 if any(&error_message, &SAFETY) => ErrorKind::Refused,
        429 => ErrorKind::RateLimited {
            retry_after: retry_after(headers, &said, now),
        },
        503 | 529 => ErrorKind::Overloaded,
        408 | 409 | 425 | 500..=599 => ErrorKind::Server { status: code },
        _ => ErrorKind::BadRequest,
    };
    let redirected = "; it redirects, so set base_url to the final URL";
    let more = if status.is_redirection() {
        redirected
    } else {
        ""
    };
    Fault::new(kind, format!("answered {code}: {}{more}", said.message))
}

/// The error for an error event within a reply.
pub(crate) fn of_event(error: &Value) -> Fault {
    let said = ErrorDetails::of(error);
    let error_message = said.error_message();
    let status = error["code"].as_u64().or_else(|| error["status"].as_u64());
    let status = status.and_then(|code| u16::try_from(code).ok());
    let kind = if any(&error_message, &OVERFLOW) {
        ErrorKind::ContextOverflow
    } else if any(&error_message, &SAFETY) {
        ErrorKind::Refused
    } else if any(&error_message, &ACCOUNT) || matches!(status, Some(401 | 403)) {
        ErrorKind::Auth
    } else if any(&error_message, &["overloaded", "unavailable"])
        || matches!(status, Some(503 | 529))
    {
        ErrorKind::Overloaded
    } else if any(&error_message, &["rate_limit", "resource_exhausted"]) || status == Some(429) {
        ErrorKind::RateLimited { retry_after: None }
    } else if any(
        &error_message,
        &["invalid_request", "invalid_argument", "not_found"],
    ) {
        ErrorKind::BadRequest
    } else {
        ErrorKind::Server {
            status: status.unwrap_or(0),
        }
    };
    Fault::new(kind, format!("failed during the reply: {}", said.message))
}

fn any(error_message: &str, of: &[&str]) -> bool {
    of.iter().any(|term| error_message.contains(term))
}

/// Details of an error in any provider's format.
struct ErrorDetails {
    message: String,
    /// Its type, code and status, where they are text.
    sort: String,
    document: Value,
}

impl ErrorDetails {
    fn read(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            // Gemini wraps errors in an array.
            Ok(Value::Array(list)) => Self::of(list.first().unwrap_or(&Value::Null)),
            Ok(value) => Self::of(&value),
            Err(_) => Self {
                message: excerpt(&String::from_utf8_lossy(body)),
                sort: String::new(),
                document: Value::Null,
            },
        }
    }

    fn of(value: &Value) -> Self {
        let error = value.get("error").filter(|error| !error.is_null());
        let error = error.unwrap_or(value);
        let text = |of: &Value| of.as_str().map(str::to_owned);
        let message = text(&error["message"])
            .or_else(|| text(error))
            .or_else(|| text(&value["message"]))
            .or_else(|| text(&value["detail"]))
            .unwrap_or_else(|| value.to_string());
        let sorts = ["type", "code", "status"].map(|key| error[key].as_str().unwrap_or(""));
        let reasons = error["details"].as_array().into_iter().flatten();
        let reasons = reasons.filter_map(|detail| detail["reason"].as_str());
        let sort: Vec<&str> = sorts.into_iter().chain(reasons).collect();
        Self {
            message: excerpt(&message),
            sort: sort.join(" "),
            document: error.clone(),
        }
    }

    fn error_message(&self) -> String {
        format!("{} {}", self.sort, self.message).to_lowercase()
    }
}

/// One line of at most 500 characters.
pub(crate) fn excerpt(text: &str) -> String {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut error_message: String = text.chars().take(MAX_MESSAGE).collect();
    if error_message.len() < text.len() {
        error_message.push('…');
    }
    if error_message.is_empty() {
        error_message.push_str("no details");
    }
    error_message
}

/// Delay requested by the provider: in a header or, by Google, in the error.
fn retry_after(headers: &HeaderMap, said: &ErrorDetails, now: Timestamp) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(millis) = header("retry-after-ms").and_then(|text| text.parse().ok()) {
        return Some(Duration::from_millis(millis));
    }
    if let Some(text) = header("retry-after") {
        return seconds(text).or_else(|| date(text, now));
    }
    let details = said.document["details"].as_array()?;
    let delay = details.iter().find_map(|d| d["retryDelay"].as_str())?;
    seconds(delay.trim_end_matches('s'))
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn date(text: &str, now: Timestamp) -> Option<Duration> {
    let at = httpdate::parse_http_date(text).ok()?;
    let at = at.duration_since(std::time::UNIX_EPOCH).ok()?;
    let at = Timestamp(i64::try_from(at.as_millis()).ok()?);
    Some(at.since(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_guard::HeaderValue;
    use serde_json::json;

    fn fault(status: u16, body: &Value) -> Fault {
        let status = StatusCode::from_u16(status).unwrap();
        let body = body.to_string();
        of_answer(status, &HeaderMap::new(), body.as_bytes(), Timestamp(0))
    }

    #[test]
    fn each_providers_errors_are_understood() {
        let openai = |code: &str, message: &str| json!({ "error": { "message": message, "type": "x", "code": code } });
        let claude = |sort: &str, message: &str| json!({ "type": "error", "error": { "type": sort, "message": message } });
        let google = |status: &str, message: &str| json!({ "error": { "code": 400, "status": status, "message": message } });
        let rate = ErrorKind::RateLimited { retry_after: None };
        for (status, body, kind) in [
            (
                401,
                openai("invalid_api_key", "Incorrect API key"),
                ErrorKind::Auth,
            ),
            (
                429,
                openai("rate_limit_exceeded", "slow down"),
                rate.clone(),
            ),
            (
                429,
                openai("insufficient_quota", "You exceeded your quota"),
                ErrorKind::Auth,
            ),
            (
                400,
                openai("context_length_exceeded", "too long"),
                ErrorKind::ContextOverflow,
            ),
            (
                400,
                openai("content_policy_violation", "no"),
                ErrorKind::Refused,
            ),
            (400, openai("invalid_value", "bad"), ErrorKind::BadRequest),
            (
                404,
                openai("model_not_found", "no such model"),
                ErrorKind::BadRequest,
            ),
            (
                500,
                openai("server_error", "oops"),
                ErrorKind::Server { status: 500 },
            ),
            (403, claude("permission_error", "no"), ErrorKind::Auth),
            (
                400,
                claude(
                    "invalid_request_error",
                    "prompt is too long: 9 tokens > 8 maximum",
                ),
                ErrorKind::ContextOverflow,
            ),
            (
                400,
                claude("invalid_request_error", "Your credit balance is too low"),
                ErrorKind::Auth,
            ),
            (
                413,
                claude("request_too_large", "Request exceeds the maximum size"),
                ErrorKind::ContextOverflow,
            ),
            (
                529,
                claude("overloaded_error", "Overloaded"),
                ErrorKind::Overloaded,
            ),
            (429, claude("rate_limit_error", "slow"), rate.clone()),
            (
                400,
                google(
                    "INVALID_ARGUMENT",
                    "API key not valid. Please pass a valid API key.",
                ),
                ErrorKind::Auth,
            ),
            (
                400,
                google(
                    "INVALID_ARGUMENT",
                    "The input token count (9) exceeds the maximum",
                ),
                ErrorKind::ContextOverflow,
            ),
            (
                503,
                google("UNAVAILABLE", "The model is overloaded."),
                ErrorKind::Overloaded,
            ),
            (
                400,
                json!({ "error": "the request exceeds the available context size" }),
                ErrorKind::ContextOverflow,
            ),
            (400, json!({ "detail": "bad" }), ErrorKind::BadRequest),
            (502, json!("<html>"), ErrorKind::Server { status: 502 }),
            (307, json!("moved"), ErrorKind::BadRequest),
        ] {
            assert_eq!(fault(status, &body).kind, kind, "{status} {body}");
        }
    }

    #[test]
    fn errors_within_a_reply_are_understood_too() {
        for (error, kind) in [
            (
                json!({ "type": "overloaded_error", "message": "x" }),
                ErrorKind::Overloaded,
            ),
            (
                json!({ "type": "api_error", "message": "x" }),
                ErrorKind::Server { status: 0 },
            ),
            (
                json!({ "type": "invalid_request_error", "message": "x" }),
                ErrorKind::BadRequest,
            ),
            (
                json!({ "code": "rate_limit_exceeded", "message": "x" }),
                ErrorKind::RateLimited { retry_after: None },
            ),
            (
                json!({ "code": 502, "message": "x" }),
                ErrorKind::Server { status: 502 },
            ),
        ] {
            assert_eq!(of_event(&error).kind, kind, "{error}");
        }
    }

    #[test]
    fn retry_delays_are_found_in_headers_and_bodies() {
        let wait = |name: &'static str, value: &'static str, body: Value| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            let body = body.to_string();
            let status = StatusCode::TOO_MANY_REQUESTS;
            match of_answer(status, &headers, body.as_bytes(), Timestamp(0)).kind {
                ErrorKind::RateLimited { retry_after } => retry_after,
                kind => panic!("{kind:?}"),
            }
        };
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(wait("retry-after", "7", json!({})), seconds(7));
        assert_eq!(
            wait("retry-after", "1.5", json!({})),
            Some(Duration::from_millis(1_500))
        );
        assert_eq!(
            wait("retry-after-ms", "250", json!({})),
            Some(Duration::from_millis(250))
        );
        assert_eq!(
            wait("retry-after", "Thu, 01 Jan 1970 00:01:00 GMT", json!({})),
            seconds(60)
        );
        assert_eq!(wait("retry-after", "soon", json!({})), None);
        let google = json!({ "error": { "details": [{ "retryDelay": "34s" }] } });
        assert_eq!(wait("x", "y", google), seconds(34));
    }
}
