//! One run, as its parent sees it: nothing that the worker says is taken on trust.

use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use manyhands_core::Clock;
use manyhands_guard::Exit;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Run;
use super::worker::{Heard, Outgoing, Worker};
use crate::frames::{AROUND, AT_ONCE, FromWorker, RawAsk, Start, ToWorker, encode};
use crate::host::{Ask, Thrown};
use crate::report::{Fault, FaultKind, Level, LogLine, Report, cut};

/// Bytes of answers on their way before no more are made ready.
const MOST_READY: usize = 32 << 20;

/// The longest code and message of a refusal.
const LONGEST_REFUSAL: usize = 32 << 10;

/// What came of a worker.
pub(super) enum End {
    Answer(Result<Value, Fault>),
    /// It was gone before it said a word.
    NeverSpoke(Fault),
}

/// An answer that a host works on: for which call, of what size, and what it is.
type Answer<'a> = Pin<Box<dyn Future<Output = (u32, usize, Result<Value, Thrown>)> + Send + 'a>>;

/// What has been said so far.
pub(super) struct Conversation<'a> {
    run: &'a Run,
    clock: &'a dyn Clock,
    started: Duration,
    logs: Vec<LogLine>,
    log_bytes: usize,
    logs_cut: bool,
    calls: u32,
    frames: usize,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(run: &'a Run, clock: &'a dyn Clock, started: Duration) -> Self {
        Self {
            run,
            clock,
            started,
            logs: Vec::new(),
            log_bytes: 0,
            logs_cut: false,
            calls: 0,
            frames: 0,
        }
    }

    pub(super) fn report(self, outcome: Result<Value, Fault>, elapsed: Duration) -> Report {
        Report {
            outcome,
            logs: self.logs,
            logs_cut: self.logs_cut,
            calls: self.calls,
            elapsed,
        }
    }

    /// Gives `worker` the code and answers it until it is done. Dropped, all it asked for is dropped too.
    pub(super) async fn hold(&mut self, mut worker: Worker) -> End {
        let limits = &self.run.limits;
        let most = limits.frame.max(limits.output).saturating_add(AROUND);
        let mut outgoing = Outgoing::default();
        outgoing.push(self.first_frame());
        let mut answers: FuturesUnordered<Answer<'a>> = FuturesUnordered::new();
        let mut held = 0;
        loop {
            let heard = tokio::select! {
                heard = worker.exchange(most, &mut outgoing) => heard,
                Some((id, size, answer)) = answers.next(), if outgoing.bytes() <= MOST_READY => {
                    held -= size;
                    outgoing.push(answer_frame(id, answer, limits.frame));
                    continue;
                }
            };
            let frame = match heard {
                None => continue,
                Some(Heard::Frame(frame)) => frame,
                Some(Heard::Nothing) => return self.gone(worker).await,
                Some(Heard::TooLong(length)) => {
                    return End::Answer(Err(broke(&format!("a frame of {length} bytes"))));
                }
            };
            match self.listen(&frame, answers.len()) {
                Ok(Step::On) => {}
                Ok(Step::Call(id, ask)) => {
                    held += frame.len();
                    if held > AT_ONCE && !answers.is_empty() {
                        return End::Answer(Err(broke("more at once than it may")));
                    }
                    let (host, size) = (&self.run.host, frame.len());
                    answers.push(Box::pin(async move {
                        let answer = match ask {
                            Ok(ask) => host.call(ask).await,
                            Err(refusal) => Err(refusal),
                        };
                        (id, size, answer)
                    }));
                }
                Ok(Step::Done(value)) => {
                    self.leave_behind(answers.len());
                    return End::Answer(Ok(value));
                }
                Err(fault) => return End::Answer(Err(fault)),
            }
        }
    }

    fn first_frame(&self) -> Vec<u8> {
        let limits = &self.run.limits;
        let start = Start {
            code: self.run.code.clone(),
            memory: limits.memory,
            cpu_ms: u64::try_from(limits.cpu.as_millis()).unwrap_or(u64::MAX),
            calls: limits.calls,
            calls_at_once: limits.calls_at_once,
            log_bytes: limits.log_bytes,
            log_lines: limits.log_lines,
            output: limits.output,
            frame: limits.frame,
        };
        encode(&ToWorker::Start(Box::new(start))).unwrap_or_default()
    }

    /// Takes in one frame while `at_once` calls are being answered.
    fn listen(&mut self, frame: &[u8], at_once: usize) -> Result<Step, Fault> {
        let limits = &self.run.limits;
        self.frames += 1;
        // A line each, a call each, the cut and the end: more is no script of ours.
        if self.frames > limits.log_lines + limits.calls as usize + 8 {
            return Err(broke("more than it has to say"));
        }
        let message = serde_json::from_slice(frame).map_err(|_| broke("what is no frame"))?;
        match message {
            FromWorker::Log { level, text } => self.log(level, text),
            FromWorker::LogsCut => self.logs_cut = true,
            FromWorker::Failed(fault) => return Err(fault.told_by_worker(&self.run.code)),
            FromWorker::Done { value } => return self.done(&value).map(Step::Done),
            FromWorker::Ask { id, ask } => {
                if self.calls >= limits.calls || at_once >= limits.calls_at_once {
                    return Err(broke("more calls than it may make"));
                }
                self.calls += 1;
                return Ok(Step::Call(id, ask_of(ask)));
            }
        }
        Ok(Step::On)
    }

    fn done(&self, value: &RawValue) -> Result<Value, Fault> {
        let (long, most) = (value.get().len(), self.run.limits.output);
        if long > most {
            return Err(broke(&format!("a result of {long} bytes")));
        }
        serde_json::from_str(value.get()).map_err(|error| {
            Fault::new(
                FaultKind::Output,
                format!(
                    "the returned value cannot be taken over ({error}); return something less deep"
                ),
            )
        })
    }

    fn log(&mut self, level: Level, mut text: String) {
        let room = self.run.limits.log_bytes.saturating_sub(self.log_bytes);
        let full = self.logs.len() >= self.run.limits.log_lines || (room == 0 && !text.is_empty());
        if full || cut(&mut text, room) {
            self.logs_cut = true;
        }
        if full {
            return;
        }
        self.log_bytes += text.len();
        let at = self.clock.monotonic().saturating_sub(self.started);
        let line = LogLine {
            level,
            text,
            at_ms: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
        };
        self.run.host.said(&line);
        self.logs.push(line);
    }

    /// Says that the script did not wait for something it asked for.
    fn leave_behind(&mut self, calls: usize) {
        if calls > 0 {
            let text = format!(
                "{calls} of the script's calls were not awaited when it ended and were cancelled; \
                 whether they took effect is not known"
            );
            self.log(Level::Warn, text);
        }
    }

    /// The worker is gone without a last word.
    async fn gone(&self, worker: Worker) -> End {
        let (exit, said) = worker.end().await;
        let fault = match exit {
            Some(Exit::Signal(signal)) if signal == "SIGXCPU" => Fault::new(
                FaultKind::Cpu,
                format!(
                    "the script used up {:?} of time on the processor",
                    self.run.limits.cpu
                ),
            ),
            _ if said.contains("memory allocation of") => Fault::new(
                FaultKind::Memory,
                "the script's process ran out of memory; work on less at a time",
            ),
            exit => {
                let how = match exit {
                    Some(Exit::Signal(signal)) => format!("by {signal}"),
                    Some(Exit::Code(code)) => format!("with code {code}"),
                    None => "in a way that is not known".to_owned(),
                };
                tracing::warn!(%how, %said, "a script's process ended early");
                Fault::new(
                    FaultKind::Crashed,
                    format!("the script's process ended {how}"),
                )
            }
        };
        if self.frames == 0 && fault.kind == FaultKind::Crashed {
            return End::NeverSpoke(fault);
        }
        End::Answer(Err(fault))
    }
}

