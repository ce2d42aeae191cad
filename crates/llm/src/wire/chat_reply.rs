//! OpenAI Chat Completions: decoding of replies.

use manyhands_core::Ids;
use serde_json::Value;

use super::{Decoder, json as read, new_id, number};
use crate::draft::{On, ReplyDraft};
use crate::error::{ErrorKind, Fault};
use crate::reply::StopReason;
use crate::status;
use crate::usage::Usage;

const TEXT: u64 = 0;
const THINKING: u64 = 1;
const CALLS: u64 = 2;

pub(super) struct ChatReader {
    ids: Ids,
    /// The calls so far: the server's index and id.
    calls: Vec<(u64, String)>,
    stopped: bool,
    refusal: String,
}

impl Decoder for ChatReader {
    fn event(&mut self, data: &str, draft: &mut ReplyDraft, on: On<'_>) -> Result<(), Fault> {
        if data.trim() == "[DONE]" {
            // A [DONE] without any choice before it is not a reply.
            draft.ended = draft.started;
            return Ok(());
        }
        let value = read(data)?;
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            return Err(status::of_event(error));
        }
        if !value.is_object() {
            return Err(Fault::garbage("an event that is not an object"));
        }
        if value["usage"].is_object() {
            draft.usage = usage(&value["usage"]);
        }
        let Some(choice) = value["choices"].get(0) else {
            return Ok(());
        };
        draft.started = true;
        self.delta(&choice["delta"], draft, on)?;
        self.stop(choice, draft)
    }

    fn end(&mut self, draft: &mut ReplyDraft) {
        // Some servers omit the final [DONE].
        draft.ended |= self.stopped;
    }
}

impl ChatReader {
    pub(super) fn new(ids: Ids) -> Self {
        Self {
            ids,
            calls: Vec::new(),
            stopped: false,
            refusal: String::new(),
        }
    }

    fn delta(&mut self, delta: &Value, draft: &mut ReplyDraft, on: On<'_>) -> Result<(), Fault> {
        let text = |field: &str| delta[field].as_str().unwrap_or("");
        // OpenRouter and some servers use `reasoning`, others `reasoning_content`.
        let thought = match text("reasoning_content") {
            "" => text("reasoning"),
            thought => thought,
        };
        if !thought.is_empty() {
            draft.thinking(THINKING, thought, on);
        }
        if !text("content").is_empty() {
            draft.text(TEXT, text("content"), on);
        }
        self.refusal.push_str(text("refusal"));
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, draft, on)?;
        }
        Ok(())
    }

    fn call(&mut self, call: &Value, draft: &mut ReplyDraft, on: On<'_>) -> Result<(), Fault> {
        let function = &call["function"];
        let name = function["name"].as_str().unwrap_or("");
        let id = call["id"].as_str().unwrap_or("");
        let at = self.index(call["index"].as_u64(), id, name);
        let at = match at {
            Some(at) => at,
            None if name.is_empty() => {
                return Err(Fault::garbage("a call without a name"));
            }
            None => {
                let number = call["index"].as_u64().unwrap_or(self.calls.len() as u64);
                self.calls.push((number, id.to_owned()));
                let id = match id {
                    "" => new_id(&self.ids),
                    id => id.to_owned(),
                };
                let at = self.calls.len() - 1;
                draft.call(CALLS + at as u64, id, name.to_owned(), on);
                at
            }
        };
        // Some servers send the arguments as an object instead of as text.
        let arguments = match &function["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            whole => whole.to_string(),
        };
        draft.arguments(CALLS + at as u64, &arguments, on)
    }

    /// The call that a delta belongs to; `None` for a new one. Some servers give every call index 0 and
    /// distinguish them by id only.
    fn index(&self, number: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let found = match number {
            Some(number) => self.calls.iter().rposition(|(known, _)| *known == number),
            None if id.is_empty() && name.is_empty() => self.calls.len().checked_sub(1),
            None => self
                .calls
                .iter()
                .rposition(|(_, known)| known == id && !id.is_empty()),
        };
        found.filter(|at| id.is_empty() || name.is_empty() || self.calls[*at].1 == id)
    }

    fn stop(&mut self, choice: &Value, draft: &mut ReplyDraft) -> Result<(), Fault> {
        let Some(reason) = choice["finish_reason"].as_str() else {
            return Ok(());
        };
        self.stopped = true;
        draft.stop = Some(match reason {
            "length" => StopReason::Length,
            "tool_calls" | "function_call" => StopReason::Calls,
            "content_filter" => {
                let why = "refused by its content filter";
                return Err(Fault::new(ErrorKind::Refused, why));
            }
            "error" => return Err(status::of_event(&choice["error"])),
            _ => StopReason::End,
        });
        if self.refusal.is_empty() {
            return Ok(());
        }
        let refusal_text = status::excerpt(&self.refusal);
        Err(Fault::new(
            ErrorKind::Refused,
            format!("refused to answer: {refusal_text}"),
        ))
    }
}

fn usage(reported: &Value) -> Usage {
    let details = &reported["prompt_tokens_details"];
    let cache_read = number(&details["cached_tokens"]);
    let cache_write = number(&details["cache_write_tokens"]);
    let input = number(&reported["prompt_tokens"]);
    Usage {
        input: input.saturating_sub(cache_read).saturating_sub(cache_write),
        output: number(&reported["completion_tokens"]),
        cache_read,
        cache_write,
        reasoning: number(&reported["completion_tokens_details"]["reasoning_tokens"]),
    }
}
