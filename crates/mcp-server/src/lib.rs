//! The MCP face: the catalogue and the call path, served over MCP.
//!
//! One handler serves both transports. Over HTTP it calls the path in this process; over stdio it
//! calls a remote gateway. Session ids of older clients are signed and carry no stored state, so a
//! request works on whichever replica it reaches.
//!
//! Clients are notified when tools change: since 2026-07-28 through `subscriptions/listen`, before
//! that on the stream of `GET /mcp`, and over stdio automatically.
//!
//! - **`/mcp`** offers a small surface (discovery, artifacts, code) unless a profile says otherwise; everything else is found and called through it.
//! - **`/mcp/{server}`** is one server unchanged. Both sides speak the protocol era they know: sessions, or stateless requests. A server that
//!   knows both is reached in the caller's era, over a second connection opened for the first older client. Requests that a server makes go to the
//!   client whose call caused them; a call of a modern client pauses for them between two requests. Messages stay JSON values, so that unknown
//!   fields survive.

mod changes;
mod gate;
mod message;
mod passthrough;
mod sessions;
mod stream;
mod trace;

use std::future::Future;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawQuery, Request};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http::HeaderMap;
use manyhands_core::{
    CallRequest, ContentBlock as Block, Effect, Envelope, ErrorCode, Invoke, ToolError, content_of,
};
pub use rmcp::ErrorData;
use rmcp::ServiceExt;
use rmcp::handler::server::ServerHandler;
pub use rmcp::model::Extensions;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode as RpcCode, Implementation, InitializeRequestParams, JsonObject,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, Resource, ServerCapabilities, ServerConfig, SubscriptionFilter,
    SubscriptionsListenRequestParams, Tool, ToolAnnotations,
};
use rmcp::service::{Peer, SubscriptionContext};
pub use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio::io::{AsyncRead, DuplexStream, copy, duplex, stdin, stdout};
use tokio_util::sync::CancellationToken;

pub use passthrough::route as pass_route;

use manyhands_gateway::listing::{self, Surface, ToolListing};
use manyhands_gateway::{Admitted, Gateway};

use changes::ChangeFeed;
use sessions::SignedSessions;

/// Yields an item each time the set of callable tools changes.
pub type Changes = BoxStream<'static, ()>;

