//! Anthropic Messages: decoding of replies.

use serde_json::{Value, json};

use super::{Decoder, json as read, number};
use crate::draft::{On, ReplyDraft};
use crate::error::{ErrorKind, Fault};
use crate::reply::StopReason;
use crate::status;

#[derive(Default)]
pub(super) struct AnthropicReader {
    refused: bool,
}

impl Decoder for AnthropicReader {
    fn event(&mut self, data: &str, draft: &mut ReplyDraft, on: On<'_>) -> Result<(), Fault> {
        let value = read(data)?;
        let key = number(&value["index"]);
        match value["type"].as_str().unwrap_or("") {
            "message_start" => {
                draft.started = true;
                usage(draft, &value["message"]["usage"]);
            }
            "content_block_start" => start(key, &value["content_block"], draft, on)?,
            "content_block_delta" => delta(key, &value["delta"], draft, on)?,
            "message_delta" => {
                usage(draft, &value["usage"]);
                self.stop(&value["delta"], draft);
            }
            "message_stop" => {
                if self.refused {
                    let why = "refused to answer for safety reasons";
                    return Err(Fault::new(ErrorKind::Refused, why));
                }
                draft.ended = true;
            }
            "error" => return Err(status::of_event(&value["error"])),
            // Pings, ends of blocks, and future event types are ignored.
            "" => return Err(Fault::garbage("an event without a type")),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, _: &mut ReplyDraft) {}
}

impl AnthropicReader {
    fn stop(&mut self, delta: &Value, draft: &mut ReplyDraft) {
        draft.stop = match delta["stop_reason"].as_str() {
            Some("tool_use") => Some(StopReason::Calls),
            Some("max_tokens" | "model_context_window_exceeded") => Some(StopReason::Length),
            Some("refusal") => {
                self.refused = true;
                None
            }
            Some(_) => Some(StopReason::End),
            None => draft.stop,
        };
    }
}

/// Each report contains running totals, and not every report contains every field.
fn usage(draft: &mut ReplyDraft, reported: &Value) {
    let take = |field: &str, into: &mut u64| {
        if let Some(count) = reported[field].as_u64() {
            *into = count;
        }
    };
    let usage = &mut draft.usage;
    take("input_tokens", &mut usage.input);
    take("output_tokens", &mut usage.output);
    take("cache_read_input_tokens", &mut usage.cache_read);
    take("cache_creation_input_tokens", &mut usage.cache_write);
    let thinking_tokens = &reported["output_tokens_details"]["thinking_tokens"];
    if let Some(count) = thinking_tokens.as_u64() {
        usage.reasoning = count;
    }
}

fn start(key: u64, block: &Value, draft: &mut ReplyDraft, on: On<'_>) -> Result<(), Fault> {
    let text = |field: &str| block[field].as_str().unwrap_or("");
    match text("type") {
        "text" => draft.text(key, text("text"), on),
        "thinking" => {
            draft.thinking(key, text("thinking"), on);
            sign(key, text("signature"), draft);
        }
        // Its content is encrypted, but it must be sent back unchanged.
        "redacted_thinking" => {
            draft.thinking(key, "", on);
            draft.opaque(key, json!({ "redacted": block["data"] }));
        }
        "tool_use" => {
            let (id, name) = (text("id"), text("name"));
            if id.is_empty() || name.is_empty() {
                return Err(Fault::garbage("a call without id or name"));
            }
            draft.call(key, id.to_owned(), name.to_owned(), on);
            // Compatible servers send the arguments at once instead of as deltas.
            if block["input"]
                .as_object()
                .is_some_and(|input| !input.is_empty())
            {
                draft.arguments(key, &block["input"].to_string(), on)?;
            }
        }
        other => draft
            .notes
            .push(format!("a part of type {other:?} was skipped")),
    }
    Ok(())
}

fn delta(key: u64, delta: &Value, draft: &mut ReplyDraft, on: On<'_>) -> Result<(), Fault> {
    let text = |field: &str| delta[field].as_str().unwrap_or("");
    match text("type") {
        "text_delta" => draft.text(key, text("text"), on),
        "thinking_delta" => draft.thinking(key, text("thinking"), on),
        "signature_delta" => sign(key, text("signature"), draft),
        "input_json_delta" => draft.arguments(key, text("partial_json"), on)?,
        _ => {}
    }
    Ok(())
}

fn sign(key: u64, more: &str, draft: &mut ReplyDraft) {
    if more.is_empty() {
        return;
    }
    // A signature may arrive in several deltas.
    let so_far = draft.opaque_so_far(key);
    let so_far = so_far
        .and_then(|data| data["signature"].as_str())
        .unwrap_or("");
    let joined = format!("{so_far}{more}");
    draft.opaque(key, json!({ "signature": joined }));
}
