//! HTTP requests to a platform, and the meaning of their failures.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use manyhands_core::{Ids, Secret};
use manyhands_guard::{
    Egress, EgressError, FetchLimits, HeaderMap, HeaderName, HeaderValue, Method, Request,
    StatusCode,
};
use url::Url;
use uuid::Uuid;

use crate::channel::SendError;

/// Maximum size of an ordinary response.
const MOST: u64 = 8 * 1024 * 1024;
/// Timeout of an ordinary request.
const WITHIN: Duration = Duration::from_secs(30);

/// The HTTP API of one platform.
#[derive(Clone)]
pub struct Api {
    egress: Arc<Egress>,
    base: Url,
    ids: Ids,
}

/// A response.
#[derive(Debug, Clone)]
pub struct ApiResponse {
    /// The status code.
    pub status: StatusCode,
    /// The response headers.
    pub headers: HeaderMap,
    /// The response body.
    pub body: Bytes,
}

/// A part of a multipart form.
#[derive(Debug, Clone)]
pub struct FormPart {
    /// The field name.
    pub name: String,
    /// The file name, if it is a file.
    pub file: Option<String>,
    /// Its MIME type.
    pub mime: Option<String>,
    /// Its content.
    pub body: Bytes,
}

impl FormPart {
    /// A plain field.
    pub fn field(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            file: None,
            mime: None,
            body: Bytes::from(value.into()),
        }
    }

    /// A file.
    pub fn file(name: &str, file: &str, mime: &str, body: Bytes) -> Self {
        Self {
            name: name.to_owned(),
            file: Some(file.to_owned()),
            mime: Some(mime.to_owned()),
            body,
        }
    }
}

impl Api {
    /// The API at `base`.
    pub fn new(egress: Arc<Egress>, base: Url, ids: Ids) -> Self {
        Self { egress, base, ids }
    }

    /// The id generator.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// The outbound HTTP client.
    pub fn egress(&self) -> &Arc<Egress> {
        &self.egress
    }

    /// The URL of `path`, which has no leading slash.
    pub fn url(&self, path: &str) -> String {
        let base = self.base.as_str().trim_end_matches('/');
        format!("{base}/{path}")
    }

    /// An `Authorization` header, which is sent to this platform only.
    pub fn bearer(secret: &Secret) -> Result<HeaderMap, SendError> {
        let mut headers = HeaderMap::new();
        let value = HeaderValue::from_str(&format!("Bearer {}", secret.expose()));
        let mut value = value
            .map_err(|_| SendError::Account("the token contains invalid characters".to_owned()))?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static("authorization"), value);
        Ok(headers)
    }

    /// Sends JSON and waits for the response.
    pub async fn post_json(
        &self,
        url: String,
        headers: HeaderMap,
        body: &serde_json::Value,
    ) -> Result<ApiResponse, SendError> {
        let body = Bytes::from(body.to_string());
        let json = "application/json; charset=utf-8";
        self.send(Method::POST, url, headers, Some((json.to_owned(), body)))
            .await
    }

    /// Sends a form with files.
    pub async fn post_form(
        &self,
        url: String,
        headers: HeaderMap,
        parts: &[FormPart],
    ) -> Result<ApiResponse, SendError> {
        let boundary = format!("manyhands-{}", self.ids.next::<Uuid>().simple());
        let body = multipart(&boundary, parts);
        let kind = format!("multipart/form-data; boundary={boundary}");
        self.send(Method::POST, url, headers, Some((kind, body)))
            .await
    }

    /// Sends a request and waits for the complete response.
    pub async fn send(
        &self,
        method: Method,
        url: String,
        headers: HeaderMap,
        body: Option<(String, Bytes)>,
    ) -> Result<ApiResponse, SendError> {
        self.send_within(method, url, headers, body, WITHIN, MOST)
            .await
    }

    /// Like [`send`](Self::send) with other limits.
    pub async fn send_within(
        &self,
        method: Method,
        url: String,
        mut headers: HeaderMap,
        body: Option<(String, Bytes)>,
        within: Duration,
        most: u64,
    ) -> Result<ApiResponse, SendError> {
        let body = match body {
            Some((kind, body)) => {
                let kind = HeaderValue::from_str(&kind)
                    .map_err(|_| SendError::Never("the content type is invalid".to_owned()))?;
                headers.insert(HeaderName::from_static("content-type"), kind);
                Some(body)
            }
            None => None,
        };
        let request = Request {
            method,
            url,
            headers,
            body,
            limits: FetchLimits {
                total_timeout: Some(within),
                max_bytes: Some(most),
                max_redirects: Some(3),
            },
        };
        let response = self.egress.fetch(request).await.map_err(failure)?;
        let (status, headers) = (response.status, response.headers.clone());
        let body = response.bytes().await.map_err(failure)?;
        Ok(ApiResponse {
            status,
            headers,
            body,
        })
    }
}

