//! Requests of one client to one server, in either era of the protocol.

use std::sync::Arc;

use http::StatusCode;
use manyhands_core::{
    AgentId, Answers, CallRequest, Envelope, ErrorCode, Invoke, Progress, Question, ToolError,
};
use manyhands_federation::servers::Server;
use manyhands_gateway::{Admitted, Gateway};
use manyhands_telemetry::Span;
use manyhands_upstream::Hooks;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::eras;
use super::sink::{ClientMessage, ClientSink, SinkAnswers, SinkOptions};
use crate::message::{Fault, INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, notification, one_page};
use crate::trace;

/// Methods passed on to the server besides tools; all others are rejected.
const PASSED: [&str; 10] = [
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "ping",
];

/// An authenticated client's access to one server.
#[derive(Clone)]
pub(super) struct ServerClient {
    pub(super) gateway: Arc<Gateway>,
    pub(super) server: Arc<Server>,
    pub(super) admitted: Admitted,
}

impl ServerClient {
    /// Runs a request in the background and returns the messages it produces. It is cancelled when
    /// the receiver is dropped, when `cancel` fires, or when the token lapses.
    pub(super) fn start(
        self,
        method: String,
        params: Map<String, Value>,
        options: SinkOptions,
        cancel: CancellationToken,
    ) -> tokio::sync::mpsc::Receiver<ClientMessage> {
        let (sink, messages) = ClientSink::new(options);
        let mut span = self.span(&method, &params);
        tokio::spawn(async move {
            let auth = &self.gateway.auth;
            let done = tokio::select! {
                biased;
                () = sink.left() => return,
                () = cancel.cancelled() => return,
                lapsed = auth.lapsed(&self.admitted) => Err(Fault::new(INTERNAL, lapsed.text())),
                done = span.run(self.run(&method, params, &sink)) => done,
            };
            trace::describe(&mut span, &done);
            drop(span);
            sink.end(done).await;
        });
        messages
    }

    /// The span of a request, below that of the HTTP request unless it names another trace.
    fn span(&self, method: &str, params: &Map<String, Value>) -> Span {
        let known = method.starts_with("tools/") || PASSED.contains(&method);
        if !known {
            return Span::none();
        }
        let meta = params.get("_meta").and_then(Value::as_object);
        let mut span = trace::begin(method, meta, None);
        if method == "tools/call"
            && let Some(tool) = params.get("name").and_then(Value::as_str)
            && self.server.offer().tools.contains_key(tool)
        {
            trace::name_tool(&mut span, tool);
        }
        span
    }

    async fn run(
        &self,
        method: &str,
        params: Map<String, Value>,
        sink: &Arc<ClientSink>,
    ) -> Result<Value, Fault> {
        match method {
            "tools/list" => self.tools(&params).await,
            "tools/call" => self.call(params, sink).await,
            method if PASSED.contains(&method) => {
                self.declared(method, sink).await?;
                self.pass(method, params, sink).await
            }
            _ => Err(unknown(method)),
        }
    }

    /// Rejects methods the server has not declared: clients were told that they do not exist.
    async fn declared(&self, method: &str, sink: &Arc<ClientSink>) -> Result<(), Fault> {
        if method == "ping" {
            return Ok(());
        }
        let older = SinkAnswers(sink.clone()).uses_older_protocol();
        let peer = self.server.peer(older).await.map_err(fault)?;
        match eras::declares(&peer, method) {
            true => Ok(()),
            false => Err(unknown(method)),
        }
    }

    /// The tools the owner has accepted and the caller may use.
    async fn tools(&self, params: &Map<String, Value>) -> Result<Value, Fault> {
        one_page(params)?;
        let mut offer = self.server.offer();
        // Nothing was ever fetched from this server, so an empty list would be wrong.
        if offer.tools.is_empty() && self.server.pins().is_empty() {
            let name = self.server.name().as_str();
            self.gateway.servers.refresh(name).await.map_err(fault)?;
            offer = self.server.offer();
        }
        let (catalogue, main) = (self.gateway.path.catalogue(), AgentId::main());
        let may = |name: &str| {
            let tool = catalogue.resolve(name);
            tool.is_some_and(|tool| {
                let question = Question::available(&self.admitted.caller, &main, tool.spec());
                !self.gateway.path.authorize(question).is_denied()
            })
        };
        let offered = offer.tools.values().filter(|one| may(one.name.as_str()));
        let tools: Vec<&Value> = offered.map(|one| &one.definition).collect();
        Ok(json!({ "tools": tools }))
    }

