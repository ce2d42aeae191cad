//! OpenAI Responses: encoding of requests.

use manyhands_core::Ids;
use serde_json::{Value, json};

use super::gpt::{self, Gpt};
use super::{
    Decoder, Prepared, Wire, WireRequest, joined_system, responses_reply, sample, schema, valid_id,
};
use crate::base_url::BaseUrl;
use crate::error::Fault;
use crate::message::{Block, Message, Opaque, ReplyBlock, ToolResult};
use crate::model::OfferedModel;
use crate::request::ToolChoice;

const VERSION: &str = "v1";
/// Maximum length of a call id.
const ID: usize = 64;

pub(super) struct Responses;

impl Wire for Responses {
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
        let body = body(target, &mut notes);
        Ok(Prepared {
            path: base.path(VERSION, "responses"),
            body,
            notes,
        })
    }

    fn decoder(&self, ids: &Ids) -> Box<dyn Decoder> {
        Box::new(responses_reply::ResponsesReader::new(ids.clone()))
    }

    fn lists(&self, base: &BaseUrl) -> Vec<String> {
        vec![base.path(VERSION, "models")]
    }

    fn read_list(&self, list: &Value) -> Option<Vec<OfferedModel>> {
        gpt::read_list(list)
    }
}

fn body(target: &WireRequest<'_>, notes: &mut Vec<String>) -> Value {
    let request = target.request;
    let gpt = Gpt::of(&target.model.model);
    let mut body = json!({
        "model": target.model.model,
        "stream": true,
        // We store the conversation ourselves.
        "store": false,
        "max_output_tokens": target.max_output,
        "input": input(target),
    });
    if let Some(system) = joined_system(&request.system, None) {
        body["instructions"] = json!(system);
    }
    if gpt.is_reasoning_model() {
        body["include"] = json!(["reasoning.encrypted_content"]);
        body["reasoning"] = json!({ "summary": "auto" });
    }
    if let Some(effort) = gpt.effort(request.thinking) {
        body["reasoning"]["effort"] = json!(effort);
    }
    if !request.tools.is_empty() {
        body["tools"] = tools(target);
        body["tool_choice"] = choice(&request.tool_choice);
    }
    if let Some(output) = &request.output {
        let format = match output.is_any_object() {
            true => json!({ "type": "json_object" }),
            false => json!({
                "type": "json_schema",
                "name": output.name,
                "schema": output.schema,
                "strict": schema::is_strict(&output.schema),
            }),
        };
        body["text"] = json!({ "format": format });
    }
    sample(&mut body, &request.sampling, notes, |field| match field {
        "parallel_tool_calls" if !request.tools.is_empty() => Some(field),
        "temperature" | "top_p" if !gpt.is_reasoning_model() => Some(field),
        _ => None,
    });
    if let Some(key) = &request.cache_key {
        body["prompt_cache_key"] = json!(key);
    }
    body
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => json!({ "type": "function", "name": name }),
    }
}

fn tools(target: &WireRequest<'_>) -> Value {
    let tools = target.request.tools.iter().map(|tool| {
        json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": schema::of_arguments(&tool.input_schema),
            "strict": false,
        })
    });
    tools.collect()
}

fn input(target: &WireRequest<'_>) -> Value {
    let mut items = Vec::new();
    for message in &target.messages {
        match message {
            Message::User { content } => {
                let content: Vec<Value> = content.iter().map(part_json).collect();
                items.push(json!({ "type": "message", "role": "user", "content": content }));
            }
            Message::Assistant { content } => {
                items.extend(content.iter().filter_map(|block| reply_item(target, block)));
            }
            Message::Tool { results } => items.extend(results.iter().map(result_of)),
        }
    }
    Value::Array(items)
}

fn part_json(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({ "type": "input_text", "text": text }),
        Block::Image { data, mime_type } => json!({
            "type": "input_image",
            "detail": "auto",
            "image_url": format!("data:{mime_type};base64,{data}"),
        }),
    }
}

fn reply_item(target: &WireRequest<'_>, block: &ReplyBlock) -> Option<Value> {
    match block {
        ReplyBlock::Text { text, .. } if text.trim().is_empty() => None,
        ReplyBlock::Text { text, .. } => Some(json!({
            "type": "message",
            "role": "assistant",
            "content": [{ "type": "output_text", "text": text }],
        })),
        ReplyBlock::Thinking { opaque, .. } => {
            let data = Opaque::for_model(opaque.as_ref(), target.model)?;
            Some(json!({
                "type": "reasoning",
                "summary": data["summary"],
                "encrypted_content": data["encrypted_content"],
            }))
        }
        ReplyBlock::Call(call) => Some(json!({
            "type": "function_call",
            "call_id": valid_id(&call.id, ID),
            "name": call.name,
            "arguments": call.arguments.as_object().to_string(),
        })),
    }
}

fn result_of(result: &ToolResult) -> Value {
    let mut blocks: Vec<Block> = result.content.clone();
    if result.is_error {
        blocks.insert(0, Block::text("(the call failed)"));
    }
    if blocks.is_empty() {
        blocks.push(Block::text("(nothing)"));
    }
    let pictures = blocks
        .iter()
        .any(|block| matches!(block, Block::Image { .. }));
    let output = if pictures {
        blocks.iter().map(part_json).collect()
    } else {
        let texts = blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Image { .. } => None,
        });
        json!(texts.collect::<Vec<_>>().join("\n"))
    };
    json!({
        "type": "function_call_output",
        "call_id": valid_id(&result.id, ID),
        "output": output,
    })
}
