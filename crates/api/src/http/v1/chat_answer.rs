//! OpenAI chat completions: writing responses.

use axum::response::sse::Event;
use manyhands_agent::TurnUsage;
use manyhands_core::ToolError;
use manyhands_llm::StopReason;
use serde_json::{Value, json};

use super::answer::{AnswerEnd, Format, FullAnswer, data};
use super::continuation::ClientCall;
use super::error_format;

/// A response in progress.
pub(super) struct Completion {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) model: String,
    /// Whether the last chunk contains the usage.
    pub(super) tells_usage: bool,
}

impl Completion {
    fn chunk(&self, delta: Value, reason: Option<&str>) -> Event {
        let choice =
            json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason });
        data(&self.bare(json!([choice]), Value::Null))
    }

    fn bare(&self, choices: Value, usage: Value) -> Value {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        if self.tells_usage {
            chunk["usage"] = usage;
        }
        chunk
    }
}

impl Format for Completion {
    fn whole(&mut self, said: FullAnswer) -> Value {
        let FullAnswer {
            text,
            thinking,
            end,
        } = said;
        let mut message = json!({ "role": "assistant", "content": text, "refusal": null });
        if !thinking.is_empty() {
            message["reasoning_content"] = json!(thinking);
        }
        if !end.calls.is_empty() {
            message["tool_calls"] = end.calls.iter().map(call).collect();
            if text.is_empty() {
                // In OpenAI's format a message of calls alone has no text at all.
                message["content"] = Value::Null;
            }
        }
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [{
                "index": 0,
                "message": message,
                "logprobs": null,
                "finish_reason": reason(&end),
            }],
            "usage": counted(end.usage),
        })
    }

    fn open(&mut self) -> Vec<Event> {
        vec![self.chunk(json!({ "role": "assistant", "content": "" }), None)]
    }

    fn text(&mut self, text: &str) -> Vec<Event> {
        vec![self.chunk(json!({ "content": text }), None)]
    }

    fn thinking(&mut self, text: &str) -> Vec<Event> {
        vec![self.chunk(json!({ "reasoning_content": text }), None)]
    }

    fn close(&mut self, end: AnswerEnd) -> Vec<Event> {
        let calls = end.calls.iter().enumerate().map(|(index, one)| {
            let mut call = call(one);
            call["index"] = json!(index);
            self.chunk(json!({ "tool_calls": [call] }), None)
        });
        let mut events: Vec<Event> = calls.collect();
        events.push(self.chunk(json!({}), Some(reason(&end))));
        if self.tells_usage {
            events.push(data(&self.bare(json!([]), counted(end.usage))));
        }
        // Clients read until this line.
        events.push(Event::default().data("[DONE]"));
        events
    }

    fn failed(&mut self, error: &ToolError) -> Vec<Event> {
        vec![data(&error_format::openai(error))]
    }
}

fn call(call: &ClientCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.text() },
    })
}

/// OpenAI's finish reason.
fn reason(end: &AnswerEnd) -> &'static str {
    match end.stop {
        _ if !end.calls.is_empty() => "tool_calls",
        StopReason::Length => "length",
        StopReason::End | StopReason::Calls => "stop",
    }
}

fn counted(usage: TurnUsage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    })
}
