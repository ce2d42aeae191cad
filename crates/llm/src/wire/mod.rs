//! Wire formats of providers. Each has two files: encoding of requests and decoding of replies.

mod anthropic;
mod anthropic_reply;
mod chat;
mod chat_reply;
mod claude;
mod gemini;
mod gemini_reply;
mod gpt;
mod responses;
mod responses_reply;
mod schema;

use manyhands_core::Ids;
use serde_json::Value;
use uuid::Uuid;

use crate::base_url::BaseUrl;
use crate::draft::{On, ReplyDraft};
use crate::error::Fault;
use crate::message::Message;
use crate::model::ModelId;
use crate::model::OfferedModel;
use crate::request::{ModelRequest, Sampling, SystemPart};
use crate::settings::ProviderKind;

/// A wire format.
pub(crate) trait Wire: Send + Sync {
    /// The default base URL.
    fn default_url(&self) -> &'static str;
    /// Whether base URLs end before the version, so that it is always added.
    fn version_always(&self) -> bool {
        false
    }
    /// Headers that every request has.
    fn fixed_headers(&self) -> &'static [(&'static str, &'static str)];
    /// The header with the API key.
    fn key_header(&self, key: &str) -> (&'static str, String);
    /// Encodes a request.
    fn prepare(&self, target: &WireRequest<'_>, base: &BaseUrl) -> Result<Prepared, Fault>;
    /// A decoder for one reply.
    fn decoder(&self, ids: &Ids) -> Box<dyn Decoder>;
    /// Paths of the model list, tried in order.
    fn lists(&self, base: &BaseUrl) -> Vec<String>;
    /// Parses a model list; `None` if it is not one.
    fn read_list(&self, list: &Value) -> Option<Vec<OfferedModel>>;
}

/// Decodes a reply.
pub(crate) trait Decoder: Send {
    /// Processes the data of one event.
    fn event(&mut self, data: &str, draft: &mut ReplyDraft, on: On<'_>) -> Result<(), Fault>;
    /// Called at the end of the stream. Formats without an end marker decide here whether the reply is
    /// complete.
    fn end(&mut self, draft: &mut ReplyDraft);
}

/// A request and its target.
pub(crate) struct WireRequest<'a> {
    pub(crate) request: &'a ModelRequest,
    /// The conversation, made valid for sending.
    pub(crate) messages: Vec<Message>,
    pub(crate) model: &'a ModelId,
    pub(crate) max_output: u32,
}

/// An encoded request.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Path and query.
    pub(crate) path: String,
    pub(crate) body: Value,
    /// Notes on unsupported options.
    pub(crate) notes: Vec<String>,
}

/// The format of a kind; `None` for scripts.
pub(crate) fn of(kind: ProviderKind) -> Option<&'static dyn Wire> {
    match kind {
        ProviderKind::Anthropic => Some(&anthropic::Anthropic),
        ProviderKind::Openai => Some(&chat::ChatCompletions),
        ProviderKind::OpenaiResponses => Some(&responses::Responses),
        ProviderKind::Gemini => Some(&gemini::Gemini),
        ProviderKind::Scripted => None,
    }
}

/// The cacheable parts of the system prompt, and the rest, each as one text.
fn system(parts: &[SystemPart]) -> (String, String) {
    let stable = parts.iter().take_while(|part| part.stable).count();
    let joined = |parts: &[SystemPart]| {
        let texts = parts.iter().map(|part| part.text.trim());
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.join("\n\n")
    };
    (joined(&parts[..stable]), joined(&parts[stable..]))
}

/// The system prompt as one text, followed by `more`.
fn joined_system(parts: &[SystemPart], more: Option<String>) -> Option<String> {
    let (stable, rest) = system(parts);
    let texts = [stable, rest, more.unwrap_or_default()];
    let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Adds the sampling fields that `named` maps to `body`, and notes the others.
fn sample(
    body: &mut Value,
    sampling: &Sampling,
    notes: &mut Vec<String>,
    named: impl Fn(&'static str) -> Option<&'static str>,
) {
    for (field, value) in sampling.fields() {
        match named(field) {
            Some(name) => body[name] = value,
            None => notes.push(format!(
                "{field} was omitted: not supported by this model here"
            )),
        }
    }
}

/// Prompt that asks for JSON where the provider cannot enforce it.
fn instruction(schema: &Value) -> String {
    format!(
        "Answer with one JSON value and nothing else: no words around it, no code fence. It must be valid against this JSON Schema:\n{schema}"
    )
}

/// A call id as a provider accepts it: at most `max_length` of `A-Za-z0-9_-`. Other providers' ids may be
/// longer or contain other characters; the mapping is deterministic.
fn valid_id(id: &str, max_length: usize) -> String {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if !id.is_empty() && id.len() <= max_length && id.bytes().all(legal) {
        return id.to_owned();
    }
    // FNV-1a: the id must be the same in every request, or the prompt cache would miss.
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("call_{hash:016x}")
}

/// An id for a call that came without one.
fn new_id(ids: &Ids) -> String {
    let id: Uuid = ids.next();
    format!("call_{}", id.simple())
}

/// Parses an event's data.
fn json(data: &str) -> Result<Value, Fault> {
    serde_json::from_str(data).map_err(Fault::garbage)
}

/// A number, or 0 if absent.
fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_ids_become_ids_that_fit_and_stay_apart() {
        assert_eq!(valid_id("toolu_01A-b", 64), "toolu_01A-b");
        for foreign in ["", "a.b", "a b", "ä", &"x".repeat(65)] {
            let id_for = valid_id(foreign, 40);
            assert!(
                id_for.len() <= 40 && id_for.starts_with("call_"),
                "{id_for}"
            );
            assert_eq!(id_for, valid_id(foreign, 40));
        }
        assert_ne!(valid_id("a.b", 64), valid_id("a:b", 64));
    }

    #[test]
    fn only_the_stable_beginning_is_worth_caching() {
        let parts = [
            SystemPart::stable("a"),
            SystemPart::stable(" "),
            SystemPart::changing("b"),
            SystemPart::stable("c"),
        ];
        assert_eq!(system(&parts), ("a".into(), "b\n\nc".into()));
        assert_eq!(joined_system(&[], None), None);
    }
}
