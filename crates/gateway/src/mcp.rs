//! The MCP face: the same catalogue and the same path, spoken as MCP.
//!
//! One handler serves both transports. Over HTTP it asks the path in this process; over
//! stdio it asks a gateway elsewhere. Requests are served without sessions, so no state is
//! shared between clients and a request means the same whichever replica it reaches.

use std::future::Future;
use std::sync::Arc;

use manyhands_core::{CallRequest, ContentBlock as Block, Effect, Envelope, ErrorCode, Invoke};
pub use rmcp::ErrorData;
use rmcp::ServiceExt;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, Resource, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
pub use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use crate::doorman::Admitted;
use crate::gateway::Gateway;
use crate::listing::{self, ToolListing};

/// What the face asks: the catalogue and the path, here or elsewhere.
pub trait Hands: Clone + Send + Sync + 'static {
    /// The tools the asker may call.
    fn list(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<Vec<ToolListing>, ErrorData>> + Send;
    /// Calls one.
    fn call(
        &self,
        tool: String,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<Envelope, ErrorData>> + Send;
}

/// The handler over some hands.
#[derive(Clone)]
pub struct McpFace<H>(pub H);

impl<H: Hands> ServerHandler for McpFace<H> {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("manyhands", env!("CARGO_PKG_VERSION"));
        info.instructions = Some("Tools of a Manyhands gateway. A call that needs the owner's approval says so; make the same call again once it is given.".to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.list(&context).await?;
        Ok(ListToolsResult::with_all_items(
            tools.into_iter().map(describe).collect(),
        ))
    }

    // The defaults would answer with empty lists, and so claim what is not declared.
    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let name = request.name.into_owned();
        let cancelled = context.ct.clone();
        let envelope = tokio::select! {
            envelope = self.0.call(name.clone(), arguments, &context) => envelope?,
            () = cancelled.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
        };
        if envelope.code == Some(ErrorCode::UnknownTool) {
            let message = envelope.error.unwrap_or_default();
            return Err(ErrorData::invalid_params(message, None));
        }
        Ok(CallToolResponse::from(outcome(envelope)))
    }
}

fn describe(listing: ToolListing) -> Tool {
    let has = |effect: Effect| listing.effects.contains(&effect);
    let mut annotations = ToolAnnotations::default();
    let looks_only = listing.effects == [Effect::Reads];
    annotations.read_only_hint = Some(looks_only);
    annotations.destructive_hint = Some(!looks_only);
    annotations.open_world_hint =
        Some(has(Effect::Leaves) || has(Effect::Sends) || has(Effect::Runs));
    let mut tool = Tool::new(
        listing.wire_name,
        listing.description,
        object(listing.input_schema),
    );
    tool.output_schema = listing.output_schema.and_then(output_schema).map(Arc::new);
    tool.annotations = Some(annotations);
    tool
}

fn object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}

/// Clients before 2026-07-28 take only schemas of objects; one of several shapes is an object too.
fn output_schema(schema: Value) -> Option<JsonObject> {
    let mut schema = object(schema);
    schema.entry("type").or_insert_with(|| "object".into());
    (schema["type"] == "object").then_some(schema)
}

/// An envelope as MCP says it: the value as structured content and as text, or an error with the same text.
fn outcome(envelope: Envelope) -> CallToolResult {
    if let Some(error) = envelope.error {
        return CallToolResult::error(vec![ContentBlock::text(error)]);
    }
    let value = envelope.result.unwrap_or_default();
    let mut content = vec![ContentBlock::text(value.to_string())];
    content.extend(envelope.content.into_iter().map(block));
    let mut result = CallToolResult::success(content);
    if value.is_object() {
        result.structured_content = Some(value);
    }
    result
}

fn block(block: Block) -> ContentBlock {
    match block {
        Block::Text { text } => ContentBlock::text(text),
        Block::Image { data, mime_type } => ContentBlock::image(data, mime_type),
        Block::ResourceLink {
            uri,
            name,
            mime_type,
            size,
        } => {
            let mut link = Resource::new(uri, name);
            link.mime_type = mime_type;
            link.size = size;
            ContentBlock::ResourceLink(link)
        }
    }
}

/// The path of this process.
#[derive(Clone)]
pub(crate) struct Here(Arc<Gateway>);

impl Here {
    fn asker(context: &RequestContext<RoleServer>) -> Result<Admitted, ErrorData> {
        let parts = context.extensions.get::<http::request::Parts>();
        let admitted = parts.and_then(|parts| parts.extensions.get::<Admitted>());
        admitted
            .cloned()
            .ok_or_else(|| ErrorData::internal_error("nobody was let in", None))
    }
}

impl Hands for Here {
    async fn list(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Vec<ToolListing>, ErrorData> {
        let asker = Self::asker(context)?;
        Ok(listing::for_caller(&self.0.path.catalogue(), &asker.caller))
    }

    async fn call(
        &self,
        tool: String,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Envelope, ErrorData> {
        let asker = Self::asker(context)?;
        let request = CallRequest::new(tool, arguments, asker.caller.clone());
        Ok(Envelope::from(self.0.invoke(&asker, request).await))
    }
}

/// The Streamable HTTP transport. Host and Origin were checked at the door.
pub(crate) type HttpService = StreamableHttpService<McpFace<Here>, NeverSessionManager>;

/// Serves `/mcp`.
pub(crate) fn service(gateway: &Arc<Gateway>) -> HttpService {
    let face = McpFace(Here(gateway.clone()));
    let limit =
        usize::try_from(gateway.settings.current().limits.request_bytes).unwrap_or(usize::MAX);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .with_max_request_body_bytes(limit);
    StreamableHttpService::new(move || Ok(face.clone()), Arc::default(), config)
}

/// Serves MCP over standard input and output until the client closes them.
pub async fn serve_stdio<H: Hands>(hands: H) -> Result<(), String> {
    let running = McpFace(hands)
        .serve(rmcp::transport::stdio())
        .await
        .map_err(|e| e.to_string())?;
    running.waiting().await.map(drop).map_err(|e| e.to_string())
}
