//! A gateway, asked over HTTP.

use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use manyhands_core::{Envelope, ErrorCode, Secret, ToolError};
use manyhands_guard::{Body, Egress, FetchLimits, GatewayClient, HeaderMap, HeaderValue, Method};
use serde_json::Value;

use crate::output::Failure;

/// How often a throttled request is tried again.
const TRIES: u32 = 3;

/// Longer than any approval is waited for and any call runs.
const PATIENCE: Duration = Duration::from_secs(4_500);

/// A gateway and the token to show it.
pub struct Remote {
    client: GatewayClient,
    token: Option<Secret>,
    url: String,
}

impl Remote {
    /// A gateway at `url`, and the token to show it.
    pub fn new(url: &str, token: Secret) -> Result<Self, Failure> {
        Self::open(url, Some(token))
    }

    /// A gateway at `url` that is shown no token.
    pub fn stranger(url: &str) -> Result<Self, Failure> {
        Self::open(url, None)
    }

    fn open(url: &str, token: Option<Secret>) -> Result<Self, Failure> {
        let client = Egress::gateway(url).map_err(|e| Failure(format!("{url}: {e}")))?;
        Ok(Self {
            client,
            token,
            url: url.to_owned(),
        })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The token that it is shown.
    pub fn token(&self) -> Option<&Secret> {
        self.token.as_ref()
    }

    /// Asks and gives back the envelope, whatever it says.
    pub async fn post(&self, path: &str, body: &Value) -> Envelope {
        self.envelope(Method::POST, path, Some(body)).await
    }

    /// Gets and gives back the envelope, whatever it says.
    pub async fn look(&self, path: &str) -> Envelope {
        self.envelope(Method::GET, path, None).await
    }

    /// Asks, and takes anything but a result for a failure.
    pub async fn expect_post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        result(self.envelope(Method::POST, path, Some(body)).await)
    }

    /// Puts, and takes anything but a result for a failure.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        result(self.envelope(Method::PUT, path, Some(body)).await)
    }

    /// Gets, and takes anything but a result for a failure.
    pub async fn get(&self, path: &str) -> Result<Value, Failure> {
        result(self.envelope(Method::GET, path, None).await)
    }

    /// Deletes, and takes anything but a result for a failure.
    pub async fn delete(&self, path: &str) -> Result<Value, Failure> {
        result(self.envelope(Method::DELETE, path, None).await)
    }

    /// The body at a path, as it comes.
    pub async fn download(&self, path: &str) -> Result<Body, Failure> {
        let headers = self.headers().map_err(|e| Failure(e.text()))?;
        let limits = FetchLimits {
            total_timeout: Some(PATIENCE),
            max_bytes: Some(u64::MAX),
            ..FetchLimits::default()
        };
        let asked = self.client.fetch(Method::GET, path, headers, None, limits);
        let answer = asked.await.map_err(|e| Failure(self.absent(&e).text()))?;
        if answer.status.as_u16() == 200 {
            return Ok(answer.body);
        }
        let said = answer.bytes().await?;
        let failed = result(serde_json::from_slice(&said)?).map(drop);
        Err(failed
            .err()
            .unwrap_or_else(|| Failure("the gateway gave no file".to_owned())))
    }

    /// Sends a body that comes in pieces, and takes anything but a result for a failure.
    pub async fn upload(
        &self,
        path: &str,
        body: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static,
    ) -> Result<Value, Failure> {
        let mut headers = self.headers().map_err(|e| Failure(e.text()))?;
        let kind = HeaderValue::from_static("application/octet-stream");
        headers.insert("content-type", kind);
        let limits = FetchLimits {
            total_timeout: Some(PATIENCE),
            ..FetchLimits::default()
        };
        let sent = self
            .client
            .upload(Method::POST, path, headers, body, limits);
        let answer = sent.await.map_err(|e| Failure(self.absent(&e).text()))?;
        let said = answer.bytes().await?;
        result(serde_json::from_slice(&said)?)
    }

    async fn envelope(&self, method: Method, path: &str, body: Option<&Value>) -> Envelope {
        for _ in 1..TRIES {
            let envelope = self.once(method.clone(), path, body).await;
            match (envelope.code, envelope.retry_after_ms) {
                // A limit on calls that lets go in a moment.
                (Some(ErrorCode::RateLimited), Some(wait)) if wait <= 2_000 => {
                    tokio::time::sleep(Duration::from_millis(wait)).await;
                }
                _ => return envelope,
            }
        }
        self.once(method, path, body).await
    }

    async fn once(&self, method: Method, path: &str, body: Option<&Value>) -> Envelope {
        match self.send(method, path, body).await {
            Ok((_, bytes)) => serde_json::from_slice(&bytes).unwrap_or_else(|_| {
                let message = format!("{} does not answer like a gateway", self.url);
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
    ) -> Result<(u16, Vec<u8>), ToolError> {
        let limits = FetchLimits {
            total_timeout: Some(PATIENCE),
            ..FetchLimits::default()
        };
        let answer = self.client.fetch(
            method,
            path,
            self.headers()?,
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
                    "the token holds characters that no token has",
                )
            })?;
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

/// No gateway answers at `url`.
pub fn absent(url: &str, error: &impl std::fmt::Display) -> ToolError {
    ToolError::new(
        ErrorCode::Unavailable,
        format!("no gateway answers at {url}: {error}"),
    )
    .hint("start it with `manyhands up`, or name another with MANYHANDS_URL and MANYHANDS_TOKEN")
}

fn result(envelope: Envelope) -> Result<Value, Failure> {
    match envelope.error {
        Some(error) => Err(Failure(error)),
        None => Ok(envelope.result.unwrap_or_default()),
    }
}

/// A JSON value as a person writes it: texts bare, nothing for null.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
