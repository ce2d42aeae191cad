//! `gateway_write_artifact_from_url`

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use manyhands_core::{
    CallContext, Effects, ErrorCode, Outcome, Secret, ToolError, ToolSpec, TypedTool,
};
use manyhands_guard::{
    EgressError, HeaderMap, HeaderName, HeaderValue, RedactStream, Redactor, Response,
};
use manyhands_host::Resources;
use manyhands_host::artifacts::{
    ArtifactReader, ArtifactStore, KeptFile, check_name, mime_by_name,
};
use manyhands_host::web::Web;
use manyhands_store::StoreError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::registration::{Registration, always, typed};

/// Most headers.
const MAX_HEADERS: usize = 20;
/// Bytes of an error response that are quoted.
const EXCERPT: usize = 300;

/// Create a downloadable file by fetching content from a URL. The content is fetched server-side. If chatId is not provided, a new
/// chat is auto-created as a storage bucket and its ID is returned. Addresses inside private networks are refused.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Params {
    /// The URL to fetch the file content from (e.g., a download URL from OneDrive or Google Drive).
    #[schemars(length(min = 1))]
    source_url: String,
    /// Name for the artifact file with extension (e.g. "report.pdf", "data.xlsx").
    #[schemars(length(min = 1))]
    filename: String,
    /// Optional authentication headers to include when fetching from the source URL. They are sent to its origin only. A value may
    /// hold {{vault:VAULT/NAME}}, which stands for a secret of a vault that you may use.
    #[schemars(extend("writeOnly" = true))]
    auth_headers: Option<BTreeMap<String, String>>,
    /// Chat ID to store the artifact in. If omitted, a new chat is created automatically.
    chat_id: Option<String>,
    /// Agent ID for auto-creating a chat; yourself when not given. Only used when chatId is not provided.
    agent_id: Option<String>,
}

pub(crate) const TOOL: Registration = Registration {
    name: "gateway_write_artifact_from_url",
    enabled: always,
    build: |deps| {
        typed(WriteArtifactFromUrl {
            artifacts: deps.artifacts.clone(),
            web: deps.web.clone(),
            resources: deps.resources.clone(),
        })
    },
};

struct WriteArtifactFromUrl {
    artifacts: ArtifactStore,
    web: Web,
    resources: Resources,
}

/// Request headers, and the secrets in them.
struct Credentials {
    headers: HeaderMap,
    /// Redacts all their values, from error messages.
    all: Redactor,
    /// Redacts values from a vault, from the file itself.
    vaulted: Redactor,
}

impl TypedTool for WriteArtifactFromUrl {
    type Params = Params;
    type Output = KeptFile;

    fn spec(&self) -> ToolSpec {
        super::spec(TOOL.name)
            .effects(Effects::WRITES.and(Effects::LEAVES))
            .deadline(Duration::from_secs(660))
    }

    /// A plain fetch only reads; a request with credentials may do more.
    fn effects_of(&self, arguments: &Value) -> Effects {
        let effects = self.spec().effects;
        match arguments.get("authHeaders").and_then(Value::as_object) {
            Some(headers) if !headers.is_empty() => effects.and(Effects::SENDS),
            _ => effects,
        }
    }

    async fn run(&self, params: Params, context: &CallContext) -> Result<Outcome, ToolError> {
        check_name(&params.filename, "filename")?;
        let reader = ArtifactReader::from(context);
        let (chat, agent) = (params.chat_id.as_deref(), params.agent_id.as_deref());
        // The bucket first: nothing is fetched for a chat the caller may not use.
        let bucket = self.artifacts.bucket(chat, agent, &reader).await?;
        let credentials = self.credentials(&params, &reader).await?;
        let masked = |mut error: ToolError| {
            error.message = credentials.all.text(&error.message).into_owned();
            error.hint = error
                .hint
                .map(|hint| credentials.all.text(&hint).into_owned());
            error
        };
        let most = self.artifacts.most();
        let fetched = self
            .web
            .open(&params.source_url, credentials.headers.clone(), most);
        let mut answer = fetched.await.map_err(masked)?;
        // The error body is quoted, and a server may echo credentials in it.
        if !answer.status.is_success() {
            return Err(masked(refused(&mut answer).await));
        }
        let mime = mime(&answer.headers, &params.filename);
        let (lost, broken) = oneshot::channel();
        let body = chunks(answer, lost);
        // Only vault secrets: values the caller passed are known to it and may be part of the file.
        let body = redacted(body, credentials.vaulted.stream());
        let stored = self
            .artifacts
            .store(&params.filename, &mime, bucket, &reader, body)
            .await;
        // The store reports a broken stream as its own failure; the network's error is the cause.
        match (stored, broken.await) {
            (Ok(stored), _) => Outcome::of(&self.artifacts.describe(stored)),
            (Err(_), Ok(error)) => Err(masked(
                self.web.connection_error(&error, &params.source_url),
            )),
            (Err(error), Err(_)) => Err(error.into()),
        }
    }
}

