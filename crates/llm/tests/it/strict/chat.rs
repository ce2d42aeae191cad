//! `POST /v1/chat/completions`.

use serde_json::Value;

use super::{Checked, arguments_schema, data_url, ensure, id, list, name, only, post, text};
use crate::fake::ReceivedRequest;
use crate::support::KEY;

const FIELDS: [&str; 19] = [
    "model",
    "stream",
    "stream_options",
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "tools",
    "tool_choice",
    "response_format",
    "temperature",
    "top_p",
    "top_k",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "parallel_tool_calls",
];

pub fn check(received: &ReceivedRequest) -> Checked {
    let bearer = format!("Bearer {KEY}");
    post(
        received,
        "/v1/chat/completions",
        &[("authorization", &bearer)],
    )?;
    let body = &received.body;
    only(body, &FIELDS)?;
    ensure(body["stream"] == true, "stream")?;
    ensure(
        body["stream_options"]["include_usage"] == true,
        "include_usage",
    )?;
    let limits = ["max_tokens", "max_completion_tokens"].map(|f| body.get(f).is_some());
    ensure(limits[0] != limits[1], "exactly one limit")?;
    for tool in body["tools"].as_array().into_iter().flatten() {
        only(tool, &["type", "function"])?;
        only(
            &tool["function"],
            &["name", "description", "parameters", "strict"],
        )?;
        name(&tool["function"]["name"])?;
        arguments_schema(&tool["function"]["parameters"])?;
    }
    if let Some(format) = body.get("response_format") {
        only(format, &["type", "json_schema"])?;
        let object = format["type"] == "json_object";
        ensure(
            object != format.get("json_schema").is_some(),
            "a schema goes with json_schema",
        )?;
        if !object {
            only(
                &format["json_schema"],
                &["name", "schema", "strict", "description"],
            )?;
            name(&format["json_schema"]["name"])?;
        }
    }
    messages(list(&body["messages"], "messages")?)
}

fn messages(messages: &[Value]) -> Checked {
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = text(&message["role"], "role")?;
        ensure(
            role == "tool" || open.is_empty(),
            format!("tool_call_ids without response messages: {open:?}"),
        )?;
        match role {
            "system" => {
                ensure(at == 0, "system comes first")?;
                only(message, &["role", "content"])?;
                text(&message["content"], "system content")?;
            }
            "user" => user(message)?,
            "assistant" => open = assistant(message)?,
            "tool" => {
                only(message, &["role", "tool_call_id", "content"])?;
                text(&message["content"], "tool content")?;
                let id = id(&message["tool_call_id"], 40)?;
                let known = open.iter().position(|open| *open == id);
                let known = known.ok_or_else(|| format!("tool message for unknown call {id}"))?;
                open.remove(known);
            }
            other => return Err(format!("role {other}")),
        }
    }
    ensure(open.is_empty(), format!("calls without results: {open:?}"))
}

fn user(message: &Value) -> Checked {
    only(message, &["role", "content"])?;
    if message["content"].is_string() {
        return text(&message["content"], "user content").map(|_| ());
    }
    for part in list(&message["content"], "user content")? {
        match part["type"].as_str() {
            Some("text") => only(part, &["type", "text"])?,
            Some("image_url") => {
                only(part, &["type", "image_url"])?;
                data_url(&part["image_url"]["url"])?;
            }
            other => return Err(format!("part {other:?}")),
        }
    }
    Ok(())
}

fn assistant(message: &Value) -> Result<Vec<String>, String> {
    only(message, &["role", "content", "tool_calls"])?;
    let mut calls = Vec::new();
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        only(call, &["id", "type", "function"])?;
        only(&call["function"], &["name", "arguments"])?;
        name(&call["function"]["name"])?;
        let arguments = text(&call["function"]["arguments"], "arguments")?;
        let arguments: Result<Value, _> = serde_json::from_str(arguments);
        ensure(arguments.is_ok_and(|a| a.is_object()), "arguments are JSON")?;
        calls.push(id(&call["id"], 40)?);
    }
    ensure(
        !calls.is_empty() || message["content"].is_string(),
        "an assistant message says or calls something",
    )?;
    Ok(calls)
}
