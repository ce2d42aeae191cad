//! Artifacts over HTTP: list, inspect, download, upload and delete; bytes are streamed in both
//! directions.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::{FutureExt as _, TryStreamExt as _};
use http::request::Parts;
use http::{HeaderValue, header};
use manyhands_core::{
    AgentId, ArtifactId, CallContext, CallRequest, Caller, ErrorCode, Invoke as _, Outcome,
    Question, ToolError,
};
use manyhands_gateway::{Gateway, Stores};
use manyhands_host::artifacts::{ArtifactReader, KeptFile, check_name, mime_by_name};
use manyhands_http_common::{Answer, Authenticated, Refusal, answer, proved};
use manyhands_store::{ArtifactFilter, ArtifactRecord, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::query;
use crate::http::patterns;

/// Time limit of an upload.
const UPLOAD: Duration = Duration::from_secs(3_600);

/// Filter of the list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactQuery {
    /// Only artifacts of this agent.
    #[schemars(regex(pattern = patterns::AGENT))]
    agent: Option<String>,
    /// Only artifacts of this chat; `results` for large results.
    #[schemars(regex(pattern = patterns::CHAT))]
    chat: Option<String>,
    /// Maximum number; 100 by default.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
    /// Number to skip.
    offset: Option<u32>,
}

/// Description of an upload.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Upload {
    /// File name.
    #[schemars(regex(pattern = patterns::FILE), length(max = 200))]
    name: String,
    /// Media type; derived from the name by default.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// Owning agent; `main` by default.
    #[schemars(regex(pattern = patterns::AGENT))]
    agent: Option<String>,
    /// Chat to add it to; a new one by default.
    #[schemars(regex(pattern = patterns::UUID))]
    chat: Option<String>,
}

/// Parameters of a signed link.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// Expiry, in seconds since 1970.
    expires: i64,
    /// Signature.
    signature: String,
}

/// A list of artifacts.
#[derive(Serialize, JsonSchema)]
pub struct ArtifactList {
    /// Artifacts, newest first.
    artifacts: Vec<ArtifactRecord>,
}

/// Lists the caller's artifacts; all of them for the owner.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    which: Result<Query<ArtifactQuery>, QueryRejection>,
) -> Answer<ArtifactList> {
    let which = query(which)?;
    not_a_node(&admitted.caller)?;
    let limit = which.limit.unwrap_or(100);
    if !(1..=1_000).contains(&limit) {
        return Err(Refusal(ToolError::parameter("limit", "must be 1 to 1000")));
    }
    // Large results belong to no chat: `Some(None)` selects them.
    let chat = match which.chat.as_deref() {
        None => None,
        Some("results") => Some(None),
        Some(id) => Some(Some(id.parse().map_err(|_| {
            Refusal(ToolError::parameter(
                "chat",
                "must be a chat id or `results`",
            ))
        })?)),
    };
    let filter = ArtifactFilter {
        agent: which.agent.as_deref().map(agent).transpose()?,
        // Clients see only artifacts of their own calls, whatever filter they send.
        caller: (!admitted.caller.is_owner()).then(|| admitted.caller.key()),
        chat,
    };
    let artifacts = gateway.store.artifacts();
    let artifacts = artifacts
        .list(&filter, limit, which.offset.unwrap_or(0))
        .await?;
    answer(ArtifactList { artifacts })
}

/// The tool whose rights and rules apply to storing and removing artifacts here.
const WRITES: &str = "gateway_write_artifact";

