//! A program that exchanges one message per line over standard input and output.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use manyhands_guard::{Exit, Program, RunningProgram, Stdin, SuperviseError, Supervisor};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::UpstreamError;
use crate::hub::Hub;
use crate::lines::{LineRead, LineReader, id_in};
use crate::server::{Server, Transport};

/// Time a program gets to exit after its input was closed.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// How long to wait for a program's remaining output after its exit, or for its exit after that.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// The end of a program's standard error.
#[derive(Debug, Clone, Default)]
pub(crate) struct StderrTail(Arc<Mutex<VecDeque<u8>>>);

impl StderrTail {
    /// The captured text.
    pub(crate) fn text(&self) -> String {
        let mut tail = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        String::from_utf8_lossy(tail.make_contiguous()).into_owned()
    }

    fn push(&self, bytes: &[u8], limit: usize) {
        let mut tail = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        // A single write may exceed the bound.
        let bytes = &bytes[bytes.len().saturating_sub(limit)..];
        let excess = (tail.len() + bytes.len()).saturating_sub(limit);
        tail.drain(..excess);
        tail.extend(bytes);
    }

    async fn fill(self, mut from: impl AsyncRead + Unpin, limit: usize) {
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            self.push(&buffer[..count], limit);
        }
    }
}

/// Fires when a program's output was read completely.
#[derive(Debug, Clone, Default)]
struct Drained {
    stdout: CancellationToken,
    stderr: CancellationToken,
}

/// Starts the program of `server`, which is stopped when its hub ends.
pub(crate) fn start(
    server: &Server,
    supervisor: &Supervisor,
    hub: &Arc<Hub>,
    queue: mpsc::Receiver<Bytes>,
    programs: &TaskTracker,
) -> Result<StderrTail, UpstreamError> {
    let Transport::Stdio {
        program,
        args,
        env,
        cwd,
        sandbox,
    } = &server.transport
    else {
        return Err(super::garbage("not a stdio server"));
    };
    let mut start = Program::new(program)
        .args(args)
        .stdin(Stdin::Piped)
        .sandbox(sandbox.clone());
    for (name, value) in env {
        start = start.env(name, value);
    }
    if let Some(cwd) = cwd {
        start = start.cwd(cwd);
    }
    let failed = |e: SuperviseError| UpstreamError::Unreachable(e.to_string());
    let mut running = supervisor
        .start(start, &CancellationToken::new())
        .map_err(failed)?;
    let stderr = StderrTail::default();
    let drained = Drained::default();
    if let Some(pipe) = running.stderr.take() {
        let ended = drained.stderr.clone().drop_guard();
        let capture = stderr.clone().fill(pipe, server.bounds.stderr);
        let closing_hub = hub.clone();
        // A process that escaped its group may hold the pipe open forever.
        hub.tasks.spawn(async move {
            let _ended = ended;
            tokio::select! {
                () = capture => {}
                () = async { closing_hub.closed().await; tokio::time::sleep(DRAIN_TIMEOUT).await } => {}
            }
        });
    }
    if let Some(pipe) = running.stdin.take() {
        hub.tasks.spawn(write(hub.clone(), pipe, queue));
    }
    if let Some(pipe) = running.stdout.take() {
        let limit = server.bounds.message;
        hub.tasks
            .spawn(read(hub.clone(), pipe, limit, drained.stdout.clone()));
    }
    let supervision = supervise(hub.clone(), running, stderr.clone(), drained);
    // Stopping the server waits for its programs, including those abandoned by a protocol fallback.
    hub.tasks.spawn(programs.track_future(supervision));
    Ok(stderr)
}

/// Writes queued messages. When it returns, the program's input is closed.
async fn write(hub: Arc<Hub>, mut pipe: ChildStdin, mut queue: mpsc::Receiver<Bytes>) {
    loop {
        let sent = tokio::select! {
            biased;
            () = hub.closed() => return,
            body = queue.recv() => match body {
                Some(body) => tokio::select! {
                    biased;
                    () = hub.closed() => return,
                    sent = pipe.write_all(&body) => sent,
                },
                None => return,
            },
        };
        if sent.is_err() {
            return; // the program is exiting; `supervise` reports why
        }
    }
}

async fn read(hub: Arc<Hub>, pipe: ChildStdout, limit: usize, drained: CancellationToken) {
    let mut lines = LineReader::new(pipe, limit);
    let too_large = UpstreamError::TooLarge {
        what: "its answer",
        limit,
    };
    loop {
        let line = tokio::select! {
            biased;
            () = hub.closed() => return,
            line = lines.next() => line,
        };
        match line {
            // A line that is too long fails one request if its id is recognisable, otherwise all of them:
            // the connection itself is still usable.
            LineRead::Complete(line) => hub.receive_bytes(&line, None),
            LineRead::TooLong(seen) => hub.fail(id_in(&seen), &too_large),
            LineRead::Endless => {
                hub.end(too_large);
                return;
            }
            LineRead::End => break,
        }
    }
    drained.cancel();
    // The exit status is a better reason than a closed pipe, so give `supervise` time to report it.
    if timeout(DRAIN_TIMEOUT * 2, hub.closed()).await.is_err() {
        hub.end(UpstreamError::Lost("it closed its output".to_owned()));
    }
}

/// Runs until the program exits or the connection ends.
async fn supervise(
    hub: Arc<Hub>,
    mut running: RunningProgram,
    stderr: StderrTail,
    drained: Drained,
) {
    let ended = tokio::select! {
        ended = running.wait() => Some(ended),
        () = hub.closed() => None,
    };
    match ended {
        Some(ended) => {
            let all = async {
                drained.stdout.cancelled().await;
                drained.stderr.cancelled().await;
            };
            // Its last error message may still be in the pipe when the exit is noticed.
            let _ = timeout(DRAIN_TIMEOUT, all).await;
            let how = match ended {
                Ok((Exit::Code(code), _)) => format!("the program exited with code {code}"),
                Ok((Exit::Signal(signal), _)) => format!("the program was killed by {signal}"),
                Err(error) => error.to_string(),
            };
            let text = stderr.text();
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            hub.end(UpstreamError::Lost(match last {
                Some(last) => {
                    let last: String = last.chars().take(300).collect();
                    format!("{how}; last log line: {last}")
                }
                None => how,
            }));
        }
        None => {
            // Its input is closed by now, which is how MCP asks a program to exit.
            if timeout(EXIT_TIMEOUT, running.wait()).await.is_err() {
                running.stop();
                let _ = running.wait().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_stderr_is_kept() {
        let tail = StderrTail::default();
        tail.push(b"abc", 5);
        tail.push(b"defg", 5);
        assert_eq!(tail.text(), "cdefg");
        tail.push(b"0123456789", 5);
        assert_eq!(tail.text(), "56789");
    }
}
