//! `/hooks/{channel}`: webhooks of chat platforms. Requests are authenticated by their raw bytes,
//! and events are on disk before the response.

use std::sync::Arc;

use axum::body::{Bytes, to_bytes};
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use manyhands_channels::WebhookRequest;
use manyhands_core::{ErrorCode, ToolError};
use manyhands_gateway::Gateway;
use manyhands_http_common::Refusal;

/// Largest webhook request, in bytes.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// Webhook of the account `default`.
pub async fn default(
    State(gateway): State<Arc<Gateway>>,
    Path(channel): Path<String>,
    request: Request,
) -> Response {
    take(&gateway, &channel, "default", request).await
}

/// Webhook of a named account.
pub async fn account(
    State(gateway): State<Arc<Gateway>>,
    Path((channel, account)): Path<(String, String)>,
    request: Request,
) -> Response {
    take(&gateway, &channel, &account, request).await
}

async fn take(gateway: &Gateway, channel: &str, account: &str, request: Request) -> Response {
    let Some(made) = gateway.chats().channel(channel, account) else {
        // A platform retries later if the account is not ready; for an unknown account it should
        // stop.
        let missing = match gateway.chats().is_used(channel, account) {
            true => {
                let message = format!("the account {account} of {channel} is not ready");
                ToolError::new(ErrorCode::Unavailable, message)
            }
            false => {
                let message = format!("no active account {account} of {channel}");
                ToolError::not_found(message)
            }
        };
        return Refusal(missing).into_response();
    };
    let (parts, body) = request.into_parts();
    // The raw bytes: signatures cover them and not the parsed JSON.
    let Ok(body): Result<Bytes, _> = to_bytes(body, MAX_BODY).await else {
        let message = "the request is too large or was interrupted";
        return Refusal(ToolError::new(ErrorCode::TooLarge, message)).into_response();
    };
    let hook = WebhookRequest {
        method: parts.method.as_str(),
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
        body: &body,
        now: gateway.clock.now().0,
    };
    // Verified before anything is stored or answered.
    let hooked = match made.hook(&hook) {
        Ok(hooked) => hooked,
        Err(refusal) => {
            tracing::warn!(
                event = "webhook_rejected",
                channel,
                account,
                reason = refusal.why,
                "webhook rejected"
            );
            // The platform decides by the status whether to retry.
            let status = StatusCode::from_u16(refusal.status.as_u16());
            return (status.unwrap_or(StatusCode::BAD_REQUEST), refusal.why).into_response();
        }
    };
    let kept = gateway.chats().keep(channel, account, hooked.events).await;
    if let Err(error) = kept {
        // The error status makes the platform redeliver.
        tracing::warn!(event = "webhook_persist_failed", channel, account, %error, "failed to persist webhook events; the platform will redeliver");
        return Refusal(error).into_response();
    }
    let content_type = [(header::CONTENT_TYPE, hooked.content_type)];
    (StatusCode::OK, content_type, hooked.body).into_response()
}
