//! Anthropic messages: writing responses.

use axum::response::sse::Event;
use manyhands_agent::TurnUsage;
use manyhands_core::ToolError;
use manyhands_llm::StopReason;
use serde_json::{Value, json};

use super::answer::{AnswerEnd, Format, FullAnswer, named};
use super::continuation::ClientCall;
use super::error_format;

/// Placeholder signature of reasoning: clients require one, and reasoning sent back is ignored.
const SIGNATURE: &str = "manyhands";

/// A response in progress.
pub(super) struct MessageAnswer {
    id: String,
    model: String,
    /// Whether the client asked for reasoning.
    thinks: bool,
    /// Index of the next block.
    next: usize,
    /// The current block.
    open: Option<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

impl MessageAnswer {
    pub(super) fn new(id: String, model: String, thinks: bool) -> Self {
        Self {
            id,
            model,
            thinks,
            next: 0,
            open: None,
        }
    }

    fn message(&self, content: Value, stop: Option<&str>, usage: TurnUsage) -> Value {
        json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": null,
            "usage": counted(usage),
        })
    }

    /// Ends the current block.
    fn end_block(&mut self) -> Vec<Event> {
        let Some(kind) = self.open.take() else {
            return Vec::new();
        };
        let mut events = Vec::new();
        if kind == Kind::Thinking {
            let signature = json!({ "type": "signature_delta", "signature": SIGNATURE });
            // Before the end of the block, where clients read it.
            events.push(self.delta(signature));
        }
        let stop = json!({ "type": "content_block_stop", "index": self.next });
        events.push(named("content_block_stop", &stop));
        self.next += 1;
        events
    }

    fn start(&self, block: Value) -> Event {
        let start =
            json!({ "type": "content_block_start", "index": self.next, "content_block": block });
        named("content_block_start", &start)
    }

    fn delta(&self, delta: Value) -> Event {
        let delta = json!({ "type": "content_block_delta", "index": self.next, "delta": delta });
        named("content_block_delta", &delta)
    }

    fn more(&mut self, kind: Kind, block: Value, delta: Value) -> Vec<Event> {
        let mut events = Vec::new();
        if self.open != Some(kind) {
            events = self.end_block();
            events.push(self.start(block));
            self.open = Some(kind);
        }
        events.push(self.delta(delta));
        events
    }
}

impl Format for MessageAnswer {
    fn whole(&mut self, said: FullAnswer) -> Value {
        let FullAnswer {
            text,
            thinking,
            end,
        } = said;
        let mut content = Vec::new();
        if self.thinks && !thinking.is_empty() {
            content
                .push(json!({ "type": "thinking", "thinking": thinking, "signature": SIGNATURE }));
        }
        if !text.is_empty() {
            content.push(json!({ "type": "text", "text": text }));
        }
        content.extend(end.calls.iter().map(|call| use_of(call, call.object())));
        self.message(Value::Array(content), Some(reason(&end)), end.usage)
    }

    fn open(&mut self) -> Vec<Event> {
        let message = self.message(json!([]), None, TurnUsage::default());
        let start = json!({ "type": "message_start", "message": message });
        vec![named("message_start", &start)]
    }

    fn text(&mut self, text: &str) -> Vec<Event> {
        let block = json!({ "type": "text", "text": "" });
        let delta = json!({ "type": "text_delta", "text": text });
        self.more(Kind::Text, block, delta)
    }

    fn thinking(&mut self, text: &str) -> Vec<Event> {
        if !self.thinks {
            return Vec::new();
        }
        let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
        let delta = json!({ "type": "thinking_delta", "thinking": text });
        self.more(Kind::Thinking, block, delta)
    }

    fn close(&mut self, end: AnswerEnd) -> Vec<Event> {
        let mut events = self.end_block();
        for call in &end.calls {
            events.push(self.start(use_of(call, json!({}))));
            let input = call.object().to_string();
            events.push(self.delta(json!({ "type": "input_json_delta", "partial_json": input })));
            let stop = json!({ "type": "content_block_stop", "index": self.next });
            events.push(named("content_block_stop", &stop));
            self.next += 1;
        }
        let delta = json!({
            "type": "message_delta",
            "delta": { "stop_reason": reason(&end), "stop_sequence": null },
            "usage": counted(end.usage),
        });
        events.push(named("message_delta", &delta));
        events.push(named("message_stop", &json!({ "type": "message_stop" })));
        events
    }

    fn failed(&mut self, error: &ToolError) -> Vec<Event> {
        vec![named("error", &error_format::anthropic(error))]
    }
}

fn use_of(call: &ClientCall, input: Value) -> Value {
    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
}

/// Anthropic's stop reason.
fn reason(end: &AnswerEnd) -> &'static str {
    match end.stop {
        _ if !end.calls.is_empty() => "tool_use",
        StopReason::Length => "max_tokens",
        StopReason::End | StopReason::Calls => "end_turn",
    }
}

fn counted(usage: TurnUsage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    })
}