/// Stores the request body as an artifact.
pub async fn put(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    new: Result<Query<Upload>, QueryRejection>,
    request: Request,
) -> Answer<KeptFile> {
    let new = query(new)?;
    not_a_node(&admitted.caller)?;
    check_name(&new.name, "name")?;
    let artifacts = gateway.artifacts();
    let said = request.headers().get(header::CONTENT_LENGTH);
    let said = said.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    // Rejected by its declared length before reading; the store enforces the limit for bodies
    // without one.
    if said.is_some_and(|length| length > artifacts.most()) {
        let message = format!(
            "the file is larger than limits.artifact_file_bytes, {} bytes",
            artifacts.most()
        );
        return Err(Refusal(ToolError::new(ErrorCode::TooLarge, message)));
    }
    let mime = match new.kind {
        Some(kind) => media_type(kind)?,
        None => mime_by_name(&new.name)
            .unwrap_or("application/octet-stream")
            .to_owned(),
    };
    let arguments = json!({ "name": new.name, "type": mime, "chat": new.chat, "bytes": said });
    // The upload is a call of the tool, so that rights, rules, approvals, budget and audit apply.
    let mut call = CallRequest::new(WRITES, arguments, admitted.caller.clone());
    call.agent = new.agent.as_deref().map_or(Ok(AgentId::main()), agent)?;
    call.deadline = Some(UPLOAD);
    // Streamed to the store, so that memory does not depend on the size of the file.
    let body = request.into_body().into_data_stream();
    // The call's outcome carries only the id; the record is returned beside it.
    let stored = Arc::new(OnceLock::new());
    let (artifacts, file) = (artifacts.clone(), stored.clone());
    let work = move |context: CallContext| {
        let work = async move {
            let reader = ArtifactReader::from(&context);
            let bucket = artifacts.bucket(new.chat.as_deref(), None, &reader).await?;
            let broken = |e: axum::Error| StoreError::Invalid {
                what: format!("the upload was interrupted: {e}"),
            };
            let body = body.map_err(broken);
            let stored = artifacts
                .store(&new.name, &mime, bucket, &reader, body)
                .await;
            let stored = stored?;
            let outcome = Outcome::value(json!({ "id": stored.id }));
            let _ = file.set(artifacts.describe(stored)); // the work is done once
            Ok(outcome)
        };
        work.boxed()
    };
    gateway
        .invoke_once(&admitted, call, Stores::More, work)
        .await?;
    let stored = Arc::into_inner(stored).and_then(OnceLock::into_inner);
    answer(stored.ok_or_else(|| ToolError::internal("the upload was not recorded"))?)
}

/// Downloads an artifact; allowed for the caller that created it and for the owner.
pub async fn get(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let record = find(&gateway, &admitted.caller, &id).await?;
    serve(&gateway, record).await
}

/// Describes an artifact.
pub async fn show(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(id): Path<String>,
) -> Answer<ArtifactRecord> {
    answer(find(&gateway, &admitted.caller, &id).await?)
}

/// A download link.
#[derive(Serialize, JsonSchema)]
pub struct ArtifactLink {
    /// URL that needs no token.
    url: String,
    /// When it expires.
    expires: String,
}

/// Creates a link that downloads an artifact without a token.
pub async fn link(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(id): Path<String>,
) -> Answer<ArtifactLink> {
    let record = find(&gateway, &admitted.caller, &id).await?;
    let (url, until) = gateway.artifacts().link(record.id);
    answer(ArtifactLink {
        url,
        expires: until.rfc3339(),
    })
}

/// The response after an artifact was removed.
#[derive(Serialize, JsonSchema)]
pub struct ArtifactRemoved {
    /// Its id.
    id: ArtifactId,
    /// Always true.
    removed: bool,
}

/// Removes an artifact.
pub async fn remove(
    State(gateway): State<Arc<Gateway>>,
    Authenticated(admitted): Authenticated,
    Path(id): Path<String>,
) -> Answer<ArtifactRemoved> {
    // Checked first: a caller without the right must not learn which artifacts exist.
    if let Some(tool) = gateway.path.catalogue().resolve(WRITES) {
        let main = AgentId::main();
        let question = Question::available(&admitted.caller, &main, tool.spec());
        gateway.path.authorize(question).refused(tool.spec())?;
    }
    let record = find(&gateway, &admitted.caller, &id).await?;
    let arguments = json!({ "remove": record.id, "name": record.name });
    let mut call = CallRequest::new(WRITES, arguments, admitted.caller.clone());
    call.agent = record.agent.clone();
    let (artifacts, id) = (gateway.store.artifacts().clone(), record.id);
    let work = move |_: CallContext| {
        let work = async move {
            artifacts.delete(id).await?;
            Ok(Outcome::value(json!({ "removed": id })))
        };
        work.boxed()
    };
    gateway
        // `Less`: deleting must work when storage is full.
        .invoke_once(&admitted, call, Stores::Less, work)
        .await?;
    answer(ArtifactRemoved {
        id: record.id,
        removed: true,
    })
}

