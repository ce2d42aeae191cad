//! A turn while it is worked on: what was said of the reply that is being made, and where its calls
//! stand. Whoever comes to a session meanwhile is given this, and goes on with the events.
//!
//! Each event says where it stands (see [`Mark`]): what is in here already is told apart from what
//! comes after it, whichever of the two is read first.

use manyhands_core::{ApprovalId, CallId, Timestamp, ToolError};
use manyhands_llm::Block;
use manyhands_store::TurnState;

use crate::event::{Mark, What};
use crate::key::SessionKey;
use crate::minds::Minds;
use crate::turn::Input;

/// How much is held of a reply's text, and of its thoughts: their ends.
const MAX_TEXT: usize = 256 * 1024;
/// How much is held of what one call prints: its end.
const MAX_OUTPUT: usize = 16 * 1024;
/// How many calls of one reply are held.
const MAX_CALLS: usize = 128;
/// How many inputs that wait are told.
const MAX_WAITING: usize = 50;
/// How many characters are told of an input that waits.
const MAX_INPUT: usize = 8_000;

/// The end of a text that grows, and how much came before it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tail {
    /// The text.
    pub text: String,
    /// How many units of UTF-16 came before it.
    pub from: u64,
    /// How many it has.
    units: u64,
}

impl Tail {
    /// Adds to it, and says how much there was before, in units of UTF-16. Of what becomes too long
    /// at least the last `most` bytes stay.
    fn add(&mut self, more: &str, most: usize) -> u64 {
        let before = self.from + self.units;
        self.text.push_str(more);
        self.units += units(more);
        // Cut only now and then, so that each letter is moved about once.
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

/// A turn that is being worked on, as far as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Running {
    /// The run.
    pub run_id: String,
    /// Which reply is being made; 0 before the first.
    pub reply: u64,
    /// What was said of it.
    pub text: Tail,
    /// What was thought of it.
    pub thinking: Tail,
    /// The calls of the last reply that were begun.
    pub calls: Vec<RunningCall>,
}

/// A call of a turn that is being worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCall {
    /// The model's id of it.
    pub call_id: String,
    /// The call as the audit knows it.
    pub call: Option<CallId>,
    /// When it was asked for, or when the owner let it run.
    pub began: Timestamp,
    /// The question that it waits for.
    pub approval: Option<ApprovalId>,
    /// What it printed.
    pub output: Tail,
    /// How it ended.
    pub done: Option<RunningDone>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningDone {
    /// Whether it worked.
    pub ok: bool,
    /// The beginning of what it gave.
    pub shown: String,
    /// How long it took.
    pub took_ms: u64,
}

/// An input that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The run.
    pub run_id: String,
    /// The beginning of its text.
    pub text: String,
    /// How many pictures came with it.
    pub pictures: usize,
    /// When it came.
    pub at: Timestamp,
}

impl Running {
    pub(crate) fn of(run_id: &str) -> Self {
        Self {
            run_id: run_id.to_owned(),
            ..Self::default()
        }
    }

    /// What was said and called before belongs to another reply.
    pub(crate) fn new_reply(&mut self, number: u64) {
        self.reply = number;
        self.text = Tail::default();
        self.thinking = Tail::default();
        self.calls.clear();
    }

    /// Notes what happens, and where it stands.
    pub(crate) fn note(&mut self, what: &What, mark: &mut Mark, now: Timestamp) {
        mark.reply = self.reply;
        match what {
            What::Delta(more) => mark.offset = self.text.add(more, MAX_TEXT),
            What::Thinking(more) => mark.offset = self.thinking.add(more, MAX_TEXT),
            What::Partial(_) => {
                self.text = Tail::default();
                self.thinking = Tail::default();
            }
            What::ToolStarted { call_id, call, .. } if self.calls.len() < MAX_CALLS => {
                self.calls.push(RunningCall {
                    call_id: call_id.clone(),
                    call: *call,
                    began: now,
                    approval: None,
                    output: Tail::default(),
                    done: None,
                });
            }
            What::ToolOutput { call_id, text, .. } => {
                if let Some(call) = self.call(call_id) {
                    mark.offset = call.output.add(text, MAX_OUTPUT);
                }
            }
            What::Paused { approval, .. } => {
                let asked = mark.call_id.as_ref().and_then(|id| self.call(id));
                if let Some(call) = asked {
                    call.approval = Some(*approval);
                }
            }
            What::Resumed => {
                for call in self.calls.iter_mut().filter(|one| one.approval.is_some()) {
                    call.approval = None;
                    call.began = now;
                }
            }
            What::ToolDone {
                call_id,
                ok,
                shown,
                took_ms,
                ..
            } => {
                if let Some(call) = self.call(call_id) {
                    call.approval = None;
                    call.output = Tail::default();
                    call.done = Some(RunningDone {
                        ok: *ok,
                        shown: shown.clone(),
                        took_ms: *took_ms,
                    });
                }
            }
            _ => {}
        }
    }

