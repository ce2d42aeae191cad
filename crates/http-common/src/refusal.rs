//! How errors become responses: the one mapping from codes to statuses.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use manyhands_core::{Envelope, ErrorCode, Outcome, ToolError};
use manyhands_store::StoreError;
use serde::Serialize;

/// An error on its way out.
pub struct Refusal(pub ToolError);

/// The answer of a handler: a result in an envelope, or a refusal. The document has its shape from here.
pub type Answer<T> = Result<Answered<T>, Refusal>;

/// A result on its way out, in an envelope.
pub struct Answered<T>(pub T);

/// Wraps a result.
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

/// An outcome as a response.
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
        let told = error.clone();
        let mut response = (status, Json(Envelope::from(Err(error)))).into_response();
        response.extensions_mut().insert(told); // for faces that say it in a shape of their own
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer realm=\"manyhands\"");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(wait) = wait {
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

/// Neither the request nor this house is wrong, but somebody on whom it relies.
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
        ErrorCode::ApprovalRequired => StatusCode::PRECONDITION_REQUIRED,
        ErrorCode::RateLimited | ErrorCode::BudgetExceeded => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::Unavailable | ErrorCode::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
