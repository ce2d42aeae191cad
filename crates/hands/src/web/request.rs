//! Validates a web request.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use manyhands_guard::{FetchLimits, HeaderMap, HeaderName, HeaderValue, Method, Request};
use serde_json::Value;
use url::Url;

use super::auth::AuthProfile;
use super::fetch::FetchError;
use super::headers;

/// The allowed methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FetchMethod {
    /// `GET`
    #[default]
    Get,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
}

/// Not an allowed method.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be GET, POST, PUT, PATCH or DELETE, not {0}")]
pub struct UnknownMethod(pub String);

impl FromStr for FetchMethod {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Self, UnknownMethod> {
        match text.trim().to_ascii_uppercase().as_str() {
            "" | "GET" => Ok(Self::Get),
            "POST" => Ok(Self::Post),
            "PUT" => Ok(Self::Put),
            "PATCH" => Ok(Self::Patch),
            "DELETE" => Ok(Self::Delete),
            _ => Err(UnknownMethod(text.to_owned())),
        }
    }
}

impl From<FetchMethod> for Method {
    fn from(method: FetchMethod) -> Self {
        match method {
            FetchMethod::Get => Self::GET,
            FetchMethod::Post => Self::POST,
            FetchMethod::Put => Self::PUT,
            FetchMethod::Patch => Self::PATCH,
            FetchMethod::Delete => Self::DELETE,
        }
    }
}

impl fmt::Display for FetchMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Method::from(*self).as_str())
    }
}

/// A body to send.
#[derive(Debug, Clone, PartialEq)]
pub enum FetchBody {
    /// A value, sent as JSON.
    Json(Value),
    /// A text, sent unchanged.
    Text(String),
}

impl From<Value> for FetchBody {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            value => Self::Json(value),
        }
    }
}

impl FetchBody {
    /// The default content type. A text that is a JSON object or array was meant as one; `5` and `true` are
    /// ordinary words.
    fn content_type(&self) -> &'static str {
        let json = match self {
            Self::Json(_) => true,
            Self::Text(text) => {
                text.trim_start().starts_with(['{', '['])
                    && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
            }
        };
        if json {
            "application/json"
        } else {
            "text/plain; charset=utf-8"
        }
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Json(value) => value.to_string().into(),
            Self::Text(text) => text.into(),
        }
    }
}

/// How a text body is processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decode {
    /// HTML becomes readable text; other text is unchanged.
    #[default]
    Readable,
    /// All text is unchanged.
    Raw,
}

/// A web request as the caller specifies it.
#[derive(Debug, Clone, PartialEq)]
pub struct FetchRequest {
    /// The URL.
    pub url: String,
    /// The method.
    pub method: FetchMethod,
    /// Headers, which must be allowed ones.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Option<FetchBody>,
    /// Maximum bytes read of the body, after decompression.
    pub max_bytes: u64,
    /// Maximum bytes read for storage, if only a part is returned.
    pub max_stored: u64,
    /// Maximum bytes of text returned.
    pub max_content: usize,
    /// Total timeout.
    pub timeout: Duration,
    /// Maximum redirects. Only a `GET` without body follows any.
    pub max_redirects: usize,
    /// How text is processed.
    pub decode: Decode,
}

impl FetchRequest {
    /// A `GET` of `url` with the limits of `url_fetch`: 30 seconds, 512 KiB, 3 redirects.
    pub fn get(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            method: FetchMethod::Get,
            headers: BTreeMap::new(),
            body: None,
            max_bytes: 512 * 1024,
            max_stored: 0,
            max_content: 512 * 1024,
            timeout: Duration::from_secs(30),
            max_redirects: 3,
            decode: Decode::default(),
        }
    }
}

/// Why a redirect is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stay {
    /// It would send a body meant for one destination to another.
    Sends,
    /// It could lead a secret outside the paths it is meant for.
    Narrow,
}

/// A request that passed every check that needs no network.
pub(super) struct Prepared {
    pub(super) request: Request,
    pub(super) stay: Option<Stay>,
}

