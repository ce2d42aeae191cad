//! What all tests here share.

use std::sync::Arc;

use async_trait::async_trait;
use manyhands_core::{Clock, Ids, ManualClock, Secret, SeededEntropy, Timestamp};
use manyhands_llm::settings::{ModelSettings, ProviderKind};
use manyhands_llm::{
    Budget, Delta, ModelError, ModelRequest, Models, NoBudget, Outside, Reply, Secrets,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fake::{Fake, ReceivedRequest};
use crate::strict;

pub const KEY: &str = "sk-canary-key";

/// A vault with one key in it.
pub struct Vault;

#[async_trait]
impl Secrets for Vault {
    async fn secret(&self, name: &str) -> Result<Option<Secret>, String> {
        Ok((name == "key").then(|| Secret::new(KEY)))
    }
}

pub fn outside(budget: Arc<dyn Budget>) -> Outside {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(Timestamp(1_700_000_000_000)));
    Outside {
        secrets: Arc::new(Vault),
        budget,
        ids: Ids::new(Arc::clone(&clock), Arc::new(SeededEntropy::new(7))),
        clock,
    }
}

pub fn models(settings: Value) -> Models {
    models_with(settings, Arc::new(NoBudget))
}

pub fn models_with(settings: Value, budget: Arc<dyn Budget>) -> Models {
    let settings: ModelSettings = serde_json::from_value(settings).unwrap();
    let models = Models::new(&settings, outside(budget));
    assert_eq!(models.problems(), [] as [&str; 0]);
    models
}

/// A provider of the kind at a fake server.
pub fn provider(kind: ProviderKind, fake: &Fake) -> Value {
    let kind = serde_json::to_value(kind).unwrap();
    json!({ "kind": kind, "base_url": fake.url(), "api_key": "vault:key" })
}

/// What was heard of a reply, and how it ended.
pub async fn ask(
    models: &Models,
    request: &ModelRequest,
) -> (Result<Reply, ModelError>, Vec<Delta>) {
    let mut received = Vec::new();
    let cancel = CancellationToken::new();
    let reply = models
        .reply(request, &mut |delta| received.push(delta), &cancel)
        .await;
    (reply, received)
}

pub fn user(text: &str) -> ModelRequest {
    ModelRequest {
        messages: vec![manyhands_llm::Message::user(text)],
        ..ModelRequest::default()
    }
}

/// One format: how it is set up, checked and answered.
pub struct Format {
    pub kind: ProviderKind,
    pub model: &'static str,
    pub check: fn(&ReceivedRequest) -> Result<(), String>,
    /// A thought, a text, two calls and the usage.
    pub rich: String,
    /// "Hello" in two pieces.
    pub short: String,
}

fn events(list: &[Value]) -> String {
    let event = |value: &Value| match value["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {value}\n\n"),
        None => format!("data: {value}\n\n"),
    };
    list.iter().map(event).collect()
}

pub fn formats() -> [Format; 4] {
    [anthropic(), chat(), responses(), gemini()]
}

pub fn anthropic() -> Format {
    let start = |input: Value| json!({ "type": "message_start", "message": { "id": "m", "role": "assistant", "content": [], "usage": input } });
    let block = |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let delta = |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let stop = |index: u64| json!({ "type": "content_block_stop", "index": index });
    let end = |reason: &str, output: u64| {
        [
            json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": output } }),
            json!({ "type": "message_stop" }),
        ]
    };
    let mut rich = vec![
        start(
            json!({ "input_tokens": 100, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 50, "output_tokens": 1 }),
        ),
        json!({ "type": "ping" }),
        block(
            0,
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
        ),
        delta(
            0,
            json!({ "type": "thinking_delta", "thinking": "Let me " }),
        ),
        delta(0, json!({ "type": "thinking_delta", "thinking": "see." })),
        delta(
            0,
            json!({ "type": "signature_delta", "signature": "sig-1" }),
        ),
        stop(0),
        block(1, json!({ "type": "text", "text": "" })),
        delta(1, json!({ "type": "text_delta", "text": "Looking " })),
        delta(
            1,
            json!({ "type": "text_delta", "text": "it up \u{1f980}" }),
        ),
        stop(1),
        block(
            2,
            json!({ "type": "tool_use", "id": "toolu_1", "name": "weather", "input": {} }),
        ),
        delta(
            2,
            json!({ "type": "input_json_delta", "partial_json": "{\"city\": " }),
        ),
        delta(
            2,
            json!({ "type": "input_json_delta", "partial_json": "\"Oslo\"}" }),
        ),
        stop(2),
        block(
            3,
            json!({ "type": "tool_use", "id": "toolu_2", "name": "weather", "input": {} }),
        ),
        delta(
            3,
            json!({ "type": "input_json_delta", "partial_json": "{\"city\": Bergen}" }),
        ),
        stop(3),
    ];
    rich.extend(end("tool_use", 40));
    let mut short = vec![
        start(json!({ "input_tokens": 9, "output_tokens": 1 })),
        block(0, json!({ "type": "text", "text": "" })),
        delta(0, json!({ "type": "text_delta", "text": "Hel" })),
        delta(0, json!({ "type": "text_delta", "text": "lo" })),
        stop(0),
    ];
    short.extend(end("end_turn", 3));
    Format {
        kind: ProviderKind::Anthropic,
        model: "claude-opus-5",
        check: strict::anthropic::check,
        rich: events(&rich),
        short: events(&short),
    }
}

