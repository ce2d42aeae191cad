//! HTTP requests to authorization servers.
//!
//! The MCP server names its authorization server, so the address is untrusted: requests go to the
//! public internet over https, or to this machine if the MCP server itself is on this machine. Only
//! the exact origin that the owner configured may be anywhere. Redirects are not followed, and
//! responses are limited in size and time.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use manyhands_guard::{
    Egress, EgressError, EgressPolicy, FetchLimits, GatewayClient, HeaderMap, HeaderValue, Method,
    Request, SystemLookup,
};
use serde_json::Value;
use url::{Host, Url};

use super::error::OauthError;

/// The largest response: key sets and metadata have a few kilobytes.
const MAX_ANSWER: u64 = 256 * 1024;
/// The longest time for a response.
const WITHIN: Duration = Duration::from_secs(15);

/// A client for requests on behalf of one configured server.
pub struct OauthHttp {
    home: Url,
    pinned: GatewayClient,
    checked: Egress,
}

/// An HTTP response.
#[derive(Default)]
pub(super) struct OauthResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl OauthResponse {
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

impl OauthHttp {
    /// A client for the server at `home`; `networks` are the private networks allowed for every
    /// request.
    pub fn from(home: &Url, networks: &[String]) -> Result<Arc<Self>, OauthError> {
        let mut allowed = networks.to_vec();
        if is_here(home) {
            allowed.extend(["127.0.0.0/8".to_owned(), "::1/128".to_owned()]);
        }
        let policy = EgressPolicy {
            allow_private: allowed.iter().filter_map(|net| net.parse().ok()).collect(),
            max_redirects: 0,
            total_timeout: WITHIN,
            max_bytes: MAX_ANSWER,
            ..EgressPolicy::default()
        };
        Ok(Arc::new(Self {
            home: home.clone(),
            pinned: Egress::gateway(home.as_str())?,
            checked: Egress::new(policy, Arc::new(SystemLookup)),
        }))
    }

    /// Parses a URL named by an untrusted server and checks that tokens may be sent there.
    pub fn place(&self, what: &str, text: &str) -> Result<Url, OauthError> {
        let refuse = |why: &str| {
            let shown = super::error::tame(text);
            Err(OauthError::unusable(format!("{what} is {shown:?}, {why}")))
        };
        let Ok(url) = Url::parse(text) else {
            return refuse("which is not a URL");
        };
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return refuse("which has a user name, password or fragment");
        }
        match url.scheme() {
            "https" => Ok(url),
            "http" if is_here(&url) && is_here(&self.home) => Ok(url),
            "http" => refuse("which is not https, so tokens could be intercepted"),
            _ => refuse("which is not https"),
        }
    }

    /// Returns whether the URL has the exact origin that the owner configured.
    fn is_home(&self, url: &Url) -> bool {
        url.origin() == self.home.origin()
    }

    pub(super) async fn get(&self, url: &Url) -> Result<OauthResponse, OauthError> {
        self.send(Method::GET, url, HeaderMap::new(), None).await
    }

    /// Fetches a JSON document; `None` if there is none.
    pub async fn document(&self, url: &Url) -> Result<Option<Value>, OauthError> {
        let answer = self.get(url).await?;
        if (300..400).contains(&answer.status) {
            return Err(OauthError::unusable(format!(
                "{} redirects; redirects are not followed",
                url.origin().ascii_serialization()
            )));
        }
        let found = answer.status == 200;
        Ok(answer.json().filter(|value| found && value.is_object()))
    }

    pub(super) async fn send(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<OauthResponse, OauthError> {
        headers
            .entry("accept")
            .or_insert(HeaderValue::from_static("application/json"));
        let limits = FetchLimits {
            total_timeout: Some(WITHIN),
            max_bytes: Some(MAX_ANSWER),
            max_redirects: Some(0),
        };
        let response = if self.is_home(url) {
            self.pinned
                .fetch(method, url.as_str(), headers, body, limits)
                .await
        } else {
            let request = Request {
                headers,
                body,
                limits,
                ..Request::new(method, url.as_str())
            };
            self.checked.fetch(request).await
        };
        let named = |error: EgressError| match error {
            EgressError::Redirects { .. } => OauthError::unusable(format!(
                "{} redirects; redirects are not followed",
                url.origin().ascii_serialization()
            )),
            error => OauthError::from(error),
        };
        let response = response.map_err(named)?;
        Ok(OauthResponse {
            status: response.status.as_u16(),
            headers: response.headers.clone(),
            body: response.bytes().await.map_err(named)?,
        })
    }
}

/// Returns whether a URL names this machine, judged by the text and not by name resolution.
pub fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(v4)) => v4.is_loopback(),
        Some(Host::Ipv6(v6)) => IpAddr::V6(v6).to_canonical().is_loopback(),
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(home: &str, place: &str, good: bool) {
        let way = OauthHttp::from(&Url::parse(home).unwrap(), &[]).unwrap();
        let found = way.place("its issuer", place);
        assert_eq!(found.is_ok(), good, "{home} {place}: {found:?}");
    }

    #[test]
    fn tokens_go_by_https_or_stay_on_this_machine() {
        for (home, place, good) in [
            ("https://mcp.example/", "https://login.example/", true),
            ("https://mcp.example/", "http://login.example/", false),
            ("https://mcp.example/", "http://mcp.example/", false),
            ("https://mcp.example/", "http://127.0.0.1:9/", false),
            ("https://mcp.example/", "javascript:alert(1)", false),
            ("https://mcp.example/", "file:///etc/passwd", false),
            (
                "https://mcp.example/",
                "https://me:pw@login.example/",
                false,
            ),
            ("https://mcp.example/", "login.example", false),
            ("http://127.0.0.1:1/mcp", "http://127.0.0.1:9/", true),
            ("http://127.0.0.1:1/mcp", "http://localhost:9/", true),
            ("http://127.0.0.1:1/mcp", "http://10.0.0.1/", false),
            (
                "http://127.0.0.1:1/mcp",
                "http://localhost.evil.example/",
                false,
            ),
        ] {
            check(home, place, good);
        }
    }

    #[tokio::test]
    async fn a_private_place_is_not_reached_from_elsewhere() {
        let far = OauthHttp::from(&Url::parse("https://mcp.example/").unwrap(), &[]).unwrap();
        for place in [
            "https://10.0.0.1/",
            "https://127.0.0.1:1/",
            "https://169.254.169.254/x",
        ] {
            let failed = far.get(&Url::parse(place).unwrap()).await.err().unwrap();
            assert!(matches!(failed, OauthError::Unusable(_)), "{failed:?}");
        }
        // The same place is reached from this machine, where nobody answers.
        let here = OauthHttp::from(&Url::parse("http://127.0.0.1:2/").unwrap(), &[]).unwrap();
        let failed = here.get(&Url::parse("http://127.0.0.1:1/").unwrap()).await;
        assert!(matches!(failed.err(), Some(OauthError::Unreachable(_))));
    }
}
