//! OpenAI Chat Completions, also spoken by most other servers: encoding of requests.

use manyhands_core::Ids;
use serde_json::{Value, json};
use url::Url;

use super::gpt::{self, Gpt};
use super::{
    Decoder, Prepared, Wire, WireRequest, chat_reply, joined_system, sample, schema, valid_id,
};
use crate::base_url::BaseUrl;
use crate::error::Fault;
use crate::message::{Block, Message, ReplyBlock, ToolResult};
use crate::model::OfferedModel;
use crate::request::ToolChoice;

const VERSION: &str = "v1";
/// Maximum length of a call id.
const ID: usize = 40;

pub(super) struct ChatCompletions;

impl Wire for ChatCompletions {
    fn default_url(&self) -> &'static str {
        "https://api.openai.com/v1"
    }

    fn fixed_headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("content-type", "application/json")]
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("authorization", format!("Bearer {key}"))
    }

    fn prepare(&self, target: &WireRequest<'_>, base: &BaseUrl) -> Result<Prepared, Fault> {
        let mut notes = Vec::new();
        let body = body(target, is_openai(base.url()), &mut notes);
        Ok(Prepared {
            path: base.path(VERSION, "chat/completions"),
            body,
            notes,
        })
    }

    fn decoder(&self, ids: &Ids) -> Box<dyn Decoder> {
        Box::new(chat_reply::ChatReader::new(ids.clone()))
    }

    fn lists(&self, base: &BaseUrl) -> Vec<String> {
        vec![base.path(VERSION, "models"), "/api/tags".into()]
    }

    fn read_list(&self, list: &Value) -> Option<Vec<OfferedModel>> {
        gpt::read_list(list)
    }
}

/// Whether this is OpenAI itself. Other servers reject fields that only OpenAI has.
fn is_openai(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default();
    host == "api.openai.com" || host.ends_with(".openai.azure.com")
}

fn body(target: &WireRequest<'_>, official: bool, notes: &mut Vec<String>) -> Value {
    let request = target.request;
    let gpt = Gpt::of(&target.model.model);
    let mut body = json!({
        "model": target.model.model,
        "stream": true,
        "stream_options": { "include_usage": true },
        "messages": messages(target),
    });
    // Reasoning models reject `max_tokens`, other servers do not know its successor.
    let limit_field = if official || gpt.is_reasoning_model() {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    body[limit_field] = json!(target.max_output);
    if let Some(effort) = gpt.effort(request.thinking) {
        body["reasoning_effort"] = json!(effort);
    }
    if !request.tools.is_empty() {
        body["tools"] = tools(target);
        body["tool_choice"] = choice(&request.tool_choice);
    }
    if let Some(output) = &request.output {
        body["response_format"] = match output.is_any_object() {
            true => json!({ "type": "json_object" }),
            false => json!({
                "type": "json_schema",
                "json_schema": {
                    "name": output.name,
                    "schema": output.schema,
                    "strict": schema::is_strict(&output.schema),
                },
            }),
        };
    }
    sample(&mut body, &request.sampling, notes, |field| match field {
        "parallel_tool_calls" if request.tools.is_empty() => None,
        "top_k" if official => None, // an addition of other servers
        "parallel_tool_calls" | "seed" => Some(field),
        _ if gpt.is_reasoning_model() => None,
        _ => Some(field),
    });
    // Other servers may reject unknown fields.
    if let Some(key) = request.cache_key.as_ref().filter(|_| official) {
        body["prompt_cache_key"] = json!(key);
    }
    body
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
    }
}

fn tools(target: &WireRequest<'_>) -> Value {
    let tools = target.request.tools.iter().map(|tool| {
        json!({
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": schema::of_arguments(&tool.input_schema),
            },
        })
    });
    tools.collect()
}

fn messages(target: &WireRequest<'_>) -> Value {
    let mut written = Vec::new();
    if let Some(system) = joined_system(&target.request.system, None) {
        written.push(json!({ "role": "system", "content": system }));
    }
    // Blocks for the next user message.
    let mut waiting: Vec<Block> = Vec::new();
    for message in &target.messages {
        match message {
            Message::User { content } => waiting.extend(content.iter().cloned()),
            Message::Assistant { content } => {
                flush(&mut written, &mut waiting);
                written.push(reply_json(content));
            }
            Message::Tool { results } => {
                flush(&mut written, &mut waiting);
                for result in results {
                    written.push(result_of(result, &mut waiting));
                }
            }
        }
    }
    flush(&mut written, &mut waiting);
    Value::Array(written)
}

