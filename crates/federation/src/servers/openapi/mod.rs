//! A plain HTTP service as a server: each operation of its OpenAPI document is a tool.
//!
//! A document is a stranger's word. What it says becomes part of the definitions that the owner
//! accepts, hosts included, and only what was accepted is ever called: a document that changes
//! afterwards changes nothing until the owner accepts the change. Wherever it points, requests leave
//! through the guarded egress, and no redirect is followed.

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

pub(super) use request::Request;

use document::{Document, Source};

/// The largest document.
const MAX_DOCUMENT: u64 = 32 * 1024 * 1024;
/// The largest answer.
const MAX_ANSWER: u64 = 32 * 1024 * 1024;
/// How much of an answer that says no is shown.
const MAX_REFUSAL: usize = 2_000;
/// How long the document may take to come.
const DOCUMENT_TIME: Duration = Duration::from_secs(60);

/// What a document says now; nothing of it counts before it is accepted.
#[derive(Debug)]
pub(super) struct Listed {
    /// Its tools, as an MCP server would define them, each with the request it stands for.
    pub(super) definitions: Vec<Value>,
    /// Where the service as a whole is.
    pub(super) server: Option<String>,
}

/// Reads the document of a server.
pub(super) async fn list(
    name: &ServerName,
    config: &McpServer,
    egress: &Egress,
) -> Result<Listed, ToolError> {
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
        document::read(&text, Source { from, settled })
    });
    let read = read.await;
    let read = read.map_err(|e| ToolError::internal(e.to_string()))?;
    let Document { server, operations } = read.map_err(wrong)?;
    for operation in &operations {
        if let Some(server) = &operation.request.server {
            reachable(server, egress).map_err(wrong)?;
        }
    }
    let definitions = operations.into_iter().map(|one| one.definition);
    Ok(Listed {
        definitions: definitions.collect(),
        server,
    })
}

/// Refuses a server that no call could reach, so that the owner hears of it when the document is
/// read. What a name leads to is judged again with every call.
fn reachable(server: &str, egress: &Egress) -> Result<(), String> {
    let url = Url::parse(server).map_err(|e| e.to_string())?;
    let judged = egress.check(&server::judged(&url));
    judged.map_err(|error| format!("its server {server} cannot be used: {error}"))
}

/// Who is called, and with what.
pub(super) struct Call<'a> {
    /// What the owner accepted.
    pub(super) request: &'a Request,
    /// Where the service is, where the settings say so.
    pub(super) url: Option<&'a str>,
    pub(super) arguments: &'a Map<String, Value>,
    pub(super) credentials: &'a [(HeaderName, Secret)],
    pub(super) timeout: Duration,
}

impl Call<'_> {
    /// Sends the request; the answer has the shape of an MCP server's result.
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

    /// The address of the request: below the server that was accepted, whatever the arguments are.
    fn place(&self, path: &str, query: Option<&str>) -> Result<Url, ToolError> {
        let said = self.url.or(self.request.server.as_deref());
        let said = said.ok_or_else(|| {
            let message = "it is not on record where the service is";
            ToolError::new(ErrorCode::Unavailable, message)
                .hint("the owner accepts what the document says with `manyhands mcp accept`")
        })?;
        let base = server::canonical(said, None).map_err(ToolError::internal)?;
        let below = base.path().trim_end_matches('/');
        // Set part by part: nothing in the path can become another host.
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

/// The text of a document, and where it came from if that is an address.
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

/// What went wrong; a hint follows on a line of its own.
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

/// What `make fuzz` does with a document.
pub fn fuzz_document(text: &str) {
    let _ = document::read(text, Source::default()); // only that it ends matters
}
