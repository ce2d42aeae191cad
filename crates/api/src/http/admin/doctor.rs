//! Whether all is in order, as the gateway sees it.

use std::sync::Arc;

use axum::extract::State;
use manyhands_gateway::Gateway;
use manyhands_http_common::{Answer, Owner, answer};
use schemars::JsonSchema;
use serde::Serialize;

use crate::doctor::Finding;

/// What was found.
#[derive(Serialize, JsonSchema)]
pub struct Findings {
    /// One for each thing that was looked at; some things have several.
    findings: Vec<Finding>,
}

/// Looks at everything that can be asked of a running gateway; it takes some seconds at most.
pub async fn look(State(gateway): State<Arc<Gateway>>, _: Owner) -> Answer<Findings> {
    let findings = crate::doctor::look(&gateway).await;
    answer(Findings { findings })
}