fn flush(written: &mut Vec<Value>, waiting: &mut Vec<Block>) {
    if !waiting.is_empty() {
        let content = content(&std::mem::take(waiting));
        written.push(json!({ "role": "user", "content": content }));
    }
}

/// Plain text if there are no images: many servers accept nothing else.
fn content(blocks: &[Block]) -> Value {
    let texts = blocks.iter().map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Image { .. } => None,
    });
    if let Some(texts) = texts.collect::<Option<Vec<&str>>>() {
        return json!(texts.join("\n\n"));
    }
    blocks.iter().map(part).collect()
}

fn part(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({ "type": "text", "text": text }),
        Block::Image { data, mime_type } => json!({
            "type": "image_url",
            "image_url": { "url": format!("data:{mime_type};base64,{data}") },
        }),
    }
}

fn reply_json(content: &[ReplyBlock]) -> Value {
    let mut text = String::new();
    let mut calls = Vec::new();
    for block in content {
        match block {
            ReplyBlock::Text { text: more, .. } => text.push_str(more),
            // This format cannot carry earlier thoughts.
            ReplyBlock::Thinking { .. } => {}
            ReplyBlock::Call(call) => calls.push(json!({
                "id": valid_id(&call.id, ID),
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.arguments.as_object().to_string(),
                },
            })),
        }
    }
    let text = (!text.is_empty()).then_some(text);
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

/// A result as text. Images go into the next user message: the format allows them only there.
fn result_of(result: &ToolResult, waiting: &mut Vec<Block>) -> Value {
    let mut text = Vec::new();
    if result.is_error {
        text.push("(the call failed)".to_owned());
    }
    let mut pictures = Vec::new();
    for block in &result.content {
        match block {
            Block::Text { text: more } => text.push(more.clone()),
            picture @ Block::Image { .. } => pictures.push(picture.clone()),
        }
    }
    let id = valid_id(&result.id, ID);
    if !pictures.is_empty() {
        let name = &result.name;
        text.push("(its pictures are in the next message)".to_owned());
        waiting.push(Block::text(format!("(pictures from {name}, call {id})")));
        waiting.append(&mut pictures);
    }
    if text.is_empty() {
        text.push("(nothing)".to_owned());
    }
    json!({ "role": "tool", "tool_call_id": id, "content": text.join("\n") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{ModelRequest, Sampling, Thinking};

    #[test]
    fn openai_itself_gets_the_fields_that_are_its_own() {
        let request = ModelRequest {
            messages: vec![Message::user("hi")],
            cache_key: Some("s-1".into()),
            thinking: Some(Thinking::Xhigh),
            sampling: Sampling {
                temperature: Some(0.5),
                ..Sampling::default()
            },
            ..ModelRequest::default()
        };
        let model = "openai/gpt-5.5".parse().unwrap();
        let target = WireRequest {
            messages: request.messages.clone(),
            request: &request,
            model: &model,
            max_output: 100,
        };
        let mut notes = Vec::new();
        let own = body(&target, true, &mut notes);
        assert_eq!(own["prompt_cache_key"], "s-1");
        assert_eq!(own["max_completion_tokens"], 100);
        assert_eq!(own["reasoning_effort"], "xhigh");
        assert_eq!(own.get("temperature"), None);
        assert_eq!(
            notes,
            ["temperature was omitted: not supported by this model here"]
        );
        let other = "here/qwen3".parse().unwrap();
        let target = WireRequest {
            model: &other,
            ..target
        };
        let foreign = body(&target, false, &mut Vec::new());
        assert_eq!(foreign.get("prompt_cache_key"), None);
        assert_eq!(foreign["max_tokens"], 100);
        assert_eq!(foreign["temperature"], 0.5);
        for (base, official) in [
            ("https://api.openai.com/v1", true),
            ("https://api.openai.com.evil.example/v1", false),
            ("http://127.0.0.1:11434/v1", false),
        ] {
            assert_eq!(is_openai(&base.parse().unwrap()), official, "{base}");
        }
    }
}
