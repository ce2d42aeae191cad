//! WhatsApp's errors.

use std::time::Duration;

use manyhands_guard::StatusCode;
use serde_json::Value;

use crate::api::ApiResponse;
use crate::channel::SendError;

/// Delay after too many messages to the same person.
const PAIR: Duration = Duration::from_secs(6);

/// Explains that a person has not written for a day.
const WINDOW: &str = "the person has not written for 24 hours, and WhatsApp allows no free-form messages \
                      after that\nsend it again once they have written";

/// The error for a refused request.
pub(super) fn of(answer: &ApiResponse) -> SendError {
    let status = answer.status;
    let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let error = &said["error"];
    let Some(code) = error["code"].as_i64() else {
        return unspoken(answer);
    };
    let why = words(error, code);
    let later = |after: Option<Duration>| SendError::Later {
        after: answer.retry_after().or(after),
        why: why.clone(),
    };
    match code {
        // Outside the 24-hour window only templates are allowed.
        131_047 => SendError::Unreachable(format!("{why}\n{WINDOW}")),
        // Not on WhatsApp, or not allowed for this number.
        131_026 | 131_030 => SendError::Unreachable(why),
        // Rate limits of the app, the account, the number, or one person.
        4 | 80_007 | 130_429 | 131_048 | 133_016 => later(None),
        131_056 => later(Some(PAIR)),
        // Temporarily unavailable, reported before anything was done.
        2 | 131_016 | 131_057 | 133_004 => later(None),
        190 | 0 => SendError::Account(format!(
            "{why}\ncreate a new access token in Meta's business settings"
        )),
        3 | 10 | 200..=299 | 368 | 131_005 | 131_031 | 131_042 | 131_045 | 133_010 => {
            SendError::Account(why)
        }
        _ if status == StatusCode::UNAUTHORIZED => SendError::Account(why),
        _ if status == StatusCode::TOO_MANY_REQUESTS => later(None),
        _ if error["is_transient"] == true && !status.is_server_error() => later(None),
        // An internal error: how far the request got is unknown.
        1 | 131_000 => SendError::Unknown(why),
        _ if status.is_server_error() => SendError::Unknown(why),
        _ => SendError::Never(why),
    }
}

/// The error for a response that is not in WhatsApp's format.
fn unspoken(answer: &ApiResponse) -> SendError {
    let status = answer.status;
    let why = format!("WhatsApp answered with {}", status.as_u16());
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => SendError::Account(why),
        _ if status.is_server_error() => SendError::Unknown(why),
        _ => SendError::Later {
            after: answer.retry_after(),
            why,
        },
    }
}

/// WhatsApp's error text, bounded.
pub(super) fn words(error: &Value, code: i64) -> String {
    let title = ["message", "title"].map(|name| error[name].as_str());
    let title = title.into_iter().flatten().next().unwrap_or("refused");
    let details = error["error_data"]["details"].as_str();
    let details = details.filter(|details| *details != title);
    let words = match details {
        Some(details) => format!("WhatsApp says ({code}): {title}: {details}"),
        None => format!("WhatsApp says ({code}): {title}"),
    };
    words.chars().take(500).collect()
}

/// The error of a message that was accepted earlier.
pub(super) fn failed(errors: &Value) -> String {
    let error = &errors[0];
    let code = error["code"].as_i64().unwrap_or_default();
    match code {
        131_047 => format!("{}\n{WINDOW}", words(error, code)),
        _ => words(error, code),
    }
}
