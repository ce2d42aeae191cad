//! A web request, with its response as text.

use std::collections::BTreeMap;

use bytes::BytesMut;
use manyhands_guard::{Body, Egress, EgressError, JailError, Response};
use url::Url;

use super::auth::{AuthError, AuthProfile};
use super::charset::{self, Completeness};
use super::headers::{self, HeaderError};
use super::page::{self, PageLink};
use super::request::{Decode, FetchRequest, Stay, prepare};

/// Why there is no response. A response with an error status is a response.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Headers that may not be sent.
    #[error(transparent)]
    Headers(#[from] HeaderError),
    /// A secret that is not meant for this request.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The response was a redirect, which is not followed for this request.
    #[error(
        "was answered with a redirect, which is not followed because {why}; ask for the final address directly"
    )]
    Redirected {
        /// The reason.
        why: &'static str,
    },
    /// It was not sent, or no response arrived.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The response to a download has an error status; nothing was written.
    #[error("answered {status}, so nothing was saved{}", if .excerpt.is_empty() { String::new() } else { format!(": {}", .excerpt) })]
    Status {
        /// The status.
        status: u16,
        /// The beginning of the response.
        excerpt: String,
    },
    /// The download is too large; nothing was written.
    #[error(
        "is larger than {limit} bytes, so nothing was saved; raise max_bytes up to the download limit or ask for less"
    )]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Jail(#[from] JailError),
    /// A worker thread failed.
    #[error("the answer could not be worked on: {0}")]
    Lost(String),
}

/// The kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    /// HTML, made readable unless raw text was requested.
    Page,
    /// Other text, unchanged.
    Text,
    /// Binary: `content` describes it.
    Binary,
}

/// A response as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchResult {
    /// Its URL, after redirects.
    pub url: String,
    /// Its status.
    pub status: u16,
    /// Its content type, as sent.
    pub content_type: Option<String>,
    /// The kind of content.
    pub kind: ContentKind,
    /// Its text.
    pub content: String,
    /// Whether the text is incomplete.
    pub truncated: bool,
    /// Size of the whole body, if the server reported it or all of it was read.
    pub full_size: Option<u64>,
    /// All text that was read, if `content` is only a part.
    pub whole: Option<String>,
    /// The title of a readable page.
    pub title: Option<String>,
    /// The links of a readable page.
    pub links: Vec<PageLink>,
    /// Useful headers, names in lower case.
    pub headers: BTreeMap<String, String>,
}

/// Sends `request` through `egress`, with the secret of `profile` if given.
pub async fn fetch(
    egress: &Egress,
    request: FetchRequest,
    profile: Option<&AuthProfile>,
) -> Result<FetchResult, FetchError> {
    let (max_bytes, max_content, decode) = (request.max_bytes, request.max_content, request.decode);
    // What is returned is always a part of what is stored.
    let max_stored = request.max_stored.max(max_bytes);
    let answer = send(egress, request, profile).await?;
    let Response {
        status,
        headers,
        final_url: url,
        mut body,
    } = answer;
    let content_type = text_of(&headers, "content-type");
    let declared = text_of(&headers, "content-length").and_then(|length| length.parse().ok());
    let mut result = FetchResult {
        url: url.to_string(),
        status: status.as_u16(),
        kind: ContentKind::Binary,
        content: String::new(),
        truncated: false,
        full_size: declared,
        whole: None,
        title: None,
        links: Vec::new(),
        headers: headers::visible(&headers),
        content_type,
    };
    let known = kind_by_type(result.content_type.as_deref());
    // A binary body of known size is described without downloading it.
    let nothing_to_read = known == Some(ContentKind::Binary) && declared.is_some();
    let taken = if nothing_to_read {
        BodyPrefix::default()
    } else {
        take(&mut body, max_bytes, max_stored).await?
    };
    // Closes the connection before the slow part: the rest of the body is not wanted.
    drop(body);
    if taken.end == Completeness::Whole && !nothing_to_read {
        result.full_size = Some(taken.bytes.len() as u64);
    }
    result.kind = known.unwrap_or_else(|| sniff_kind(&taken.bytes));
    let visible = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    result.truncated = taken.end == Completeness::Cut || taken.bytes.len() > visible;
    if result.kind == ContentKind::Binary {
        describe(&mut result, taken.bytes.len());
        return Ok(result);
    }
    // Parsing a hostile page takes long; it must not block the async threads.
    let written = tokio::task::spawn_blocking(move || {
        write(&mut result, &taken, &url, (visible, max_content), decode);
        result
    });
    written
        .await
        .map_err(|error| FetchError::Lost(error.to_string()))
}

/// Sends `request` and returns once the response headers have arrived.
pub(super) async fn send(
    egress: &Egress,
    request: FetchRequest,
    profile: Option<&AuthProfile>,
) -> Result<Response, FetchError> {
    let prepared = prepare(request, profile)?;
    match (egress.fetch(prepared.request).await, prepared.stay) {
        // The plain error would name a limit, but here redirects were forbidden on purpose.
        (Err(EgressError::Redirects { .. }), Some(stay)) => Err(FetchError::Redirected {
            why: match stay {
                Stay::Sends => "what it sends was meant for this address only",
                Stay::Narrow => "the auth profile covers only a part of this host",
            },
        }),
        (answer, _) => Ok(answer?),
    }
}

