//! OpenAI responses: writing responses.

use std::collections::{BTreeMap, BTreeSet};

use axum::response::sse::Event;
use manyhands_agent::{ClientRequest, TurnUsage};
use manyhands_core::ToolError;
use manyhands_llm::{OutputSchema, StopReason, ToolChoice};
use serde_json::{Value, json};
use uuid::Uuid;

use super::answer::{AnswerEnd, Format, FullAnswer, named};
use super::continuation::ClientCall;
use super::error_format;

/// Request fields repeated in the response.
#[derive(Default)]
pub(super) struct EchoedRequest {
    pub(super) model: String,
    pub(super) instructions: Option<String>,
    pub(super) previous: Option<String>,
    pub(super) store: bool,
    pub(super) client: ClientRequest,
    pub(super) output: Option<Value>,
    pub(super) names: ToolNames,
}

/// The client's tool names, where models know them by another name or schema.
#[derive(Default)]
pub(super) struct ToolNames {
    /// Namespace and name, by the name given to models.
    spaced: BTreeMap<String, (String, String)>,
    /// Tools that take text.
    pub(super) custom: BTreeSet<String>,
}

impl ToolNames {
    /// The name given to models for a tool in a namespace.
    pub(super) fn spaced(&mut self, space: &str, name: &str) -> String {
        let whole = format!("{space}__{name}");
        let own = (space.to_owned(), name.to_owned());
        // Kept instead of split again later: both parts may contain the separator.
        self.spaced.insert(whole.clone(), own);
        whole
    }
}

/// A response in progress.
pub(super) struct ResponseAnswer {
    id: Uuid,
    created: i64,
    shown: EchoedRequest,
    /// Number of the next event.
    sequence: u64,
    /// Text sent so far.
    text: String,
}

impl ResponseAnswer {
    pub(super) fn new(id: Uuid, created: i64, shown: EchoedRequest) -> Self {
        Self {
            id,
            created,
            shown,
            sequence: 0,
            text: String::new(),
        }
    }

    fn response(&self, status: &str, output: Vec<Value>, usage: Option<TurnUsage>) -> Value {
        let EchoedRequest { client, .. } = &self.shown;
        let tools = client.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
                "strict": false,
            })
        });
        let incomplete = (status == "incomplete").then(|| json!({ "reason": "max_output_tokens" }));
        json!({
            "id": format!("resp_{}", self.id.simple()),
            "object": "response",
            "created_at": self.created,
            "status": status,
            "background": false,
            "error": null,
            "incomplete_details": incomplete,
            "instructions": self.shown.instructions,
            "max_output_tokens": client.max_tokens,
            "model": self.shown.model,
            "output": output,
            "parallel_tool_calls": client.sampling.parallel_calls.unwrap_or(true),
            "previous_response_id": self.shown.previous,
            "reasoning": { "effort": null, "summary": null },
            "store": self.shown.store,
            "temperature": client.sampling.temperature,
            "text": { "format": format_of(self.shown.output.as_ref()) },
            "tool_choice": choice(&client.tool_choice),
            "tools": tools.collect::<Vec<Value>>(),
            "top_p": client.sampling.top_p,
            "truncation": "disabled",
            "usage": usage.map(counted),
            "user": null,
            "metadata": {},
        })
    }

    fn message(&self, status: &str) -> Value {
        let content = match status {
            "in_progress" => json!([]),
            _ => json!([self.part()]),
        };
        json!({
            "id": self.item_id(),
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": content,
        })
    }

    fn item_id(&self) -> String {
        format!("msg_{}", self.id.simple())
    }

    fn part(&self) -> Value {
        json!({ "type": "output_text", "text": self.text, "annotations": [], "logprobs": [] })
    }

    /// All output as items.
    fn output(&self, calls: &[ClientCall]) -> Vec<Value> {
        let silent = self.text.is_empty() && !calls.is_empty();
        let message = (!silent).then(|| self.message("completed"));
        let calls = calls.iter().map(|call| self.item(call, true));
        message.into_iter().chain(calls).collect()
    }

    fn event(&mut self, kind: &str, mut value: Value) -> Event {
        value["type"] = json!(kind);
        value["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        named(kind, &value)
    }

    /// An event about the text.
    fn about_text(&mut self, kind: &str, mut value: Value) -> Event {
        value["item_id"] = json!(self.item_id());
        value["output_index"] = json!(0);
        value["content_index"] = json!(0);
        self.event(kind, value)
    }

    fn begin_text(&mut self) -> Vec<Event> {
        let item = self.message("in_progress");
        let added = json!({ "output_index": 0, "item": item });
        let part = json!({ "part": self.part() });
        vec![
            self.event("response.output_item.added", added),
            self.about_text("response.content_part.added", part),
        ]
    }

    fn end_text(&mut self) -> Vec<Event> {
        let text = json!({ "text": self.text, "logprobs": [] });
        let part = json!({ "part": self.part() });
        let item = json!({ "output_index": 0, "item": self.message("completed") });
        vec![
            self.about_text("response.output_text.done", text),
            self.about_text("response.content_part.done", part),
            self.event("response.output_item.done", item),
        ]
    }

    fn is_custom(&self, call: &ClientCall) -> bool {
        self.shown.names.custom.contains(&call.name)
    }

    /// A call as an item, with or without its arguments.
    fn item(&self, call: &ClientCall, whole: bool) -> Value {
        let status = if whole { "completed" } else { "in_progress" };
        let mut item = json!({
            "id": self.id_of(call),
            "status": status,
            "call_id": call.id,
            "name": call.name,
        });
        let text = if whole {
            self.text_of(call)
        } else {
            String::new()
        };
        if self.is_custom(call) {
            item["type"] = json!("custom_tool_call");
            item["input"] = json!(text);
            return item;
        }
        item["type"] = json!("function_call");
        item["arguments"] = json!(text);
        if let Some((space, name)) = self.shown.names.spaced.get(&call.name) {
            item["namespace"] = json!(space);
            item["name"] = json!(name);
        }
        item
    }

    /// The id that refers to an item.
    fn id_of(&self, call: &ClientCall) -> String {
        let prefix = if self.is_custom(call) { "ctc_" } else { "fc_" };
        call.id.replacen("call_", prefix, 1)
    }

    /// The arguments of a call.
    fn text_of(&self, call: &ClientCall) -> String {
        let text = call.text();
        match call.object()["input"].as_str() {
            Some(input) if self.is_custom(call) => input.to_owned(),
            _ => text,
        }
    }

    fn call(&mut self, index: usize, call: &ClientCall) -> Vec<Event> {
        let (text, id) = (self.text_of(call), self.id_of(call));
        let (kind, field) = match self.is_custom(call) {
            true => ("custom_tool_call_input", "input"),
            false => ("function_call_arguments", "arguments"),
        };
        let delta = json!({ "output_index": index, "item_id": id, "delta": text });
        let mut whole = json!({ "output_index": index, "item_id": id, "name": call.name });
        whole[field] = json!(text);
        let added = json!({ "output_index": index, "item": self.item(call, false) });
        let done = json!({ "output_index": index, "item": self.item(call, true) });
        vec![
            self.event("response.output_item.added", added),
            self.event(&format!("response.{kind}.delta"), delta),
            self.event(&format!("response.{kind}.done"), whole),
            self.event("response.output_item.done", done),
        ]
    }
}

