//! Forms with files, as they arrive.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::hub::Asked;

/// One part.
pub(crate) struct Part {
    pub name: String,
    pub file: Option<String>,
    pub mime: String,
    pub body: Bytes,
}

/// The parts of a form; none where it is no form.
pub(crate) fn parts(asked: &Asked) -> Option<Vec<Part>> {
    let kind = asked.header("content-type");
    let boundary = kind.strip_prefix("multipart/form-data; boundary=")?;
    let mark = format!("--{boundary}");
    let mut rest = asked.body.clone();
    let mut parts = Vec::new();
    let at = find(&rest, mark.as_bytes())?;
    rest = rest.slice(at + mark.len()..);
    while rest.starts_with(b"\r\n") {
        let end = find(&rest, format!("\r\n{mark}").as_bytes())?;
        parts.push(part(rest.slice(2..end))?);
        rest = rest.slice(end + 2 + mark.len()..);
    }
    rest.starts_with(b"--").then_some(parts)
}

fn part(bytes: Bytes) -> Option<Part> {
    let at = find(&bytes, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let quoted = |name: &str| {
        let (_, rest) = head.split_once(&format!(" {name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let mut lines = head.lines();
    let mime = lines.find_map(|line| line.strip_prefix("Content-Type: "));
    Some(Part {
        name: quoted("name")?,
        file: quoted("filename"),
        mime: mime.unwrap_or_default().to_owned(),
        body: bytes.slice(at + 4..),
    })
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|part| part == what)
}

/// A form as fields: of a file its name, type and size.
pub(crate) fn fields(parts: &[Part]) -> Value {
    let mut fields = json!({});
    for part in parts {
        fields[&part.name] = match &part.file {
            Some(name) => json!({"name": name, "type": part.mime, "size": part.body.len()}),
            None => json!(String::from_utf8_lossy(&part.body)),
        };
    }
    fields
}
