//! `/mcp/{server}`: one server as it is, its tools under their own names.
//!
//! Whoever asks speaks the era they know, and so does the server: what the one cannot say is
//! translated. Tools are called through the path like any other; what a server asks back while it
//! works on a call goes to whoever made the call, in their era's way. Messages are JSON values as
//! they came: what nobody here knows arrives at the other end.

mod eras;
mod errand;
mod events;
mod hearing;
mod legacy;
mod modern;
mod paused;
mod session;
mod voice;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use axum::Extension;
use axum::body::Bytes;
use axum::extract::Path;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::{HeaderMap, StatusCode};
use manyhands_core::{AgentId, Caller, ErrorCode, Invoke, Pattern, Question, ToolError};
use manyhands_gateway::{Admitted, Gateway};
use serde_json::Value;

use super::message::{self, Fault, INVALID_REQUEST};
use errand::Errand;
use paused::Waiting;
use session::Sessions;
use voice::Floor;

pub(super) use modern::is_modern;

/// How many lines there are of those whose requests stand alone.
const MAX_FLOORS: usize = 64;

/// Everything that is kept between requests.
struct Pass {
    gateway: Arc<Gateway>,
    sessions: Sessions,
    waiting: Waiting,
    /// The lines of those whose requests stand alone, by their name.
    floors: Mutex<BTreeMap<String, (Errand, Arc<Floor>)>>,
}

impl Pass {
    /// A line of an asker to a server that may ask them back. Nothing else is done on it, so that
    /// what the server asks belongs to this request.
    fn floor(
        &self,
        errand: &Errand,
        capabilities: &Value,
    ) -> Result<(String, Arc<Floor>), ToolError> {
        // What a client can answer is said when the line is opened.
        let mut able = DefaultHasher::new();
        capabilities.to_string().hash(&mut able);
        let (token, server) = (errand.asker.token, errand.server.name());
        let name = format!("{token}/{server}/{:x}", able.finish());
        let mut floors = self.floors.lock().expect("no panic while held");
        for number in 0..MAX_FLOORS {
            let name = format!("{name}/{number}");
            if let Some((known, floor)) = floors.get(&name) {
                let same = Arc::ptr_eq(&known.server, &errand.server);
                if same && floor.take() {
                    return Ok((name, floor.clone()));
                }
                if same || !floor.is_quiet() {
                    continue;
                }
            }
            if floors.len() >= MAX_FLOORS {
                let quiet = floors.iter().find(|(_, (_, floor))| floor.is_quiet());
                let Some(quiet) = quiet.map(|(name, _)| name.clone()) else {
                    break;
                };
                if let Some((errand, _)) = floors.remove(&quiet) {
                    errand.server.hang_up(&quiet);
                }
            }
            let floor: Arc<Floor> = Arc::default();
            floor.take();
            floors.insert(name.clone(), (errand.clone(), floor.clone()));
            return Ok((name, floor));
        }
        let message = format!("{MAX_FLOORS} calls that may ask back are being done already");
        Err(ToolError::new(ErrorCode::RateLimited, message))
    }

    /// Whoever asks, and the server they ask for.
    fn errand(&self, server: &str, asker: Admitted) -> Result<Errand, ToolError> {
        let server = self.gateway.servers.get(server)?;
        let access = server.access("connect");
        let main = AgentId::main();
        // Whether the caller has any business with the server; tools, resources and prompts are
        // judged one by one.
        let mut caller = Caller::clone(&asker.caller);
        caller.rights.tools = vec![Pattern::new("*")];
        let question = Question::available(&caller, &main, &access);
        self.gateway.path.authorize(question).refused(&access)?;
        Ok(Errand {
            gateway: self.gateway.clone(),
            server,
            asker,
        })
    }
}

/// Serves `/mcp/{server}` to those who were let in. Host and Origin were checked at the door.
pub fn route<R: IntoResponse + 'static>(
    gateway: &Arc<Gateway>,
    refuse: fn(ToolError) -> R,
) -> MethodRouter<Arc<Gateway>> {
    let pass = Arc::new(Pass {
        gateway: gateway.clone(),
        sessions: Sessions::default(),
        waiting: Waiting::default(),
        floors: Mutex::default(),
    });
    let (listening, ending) = (pass.clone(), pass.clone());
    let post = async move |Path(server): Path<String>,
                           Extension(asker): Extension<Admitted>,
                           headers: HeaderMap,
                           body: Result<Bytes, BytesRejection>| {
        let errand = pass.errand(&server, asker).map_err(refuse)?;
        Ok::<Response, R>(answer(&pass, errand, &headers, body).await)
    };
    let listen = async move |Path(server): Path<String>,
                             Extension(asker): Extension<Admitted>,
                             headers: HeaderMap| {
        let errand = listening.errand(&server, asker).map_err(refuse)?;
        Ok::<Response, R>(legacy::listen(&listening, errand, &headers).await)
    };
    let end = async move |Path(server): Path<String>,
                          Extension(asker): Extension<Admitted>,
                          headers: HeaderMap| {
        let errand = ending.errand(&server, asker).map_err(refuse)?;
        Ok::<Response, R>(legacy::end(&ending, &errand, &headers))
    };
    get(listen).post(post).delete(end)
}

async fn answer(
    pass: &Arc<Pass>,
    errand: Errand,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(rejection) => {
            let fault = Fault::new(INVALID_REQUEST, rejection.body_text());
            return fault.status(rejection.status()).respond(&Value::Null);
        }
    };
    let kind = headers
        .get("content-type")
        .and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/json")) {
        let fault = Fault::new(INVALID_REQUEST, "Content-Type: it must be application/json");
        return fault
            .status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
            .respond(&Value::Null);
    }
    match message::read(&body) {
        Ok(incoming) if modern::is_modern(headers, &incoming) => {
            modern::post(pass, errand, headers, incoming).await
        }
        Ok(incoming) => legacy::post(pass, errand, headers, incoming).await,
        Err((id, fault)) => fault.respond(&id),
    }
}
