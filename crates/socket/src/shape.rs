//! Conversion of parameters, results and errors to the wire format.

use manyhands_core::{Envelope, ErrorCode, ToolError};
use manyhands_wire::{Code, ErrorShape};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) fn parse<T: DeserializeOwned>(params: Value) -> Result<T, ErrorShape> {
    serde_json::from_value(params)
        .map_err(|e| ErrorShape::new(Code::BadRequest, format!("params: {e}")))
}

pub(super) fn value(result: &impl Serialize) -> Result<Value, ErrorShape> {
    serde_json::to_value(result).map_err(|e| ErrorShape::new(Code::Internal, e.to_string()))
}

/// Converts an error to its wire format, with the full envelope in the details.
pub(super) fn shape(error: ToolError) -> ErrorShape {
    let mut shape = ErrorShape::new(number(error.code), error.text());
    shape.retryable = Some(error.code.retryable());
    shape.details = serde_json::to_value(Envelope::from(Err(error))).ok();
    shape
}

/// Maps an error code to its number on the wire.
fn number(code: ErrorCode) -> Code {
    match code {
        ErrorCode::InvalidArguments | ErrorCode::TooLarge => Code::BadRequest,
        ErrorCode::Unauthenticated => Code::Unauthenticated,
        ErrorCode::Forbidden
        | ErrorCode::DeniedByPolicy
        | ErrorCode::ApprovalRequired
        | ErrorCode::ApprovalDenied => Code::Forbidden,
        ErrorCode::UnknownTool | ErrorCode::NotFound => Code::NotFound,
        ErrorCode::Conflict => Code::Conflict,
        ErrorCode::RateLimited
        | ErrorCode::BudgetExceeded
        | ErrorCode::Unavailable
        | ErrorCode::StorageFull => Code::Unavailable,
        ErrorCode::DeadlineExceeded => Code::Timeout,
        ErrorCode::Cancelled | ErrorCode::Failed | ErrorCode::Internal => Code::Internal,
    }
}
