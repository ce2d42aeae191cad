//! The methods a client may call. Whatever touches tools or files goes down the path.

use manyhands_core::{AgentId, CallRequest, Envelope, ErrorCode, Invoke, Outcome, ToolError};
use manyhands_wire::{
    Code, ConfigGetParams, ConfigSetParams, ConfigSetResult, ErrorShape, Method, Request,
    ToolDefinition, ToolInvokeParams, ToolsListResult, WorkspaceDeleteParams, WorkspaceListParams,
    WorkspaceReadParams, WorkspaceWriteParams,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::connect::number;
use crate::doorman::Admitted;
use crate::gateway::Gateway;
use crate::listing;

/// Answers one request.
pub(super) async fn answer(
    gateway: &Gateway,
    asker: &Admitted,
    request: Request,
) -> Result<Value, ErrorShape> {
    let Some(method) = Method::from_name(&request.method) else {
        let message = format!(
            "there is no method {:?}; hello-ok lists what there is",
            request.method
        );
        return Err(ErrorShape::new(Code::NotFound, message));
    };
    let params = request.params.unwrap_or_else(|| json!({}));
    let asked = Asked { gateway, asker };
    match method {
        Method::Connect => Err(ErrorShape::new(
            Code::BadConnect,
            "this socket is connected already",
        )),
        Method::ToolsList => value(&asked.tools()),
        Method::ToolInvoke => {
            let params: ToolInvokeParams = parse(params)?;
            let arguments = json!(params.args.unwrap_or_default());
            let outcome = asked.call(&params.tool, arguments, params.agent_id).await?;
            value(&Envelope::from(Ok(outcome)))
        }
        Method::ConfigGet => {
            let params: ConfigGetParams = parse(params)?;
            asked
                .tool("gsv__ConfigGet", json!({ "path": params.path }), None)
                .await
        }
        Method::ConfigSet => {
            let ConfigSetParams { path, value: new } = parse(params)?;
            asked.must_be_owner()?;
            let set = gateway.set_config(&asker.caller, &path, new).await;
            let needs_restart = set.map_err(shape)?;
            value(&ConfigSetResult {
                ok: true,
                path,
                needs_restart,
            })
        }
        Method::WorkspaceList => {
            let params: WorkspaceListParams = parse(params)?;
            let path = params.path.unwrap_or_default();
            let directory = format!("{}/", path.trim_end_matches('/'));
            asked
                .tool(
                    "gsv__ReadFile",
                    json!({ "path": directory }),
                    params.agent_id,
                )
                .await
        }
        Method::WorkspaceRead => {
            let params: WorkspaceReadParams = parse(params)?;
            asked
                .tool(
                    "gsv__ReadFile",
                    json!({ "path": params.path }),
                    params.agent_id,
                )
                .await
        }
        Method::WorkspaceWrite => {
            let params: WorkspaceWriteParams = parse(params)?;
            let arguments = json!({ "path": params.path, "content": params.content });
            asked
                .tool("gsv__WriteFile", arguments, params.agent_id)
                .await
        }
        Method::WorkspaceDelete => {
            let params: WorkspaceDeleteParams = parse(params)?;
            asked
                .tool(
                    "gsv__DeleteFile",
                    json!({ "path": params.path }),
                    params.agent_id,
                )
                .await
        }
    }
}

struct Asked<'a> {
    gateway: &'a Gateway,
    asker: &'a Admitted,
}

impl Asked<'_> {
    fn tools(&self) -> ToolsListResult {
        let tools = listing::for_caller(&self.gateway.path.catalogue(), &self.asker.caller);
        let define = |tool: listing::ToolListing| ToolDefinition {
            name: tool.name,
            description: tool.description,
            input_schema: tool.input_schema,
        };
        ToolsListResult {
            tools: tools.into_iter().map(define).collect(),
        }
    }

    async fn tool(
        &self,
        tool: &str,
        arguments: Value,
        agent: Option<String>,
    ) -> Result<Value, ErrorShape> {
        self.call(tool, arguments, agent)
            .await
            .map(|outcome| outcome.value)
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Value,
        agent: Option<String>,
    ) -> Result<Outcome, ErrorShape> {
        let mut request = CallRequest::new(tool, arguments, self.asker.caller.clone());
        if let Some(agent) = agent {
            let parsed = agent.parse::<AgentId>();
            request.agent =
                parsed.map_err(|e| shape(ToolError::parameter("agentId", e.to_string())))?;
        }
        self.gateway
            .invoke(self.asker, request)
            .await
            .map_err(shape)
    }

    fn must_be_owner(&self) -> Result<(), ErrorShape> {
        if self.asker.caller.is_owner() {
            return Ok(());
        }
        Err(shape(ToolError::new(
            ErrorCode::Forbidden,
            "only the owner changes the configuration",
        )))
    }
}

fn parse<T: DeserializeOwned>(params: Value) -> Result<T, ErrorShape> {
    serde_json::from_value(params)
        .map_err(|e| ErrorShape::new(Code::BadRequest, format!("params: {e}")))
}

fn value(result: &impl Serialize) -> Result<Value, ErrorShape> {
    serde_json::to_value(result).map_err(|e| ErrorShape::new(Code::Internal, e.to_string()))
}

/// One of our errors as the wire says it, with the whole of it in the details.
pub(super) fn shape(error: ToolError) -> ErrorShape {
    let mut shape = ErrorShape::new(number(error.code), error.text());
    shape.retryable = Some(error.code.retryable());
    shape.details = serde_json::to_value(Envelope::from(Err(error))).ok();
    shape
}
