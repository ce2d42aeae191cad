//! One run from the parent's side: nothing the worker sends is trusted.

use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use manyhands_core::Clock;
use manyhands_guard::Exit;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Run;
use super::worker::{FrameQueue, Received, Worker};
use crate::frames::{FromWorker, MAX_IN_FLIGHT, OVERHEAD, RawRequest, Start, ToWorker, encode};
use crate::host::{HostError, HostRequest};
use crate::report::{Fault, FaultKind, Level, LogLine, Report, cut};

/// Maximum size of queued responses before further ones are held back.
const MAX_QUEUED: usize = 32 << 20;

/// Maximum length of the code and message of an error.
const MAX_ERROR: usize = 32 << 10;

/// Outcome of a worker.
pub(super) enum WorkerOutcome {
    Finished(Result<Value, Fault>),
    /// It exited before it sent anything.
    NeverStarted(Fault),
}

/// A pending call: its id, its size, and its result.
type PendingCall<'a> =
    Pin<Box<dyn Future<Output = (u32, usize, Result<Value, HostError>)> + Send + 'a>>;

/// State of a run.
pub(super) struct WorkerSession<'a> {
    run: &'a Run,
    clock: &'a dyn Clock,
    started: Duration,
    logs: Vec<LogLine>,
    log_bytes: usize,
    logs_cut: bool,
    calls: u32,
    frames: usize,
}

impl<'a> WorkerSession<'a> {
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

