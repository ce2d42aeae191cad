//! A snapshot of the running turn: the text of the current reply and the state of its calls. A subscriber who joins
//! meanwhile starts with it and continues with the events.
//!
//! Each event carries its position (see [`EventPosition`]), so a subscriber can tell which events the snapshot already
//! contains, whichever of the two it reads first.

use manyhands_core::{ApprovalId, CallId, Timestamp};

use crate::call_output::CallStats;
use crate::event::{EventPosition, TurnEvent};
use crate::picture_ref::PictureRef;

/// Bytes held of a reply's text, and of its reasoning.
const MAX_TEXT: usize = 256 * 1024;
/// Bytes held of one call's output.
const MAX_OUTPUT: usize = 16 * 1024;
/// The most calls held of one reply.
const MAX_CALLS: usize = 128;

/// The end of a growing text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextTail {
    /// The text.
    pub text: String,
    /// Length of the part that was dropped before it, in UTF-16 units.
    pub from: u64,
    /// Length of `text`, in UTF-16 units.
    units: u64,
}

impl TextTail {
    /// Appends a piece and returns the total length before it, in UTF-16 units. At least the last `most` bytes are held.
    fn add(&mut self, more: &str, most: usize) -> u64 {
        let before = self.from + self.units;
        self.text.push_str(more);
        self.units += units(more);
        // Cut at twice the limit, so that each byte is moved about once instead of with every piece.
        if self.text.len() > 2 * most {
            let cut = self.text.floor_char_boundary(self.text.len() - most);
            let gone = units(&self.text[..cut]);
            self.text.drain(..cut);
            self.from += gone;
            self.units -= gone;
        }
        before
    }
}

fn units(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

/// A snapshot of the running turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunningTurn {
    /// The run.
    pub run_id: String,
    /// Number of the current reply; 0 before the first.
    pub reply: u64,
    /// Its text so far.
    pub text: TextTail,
    /// Its reasoning so far.
    pub thinking: TextTail,
    /// The calls of the last reply that have begun.
    pub calls: Vec<RunningCall>,
}

/// A call of the running turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCall {
    /// The model's id of the call.
    pub call_id: String,
    /// The call's audit id.
    pub call: Option<CallId>,
    /// When it began, or when the owner approved it.
    pub began: Timestamp,
    /// The approval request it waits for.
    pub approval: Option<ApprovalId>,
    /// Its output so far.
    pub output: TextTail,
    /// Its end.
    pub done: Option<RunningDone>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningDone {
    /// Whether it succeeded.
    pub ok: bool,
    /// The beginning of its result.
    pub shown: String,
    /// How it went.
    pub stats: CallStats,
    /// Its pictures.
    pub pictures: Vec<PictureRef>,
}

impl RunningTurn {
    pub(crate) fn of(run_id: &str) -> Self {
        Self {
            run_id: run_id.to_owned(),
            ..Self::default()
        }
    }

    /// Starts a new reply and drops everything of the previous one.
    pub(crate) fn new_reply(&mut self, number: u64) {
        self.reply = number;
        self.text = TextTail::default();
        self.thinking = TextTail::default();
        self.calls.clear();
    }

    /// Applies an event and sets its position.
    pub(crate) fn note(&mut self, what: &TurnEvent, mark: &mut EventPosition, now: Timestamp) {
        mark.reply = self.reply;
        match what {
            TurnEvent::Delta(more) => mark.offset = self.text.add(more, MAX_TEXT),
            TurnEvent::Thinking(more) => mark.offset = self.thinking.add(more, MAX_TEXT),
            // The reply is in the records now, and a subscriber reads it there.
            TurnEvent::Partial(_) => {
                self.text = TextTail::default();
                self.thinking = TextTail::default();
            }
            // Beyond the limit a call is only in the events; the snapshot stays bounded whatever a model does.
            TurnEvent::ToolStarted { call_id, call, .. } if self.calls.len() < MAX_CALLS => {
                self.calls.push(RunningCall {
                    call_id: call_id.clone(),
                    call: *call,
                    began: now,
                    approval: None,
                    output: TextTail::default(),
                    done: None,
                });
            }
            TurnEvent::ToolOutput { call_id, text, .. } => {
                if let Some(call) = self.call(call_id) {
                    mark.offset = call.output.add(text, MAX_OUTPUT);
                }
            }
            TurnEvent::Paused { approval, .. } => {
                let asked = mark.call_id.as_ref().and_then(|id| self.call(id));
                if let Some(call) = asked {
                    call.approval = Some(*approval);
                }
            }
            // The event names no call, so every call that waits is meant.
            TurnEvent::Resumed => {
                for call in self.calls.iter_mut().filter(|one| one.approval.is_some()) {
                    call.approval = None;
                    call.began = now;
                }
            }
            TurnEvent::ToolDone {
                call_id,
                ok,
                shown,
                stats,
                pictures,
                ..
            } => {
                if let Some(call) = self.call(call_id) {
                    call.approval = None;
                    call.output = TextTail::default(); // its result replaces it
                    call.done = Some(RunningDone {
                        ok: *ok,
                        shown: shown.clone(),
                        stats: CallStats::clone(stats),
                        pictures: pictures.clone(),
                    });
                }
            }
            _ => {}
        }
    }

