//! Requests, responses and bodies that are still arriving.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::error::EgressError;

/// Tighter limits than the policy's, for one request.
#[derive(Debug, Clone, Copy, Default)]
pub struct FetchLimits {
    /// Total time, including redirects and body.
    pub total_timeout: Option<Duration>,
    /// Maximum body size after decompression.
    pub max_bytes: Option<u64>,
    /// Maximum number of redirects.
    pub max_redirects: Option<usize>,
}

/// A request. Headers whose value is marked sensitive are sent to this origin only.
#[derive(Debug, Clone)]
pub struct Request {
    /// The HTTP method.
    pub method: Method,
    /// The destination.
    pub url: String,
    /// Headers to send.
    pub headers: HeaderMap,
    /// The body to send.
    pub body: Option<Bytes>,
    /// Tighter limits than the policy's.
    pub limits: FetchLimits,
}

impl Request {
    /// A request with neither headers nor body.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self {
            method,
            url: url.into(),
            headers: HeaderMap::new(),
            body: None,
            limits: FetchLimits::default(),
        }
    }

    /// A `GET` of `url`.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Method::GET, url)
    }
}

/// A response whose body is still arriving.
#[derive(Debug)]
pub struct Response {
    /// The status code.
    pub status: StatusCode,
    /// The response headers.
    pub headers: HeaderMap,
    /// The URL that answered, after redirects.
    pub final_url: Url,
    /// The response body.
    pub body: Body,
}

/// A decompressed body that is still arriving, within its size and time limits.
#[derive(Debug)]
pub struct Body {
    inner: reqwest::Response,
    taken: u64,
    limit: u64,
    deadline: Deadline,
}

/// The moment by which an exchange must be complete.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    at: Instant,
    total: Duration,
}

impl Deadline {
    pub(super) fn after(total: Duration) -> Self {
        Self {
            at: Instant::now() + total,
            total,
        }
    }

    /// The result of `work`, if it completes in time.
    pub(super) async fn bound<T>(self, work: impl Future<Output = T>) -> Result<T, EgressError> {
        let done = timeout_at(self.at, work).await;
        done.map_err(|_| EgressError::TimedOut(self.total))
    }
}

impl Response {
    pub(super) fn new(
        inner: reqwest::Response,
        url: Url,
        limit: u64,
        deadline: Deadline,
    ) -> Result<Self, EgressError> {
        if inner.content_length().is_some_and(|length| length > limit) {
            return Err(EgressError::TooLarge { limit });
        }
        Ok(Self {
            status: inner.status(),
            headers: inner.headers().clone(),
            final_url: url,
            body: Body {
                inner,
                taken: 0,
                limit,
                deadline,
            },
        })
    }

    /// The whole body.
    pub async fn bytes(self) -> Result<Bytes, EgressError> {
        self.body.bytes().await
    }
}

impl Body {
    /// The next chunk; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        let host = self.inner.url().host_str().unwrap_or_default().to_owned();
        let next = self.deadline.bound(self.inner.chunk()).await?;
        let next = next.map_err(|error| EgressError::from_client(&error, &host))?;
        if let Some(chunk) = &next {
            self.taken += chunk.len() as u64;
            if self.taken > self.limit {
                return Err(EgressError::TooLarge { limit: self.limit });
            }
        }
        Ok(next)
    }

    /// Reads the rest of the body.
    pub async fn bytes(mut self) -> Result<Bytes, EgressError> {
        let mut all = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all.freeze())
    }

    /// The chunks as a stream, which ends after an error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, EgressError>> + Send {
        futures_util::stream::try_unfold(self, async |mut body| {
            let chunk = body.chunk().await?;
            Ok(chunk.map(|chunk| (chunk, body)))
        })
    }
}
