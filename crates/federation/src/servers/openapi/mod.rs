//! HTTP services as servers: each operation of an OpenAPI document is a tool.
//!
//! A document is untrusted. What it says, hosts included, becomes part of the definitions that the
//! owner accepts, and only accepted requests are ever sent: a document that changes later changes
//! nothing until the owner accepts the change. Requests leave through the guarded egress wherever
//! they point, and redirects are not followed.

mod document;
mod request;
mod server;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use manyhands_config::{McpServer, masked_text};
use manyhands_core::{ErrorCode, Secret, ServerName, ToolError};
use manyhands_guard::{
    Egress, EgressError, FetchLimits, HeaderMap, HeaderName, HeaderValue, Method,
    Request as Outgoing,
};
use serde_json::{Map, Value, json};
use url::Url;

pub(super) use request::OperationRequest;

use document::{ApiDocument, DocumentSource};

/// The largest document.
const MAX_DOCUMENT: u64 = 32 * 1024 * 1024;
/// The largest response.
const MAX_ANSWER: u64 = 32 * 1024 * 1024;
/// How much of an error response is shown.
const MAX_REFUSAL: usize = 2_000;
/// The longest time for fetching the document.
const DOCUMENT_TIME: Duration = Duration::from_secs(60);

/// The current content of a document; nothing of it counts before it is accepted.
#[derive(Debug)]
pub(super) struct ListedTools {
    /// Its tools as MCP definitions, each with the request it stands for.
    pub(super) definitions: Vec<Value>,
    /// The address of the service as a whole.
    pub(super) server: Option<String>,
}

/// Fetches and parses the document of a server.
pub(super) async fn list(
    name: &ServerName,
    config: &McpServer,
    egress: &Egress,
) -> Result<ListedTools, ToolError> {
    let wrong = |why: String| {
        let (why, hint) = match why.split_once('\n') {
            Some((why, hint)) => (why.to_owned(), hint.to_owned()),
            None => (why, "change it in config.toml, then try again".to_owned()),
        };
        let message = format!("mcpServers.{name}.openapi: {why}");
        ToolError::new(ErrorCode::Unavailable, message).hint(hint)
    };
    let source = config.openapi.as_deref().unwrap_or_default();
    let (text, from) = document_text(source, egress).await.map_err(wrong)?;
    let settled = config.url.is_some();
    let read = tokio::task::spawn_blocking(move || {
        let from = from.as_ref();
        document::read(&text, DocumentSource { from, settled })
    });
    let read = read.await;
    let read = read.map_err(|e| ToolError::internal(e.to_string()))?;
    let ApiDocument { server, operations } = read.map_err(wrong)?;
    for operation in &operations {
        if let Some(server) = &operation.request.server {
            reachable(server, egress).map_err(wrong)?;
        }
    }
    let definitions = operations.into_iter().map(|one| one.definition);
    Ok(ListedTools {
        definitions: definitions.collect(),
        server,
    })
}

/// Rejects a server that no call could reach, so that the owner learns of it when the document is
/// read. Name resolution is checked again with every call.
fn reachable(server: &str, egress: &Egress) -> Result<(), String> {
    let url = Url::parse(server).map_err(|e| e.to_string())?;
    let judged = egress.check(&server::judged(&url));
    judged.map_err(|error| format!("its server {server} cannot be used: {error}"))
}

/// A call of an operation.
pub(super) struct OperationCall<'a> {
    /// The accepted request.
    pub(super) request: &'a OperationRequest,
    /// The base URL, if the settings name it.
    pub(super) url: Option<&'a str>,
    pub(super) arguments: &'a Map<String, Value>,
    pub(super) credentials: &'a [(HeaderName, Secret)],
    pub(super) timeout: Duration,
}