    /// A call that runs; of two with one id the later.
    fn call(&mut self, id: &str) -> Option<&mut RunningCall> {
        let mut open = self.calls.iter_mut().rev();
        open.find(|one| one.call_id == id && one.done.is_none())
    }
}

impl Minds {
    /// The turn that is being worked on in a session, as far as it is. What is asked of the records
    /// after this has everything that this no longer has.
    pub fn running(&self, key: &SessionKey) -> Option<Running> {
        self.inner.running(key.as_str())
    }

    /// The inputs that wait for their turn in a session, in their order.
    pub async fn waiting(&self, key: &SessionKey) -> Result<Vec<Waiting>, ToolError> {
        let open = self.inner.sessions.open_turns(key.as_str()).await;
        let open = open?.into_iter();
        let queued = open.filter(|turn| turn.state == TurnState::Queued);
        let waiting = queued.take(MAX_WAITING).filter_map(|turn| {
            let input: Input = serde_json::from_str(&turn.input).ok()?;
            let pictures = input.pictures.iter();
            Some(Waiting {
                run_id: turn.run_id,
                text: input.text.chars().take(MAX_INPUT).collect(),
                pictures: pictures
                    .filter(|one| matches!(one, Block::Image { .. }))
                    .count(),
                at: turn.created,
            })
        });
        Ok(waiting.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(running: &mut Running, what: What) -> Mark {
        let mut mark = Mark::default();
        running.note(&what, &mut mark, Timestamp(5));
        mark
    }

    #[test]
    fn pieces_say_where_they_stand_in_units_of_browsers() {
        let mut running = Running::of("r");
        running.new_reply(3);
        let delta = |text: &str| What::Delta(text.to_owned());
        assert_eq!(note(&mut running, delta("a\u{1f600}")).offset, 0);
        let second = note(&mut running, delta("b"));
        assert_eq!((second.reply, second.offset), (3, 3), "a pair counts twice");
        let thought = note(&mut running, What::Thinking("x".to_owned()));
        assert_eq!(thought.offset, 0);
        assert_eq!(running.text.text, "a\u{1f600}b");
        note(&mut running, What::Partial("whole".to_owned()));
        assert_eq!(running.text, Tail::default(), "it is in the records");
    }

    #[test]
    fn what_becomes_too_long_is_held_by_its_end() {
        let mut tail = Tail::default();
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
    fn calls_stand_where_they_stand() {
        let mut running = Running::of("r");
        let started = |id: &str| What::ToolStarted {
            call_id: id.to_owned(),
            tool: "t".to_owned(),
            arguments: serde_json::json!({}),
            call: None,
        };
        let done = |id: &str| What::ToolDone {
            call_id: id.to_owned(),
            tool: "t".to_owned(),
            ok: true,
            shown: "seven".to_owned(),
            took_ms: 7,
            call: None,
        };
        for what in [started("a"), done("a"), started("b")] {
            note(&mut running, what);
        }
        let approval = serde_json::from_str(&format!("\"{}\"", uuid::Uuid::nil())).unwrap();
        let paused = What::Paused {
            approval,
            tool: "t".to_owned(),
            arguments: serde_json::json!({}),
        };
        let mut mark = Mark {
            call_id: Some("b".to_owned()),
            ..Mark::default()
        };
        running.note(&paused, &mut mark, Timestamp(5));
        let asked = |running: &Running| -> Vec<bool> {
            let calls = running.calls.iter();
            calls.map(|call| call.approval.is_some()).collect()
        };
        assert_eq!(asked(&running), [false, true]);
        assert_eq!(running.calls[0].done.as_ref().unwrap().shown, "seven");
        note(&mut running, What::Resumed);
        assert_eq!(asked(&running), [false, false]);
        for _ in 0..2 * MAX_CALLS {
            note(&mut running, started("c"));
        }
        assert_eq!(running.calls.len(), MAX_CALLS);
        running.new_reply(9);
        assert!(running.calls.is_empty());
    }
}
