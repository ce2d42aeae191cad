//! Pictures of sessions, for display in a browser.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue, header};
use manyhands_agent_services::session_key;
use manyhands_core::{AgentId, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::{Authenticated, Refusal};

/// Image types that browsers display without running code; SVG is not among them.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Returns the bytes of a picture to callers that may see its session. Other media types are served
/// as downloads.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path((text, seq, index)): Path<(String, String, String)>,
) -> Result<Response, Refusal> {
    let key = session_key(&admitted.caller, &AgentId::main(), &text)?;
    let number = |name: &str| ToolError::parameter(name, "must be a number from 0 on");
    let seq = seq.parse::<u32>().map_err(|_| number("seq"))?;
    let index = index.parse::<u32>().map_err(|_| number("index"))?;
    let picture = gateway
        .minds()
        .picture(&key, seq.into(), index as usize)
        .await?;
    let bytes = STANDARD.decode(picture.data.as_bytes());
    let bytes = bytes.map_err(|_| ToolError::internal("the picture is damaged"))?;
    let kind = picture.mime_type.to_ascii_lowercase();
    let shown = SHOWN.into_iter().find(|known| *known == kind);
    let disposition = match shown {
        Some(_) => "inline",
        None => "attachment; filename=\"picture\"",
    };
    let headers: [(HeaderName, &'static str); 7] = [
        (
            header::CONTENT_TYPE,
            shown.unwrap_or("application/octet-stream"),
        ),
        (header::CONTENT_DISPOSITION, disposition),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            // Opened in a tab of its own, the bytes must not act as a document of this origin.
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; sandbox",
        ),
        // The address names the session.
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        // A message never changes, but a short lifetime leaves little behind after a logout.
        (header::CACHE_CONTROL, "private, max-age=300"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    Ok((headers, bytes).into_response())
}
