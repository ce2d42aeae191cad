//! Errors in the formats of OpenAI and Anthropic. All errors under `/v1` are converted here, so
//! that no other code has to know these formats.

use axum::Json;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, header};
use manyhands_core::{ErrorCode, ToolError};
use serde_json::{Value, json};

/// Converts errors under `/v1` to the format of the endpoint.
pub async fn convert_errors(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let shape: fn(&ToolError) -> Value = match path {
        "/v1/messages" | "/v1/messages/count_tokens" => anthropic,
        _ if path.starts_with("/v1/") => openai,
        _ => return next.run(request).await,
    };
    let response = next.run(request).await;
    let error = response.extensions().get::<ToolError>().cloned();
    match error {
        Some(error) => translated(response, &error, shape(&error)),
        None => response,
    }
}

fn translated(response: Response, error: &ToolError, shape: Value) -> Response {
    let (mut parts, _) = response.into_parts();
    // Both describe the body that is replaced.
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::CONTENT_TYPE);
    if error.code != ErrorCode::RateLimited || had_effects(error) {
        // The run may have had effects, so clients must not retry it automatically.
        let name = HeaderName::from_static("x-should-retry");
        parts
            .headers
            .insert(name, HeaderValue::from_static("false"));
    }
    let mut fresh = (parts.status, Json(shape)).into_response();
    for (name, value) in &parts.headers {
        fresh.headers_mut().append(name, value.clone());
    }
    fresh
}

/// Whether tools were called before a run failed.
fn had_effects(error: &ToolError) -> bool {
    error.details.as_ref().is_some_and(|d| d["acted"] == true)
}

/// Failure kind of a run, if it failed.
fn failure(error: &ToolError) -> Option<&str> {
    error.details.as_ref()?["failure"].as_str()
}

/// An error in Anthropic's format.
pub(super) fn anthropic(error: &ToolError) -> Value {
    let kind = match error.code {
        ErrorCode::Unauthenticated => "authentication_error",
        ErrorCode::InvalidArguments => "invalid_request_error",
        ErrorCode::NotFound => "not_found_error",
        ErrorCode::TooLarge if failure(error) == Some("context_overflow") => {
            "invalid_request_error"
        }
        ErrorCode::TooLarge => "request_too_large",
        ErrorCode::Forbidden => "permission_error",
        ErrorCode::RateLimited => "rate_limit_error",
        ErrorCode::BudgetExceeded => "billing_error",
        ErrorCode::DeadlineExceeded => "timeout_error",
        ErrorCode::Unavailable => "overloaded_error",
        _ => "api_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": error.text() } })
}

/// An error in OpenAI's format.
pub(super) fn openai(error: &ToolError) -> Value {
    const WRONG: &str = "invalid_request_error";
    let no_model = error
        .details
        .as_ref()
        .is_some_and(|d| d["model"].is_string());
    let (kind, code) = match error.code {
        ErrorCode::TooLarge if failure(error) == Some("context_overflow") => {
            (WRONG, "context_length_exceeded")
        }
        ErrorCode::Failed if failure(error) == Some("refused") => (WRONG, "content_filter"),
        ErrorCode::Unauthenticated => (WRONG, "invalid_api_key"),
        ErrorCode::InvalidArguments => (WRONG, "invalid_value"),
        ErrorCode::NotFound if no_model => (WRONG, "model_not_found"),
        ErrorCode::NotFound => (WRONG, "not_found"),
        ErrorCode::TooLarge => (WRONG, "request_too_large"),
        ErrorCode::Forbidden => ("permission_error", "forbidden"),
        ErrorCode::RateLimited => ("rate_limit_error", "rate_limit_exceeded"),
        ErrorCode::BudgetExceeded => ("insufficient_quota", "insufficient_quota"),
        other => ("server_error", failure(error).unwrap_or(other.as_str())),
    };
    let message = match error.code {
        // Some clients recognise an invalid key only by these words.
        ErrorCode::Unauthenticated => format!("Incorrect API key provided: {}", error.text()),
        _ => error.text(),
    };
    let problem = error.problems.first().map(|p| p.parameter.as_str());
    json!({
        "error": {
            "message": message,
            "type": kind,
            "param": problem.or(no_model.then_some("model")),
            "code": code,
        },
    })
}
