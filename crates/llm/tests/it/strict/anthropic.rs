//! `POST /v1/messages`.

use serde_json::Value;

use super::{Checked, arguments_schema, ensure, id, list, name, only, post, text};
use crate::fake::ReceivedRequest;
use crate::support::KEY;

const FIELDS: [&str; 12] = [
    "model",
    "max_tokens",
    "stream",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "temperature",
    "top_k",
    "stop_sequences",
];

pub fn check(received: &ReceivedRequest) -> Checked {
    let headers = [("x-api-key", KEY), ("anthropic-version", "2023-06-01")];
    post(received, "/v1/messages", &headers)?;
    let body = &received.body;
    only(body, &FIELDS)?;
    ensure(body["stream"] == true, "stream")?;
    ensure(
        body["max_tokens"].as_u64().is_some_and(|n| n > 0),
        "max_tokens",
    )?;
    let marks = body.to_string().matches("\"cache_control\"").count();
    ensure(marks <= 4, "at most four blocks with cache_control")?;
    if let Some(system) = body.get("system") {
        for block in list(system, "system")? {
            only(block, &["type", "text", "cache_control"])?;
            text(&block["text"], "system text")?;
        }
    }
    if let Some(tools) = body.get("tools") {
        for tool in list(tools, "tools")? {
            only(
                tool,
                &["name", "description", "input_schema", "cache_control"],
            )?;
            name(&tool["name"])?;
            arguments_schema(&tool["input_schema"])?;
        }
    }
    thinking(body)?;
    messages(body)
}

/// What the models of the last two years take.
fn thinking(body: &Value) -> Checked {
    let model = text(&body["model"], "model")?;
    let kind = body["thinking"]["type"].as_str();
    let forced = matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool"));
    let on = matches!(kind, Some("enabled" | "adaptive"));
    ensure(!(on && forced), "thinking does not go with forced tool use")?;
    ensure(
        !(on && body.get("temperature").is_some()),
        "temperature with thinking",
    )?;
    let always = model.contains("opus-5-5") || model.contains("fable");
    let newest = always || model.contains("sonnet-5-5");
    ensure(!(newest && forced), "forced tool use is not supported")?;
    let new = newest
        || ["opus-5", "opus-4-8", "opus-4-7", "sonnet-5"]
            .iter()
            .any(|m| model.contains(m));
    ensure(
        !(new && body.get("temperature").is_some()),
        "temperature is not supported",
    )?;
    match kind {
        None => Ok(()),
        Some("adaptive") => only(&body["thinking"], &["type", "display"]),
        Some("disabled") => ensure(!newest, "thinking.type.disabled is not supported"),
        Some("between_tools") => ensure(model.contains("sonnet-5-5"), "between_tools"),
        Some("enabled") => {
            ensure(!new, "thinking.type.enabled is not supported")?;
            let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
            let max_length = body["max_tokens"].as_u64().unwrap_or(0);
            ensure(budget >= 1_024 && budget < max_length, "budget_tokens")?;
            starts_with_thinking(body)
        }
        Some(other) => Err(format!("thinking {other}")),
    }
}

/// With a budget, a reply that is continued must begin with its thoughts.
fn starts_with_thinking(body: &Value) -> Checked {
    let messages = list(&body["messages"], "messages")?;
    let [.., reply, results] = &messages[..] else {
        return Ok(());
    };
    if results["content"][0]["type"] != "tool_result" {
        return Ok(());
    }
    let first = reply["content"][0]["type"].as_str().unwrap_or("");
    ensure(
        first.ends_with("thinking"),
        format!("expected thinking, but found {first}"),
    )
}

fn messages(body: &Value) -> Checked {
    let messages = list(&body["messages"], "messages")?;
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        only(message, &["role", "content"])?;
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        ensure(
            message["role"] == expected,
            format!("roles must alternate at {at}"),
        )?;
        let content = list(&message["content"], "content")?;
        ensure(!content.is_empty(), "content must not be empty")?;
        open = if expected == "user" {
            user(content, &open)?;
            Vec::new()
        } else {
            assistant(content)?
        };
    }
    ensure(
        messages.len() % 2 == 1,
        "the last message must be the user's",
    )
}

fn user(content: &[Value], open: &[String]) -> Checked {
    let mut answered = Vec::new();
    for (at, block) in content.iter().enumerate() {
        if block["type"] == "tool_result" {
            ensure(answered.len() == at, "tool_result blocks come first")?;
            only(
                block,
                &[
                    "type",
                    "tool_use_id",
                    "content",
                    "is_error",
                    "cache_control",
                ],
            )?;
            answered.push(id(&block["tool_use_id"], 64)?);
            for inner in list(&block["content"], "tool_result content")? {
                shown(inner)?;
                let plain = block.get("is_error").is_none() || inner["type"] == "text";
                ensure(plain, "all content must be text if is_error is true")?;
            }
        } else {
            shown(block)?;
        }
    }
    ensure(
        answered == open,
        format!("tool_use {open:?} answered by {answered:?}"),
    )
}

fn shown(block: &Value) -> Checked {
    match block["type"].as_str() {
        Some("text") => {
            only(block, &["type", "text", "cache_control"])?;
            text(&block["text"], "text").map(|_| ())
        }
        Some("image") => {
            only(block, &["type", "source", "cache_control"])?;
            only(&block["source"], &["type", "media_type", "data"])?;
            ensure(block["source"]["type"] == "base64", "source")
        }
        other => Err(format!("block {other:?}")),
    }
}

fn assistant(content: &[Value]) -> Result<Vec<String>, String> {
    let mut calls = Vec::new();
    for block in content {
        match block["type"].as_str() {
            Some("text") => only(block, &["type", "text"])?,
            Some("thinking") => {
                only(block, &["type", "thinking", "signature"])?;
                let signature = text(&block["signature"], "signature")?;
                ensure(
                    signature.starts_with("sig-"),
                    "Invalid signature in thinking block",
                )?;
            }
            Some("redacted_thinking") => only(block, &["type", "data"])?,
            Some("tool_use") => {
                only(block, &["type", "id", "name", "input"])?;
                name(&block["name"])?;
                ensure(block["input"].is_object(), "input should be an object")?;
                calls.push(id(&block["id"], 64)?);
            }
            other => return Err(format!("block {other:?}")),
        }
    }
    Ok(calls)
}