/// What follows from a frame.
enum Step {
    On,
    Call(u32, Result<Ask, Thrown>),
    Done(Value),
}

fn ask_of(ask: RawAsk) -> Result<Ask, Thrown> {
    Ok(match ask {
        RawAsk::Tool {
            server,
            tool,
            arguments,
        } => {
            let arguments = serde_json::from_str(arguments.get()).map_err(|error| {
                Thrown::new(
                    "INVALID_ARGUMENTS",
                    format!(
                        "the arguments cannot be taken over ({error}); send something less deep"
                    ),
                )
            })?;
            Ask::Tool {
                server,
                tool,
                arguments,
            }
        }
        RawAsk::CreateArtifact {
            filename,
            content,
            file_type,
        } => Ask::CreateArtifact {
            filename,
            content,
            file_type,
        },
        RawAsk::ReadArtifact { identifier } => Ask::ReadArtifact { identifier },
    })
}

/// The frame that carries an answer; one that is too long is refused in its place.
fn answer_frame(id: u32, answer: Result<Value, Thrown>, most: usize) -> Vec<u8> {
    let refuse = |mut refusal: Thrown| {
        cut(&mut refusal.code, LONGEST_REFUSAL);
        cut(&mut refusal.message, LONGEST_REFUSAL);
        let Thrown { code, message } = refusal;
        encode(&ToWorker::Refusal { id, code, message }).unwrap_or_default()
    };
    let value = match answer {
        Ok(value) => value,
        Err(refusal) => return refuse(refusal),
    };
    let text = serde_json::to_string(&value).and_then(RawValue::from_string);
    match text {
        Ok(value) if value.get().len() <= most => {
            encode(&ToWorker::Answer { id, value }).unwrap_or_default()
        }
        Ok(value) => refuse(Thrown::new(
            "RESULT_TOO_LARGE",
            format!(
                "the result is {} bytes and a script can take {most}; ask for less at a time",
                value.get().len()
            ),
        )),
        Err(error) => refuse(Thrown::new("INTERNAL", error.to_string())),
    }
}

fn broke(what: &str) -> Fault {
    Fault::new(
        FaultKind::Crashed,
        format!("the script's process did not keep to the protocol: it sent {what}"),
    )
}