    /// Sends the code to `worker` and answers it until it is done. Dropping it cancels all pending calls.
    pub(super) async fn run(&mut self, mut worker: Worker) -> WorkerOutcome {
        let limits = &self.run.limits;
        let limit = limits.frame.max(limits.output).saturating_add(OVERHEAD);
        let mut outgoing = FrameQueue::default();
        outgoing.push(self.first_frame());
        let mut answers: FuturesUnordered<PendingCall<'a>> = FuturesUnordered::new();
        let mut in_flight = 0;
        loop {
            let received = tokio::select! {
                received = worker.exchange(limit, &mut outgoing) => received,
                Some((id, size, answer)) = answers.next(), if outgoing.bytes() <= MAX_QUEUED => {
                    in_flight -= size;
                    outgoing.push(answer_frame(id, answer, limits.frame));
                    continue;
                }
            };
            let frame = match received {
                None => continue,
                Some(Received::Frame(frame)) => frame,
                Some(Received::Eof) => return self.worker_ended(worker).await,
                Some(Received::TooLong(length)) => {
                    return WorkerOutcome::Finished(Err(broke(&format!(
                        "a frame of {length} bytes"
                    ))));
                }
            };
            match self.on_frame(&frame, answers.len()) {
                Ok(FrameResult::Continue) => {}
                Ok(FrameResult::Call(id, ask)) => {
                    in_flight += frame.len();
                    // The worker respects this limit itself; exceeding it means that it is not our code any more.
                    if in_flight > MAX_IN_FLIGHT && !answers.is_empty() {
                        return WorkerOutcome::Finished(Err(broke(
                            "more concurrent calls than allowed",
                        )));
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
                Ok(FrameResult::Done(value)) => {
                    // Their futures are dropped with this one, which cancels the calls.
                    self.warn_unawaited(answers.len());
                    return WorkerOutcome::Finished(Ok(value));
                }
                Err(fault) => return WorkerOutcome::Finished(Err(fault)),
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

    /// Handles one frame while `at_once` calls are pending.
    fn on_frame(&mut self, frame: &[u8], at_once: usize) -> Result<FrameResult, Fault> {
        let limits = &self.run.limits;
        // Counted before parsing: invalid frames use up the limit too.
        self.frames += 1;
        // One frame per line and call, plus a few: more cannot come from our worker.
        if self.frames > limits.log_lines + limits.calls as usize + 8 {
            return Err(broke("too many frames"));
        }
        // Untrusted: the script may have found a way to run its own code in the worker.
        let message = serde_json::from_slice(frame).map_err(|_| broke("an invalid frame"))?;
        match message {
            FromWorker::Log { level, text } => self.log(level, text),
            FromWorker::LogsCut => self.logs_cut = true,
            FromWorker::Failed(fault) => return Err(fault.located_in(&self.run.code)),
            FromWorker::Done { value } => return self.done(&value).map(FrameResult::Done),
            FromWorker::Ask { id, ask } => {
                // Enforced here as well as in the worker, which a script may have subverted.
                if self.calls >= limits.calls || at_once >= limits.calls_at_once {
                    return Err(broke("more calls than allowed"));
                }
                self.calls += 1;
                return Ok(FrameResult::Call(id, host_request(ask)));
            }
        }
        Ok(FrameResult::Continue)
    }

    fn done(&self, value: &RawValue) -> Result<Value, Fault> {
        let (long, limit) = (value.get().len(), self.run.limits.output);
        if long > limit {
            return Err(broke(&format!("a result of {long} bytes")));
        }
        serde_json::from_str(value.get()).map_err(|error| {
            Fault::new(
                FaultKind::Output,
                format!(
                    "cannot read the returned value ({error}); return something less deeply nested"
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
        // Passed on at once, so that a long script shows what it does.
        self.run.host.on_log(&line);
        self.logs.push(line);
    }

    /// Warns that the script did not await all of its calls.
    fn warn_unawaited(&mut self, calls: usize) {
        if calls > 0 {
            let (calls, they) = match calls {
                1 => ("1 call was".to_owned(), "it"),
                more => (format!("{more} calls were"), "they"),
            };
            let text = format!(
                "{calls} not awaited and cancelled when the script ended; {they} may have taken effect"
            );
            self.log(Level::Warn, text);
        }
    }

    /// The worker exited without a final message.
    async fn worker_ended(&self, worker: Worker) -> WorkerOutcome {
        let (exit, stderr) = worker.end().await;
        let fault = match exit {
            // The kernel sends it at the soft limit of RLIMIT_CPU, which only our own limit sets.
            Some(Exit::Signal(signal)) if signal == "SIGXCPU" => Fault::new(
                FaultKind::Cpu,
                format!(
                    "the script exceeded its CPU time of {:?}",
                    self.run.limits.cpu
                ),
            ),
            // Rust prints this before it aborts; the exit status alone is that of any abort.
            _ if stderr.contains("memory allocation of") => Fault::new(
                FaultKind::Memory,
                "the script ran out of memory; process less data at a time",
            ),
            exit => {
                let how = match exit {
                    Some(Exit::Signal(signal)) => format!("by {signal}"),
                    Some(Exit::Code(code)) => format!("with code {code}"),
                    None => "for an unknown reason".to_owned(),
                };
                tracing::warn!(event = "script_worker_crashed", %how, %stderr, "script worker exited unexpectedly");
                Fault::new(
                    FaultKind::Crashed,
                    format!("the script's process exited {how}"),
                )
            }
        };
        // A worker that died while it was waiting says nothing about the script: the pool retries it.
        if self.frames == 0 && fault.kind == FaultKind::Crashed {
            return WorkerOutcome::NeverStarted(fault);
        }
        WorkerOutcome::Finished(Err(fault))
    }
}

/// Result of a frame.
enum FrameResult {
    Continue,
    Call(u32, Result<HostRequest, HostError>),
    Done(Value),
}

fn host_request(ask: RawRequest) -> Result<HostRequest, HostError> {
    Ok(match ask {
        RawRequest::Tool {
            server,
            tool,
            arguments,
        } => {
            let arguments = serde_json::from_str(arguments.get()).map_err(|error| {
                HostError::new(
                    "INVALID_ARGUMENTS",
                    format!(
                        "cannot read the arguments ({error}); send something less deeply nested"
                    ),
                )
            })?;
            HostRequest::Tool {
                server,
                tool,
                arguments,
            }
        }
        RawRequest::CreateArtifact {
            filename,
            content,
            file_type,
        } => HostRequest::CreateArtifact {
            filename,
            content,
            file_type,
        },
        RawRequest::ReadArtifact { identifier } => HostRequest::ReadArtifact { identifier },
    })
}

/// Encodes a response; one that is too long is replaced by an error.
fn answer_frame(id: u32, answer: Result<Value, HostError>, limit: usize) -> Vec<u8> {
    let refuse = |mut refusal: HostError| {
        // An error must always fit, because it also replaces results that do not.
        cut(&mut refusal.code, MAX_ERROR);
        cut(&mut refusal.message, MAX_ERROR);
        let HostError { code, message } = refusal;
        encode(&ToWorker::Refusal { id, code, message }).unwrap_or_default()
    };
    let value = match answer {
        Ok(value) => value,
        Err(refusal) => return refuse(refusal),
    };
    let text = serde_json::to_string(&value).and_then(RawValue::from_string);
    match text {
        Ok(value) if value.get().len() <= limit => {
            encode(&ToWorker::Answer { id, value }).unwrap_or_default()
        }
        Ok(value) => refuse(HostError::new(
            "RESULT_TOO_LARGE",
            format!(
                "the result has {} bytes and the limit is {limit}; request less at a time",
                value.get().len()
            ),
        )),
        Err(error) => refuse(HostError::new("INTERNAL", error.to_string())),
    }
}

fn broke(what: &str) -> Fault {
    Fault::new(
        FaultKind::Crashed,
        format!("the script's process violated the protocol: it sent {what}"),
    )
}
