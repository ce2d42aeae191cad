//! The one mapping from error codes to HTTP statuses.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use manyhands_core::{Envelope, ErrorCode, Outcome, ToolError};
use manyhands_store::StoreError;
use serde::Serialize;

/// An error response.
pub struct Refusal(pub ToolError);

/// The result of a handler: a value in an envelope, or an error. The OpenAPI document takes its
/// schemas from this type.
pub type Answer<T> = Result<Answered<T>, Refusal>;

/// A successful response, in an envelope.
pub struct Answered<T>(pub T);

/// Wraps a handler's result.
pub fn answer<T: Serialize>(result: T) -> Answer<T> {
    Ok(Answered(result))
}

impl<T: Serialize> IntoResponse for Answered<T> {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct Good<T> {
            ok: bool,
            result: T,
        }
        Json(Good {
            ok: true,
            result: self.0,
        })
        .into_response()
    }
}

/// Converts a tool call's result to a response.
pub fn respond(result: Result<Outcome, ToolError>) -> Response {
    match result {
        Ok(outcome) => Json(Envelope::from(Ok(outcome))).into_response(),
        Err(error) => Refusal(error).into_response(),
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let error = self.0;
        let status = status(&error);
        let wait = error.retry_after;
        let original = error.clone();
        let mut response = (status, Json(Envelope::from(Err(error)))).into_response();
        // Faces with their own error format (`/v1`) read the original error from here.
        response.extensions_mut().insert(original);
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer realm=\"manyhands\"");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(wait) = wait {
            // Rounded up: a client that retries on the second must not be early.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<ToolError> for Refusal {
    fn from(error: ToolError) -> Self {
        Self(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self(error.into())
    }
}

/// Failures of the model's provider: neither the request nor the gateway is at fault.
const FAULTS_OF_OTHERS: [&str; 2] = ["provider_auth", "provider_bad_request"];

fn status(error: &ToolError) -> StatusCode {
    let failure = error.details.as_ref().and_then(|d| d["failure"].as_str());
    match error.code {
        ErrorCode::Failed if failure.is_some_and(|f| FAULTS_OF_OTHERS.contains(&f)) => {
            StatusCode::BAD_GATEWAY
        }
        ErrorCode::InvalidArguments => StatusCode::BAD_REQUEST,
        ErrorCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorCode::Forbidden | ErrorCode::DeniedByPolicy | ErrorCode::ApprovalDenied => {
            StatusCode::FORBIDDEN
        }
        ErrorCode::UnknownTool | ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::Conflict => StatusCode::CONFLICT,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::Failed => StatusCode::UNPROCESSABLE_ENTITY,
        // 428 and not 403: the same request succeeds once the owner has approved it.
        ErrorCode::ApprovalRequired => StatusCode::PRECONDITION_REQUIRED,
        ErrorCode::RateLimited | ErrorCode::BudgetExceeded => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::Unavailable | ErrorCode::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
