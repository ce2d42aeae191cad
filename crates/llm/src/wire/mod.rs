//! The formats that providers speak. Each is two files: how a request is written, and how a reply
//! is read.

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

use crate::draft::{Draft, On};
use crate::error::Fault;
use crate::message::Message;
use crate::model::ModelId;
use crate::offered::Offered;
use crate::provider::Line;
use crate::request::{Request, Sampling, SystemPart};
use crate::settings::ProviderKind;
use crate::sse::Event;

/// A format.
pub(crate) trait Wire: Send + Sync {
    /// The address of whoever made the format.
    fn home(&self) -> &'static str;
    /// Whether addresses end before the version, so that it is always put in.
    fn version_always(&self) -> bool {
        false
    }
    /// Headers that every request has.
    fn fixed_headers(&self) -> &'static [(&'static str, &'static str)];
    /// The header that carries the key.
    fn key_header(&self, key: &str) -> (&'static str, String);
    /// The request as it is sent.
    fn prepare(&self, ask: &Ask<'_>, line: &Line) -> Result<Prepared, Fault>;
    /// Reads the reply.
    fn decoder(&self, ids: &Ids) -> Box<dyn Decoder>;
    /// Where the list of models is: the first path that is there counts.
    fn lists(&self, line: &Line) -> Vec<String>;
    /// The models of such a list; `None` when it is none.
    fn read_list(&self, list: &Value) -> Option<Vec<Offered>>;
}

/// Reads a reply.
pub(crate) trait Decoder: Send {
    /// Takes in one event.
    fn event(&mut self, event: &Event, draft: &mut Draft, on: On<'_>) -> Result<(), Fault>;
    /// No more events come. Formats without a last word decide here whether the reply is whole.
    fn end(&mut self, draft: &mut Draft);
}

/// What is asked, of whom.
pub(crate) struct Ask<'a> {
    pub(crate) request: &'a Request,
    /// The conversation, fit to send.
    pub(crate) messages: Vec<Message>,
    pub(crate) model: &'a ModelId,
    pub(crate) max_output: u32,
}

/// A request as it is sent.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Path and query.
    pub(crate) path: String,
    pub(crate) body: Value,
    /// What was asked and could not be said, in words.
    pub(crate) notes: Vec<String>,
}

/// The format of a kind; none for scripts.
pub(crate) fn of(kind: ProviderKind) -> Option<&'static dyn Wire> {
    match kind {
        ProviderKind::Anthropic => Some(&anthropic::Anthropic),
        ProviderKind::Openai => Some(&chat::Chat),
        ProviderKind::OpenaiResponses => Some(&responses::Responses),
        ProviderKind::Gemini => Some(&gemini::Gemini),
        ProviderKind::Scripted => None,
    }
}

/// The system's parts that are worth caching, and the rest, each as one text.
fn system(parts: &[SystemPart]) -> (String, String) {
    let stable = parts.iter().take_while(|part| part.stable).count();
    let joined = |parts: &[SystemPart]| {
        let texts = parts.iter().map(|part| part.text.trim());
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.join("\n\n")
    };
    (joined(&parts[..stable]), joined(&parts[stable..]))
}

/// The system's parts as one text, and `more` after them.
fn whole_system(parts: &[SystemPart], more: Option<String>) -> Option<String> {
    let (stable, rest) = system(parts);
    let texts = [stable, rest, more.unwrap_or_default()];
    let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Puts into `body` those sampling fields that `named` gives a name, and notes the others.
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
                "{field} was left out: this model does not take it here"
            )),
        }
    }
}

/// What tells a model to write JSON where its provider cannot make it.
fn instruction(schema: &Value) -> String {
    format!(
        "Answer with one JSON value and nothing else: no words around it, no code fence. It must be valid against this JSON Schema:\n{schema}"
    )
}

/// A call's id as a provider takes it: at most `most` of `A-Za-z0-9_-`. Ids of other providers may
/// be longer or hold other characters; the same id always becomes the same.
fn fitting(id: &str, most: usize) -> String {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if !id.is_empty() && id.len() <= most && id.bytes().all(legal) {
        return id.to_owned();
    }
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("call_{hash:016x}")
}

/// An id for a call that came without one.
fn fresh(ids: &Ids) -> String {
    let id: Uuid = ids.next();
    format!("call_{}", id.simple())
}

/// The event's data as JSON.
fn json(event: &Event) -> Result<Value, Fault> {
    serde_json::from_str(&event.data).map_err(Fault::garbage)
}

/// A number that a provider gives, or nothing.
fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_ids_become_ids_that_fit_and_stay_apart() {
        assert_eq!(fitting("toolu_01A-b", 64), "toolu_01A-b");
        for foreign in ["", "a.b", "a b", "ä", &"x".repeat(65)] {
            let made = fitting(foreign, 40);
            assert!(made.len() <= 40 && made.starts_with("call_"), "{made}");
            assert_eq!(made, fitting(foreign, 40));
        }
        assert_ne!(fitting("a.b", 64), fitting("a:b", 64));
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
        assert_eq!(whole_system(&[], None), None);
    }
}
