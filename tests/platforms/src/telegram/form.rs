//! The fields of a request, however they were sent.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::hub::Asked;

/// A file of a form.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    pub name: String,
    pub mime: String,
    pub bytes: Bytes,
}

/// What a request holds.
#[derive(Debug, Default)]
pub(super) struct Form {
    pub fields: Map<String, Value>,
    pub files: Vec<(String, Upload)>,
}

/// Reads JSON, a form, or a form with files.
pub(super) fn read(asked: &Asked) -> Result<Form, &'static str> {
    let kind = asked.header("content-type");
    let mut form = Form::default();
    let pairs = |text: &str| -> Vec<(String, String)> {
        url::form_urlencoded::parse(text.as_bytes())
            .into_owned()
            .collect()
    };
    for (name, value) in pairs(&asked.query) {
        form.fields.insert(name, Value::String(value));
    }
    if kind.starts_with("application/json") {
        let Some(Value::Object(fields)) = asked.json() else {
            return Err("Bad Request: can't parse JSON object");
        };
        form.fields.extend(fields);
    } else if let Some(boundary) = kind.strip_prefix("multipart/form-data; boundary=") {
        parts(&asked.body, boundary.trim_matches('"'), &mut form)
            .ok_or("Bad Request: can't parse the form")?;
    } else if kind.starts_with("application/x-www-form-urlencoded") {
        let text = String::from_utf8_lossy(&asked.body);
        for (name, value) in pairs(&text) {
            form.fields.insert(name, Value::String(value));
        }
    } else if !asked.body.is_empty() {
        return Err("Bad Request: unknown type of the body");
    }
    Ok(form)
}

fn parts(body: &Bytes, boundary: &str, form: &mut Form) -> Option<()> {
    let mark = format!("--{boundary}");
    let mut at = find(body, mark.as_bytes(), 0)?;
    if at != 0 {
        return None;
    }
    loop {
        at += mark.len();
        if body[at..].starts_with(b"--") {
            return Some(());
        }
        let head = at + 2;
        let end = find(body, b"\r\n\r\n", at)?;
        let next = find(body, format!("\r\n{mark}").as_bytes(), end)?;
        let heads = std::str::from_utf8(body.get(head..end)?).ok()?;
        let bytes = body.slice(end + 4..next);
        one(heads, bytes, form)?;
        at = next + 2;
    }
}

fn one(heads: &str, bytes: Bytes, form: &mut Form) -> Option<()> {
    let header = |name: &str| {
        heads.split("\r\n").find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    };
    let disposition = header("content-disposition")?;
    let parameter = |name: &str| {
        let start = disposition.find(&format!("; {name}=\""))? + name.len() + 4;
        let rest = &disposition[start..];
        Some(rest[..rest.find('"')?].to_owned())
    };
    let name = parameter("name")?;
    match parameter("filename") {
        Some(file) => {
            let mime = header("content-type").unwrap_or("application/octet-stream");
            let (mime, file_name) = (mime.to_owned(), file);
            form.files.push((
                name,
                Upload {
                    name: file_name,
                    mime,
                    bytes,
                },
            ));
        }
        None => {
            let text = String::from_utf8(bytes.to_vec()).ok()?;
            form.fields.insert(name, Value::String(text));
        }
    }
    Some(())
}

fn find(all: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let rest = all.get(from..)?;
    let first = *wanted.first()?;
    let mut at = 0;
    while let Some(next) = rest[at..].iter().position(|byte| *byte == first) {
        at += next;
        if rest[at..].starts_with(wanted) {
            return Some(from + at);
        }
        at += 1;
    }
    None
}

/// The kinds of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Int,
    Bool,
    /// A number, or a name that begins with `@`.
    Chat,
    Object,
    List,
    File,
}

/// Reads values that a form could only bring as text, and checks all against what is published.
pub(super) fn check(
    method: &str,
    form: &mut Form,
    known: &[(&str, Kind, bool)],
) -> Result<(), String> {
    for (name, value) in &mut form.fields {
        let kind = known.iter().find(|(field, ..)| field == name);
        let Some((_, kind, _)) = kind else {
            return Err(format!("Bad Request: {method} has no field {name}"));
        };
        if !matches!(kind, Kind::Text | Kind::File)
            && let Some(text) = value.as_str()
            && let Ok(read) = serde_json::from_str(text)
        {
            *value = read;
        }
        let fits = match kind {
            Kind::Text => value.is_string(),
            Kind::Int => value.is_i64(),
            Kind::Bool => value.is_boolean(),
            Kind::Chat => {
                value.is_i64() || value.as_str().is_some_and(|name| name.starts_with('@'))
            }
            Kind::Object => value.is_object(),
            Kind::List => value.is_array(),
            Kind::File => value.is_string(),
        };
        if !fits {
            return Err(format!("Bad Request: field \"{name}\" has a wrong type"));
        }
    }
    for (name, kind, required) in known {
        let file = *kind == Kind::File && form.files.iter().any(|(field, _)| field == name);
        if *required && !file && !form.fields.contains_key(*name) {
            return Err(format!("Bad Request: parameter \"{name}\" is required"));
        }
    }
    Ok(())
}

/// The fields as the journal keeps them.
pub(super) fn shown(form: &Form) -> Value {
    let mut fields = form.fields.clone();
    for (name, file) in &form.files {
        let size = file.bytes.len();
        let file = json!({"filename": file.name, "contentType": file.mime, "size": size});
        fields.insert(name.clone(), json!({ "$file": file }));
    }
    Value::Object(fields)
}
