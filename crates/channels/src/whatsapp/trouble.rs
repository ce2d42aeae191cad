//! What it means when WhatsApp refuses.

use std::time::Duration;

use manyhands_guard::StatusCode;
use serde_json::Value;

use crate::api::Answer;
use crate::channel::SendError;

/// Too many messages to the same person: one is free again after this.
const PAIR: Duration = Duration::from_secs(6);

/// What is said when somebody has not written for a day.
const WINDOW: &str = "they have not written for 24 hours, and WhatsApp lets nobody write freely \
                      after that\nit can be sent again once they have written";

/// What a refused call means.
pub(super) fn of(answer: &Answer) -> SendError {
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
        131_047 => SendError::Unreachable(format!("{why}\n{WINDOW}")),
        // No account of WhatsApp's, or one that this number may not write to.
        131_026 | 131_030 => SendError::Unreachable(why),
        // Rates: of the app, the account, the number, or of one person.
        4 | 80_007 | 130_429 | 131_048 | 133_016 => later(None),
        131_056 => later(Some(PAIR)),
        // Out of order for a while, said before anything was done.
        2 | 131_016 | 131_057 | 133_004 => later(None),
        190 | 0 => SendError::Account(format!(
            "{why}\nmake a new access token in Meta's business settings"
        )),
        3 | 10 | 200..=299 | 368 | 131_005 | 131_031 | 131_042 | 131_045 | 133_010 => {
            SendError::Account(why)
        }
        _ if status == StatusCode::UNAUTHORIZED => SendError::Account(why),
        _ if status == StatusCode::TOO_MANY_REQUESTS => later(None),
        _ if error["is_transient"] == true && !status.is_server_error() => later(None),
        // Something went wrong in there, and nobody says how far it had come.
        1 | 131_000 => SendError::Unknown(why),
        _ if status.is_server_error() => SendError::Unknown(why),
        _ => SendError::Never(why),
    }
}

/// An answer in other words than the platform's own.
fn unspoken(answer: &Answer) -> SendError {
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

/// An error in WhatsApp's words, bounded.
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

/// An error of something that had been taken, told later.
pub(super) fn failed(errors: &Value) -> String {
    let error = &errors[0];
    let code = error["code"].as_i64().unwrap_or_default();
    match code {
        131_047 => format!("{}\n{WINDOW}", words(error, code)),
        _ => words(error, code),
    }
}
