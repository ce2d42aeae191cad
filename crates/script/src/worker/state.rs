//! State behind the script's functions: log, calls, timers.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use manyhands_core::{Clock, SystemClock};
use rustix::time::{ClockId, clock_gettime};
use serde_json::value::RawValue;

use super::memory::Meter;
use super::pipes::FrameWriter;
use super::timers::Timers;
use crate::frames::{FromWorker, MAX_IN_FLIGHT, RawRequest, Start, encode};
use crate::report::{Fault, FaultKind, Level, cut};

/// State that outlives single calls into the engine.
pub(super) struct ScriptState {
    out: FrameWriter,
    clock: SystemClock,
    /// The code and its limits, once received.
    start: OnceCell<Start>,
    cpu_before: Cell<Duration>,
    pub(super) timers: RefCell<Timers>,
    /// Unanswered calls and their sizes.
    created: RefCell<HashMap<u32, usize>>,
    created_bytes: Cell<usize>,
    /// Queued calls.
    waiting: RefCell<VecDeque<(u32, Vec<u8>)>>,
    meter: Rc<Meter>,
    calls: Cell<u32>,
    log_bytes: Cell<usize>,
    log_lines: Cell<usize>,
    log_cut: Cell<bool>,
}

impl ScriptState {
    pub(super) fn new(out: FrameWriter, meter: Rc<Meter>) -> Self {
        Self {
            out,
            clock: SystemClock::default(),
            start: OnceCell::new(),
            cpu_before: Cell::new(Duration::ZERO),
            timers: RefCell::default(),
            created: RefCell::default(),
            created_bytes: Cell::new(0),
            waiting: RefCell::default(),
            meter,
            calls: Cell::new(0),
            log_bytes: Cell::new(0),
            log_lines: Cell::new(0),
            log_cut: Cell::new(false),
        }
    }

    /// Starts the run and its CPU time.
    pub(super) fn begin(&self, start: Start) -> &Start {
        self.cpu_before.set(cpu_time());
        self.start.get_or_init(|| start)
    }

    /// The code and its limits. Never called before they were received.
    pub(super) fn start(&self) -> &Start {
        self.start.get().unwrap_or_else(|| std::process::exit(1))
    }

    pub(super) fn out(&self) -> &FrameWriter {
        &self.out
    }

    pub(super) fn now(&self) -> Duration {
        self.clock.monotonic()
    }

    /// Sends the final message and ends the process.
    pub(super) fn end(&self, last: &FromWorker) -> ! {
        self.out.send(last);
        std::process::exit(0)
    }

    /// Fails the run without a line.
    pub(super) fn fail(&self, kind: FaultKind, message: impl Into<String>) -> ! {
        self.end(&FromWorker::Failed(Box::new(Fault::new(kind, message))))
    }

    /// Fails the run if its CPU time is exceeded.
    pub(super) fn check_cpu(&self) {
        let Some(start) = self.start.get() else {
            return;
        };
        let limit = Duration::from_millis(start.cpu_ms);
        if cpu_time().saturating_sub(self.cpu_before.get()) > limit {
            self.fail(
                FaultKind::Cpu,
                format!(
                    "the script exceeded its CPU time of {limit:?}; waiting does not count, so look for a \
                     loop that does not end, or process less data at a time"
                ),
            );
        }
    }

    pub(super) fn log(&self, level: Level, mut text: String) {
        if self.log_cut.get() {
            return;
        }
        let limits = self.start();
        let room = limits.log_bytes.saturating_sub(self.log_bytes.get());
        let full = self.log_lines.get() >= limits.log_lines || room == 0;
        let shortened = !full && cut(&mut text, room);
        if !full {
            self.log_lines.set(self.log_lines.get() + 1);
            self.log_bytes.set(self.log_bytes.get() + text.len());
            self.out.send(&FromWorker::Log { level, text });
        }
        if full || shortened {
            self.log_cut.set(true);
            self.out.send(&FromWorker::LogsCut);
        }
    }