pub fn chat() -> Format {
    let chunk = |delta: Value| json!({ "id": "c", "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let end = |reason: &str| json!({ "id": "c", "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    let call = |index: u64, rest: Value| {
        let mut call = rest;
        call["index"] = json!(index);
        chunk(json!({ "tool_calls": [call] }))
    };
    let rich = [
        chunk(json!({ "role": "assistant", "content": "" })),
        chunk(json!({ "reasoning_content": "Let me " })),
        chunk(json!({ "reasoning_content": "see." })),
        chunk(json!({ "content": "Looking " })),
        chunk(json!({ "content": "it up \u{1f980}" })),
        call(
            0,
            json!({ "id": "call_1", "type": "function", "function": { "name": "weather", "arguments": "" } }),
        ),
        call(0, json!({ "function": { "arguments": "{\"city\": " } })),
        call(
            1,
            json!({ "id": "call_2", "type": "function", "function": { "name": "weather", "arguments": "{\"city\": Ber" } }),
        ),
        call(0, json!({ "function": { "arguments": "\"Oslo\"}" } })),
        call(1, json!({ "function": { "arguments": "gen}" } })),
        end("tool_calls"),
        json!({ "choices": [], "usage": { "prompt_tokens": 1150, "completion_tokens": 40, "total_tokens": 1190,
            "prompt_tokens_details": { "cached_tokens": 1000, "cache_write_tokens": 50 },
            "completion_tokens_details": { "reasoning_tokens": 10 } } }),
    ];
    let short = [
        chunk(json!({ "role": "assistant", "content": "Hel" })),
        chunk(json!({ "content": "lo" })),
        end("stop"),
        json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 3 } }),
    ];
    let done = "data: [DONE]\n\n";
    Format {
        kind: ProviderKind::Openai,
        model: "gpt-4o",
        check: strict::chat::check,
        rich: events(&rich) + done,
        short: events(&short) + done,
    }
}