/// Validates `request` and adds the secret of `profile`.
pub(super) fn prepare(
    request: FetchRequest,
    profile: Option<&AuthProfile>,
) -> Result<Prepared, FetchError> {
    let url = Url::parse(request.url.trim())
        .map_err(|error| manyhands_guard::EgressError::Url(error.to_string()))?;
    let mut headers = headers::checked(&request.headers)?;
    let method = Method::from(request.method);
    if let Some(body) = &request.body {
        let inferred = HeaderValue::from_static(body.content_type());
        let name = HeaderName::from_static("content-type");
        headers.entry(name).or_insert(inferred);
    }
    // Before the secret is added.
    log(&url, &method, &headers);
    if let Some(profile) = profile {
        profile.inject(&url, &method, &mut headers)?;
    }
    let stay = if request.method != FetchMethod::Get || request.body.is_some() {
        Some(Stay::Sends)
    } else if profile.is_some_and(|profile| !profile.covers_whole_origin()) {
        Some(Stay::Narrow)
    } else {
        None
    };
    let request = Request {
        method,
        url: url.into(),
        headers,
        body: request.body.map(FetchBody::into_bytes),
        limits: FetchLimits {
            total_timeout: Some(request.timeout),
            // Enforced while reading, where what came before the limit is still used.
            max_bytes: None,
            max_redirects: Some(if stay.is_some() {
                0
            } else {
                request.max_redirects
            }),
        },
    };
    Ok(Prepared { request, stay })
}

/// Omits what may be secret: the query, and the values of headers.
fn log(url: &Url, method: &Method, headers: &HeaderMap) {
    let mut visible = url.clone();
    visible.set_query(url.query().map(|_| "..."));
    visible.set_fragment(None);
    let _ = visible.set_password(None);
    let _ = visible.set_username("");
    let names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
    tracing::debug!(event = "web_request_sent", url = %visible, %method, headers = ?names, "sending a web request");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_type_of_a_body_is_inferred_when_nobody_says() {
        for (body, expect) in [
            (json!({"a": 1}), "application/json"),
            (json!([1]), "application/json"),
            (json!(5), "application/json"),
            (json!(true), "application/json"),
            (json!(null), "application/json"),
            (json!("hello"), "text/plain; charset=utf-8"),
            (json!("5"), "text/plain; charset=utf-8"),
            (json!("{broken"), "text/plain; charset=utf-8"),
            (json!(" {\"a\": 1}"), "application/json"),
            (json!("[1, 2]"), "application/json"),
        ] {
            let mut request = FetchRequest::get("https://example.com/");
            request.body = Some(body.clone().into());
            let sent = prepare(request.clone(), None).unwrap().request;
            assert_eq!(sent.headers["content-type"], expect, "{body}");
            request
                .headers
                .insert("Content-Type".into(), "text/x".into());
            let sent = prepare(request, None).unwrap().request;
            assert_eq!(sent.headers["content-type"], "text/x", "{body}");
        }
        let bare = prepare(FetchRequest::get("https://example.com/"), None).unwrap();
        assert!(bare.request.headers.is_empty() && bare.request.body.is_none());
    }

    #[test]
    fn a_text_is_sent_as_it_is_and_a_value_as_json() {
        let sent = |body: Value| FetchBody::from(body).into_bytes();
        assert_eq!(sent(json!(" {\"a\": 1}")), " {\"a\": 1}");
        assert_eq!(sent(json!("héllo")), "héllo");
        assert_eq!(sent(json!({"a": [null]})), "{\"a\":[null]}");
    }

    #[test]
    fn only_a_get_that_sends_nothing_follows_redirects() {
        for (method, body, follows) in [
            (FetchMethod::Get, None, 3),
            (FetchMethod::Get, Some(FetchBody::Text("x".into())), 0),
            (FetchMethod::Post, None, 0),
            (FetchMethod::Delete, None, 0),
        ] {
            let mut request = FetchRequest::get("https://example.com/");
            (request.method, request.body) = (method, body);
            let sent = prepare(request, None).unwrap().request;
            assert_eq!(sent.limits.max_redirects, Some(follows), "{method}");
        }
    }

    #[test]
    fn methods_are_read_in_any_case_and_others_named() {
        for (text, expect) in [
            ("get", "GET"),
            ("POST", "POST"),
            ("Put", "PUT"),
            ("", "GET"),
        ] {
            assert_eq!(text.parse::<FetchMethod>().unwrap().to_string(), expect);
        }
        for text in ["HEAD", "OPTIONS", "CONNECT", "TRACE", "GET /"] {
            let error = text.parse::<FetchMethod>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("PATCH"), "{error}");
        }
    }
}