    /// Makes or queues a call. The error says why it cannot be made at all.
    pub(super) fn ask(&self, id: u32, ask: RawRequest) -> Result<(), String> {
        let limits = self.start();
        if self.calls.get() >= limits.calls {
            self.fail(
                FaultKind::Calls,
                format!(
                    "the script made more than {} calls; request more per call, or return partial results",
                    limits.calls
                ),
            );
        }
        let frame = encode(&FromWorker::Ask { id, ask }).map_err(|error| error.to_string())?;
        if frame.len() > limits.frame {
            return Err(format!(
                "the call with its arguments has {} bytes and the limit is {}; send less at a time",
                frame.len(),
                limits.frame
            ));
        }
        self.calls.set(self.calls.get() + 1);
        // Behind queued calls, even if there is room: calls are made in the order of the script.
        if self.waiting.borrow().is_empty() && self.has_turn(frame.len()) {
            self.send(id, &frame);
            return Ok(());
        }
        if !self.meter.hold(frame.len()) {
            self.fail(
                FaultKind::Memory,
                "queued calls use too much memory; await some before making more",
            );
        }
        self.waiting.borrow_mut().push_back((id, frame));
        Ok(())
    }

    /// Handles the response to call `id`, and sends queued calls.
    pub(super) fn answered(&self, id: u32) {
        let size = self.created.borrow_mut().remove(&id).unwrap_or(0);
        self.created_bytes.set(self.created_bytes.get() - size);
        loop {
            let mut waiting = self.waiting.borrow_mut();
            let Some((id, frame)) = waiting.pop_front_if(|(_, frame)| self.has_turn(frame.len()))
            else {
                return;
            };
            // Released before sending: a full pipe blocks, and nothing may be borrowed then.
            drop(waiting);
            self.meter.release(frame.len());
            self.send(id, &frame);
        }
    }

    fn has_turn(&self, size: usize) -> bool {
        let created = self.created.borrow().len();
        let fits = created == 0 || self.created_bytes.get() + size <= MAX_IN_FLIGHT;
        created < self.start().calls_at_once && fits
    }

    fn send(&self, id: u32, frame: &[u8]) {
        self.created.borrow_mut().insert(id, frame.len());
        self.created_bytes
            .set(self.created_bytes.get() + frame.len());
        self.out.send_frame(frame);
    }

    pub(super) fn waits_for_answers(&self) -> bool {
        !self.created.borrow().is_empty()
    }
}

/// Makes the engine's JSON valid: an unpaired surrogate, which it writes as an escape, becomes the replacement character.
pub(super) fn raw(text: String) -> Result<Box<RawValue>, serde_json::Error> {
    RawValue::from_string(mend(text))
}

fn mend(mut text: String) -> String {
    let mut from = 0;
    while let Some(found) = text[from..].find('\\') {
        let at = from + found;
        let bytes = &text.as_bytes()[at..];
        let half = bytes.get(1) == Some(&b'u')
            && matches!(bytes.get(2), Some(b'd' | b'D'))
            && bytes
                .get(3)
                .is_some_and(|b| matches!(b, b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F'));
        if half && text.is_char_boundary(at + 6) {
            text.replace_range(at..at + 6, "\\ufffd");
        }
        from = (at + 2).min(text.len());
        while !text.is_char_boundary(from) {
            from += 1;
        }
    }
    text
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_characters_are_mended_and_nothing_else_is_touched() {
        let same = |text: &str| assert_eq!(mend(text.to_owned()), text);
        same(r#"{"a":"plain \n \\ \" \u0041 é 🎉"}"#);
        same(r#""\\ud800 is text""#);
        same("\"\\");
        assert_eq!(mend(r#""a\ud83d""#.to_owned()), r#""a\ufffd""#);
        assert_eq!(mend(r#""\udfff\ud800b""#.to_owned()), r#""\ufffd\ufffdb""#);
        let value: serde_json::Value =
            serde_json::from_str(raw(r#""\udead""#.to_owned()).unwrap().get()).unwrap();
        assert_eq!(value, "\u{fffd}");
    }
}
