//! The parent's ends of the pipes.

use std::io;
use std::path::Path;

use manyhands_guard::{Exit, Program, RunningProgram, Sandbox, Stdin, SuperviseError, Supervisor};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio_util::sync::CancellationToken;

use crate::frames::{Incoming, TooLong};

/// How much is read at a time.
const PIECE: usize = 16 << 10;

/// How much of what a worker says when it breaks is looked at.
const LAST_WORDS: usize = 2048;

/// A worker that runs. Dropping it ends it.
pub(super) struct Worker {
    running: RunningProgram,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    incoming: Incoming,
}

/// What came of listening to a worker.
pub(super) enum Heard {
    Frame(Vec<u8>),
    /// It is gone.
    Nothing,
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
            incoming: Incoming::default(),
        })
    }

    /// What it says next, at most `most` bytes of it; and meanwhile says to it what is in `outgoing`. Returns
    /// when something was heard, or when something could be said. May be dropped and called again.
    pub(super) async fn exchange(&mut self, most: usize, outgoing: &mut Outgoing) -> Option<Heard> {
        match self.incoming.take(most) {
            Ok(Some(frame)) => return Some(Heard::Frame(frame)),
            Ok(None) => {}
            Err(TooLong(length)) => return Some(Heard::TooLong(length)),
        }
        let piece = outgoing.piece();
        let speak = async {
            match (&mut self.stdin, piece) {
                (Some(pipe), Some(piece)) => pipe.write(piece).await,
                _ => std::future::pending().await,
            }
        };
        // Listened to always: a worker that could not speak would not listen either.
        self.incoming.bytes().reserve(PIECE);
        let hear = self.stdout.read_buf(self.incoming.bytes());
        let (said, heard) = tokio::select! {
            said = speak => (Some(said), None),
            heard = hear => (None, Some(heard)),
        };
        match (said, heard) {
            (Some(Ok(count)), _) => outgoing.said(count),
            // It does not listen; what it said before it went is still to be heard.
            (Some(Err(_)), _) => self.stdin = None,
            (None, Some(Ok(0) | Err(_))) => return Some(Heard::Nothing),
            (None, _) => {}
        }
        None
    }

    /// How it ended, and what it said of that.
    pub(super) async fn end(mut self) -> (Option<Exit>, String) {
        self.running.stop();
        let exit = self.running.wait().await.ok().map(|(exit, _)| exit);
        let mut said = Vec::new();
        if let Some(stderr) = self.stderr.take() {
            // The whole group is gone, so this ends.
            let mut stderr = stderr.take(LAST_WORDS as u64);
            let _ = stderr.read_to_end(&mut said).await;
        }
        (exit, String::from_utf8_lossy(&said).into_owned())
    }
}

/// Frames on their way to a worker.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    frames: std::collections::VecDeque<Vec<u8>>,
    /// How much of the first is said.
    at: usize,
    bytes: usize,
}

impl Outgoing {
    pub(super) fn push(&mut self, frame: Vec<u8>) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
    }

    /// Bytes that are not said yet.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn piece(&self) -> Option<&[u8]> {
        self.frames.front().map(|frame| &frame[self.at..])
    }

    fn said(&mut self, count: usize) {
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
