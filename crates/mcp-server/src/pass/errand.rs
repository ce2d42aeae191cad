//! One request to one server, whoever made it and however they speak.

use std::sync::Arc;

use http::StatusCode;
use manyhands_core::{
    AgentId, Answers, CallRequest, Envelope, ErrorCode, Invoke, Progress, Question, ToolError,
};
use manyhands_federation::servers::Server;
use manyhands_gateway::{Admitted, Gateway};
use manyhands_upstream::Hooks;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::eras;
use super::voice::{Heard, Manner, Out, Voice};
use crate::message::{Fault, INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, notification, one_page};

/// What may be asked besides tools. All else is refused here.
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

/// One request to one server.
#[derive(Clone)]
pub(super) struct Errand {
    pub(super) gateway: Arc<Gateway>,
    pub(super) server: Arc<Server>,
    pub(super) asker: Admitted,
}

impl Errand {
    /// Does it in the background; what comes of it is heard from what this gives. It is taken back
    /// when that is dropped, when `cancel` fires, and when the asker's token ends.
    pub(super) fn start(
        self,
        method: String,
        params: Map<String, Value>,
        manner: Manner,
        cancel: CancellationToken,
    ) -> tokio::sync::mpsc::Receiver<Out> {
        let (voice, heard) = Voice::new(manner);
        tokio::spawn(async move {
            let doorman = &self.gateway.doorman;
            let done = tokio::select! {
                biased;
                () = voice.left() => return,
                () = cancel.cancelled() => return,
                lapsed = doorman.lapsed(&self.asker) => Err(Fault::new(INTERNAL, lapsed.text())),
                done = self.run(&method, params, &voice) => done,
            };
            voice.end(done).await;
        });
        heard
    }

    async fn run(
        &self,
        method: &str,
        params: Map<String, Value>,
        voice: &Arc<Voice>,
    ) -> Result<Value, Fault> {
        match method {
            "tools/list" => self.tools(&params).await,
            "tools/call" => self.call(params, voice).await,
            method if PASSED.contains(&method) => {
                self.declared(method, voice).await?;
                self.pass(method, params, voice).await
            }
            _ => Err(unknown(method)),
        }
    }

    /// Refuses what the server has not declared: a client was told that it is not there.
    async fn declared(&self, method: &str, voice: &Arc<Voice>) -> Result<(), Fault> {
        if method == "ping" {
            return Ok(());
        }
        let older = Heard(voice.clone()).is_older();
        let peer = self.server.peer(older).await.map_err(fault)?;
        match eras::declares(&peer, method) {
            true => Ok(()),
            false => Err(unknown(method)),
        }
    }

    /// The tools as far as the owner took them on and the asker may call them.
    async fn tools(&self, params: &Map<String, Value>) -> Result<Value, Fault> {
        one_page(params)?;
        let mut offer = self.server.offer();
        if offer.tools.is_empty() && self.server.pins().is_empty() {
            let name = self.server.name().as_str();
            self.gateway.servers.refresh(name).await.map_err(fault)?;
            offer = self.server.offer();
        }
        let (catalogue, main) = (self.gateway.path.catalogue(), AgentId::main());
        let may = |name: &str| {
            let tool = catalogue.resolve(name);
            tool.is_some_and(|tool| {
                let question = Question::available(&self.asker.caller, &main, tool.spec());
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
        voice: &Arc<Voice>,
    ) -> Result<Value, Fault> {
        let Some(Value::String(name)) = params.remove("name") else {
            return Err(Fault::new(
                INVALID_PARAMS,
                "name: must be the name of a tool",
            ));
        };
        let offer = self.server.offer();
        let Some(offered) = offer.tools.get(&name) else {
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
            self.asker.caller.clone(),
        );
        if let Some(token) = token {
            request.progress = progress(voice, token);
        }
        request.answers = Some(Arc::new(Heard(voice.clone())));
        request.wants_raw = true;
        match self.gateway.invoke(&self.asker, request).await {
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
        voice: &Arc<Voice>,
    ) -> Result<Value, Fault> {
        let service = self.server.service();
        let agent = AgentId::main();
        let access = self.server.access(method);
        let question = Question::available(&self.asker.caller, &agent, &access);
        let verdict = self.gateway.path.authorize(question);
        verdict.refused(&access).map_err(fault)?;
        let account = self
            .gateway
            .servers
            .accounts()
            .choose(service, &agent, None)
            .map_err(fault)?;
        let answers: Arc<dyn Answers> = Arc::new(Heard(voice.clone()));
        let told = voice.clone();
        let hooks = Hooks {
            log: Some(Arc::new(move |notice| {
                told.log(Value::Object(notice));
            })),
            ..Hooks::default()
        };
        let account = account.map(|account| account.id);
        let older = answers.is_older();
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
        self.gateway.redact(&mut result);
        Ok(result)
    }
}

fn progress(voice: &Arc<Voice>, token: Value) -> Progress {
    let voice = Arc::downgrade(voice);
    Progress::to(move |step| {
        let Some(voice) = voice.upgrade() else { return };
        let mut params = json!({ "progressToken": token, "progress": step.done });
        if let Some(total) = step.total {
            params["total"] = json!(total);
        }
        if let Some(message) = step.message {
            params["message"] = json!(message);
        }
        voice.tell(notification("notifications/progress", params));
    })
}

/// There is no such method.
pub(super) fn unknown(method: &str) -> Fault {
    let shown: String = method.chars().take(100).collect();
    Fault::new(METHOD_NOT_FOUND, format!("Method not found: {shown}"))
}

/// A call that was refused or failed, in the words of the far server where they are its own.
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

/// An error of ours, or of the far server, as JSON-RPC says it.
pub(super) fn fault(error: ToolError) -> Fault {
    let rpc = error
        .details
        .as_ref()
        .and_then(|details| details.get("rpc"));
    if let Some(rpc) = rpc {
        let code = rpc["code"].as_i64().unwrap_or(INTERNAL);
        let message = rpc["message"].as_str().unwrap_or_default();
        let told = Fault::new(code, message);
        return match rpc.get("data") {
            Some(data) if !data.is_null() => told.data(data.clone()),
            _ => told,
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
