//! The one way out of the machine.
//!
//! A URL that a model wrote must not reach the owner's router, the cloud's metadata
//! service or this gateway itself. Addresses are checked as numbers, after the name
//! was looked up; the client connects to exactly the addresses that were checked; and
//! every redirect is a new request with the same checks.

mod address;
mod error;
mod exchange;
#[cfg(test)]
mod fake;
mod gateway;
#[cfg(test)]
mod redirect_tests;
mod resolver;
mod socket;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use reqwest::header::{
    AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST,
    HeaderMap, HeaderName, LOCATION, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use reqwest::{Method, StatusCode};
use url::{Host, Url};

use exchange::Deadline;
use resolver::{CheckedResolver, Reach};
use transport::Transport;

pub use address::is_public;
pub use error::EgressError;
pub use exchange::{Body, FetchLimits, Request, Response};
pub use gateway::GatewayClient;
pub use resolver::{Lookup, SystemLookup};
pub use transport::trust;

/// What may leave, and how much may come back.
#[derive(Debug, Clone)]
pub struct EgressPolicy {
    /// Private networks that may be reached.
    pub allow_private: Vec<IpNet>,
    /// How many redirects to follow.
    pub max_redirects: usize,
    /// Maximum time to connect.
    pub connect_timeout: Duration,
    /// Maximum time of a whole exchange.
    pub total_timeout: Duration,
    /// Maximum body size after decompression.
    pub max_bytes: u64,
}

impl Default for EgressPolicy {
    fn default() -> Self {
        Self {
            allow_private: Vec::new(),
            max_redirects: 10,
            connect_timeout: Duration::from_secs(10),
            total_timeout: Duration::from_secs(60),
            max_bytes: 10 * 1024 * 1024,
        }
    }
}

/// Idle connections kept open per host.
const KEPT: usize = 4;

/// Headers that determine a request's destination or framing; callers cannot set them.
const OURS: [HeaderName; 8] = [
    HOST,
    CONNECTION,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    TE,
    TRAILER,
    UPGRADE,
    PROXY_AUTHORIZATION,
];

/// The one HTTP client.
pub struct Egress {
    policy: EgressPolicy,
    reach: Arc<Reach>,
    transport: Transport,
}

impl Egress {
    /// A client that enforces `policy` and resolves names with `lookup`.
    pub fn new(policy: EgressPolicy, lookup: Arc<dyn Lookup>) -> Self {
        let reach = Arc::new(Reach::PublicAnd(policy.allow_private.clone()));
        let resolver = CheckedResolver {
            lookup,
            reach: Arc::clone(&reach),
        };
        Self {
            transport: Transport::new(resolver, policy.connect_timeout, KEPT),
            policy,
            reach,
        }
    }

    /// A client that talks to one gateway only.
    pub fn gateway(origin: &str) -> Result<GatewayClient, EgressError> {
        GatewayClient::new(origin)
    }

    /// Sends `request`, follows redirects, and returns once the response headers have arrived.
    pub async fn fetch(&self, request: Request) -> Result<Response, EgressError> {
        let limits = request.limits;
        let tighter = |own: Option<Duration>, all: Duration| own.map_or(all, |own| own.min(all));
        let deadline = Deadline::after(tighter(limits.total_timeout, self.policy.total_timeout));
        let max_bytes = limits
            .max_bytes
            .unwrap_or(u64::MAX)
            .min(self.policy.max_bytes);
        let max = limits
            .max_redirects
            .unwrap_or(usize::MAX)
            .min(self.policy.max_redirects);
        check_headers(&request.headers)?;
        let mut url = parse(&request.url)?;
        let mut hop = Hop {
            method: request.method,
            headers: request.headers,
            body: request.body,
        };
        let mut redirects = 0;
        loop {
            self.check(&url)?;
            let answer = deadline.bound(self.send(&url, &hop)).await??;
            let Some(next) = redirect_target(&answer, &url)? else {
                return Response::new(answer, url, max_bytes, deadline);
            };
            if redirects == max {
                return Err(EgressError::Redirects { max });
            }
            redirects += 1;
            hop.follow(answer.status(), &url, &next);
            url = next;
        }
    }

    async fn send(&self, url: &Url, hop: &Hop) -> Result<reqwest::Response, EgressError> {
        let client = self.transport.client(url).await?;
        let mut request = client
            .request(hop.method.clone(), url.clone())
            .headers(hop.headers.clone());
        if let Some(body) = &hop.body {
            request = request.body(body.clone());
        }
        let host = url.host_str().unwrap_or_default();
        let sent = request.send().await;
        sent.map_err(|error| EgressError::from_client(&error, host))
    }

    /// Refuses what can be refused without a lookup. A literal address in the URL bypasses the
    /// resolver, so it is checked here, in any spelling.
    pub fn check(&self, url: &Url) -> Result<(), EgressError> {
        let address = match url.host() {
            Some(Host::Ipv4(v4)) => v4.into(),
            Some(Host::Ipv6(v6)) => v6.into(),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        if self.reach.permits(address) {
            return Ok(());
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        Err(EgressError::Private { host, address })
    }
}

/// One request of a redirect chain.
struct Hop {
    method: Method,
    headers: HeaderMap,
    body: Option<bytes::Bytes>,
}

impl Hop {
    /// Becomes the request that a redirect with `status` from `from` to `to` calls for.
    fn follow(&mut self, status: StatusCode, from: &Url, to: &Url) {
        let becomes_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = None;
            self.headers.remove(CONTENT_TYPE);
            self.headers.remove(CONTENT_ENCODING);
        }
        if from.origin() != to.origin() {
            let secret = |name: &HeaderName| [AUTHORIZATION, COOKIE].contains(name);
            self.headers = std::mem::take(&mut self.headers)
                .iter()
                .filter(|(name, value)| !secret(name) && !value.is_sensitive())
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
        }
    }
}

fn parse(text: &str) -> Result<Url, EgressError> {
    let url = Url::parse(text.trim()).map_err(|error| EgressError::Url(error.to_string()))?;
    check_shape(&url)?;
    Ok(url)
}

fn check_shape(url: &Url) -> Result<(), EgressError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(EgressError::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(EgressError::Userinfo);
    }
    Ok(())
}

fn check_headers(headers: &HeaderMap) -> Result<(), EgressError> {
    match headers.keys().find(|name| OURS.contains(name)) {
        Some(name) => Err(EgressError::Header(name.to_string())),
        None => Ok(()),
    }
}

/// The target of a redirect, if `answer` is one.
fn redirect_target(answer: &reqwest::Response, from: &Url) -> Result<Option<Url>, EgressError> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = answer.headers().get(LOCATION) else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(location.as_bytes());
    let url = from
        .join(&text)
        .map_err(|error| EgressError::Url(error.to_string()))?;
    check_shape(&url)?;
    Ok(Some(url))
}

#[cfg(test)]
mod tests;
