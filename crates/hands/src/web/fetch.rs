//! One request to the web, and its answer as text.

use std::collections::BTreeMap;

use bytes::BytesMut;
use manyhands_guard::{Body, Egress, EgressError, JailError, Response};
use url::Url;

use super::auth::{AuthError, AuthProfile};
use super::charset::{self, End};
use super::headers::{self, HeaderError};
use super::page::{self, Link};
use super::request::{Decode, FetchRequest, Stay, prepare};

/// Why nothing came back. An answer with a bad status is an answer.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Headers that may not be sent.
    #[error(transparent)]
    Headers(#[from] HeaderError),
    /// A secret that is not meant for this request.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The answer was a redirect, and a request like this one is not sent elsewhere.
    #[error(
        "was answered with a redirect, which is not followed because {why}; ask for the final address directly"
    )]
    Redirected {
        /// Why it is not followed.
        why: &'static str,
    },
    /// It did not leave, or no answer arrived.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The answer to a download has another status than success; nothing was written.
    #[error("answered {status}, so nothing was saved{}", if .excerpt.is_empty() { String::new() } else { format!(": {}", .excerpt) })]
    Status {
        /// The status.
        status: u16,
        /// How the answer begins.
        excerpt: String,
    },
    /// The download is larger than allowed; nothing was written.
    #[error(
        "is larger than {limit} bytes, so nothing was saved; raise max_bytes up to the download limit or ask for less"
    )]
    TooLarge {
        /// The most that is saved.
        limit: u64,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Jail(#[from] JailError),
    /// Work on another thread was lost.
    #[error("the answer could not be worked on: {0}")]
    Lost(String),
}

/// What kind of content came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    /// HTML, made readable unless raw text was asked for.
    Page,
    /// Other text, as it came.
    Text,
    /// Not text: `content` says what it is instead.
    Binary,
}

/// An answer as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchResult {
    /// Where it came from, after redirects.
    pub url: String,
    /// Its status.
    pub status: u16,
    /// Its content type, as the server wrote it.
    pub content_type: Option<String>,
    /// What kind of content it is.
    pub kind: ContentKind,
    /// Its text.
    pub content: String,
    /// Whether something is missing from the text.
    pub truncated: bool,
    /// How large the whole body is, where the server said so or all of it was read.
    pub full_size: Option<u64>,
    /// All of the text, as far as it was read, where `content` is only a part.
    pub whole: Option<String>,
    /// The title, of a page made readable.
    pub title: Option<String>,
    /// The links, of a page made readable.
    pub links: Vec<Link>,
    /// Headers worth knowing, names in lower case.
    pub headers: BTreeMap<String, String>,
}

/// Sends `asked` through `egress`, with the secret of `profile` where one is named.
pub async fn fetch(
    egress: &Egress,
    asked: FetchRequest,
    profile: Option<&AuthProfile>,
) -> Result<FetchResult, FetchError> {
    let (max_bytes, max_content, decode) = (asked.max_bytes, asked.max_content, asked.decode);
    let max_stored = asked.max_stored.max(max_bytes);
    let answer = send(egress, asked, profile).await?;
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
        headers: headers::shown(&headers),
        content_type,
    };
    let known = kind_by_type(result.content_type.as_deref());
    let nothing_to_read = known == Some(ContentKind::Binary) && declared.is_some();
    let taken = if nothing_to_read {
        Taken::default()
    } else {
        take(&mut body, max_bytes, max_stored).await?
    };
    drop(body);
    if taken.end == End::Whole && !nothing_to_read {
        result.full_size = Some(taken.bytes.len() as u64);
    }
    result.kind = known.unwrap_or_else(|| kind_by_look(&taken.bytes));
    let shown = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    result.truncated = taken.end == End::Cut || taken.bytes.len() > shown;
    if result.kind == ContentKind::Binary {
        describe(&mut result, taken.bytes.len());
        return Ok(result);
    }
    let written = tokio::task::spawn_blocking(move || {
        write(&mut result, &taken, &url, (shown, max_content), decode);
        result
    });
    written
        .await
        .map_err(|error| FetchError::Lost(error.to_string()))
}

