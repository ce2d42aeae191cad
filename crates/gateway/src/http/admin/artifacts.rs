//! Artifacts: the whole of what was too large to show.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::header;
use manyhands_core::{ArtifactId, ErrorCode, Role, ToolError};

use crate::gateway::Gateway;
use crate::http::asker::Asker;
use crate::http::refusal::Refusal;

/// Streams an artifact to whoever made the call behind it, or to the owner.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    Asker(admitted): Asker,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    if admitted.caller.rights.role == Role::Node {
        return Err(Refusal(ToolError::new(
            ErrorCode::Forbidden,
            "a node token cannot read artifacts",
        )));
    }
    let id: ArtifactId = id
        .parse()
        .map_err(|_| Refusal(ToolError::parameter("id", "must be the id of an artifact")))?;
    let artifacts = gateway.store.artifacts();
    let record = artifacts
        .get(id)
        .await?
        .ok_or_else(|| Refusal(ToolError::not_found(format!("there is no artifact {id}"))))?;
    if !admitted.caller.is_owner() && record.caller != admitted.caller.key() {
        return Err(Refusal(ToolError::not_found(format!(
            "there is no artifact {id}"
        ))));
    }
    let stream = artifacts.open(id, None).await?;
    let headers = [
        (header::CONTENT_TYPE, record.mime),
        (header::CONTENT_LENGTH, record.size.to_string()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::CONTENT_DISPOSITION, "attachment".to_owned()),
    ];
    Ok((headers, Body::from_stream(stream)).into_response())
}
