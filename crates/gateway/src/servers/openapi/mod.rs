//! A plain HTTP service as a server: each operation of its OpenAPI document is a tool.

mod document;
mod request;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use manyhands_config::McpServer;
use manyhands_core::{ErrorCode, Secret, ServerName, ToolError};
use manyhands_guard::{
    Egress, EgressError, FetchLimits, GatewayClient, HeaderMap, HeaderName, HeaderValue, Method,
};
use serde_json::{Map, Value, json};
use url::Url;

use document::{Document, Operation};

/// The largest document.
const MAX_DOCUMENT: u64 = 32 * 1024 * 1024;
/// The largest answer.
const MAX_ANSWER: u64 = 32 * 1024 * 1024;
/// How much of an answer that says no is shown.
const MAX_REFUSAL: usize = 2_000;
/// How long the document may take to come.
const DOCUMENT_TIME: Duration = Duration::from_secs(60);

/// A service whose document was read.
pub(super) struct Service {
    base: Url,
    client: GatewayClient,
    operations: Vec<Arc<Operation>>,
}

impl Service {
    /// Reads the document, and finds out where the service is.
    pub(super) async fn load(name: &ServerName, config: &McpServer) -> Result<Self, ToolError> {
        let wrong = |why: String| {
            let message = format!("mcpServers.{name}.openapi: {why}");
            ToolError::new(ErrorCode::Unavailable, message)
                .hint("change it in config.toml, then try again")
        };
        let source = config.openapi.as_deref().unwrap_or_default();
        let (text, from) = document_text(source).await.map_err(wrong)?;
        let read = tokio::task::spawn_blocking(move || document::read(&text)).await;
        let read = read.map_err(|e| ToolError::internal(e.to_string()))?;
        let Document { server, operations } = read.map_err(wrong)?;
        let said = config.url.as_deref().or(server.as_deref());
        let said = said.ok_or_else(|| {
            wrong("it does not say where the service is; set url beside it".to_owned())
        })?;
        let base = match from {
            Some(from) => from.join(said),
            None => Url::parse(said),
        };
        let mut base = base.map_err(|e| wrong(format!("{said:?} is not an address: {e}")))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(wrong(format!("{base} is not an http address")));
        }
        base.set_query(None);
        base.set_fragment(None);
        let origin = base.origin().ascii_serialization();
        let client = Egress::gateway(&origin).map_err(|e| wrong(e.to_string()))?;
        Ok(Self {
            base,
            client,
            operations: operations.into_iter().map(Arc::new).collect(),
        })
    }

    /// Its tools, as an MCP server would define them.
    pub(super) fn definitions(&self) -> Vec<Value> {
        let definitions = self.operations.iter().map(|one| one.definition.clone());
        definitions.collect()
    }

    /// Asks for one operation; the answer has the shape of an MCP server's result.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        credentials: &[(HeaderName, Secret)],
        timeout: Duration,
    ) -> Result<Value, ToolError> {
        let operation = self
            .operations
            .iter()
            .find(|one| one.definition["name"] == tool);
        let operation = operation.ok_or_else(|| {
            ToolError::new(
                ErrorCode::Unavailable,
                format!("the service no longer offers {tool}"),
            )
        })?;
        let mut draft = request::draft(operation, arguments)?;
        for (name, secret) in credentials {
            let value = HeaderValue::from_str(secret.expose());
            let mut value = value.map_err(|_| {
                ToolError::new(
                    ErrorCode::Unavailable,
                    format!("the secret for {name} cannot be sent as a header"),
                )
            })?;
            value.set_sensitive(true);
            draft.headers.insert(name.clone(), value);
        }
        let path = format!("{}{}", self.base.path().trim_end_matches('/'), draft.target);
        let method = Method::from_bytes(operation.method.as_bytes())
            .map_err(|e| ToolError::internal(e.to_string()))?;
        let limits = FetchLimits {
            total_timeout: Some(timeout),
            max_bytes: Some(MAX_ANSWER),
            max_redirects: Some(0),
        };
        let body = draft.body.map(Into::into);
        let sent = self
            .client
            .fetch(method, &path, draft.headers, body, limits)
            .await;
        let answer = sent.map_err(|e| failure(&e))?;
        let (status, headers) = (answer.status, answer.headers.clone());
        let body = answer.bytes().await.map_err(|e| failure(&e))?;
        let text = String::from_utf8_lossy(&body);
        if !status.is_success() {
            let shown: String = text.chars().take(MAX_REFUSAL).collect();
            let message = format!("the service answered {status}: {shown}");
            return Ok(
                json!({ "isError": true, "content": [{ "type": "text", "text": message }] }),
            );
        }
        Ok(result(&headers, &text, status.as_u16()))
    }
}

fn result(headers: &HeaderMap, text: &str, status: u16) -> Value {
    let kind = headers
        .get("content-type")
        .and_then(|kind| kind.to_str().ok());
    let is_json = kind.is_some_and(|kind| kind.contains("json"));
    match serde_json::from_str::<Value>(text).ok().filter(|_| is_json) {
        Some(value) => json!({
            "content": [{ "type": "text", "text": text }],
            "structuredContent": value,
        }),
        None if text.is_empty() => json!({
            "content": [{ "type": "text", "text": format!("the service answered {status}") }],
        }),
        None => json!({ "content": [{ "type": "text", "text": text }] }),
    }
}

/// The text of a document, and where it came from if that is an address.
async fn document_text(source: &str) -> Result<(String, Option<Url>), String> {
    let Ok(url) = Url::parse(source) else {
        let path = Path::new(source).to_owned();
        if !path.is_absolute() {
            return Err(format!("{source:?} is neither an address nor a full path"));
        }
        let read = tokio::task::spawn_blocking(move || {
            let size = std::fs::metadata(&path)?.len();
            match size > MAX_DOCUMENT {
                true => Err(std::io::ErrorKind::FileTooLarge.into()),
                false => std::fs::read_to_string(&path),
            }
        });
        let read = read.await.map_err(|e| e.to_string())?;
        return read
            .map(|text| (text, None))
            .map_err(|e: std::io::Error| format!("{source} cannot be read: {e}"));
    };
    let client = Egress::gateway(&url.origin().ascii_serialization()).map_err(|e| e.to_string())?;
    let limits = FetchLimits {
        total_timeout: Some(DOCUMENT_TIME),
        max_bytes: Some(MAX_DOCUMENT),
        max_redirects: Some(0),
    };
    let target = url[url::Position::BeforePath..].to_owned();
    let answer = client
        .fetch(Method::GET, &target, HeaderMap::new(), None, limits)
        .await;
    let answer = answer.map_err(|e| e.to_string())?;
    if !answer.status.is_success() {
        return Err(format!("{source} answered {}", answer.status));
    }
    let body = answer.bytes().await.map_err(|e| e.to_string())?;
    let text = String::from_utf8(body.to_vec()).map_err(|_| "it is not UTF-8".to_owned())?;
    Ok((text, Some(url)))
}

fn failure(error: &EgressError) -> ToolError {
    let code = match error {
        EgressError::TimedOut(_) => ErrorCode::DeadlineExceeded,
        EgressError::TooLarge { .. } => ErrorCode::TooLarge,
        _ => ErrorCode::Unavailable,
    };
    ToolError::new(code, format!("the service could not be asked: {error}"))
}

/// What `make fuzz` does with a document.
pub(crate) fn fuzz_document(text: &str) {
    let _ = document::read(text); // only that it ends matters
}
