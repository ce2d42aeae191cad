//! A reply under construction.

use serde_json::Value;

use crate::error::Fault;
use crate::message::{Arguments, Opaque, ReplyBlock, ToolCall};
use crate::model::ModelId;
use crate::reply::{Delta, StopReason};
use crate::usage::Usage;

/// Receives the parts of a reply as they arrive.
pub(crate) type On<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// A reply under construction. Each wire format's reader fills one, and each delta is reported once.
#[derive(Debug)]
pub(crate) struct ReplyDraft {
    from: ModelId,
    parts: Vec<DraftPart>,
    pub(crate) usage: Usage,
    pub(crate) stop: Option<StopReason>,
    /// The provider marked the end of the reply.
    pub(crate) ended: bool,
    /// Some part of a reply was received.
    pub(crate) started: bool,
    pub(crate) notes: Vec<String>,
    calls: usize,
    bytes: u64,
}

#[derive(Debug)]
struct DraftPart {
    /// The provider's index of the part.
    key: u64,
    kind: PartKind,
    text: String,
    opaque: Option<Value>,
}

#[derive(Debug, PartialEq)]
enum PartKind {
    Text,
    Thinking,
    Call {
        index: usize,
        id: String,
        name: String,
    },
}

/// A complete reply.
#[derive(Debug, PartialEq)]
pub(crate) struct Finished {
    pub(crate) content: Vec<ReplyBlock>,
    pub(crate) stop: StopReason,
    pub(crate) usage: Usage,
    pub(crate) notes: Vec<String>,
}

impl ReplyDraft {
    pub(crate) fn new(from: ModelId) -> Self {
        Self {
            from,
            parts: Vec::new(),
            usage: Usage::default(),
            stop: None,
            ended: false,
            started: false,
            notes: Vec::new(),
            calls: 0,
            bytes: 0,
        }
    }

    /// Appends text to part `key`.
    pub(crate) fn text(&mut self, key: u64, more: &str, on: On<'_>) {
        self.add(key, PartKind::Text, more);
        if !more.is_empty() {
            on(Delta::Text(more.to_owned()));
        }
    }

    /// Appends to thought `key`.
    pub(crate) fn thinking(&mut self, key: u64, more: &str, on: On<'_>) {
        self.add(key, PartKind::Thinking, more);
        if !more.is_empty() {
            on(Delta::Thinking(more.to_owned()));
        }
    }

    /// Starts a tool call.
    pub(crate) fn call(&mut self, key: u64, id: String, name: String, on: On<'_>) {
        let index = self.calls;
        self.calls += 1;
        self.started = true;
        on(Delta::CallStart {
            index,
            id: id.clone(),
            name: name.clone(),
        });
        self.parts.push(DraftPart {
            key,
            kind: PartKind::Call { index, id, name },
            text: String::new(),
            opaque: None,
        });
    }

    /// Appends to the arguments of call `key`.
    pub(crate) fn arguments(&mut self, key: u64, more: &str, on: On<'_>) -> Result<(), Fault> {
        // Counted for the estimate of an incomplete reply, see `used_so_far`.
        self.bytes += more.len() as u64;
        let part = self.call_part(key);
        let part = part.ok_or_else(|| Fault::garbage("arguments of an unknown call"))?;
        part.text.push_str(more);
        let PartKind::Call { index, .. } = part.kind else {
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

    /// Whether call `key` has started.
    pub(crate) fn has_call(&mut self, key: u64) -> bool {
        self.call_part(key).is_some()
    }

    /// Length of the arguments of call `key` so far.
    pub(crate) fn arguments_so_far(&mut self, key: u64) -> usize {
        self.call_part(key).map_or(0, |part| part.text.len())
    }

    fn call_part(&mut self, key: u64) -> Option<&mut DraftPart> {
        let requested =
            |part: &&mut DraftPart| part.key == key && matches!(part.kind, PartKind::Call { .. });
        // From the end: some servers reuse an index for a later call.
        self.parts.iter_mut().rev().find(requested)
    }

    /// Attaches provider data to the last part `key`.
    pub(crate) fn opaque(&mut self, key: u64, data: Value) {
        if let Some(part) = self.parts.iter_mut().rev().find(|part| part.key == key) {
            part.opaque = Some(data);
        }
    }

    /// The provider data of part `key` so far.
    pub(crate) fn opaque_so_far(&self, key: u64) -> Option<&Value> {
        let part = self.parts.iter().rev().find(|part| part.key == key);
        part.and_then(|part| part.opaque.as_ref())
    }

    fn add(&mut self, key: u64, kind: PartKind, more: &str) {
        self.started = true;
        self.bytes += more.len() as u64;
        // By kind too: some servers use one index for thoughts and text.
        let same = |part: &&mut DraftPart| part.key == key && part.kind == kind;
        match self.parts.iter_mut().rev().find(same) {
            Some(part) => part.text.push_str(more),
            None => self.parts.push(DraftPart {
                key,
                kind,
                text: more.to_owned(),
                opaque: None,
            }),
        }
    }

    /// Usage of an incomplete reply: the provider's numbers, but at least what was received.
    pub(crate) fn used_so_far(&self, estimated_input: u64) -> Option<Usage> {
        // Nothing arrived at all, so nothing was charged.
        if !self.started && self.usage == Usage::default() {
            return None;
        }
        let mut usage = self.usage;
        // The request was processed, so its input is charged even if the numbers never came.
        if usage.total_input() == 0 {
            usage.input = estimated_input;
        }
        // Providers report usage at the end; for a cut reply, four bytes per token is the best estimate.
        usage.output = usage.output.max(self.bytes.div_ceil(4));
        Some(usage)
    }

    /// The complete reply, or an error if it is incomplete.
    pub(crate) fn finish(self) -> Result<Finished, Fault> {
        if !self.ended {
            let nothing = Fault::garbage("it contains no part of a reply");
            // A reply without any part is another error: the server may not speak this format at all.
            return Err(if self.started { Fault::cut() } else { nothing });
        }
        let from = self.from;
        let content: Vec<ReplyBlock> = self
            .parts
            .into_iter()
            .filter_map(|part| part.finish(&from))
            .collect();
        // Decided by the content, not by the stop reason: servers disagree on the latter.
        let calls = content.iter().any(|b| matches!(b, ReplyBlock::Call(_)));
        let stop = match self.stop.unwrap_or(StopReason::End) {
            // Some servers report `stop` although tools are called, and the reverse.
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

impl DraftPart {
    fn finish(self, from: &ModelId) -> Option<ReplyBlock> {
        let opaque = self.opaque.map(|data| Opaque {
            from: from.clone(),
            data,
        });
        // Empty text without provider data would be rejected when it is sent back.
        if self.text.is_empty() && opaque.is_none() && !matches!(self.kind, PartKind::Call { .. }) {
            return None;
        }
        let text = self.text;
        Some(match self.kind {
            PartKind::Text => ReplyBlock::Text { text, opaque },
            PartKind::Thinking => ReplyBlock::Thinking { text, opaque },
            PartKind::Call { id, name, .. } => ReplyBlock::Call(ToolCall {
                id,
                name,
                arguments: Arguments::parse(&text),
                opaque,
            }),
        })
    }
}