impl Format for ResponseAnswer {
    fn whole(&mut self, said: FullAnswer) -> Value {
        self.text = said.text;
        let output = self.output(&said.end.calls);
        self.response(status(&said.end), output, Some(said.end.usage))
    }

    fn open(&mut self) -> Vec<Event> {
        let created = json!({ "response": self.response("in_progress", Vec::new(), None) });
        vec![
            self.event("response.created", created.clone()),
            self.event("response.in_progress", created),
        ]
    }

    fn text(&mut self, text: &str) -> Vec<Event> {
        let mut events = match self.text.is_empty() {
            true => self.begin_text(),
            false => Vec::new(),
        };
        self.text.push_str(text);
        let delta = json!({ "delta": text, "logprobs": [] });
        events.push(self.about_text("response.output_text.delta", delta));
        events
    }

    fn thinking(&mut self, _: &str) -> Vec<Event> {
        Vec::new() // this format has summaries of thoughts only
    }

    fn close(&mut self, end: AnswerEnd) -> Vec<Event> {
        let mut events = Vec::new();
        let has_text = !self.text.is_empty();
        // `output` below has an empty message in this case, so the stream has one too.
        if !has_text && end.calls.is_empty() {
            events.extend(self.begin_text());
        }
        if has_text || end.calls.is_empty() {
            events.extend(self.end_text());
        }
        for (at, call) in end.calls.iter().enumerate() {
            // The message, if there is one, has index 0.
            events.extend(self.call(at + usize::from(has_text), call));
        }
        let status = status(&end);
        let output = self.output(&end.calls);
        let whole = json!({ "response": self.response(status, output, Some(end.usage)) });
        events.push(self.event(&format!("response.{status}"), whole));
        events
    }

    fn failed(&mut self, error: &ToolError) -> Vec<Event> {
        let error = error_format::openai(error);
        let mut response = self.response("failed", Vec::new(), None);
        response["error"] = json!({
            "code": error["error"]["code"],
            "message": error["error"]["message"],
        });
        vec![self.event("response.failed", json!({ "response": response }))]
    }
}

fn status(end: &AnswerEnd) -> &'static str {
    match end.stop {
        StopReason::Length => "incomplete",
        StopReason::End | StopReason::Calls => "completed",
    }
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => json!({ "type": "function", "name": name }),
    }
}

fn format_of(schema: Option<&Value>) -> Value {
    match schema {
        None => json!({ "type": "text" }),
        Some(schema) if *schema == OutputSchema::any_object() => json!({ "type": "json_object" }),
        Some(schema) => json!({ "type": "json_schema", "name": "answer", "schema": schema }),
    }
}

fn counted(usage: TurnUsage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": usage.input_tokens + usage.output_tokens,
    })
}
