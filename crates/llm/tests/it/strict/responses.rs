//! `POST /v1/responses`.

use serde_json::Value;

use super::{Checked, arguments_schema, data_url, ensure, id, list, name, only, post, text};
use crate::fake::ReceivedRequest;
use crate::support::KEY;

const FIELDS: [&str; 15] = [
    "model",
    "stream",
    "store",
    "max_output_tokens",
    "input",
    "instructions",
    "include",
    "reasoning",
    "tools",
    "tool_choice",
    "text",
    "temperature",
    "top_p",
    "parallel_tool_calls",
    "prompt_cache_key",
];

pub fn check(received: &ReceivedRequest) -> Checked {
    let bearer = format!("Bearer {KEY}");
    post(received, "/v1/responses", &[("authorization", &bearer)])?;
    let body = &received.body;
    only(body, &FIELDS)?;
    ensure(
        body["stream"] == true && body["store"] == false,
        "stream, store",
    )?;
    ensure(
        body["max_output_tokens"].as_u64().is_some_and(|n| n >= 16),
        "max_output_tokens",
    )?;
    let is_reasoning = text(&body["model"], "model")?.starts_with("gpt-5");
    ensure(
        !(is_reasoning && body.get("temperature").is_some()),
        "Unsupported parameter: temperature",
    )?;
    if let Some(reasoning) = body.get("reasoning") {
        only(reasoning, &["effort", "summary"])?;
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        only(
            tool,
            &["type", "name", "description", "parameters", "strict"],
        )?;
        name(&tool["name"])?;
        arguments_schema(&tool["parameters"])?;
    }
    if let Some(format) = body.get("text") {
        only(format, &["format"])?;
        only(&format["format"], &["type", "name", "schema", "strict"])?;
    }
    items(list(&body["input"], "input")?)
}

fn items(items: &[Value]) -> Checked {
    let mut open: Vec<String> = Vec::new();
    let mut has_reasoning = false;
    for item in items {
        let kind = text(&item["type"], "type")?;
        let follows = matches!(kind, "function_call") || item["role"] == "assistant";
        ensure(
            !has_reasoning || follows,
            "reasoning without its required following item",
        )?;
        has_reasoning = false;
        match kind {
            "message" => message(item)?,
            "reasoning" => {
                only(item, &["type", "summary", "encrypted_content"])?;
                list(&item["summary"], "summary")?;
                let secret = text(&item["encrypted_content"], "encrypted_content")?;
                ensure(
                    secret.starts_with("enc-"),
                    "The encrypted content could not be verified",
                )?;
                has_reasoning = true;
            }
            "function_call" => {
                only(item, &["type", "call_id", "name", "arguments"])?;
                name(&item["name"])?;
                let arguments = text(&item["arguments"], "arguments")?;
                let arguments: Result<Value, _> = serde_json::from_str(arguments);
                ensure(arguments.is_ok(), "arguments are JSON")?;
                open.push(id(&item["call_id"], 64)?);
            }
            "function_call_output" => {
                only(item, &["type", "call_id", "output"])?;
                let id = id(&item["call_id"], 64)?;
                let known = open.iter().position(|open| *open == id);
                let known = known.ok_or_else(|| format!("No tool call found for {id}"))?;
                open.remove(known);
                if !item["output"].is_string() {
                    list(&item["output"], "output")?.iter().try_for_each(part)?;
                }
            }
            other => return Err(format!("item {other}")),
        }
    }
    ensure(
        !has_reasoning,
        "reasoning without its required following item",
    )?;
    ensure(
        open.is_empty(),
        format!("No tool output found for {open:?}"),
    )
}

fn message(item: &Value) -> Checked {
    only(item, &["type", "role", "content"])?;
    let content = list(&item["content"], "content")?;
    ensure(!content.is_empty(), "content must not be empty")?;
    if item["role"] == "assistant" {
        return content.iter().try_for_each(|part| {
            only(part, &["type", "text"])?;
            ensure(
                part["type"] == "output_text",
                "an assistant says output_text",
            )
        });
    }
    content.iter().try_for_each(part)
}

fn part(part: &Value) -> Checked {
    match part["type"].as_str() {
        Some("input_text") => only(part, &["type", "text"]),
        Some("input_image") => {
            only(part, &["type", "image_url", "detail"])?;
            data_url(&part["image_url"])
        }
        other => Err(format!("part {other:?}")),
    }
}
