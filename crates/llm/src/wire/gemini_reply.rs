//! Google Gemini: decoding of replies.

use manyhands_core::Ids;
use serde_json::{Value, json};

use super::{Decoder, json as read, new_id, number};
use crate::draft::{On, ReplyDraft};
use crate::error::{ErrorKind, Fault};
use crate::reply::StopReason;
use crate::status;
use crate::usage::Usage;

pub(super) struct GeminiReader {
    ids: Ids,
    /// The part being filled: its index and whether it is a thought.
    open: Option<(u64, bool)>,
    next: u64,
    stopped: bool,
}

impl Decoder for GeminiReader {
    fn event(&mut self, data: &str, draft: &mut ReplyDraft, on: On<'_>) -> Result<(), Fault> {
        let value = read(data)?;
        if let Some(error) = value.get("error") {
            return Err(status::of_event(error));
        }
        if !value.is_object() {
            return Err(Fault::garbage("an event that is not an object"));
        }
        if value["usageMetadata"].is_object() {
            draft.usage = usage(&value["usageMetadata"]);
        }
        // A blocked prompt has no candidates; without this check it would look like an empty reply.
        if let Some(reason) = value["promptFeedback"]["blockReason"].as_str() {
            return Err(refused(reason));
        }
        let Some(candidate) = value["candidates"].get(0) else {
            return Ok(());
        };
        draft.started = true;
        let parts = candidate["content"]["parts"].as_array();
        for part in parts.into_iter().flatten() {
            self.part(part, draft, on)?;
        }
        self.stop(candidate, draft)
    }

    fn end(&mut self, draft: &mut ReplyDraft) {
        // The format has no end marker besides the finish reason.
        draft.ended |= self.stopped;
    }
}

impl GeminiReader {
    pub(super) fn new(ids: Ids) -> Self {
        Self {
            ids,
            open: None,
            next: 0,
            stopped: false,
        }
    }

    fn part(&mut self, part: &Value, draft: &mut ReplyDraft, on: On<'_>) -> Result<(), Fault> {
        let key = if let Some(text) = part["text"].as_str() {
            let is_thinking = part["thought"] == true;
            let key = self.text_key(is_thinking);
            match is_thinking {
                true => draft.thinking(key, text, on),
                false => draft.text(key, text, on),
            }
            key
        } else if part["functionCall"].is_object() {
            self.open = None;
            self.call(&part["functionCall"], draft, on)?
        } else {
            let kinds: Vec<&str> = part
                .as_object()
                .into_iter()
                .flatten()
                .map(|(k, _)| k.as_str())
                .collect();
            draft
                .notes
                .push(format!("a part of type {} was skipped", kinds.join(", ")));
            return Ok(());
        };
        if let Some(signature) = part["thoughtSignature"].as_str() {
            draft.opaque(key, json!({ "signature": signature }));
            // A signed part is complete.
            self.open = None;
        }
        Ok(())
    }

    fn text_key(&mut self, is_thinking: bool) -> u64 {
        match self.open {
            Some((key, same)) if same == is_thinking => key,
            _ => {
                self.next += 1;
                self.open = Some((self.next, is_thinking));
                self.next
            }
        }
    }

    fn call(&mut self, call: &Value, draft: &mut ReplyDraft, on: On<'_>) -> Result<u64, Fault> {
        let name = call["name"].as_str().unwrap_or("");
        if name.is_empty() {
            return Err(Fault::garbage("a call without a name"));
        }
        let id = call["id"].as_str().filter(|id| !id.is_empty());
        let id = id.map_or_else(|| new_id(&self.ids), str::to_owned);
        self.next += 1;
        draft.call(self.next, id, name.to_owned(), on);
        if !call["args"].is_null() {
            draft.arguments(self.next, &call["args"].to_string(), on)?;
        }
        Ok(self.next)
    }

    fn stop(&mut self, candidate: &Value, draft: &mut ReplyDraft) -> Result<(), Fault> {
        let Some(reason) = candidate["finishReason"].as_str() else {
            return Ok(());
        };
        self.stopped = true;
        draft.stop = Some(match reason {
            "MAX_TOKENS" => StopReason::Length,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" => {
                return Err(refused(reason));
            }
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
                let message = candidate["finishMessage"].as_str().unwrap_or(reason);
                return Err(Fault::garbage(status::excerpt(message)));
            }
            _ => StopReason::End,
        });
        Ok(())
    }
}

fn refused(reason: &str) -> Fault {
    let why = format!("refused to answer for safety reasons ({reason})");
    Fault::new(ErrorKind::Refused, why)
}

fn usage(reported: &Value) -> Usage {
    let count = |field: &str| number(&reported[field]);
    let cache_read = count("cachedContentTokenCount");
    let read = count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount"));
    Usage {
        input: read.saturating_sub(cache_read),
        output: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
        cache_read,
        cache_write: 0,
        reasoning: count("thoughtsTokenCount"),
    }
}
