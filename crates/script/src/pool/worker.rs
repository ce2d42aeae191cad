//! The parent's side of the pipes.

use std::io;
use std::path::Path;

use manyhands_guard::{Exit, Program, RunningProgram, Sandbox, Stdin, SuperviseError, Supervisor};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio_util::sync::CancellationToken;

use crate::frames::{FrameBuffer, FrameTooLong};

/// Read size.
const CHUNK: usize = 16 << 10;

/// How much of a crashed worker's stderr is read.
const MAX_STDERR: usize = 2048;

/// A running worker. Stopped when dropped.
pub(super) struct Worker {
    running: RunningProgram,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    incoming: FrameBuffer,
}

/// What was received from a worker.
pub(super) enum Received {
    Frame(Vec<u8>),
    /// It has exited.
    Eof,
    TooLong(usize),
}

impl Worker {
    pub(super) fn start(
        supervisor: &Supervisor,
        program: &Path,
        args: &[String],
        sandbox: &Sandbox,
    ) -> Result<Self, SuperviseError> {
        let start = Program::new(program)
            .args(args)
            // It has no files; any other directory would be kept busy and could not be unmounted.
            .cwd("/")
            .stdin(Stdin::Piped)
            .sandbox(Some(sandbox.clone()));
        let mut running = supervisor.start(start, &CancellationToken::new())?;
        let (stdin, stdout) = (running.stdin.take(), running.stdout.take());
        let lost = || SuperviseError::Start {
            path: program.to_owned(),
            error: io::Error::other("it has no pipes"),
        };
        Ok(Self {
            stderr: running.stderr.take(),
            stdin: Some(stdin.ok_or_else(lost)?),
            stdout: stdout.ok_or_else(lost)?,
            running,
            incoming: FrameBuffer::default(),
        })
    }

    /// Receives at most `limit` bytes, and sends what is in `outgoing` meanwhile. Returns when something was received or sent.
    /// Cancel-safe.
    pub(super) async fn exchange(
        &mut self,
        limit: usize,
        outgoing: &mut FrameQueue,
    ) -> Option<Received> {
        match self.incoming.take(limit) {
            Ok(Some(frame)) => return Some(Received::Frame(frame)),
            Ok(None) => {}
            Err(FrameTooLong(length)) => return Some(Received::TooLong(length)),
        }
        let chunk = outgoing.chunk();
        let sending = async {
            match (&mut self.stdin, chunk) {
                (Some(pipe), Some(chunk)) => pipe.write(chunk).await,
                _ => std::future::pending().await,
            }
        };
        // Always read, even while writing: otherwise both sides could block on a full pipe.
        self.incoming.bytes().reserve(CHUNK);
        let receiving = self.stdout.read_buf(self.incoming.bytes());
        let (written, received) = tokio::select! {
            written = sending => (Some(written), None),
            received = receiving => (None, Some(received)),
        };
        match (written, received) {
            (Some(Ok(count)), _) => outgoing.sent(count),
            // It does not read any more; what it sent before is still to be received.
            (Some(Err(_)), _) => self.stdin = None,
            (None, Some(Ok(0) | Err(_))) => return Some(Received::Eof),
            (None, _) => {}
        }
        None
    }

    /// Returns its exit status and its stderr.
    pub(super) async fn end(mut self) -> (Option<Exit>, String) {
        self.running.stop();
        let exit = self.running.wait().await.ok().map(|(exit, _)| exit);
        let mut written = Vec::new();
        if let Some(stderr) = self.stderr.take() {
            // Ends soon: the whole process group is gone.
            let mut stderr = stderr.take(MAX_STDERR as u64);
            let _ = stderr.read_to_end(&mut written).await;
        }
        (exit, String::from_utf8_lossy(&written).into_owned())
    }
}

/// Frames queued for a worker.
#[derive(Debug, Default)]
pub(super) struct FrameQueue {
    frames: std::collections::VecDeque<Vec<u8>>,
    /// How much of the first frame was sent.
    at: usize,
    bytes: usize,
}

impl FrameQueue {
    pub(super) fn push(&mut self, frame: Vec<u8>) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
    }

    /// Number of unsent bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn chunk(&self) -> Option<&[u8]> {
        self.frames.front().map(|frame| &frame[self.at..])
    }

    fn sent(&mut self, count: usize) {
        self.at += count;
        self.bytes -= count;
        if self
            .frames
            .front()
            .is_some_and(|frame| self.at >= frame.len())
        {
            self.frames.pop_front();
            self.at = 0;
        }
    }
}
