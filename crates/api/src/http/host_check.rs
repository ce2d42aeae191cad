//! Host and Origin checks: every request, on every listener including loopback, must name a host of
//! this gateway and must not come from a foreign page.
//!
//! A web page can make a browser call any address, loopback included, and DNS rebinding can make
//! any name point to it. What a page cannot do is forge Host and Origin.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use manyhands_core::{ErrorCode, ToolError};
use manyhands_gateway::{Gateway, ListenAddress};
use manyhands_guard::PendingConnection;
use manyhands_http_common::Refusal;
use manyhands_telemetry::{TraceContext, within};

/// Rejects foreign hosts and origins before anything else sees the request, and adds CORS headers
/// for trusted origins.
pub async fn check(State(gateway): State<Arc<Gateway>>, request: Request, next: Next) -> Response {
    // Stops the clock for silent connections: a complete request has arrived.
    if let Some(seat) = request.extensions().get::<Arc<PendingConnection>>() {
        seat.request_received();
    }
    let settings = gateway.settings.current();
    let rules = Rules {
        listening: gateway.listening(),
        allowed_hosts: &settings.allowed_hosts,
        allowed_origins: &settings.allowed_origins,
        public_url: settings.public_url.as_deref(),
    };
    let authority = request.uri().authority().map(|a| a.as_str());
    let trusted = match rules.admit(request.headers(), authority) {
        Ok(trusted) => trusted,
        Err(why) => return Refusal(ToolError::new(ErrorCode::Forbidden, why)).into_response(),
    };
    // What the request causes belongs to the trace that it names.
    let trace = TraceContext::of_headers(request.headers());
    // Own pages and programs need no CORS headers.
    let Some(origin) = trusted else {
        return within(trace, next.run(request)).await;
    };
    let asks_first = request
        .headers()
        .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    // Answered here, because browsers send no token with a preflight request.
    let mut response = if request.method() == Method::OPTIONS && asks_first {
        preflight()
    } else {
        within(trace, next.run(request)).await
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    // The response differs by origin; a cache must not serve it to another one.
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    response
}

/// CORS preflight response for a trusted page: every method and header the API accepts.
fn preflight() -> Response {
    let headers = [
        (
            header::ACCESS_CONTROL_ALLOW_METHODS,
            "GET, POST, PUT, DELETE",
        ),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, traceparent, tracestate, x-api-key, x-session-key, anthropic-version",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

struct Rules<'a> {
    listening: Option<ListenAddress>,
    allowed_hosts: &'a [String],
    allowed_origins: &'a [String],
    /// Public URL of the gateway.
    public_url: Option<&'a str>,
}

impl Rules<'_> {
    /// Checks the request; returns the origin if it is a trusted one other than our own.
    fn admit(
        &self,
        headers: &HeaderMap,
        authority: Option<&str>,
    ) -> Result<Option<HeaderValue>, String> {
        // Proxies and servers disagree on which of several Host headers counts.
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            // HTTP/2 requests carry the authority in the URI instead.
            (Some(host), None) => host.to_str().map_err(|_| "the Host header is not text")?,
            (None, _) => authority.ok_or("missing Host header")?,
            (Some(_), Some(_)) => return Err("more than one Host header".to_owned()),
        };
        if !self.is_ours(host_name(host)) {
            return Err(format!(
                "host {host:?} is not allowed; to allow it, add it to allowed_hosts in config.toml"
            ));
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let (origin, more) = (origins.next(), origins.next());
        let Some(shown) = origin else {
            return Ok(None);
        };
        let origin = shown
            .to_str()
            .map_err(|_| "the Origin header is not text")?;
        // A page served over HTTP is another origin than ours over TLS.
        let tls = self.listening.is_some_and(|listening| listening.tls);
        let same = format!("{}://{host}", if tls { "https" } else { "http" });
        let public = self.public_url.map(|url| url.trim_end_matches('/'));
        let ours = |own: &str| origin.eq_ignore_ascii_case(own);
        // A second Origin header is never sent by browsers and could bypass the check.
        if more.is_none() && (ours(&same) || public.is_some_and(ours)) {
            return Ok(None);
        }
        let trusted = |allowed: &String| allowed.eq_ignore_ascii_case(origin);
        if more.is_none() && self.allowed_origins.iter().any(trusted) {
            return Ok(Some(shown.clone()));
        }
        Err(format!(
            "origin {origin:?} is not allowed; if you trust it, add it to allowed_origins in config.toml"
        ))
    }

    fn is_ours(&self, name: &str) -> bool {
        let public = self.public_url.and_then(|url| url::Url::parse(url).ok());
        let public = public.as_ref().and_then(url::Url::host_str);
        if public.is_some_and(|public| public.eq_ignore_ascii_case(name)) {
            return true;
        }
        if self
            .allowed_hosts
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(name))
        {
            return true;
        }
        let literal = name
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>()
            .ok();
        match literal {
            // A name can be made to point anywhere, an address cannot. So an address is accepted if
            // the gateway listens on it, or on all addresses.
            Some(address) => {
                address.is_loopback()
                    || self
                        .listening
                        .is_some_and(|on| on.address == address || on.address.is_unspecified())
            }
            None => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

/// The host without its port.
fn host_name(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port))
            if port.bytes().all(|b| b.is_ascii_digit())
                && (!host.contains(':') || host.ends_with(']')) =>
        {
            host
        }
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(listen: &str, host: &str, origin: Option<&str>, admitted: bool) {
        let hosts = ["hands.example".to_owned()];
        let origins = ["https://app.example".to_owned()];
        let rules = Rules {
            listening: listen.parse().ok().map(|address| ListenAddress {
                address,
                tls: false,
            }),
            allowed_hosts: &hosts,
            allowed_origins: &origins,
            public_url: None,
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        assert_eq!(
            rules.admit(&headers, None).is_ok(),
            admitted,
            "{listen} {host} {origin:?}"
        );
    }

    #[test]
    fn only_our_own_hosts_are_admitted() {
        for (host, admitted) in [
            ("127.0.0.1:7717", true),
            ("localhost:7717", true),
            ("LOCALHOST", true),
            ("[::1]:7717", true),
            ("hands.example", true),
            ("hands.example:443", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:7717", false),
            ("hands.example.evil", false),
            ("10.0.0.1", false),
            ("0.0.0.0:7717", false),
            ("localhost.", false),
            ("", false),
            ("2130706433", false),
            ("127.1", false),
        ] {
            check("127.0.0.1", host, None, admitted);
        }
        check("0.0.0.0", "10.0.0.1:7717", None, true);
        check("0.0.0.0", "evil.example:7717", None, false);
        check("10.0.0.1", "10.0.0.1:7717", None, true);
        check("10.0.0.1", "10.0.0.2:7717", None, false);
    }

    #[test]
    fn only_our_own_page_and_trusted_origins_are_admitted() {
        for (origin, admitted) in [
            ("http://127.0.0.1:7717", true),
            ("https://app.example", true),
            ("http://localhost:7717", false),
            ("http://127.0.0.1:3000", false),
            ("https://127.0.0.1:7717", false),
            ("http://127.0.0.1", false),
            ("http://127.0.0.1:77170", false),
            ("https://app.example.evil", false),
            ("http://app.example", false),
            ("https://evil.example", false),
            ("null", false),
            ("", false),
            ("chrome-extension://abcdef", false),
        ] {
            check("127.0.0.1", "127.0.0.1:7717", Some(origin), admitted);
        }
    }

    #[test]
    fn only_a_trusted_origin_gets_cors_headers() {
        let origins = ["https://app.example".to_owned()];
        let rules = Rules {
            listening: None,
            allowed_hosts: &[],
            allowed_origins: &origins,
            public_url: None,
        };
        let seen = |origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("localhost:7717"));
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            rules.admit(&headers, None)
        };
        assert_eq!(seen(None), Ok(None));
        assert_eq!(seen(Some("http://localhost:7717")), Ok(None));
        let trusted = HeaderValue::from_static("https://app.example");
        assert_eq!(seen(Some("https://app.example")), Ok(Some(trusted)));
        assert!(seen(Some("https://evil.example")).is_err());
    }

    #[test]
    fn a_request_names_exactly_one_host() {
        let rules = Rules {
            listening: None,
            allowed_hosts: &[],
            allowed_origins: &[],
            public_url: None,
        };
        let mut headers = HeaderMap::new();
        assert!(rules.admit(&headers, None).is_err());
        assert!(rules.admit(&headers, Some("localhost:7717")).is_ok());
        headers.append(header::HOST, "localhost".parse().unwrap());
        assert!(rules.admit(&headers, None).is_ok());
        headers.append(header::HOST, "localhost".parse().unwrap());
        assert!(rules.admit(&headers, None).is_err());
    }
}