    async fn call(
        &self,
        mut params: Map<String, Value>,
        sink: &Arc<ClientSink>,
    ) -> Result<Value, Fault> {
        let Some(Value::String(name)) = params.remove("name") else {
            return Err(Fault::new(
                INVALID_PARAMS,
                "name: must be the name of a tool",
            ));
        };
        let offer = self.server.offer();
        let Some(offered) = offer.tools.get(&name) else {
            // Bounded: the name is the client's and ends up in logs.
            let shown: String = name.chars().take(100).collect();
            return Err(Fault::new(INVALID_PARAMS, format!("Unknown tool: {shown}")));
        };
        let arguments = match params.remove("arguments") {
            None | Some(Value::Null) => json!({}),
            Some(arguments @ Value::Object(_)) => arguments,
            Some(_) => {
                return Err(Fault::new(INVALID_PARAMS, "arguments: must be an object"));
            }
        };
        let token = params
            .get("_meta")
            .and_then(|meta| meta.get("progressToken"))
            .cloned();
        let mut request = CallRequest::new(
            offered.name.to_string(),
            arguments,
            self.admitted.caller.clone(),
        );
        if let Some(token) = token {
            request.progress = progress(sink, token);
        }
        request.answers = Some(Arc::new(SinkAnswers(sink.clone())));
        request.wants_raw = true;
        match self.gateway.invoke(&self.admitted, request).await {
            Ok(outcome) => Ok(match outcome.raw {
                Some(raw) => raw,
                None => super::super::result_value(Envelope::from(Ok(outcome))),
            }),
            Err(error) => refused(error),
        }
    }

    async fn pass(
        &self,
        method: &str,
        params: Map<String, Value>,
        sink: &Arc<ClientSink>,
    ) -> Result<Value, Fault> {
        let service = self.server.service();
        let agent = AgentId::main();
        // Methods other than tool calls are authorized by a pseudo tool per server and method.
        let access = self.server.access(method);
        let question = Question::available(&self.admitted.caller, &agent, &access);
        let verdict = self.gateway.path.authorize(question);
        verdict.refused(&access).map_err(fault)?;
        let account = self
            .gateway
            .servers
            .accounts()
            .choose(service, &agent, None)
            .map_err(fault)?;
        let answers: Arc<dyn Answers> = Arc::new(SinkAnswers(sink.clone()));
        let log_sink = sink.clone();
        let hooks = Hooks {
            log: Some(Arc::new(move |notice| {
                // A session without questions shares the server connection, so subscriptions are
                // counted and only the first and last reach the server.
                log_sink.log(Value::Object(notice));
            })),
            ..Hooks::default()
        };
        let account = account.map(|account| account.id);
        let older = answers.uses_older_protocol();
        let talks = answers
            .capabilities()
            .as_object()
            .is_some_and(|able| !able.is_empty());
        let uri = params.get("uri").and_then(Value::as_str);
        match (method, uri) {
            ("resources/subscribe", Some(uri)) if !talks => {
                let done = self.server.subscribe(uri, older, hooks).await;
                return done.map(|()| json!({})).map_err(fault);
            }
            ("resources/unsubscribe", Some(uri)) if !talks => {
                self.server.unsubscribe(uri, older).await;
                return Ok(json!({}));
            }
            _ => {}
        }
        let done = self
            .server
            .request(method, params, account, Some(&answers), hooks)
            .await;
        let mut result = done.map_err(fault)?;
        // Tool results are redacted by the path; these do not pass through it.
        self.gateway.redact(&mut result);
        Ok(result)
    }
}

fn progress(sink: &Arc<ClientSink>, token: Value) -> Progress {
    let sink = Arc::downgrade(sink);
    Progress::to(move |step| {
        let Some(sink) = sink.upgrade() else { return };
        let mut params = json!({ "progressToken": token, "progress": step.done });
        if let Some(total) = step.total {
            params["total"] = json!(total);
        }
        if let Some(message) = step.message {
            params["message"] = json!(message);
        }
        sink.notify(notification("notifications/progress", params));
    })
}

/// Error for an unknown method.
pub(super) fn unknown(method: &str) -> Fault {
    let shown: String = method.chars().take(100).collect();
    Fault::new(METHOD_NOT_FOUND, format!("Method not found: {shown}"))
}

/// The result of a failed call. Errors of the server itself are returned in its own words.
fn refused(error: ToolError) -> Result<Value, Fault> {
    let details = error.details.as_ref();
    if let Some(result) = details.and_then(|details| details.get("result")) {
        return Ok(result.clone());
    }
    if details.is_some_and(|details| details.get("rpc").is_some())
        || error.code == ErrorCode::UnknownTool
    {
        return Err(fault(error));
    }
    Ok(json!({ "isError": true, "content": [{ "type": "text", "text": error.text() }] }))
}

/// Converts an error of the gateway or of the server to JSON-RPC.
pub(super) fn fault(error: ToolError) -> Fault {
    let rpc = error
        .details
        .as_ref()
        .and_then(|details| details.get("rpc"));
    if let Some(rpc) = rpc {
        let code = rpc["code"].as_i64().unwrap_or(INTERNAL);
        let message = rpc["message"].as_str().unwrap_or_default();
        let fault = Fault::new(code, message);
        return match rpc.get("data") {
            Some(data) if !data.is_null() => fault.data(data.clone()),
            _ => fault,
        };
    }
    let (code, status) = match error.code {
        ErrorCode::InvalidArguments | ErrorCode::UnknownTool | ErrorCode::NotFound => {
            (INVALID_PARAMS, StatusCode::OK)
        }
        ErrorCode::Forbidden => (INTERNAL, StatusCode::FORBIDDEN),
        _ => (INTERNAL, StatusCode::OK),
    };
    Fault::new(code, error.text()).status(status)
}
