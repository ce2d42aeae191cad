//! Dictation: the text of a recording, by the configured provider.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use http::{HeaderMap, StatusCode, header};
use manyhands_core::{ErrorCode, Role, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Authenticated, Refusal, answer};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

/// Largest recording, in bytes; providers accept no larger ones.
pub const MAX_RECORDING: usize = 25 * 1024 * 1024;
/// The path, whose bodies may be larger than those of others.
pub const PATH: &str = "/api/transcribe";

/// The text of a recording.
#[derive(Serialize, JsonSchema)]
pub struct Transcribed {
    /// The text.
    text: String,
}

/// Transcribes a recording: the body, whose `Content-Type` is `audio/*`.
pub async fn transcribe(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Answer<Transcribed> {
    let caller = &admitted.caller;
    if !matches!(caller.rights.role, Role::Owner | Role::Client) {
        let message = format!("a {} token cannot talk to agents", caller.rights.role);
        return Err(Refusal(ToolError::new(ErrorCode::Forbidden, message)));
    }
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let mime = kind
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    let mime = mime.trim().to_ascii_lowercase();
    let Some(format) = mime.strip_prefix("audio/") else {
        let message = "must be audio/*, such as audio/webm";
        return Err(Refusal(ToolError::parameter("Content-Type", message)));
    };
    let body = body.map_err(|rejected| match rejected.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let message = format!("a recording may have at most {MAX_RECORDING} bytes");
            Refusal(ToolError::new(ErrorCode::TooLarge, message))
        }
        _ => Refusal(ToolError::parameter("body", rejected.body_text())),
    })?;
    if body.is_empty() {
        return Err(Refusal(ToolError::parameter("body", "must not be empty")));
    }
    let missing = || {
        let message = "transcription is not configured";
        let error = ToolError::new(ErrorCode::Conflict, message)
            .hint("set channels.transcription.provider to one of models.providers");
        Refusal(error.details(json!({ "failure": "not_configured" })))
    };
    if !gateway.chats().can_transcribe() {
        return Err(missing());
    }
    // Recorded first: it costs money even if it fails.
    gateway
        .note(caller, "audio.transcribe", &format!("{} bytes", body.len()))
        .await?;
    let file = format!("speech.{}", ending(format));
    let text = gateway.chats().transcribe(&body, &file, &mime).await;
    let text = text.map_err(|why| {
        let message = format!("transcription failed: {why}");
        Refusal(ToolError::new(ErrorCode::Failed, message))
    })?;
    answer(Transcribed {
        text: text.ok_or_else(missing)?,
    })
}

/// The ending of a file of this format.
fn ending(format: &str) -> &'static str {
    match format {
        "webm" => "webm",
        "mpeg" | "mp3" => "mp3",
        "mp4" | "m4a" | "x-m4a" | "aac" => "m4a",
        "wav" | "x-wav" | "wave" | "vnd.wave" => "wav",
        "flac" | "x-flac" => "flac",
        _ => "ogg",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_of_browsers_have_their_usual_endings() {
        for (format, expect) in [
            ("webm", "webm"),
            ("mp4", "m4a"),
            ("mpeg", "mp3"),
            ("x-wav", "wav"),
            ("ogg", "ogg"),
            ("../../etc", "ogg"),
        ] {
            assert_eq!(ending(format), expect, "{format}");
        }
    }
}
