//! OpenAI Responses: decoding of replies.

use manyhands_core::Ids;
use serde_json::{Value, json};

use super::{Decoder, json as read, new_id, number};
use crate::draft::{On, ReplyDraft};
use crate::error::{ErrorKind, Fault};
use crate::reply::StopReason;
use crate::status;
use crate::usage::Usage;

pub(super) struct ResponsesReader {
    ids: Ids,
    /// The last part of a thought's summary, to separate the next one from it.
    summary: Option<(u64, u64)>,
}

impl Decoder for ResponsesReader {
    fn event(&mut self, data: &str, draft: &mut ReplyDraft, on: On<'_>) -> Result<(), Fault> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        let value = read(data)?;
        let key = number(&value["output_index"]);
        let delta = value["delta"].as_str().unwrap_or("");
        match value["type"].as_str().unwrap_or("") {
            "response.created" | "response.in_progress" => draft.started = true,
            "response.output_item.added" => self.added(key, &value["item"], draft, on),
            "response.output_text.delta" => draft.text(key, delta, on),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.thinking_delta(key, &value, delta, draft, on);
            }
            "response.function_call_arguments.delta" => draft.arguments(key, delta, on)?,
            "response.output_item.done" => self.done(key, &value["item"], draft, on)?,
            "response.refusal.done" => {
                let refusal_text = status::excerpt(value["refusal"].as_str().unwrap_or(""));
                return Err(Fault::new(
                    ErrorKind::Refused,
                    format!("refused to answer: {refusal_text}"),
                ));
            }
            "response.completed" | "response.done" => {
                finish(draft, &value["response"], StopReason::End);
            }
            "response.incomplete" => {
                let response = &value["response"];
                if response["incomplete_details"]["reason"] == "content_filter" {
                    let why = "refused by its content filter";
                    return Err(Fault::new(ErrorKind::Refused, why));
                }
                finish(draft, response, StopReason::Length);
            }
            "response.failed" => {
                draft.usage = usage(&value["response"]["usage"]);
                return Err(status::of_event(&value["response"]["error"]));
            }
            "error" => return Err(status::of_event(&value)),
            "" => return Err(Fault::garbage("an event without a type")),
            // Starts and ends of parts, and future event types are ignored.
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, _: &mut ReplyDraft) {}
}

impl ResponsesReader {
    pub(super) fn new(ids: Ids) -> Self {
        Self { ids, summary: None }
    }

    fn added(&self, key: u64, item: &Value, draft: &mut ReplyDraft, on: On<'_>) {
        match item["type"].as_str() {
            Some("function_call") => self.call(key, item, draft, on),
            Some("reasoning") => draft.thinking(key, "", on),
            _ => {}
        }
    }

    fn call(&self, key: u64, item: &Value, draft: &mut ReplyDraft, on: On<'_>) {
        let id = item["call_id"].as_str().filter(|id| !id.is_empty());
        let id = id.map_or_else(|| new_id(&self.ids), str::to_owned);
        let name = item["name"].as_str().unwrap_or("").to_owned();
        draft.call(key, id, name, on);
    }

    fn thinking_delta(
        &mut self,
        key: u64,
        value: &Value,
        delta: &str,
        draft: &mut ReplyDraft,
        on: On<'_>,
    ) {
        let part = (key, number(&value["summary_index"]));
        if self
            .summary
            .is_some_and(|last| last.0 == key && last != part)
        {
            // Summary parts are separate paragraphs, but arrive as one stream.
            draft.thinking(key, "\n\n", on);
        }
        self.summary = Some(part);
        draft.thinking(key, delta, on);
    }

    /// Processes a complete item: takes what was not streamed.
    fn done(
        &self,
        key: u64,
        item: &Value,
        draft: &mut ReplyDraft,
        on: On<'_>,
    ) -> Result<(), Fault> {
        match item["type"].as_str() {
            Some("reasoning") if item["encrypted_content"].is_string() => {
                draft.thinking(key, "", on);
                let summary = item["summary"].as_array().cloned().unwrap_or_default();
                draft.opaque(
                    key,
                    json!({ "summary": summary, "encrypted_content": item["encrypted_content"] }),
                );
            }
            Some("function_call") => {
                if !draft.has_call(key) {
                    self.call(key, item, draft, on);
                }
                // Some servers send the arguments only with the completed item.
                if draft.arguments_so_far(key) == 0 {
                    draft.arguments(key, item["arguments"].as_str().unwrap_or(""), on)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn finish(draft: &mut ReplyDraft, response: &Value, stop: StopReason) {
    draft.usage = usage(&response["usage"]);
    draft.stop = Some(stop);
    draft.ended = true;
}

fn usage(reported: &Value) -> Usage {
    let details = &reported["input_tokens_details"];
    let cache_read = number(&details["cached_tokens"]);
    let cache_write = number(&details["cache_write_tokens"]);
    let input = number(&reported["input_tokens"]);
    Usage {
        input: input.saturating_sub(cache_read).saturating_sub(cache_write),
        output: number(&reported["output_tokens"]),
        cache_read,
        cache_write,
        reasoning: number(&reported["output_tokens_details"]["reasoning_tokens"]),
    }
}
