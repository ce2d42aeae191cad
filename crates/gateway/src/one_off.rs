//! Calls that no JSON can make, such as an upload: they take the path like any other.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use manyhands_core::{CallContext, CallRequest, Invoke as _, Outcome, Tool, ToolError, ToolSpec};
use serde_json::{Value, json};

use crate::auth::Admitted;
use crate::gateway::Gateway;

/// What a one-off call does to what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stores {
    /// It adds something, so it needs room.
    More,
    /// It only removes something, so it is allowed when storage is full.
    Less,
}

type Work = dyn FnOnce(CallContext) -> BoxFuture<'static, Result<Outcome, ToolError>> + Send;

/// A tool for one call, under the spec of one in the catalogue.
struct OneOff {
    spec: ToolSpec,
    work: Mutex<Option<Box<Work>>>,
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
    /// Does `work` as a call of `request.tool`: with the rights, rules, approvals, budget and audit of
    /// that tool. The request's arguments are what rules and the owner see.
    pub async fn invoke_once(
        &self,
        asker: &Admitted,
        request: CallRequest,
        stores: Stores,
        work: impl FnOnce(CallContext) -> BoxFuture<'static, Result<Outcome, ToolError>>
        + Send
        + 'static,
    ) -> Result<Outcome, ToolError> {
        let catalogue = self.path.catalogue();
        let tool = catalogue.resolve(&request.tool).ok_or_else(|| {
            let message = format!("{} is switched off", request.tool);
            ToolError::new(manyhands_core::ErrorCode::Unavailable, message)
        })?;
        let mut spec = tool.spec().clone();
        spec.input_schema = Arc::new(json!({ "type": "object" }));
        spec.frees = stores == Stores::Less;
        let tool = Arc::new(OneOff {
            spec,
            work: Mutex::new(Some(Box::new(work))),
        });
        tokio::select! {
            biased;
            refusal = self.doorman.lapsed(asker) => Err(refusal),
            outcome = self.path.invoke_with(tool, request) => outcome,
        }
    }
}