/// Downloads an artifact by a valid link. All failures give the same error, so that nothing can be
/// learned by probing.
pub async fn by_link(
    State(gateway): State<Arc<Gateway>>,
    Path(id): Path<String>,
    signed: Result<Query<Signed>, QueryRejection>,
    parts: Parts,
) -> Result<Response, Refusal> {
    let refused = || {
        let message = "invalid or expired link";
        let refused = ToolError::new(ErrorCode::Forbidden, message);
        Refusal(refused.hint("request a new link"))
    };
    let Query(signed) = signed.map_err(|_| refused())?;
    let id: ArtifactId = id.parse().map_err(|_| refused())?;
    if !gateway
        .artifacts()
        .links
        .holds(id, signed.expires, &signed.signature)
    {
        return Err(refused());
    }
    // A valid signature authenticates the connection like a token.
    proved(&parts);
    let record = gateway.store.artifacts().get(id).await?;
    serve(&gateway, record.ok_or_else(refused)?).await
}

/// The artifact of that id, if the caller may access it.
async fn find(gateway: &Gateway, caller: &Caller, id: &str) -> Result<ArtifactRecord, Refusal> {
    not_a_node(caller)?;
    let id: ArtifactId = id
        .parse()
        .map_err(|_| Refusal(ToolError::parameter("id", "must be an artifact id")))?;
    let found = gateway.store.artifacts().get(id).await?;
    // Foreign artifacts are reported as missing, so that ids cannot be probed.
    let own = found.filter(|record| caller.is_owner() || record.caller == caller.key());
    own.ok_or_else(|| Refusal(ToolError::not_found(format!("no artifact {id}"))))
}

fn not_a_node(caller: &Caller) -> Result<(), Refusal> {
    match caller.rights.role.only_serves() {
        true => Err(Refusal(ToolError::new(
            ErrorCode::Forbidden,
            format!("a {} token cannot read artifacts", caller.rights.role),
        ))),
        false => Ok(()),
    }
}

/// Serves the bytes as a download, so that a browser neither renders nor sniffs them.
async fn serve(gateway: &Gateway, record: ArtifactRecord) -> Result<Response, Refusal> {
    let stream = gateway.store.artifacts().open(record.id, None).await?;
    // Stored text is UTF-8 unless its type says otherwise.
    let mime = match record.mime.starts_with("text/") && !record.mime.contains(';') {
        true => format!("{}; charset=utf-8", record.mime),
        false => record.mime,
    };
    let text = |text: String| {
        // An invalid header value must not make the download fail.
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("application/octet-stream"))
    };
    let headers = [
        (header::CONTENT_TYPE, text(mime)),
        (header::CONTENT_LENGTH, HeaderValue::from(record.size)),
        // These headers keep a browser from running content of an artifact in the gateway's origin.
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (header::CONTENT_DISPOSITION, text(disposition(&record.name))),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; sandbox"),
        ),
        (
            header::REFERRER_POLICY,
            HeaderValue::from_static("no-referrer"),
        ),
        (
            header::CACHE_CONTROL,
            HeaderValue::from_static("private, no-store"),
        ),
    ];
    Ok((headers, Body::from_stream(stream)).into_response())
}

/// `Content-Disposition: attachment` with the name, exact for clients that support `filename*`.
fn disposition(name: &str) -> String {
    // The quoted form is ASCII for old clients; `filename*` carries the exact name.
    let plain = |c: char| match c {
        ' '..='~' if !matches!(c, '"' | '\\' | '%') => c,
        _ => '_',
    };
    let simple: String = name.chars().map(plain).collect();
    let spelled: String = name
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect();
    format!("attachment; filename=\"{simple}\"; filename*=UTF-8''{spelled}")
}

fn media_type(text: String) -> Result<String, Refusal> {
    let legal = |c: u8| c.is_ascii_alphanumeric() || b"/+-._".contains(&c);
    match text.len() <= 100 && text.contains('/') && text.bytes().all(legal) {
        true => Ok(text.to_ascii_lowercase()),
        false => Err(Refusal(ToolError::parameter(
            "type",
            "must be a media type such as text/csv",
        ))),
    }
}

fn agent(text: &str) -> Result<AgentId, Refusal> {
    text.parse().map_err(|e: manyhands_core::InvalidName| {
        Refusal(ToolError::parameter("agent", e.to_string()))
    })
}
