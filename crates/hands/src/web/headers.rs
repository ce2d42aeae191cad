//! Headers that a model may send, and response headers that it is shown.

use std::collections::BTreeMap;

use manyhands_guard::{HeaderMap, HeaderName, HeaderValue};

/// Allowed request headers.
const ALLOWED: [&str; 6] = [
    "accept",
    "content-type",
    "user-agent",
    "if-none-match",
    "if-modified-since",
    "range",
];

/// Response headers that help with the next request. Never cookies.
const REPORTED_HEADERS: [&str; 16] = [
    "accept-ranges",
    "age",
    "allow",
    "cache-control",
    "content-disposition",
    "content-language",
    "content-length",
    "content-range",
    "date",
    "etag",
    "expires",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "x-ratelimit-remaining",
];
const MAX_HEADER_VALUE: usize = 1024;

/// All refused headers with reasons. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "may not hold {}; allowed are Accept, Content-Type, User-Agent, If-None-Match, If-Modified-Since and Range{}",
    .refused.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    if .refused.iter().any(|header| header.why == Why::Credential) { "\nto send credentials, name an auth_profile" } else { "" }
)]
pub struct HeaderError {
    /// The headers, by name.
    pub refused: Vec<RefusedHeader>,
}

/// A refused header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} ({why})")]
pub struct RefusedHeader {
    /// Its name as given.
    pub name: String,
    /// The reason.
    pub why: Why,
}

/// Why a header was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It carries a credential.
    #[error("carries credentials")]
    Credential,
    /// It determines a request's destination or origin.
    #[error("decides where the request goes")]
    Routing,
    /// It is not on the list of allowed headers.
    #[error("is not allowed")]
    Unlisted,
    /// It is given twice, in different spellings.
    #[error("is given twice")]
    Twice,
    /// Its value has a line break or another control character.
    #[error("has a line break or control character in its value")]
    Value,
}

/// Validates `headers_in`.
pub(super) fn checked(headers_in: &BTreeMap<String, String>) -> Result<HeaderMap, HeaderError> {
    let mut headers = HeaderMap::new();
    let mut refused = Vec::new();
    for (name, value) in headers_in {
        if let Err(why) = admit(&mut headers, name, value) {
            // The name is shown to the model and in logs.
            let name = name.chars().filter(|c| !c.is_control()).collect();
            refused.push(RefusedHeader { name, why });
        }
    }
    if refused.is_empty() {
        Ok(headers)
    } else {
        Err(HeaderError { refused })
    }
}

fn admit(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), Why> {
    let lower = name.trim().to_ascii_lowercase();
    judge(&lower)?;
    let name = HeaderName::from_bytes(lower.as_bytes()).map_err(|_| Why::Unlisted)?;
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(Why::Value);
    }
    let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| Why::Value)?;
    match headers.insert(name, value) {
        None => Ok(()),
        Some(_) => Err(Why::Twice),
    }
}

fn judge(lower: &str) -> Result<(), Why> {
    // `x-api-key`, `X_Api_Key` and `apikey` are the same to servers.
    let squeezed = lower.replace(['-', '_'], "");
    let credential = ["authorization", "cookie", "set-cookie", "set-cookie2"].contains(&lower)
        || lower.starts_with("proxy-auth")
        || ["apikey", "token", "secret", "password"]
            .iter()
            .any(|word| squeezed.contains(word));
    let routing = lower == "host"
        || lower == "forwarded"
        || lower.starts_with("proxy-")
        || lower.starts_with("x-forwarded-");
    if credential {
        Err(Why::Credential)
    } else if routing {
        Err(Why::Routing)
    } else if ALLOWED.contains(&lower) {
        Ok(())
    } else {
        Err(Why::Unlisted)
    }
}

/// The headers worth showing, each cut to a bounded length.
pub(super) fn visible(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut visible = BTreeMap::new();
    for name in REPORTED_HEADERS {
        if let Some(value) = headers.get(name) {
            let text = String::from_utf8_lossy(value.as_bytes());
            let cut = &text[..text.floor_char_boundary(MAX_HEADER_VALUE)];
            visible.insert(name.to_owned(), cut.to_owned());
        }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers_in(headers: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        headers.iter().map(owned).collect()
    }

    #[test]
    fn the_allowed_pass_in_any_case() {
        for name in ALLOWED {
            for name in [name.to_owned(), name.to_uppercase()] {
                let headers = checked(&headers_in(&[(&name, "v")])).unwrap();
                assert_eq!(headers.get(&name).unwrap(), "v");
            }
        }
        assert!(checked(&BTreeMap::new()).unwrap().is_empty());
    }

    #[test]
    fn the_denied_are_refused_in_any_case() {
        for (name, why) in [
            ("Authorization", Why::Credential),
            ("AUTHORIZATION", Why::Credential),
            ("Cookie", Why::Credential),
            ("Set-Cookie", Why::Credential),
            ("Proxy-Authorization", Why::Credential),
            ("X-Api-Key", Why::Credential),
            ("apikey", Why::Credential),
            ("X-API_KEY", Why::Credential),
            ("X-Auth-Token", Why::Credential),
            ("x-csrftoken", Why::Credential),
            ("Host", Why::Routing),
            (" host ", Why::Routing),
            ("Proxy-Connection", Why::Routing),
            ("X-Forwarded-For", Why::Routing),
            ("x-forwarded-host", Why::Routing),
            ("Content-Length", Why::Unlisted),
            ("Transfer-Encoding", Why::Unlisted),
            ("X-Anything", Why::Unlisted),
            ("bad name", Why::Unlisted),
            ("", Why::Unlisted),
        ] {
            let error = checked(&headers_in(&[(name, "v")])).unwrap_err();
            assert_eq!(error.refused[0].why, why, "{name}");
        }
    }

    #[test]
    fn every_refused_header_is_named_at_once() {
        let error = checked(&headers_in(&[
            ("Accept", "text/html"),
            ("Cookie", "a=b"),
            ("Host", "internal"),
            ("Range", "bytes=0-1\r\nHost: x"),
            ("User-Agent", "a"),
            ("user-agent", "b"),
            ("X-Odd", "c"),
        ]))
        .unwrap_err();
        let text = error.to_string();
        for part in [
            "Cookie (carries credentials)",
            "Host (decides where the request goes)",
            "Range (has a line break",
            "user-agent (is given twice)",
            "X-Odd (is not allowed)",
            "allowed are Accept",
            "auth_profile",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(error.refused.len(), 5);
        assert!(!text.contains("a=b"));
    }

    #[test]
    fn values_cannot_end_their_line() {
        for value in ["a\rb", "a\nb", "a\r\nX: y", "a\0b", "a\u{7f}b"] {
            let error = checked(&headers_in(&[("Accept", value)])).unwrap_err();
            assert_eq!(error.refused[0].why, Why::Value, "{value:?}");
        }
        assert!(checked(&headers_in(&[("Accept", "text/html; q=0.9, \ttext/é")])).is_ok());
    }
}