/// Where the face lists and calls tools: in this process or at a remote gateway.
pub trait Hands: Clone + Send + Sync + 'static {
    /// Lists the tools the caller may use.
    fn list(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<Vec<ToolListing>, ErrorData>> + Send;
    /// Calls a tool.
    fn call(
        &self,
        tool: String,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<Envelope, ErrorData>> + Send;
    /// Changes of the caller's tool list, until its token lapses.
    fn changes(&self, extensions: &Extensions) -> Result<Changes, ErrorData>;
}

/// Instructions a client's model receives before its first call.
const INSTRUCTIONS: &str = "\
Tools of a Manyhands gateway. Only the most common ones are listed here; many more are found and called in three steps:
1. capabilities_discover: describe the task in plain words. It returns the names of tools with their server, and connections with their PCID.
2. capability_details: pass the names it returned. It returns each tool's inputSchema and outputSchema; do not guess arguments.
3. gateway_invoke: pass server, tool and arguments as the details show them, for one call. Use code-execution_execute instead for several calls \
or for large results: its callTool(server, tool, args) calls the same tools, and long results are saved as artifacts.
Large results are cut and saved whole: read on with gateway_read_artifact and the artifactId in the result.
A call that needs the owner's approval fails with approval_required and an approval id: make the same call again once it is approved.";

/// The MCP handler.
#[derive(Clone)]
struct McpFace<H> {
    hands: H,
    /// Fires when the client is about to disconnect.
    leaving: CancellationToken,
}

impl<H: Hands> ServerHandler for McpFace<H> {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(
            ServerCapabilities::builder()
                .enable_tools()
                .enable_tool_list_changed()
                .build(),
        );
        info.server_info = Implementation::new("manyhands", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // All tools are on one page, so no cursor was ever given out.
        if page.is_some_and(|page| page.cursor.is_some()) {
            return Err(ErrorData::invalid_params(message::UNKNOWN_CURSOR, None));
        }
        let span = trace::of_request("tools/list", &context);
        let tools = span.run(self.hands.list(&context)).await?;
        Ok(ListToolsResult::with_all_items(
            tools.into_iter().map(describe).collect(),
        ))
    }

    /// Handles requests that are not part of the protocol or whose parameters are invalid.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        match wrong_params(method, request.params.unwrap_or_default()) {
            Some(why) => Err(ErrorData::invalid_params(why, None)),
            None => {
                // Quoted from the client, who may send anything.
                let shown: String = method.chars().take(100).collect();
                let message = format!("Method not found: {shown}");
                Err(ErrorData::new(RpcCode::METHOD_NOT_FOUND, message, None))
            }
        }
    }

    // The default handlers return empty lists, which would claim capabilities that are not
    // declared.
    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

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
        // Not named after the tool before it is found: clients could invent any number of names.
        let mut span = trace::of_request("tools/call", &context);
        let envelope = tokio::select! {
            envelope = span.run(self.hands.call(name.clone(), arguments, &context)) => envelope?,
            () = cancelled.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
        };
        // MCP reports an unknown tool as an error of the request and all others in the result.
        if envelope.code == Some(ErrorCode::UnknownTool) {
            let message = envelope.error.unwrap_or_default();
            return Err(ErrorData::invalid_params(message, None));
        }
        trace::name_tool(&mut span, &name);
        if let Some(code) = envelope.code {
            span.fail(code.as_str());
        }
        Ok(CallToolResponse::from(outcome(envelope)))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // The caller removes what is not declared.
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let extensions = &subscription.request_context().extensions;
        let mut changes = self.hands.changes(extensions)?;
        // A subscription to nothing still stays open until the client ends it.
        let wanted = subscription.accepted().tools_list_changed == Some(true);
        loop {
            let change = tokio::select! {
                change = changes.next() => change,
                () = subscription.cancelled() => None,
                () = self.leaving.cancelled() => None,
            };
            if change.is_none() {
                return Ok(());
            }
            if wanted
                && subscription
                    .sink()
                    .notify_tool_list_changed()
                    .await
                    .is_err()
            {
                return Ok(()); // the client disconnected
            }
        }
    }
}

/// Describes what is wrong with the parameters of a supported method.
fn wrong_params(method: &str, params: Value) -> Option<String> {
    let wrong = match method {
        "tools/call" if !params["name"].is_string() => {
            return Some("name: must be the name of a tool".to_owned());
        }
        "tools/call" if !matches!(&params["arguments"], Value::Null | Value::Object(_)) => {
            return Some("arguments: must be an object".to_owned());
        }
        "tools/call" => serde_json::from_value::<CallToolRequestParams>(params).err(),
        "tools/list" => serde_json::from_value::<PaginatedRequestParams>(params).err(),
        "initialize" => serde_json::from_value::<InitializeRequestParams>(params).err(),
        "subscriptions/listen" => {
            serde_json::from_value::<SubscriptionsListenRequestParams>(params).err()
        }
        "ping" | "server/discover" => None,
        // For other methods the method itself is wrong, not its parameters.
        _ => return None,
    };
    let why = wrong.map_or_else(|| "invalid".to_owned(), |error| error.to_string());
    Some(format!("params of {method}: {why}"))
}

fn describe(listing: ToolListing) -> Tool {
    let has = |effect: Effect| listing.effects.contains(&effect);
    let mut annotations = ToolAnnotations::default();
    // Both hints are always given, because clients assume the worst without them.
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
    // Clients reject a result that does not match its schema, and an API document does not bind the
    // service it describes.
    let promised = !listing.runs_on.starts_with("server dynamic/");
    let schema = listing.output_schema.filter(|_| promised);
    tool.output_schema = schema.and_then(output_schema).map(Arc::new);
    tool.annotations = Some(annotations);
    tool
}

fn object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}

