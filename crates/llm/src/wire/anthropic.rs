//! Anthropic Messages: encoding of requests.

use manyhands_core::Ids;
use serde_json::{Value, json};

use super::claude::{Case, Claude, ThinkingConfig};
use super::{
    Decoder, Prepared, Wire, WireRequest, anthropic_reply, instruction, sample, schema, system,
    valid_id,
};
use crate::base_url::BaseUrl;
use crate::error::Fault;
use crate::message::{Block, Message, Opaque, ReplyBlock, ToolResult};
use crate::model::OfferedModel;
use crate::request::{Sampling, Thinking, ToolChoice};

const VERSION: &str = "v1";
/// Maximum length of a call id.
const ID: usize = 64;

pub(super) struct Anthropic;

impl Wire for Anthropic {
    fn default_url(&self) -> &'static str {
        "https://api.anthropic.com"
    }

    fn version_always(&self) -> bool {
        true
    }

    fn fixed_headers(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("anthropic-version", "2023-06-01"),
            ("content-type", "application/json"),
        ]
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-api-key", key.to_owned())
    }

    fn prepare(&self, target: &WireRequest<'_>, base: &BaseUrl) -> Result<Prepared, Fault> {
        let mut notes = Vec::new();
        Ok(Prepared {
            path: base.path(VERSION, "messages"),
            body: body(target, &mut notes),
            notes,
        })
    }

    fn decoder(&self, _: &Ids) -> Box<dyn Decoder> {
        Box::new(anthropic_reply::AnthropicReader::default())
    }

    fn lists(&self, base: &BaseUrl) -> Vec<String> {
        vec![format!("{}?limit=1000", base.path(VERSION, "models"))]
    }

    fn read_list(&self, list: &Value) -> Option<Vec<OfferedModel>> {
        super::gpt::read_list(list)
    }
}

fn body(target: &WireRequest<'_>, notes: &mut Vec<String>) -> Value {
    let request = target.request;
    let claude = Claude::of(&target.model.model);
    let (choice, order) = choice(target, claude);
    // Thinking and a forced call exclude each other, so the choice is made first.
    let forced = matches!(choice["type"].as_str(), Some("any" | "tool"));
    let case = Case {
        forced,
        resumed: resumed(target),
        max_output: target.max_output,
    };
    let thought = claude.thinking_config(request.thinking, case);
    let is_thinking = thought.thinking.is_some();
    if request.thinking.is_some_and(|level| level > Thinking::None) && !is_thinking {
        notes.push("thinking was omitted: not supported by this model here".into());
    }
    let mut body = json!({
        "model": target.model.model,
        "max_tokens": target.max_output,
        "stream": true,
        "messages": messages(target, is_thinking),
    });
    let format = format(target, claude);
    let schema_prompt = request.output.as_ref().filter(|_| format.is_none());
    let more = [
        order,
        schema_prompt.map(|output| instruction(&output.schema)),
    ];
    let system = system_blocks(target, more.into_iter().flatten().collect());
    set(
        &mut body,
        "system",
        (!system.is_empty()).then_some(Value::Array(system)),
    );
    if !request.tools.is_empty() {
        body["tools"] = tools(target);
        body["tool_choice"] = choice;
        if request.sampling.parallel_calls == Some(false) && request.tool_choice != ToolChoice::None
        {
            body["tool_choice"]["disable_parallel_tool_use"] = json!(true);
        }
    }
    set(&mut body, "output_config", output_config(&thought, format));
    set(&mut body, "thinking", thought.thinking);
    let freely = !is_thinking && claude.takes_temperature();
    // `parallel_tool_calls` = false is part of `tool_choice`; true is the default.
    let sampling = Sampling {
        parallel_calls: None,
        ..request.sampling.clone()
    };
    sample(&mut body, &sampling, notes, |field| match field {
        "stop" => Some("stop_sequences"),
        "temperature" | "top_k" if freely => Some(field),
        // Newer models accept only one of the two.
        "top_p" if freely && sampling.temperature.is_none() => Some(field),
        _ => None,
    });
    body
}

fn set(body: &mut Value, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        body[key] = value;
    }
}

fn output_config(thought: &ThinkingConfig, format: Option<Value>) -> Option<Value> {
    let mut config = json!({});
    set(&mut config, "effort", thought.effort.map(Value::from));
    set(&mut config, "format", format);
    (config != json!({})).then_some(config)
}

/// The schema of the reply, if the model can enforce it.
fn format(target: &WireRequest<'_>, claude: Claude) -> Option<Value> {
    let output = target.request.output.as_ref()?;
    // A closed schema without properties would allow only an empty object.
    let able = claude.structured() && !output.is_any_object();
    let schema = schema::closed(&output.schema).filter(|_| able)?;
    Some(json!({ "type": "json_schema", "schema": schema }))
}

/// The field `tool_choice`, and an instruction for what it cannot express.
fn choice(target: &WireRequest<'_>, claude: Claude) -> (Value, Option<String>) {
    let auto = || json!({ "type": "auto" });
    let refuses = claude.refuses_force();
    match &target.request.tool_choice {
        ToolChoice::Auto => (auto(), None),
        ToolChoice::None => (json!({ "type": "none" }), None),
        ToolChoice::Required if refuses => (
            auto(),
            Some("Answer this message by calling one of the tools.".into()),
        ),
        ToolChoice::Tool(name) if refuses => (
            auto(),
            Some(format!("Answer this message by calling the tool {name}.")),
        ),
        ToolChoice::Required => (json!({ "type": "any" }), None),
        ToolChoice::Tool(name) => (json!({ "type": "tool", "name": name }), None),
    }
}

