//! HTTP requests to one origin, with credentials.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use manyhands_core::Secret;
use manyhands_guard::{
    Body, Egress, EgressError, FetchLimits, GatewayClient, HeaderMap, HeaderName, HeaderValue,
    Method, Response,
};
use manyhands_telemetry::inject_headers;
use url::Url;

use crate::error::UpstreamError;
use crate::server::{Credentials, Server, Transport};

/// Retries after a 401 or 403: once for missing credentials, once for insufficient ones.
const MAX_REFUSALS: usize = 2;
/// Maximum redirects within the origin.
const MAX_REDIRECTS: usize = 3;
/// Timeout of exchanges that end by themselves, such as event streams.
const NO_END: Duration = Duration::from_secs(30 * 86_400);
/// Maximum length of an error text.
const MAX_ERROR_TEXT: usize = 500;

/// A client for one URL. Nothing sent through it leaves its origin.
pub(crate) struct Post {
    client: GatewayClient,
    url: Url,
    headers: HeaderMap,
    credentials: Arc<dyn Credentials>,
    pub(crate) limit: usize,
}

impl Post {
    pub(crate) fn to(server: &Server) -> Result<Self, UpstreamError> {
        let (Transport::Http { url, headers } | Transport::Sse { url, headers }) =
            &server.transport
        else {
            return Err(super::garbage("not an HTTP server"));
        };
        let client =
            Egress::gateway(url).map_err(|e| UpstreamError::Unreachable(format!("its URL {e}")))?;
        let url = client.base().clone();
        let mut fixed = HeaderMap::new();
        put_secrets(&mut fixed, headers)?;
        Ok(Self {
            client,
            url,
            headers: fixed,
            credentials: server.credentials.clone(),
            limit: server.bounds.message,
        })
    }

    /// The configured URL.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Sends a request and returns the response once its headers have arrived.
    pub(crate) async fn send(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, UpstreamError> {
        let mut refusals = 0;
        loop {
            let mut all = self.headers.clone();
            // Read for every attempt: a refresh may have replaced the credentials meanwhile.
            let sent = self.credentials.headers().await?;
            put_secrets(&mut all, &sent)?;
            // Protocol headers take precedence over configured ones.
            for (name, value) in headers {
                all.insert(name.clone(), value.clone());
            }
            inject_headers(&mut all);
            let answer = self.follow(method, url, all, body.clone()).await?;
            let status = answer.status.as_u16();
            if !matches!(status, 401 | 403) {
                return Ok(answer);
            }
            let challenge = answer.headers.get("www-authenticate");
            let challenge = challenge.and_then(|value| value.to_str().ok());
            let www_authenticate = challenge.map(str::to_owned);
            refusals += 1;
            let again = refusals <= MAX_REFUSALS
                && self
                    .credentials
                    .refused(status, www_authenticate.clone(), &sent)
                    .await?;
            if !again {
                return Err(UpstreamError::Unauthorized {
                    status,
                    www_authenticate,
                });
            }
        }
    }

    /// Follows redirects that keep method and body and stay within the origin.
    async fn follow(
        &self,
        method: &Method,
        url: &Url,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, UpstreamError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            // Bounded elsewhere: streams stay open for days, and the parser limits each message.
            let limits = FetchLimits {
                total_timeout: Some(NO_END),
                max_bytes: Some(u64::MAX),
                max_redirects: None,
            };
            let sent = self
                .client
                .fetch(
                    method.clone(),
                    url.as_str(),
                    headers.clone(),
                    body.clone(),
                    limits,
                )
                .await;
            let answer = sent.map_err(|e| failed(&e))?;
            if !matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(answer);
            }
            let location = answer.headers.get("location").and_then(|l| l.to_str().ok());
            let next = location.and_then(|location| url.join(location).ok());
            // Other redirects turn a POST into a GET, which would lose the message.
            let keeps_method =
                matches!(answer.status.as_u16(), 307 | 308) || *method == Method::GET;
            match next {
                Some(next) if keeps_method && next.origin() == self.url.origin() => url = next,
                _ => {
                    return Err(super::garbage(
                        "it redirects to another origin; set its final URL in the settings",
                    ));
                }
            }
        }
        Err(super::garbage("too many redirects"))
    }

    /// Reads a body that is one message.
    pub(crate) async fn read_body(&self, mut body: Body) -> Result<Bytes, UpstreamError> {
        let mut all = BytesMut::new();
        while let Some(chunk) = body.chunk().await.map_err(|e| failed(&e))? {
            if all.is_empty() && chunk.len() <= self.limit {
                // Most responses are one chunk, which is returned without copying.
                let Some(second) = body.chunk().await.map_err(|e| failed(&e))? else {
                    return Ok(chunk);
                };
                all.extend_from_slice(&chunk);
                all.extend_from_slice(&second);
            } else {
                all.extend_from_slice(&chunk);
            }
            if all.len() > self.limit {
                return Err(self.too_large());
            }
        }
        Ok(all.freeze())
    }

    pub(crate) fn too_large(&self) -> UpstreamError {
        UpstreamError::TooLarge {
            what: "its answer",
            limit: self.limit,
        }
    }

    /// Status and body of an error response.
    pub(crate) async fn refusal(&self, answer: Response) -> (u16, Bytes) {
        let status = answer.status.as_u16();
        let body = tokio::time::timeout(Duration::from_secs(10), self.read_body(answer.body)).await;
        (status, body.ok().and_then(Result::ok).unwrap_or_default())
    }
}

/// The error for a response with `status` that is not JSON-RPC.
pub(crate) fn http(status: u16, body: &[u8]) -> UpstreamError {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * MAX_ERROR_TEXT)]);
    let message: String = text.trim().chars().take(MAX_ERROR_TEXT).collect();
    UpstreamError::Http { status, message }
}

/// Whether the response is an event stream.
pub(crate) fn is_stream(answer: &Response) -> bool {
    let kind = answer.headers.get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
    kind.trim_start().starts_with("text/event-stream")
}

fn put_secrets(
    into: &mut HeaderMap,
    headers: &[(HeaderName, Secret)],
) -> Result<(), UpstreamError> {
    for (name, secret) in headers {
        let mut value = HeaderValue::from_str(secret.expose()).map_err(|_| {
            UpstreamError::Unreachable(format!("header {name} has a value that cannot be sent"))
        })?;
        value.set_sensitive(true);
        into.insert(name.clone(), value);
    }
    Ok(())
}

/// Translates an egress error.
pub(crate) fn failed(error: &EgressError) -> UpstreamError {
    match error {
        EgressError::Http(_) => UpstreamError::Lost(error.to_string()),
        EgressError::Elsewhere(_) => super::garbage(format!("it {error}")),
        EgressError::TimedOut(after) => UpstreamError::TimedOut(*after),
        _ => UpstreamError::Unreachable(error.to_string()),
    }
}