impl ApiResponse {
    /// The delay requested by `Retry-After`.
    pub fn retry_after(&self) -> Option<Duration> {
        let said = self.headers.get("retry-after")?.to_str().ok()?;
        let seconds: f64 = said.trim().parse().ok()?;
        (seconds.is_finite() && seconds >= 0.0)
            .then(|| Duration::from_secs_f64(seconds.min(86_400.0)))
    }

    /// The body as JSON; anything else comes from a proxy between us and the platform.
    pub fn json(&self) -> Result<serde_json::Value, SendError> {
        serde_json::from_slice(&self.body).map_err(|_| {
            let status = self.status;
            match status.is_success() {
                true => SendError::Unknown(format!("the response ({status}) is not JSON")),
                false => SendError::Later {
                    after: self.retry_after(),
                    why: format!("the response ({status}) is not from the platform"),
                },
            }
        })
    }
}

/// What a failed exchange means for the message being sent.
pub fn failure(error: EgressError) -> SendError {
    let why = error.to_string();
    match error {
        // Nothing was transmitted, so the message surely was not sent.
        EgressError::Connect { .. } | EgressError::Lookup { .. } => {
            SendError::Later { after: None, why }
        }
        EgressError::Url(_)
        | EgressError::Scheme(_)
        | EgressError::Userinfo
        | EgressError::Header(_)
        | EgressError::Private { .. }
        | EgressError::Elsewhere(_) => SendError::Account(why),
        EgressError::Redirects { .. }
        | EgressError::TooLarge { .. }
        | EgressError::TimedOut(_)
        | EgressError::Http(_) => SendError::Unknown(why),
    }
}

/// Encodes a multipart form.
pub fn multipart(boundary: &str, parts: &[FormPart]) -> Bytes {
    let mut all = BytesMut::new();
    for part in parts {
        all.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        let name = quoted(&part.name);
        let file = part.file.as_deref().map(quoted);
        let file = file.map_or(String::new(), |file| format!("; filename=\"{file}\""));
        let head = format!("Content-Disposition: form-data; name=\"{name}\"{file}\r\n");
        all.extend_from_slice(head.as_bytes());
        if let Some(mime) = &part.mime {
            let mime: String = mime.chars().filter(|c| !c.is_control()).collect();
            all.extend_from_slice(format!("Content-Type: {mime}\r\n").as_bytes());
        }
        all.extend_from_slice(b"\r\n");
        all.extend_from_slice(&part.body);
        all.extend_from_slice(b"\r\n");
    }
    all.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    all.freeze()
}

/// A file name in quotes, escaped as browsers do.
fn quoted(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '"' => plain.push_str("%22"),
            '\r' => plain.push_str("%0D"),
            '\n' => plain.push_str("%0A"),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_keeps_its_parts_apart_whatever_their_names() {
        let parts = [
            FormPart::field("chat_id", "42"),
            FormPart::file("photo", "a\"\r\nb.png", "image/png", Bytes::from("xy")),
        ];
        let form = multipart("b", &parts);
        let expect = "--b\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n42\r\n--b\r\n\
            Content-Disposition: form-data; name=\"photo\"; filename=\"a%22%0D%0Ab.png\"\r\n\
            Content-Type: image/png\r\n\r\nxy\r\n--b--\r\n";
        assert_eq!(form, expect.as_bytes());
    }
}
