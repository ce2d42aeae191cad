//! A reply while it arrives.

use serde_json::Value;

use crate::error::Fault;
use crate::message::{Arguments, Opaque, ReplyBlock, ToolCall};
use crate::model::ModelId;
use crate::reply::{Delta, StopReason, Usage};

/// Where pieces of a reply go as they come.
pub(crate) type On<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// A reply while it arrives. Every format's reader fills one, and whoever listens hears each piece once.
#[derive(Debug)]
pub(crate) struct Draft {
    from: ModelId,
    parts: Vec<Part>,
    pub(crate) usage: Usage,
    pub(crate) stop: Option<StopReason>,
    /// The provider said that the reply is over.
    pub(crate) ended: bool,
    /// Something that is part of a reply was read.
    pub(crate) begun: bool,
    pub(crate) notes: Vec<String>,
    calls: usize,
    bytes: u64,
}

#[derive(Debug)]
struct Part {
    /// The number its provider knows it by.
    key: u64,
    kind: Kind,
    text: String,
    opaque: Option<Value>,
}

#[derive(Debug, PartialEq)]
enum Kind {
    Text,
    Thinking,
    Call {
        index: usize,
        id: String,
        name: String,
    },
}

/// A reply that is whole.
#[derive(Debug, PartialEq)]
pub(crate) struct Finished {
    pub(crate) content: Vec<ReplyBlock>,
    pub(crate) stop: StopReason,
    pub(crate) usage: Usage,
    pub(crate) notes: Vec<String>,
}

impl Draft {
    pub(crate) fn new(from: ModelId) -> Self {
        Self {
            from,
            parts: Vec::new(),
            usage: Usage::default(),
            stop: None,
            ended: false,
            begun: false,
            notes: Vec::new(),
            calls: 0,
            bytes: 0,
        }
    }

    /// More text of the part `key`.
    pub(crate) fn text(&mut self, key: u64, more: &str, on: On<'_>) {
        self.add(key, Kind::Text, more);
        if !more.is_empty() {
            on(Delta::Text(more.to_owned()));
        }
    }

    /// More of the thought `key`.
    pub(crate) fn thinking(&mut self, key: u64, more: &str, on: On<'_>) {
        self.add(key, Kind::Thinking, more);
        if !more.is_empty() {
            on(Delta::Thinking(more.to_owned()));
        }
    }

    /// A call begins.
    pub(crate) fn call(&mut self, key: u64, id: String, name: String, on: On<'_>) {
        let index = self.calls;
        self.calls += 1;
        self.begun = true;
        on(Delta::CallStart {
            index,
            id: id.clone(),
            name: name.clone(),
        });
        self.parts.push(Part {
            key,
            kind: Kind::Call { index, id, name },
            text: String::new(),
            opaque: None,
        });
    }

    /// More of the arguments of the call `key`.
    pub(crate) fn arguments(&mut self, key: u64, more: &str, on: On<'_>) -> Result<(), Fault> {
        self.bytes += more.len() as u64;
        let part = self.call_part(key);
        let part = part.ok_or_else(|| Fault::garbage("arguments of a call that never began"))?;
        part.text.push_str(more);
        let Kind::Call { index, .. } = part.kind else {
            return Ok(());
        };
        if !more.is_empty() {
            on(Delta::CallArguments {
                index,
                json: more.to_owned(),
            });
        }
        Ok(())
    }

    /// Whether the call `key` has begun.
    pub(crate) fn has_call(&mut self, key: u64) -> bool {
        self.call_part(key).is_some()
    }

    /// How much of the call's arguments has come.
    pub(crate) fn arguments_so_far(&mut self, key: u64) -> usize {
        self.call_part(key).map_or(0, |part| part.text.len())
    }

    fn call_part(&mut self, key: u64) -> Option<&mut Part> {
        let wanted = |part: &&mut Part| part.key == key && matches!(part.kind, Kind::Call { .. });
        self.parts.iter_mut().rev().find(wanted)
    }

    /// What the provider wants back with the last part called `key`.
    pub(crate) fn opaque(&mut self, key: u64, data: Value) {
        if let Some(part) = self.parts.iter_mut().rev().find(|part| part.key == key) {
            part.opaque = Some(data);
        }
    }

    /// What is kept with the part `key` so far.
    pub(crate) fn opaque_so_far(&self, key: u64) -> Option<&Value> {
        let part = self.parts.iter().rev().find(|part| part.key == key);
        part.and_then(|part| part.opaque.as_ref())
    }

    fn add(&mut self, key: u64, kind: Kind, more: &str) {
        self.begun = true;
        self.bytes += more.len() as u64;
        let same = |part: &&mut Part| part.key == key && part.kind == kind;
        match self.parts.iter_mut().rev().find(same) {
            Some(part) => part.text.push_str(more),
            None => self.parts.push(Part {
                key,
                kind,
                text: more.to_owned(),
                opaque: None,
            }),
        }
    }

    /// What a reply that broke off used up: what the provider said, and at least what was seen.
    pub(crate) fn used_so_far(&self, estimated_input: u64) -> Option<Usage> {
        if !self.begun && self.usage == Usage::default() {
            return None;
        }
        let mut usage = self.usage;
        if usage.total_input() == 0 {
            usage.input = estimated_input;
        }
        usage.output = usage.output.max(self.bytes.div_ceil(4));
        Some(usage)
    }

    /// The whole reply, if it is whole.
    pub(crate) fn finish(self) -> Result<Finished, Fault> {
        if !self.ended {
            let nothing = Fault::garbage("it holds no part of a reply");
            return Err(if self.begun { Fault::cut() } else { nothing });
        }
        let from = self.from;
        let content: Vec<ReplyBlock> = self
            .parts
            .into_iter()
            .filter_map(|part| part.finish(&from))
            .collect();
        let calls = content.iter().any(|b| matches!(b, ReplyBlock::Call(_)));
        let stop = match self.stop.unwrap_or(StopReason::End) {
            // Some servers say `stop` where they mean that tools are called.
            StopReason::End | StopReason::Calls if calls => StopReason::Calls,
            StopReason::Calls => StopReason::End,
            stop => stop,
        };
        Ok(Finished {
            content,
            stop,
            usage: self.usage,
            notes: self.notes,
        })
    }
}

impl Part {
    fn finish(self, from: &ModelId) -> Option<ReplyBlock> {
        let opaque = self.opaque.map(|data| Opaque {
            from: from.clone(),
            data,
        });
        if self.text.is_empty() && opaque.is_none() && !matches!(self.kind, Kind::Call { .. }) {
            return None;
        }
        let text = self.text;
        Some(match self.kind {
            Kind::Text => ReplyBlock::Text { text, opaque },
            Kind::Thinking => ReplyBlock::Thinking { text, opaque },
            Kind::Call { id, name, .. } => ReplyBlock::Call(ToolCall {
                id,
                name,
                arguments: Arguments::parse(&text),
                opaque,
            }),
        })
    }
}
