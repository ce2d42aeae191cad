//! `POST /v1beta/models/{model}:streamGenerateContent?alt=sse`.

use serde_json::Value;

use super::{Checked, arguments_schema, ensure, list, name, only, post, text};
use crate::fake::ReceivedRequest;
use crate::support::KEY;

const CONFIG: [&str; 11] = [
    "maxOutputTokens",
    "temperature",
    "topP",
    "topK",
    "stopSequences",
    "seed",
    "presencePenalty",
    "frequencyPenalty",
    "thinkingConfig",
    "responseMimeType",
    "responseJsonSchema",
];

pub fn check(received: &ReceivedRequest) -> Checked {
    let target = received.target.as_str();
    let model = target
        .strip_prefix("/v1beta/models/")
        .and_then(|rest| rest.strip_suffix(":streamGenerateContent?alt=sse"))
        .ok_or_else(|| format!("target {target}"))?;
    post(received, target, &[("x-goog-api-key", KEY)])?;
    let body = &received.body;
    only(
        body,
        &[
            "contents",
            "generationConfig",
            "systemInstruction",
            "tools",
            "toolConfig",
        ],
    )?;
    let config = &body["generationConfig"];
    only(config, &CONFIG)?;
    if let Some(thinking) = config.get("thinkingConfig") {
        only(
            thinking,
            &["thinkingLevel", "thinkingBudget", "includeThoughts"],
        )?;
        let third = model.starts_with("gemini-3");
        ensure(
            thinking.get("thinkingLevel").is_some() == third,
            "thinkingLevel is for the third",
        )?;
        ensure(
            thinking.get("thinkingBudget").is_none() || !third,
            "not both",
        )?;
    }
    if let Some(system) = body.get("systemInstruction") {
        text(&system["parts"][0]["text"], "system text")?;
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        only(tool, &["functionDeclarations"])?;
        for function in list(&tool["functionDeclarations"], "functions")? {
            only(function, &["name", "description", "parametersJsonSchema"])?;
            name(&function["name"])?;
            arguments_schema(&function["parametersJsonSchema"])?;
        }
        let json = config.get("responseJsonSchema").is_some();
        ensure(
            !json || model.starts_with("gemini-3"),
            "function calling with JSON is unsupported",
        )?;
    }
    contents(list(&body["contents"], "contents")?, model)
}

fn contents(contents: &[Value], model: &str) -> Checked {
    ensure(
        contents
            .first()
            .is_some_and(|first| first["role"] == "user"),
        "the user speaks first",
    )?;
    ensure(
        contents.last().is_some_and(|last| last["role"] == "user"),
        "the user speaks last",
    )?;
    let mut open: Vec<(String, String)> = Vec::new();
    for content in contents {
        only(content, &["role", "parts"])?;
        let parts = list(&content["parts"], "parts")?;
        ensure(!parts.is_empty(), "parts must not be empty")?;
        let called = |part: &Value, field: &str| {
            let call = part.get(field)?;
            let word = |key: &str| call[key].as_str().unwrap_or("").to_owned();
            Some((word("id"), word("name")))
        };
        let answers: Vec<_> = parts
            .iter()
            .filter_map(|p| called(p, "functionResponse"))
            .collect();
        ensure(
            answers == open,
            format!(
                "the number of function response parts must equal the calls: {open:?} {answers:?}"
            ),
        )?;
        open = parts
            .iter()
            .filter_map(|p| called(p, "functionCall"))
            .collect();
        ensure(
            open.is_empty() || content["role"] == "model",
            "only the model calls",
        )?;
        for part in parts {
            self::part(part)?;
        }
        let first = parts.iter().find(|part| part.get("functionCall").is_some());
        let signed = first.is_none_or(|first| first.get("thoughtSignature").is_some());
        ensure(
            signed || !model.starts_with("gemini-3"),
            "function call is missing a thought_signature",
        )?;
    }
    ensure(open.is_empty(), format!("calls without response: {open:?}"))
}

fn part(part: &Value) -> Checked {
    only(
        part,
        &[
            "text",
            "inlineData",
            "functionCall",
            "functionResponse",
            "thoughtSignature",
        ],
    )?;
    if let Some(call) = part.get("functionCall") {
        only(call, &["id", "name", "args"])?;
        ensure(call["args"].is_object(), "args is an object")?;
    }
    if let Some(response) = part.get("functionResponse") {
        only(response, &["id", "name", "response", "parts"])?;
        ensure(response["response"].is_object(), "response is an object")?;
    }
    if let Some(data) = part.get("inlineData") {
        only(data, &["mimeType", "data"])?;
    }
    Ok(())
}
