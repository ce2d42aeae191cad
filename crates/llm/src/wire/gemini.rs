//! Google Gemini: encoding of requests.

use manyhands_core::Ids;
use serde_json::{Value, json};

use super::{
    Decoder, Prepared, Wire, WireRequest, gemini_reply, instruction, joined_system, sample, schema,
    valid_id,
};
use crate::base_url::BaseUrl;
use crate::error::{ErrorKind, Fault};
use crate::message::{Block, Message, Opaque, ReplyBlock, ToolResult};
use crate::model::OfferedModel;
use crate::request::{Thinking, ToolChoice};

const VERSION: &str = "v1beta";
/// Maximum length of a call id.
const ID: usize = 64;
/// Replaces the signature of a call that another model made.
const FOREIGN: &str = "skip_thought_signature_validator";

pub(super) struct Gemini;

impl Wire for Gemini {
    fn default_url(&self) -> &'static str {
        "https://generativelanguage.googleapis.com/v1beta"
    }

    fn fixed_headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("content-type", "application/json")]
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-goog-api-key", key.to_owned())
    }

    fn prepare(&self, target: &WireRequest<'_>, base: &BaseUrl) -> Result<Prepared, Fault> {
        let model = target.model.model.trim_start_matches("models/");
        let legal = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
        // The name becomes part of the path: it must not lead to another method.
        if !model.chars().all(legal) || model.starts_with('.') {
            let why = format!("{model:?} is no name of a Gemini model");
            return Err(Fault::new(ErrorKind::BadRequest, why));
        }
        let path = format!("models/{model}:streamGenerateContent?alt=sse");
        let mut notes = Vec::new();
        Ok(Prepared {
            path: base.path(VERSION, &path),
            body: body(target, &mut notes),
            notes,
        })
    }

    fn decoder(&self, ids: &Ids) -> Box<dyn Decoder> {
        Box::new(gemini_reply::GeminiReader::new(ids.clone()))
    }

    fn lists(&self, base: &BaseUrl) -> Vec<String> {
        vec![base.path(VERSION, "models?pageSize=1000")]
    }

    fn read_list(&self, list: &Value) -> Option<Vec<OfferedModel>> {
        let read = |entry: &Value| {
            let name = entry["name"].as_str()?;
            let talks = |method: &Value| method == "generateContent";
            let methods = entry["supportedGenerationMethods"].as_array();
            let listed = methods.is_none_or(|methods| methods.iter().any(talks));
            listed.then(|| OfferedModel {
                model: name.trim_start_matches("models/").to_owned(),
                title: entry["displayName"].as_str().map(str::to_owned),
                context_tokens: entry["inputTokenLimit"].as_u64(),
            })
        };
        Some(list["models"].as_array()?.iter().filter_map(read).collect())
    }
}

/// The major version; unknown names count as new.
fn version(model: &str) -> u32 {
    let (_, rest) = model.split_once("gemini-").unwrap_or(("", ""));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(3)
}

fn body(target: &WireRequest<'_>, notes: &mut Vec<String>) -> Value {
    let request = target.request;
    let version = version(&target.model.model);
    let mut config = json!({ "maxOutputTokens": target.max_output });
    if let Some(thinking) = thinking(request.thinking, &target.model.model, version) {
        config["thinkingConfig"] = thinking;
    }
    sample(&mut config, &request.sampling, notes, |field| match field {
        "temperature" | "seed" => Some(field),
        "top_p" => Some("topP"),
        "top_k" => Some("topK"),
        "stop" => Some("stopSequences"),
        "presence_penalty" => Some("presencePenalty"),
        "frequency_penalty" => Some("frequencyPenalty"),
        _ => None,
    });
    let mut more = None;
    if let Some(output) = &request.output {
        // Version 2 supports structured output or tools, not both.
        if version < 3 && !request.tools.is_empty() {
            more = Some(instruction(&output.schema));
            notes.push(
                "the reply's schema was requested in the prompt, because tools are offered too"
                    .into(),
            );
        } else {
            config["responseMimeType"] = json!("application/json");
            if !output.is_any_object() {
                config["responseJsonSchema"] = output.schema.clone();
            }
        }
    }
    let mut body = json!({ "contents": contents(target, version), "generationConfig": config });
    if let Some(system) = joined_system(&request.system, more) {
        body["systemInstruction"] = json!({ "parts": [{ "text": system }] });
    }
    if !request.tools.is_empty() {
        body["tools"] = json!([{ "functionDeclarations": tools(target) }]);
        body["toolConfig"] = json!({ "functionCallingConfig": choice(&request.tool_choice) });
    }
    body
}

