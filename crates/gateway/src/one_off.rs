//! Calls whose input is not JSON, such as uploads; they take the path like any other.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use manyhands_core::{CallContext, CallRequest, Invoke as _, Outcome, Tool, ToolError, ToolSpec};
use serde_json::{Value, json};

use crate::auth::Admitted;
use crate::gateway::Gateway;

/// How a one-off call changes the amount of stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stores {
    /// Adds data, so it needs free space.
    More,
    /// Only removes data, so it is allowed when storage is full.
    Less,
}

type OneOffWork = dyn FnOnce(CallContext) -> BoxFuture<'static, Result<Outcome, ToolError>> + Send;

/// A tool for a single call, with the spec of a tool in the catalogue.
struct OneOff {
    spec: ToolSpec,
    work: Mutex<Option<Box<OneOffWork>>>,
}

#[async_trait]
impl Tool for OneOff {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _: Value, context: &CallContext) -> Result<Outcome, ToolError> {
        let work = self.work.lock().expect("no panic while held").take();
        match work {
            Some(work) => work(context.clone()).await,
            None => Err(ToolError::internal("a one-off call was made twice")),
        }
    }
}

impl Gateway {
    /// Runs `work` as a call of `request.tool`, with that tool's rights, rules, approvals, budget
    /// and audit. Rules and the owner see the request's arguments.
    pub async fn invoke_once(
        &self,
        admitted: &Admitted,
        request: CallRequest,
        stores: Stores,
        work: impl FnOnce(CallContext) -> BoxFuture<'static, Result<Outcome, ToolError>>
        + Send
        + 'static,
    ) -> Result<Outcome, ToolError> {
        let catalogue = self.path.catalogue();
        let tool = catalogue.resolve(&request.tool).ok_or_else(|| {
            let message = format!("{} is disabled", request.tool);
            ToolError::new(manyhands_core::ErrorCode::Unavailable, message)
        })?;
        let mut spec = tool.spec().clone();
        // The arguments only describe the call to rules and the owner, so any object is valid.
        spec.input_schema = Arc::new(json!({ "type": "object" }));
        spec.frees_storage = stores == Stores::Less;
        let tool = Arc::new(OneOff {
            spec,
            work: Mutex::new(Some(Box::new(work))),
        });
        tokio::select! {
            biased;
            refusal = self.auth.lapsed(admitted) => Err(refusal),
            outcome = self.path.invoke_with(tool, request) => outcome,
        }
    }
}