/// Sends `asked` and returns once the headers of the answer are there.
pub(super) async fn send(
    egress: &Egress,
    asked: FetchRequest,
    profile: Option<&AuthProfile>,
) -> Result<Response, FetchError> {
    let prepared = prepare(asked, profile)?;
    match (egress.fetch(prepared.request).await, prepared.stay) {
        (Err(EgressError::Redirects { .. }), Some(stay)) => Err(FetchError::Redirected {
            why: match stay {
                Stay::Sends => "what it sends was meant for this address only",
                Stay::Narrow => "the auth profile covers only a part of this host",
            },
        }),
        (answer, _) => Ok(answer?),
    }
}

/// What was read of a body.
struct Taken {
    bytes: BytesMut,
    end: End,
}

impl Default for Taken {
    fn default() -> Self {
        Self {
            bytes: BytesMut::new(),
            end: End::Whole,
        }
    }
}

/// Reads at most `stored` bytes. Beyond the first `max` a failure only ends it: what came before is an answer.
async fn take(body: &mut Body, max: u64, stored: u64) -> Result<Taken, EgressError> {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let (max, stored) = (size(max), size(stored));
    let mut taken = Taken::default();
    loop {
        let chunk = match body.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(taken),
            // The owner's own limit: what came before it is still worth showing.
            Err(EgressError::TooLarge { .. }) => {
                taken.end = End::Cut;
                return Ok(taken);
            }
            Err(_) if taken.bytes.len() > max => {
                taken.end = End::Cut;
                return Ok(taken);
            }
            Err(error) => return Err(error),
        };
        let room = stored - taken.bytes.len();
        taken
            .bytes
            .extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            taken.end = End::Cut;
            return Ok(taken);
        }
    }
}

/// Writes the text of what was read into `result`: of `most.0` bytes of it, `most.1` bytes of text.
fn write(
    result: &mut FetchResult,
    taken: &Taken,
    url: &Url,
    (most_read, most_shown): (usize, usize),
    decode: Decode,
) {
    let content_type = result.content_type.clone();
    let decoded = |bytes: &[u8], end| charset::decode(bytes, content_type.as_deref(), url, end);
    let read = &taken.bytes[..taken.bytes.len().min(most_read)];
    let end = match read.len() < taken.bytes.len() {
        true => End::Cut,
        false => taken.end,
    };
    let text = decoded(read, end);
    let readable = result.kind == ContentKind::Page && decode == Decode::Readable;
    if readable {
        let page = page::read_page(&text, url, most_shown);
        result.truncated |= page.truncated;
        (result.content, result.title, result.links) = (page.text, page.title, page.links);
    } else {
        result.truncated |= text.len() > most_shown;
        result.content = text;
        let cut = result.content.floor_char_boundary(most_shown);
        result.content.truncate(cut);
    }
    // What the caller did not want to be read is not there to be stored.
    if result.truncated && (taken.end == End::Whole || taken.bytes.len() > most_read) {
        let all = decoded(&taken.bytes, taken.end);
        let page = readable.then(|| page::read_page(&all, url, usize::MAX));
        // A page too large to be made readable is stored as it came.
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

/// What the content type says; `None` where there is none.
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

/// What the first bytes look like, where nobody says.
fn kind_by_look(bytes: &[u8]) -> ContentKind {
    let head = &bytes[..bytes.len().min(1024)];
    let wide = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    let binary = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    if !wide && head.iter().any(binary) {
        return ContentKind::Binary;
    }
    let start = head.trim_ascii_start().to_ascii_lowercase();
    if start.starts_with(b"<!doctype html") || start.starts_with(b"<html") {
        ContentKind::Page
    } else {
        ContentKind::Text
    }
}

#[cfg(test)]
mod tests;