fn thinking(level: Option<Thinking>, model: &str, version: u32) -> Option<Value> {
    let level = level?;
    if version >= 3 {
        let effort = match level {
            Thinking::None | Thinking::Minimal if model.contains("flash") => "minimal",
            Thinking::None | Thinking::Minimal | Thinking::Low => "low",
            Thinking::Medium if model.contains("gemini-3-pro") => "high",
            Thinking::Medium => "medium",
            Thinking::High | Thinking::Xhigh => "high",
        };
        return Some(json!({ "thinkingLevel": effort, "includeThoughts": true }));
    }
    // In version 2, only 2.5 thinks.
    if !model.contains("2.5") {
        return None;
    }
    let minimum = if model.contains("pro") { 128 } else { 0 };
    let budget = match level {
        Thinking::None => minimum,
        Thinking::Minimal => 512,
        Thinking::Low => 2_048,
        Thinking::Medium => 8_192,
        Thinking::High => 16_384,
        Thinking::Xhigh => 24_576,
    };
    Some(json!({ "thinkingBudget": budget, "includeThoughts": budget > 0 }))
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({ "mode": "AUTO" }),
        ToolChoice::None => json!({ "mode": "NONE" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Tool(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
    }
}

fn tools(target: &WireRequest<'_>) -> Value {
    let tools = target.request.tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": schema::of_arguments(&tool.input_schema),
        })
    });
    tools.collect()
}

fn contents(target: &WireRequest<'_>, version: u32) -> Value {
    let mut written: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &target.messages {
        let (role, parts) = match message {
            Message::User { content } => ("user", content.iter().map(part_json).collect()),
            Message::Assistant { content } => ("model", reply_parts(target, content, version)),
            Message::Tool { results } => ("user", results_of(results, version)),
        };
        // Results get their own message: the API counts them against the calls before.
        let results = |parts: &[Value]| {
            parts
                .iter()
                .any(|part| part.get("functionResponse").is_some())
        };
        match written.last_mut() {
            Some((last, all)) if *last == role && !results(all) && !results(&parts) => {
                all.extend(parts);
            }
            _ => written.push((role, parts)),
        }
    }
    let written = written.into_iter();
    written
        .map(|(role, parts)| json!({ "role": role, "parts": parts }))
        .collect()
}

fn part_json(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({ "text": text }),
        Block::Image { data, mime_type } => {
            json!({ "inlineData": { "mimeType": mime_type, "data": data } })
        }
    }
}

fn reply_parts(target: &WireRequest<'_>, content: &[ReplyBlock], version: u32) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut first_call = true;
    for block in content {
        let (mut part, opaque) = match block {
            ReplyBlock::Text { text, opaque } => (json!({ "text": text }), opaque),
            // Thoughts are summaries for people; the signatures carry what the model needs.
            ReplyBlock::Thinking { .. } => continue,
            ReplyBlock::Call(call) => {
                let part = json!({ "functionCall": {
                    "id": valid_id(&call.id, ID),
                    "name": call.name,
                    "args": call.arguments.as_object(),
                } });
                (part, &call.opaque)
            }
        };
        let call = matches!(block, ReplyBlock::Call(_));
        match Opaque::for_model(opaque.as_ref(), target.model) {
            Some(data) => part["thoughtSignature"] = data["signature"].clone(),
            None if call && first_call && version >= 3 => part["thoughtSignature"] = json!(FOREIGN),
            None => {}
        }
        first_call &= !call;
        parts.push(part);
    }
    parts
}

fn results_of(results: &[ToolResult], version: u32) -> Vec<Value> {
    let mut after = Vec::new();
    let mut parts = Vec::new();
    for result in results {
        let texts = result.content.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Image { .. } => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        let pictures = result.content.iter();
        let pictures = pictures.filter(|block| matches!(block, Block::Image { .. }));
        let mut pictures: Vec<Value> = pictures.map(part_json).collect();
        let key = if result.is_error { "error" } else { "output" };
        let mut response = json!({
            "id": valid_id(&result.id, ID),
            "name": result.name,
            "response": { key: text },
        });
        if version >= 3 && !pictures.is_empty() {
            response["parts"] = Value::Array(std::mem::take(&mut pictures));
        }
        parts.push(json!({ "functionResponse": response }));
        after.append(&mut pictures);
    }
    parts.extend(after);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generation_gets_its_own_thinking_options() {
        let target = |model: &str, level| thinking(Some(level), model, version(model));
        for (model, level, expect) in [
            (
                "gemini-3.8-flash",
                Thinking::None,
                json!({ "thinkingLevel": "minimal", "includeThoughts": true }),
            ),
            (
                "gemini-3.1-pro",
                Thinking::None,
                json!({ "thinkingLevel": "low", "includeThoughts": true }),
            ),
            (
                "gemini-3-pro-preview",
                Thinking::Medium,
                json!({ "thinkingLevel": "high", "includeThoughts": true }),
            ),
            (
                "gemini-2.5-flash",
                Thinking::None,
                json!({ "thinkingBudget": 0, "includeThoughts": false }),
            ),
            (
                "gemini-2.5-pro",
                Thinking::None,
                json!({ "thinkingBudget": 128, "includeThoughts": true }),
            ),
        ] {
            assert_eq!(target(model, level), Some(expect), "{model} {level}");
        }
        assert_eq!(target("gemini-2.0-flash", Thinking::High), None);
        assert_eq!(thinking(None, "gemini-3.8-flash", 3), None);
    }
}
