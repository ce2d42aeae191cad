//! Common parts of all providers: requests and responses.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use manyhands_guard::{
    Egress, EgressError, FetchLimits, HeaderMap, HeaderName, HeaderValue, Request, StatusCode,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::super::fetch::text_of;
use super::super::html;
use super::{Hit, ProviderName, SearchError};

const MAX_BODY: u64 = 2 * 1024 * 1024;
const MAX_TITLE: usize = 300;
const MAX_CONTENT: usize = 4_000;
const MAX_EXCERPT: usize = 200;

/// A client for one provider.
#[derive(Clone)]
pub struct SearchClient {
    /// The provider.
    pub provider: ProviderName,
    /// The outbound HTTP client.
    pub egress: Arc<Egress>,
    /// Timeout of one search.
    pub timeout: Duration,
}

/// A response of any status.
pub(super) struct SearchResponse {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

impl SearchClient {
    /// A provider's base URL, with a trailing `/`, so that paths can be joined to it.
    pub(super) fn base(&self, address: &str) -> Result<Url, SearchError> {
        let wrong = |problem: String| SearchError::Address {
            provider: self.provider,
            problem,
        };
        let mut url = Url::parse(address.trim()).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("it must start with https:// or http://".to_owned()));
        }
        // Pasted from a browser, it may contain someone's search.
        url.set_query(None);
        url.set_fragment(None);
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(url)
    }

    /// Sends `request`, and handles the responses common to all providers. Redirects are not followed: an
    /// API that redirects is not the one we know.
    pub(super) async fn send(&self, mut request: Request) -> Result<SearchResponse, SearchError> {
        let provider = self.provider;
        request.limits = FetchLimits {
            total_timeout: Some(self.timeout),
            max_bytes: Some(MAX_BODY),
            // The request carries a key or the user's query.
            max_redirects: Some(0),
        };
        let failed = |error| match error {
            EgressError::Redirects { .. } => self.layout("it was redirected to another address"),
            error => SearchError::Egress { provider, error },
        };
        let answer = self.egress.fetch(request).await.map_err(failed)?;
        let status = answer.status;
        if status == StatusCode::TOO_MANY_REQUESTS {
            let retry_after = retry_after(&answer.headers);
            return Err(SearchError::RateLimited {
                provider,
                retry_after,
            });
        }
        let body = answer.bytes().await.map_err(failed)?;
        Ok(SearchResponse { status, body })
    }

    /// Parses a JSON response; `refused` are the statuses that mean a bad key.
    pub(super) async fn send_json<T: DeserializeOwned>(
        &self,
        request: Request,
        refused: &[u16],
    ) -> Result<T, SearchError> {
        let provider = self.provider;
        let answer = self.send(request).await?;
        let status = answer.status.as_u16();
        let excerpt = excerpt(&answer.body);
        if refused.contains(&status) {
            return Err(SearchError::Key {
                provider,
                status,
                excerpt,
            });
        }
        // Before the status: blocks come with any status, including 200.
        if is_html(&answer.body) {
            return Err(self.blocked(format!("it answered {status} with a web page")));
        }
        if !answer.status.is_success() {
            return Err(SearchError::Status {
                provider,
                status,
                excerpt,
            });
        }
        serde_json::from_slice(&answer.body).map_err(|error| self.layout(error.to_string()))
    }

    pub(super) fn blocked(&self, reason: impl Into<String>) -> SearchError {
        SearchError::Blocked {
            provider: self.provider,
            reason: reason.into(),
        }
    }

    pub(super) fn layout(&self, reason: impl Into<String>) -> SearchError {
        SearchError::Layout {
            provider: self.provider,
            reason: reason.into(),
        }
    }

    /// The usable results. A few without a URL are acceptable; if none has one, the format is unknown.
    pub(super) fn hits(&self, items: Vec<RawResult>, max: usize) -> Result<Vec<Hit>, SearchError> {
        let received = items.len();
        let hits: Vec<Hit> = items.into_iter().filter_map(RawResult::into_hit).collect();
        if received > 0 && hits.is_empty() {
            return Err(self.layout("its results have no addresses"));
        }
        Ok(hits.into_iter().take(max).collect())
    }
}

/// A result in the JSON providers' format.
#[derive(Debug, Deserialize)]
pub(super) struct RawResult {
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) url: Option<String>,
    #[serde(default, alias = "description")]
    pub(super) content: Option<String>,
}

impl RawResult {
    fn into_hit(self) -> Option<Hit> {
        let url = Url::parse(self.url?.trim()).ok()?;
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let tidy = |html: Option<String>, max: usize| {
            let text = html::plain(&html.unwrap_or_default());
            text[..text.floor_char_boundary(max)].to_owned()
        };
        let title = tidy(self.title, MAX_TITLE);
        Some(Hit {
            title: if title.is_empty() {
                url.to_string()
            } else {
                title
            },
            content: tidy(self.content, MAX_CONTENT),
            url: url.into(),
        })
    }
}

/// The requested delay: in seconds, as a date relative to the server's own clock, or in the windows of
/// Brave's rate limit, of which the first is the shortest.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    if let Some(text) = text_of(headers, "retry-after") {
        if let Ok(seconds) = text.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let then = httpdate::parse_http_date(&text).ok()?;
        // Relative to the server's clock: ours may be wrong.
        let now = httpdate::parse_http_date(&text_of(headers, "date")?).ok()?;
        return Some(then.duration_since(now).unwrap_or_default());
    }
    let windows = text_of(headers, "x-ratelimit-reset")?;
    let first = windows.split(',').next()?.trim().parse().ok()?;
    Some(Duration::from_secs(first))
}

/// A key in a header, which is sent to this origin only.
pub(super) fn sensitive(
    provider: ProviderName,
    headers: &mut HeaderMap,
    name: &'static str,
    text: &str,
) -> Result<(), SearchError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| SearchError::Address {
        provider,
        problem: "the key has a line break or control character".to_owned(),
    })?;
    value.set_sensitive(true);
    headers.insert(HeaderName::from_static(name), value);
    Ok(())
}

pub(super) fn accept_json(headers: &mut HeaderMap) {
    let json = HeaderValue::from_static("application/json");
    headers.insert(HeaderName::from_static("accept"), json);
}

fn is_html(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"<")
}

pub(super) fn excerpt(body: &[u8]) -> String {
    let text = html::one_line(&String::from_utf8_lossy(&body[..body.len().min(2048)]));
    text[..text.floor_char_boundary(MAX_EXCERPT)].to_owned()
}