/// Whether a reply is being continued whose thoughts this model cannot read.
fn resumed(target: &WireRequest<'_>) -> bool {
    let [.., Message::Assistant { content }, Message::Tool { .. }] = &target.messages[..] else {
        return false;
    };
    let own = |block: &ReplyBlock| match block {
        ReplyBlock::Thinking { opaque, .. } => {
            Opaque::for_model(opaque.as_ref(), target.model).is_some()
        }
        _ => false,
    };
    !content.first().is_some_and(own)
}

fn system_blocks(target: &WireRequest<'_>, more: Vec<String>) -> Vec<Value> {
    let (stable, changing) = system(&target.request.system);
    let mut blocks = Vec::new();
    if !stable.is_empty() {
        blocks.push(cached(json!({ "type": "text", "text": stable })));
    }
    let changing = std::iter::once(changing).chain(more);
    let changing: Vec<String> = changing.filter(|text| !text.is_empty()).collect();
    if !changing.is_empty() {
        blocks.push(json!({ "type": "text", "text": changing.join("\n\n") }));
    }
    blocks
}

/// Marks `block` as the end of a cacheable prefix.
fn cached(mut block: Value) -> Value {
    block["cache_control"] = json!({ "type": "ephemeral" });
    block
}

fn tools(target: &WireRequest<'_>) -> Value {
    let tools = target.request.tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "input_schema": schema::of_arguments(&tool.input_schema),
        })
    });
    let mut tools: Vec<Value> = tools.collect();
    // Tools precede the system prompt, so the prompt's cache mark covers them if it has one.
    if system(&target.request.system).0.is_empty()
        && let Some(last) = tools.last_mut()
    {
        *last = cached(last.take());
    }
    Value::Array(tools)
}

fn messages(target: &WireRequest<'_>, is_thinking: bool) -> Value {
    // Thoughts of earlier turns are ignored by the API, and their signatures are bound to a history
    // that may have been compacted since.
    let last_user = target
        .messages
        .iter()
        .rposition(|message| matches!(message, Message::User { .. }));
    let mut written: Vec<(&str, Vec<Value>)> = Vec::new();
    for (at, message) in target.messages.iter().enumerate() {
        let (role, blocks) = match message {
            Message::User { content } => ("user", content.iter().map(block_json).collect()),
            Message::Assistant { content } => {
                // Thoughts are required within the current turn and useless before it.
                let thoughts = is_thinking && last_user.is_none_or(|user| at > user);
                ("assistant", said(target, content, thoughts))
            }
            Message::Tool { results } => ("user", results_of(results)),
        };
        match written.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            _ => written.push((role, blocks)),
        }
    }
    if let Some(last) = written.last_mut().and_then(|(_, blocks)| blocks.last_mut()) {
        *last = cached(last.take());
    }
    let written = written.into_iter();
    written
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect()
}

fn block_json(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({ "type": "text", "text": text }),
        Block::Image { data, mime_type } => json!({
            "type": "image",
            "source": { "type": "base64", "media_type": mime_type, "data": data },
        }),
    }
}

fn said(target: &WireRequest<'_>, content: &[ReplyBlock], thoughts: bool) -> Vec<Value> {
    let write = |block: &ReplyBlock| match block {
        ReplyBlock::Text { text, .. } => {
            let full = !text.trim().is_empty();
            full.then(|| json!({ "type": "text", "text": text }))
        }
        ReplyBlock::Thinking { text, opaque } => {
            let data = Opaque::for_model(opaque.as_ref(), target.model).filter(|_| thoughts)?;
            if let Some(redacted) = data.get("redacted") {
                return Some(json!({ "type": "redacted_thinking", "data": redacted }));
            }
            Some(json!({ "type": "thinking", "thinking": text, "signature": data["signature"] }))
        }
        ReplyBlock::Call(call) => Some(json!({
            "type": "tool_use",
            "id": valid_id(&call.id, ID),
            "name": call.name,
            "input": call.arguments.as_object(),
        })),
    };
    content.iter().filter_map(write).collect()
}

/// Results must come first in their message. A failed one may contain only text, so its images follow.
fn results_of(results: &[ToolResult]) -> Vec<Value> {
    let mut after = Vec::new();
    let mut blocks = Vec::new();
    for result in results {
        let (inside, outside): (Vec<&Block>, Vec<&Block>) = result
            .content
            .iter()
            .partition(|block| !result.is_error || matches!(block, Block::Text { .. }));
        let mut inside: Vec<Value> = inside.into_iter().map(block_json).collect();
        // The API rejects empty text blocks.
        inside.retain(|block| block["text"] != "");
        if inside.is_empty() {
            inside.push(json!({ "type": "text", "text": "(nothing)" }));
        }
        let mut block = json!({
            "type": "tool_result",
            "tool_use_id": valid_id(&result.id, ID),
            "content": inside,
        });
        if result.is_error {
            block["is_error"] = json!(true);
        }
        blocks.push(block);
        after.extend(outside.into_iter().map(block_json));
    }
    blocks.extend(after);
    blocks
}