    /// The running call with this id; the latest, because some models reuse ids.
    fn call(&mut self, id: &str) -> Option<&mut RunningCall> {
        let mut open = self.calls.iter_mut().rev();
        open.find(|one| one.call_id == id && one.done.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(running: &mut RunningTurn, what: TurnEvent) -> EventPosition {
        let mut mark = EventPosition::default();
        running.note(&what, &mut mark, Timestamp(5));
        mark
    }

    #[test]
    fn chunk_offsets_count_utf16_code_units() {
        let mut running = RunningTurn::of("r");
        running.new_reply(3);
        let delta = |text: &str| TurnEvent::Delta(text.to_owned());
        assert_eq!(note(&mut running, delta("a\u{1f600}")).offset, 0);
        let second = note(&mut running, delta("b"));
        assert_eq!((second.reply, second.offset), (3, 3), "a pair counts twice");
        let thought = note(&mut running, TurnEvent::Thinking("x".to_owned()));
        assert_eq!(thought.offset, 0);
        assert_eq!(running.text.text, "a\u{1f600}b");
        note(&mut running, TurnEvent::Partial("whole".to_owned()));
        assert_eq!(running.text, TextTail::default(), "it is in the records");
    }

    #[test]
    fn long_output_keeps_its_end() {
        let mut tail = TextTail::default();
        let all: String = (0..2_000).map(|n| format!("{n}\u{e9}")).collect();
        for piece in all.chars() {
            let offset = tail.add(&piece.to_string(), 100);
            assert!(tail.text.len() <= 200);
            assert_eq!(offset + 1, tail.from + tail.units);
        }
        assert!(tail.text.len() >= 100 && all.ends_with(&tail.text));
        assert_eq!(tail.from, units(&all) - units(&tail.text));
        assert_eq!(tail.units, units(&tail.text));
    }

    #[test]
    fn calls_keep_their_position_in_the_text() {
        let mut running = RunningTurn::of("r");
        let started = |id: &str| TurnEvent::ToolStarted {
            call_id: id.to_owned(),
            tool: "t".to_owned(),
            arguments: serde_json::json!({}),
            call: None,
        };
        let done = |id: &str| TurnEvent::ToolDone {
            call_id: id.to_owned(),
            tool: "t".to_owned(),
            ok: true,
            shown: "seven".to_owned(),
            stats: Box::default(),
            pictures: Vec::new(),
        };
        for what in [started("a"), done("a"), started("b")] {
            note(&mut running, what);
        }
        let approval = serde_json::from_str(&format!("\"{}\"", uuid::Uuid::nil())).unwrap();
        let paused = TurnEvent::Paused {
            approval,
            tool: "t".to_owned(),
            arguments: serde_json::json!({}),
        };
        let mut mark = EventPosition {
            call_id: Some("b".to_owned()),
            ..EventPosition::default()
        };
        running.note(&paused, &mut mark, Timestamp(5));
        let asked = |running: &RunningTurn| -> Vec<bool> {
            let calls = running.calls.iter();
            calls.map(|call| call.approval.is_some()).collect()
        };
        assert_eq!(asked(&running), [false, true]);
        assert_eq!(running.calls[0].done.as_ref().unwrap().shown, "seven");
        note(&mut running, TurnEvent::Resumed);
        assert_eq!(asked(&running), [false, false]);
        for _ in 0..2 * MAX_CALLS {
            note(&mut running, started("c"));
        }
        assert_eq!(running.calls.len(), MAX_CALLS);
        running.new_reply(9);
        assert!(running.calls.is_empty());
    }
}
