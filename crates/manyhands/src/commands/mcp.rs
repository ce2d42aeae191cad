//! `mcp`: the tools of a gateway over standard input and output.

use std::process::ExitCode;
use std::sync::Arc;

use manyhands_core::Envelope;
use manyhands_gateway::ToolListing;
use manyhands_gateway::mcp::{self, ErrorData, Hands, RequestContext, RoleServer};
use serde_json::Value;

use super::call::name;
use crate::ground::Ground;
use crate::output::{Done, Failure};
use crate::remote::Remote;

/// A gateway elsewhere.
#[derive(Clone)]
struct There(Arc<Remote>);

impl Hands for There {
    async fn list(&self, _: &RequestContext<RoleServer>) -> Result<Vec<ToolListing>, ErrorData> {
        let listed = self.0.get("/api/tools").await;
        let listed = listed.map_err(|e| ErrorData::internal_error(e.0, None))?;
        serde_json::from_value(listed["tools"].clone())
            .map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }

    async fn call(
        &self,
        tool: String,
        arguments: Value,
        _: &RequestContext<RoleServer>,
    ) -> Result<Envelope, ErrorData> {
        Ok(self
            .0
            .post(&format!("/api/tools/{}", name(&tool)), &arguments)
            .await)
    }
}

/// Serves until the client closes its end.
pub async fn run(ground: &Ground) -> Done {
    let remote = Arc::new(ground.remote()?);
    remote.get("/api/tools").await?; // a gateway that is not there is said at once
    mcp::serve_stdio(There(remote)).await.map_err(Failure)?;
    Ok(ExitCode::SUCCESS)
}