impl WriteArtifactFromUrl {
    async fn credentials(
        &self,
        params: &Params,
        reader: &ArtifactReader,
    ) -> Result<Credentials, ToolError> {
        let wrong = |message: String| ToolError::parameter("authHeaders", message);
        let given = params.auth_headers.iter().flatten();
        if given.clone().count() > MAX_HEADERS {
            return Err(wrong(format!("must have at most {MAX_HEADERS} headers")));
        }
        let (mut headers, mut all, mut vaulted) = (HeaderMap::new(), Vec::new(), Vec::new());
        for (name, value) in given {
            // Names come from the caller and are quoted in errors.
            let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
            let key = HeaderName::from_bytes(name.trim().as_bytes());
            let key = key.map_err(|_| wrong(format!("{shown:?} is not a header name")))?;
            let filled = self
                .resources
                .fill(&reader.agent, value, &params.source_url)
                .await;
            let (value, used) = filled.map_err(|e| wrong(format!("{shown}: {}", e.message)))?;
            // The scheme is not secret; what follows it is.
            all.extend(value.rsplit(' ').next().map(Secret::new));
            all.push(Secret::new(value.as_str()));
            vaulted.extend(used);
            let odd = || {
                wrong(format!(
                    "the value of {shown} contains a line break or control character"
                ))
            };
            if value.chars().any(|c| c.is_control() && c != '\t') {
                return Err(odd());
            }
            let mut value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| odd())?;
            // Keeps the value out of debug output of the HTTP client.
            value.set_sensitive(true);
            if headers.insert(key, value).is_some() {
                return Err(wrong(format!("{shown} is given twice")));
            }
        }
        Ok(Credentials {
            headers,
            all: Redactor::new(&all),
            vaulted: Redactor::new(&vaulted),
        })
    }
}

/// The body in chunks; the cause of an interruption is kept beside it.
fn chunks(
    answer: Response,
    lost: oneshot::Sender<EgressError>,
) -> impl Stream<Item = Result<Bytes, StoreError>> + Send {
    stream::try_unfold(
        (answer.body, Some(lost)),
        async |(mut body, mut lost)| match body.chunk().await {
            Ok(Some(piece)) => Ok(Some((piece, (body, lost)))),
            Ok(None) => Ok(None),
            Err(error) => {
                let message = error.to_string();
                if let Some(lost) = lost.take() {
                    // Fails only if the store has given up before, and then its own error counts.
                    let _ = lost.send(error);
                }
                Err(StoreError::Blobs(message))
            }
        },
    )
}

/// The body with vault secrets redacted that the server may have echoed.
fn redacted(
    body: impl Stream<Item = Result<Bytes, StoreError>> + Send,
    mask: RedactStream,
) -> impl Stream<Item = Result<Bytes, StoreError>> + Send {
    // A secret may span two chunks, so the redactor holds back the end of each; the rest follows the
    // last one.
    let ended = stream::once(async { Ok(None) });
    let pieces = body.map_ok(Some).chain(ended);
    let mut mask = Some(mask);
    pieces.map_ok(move |piece| match (piece, &mut mask) {
        (Some(piece), Some(mask)) => Bytes::from(mask.push(&piece)),
        (None, held) => Bytes::from(held.take().map(RedactStream::finish).unwrap_or_default()),
        (Some(piece), None) => piece,
    })
}

/// The type given by the server, or the one the name suggests if the server's is generic.
fn mime(headers: &HeaderMap, name: &str) -> String {
    let declared = headers
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    let declared = declared
        .and_then(|text| text.split(';').next())
        .map(|text| text.trim().to_ascii_lowercase());
    let plain = |text: &String| {
        let legal = |c: u8| c.is_ascii_alphanumeric() || b"/+-._".contains(&c);
        text.len() <= 100 && text.contains('/') && text.bytes().all(legal)
    };
    // Servers send these where they do not know the type, and the name says more.
    let vague = [
        "application/octet-stream",
        "binary/octet-stream",
        "text/plain",
    ];
    match declared.filter(plain) {
        Some(declared) if !vague.contains(&declared.as_str()) => declared,
        declared => mime_by_name(name)
            .map(str::to_owned)
            .or(declared)
            .unwrap_or_else(|| "application/octet-stream".to_owned()),
    }
}

/// The error for an HTTP failure, with the start of its body.
async fn refused(answer: &mut Response) -> ToolError {
    let first = answer.body.chunk().await.ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&first[..first.len().min(2_048)]).into_owned();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let excerpt = &text[..text.floor_char_boundary(EXCERPT)];
    let status = answer.status.as_u16();
    let why = if excerpt.is_empty() {
        String::new()
    } else {
        format!(": {excerpt}")
    };
    let message = format!(
        "{} responded {status}, so nothing was stored{why}",
        origin(answer)
    );
    ToolError::new(ErrorCode::Failed, message)
}

fn origin(answer: &Response) -> String {
    answer.final_url.origin().ascii_serialization()
}