pub fn responses() -> Format {
    let event = |name: &str, rest: Value| {
        let mut event = rest;
        event["type"] = json!(name);
        event
    };
    let usage = json!({ "input_tokens": 1150, "input_tokens_details": { "cached_tokens": 1000, "cache_write_tokens": 50 },
        "output_tokens": 40, "output_tokens_details": { "reasoning_tokens": 10 } });
    let message = |index: u64, chunks: [&str; 2]| {
        let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
        let item = |content: Value| json!({ "type": "message", "id": "msg", "role": "assistant", "content": content });
        let [one, two] = chunks.map(|piece| {
            event(
                "response.output_text.delta",
                json!({ "output_index": index, "content_index": 0, "delta": piece }),
            )
        });
        let complete = item(json!([part(&chunks.concat())]));
        let events = [
            event(
                "response.output_item.added",
                json!({ "output_index": index, "item": item(json!([])) }),
            ),
            event(
                "response.content_part.added",
                json!({ "output_index": index, "content_index": 0, "part": part("") }),
            ),
            one,
            two,
            event(
                "response.output_item.done",
                json!({ "output_index": index, "item": complete }),
            ),
        ];
        (events, complete)
    };
    let call = |index: u64, id: &str, arguments: &str| {
        let item = |arguments: &str| json!({ "type": "function_call", "id": "fc", "call_id": id, "name": "weather", "arguments": arguments });
        let (one, two) = arguments.split_at(9);
        let events = [
            event(
                "response.output_item.added",
                json!({ "output_index": index, "item": item("") }),
            ),
            event(
                "response.function_call_arguments.delta",
                json!({ "output_index": index, "delta": one }),
            ),
            event(
                "response.function_call_arguments.delta",
                json!({ "output_index": index, "delta": two }),
            ),
            event(
                "response.output_item.done",
                json!({ "output_index": index, "item": item(arguments) }),
            ),
        ];
        (events, item(arguments))
    };
    let created = event(
        "response.created",
        json!({ "response": { "id": "r", "object": "response", "status": "in_progress", "output": [] } }),
    );
    let completed = |output: Value, usage: Value| {
        event(
            "response.completed",
            json!({ "response": { "id": "r", "object": "response", "status": "completed", "output": output, "usage": usage } }),
        )
    };
    let thinking = json!({ "type": "reasoning", "id": "rs",
        "summary": [{ "type": "summary_text", "text": "Let me see." }], "encrypted_content": "enc-1" });
    let mut rich = vec![
        created.clone(),
        event(
            "response.output_item.added",
            json!({ "output_index": 0, "item": { "type": "reasoning", "id": "rs", "summary": [] } }),
        ),
        event(
            "response.reasoning_summary_text.delta",
            json!({ "output_index": 0, "summary_index": 0, "delta": "Let me " }),
        ),
        event(
            "response.reasoning_summary_text.delta",
            json!({ "output_index": 0, "summary_index": 0, "delta": "see." }),
        ),
        event(
            "response.output_item.done",
            json!({ "output_index": 0, "item": thinking }),
        ),
    ];
    let (text, text_item) = message(1, ["Looking ", "it up \u{1f980}"]);
    let (one, one_item) = call(2, "call_1", "{\"city\": \"Oslo\"}");
    let (two, two_item) = call(3, "call_2", "{\"city\": Bergen}");
    rich.extend(text.into_iter().chain(one).chain(two));
    rich.push(completed(
        json!([thinking, text_item, one_item, two_item]),
        usage,
    ));
    let (text, item) = message(0, ["Hel", "lo"]);
    let mut short = vec![created];
    short.extend(text);
    short.push(completed(
        json!([item]),
        json!({ "input_tokens": 9, "output_tokens": 3 }),
    ));
    Format {
        kind: ProviderKind::OpenaiResponses,
        model: "gpt-5.5",
        check: strict::responses::check,
        rich: events(&rich),
        short: events(&short),
    }
}

pub fn gemini() -> Format {
    let reply_with = |parts: Value| json!({ "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts } }] });
    let end = |parts: Value, usage: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }], "usageMetadata": usage });
    let rich = [
        reply_with(json!([{ "text": "Let me ", "thought": true }])),
        reply_with(json!([{ "text": "see.", "thought": true }])),
        reply_with(json!([{ "text": "Looking " }])),
        reply_with(json!([{ "text": "it up \u{1f980}" }])),
        reply_with(
            json!([{ "functionCall": { "id": "f1", "name": "weather", "args": { "city": "Oslo" } }, "thoughtSignature": "sig-1" }]),
        ),
        end(
            json!([{ "functionCall": { "id": "f2", "name": "weather", "args": "{\"city\": Bergen}" } }]),
            json!({ "promptTokenCount": 1150, "cachedContentTokenCount": 1000, "candidatesTokenCount": 30, "thoughtsTokenCount": 10 }),
        ),
    ];
    let short = [
        reply_with(json!([{ "text": "Hel" }])),
        end(
            json!([{ "text": "lo" }]),
            json!({ "promptTokenCount": 9, "candidatesTokenCount": 3 }),
        ),
    ];
    Format {
        kind: ProviderKind::Gemini,
        model: "gemini-3.5-flash",
        check: strict::gemini::check,
        rich: events(&rich),
        short: events(&short),
    }
}
