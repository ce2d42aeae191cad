//! The client that the command line and model providers use: pinned to one origin.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use reqwest::Method;
use reqwest::header::HeaderMap;
use url::Url;

use super::exchange::{Deadline, FetchLimits, Response};
use super::resolver::{CheckedResolver, Reach, SystemLookup};
use super::transport::Transport;
use super::{EgressError, check_headers, parse};

const CONNECT: Duration = Duration::from_secs(5);
/// Idle connections per host. Many requests may run against one server at once, and a new
/// connection for each would cost more than the request.
const KEPT: usize = 64;
const TOTAL: Duration = Duration::from_secs(600);
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// A client pinned to one origin that the owner configured, usually on this machine.
/// It follows no redirects, so a token sent through it goes nowhere else.
pub struct GatewayClient {
    base: Url,
    transport: Transport,
}

impl GatewayClient {
    pub(super) fn new(origin: &str) -> Result<Self, EgressError> {
        let base = parse(origin)?;
        let resolver = CheckedResolver {
            lookup: Arc::new(SystemLookup),
            reach: Arc::new(Reach::Anywhere),
        };
        Ok(Self {
            base,
            transport: Transport::new(resolver, CONNECT, KEPT),
        })
    }

    /// The origin it talks to.
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// Sends a request to `path` (with its query) at the origin. A redirect is returned as is.
    /// Without limits of its own the exchange may take 10 minutes and 256 MiB.
    pub async fn fetch(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Option<Bytes>,
        limits: FetchLimits,
    ) -> Result<Response, EgressError> {
        let body = body.map(reqwest::Body::from);
        self.exchange(method, path, headers, body, limits).await
    }

    /// Like [`fetch`](Self::fetch), with a streamed body.
    pub async fn upload(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static,
        limits: FetchLimits,
    ) -> Result<Response, EgressError> {
        let body = Some(reqwest::Body::wrap_stream(body));
        self.exchange(method, path, headers, body, limits).await
    }

    /// The URL of `path` at the origin.
    fn place(&self, path: &str) -> Result<Url, EgressError> {
        if path == self.base.as_str() {
            return Ok(self.base.clone()); // as every request to a server is
        }
        let url = self
            .base
            .join(path)
            .map_err(|error| EgressError::Url(error.to_string()))?;
        if url.origin() == self.base.origin() {
            return Ok(url);
        }
        let base = self.base.origin().ascii_serialization();
        Err(EgressError::Elsewhere(base))
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Option<reqwest::Body>,
        limits: FetchLimits,
    ) -> Result<Response, EgressError> {
        check_headers(&headers)?;
        let url = self.place(path)?;
        let deadline = Deadline::after(limits.total_timeout.unwrap_or(TOTAL));
        let host = url.host_str().unwrap_or_default().to_owned();
        let exchange = async {
            let client = self.transport.client(&url).await?;
            let mut request = client.request(method, url.clone()).headers(headers);
            if let Some(body) = body {
                request = request.body(body);
            }
            let sent = request.send().await;
            sent.map_err(|error| EgressError::from_client(&error, &host))
        };
        let answer = deadline.bound(exchange).await??;
        let limit = limits.max_bytes.unwrap_or(MAX_BYTES);
        Response::new(answer, url, limit, deadline)
    }
}
