//! HTTP client of a gateway.

use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use manyhands_core::{Envelope, ErrorCode, Secret, ToolError};
use manyhands_guard::{Body, Egress, FetchLimits, GatewayClient, HeaderMap, HeaderValue, Method};
use serde_json::Value;

use manyhands_terminal::output::Failure;

/// Attempts of a throttled request.
const TRIES: u32 = 3;

/// Longer than the longest approval wait plus the longest call.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(4_500);

/// A gateway and the token for it.
pub struct Remote {
    client: GatewayClient,
    token: Option<Secret>,
    url: String,
}

impl Remote {
    /// A gateway at `url`, with a token.
    pub fn new(url: &str, token: Secret) -> Result<Self, Failure> {
        Self::open(url, Some(token))
    }

    /// A gateway at `url`, without a token.
    pub fn anonymous(url: &str) -> Result<Self, Failure> {
        Self::open(url, None)
    }

    fn open(url: &str, token: Option<Secret>) -> Result<Self, Failure> {
        // A client for this origin only: a redirect cannot lead the token elsewhere.
        let client = Egress::gateway(url).map_err(|e| Failure(format!("{url}: {e}")))?;
        Ok(Self {
            client,
            token,
            url: url.to_owned(),
        })
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The token, if any.
    pub fn token(&self) -> Option<&Secret> {
        self.token.as_ref()
    }

    /// POSTs and returns the envelope, also of a failure.
    pub async fn post(&self, path: &str, body: &Value) -> Envelope {
        self.envelope(Method::POST, path, Some(body), &HeaderMap::new())
            .await
    }

    /// POSTs with further headers and returns the envelope, also of a failure.
    pub async fn post_with(&self, path: &str, body: &Value, headers: HeaderMap) -> Envelope {
        self.envelope(Method::POST, path, Some(body), &headers)
            .await
    }

    /// GETs and returns the envelope, also of a failure.
    pub async fn get_envelope(&self, path: &str) -> Envelope {
        self.envelope(Method::GET, path, None, &HeaderMap::new())
            .await
    }

    /// POSTs; a failure becomes an error.
    pub async fn expect_post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        result(
            self.envelope(Method::POST, path, Some(body), &HeaderMap::new())
                .await,
        )
    }

    /// PUTs; a failure becomes an error.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        result(
            self.envelope(Method::PUT, path, Some(body), &HeaderMap::new())
                .await,
        )
    }

    /// GETs; a failure becomes an error.
    pub async fn get(&self, path: &str) -> Result<Value, Failure> {
        result(
            self.envelope(Method::GET, path, None, &HeaderMap::new())
                .await,
        )
    }

    /// DELETEs; a failure becomes an error.
    pub async fn delete(&self, path: &str) -> Result<Value, Failure> {
        result(
            self.envelope(Method::DELETE, path, None, &HeaderMap::new())
                .await,
        )
    }

    /// Streams the body of a response.
    pub async fn download(&self, path: &str) -> Result<Body, Failure> {
        let headers = self.headers().map_err(|e| Failure(e.text()))?;
        let limits = FetchLimits {
            total_timeout: Some(REQUEST_TIMEOUT),
            // Streamed to a file, so its size does not matter.
            max_bytes: Some(u64::MAX),
            ..FetchLimits::default()
        };
        let asked = self.client.fetch(Method::GET, path, headers, None, limits);
        let answer = asked.await.map_err(|e| Failure(self.absent(&e).text()))?;
        // Any other response is an envelope with the error.
        if answer.status.as_u16() == 200 {
            return Ok(answer.body);
        }
        let said = answer.bytes().await?;
        let failed = result(serde_json::from_slice(&said)?).map(drop);
        Err(failed
            .err()
            .unwrap_or_else(|| Failure("the gateway returned no file".to_owned())))
    }

    /// Uploads a streamed body; a failure becomes an error.
    pub async fn upload(
        &self,
        path: &str,
        body: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static,
    ) -> Result<Value, Failure> {
        let mut headers = self.headers().map_err(|e| Failure(e.text()))?;
        // Not retried like other requests: a stream can be read only once.
        let kind = HeaderValue::from_static("application/octet-stream");
        headers.insert("content-type", kind);
        let limits = FetchLimits {
            total_timeout: Some(REQUEST_TIMEOUT),
            ..FetchLimits::default()
        };
        let sent = self
            .client
            .upload(Method::POST, path, headers, body, limits);
        let answer = sent.await.map_err(|e| Failure(self.absent(&e).text()))?;
        let said = answer.bytes().await?;
        result(serde_json::from_slice(&said)?)
    }

    async fn envelope(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &HeaderMap,
    ) -> Envelope {
        for _ in 1..TRIES {
            let envelope = self.once(method.clone(), path, body, headers).await;
            match (envelope.code, envelope.retry_after_ms) {
                // Only short waits: a limit per hour or day is reported instead.
                (Some(ErrorCode::RateLimited), Some(wait)) if wait <= 2_000 => {
                    tokio::time::sleep(Duration::from_millis(wait)).await;
                }
                _ => return envelope,
            }
        }
        self.once(method, path, body, headers).await
    }

    async fn once(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &HeaderMap,
    ) -> Envelope {
        match self.send(method, path, body, headers).await {
            // The body is not quoted: it may come from a program that is not a gateway at all.
            Ok((_, bytes)) => serde_json::from_slice(&bytes).unwrap_or_else(|_| {
                let message = format!("{} does not respond like a gateway", self.url);
                Envelope::from(Err(ToolError::new(ErrorCode::Unavailable, message)))
            }),
            Err(error) => Envelope::from(Err(error)),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &HeaderMap,
    ) -> Result<(u16, Vec<u8>), ToolError> {
        let mut all = headers.clone();
        all.extend(self.headers()?);
        let limits = FetchLimits {
            total_timeout: Some(REQUEST_TIMEOUT),
            ..FetchLimits::default()
        };
        let answer = self.client.fetch(
            method,
            path,
            all,
            body.map(|json| json.to_string().into()),
            limits,
        );
        let response = answer.await.map_err(|e| self.absent(&e))?;
        let status = response.status.as_u16();
        let bytes = response.bytes().await.map_err(|e| self.absent(&e))?;
        Ok((status, bytes.to_vec()))
    }

    fn headers(&self) -> Result<HeaderMap, ToolError> {
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.token {
            let bearer = HeaderValue::try_from(format!("Bearer {}", token.expose()));
            let mut bearer = bearer.map_err(|_| {
                ToolError::new(
                    ErrorCode::Unauthenticated,
                    "the token contains invalid characters",
                )
            })?;
            // Keeps the token out of debug output and HTTP/2 header compression.
            bearer.set_sensitive(true);
            headers.insert("authorization", bearer);
        }
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        Ok(headers)
    }

    fn absent(&self, error: &impl std::fmt::Display) -> ToolError {
        absent(&self.url, error)
    }
}

/// The error for a gateway that cannot be reached.
pub fn absent(url: &str, error: &impl std::fmt::Display) -> ToolError {
    ToolError::new(
        ErrorCode::Unavailable,
        format!("cannot reach the gateway at {url}: {error}"),
    )
    .hint("start it with `manyhands up`, or select another gateway with MANYHANDS_URL and MANYHANDS_TOKEN")
}

fn result(envelope: Envelope) -> Result<Value, Failure> {
    match envelope.error {
        Some(error) => Err(Failure(error)),
        None => Ok(envelope.result.unwrap_or_default()),
    }
}

/// Formats a JSON value as plain text: strings without quotes, null as nothing.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
