//! What is asked and what comes back.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::error::EgressError;

/// Tighter bounds than the policy's, for one request.
#[derive(Debug, Clone, Copy, Default)]
pub struct FetchLimits {
    /// How long all of it may take, redirects and body included.
    pub total_timeout: Option<Duration>,
    /// How large the body may be, after decompression.
    pub max_bytes: Option<u64>,
    /// How many redirects to follow.
    pub max_redirects: Option<usize>,
}

/// A request. Headers whose value is marked sensitive are sent to this origin only.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where to.
    pub url: String,
    /// Headers to send.
    pub headers: HeaderMap,
    /// The body to send.
    pub body: Option<Bytes>,
    /// Tighter bounds than the policy's.
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

/// An answer whose body is still arriving.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Where it came from, after redirects.
    pub final_url: Url,
    /// Its body.
    pub body: Body,
}

/// A body that is still arriving, decompressed, never more than was allowed and never
/// later than was allowed.
#[derive(Debug)]
pub struct Body {
    inner: reqwest::Response,
    taken: u64,
    limit: u64,
    deadline: Deadline,
}

/// When an exchange must be over.
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

    /// What `work` gives, if it gives it in time.
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
    /// The next piece; `None` at the end.
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

    /// All of it.
    pub async fn bytes(mut self) -> Result<Bytes, EgressError> {
        let mut all = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all.freeze())
    }

    /// The pieces as a stream, which ends after an error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, EgressError>> + Send {
        futures_util::stream::try_unfold(self, async |mut body| {
            let chunk = body.chunk().await?;
            Ok(chunk.map(|chunk| (chunk, body)))
        })
    }
}
