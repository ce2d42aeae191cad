//! Administration over HTTP, mostly for the owner. Each change is recorded in the audit log.

pub mod agents;
pub mod approvals;
pub mod artifacts;
pub mod audit;
pub mod branch;
pub mod calls;
pub mod channels;
pub mod config;
pub mod connections;
pub mod delete;
pub mod doctor;
pub mod mail;
pub mod memory;
pub mod models;
pub mod nodes;
pub mod people;
pub mod pictures;
pub mod policy;
pub mod provider_presets;
pub mod resources;
pub mod rewind;
pub mod schema;
pub mod search;
pub mod secrets;
pub mod servers;
pub mod sessions;
pub mod skills;
pub mod tokens;
pub mod transcribe;
pub mod trust;

use axum::extract::Query;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use manyhands_core::{ErrorCode, ToolError};
use manyhands_http_common::Refusal;

use super::object::JsonBody;

/// The request body, or why it is invalid.
pub(super) fn body<T>(body: Result<impl JsonBody<T>, JsonRejection>) -> Result<T, Refusal> {
    body.map(JsonBody::held)
        .map_err(|e| Refusal(ToolError::new(ErrorCode::InvalidArguments, e.body_text())))
}

/// The query, or why it is invalid.
pub(super) fn query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Refusal> {
    query
        .map(|Query(value)| value)
        .map_err(|e| Refusal(ToolError::new(ErrorCode::InvalidArguments, e.body_text())))
}
