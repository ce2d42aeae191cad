//! What the published APIs take, and nothing besides.

pub mod anthropic;
pub mod chat;
pub mod gemini;
pub mod responses;

use serde_json::Value;

use crate::fake::ReceivedRequest;

type Checked = Result<(), String>;

fn ensure(holds: bool, wrong: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { Err(wrong.into()) }
}

/// An object with these fields at most.
fn only(value: &Value, allowed: &[&str]) -> Checked {
    let object = value
        .as_object()
        .ok_or_else(|| format!("no object: {value}"))?;
    let extra = object.keys().find(|key| !allowed.contains(&key.as_str()));
    extra.map_or(Ok(()), |key| Err(format!("unknown field {key} in {value}")))
}

fn list<'v>(value: &'v Value, what: &str) -> Result<&'v Vec<Value>, String> {
    value
        .as_array()
        .ok_or_else(|| format!("{what} is no list: {value}"))
}

fn text<'v>(value: &'v Value, what: &str) -> Result<&'v str, String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.ok_or_else(|| format!("{what} is no text: {value}"))
}

fn post(received: &ReceivedRequest, target: &str, headers: &[(&str, &str)]) -> Checked {
    ensure(
        received.method == "POST",
        format!("method {}", received.method),
    )?;
    ensure(
        received.target == target,
        format!("target {}", received.target),
    )?;
    ensure(
        received.header("content-type") == "application/json",
        "content-type",
    )?;
    for (name, value) in headers {
        ensure(received.header(name) == *value, format!("header {name}"))?;
    }
    Ok(())
}

fn name(value: &Value) -> Checked {
    let name = text(value, "name")?;
    let legal = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
    ensure(
        name.len() <= 64 && name.bytes().all(legal),
        format!("name {name}"),
    )
}

fn id(value: &Value, max_length: usize) -> Result<String, String> {
    let id = text(value, "id")?;
    let legal = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
    ensure(
        id.len() <= max_length && id.bytes().all(legal),
        format!("id {id}"),
    )?;
    Ok(id.to_owned())
}

fn arguments_schema(schema: &Value) -> Checked {
    ensure(schema["type"] == "object", "a tool's schema is an object")?;
    ensure(
        schema["properties"].is_object(),
        "a tool's schema has properties",
    )
}

fn data_url(value: &Value) -> Checked {
    let url = text(value, "url")?;
    ensure(
        url.starts_with("data:image/") && url.contains(";base64,"),
        format!("url {url}"),
    )
}

#[test]
fn each_check_refuses_what_the_real_one_refuses() {
    use serde_json::json;
    let received = |target: &str, header: (&str, &str), body: Value| ReceivedRequest {
        method: "POST".into(),
        target: target.into(),
        headers: [
            header,
            ("content-type", "application/json"),
            ("anthropic-version", "2023-06-01"),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect(),
        body,
    };
    let key = crate::support::KEY;
    let bearer = format!("Bearer {key}");
    let claude =
        |body: Value| anthropic::check(&received("/v1/messages", ("x-api-key", key), body));
    let valid = json!({ "model": "claude-opus-5", "max_tokens": 9, "stream": true, "messages": [{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }] });
    assert_eq!(claude(valid.clone()), Ok(()));
    let with = |key: &str, value: Value| {
        let mut body = valid.clone();
        body[key] = value;
        body
    };
    let call = json!({ "type": "tool_use", "id": "t", "name": "n", "input": {} });
    for wrong in [
        with("top_p", json!(1)),
        with("temperature", json!(0.5)),
        with(
            "thinking",
            json!({ "type": "enabled", "budget_tokens": 1024 }),
        ),
        with(
            "messages",
            json!([{ "role": "assistant", "content": [call] }]),
        ),
        with(
            "messages",
            json!([valid["messages"][0], { "role": "assistant", "content": [call] }, valid["messages"][0]]),
        ),
        with(
            "messages",
            json!([{ "role": "user", "content": [{ "type": "text", "text": "" }] }]),
        ),
        with(
            "messages",
            json!([valid["messages"][0], valid["messages"][0]]),
        ),
    ] {
        assert!(claude(wrong.clone()).is_err(), "{wrong}");
    }
    let gpt = |messages: Value| {
        let body = json!({ "model": "gpt-4o", "stream": true, "stream_options": { "include_usage": true }, "max_tokens": 9, "messages": messages });
        chat::check(&received(
            "/v1/chat/completions",
            ("authorization", &bearer),
            body,
        ))
    };
    let hi = json!({ "role": "user", "content": "hi" });
    assert_eq!(gpt(json!([hi])), Ok(()));
    let called = json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "c", "type": "function", "function": { "name": "n", "arguments": "{}" } }] });
    for wrong in [
        json!([hi, called]),
        json!([hi, called, hi]),
        json!([hi, { "role": "tool", "tool_call_id": "c", "content": "x" }]),
        json!([{ "role": "user", "content": "hi", "extra": 1 }]),
    ] {
        assert!(gpt(wrong.clone()).is_err(), "{wrong}");
    }
    let google = |contents: Value| {
        let target = "/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse";
        let body = json!({ "contents": contents, "generationConfig": { "maxOutputTokens": 9 } });
        gemini::check(&received(target, ("x-goog-api-key", key), body))
    };
    let hi = json!({ "role": "user", "parts": [{ "text": "hi" }] });
    assert_eq!(google(json!([hi])), Ok(()));
    let called = json!({ "role": "model", "parts": [{ "functionCall": { "id": "c", "name": "n", "args": {} } }] });
    let answered = json!({ "role": "user", "parts": [{ "functionResponse": { "id": "c", "name": "n", "response": { "output": "x" } } }] });
    for wrong in [
        json!([called]),
        json!([hi, called, hi]),
        json!([hi, called, answered]),
        json!([hi, answered]),
    ] {
        assert!(google(wrong.clone()).is_err(), "{wrong}");
    }
    let newer = |input: Value| {
        let body = json!({ "model": "gpt-5.5", "stream": true, "store": false, "max_output_tokens": 16, "input": input });
        responses::check(&received("/v1/responses", ("authorization", &bearer), body))
    };
    let hi = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hi" }] });
    assert_eq!(newer(json!([hi])), Ok(()));
    let call = json!({ "type": "function_call", "call_id": "c", "name": "n", "arguments": "{}" });
    for wrong in [
        json!([hi, call]),
        json!([hi, { "type": "function_call_output", "call_id": "c", "output": "x" }]),
        json!([hi, { "type": "reasoning", "summary": [], "encrypted_content": "enc-1" }]),
    ] {
        assert!(newer(wrong.clone()).is_err(), "{wrong}");
    }
}
