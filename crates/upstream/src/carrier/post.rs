//! Requests to one place on the network, with whatever shows who we are.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use manyhands_core::Secret;
use manyhands_guard::{
    Body, Egress, EgressError, FetchLimits, GatewayClient, HeaderMap, HeaderName, HeaderValue,
    Method, Response,
};
use url::Url;

use crate::error::UpstreamError;
use crate::server::{Credentials, Server, Transport};

/// How often a request is sent again for other credentials: once for none at all, once for more.
const MAX_REFUSALS: usize = 2;
/// How many redirects within the same origin are followed.
const MAX_REDIRECTS: usize = 3;
/// How long an exchange may take that ends by itself, such as a stream of events.
const NO_END: Duration = Duration::from_secs(30 * 86_400);
/// The most of an error that is shown.
const SHOWN: usize = 500;

/// One place on the network. Nothing sent through it leaves its origin.
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
            return Err(super::garbage("it is not on the network"));
        };
        let client = Egress::gateway(url)
            .map_err(|e| UpstreamError::Unreachable(format!("its address {e}")))?;
        let url = client.base().clone();
        let mut fixed = HeaderMap::new();
        put(&mut fixed, headers)?;
        Ok(Self {
            client,
            url,
            headers: fixed,
            credentials: server.credentials.clone(),
            limit: server.bounds.message,
        })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Sends a request and gives the answer once its headers are there.
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
            let sent = self.credentials.headers().await?;
            put(&mut all, &sent)?;
            // What the protocol says is not the owner's to change.
            for (name, value) in headers {
                all.insert(name.clone(), value.clone());
            }
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

    /// Follows redirects that keep method and body and stay where they are.
    async fn follow(
        &self,
        method: &Method,
        url: &Url,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, UpstreamError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
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
            let place = answer.headers.get("location").and_then(|l| l.to_str().ok());
            let next = place.and_then(|place| url.join(place).ok());
            let keeps = matches!(answer.status.as_u16(), 307 | 308) || *method == Method::GET;
            match next {
                Some(next) if keeps && next.origin() == self.url.origin() => url = next,
                _ => {
                    return Err(super::garbage(
                        "it redirects to another place; write its real address into the settings",
                    ));
                }
            }
        }
        Err(super::garbage("it redirects in circles"))
    }

    /// All of a body that is one message.
    pub(crate) async fn whole(&self, mut body: Body) -> Result<Bytes, UpstreamError> {
        let mut all = BytesMut::new();
        while let Some(piece) = body.chunk().await.map_err(|e| failed(&e))? {
            if all.is_empty() && piece.len() <= self.limit {
                // Most answers are one piece; then it is not copied.
                let Some(second) = body.chunk().await.map_err(|e| failed(&e))? else {
                    return Ok(piece);
                };
                all.extend_from_slice(&piece);
                all.extend_from_slice(&second);
            } else {
                all.extend_from_slice(&piece);
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

    /// What an answer that is no success says.
    pub(crate) async fn refusal(&self, answer: Response) -> (u16, Bytes) {
        let status = answer.status.as_u16();
        let body = tokio::time::timeout(Duration::from_secs(10), self.whole(answer.body)).await;
        (status, body.ok().and_then(Result::ok).unwrap_or_default())
    }
}

/// An answer with `status` that is not JSON-RPC.
pub(crate) fn http(status: u16, body: &[u8]) -> UpstreamError {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * SHOWN)]);
    let message: String = text.trim().chars().take(SHOWN).collect();
    UpstreamError::Http { status, message }
}

/// Which kind of body an answer has.
pub(crate) fn is_stream(answer: &Response) -> bool {
    let kind = answer.headers.get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
    kind.trim_start().starts_with("text/event-stream")
}

fn put(into: &mut HeaderMap, headers: &[(HeaderName, Secret)]) -> Result<(), UpstreamError> {
    for (name, secret) in headers {
        let mut value = HeaderValue::from_str(secret.expose()).map_err(|_| {
            UpstreamError::Unreachable(format!("the value of the header {name} cannot be sent"))
        })?;
        value.set_sensitive(true);
        into.insert(name.clone(), value);
    }
    Ok(())
}

/// What the way out says, in our words.
pub(crate) fn failed(error: &EgressError) -> UpstreamError {
    match error {
        EgressError::Http(_) => UpstreamError::Lost(error.to_string()),
        EgressError::Elsewhere(_) => super::garbage(format!("it {error}")),
        EgressError::TimedOut(after) => UpstreamError::TimedOut(*after),
        _ => UpstreamError::Unreachable(error.to_string()),
    }
}