/// The beginning of a body.
struct BodyPrefix {
    bytes: BytesMut,
    end: Completeness,
}

impl Default for BodyPrefix {
    fn default() -> Self {
        Self {
            bytes: BytesMut::new(),
            end: Completeness::Whole,
        }
    }
}

/// Reads at most `stored` bytes. After the first `max`, a failure only ends it: what came before is a valid result.
async fn take(body: &mut Body, max: u64, stored: u64) -> Result<BodyPrefix, EgressError> {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let (max, stored) = (size(max), size(stored));
    let mut taken = BodyPrefix::default();
    loop {
        let chunk = match body.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(taken),
            // The owner's limit: what came before it is still useful.
            Err(EgressError::TooLarge { .. }) => {
                taken.end = Completeness::Cut;
                return Ok(taken);
            }
            // Enough was read to answer; a broken tail only shortens what is stored.
            Err(_) if taken.bytes.len() > max => {
                taken.end = Completeness::Cut;
                return Ok(taken);
            }
            Err(error) => return Err(error),
        };
        let room = stored - taken.bytes.len();
        taken
            .bytes
            .extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            taken.end = Completeness::Cut;
            return Ok(taken);
        }
    }
}

/// Writes the text of the body into `result`: from `most.0` bytes of it, `most.1` bytes of text.
fn write(
    result: &mut FetchResult,
    taken: &BodyPrefix,
    url: &Url,
    (most_read, max_inline): (usize, usize),
    decode: Decode,
) {
    let content_type = result.content_type.clone();
    let decoded = |bytes: &[u8], end| charset::decode(bytes, content_type.as_deref(), url, end);
    let read = &taken.bytes[..taken.bytes.len().min(most_read)];
    let end = match read.len() < taken.bytes.len() {
        true => Completeness::Cut,
        false => taken.end,
    };
    let text = decoded(read, end);
    let readable = result.kind == ContentKind::Page && decode == Decode::Readable;
    if readable {
        let page = page::read_page(&text, url, max_inline);
        result.truncated |= page.truncated;
        (result.content, result.title, result.links) = (page.text, page.title, page.links);
    } else {
        result.truncated |= text.len() > max_inline;
        result.content = text;
        let cut = result.content.floor_char_boundary(max_inline);
        result.content.truncate(cut);
    }
    // What the caller did not want to be read cannot be stored.
    if result.truncated && (taken.end == Completeness::Whole || taken.bytes.len() > most_read) {
        let all = decoded(&taken.bytes, taken.end);
        let page = readable.then(|| page::read_page(&all, url, usize::MAX));
        // A page too large to be made readable is stored unchanged.
        let page = page.filter(|page| !page.truncated);
        result.whole = Some(page.map_or(all, |page| page.text));
    }
}

fn describe(result: &mut FetchResult, read: usize) {
    let size = match result.full_size {
        Some(size) => format!("{size} bytes"),
        None => format!("more than {read} bytes"),
    };
    let what = result.content_type.as_deref().unwrap_or("unknown type");
    result.content = format!("binary content, {size}, {what}");
}

pub(super) fn text_of(headers: &manyhands_guard::HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?;
    let text = String::from_utf8_lossy(value.as_bytes()).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The kind according to the content type; `None` if absent.
fn kind_by_type(content_type: Option<&str>) -> Option<ContentKind> {
    let essence = content_type?.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    let (kind, sub) = essence.split_once('/')?;
    Some(match (kind, sub) {
        ("text", "html") | ("application", "xhtml+xml") => ContentKind::Page,
        ("text", _) => ContentKind::Text,
        (_, sub) if sub.ends_with("+json") || sub.ends_with("+xml") || sub.ends_with("+yaml") => {
            ContentKind::Text
        }
        (
            "application",
            "json"
            | "ndjson"
            | "x-ndjson"
            | "jsonlines"
            | "json-seq"
            | "xml"
            | "javascript"
            | "x-javascript"
            | "ecmascript"
            | "typescript"
            | "yaml"
            | "x-yaml"
            | "toml"
            | "graphql"
            | "sql"
            | "x-sh"
            | "x-shellscript"
            | "x-www-form-urlencoded"
            | "x-httpd-php"
            | "x-tex"
            | "x-latex"
            | "pem-certificate-chain",
        ) => ContentKind::Text,
        _ => ContentKind::Binary,
    })
}

/// The kind guessed from the first bytes.
fn sniff_kind(bytes: &[u8]) -> ContentKind {
    let head = &bytes[..bytes.len().min(1024)];
    // UTF-16 text has a zero in every other byte and would look binary.
    let wide = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    let binary = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    if !wide && head.iter().any(binary) {
        return ContentKind::Binary;
    }
    // Some servers send pages without a type, and with blank lines before the doctype.
    let start = head.trim_ascii_start().to_ascii_lowercase();
    if start.starts_with(b"<!doctype html") || start.starts_with(b"<html") {
        ContentKind::Page
    } else {
        ContentKind::Text
    }
}

#[cfg(test)]
mod tests;
