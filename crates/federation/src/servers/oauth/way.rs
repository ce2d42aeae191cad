//! The way to authorization servers.
//!
//! Which servers those are is said by the MCP server, so it is a stranger's word: a request goes to
//! the public internet by https, or to this machine where the MCP server is on this machine itself. Only
//! what lies at the very origin that the owner named is asked wherever it is. No redirect is
//! followed, and no answer is taken that is large or late.

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

/// The largest answer: a list of keys or metadata is a few kilobytes.
const MAX_ANSWER: u64 = 256 * 1024;
/// The longest an answer may take.
const WITHIN: Duration = Duration::from_secs(15);

/// The way from one place that the owner named.
pub struct Way {
    home: Url,
    pinned: GatewayClient,
    checked: Egress,
}

/// What came back.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

impl Way {
    /// The way from `home`; `networks` are those that the owner opened for every request.
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

    /// A place that a stranger named, if tokens may be sent there.
    pub fn place(&self, what: &str, text: &str) -> Result<Url, OauthError> {
        let refuse = |why: &str| {
            let shown = super::error::tame(text);
            Err(OauthError::unusable(format!("{what} is {shown:?}, {why}")))
        };
        let Ok(url) = Url::parse(text) else {
            return refuse("which is not an address");
        };
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return refuse("which holds more than an address");
        }
        match url.scheme() {
            "https" => Ok(url),
            "http" if is_here(&url) && is_here(&self.home) => Ok(url),
            "http" => refuse("which is not https, so that anybody between could read tokens"),
            _ => refuse("which is not https"),
        }
    }

    /// Whether the owner named this very origin.
    fn is_home(&self, url: &Url) -> bool {
        url.origin() == self.home.origin()
    }

    pub(super) async fn get(&self, url: &Url) -> Result<Answer, OauthError> {
        self.send(Method::GET, url, HeaderMap::new(), None).await
    }

    /// Asks for a JSON document; nothing where there is none.
    pub async fn document(&self, url: &Url) -> Result<Option<Value>, OauthError> {
        let answer = self.get(url).await?;
        if (300..400).contains(&answer.status) {
            return Err(OauthError::unusable(format!(
                "{} redirects, and is not followed",
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
    ) -> Result<Answer, OauthError> {
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
                "{} redirects, and is not followed",
                url.origin().ascii_serialization()
            )),
            error => OauthError::from(error),
        };
        let response = response.map_err(named)?;
        Ok(Answer {
            status: response.status.as_u16(),
            headers: response.headers.clone(),
            body: response.bytes().await.map_err(named)?,
        })
    }
}

/// Whether an address is on this machine, by what it says and not by what a name resolves to.
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
        let way = Way::from(&Url::parse(home).unwrap(), &[]).unwrap();
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
        let far = Way::from(&Url::parse("https://mcp.example/").unwrap(), &[]).unwrap();
        for place in [
            "https://10.0.0.1/",
            "https://127.0.0.1:1/",
            "https://169.254.169.254/x",
        ] {
            let failed = far.get(&Url::parse(place).unwrap()).await.err().unwrap();
            assert!(matches!(failed, OauthError::Unusable(_)), "{failed:?}");
        }
        // The same place is reached from this machine, where nobody answers.
        let here = Way::from(&Url::parse("http://127.0.0.1:2/").unwrap(), &[]).unwrap();
        let failed = here.get(&Url::parse("http://127.0.0.1:1/").unwrap()).await;
        assert!(matches!(failed.err(), Some(OauthError::Unreachable(_))));
    }
}