impl OperationCall<'_> {
    /// Sends the request. The response has the shape of an MCP tool result.
    pub(super) async fn send(&self, egress: &Egress) -> Result<Value, ToolError> {
        let mut draft = request::draft(self.request, self.arguments)?;
        let url = self.place(&draft.path, draft.query.as_deref())?;
        for (name, secret) in self.credentials {
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
        let method = Method::from_bytes(self.request.method.as_bytes())
            .map_err(|e| ToolError::internal(e.to_string()))?;
        let limits = FetchLimits {
            total_timeout: Some(self.timeout),
            max_bytes: Some(MAX_ANSWER),
            max_redirects: Some(0),
        };
        let outgoing = Outgoing {
            headers: draft.headers,
            body: draft.body.map(Into::into),
            limits,
            ..Outgoing::new(method, url)
        };
        let answer = egress.fetch(outgoing).await.map_err(|e| failure(&e))?;
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

    /// The URL of the request: below the accepted server, whatever the arguments are.
    fn place(&self, path: &str, query: Option<&str>) -> Result<Url, ToolError> {
        let said = self.url.or(self.request.server.as_deref());
        let said = said.ok_or_else(|| {
            let message = "the address of the service is not stored";
            ToolError::new(ErrorCode::Unavailable, message)
                .hint("the owner accepts what the document says with `manyhands mcp accept`")
        })?;
        let base = server::canonical(said, None).map_err(ToolError::internal)?;
        let below = base.path().trim_end_matches('/');
        // Set component by component: nothing in the path can change the host.
        let mut url = base.clone();
        url.set_path(&format!("{below}{path}"));
        url.set_query(query);
        let inside = url.origin() == base.origin()
            && url
                .path()
                .strip_prefix(below)
                .is_some_and(|rest| rest.starts_with('/'));
        match inside {
            true => Ok(url),
            false => Err(ToolError::new(
                ErrorCode::Forbidden,
                format!("the request would leave {base}"),
            )),
        }
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

/// The text of a document, and its URL if it was fetched.
async fn document_text(source: &str, egress: &Egress) -> Result<(String, Option<Url>), String> {
    let shown = masked_text(source);
    let Ok(url) = Url::parse(source) else {
        let path = Path::new(source).to_owned();
        if !path.is_absolute() {
            return Err(format!("{shown:?} is neither an address nor a full path"));
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
            .map_err(|e: std::io::Error| format!("{shown} cannot be read: {e}"));
    };
    let outgoing = Outgoing {
        limits: FetchLimits {
            total_timeout: Some(DOCUMENT_TIME),
            max_bytes: Some(MAX_DOCUMENT),
            max_redirects: Some(0),
        },
        ..Outgoing::get(url.as_str())
    };
    let failed = |error: EgressError| format!("{shown}: {}", reason(&error));
    let answer = egress.fetch(outgoing).await.map_err(failed)?;
    if !answer.status.is_success() {
        return Err(format!("{shown} answered {}", answer.status));
    }
    let body = answer.bytes().await.map_err(failed)?;
    let text = String::from_utf8(body.to_vec()).map_err(|_| "it is not UTF-8".to_owned())?;
    Ok((text, Some(url)))
}

/// The error message; a hint follows on its own line.
fn reason(error: &EgressError) -> String {
    match error {
        EgressError::Redirects { .. } => "it redirects, and redirects are not followed".to_owned(),
        error => error.to_string(),
    }
}

fn failure(error: &EgressError) -> ToolError {
    let code = match error {
        EgressError::TimedOut(_) => ErrorCode::DeadlineExceeded,
        EgressError::TooLarge { .. } => ErrorCode::TooLarge,
        EgressError::Private { .. } => ErrorCode::Forbidden,
        EgressError::Redirects { .. } => ErrorCode::Failed,
        _ => ErrorCode::Unavailable,
    };
    let reason = reason(error);
    let (why, hint) = reason.split_once('\n').unwrap_or((&reason, ""));
    let failed = ToolError::new(code, format!("the service cannot be called: {why}"));
    match hint.is_empty() {
        true => failed,
        false => failed.hint(hint),
    }
}

/// Entry point of `make fuzz`.
pub fn fuzz_document(text: &str) {
    let _ = document::read(text, DocumentSource::default()); // only termination matters
}