/// Clients before 2026-07-28 accept only object schemas; a union of objects counts as one.
fn output_schema(schema: Value) -> Option<JsonObject> {
    let mut schema = object(schema);
    schema.entry("type").or_insert_with(|| "object".into());
    (schema["type"] == "object").then_some(schema)
}

/// The result of a call as a JSON value.
fn result_value(envelope: Envelope) -> Value {
    serde_json::to_value(outcome(envelope)).unwrap_or_default()
}

/// Converts an envelope to an MCP result: the value as structured content and as text, or an error
/// with its text.
fn outcome(envelope: Envelope) -> CallToolResult {
    if let Some(error) = envelope.error {
        return CallToolResult::error(vec![ContentBlock::text(error)]);
    }
    let value = envelope.result.unwrap_or_default();
    if let Some(shown) = content_of(&value) {
        return CallToolResult::success(shown.into_iter().map(block).collect());
    }
    // Strings are sent as they are: quoted as JSON, a model would read line breaks as \n.
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut content = vec![ContentBlock::text(text)];
    content.extend(envelope.content.into_iter().map(block));
    let mut result = CallToolResult::success(content);
    // Structured content has to be an object.
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

/// Tools of this process.
#[derive(Clone)]
struct LocalHands {
    feed: Arc<ChangeFeed>,
    /// Number of the last change of the catalogue before the request arrived.
    change: u64,
}

impl LocalHands {
    fn now(feed: &Arc<ChangeFeed>) -> Self {
        Self {
            change: feed.change(),
            feed: feed.clone(),
        }
    }

    fn gateway(&self) -> &Gateway {
        &self.feed.gateway
    }

    /// The tool profile the request asks for.
    fn surface(&self, extensions: &Extensions) -> Result<Surface, ErrorData> {
        let parts = extensions.get::<http::request::Parts>();
        let query = parts.and_then(|parts| parts.uri.query());
        surface(self.gateway(), query).map_err(|e| ErrorData::invalid_params(e.text(), None))
    }

    fn admitted(extensions: &Extensions) -> Result<Admitted, ErrorData> {
        let parts = extensions.get::<http::request::Parts>();
        let admitted = parts.and_then(|parts| parts.extensions.get::<Admitted>());
        admitted
            .cloned()
            .ok_or_else(|| ErrorData::internal_error("the request was not authenticated", None))
    }
}

impl Hands for LocalHands {
    async fn list(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Vec<ToolListing>, ErrorData> {
        let admitted = Self::admitted(&context.extensions)?;
        let surface = self.surface(&context.extensions)?;
        let catalogue = self.gateway().path.catalogue();
        Ok(listing::for_caller(
            &*self.gateway().path,
            &catalogue,
            &admitted.caller,
            &surface,
        ))
    }

    async fn call(
        &self,
        tool: String,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Envelope, ErrorData> {
        let admitted = Self::admitted(&context.extensions)?;
        let request = CallRequest::new(tool, arguments, admitted.caller.clone());
        Ok(Envelope::from(
            self.gateway().invoke(&admitted, request).await,
        ))
    }

    fn changes(&self, extensions: &Extensions) -> Result<Changes, ErrorData> {
        let admitted = Self::admitted(extensions)?;
        let surface = self.surface(extensions)?;
        let view = self.feed.view(&admitted.caller, &surface);
        // The client was promised notifications from the moment of its request, so a change since
        // then is reported.
        let known = (self.feed.change() == self.change).then_some(view);
        let views = self.feed.follow(admitted, surface, known);
        let views = views.map_err(|e| ErrorData::internal_error(e.text(), None))?;
        Ok(views.map(drop).boxed())
    }
}

/// The surface named by the `profile` query parameter, or the default of the settings.
fn surface(gateway: &Gateway, query: Option<&str>) -> Result<Surface, ToolError> {
    let mut pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let named = pairs
        .find(|(key, _)| key == "profile")
        .map(|(_, name)| name);
    Surface::named(&gateway.settings.current(), named.as_deref())
}

/// Serves `/mcp` to authenticated requests. Host and Origin have been checked before.
pub fn route<R: IntoResponse + 'static>(
    gateway: &Arc<Gateway>,
    refuse: fn(ToolError) -> R,
) -> MethodRouter<Arc<Gateway>> {
    let feed = ChangeFeed::new(gateway.clone());
    let service = service(&feed);
    let sessions = SignedSessions::new(gateway.store.vault(), gateway.ids.clone());
    // One for each handler, because closures own what they use.
    let (listening, ending) = (sessions.clone(), sessions.clone());
    let post = async move |Extension(admitted): Extension<Admitted>, request: Request| {
        gate::post(service.clone(), &sessions, admitted.token, request).await
    };
    let listen = async move |Extension(admitted): Extension<Admitted>,
                             RawQuery(query): RawQuery,
                             headers: HeaderMap| {
        let surface = surface(&feed.gateway, query.as_deref()).map_err(refuse)?;
        let session = match listening.session_of(admitted.token, &headers) {
            Ok(session) => session,
            Err(fault) => return Ok(fault.respond(&Value::Null)),
        };
        let entry = match listening.open(admitted.token, session, None) {
            Ok(entry) => entry,
            Err(fault) => return Ok(fault.respond(&Value::Null)),
        };
        let opened = stream::open(&feed, admitted, surface, &headers, entry);
        opened.map_err(refuse)
    };
    let end = async move |Extension(admitted): Extension<Admitted>, headers: HeaderMap| {
        gate::end(&ending, admitted.token, &headers)
    };
    get(listen).post(post).delete(end)
}

/// The Streamable HTTP transport, without sessions of its own.
fn service(feed: &Arc<ChangeFeed>) -> gate::Service {
    let limits = &feed.gateway.settings.current().limits;
    let limit = usize::try_from(limits.request_bytes).unwrap_or(usize::MAX);
    let config = StreamableHttpServerConfig::default()
        // Sessions are signed and checked in `gate`, so that none are stored.
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // Host and Origin are checked for all routes already.
        .disable_allowed_hosts()
        .with_max_request_body_bytes(limit);
    let feed = feed.clone();
    let face = move || {
        Ok(McpFace {
            hands: LocalHands::now(&feed),
            leaving: CancellationToken::new(),
        })
    };
    StreamableHttpService::new(face, Arc::default(), config)
}

/// Serves MCP over standard input and output until the client closes them.
pub async fn serve_stdio<H: Hands>(hands: H) -> Result<(), String> {
    let changes = hands.changes(&Extensions::new());
    let leaving = CancellationToken::new();
    let face = McpFace {
        hands,
        leaving: leaving.clone(),
    };
    let input = until_closed(stdin(), leaving.clone());
    let running = match face.serve((input, stdout())).await {
        Ok(running) => running,
        // Input closed before the first request, such as Ctrl-D at a terminal, is a normal end.
        Err(_) if leaving.is_cancelled() => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    // Clients that sent `initialize` are notified without subscribing; newer ones subscribe.
    let shook_hands = running.peer().peer_info().is_some();
    let telling = changes
        .ok()
        .filter(|_| shook_hands)
        .map(|changes| tokio::spawn(notify_changes(running.peer().clone(), changes)));
    let ended = running.waiting().await;
    if let Some(telling) = telling {
        telling.abort();
    }
    ended.map(drop).map_err(|e| e.to_string())
}

async fn notify_changes(client: Peer<RoleServer>, mut changes: Changes) {
    while changes.next().await.is_some() {
        if client.notify_tool_list_changed().await.is_err() {
            return;
        }
    }
}

/// Forwards the input and cancels `leaving` at its end. Without that the server would wait for open
/// requests, and a subscription never ends by itself.
fn until_closed(
    mut input: impl AsyncRead + Unpin + Send + 'static,
    leaving: CancellationToken,
) -> DuplexStream {
    const AHEAD: usize = 64 * 1024;
    let (mut here, there) = duplex(AHEAD);
    tokio::spawn(async move {
        let _ = copy(&mut input, &mut here).await; // an error also means that no more input follows
        leaving.cancel();
    });
    there
}
