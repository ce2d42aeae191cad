//! Health checks over HTTP.

use std::sync::Arc;

use axum::extract::State;
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, answer};
use schemars::JsonSchema;
use serde::Serialize;

use crate::doctor::Finding;

/// The findings of all checks.
#[derive(Serialize, JsonSchema)]
pub struct Findings {
    /// One or more per check.
    findings: Vec<Finding>,
}

/// Runs all checks of a running gateway; takes a few seconds at most.
pub async fn diagnose(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<Findings> {
    let findings = crate::doctor::diagnose(&gateway).await;
    answer(Findings { findings })
}
