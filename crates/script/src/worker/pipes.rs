//! The worker's side of the pipes.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::Serialize;

use crate::frames::{FrameBuffer, OVERHEAD, ToWorker, encode};

/// Read size.
const PIECE: usize = 64 << 10;

/// Exits silently: there is nobody left to report to.
fn leave() -> ! {
    std::process::exit(1)
}

/// Receives from the parent.
#[derive(Debug)]
pub(super) struct FrameReader {
    pipe: OwnedFd,
    incoming: FrameBuffer,
    limit: usize,
}

impl FrameReader {
    pub(super) fn new(pipe: OwnedFd, limit: usize) -> Self {
        Self {
            pipe,
            incoming: FrameBuffer::default(),
            limit,
        }
    }

    /// Sets the maximum payload of a frame.
    pub(super) fn bound(&mut self, limit: usize) {
        self.limit = limit.saturating_add(OVERHEAD);
    }

    /// Returns the next frame, waiting at most `wait`, or forever.
    pub(super) fn next(&mut self, wait: Option<Duration>) -> Option<ToWorker> {
        loop {
            match self.incoming.take(self.limit) {
                Ok(Some(frame)) => match serde_json::from_slice(&frame) {
                    Ok(message) => return Some(message),
                    Err(_) => leave(),
                },
                Ok(None) => {}
                Err(_) => leave(),
            }
            if !self.readable(wait) {
                return None;
            }
            self.read();
        }
    }

    fn readable(&self, wait: Option<Duration>) -> bool {
        let wait = wait.map(|wait| Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(wait.subsec_nanos()),
        });
        let mut pipes = [PollFd::new(&self.pipe, PollFlags::IN)];
        match poll(&mut pipes, wait.as_ref()) {
            Ok(ready) => ready > 0,
            Err(Errno::INTR) => false,
            Err(_) => leave(),
        }
    }

    fn read(&mut self) {
        let bytes = self.incoming.bytes();
        let before = bytes.len();
        // Read directly into the buffer, to avoid copying large results.
        bytes.resize(before + PIECE, 0);
        let count = match rustix::io::read(self.pipe.as_fd(), &mut bytes[before..]) {
            Ok(0) => leave(),
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(_) => leave(),
        };
        bytes.truncate(before + count);
    }
}

/// Sends to the parent.
#[derive(Debug)]
pub(super) struct FrameWriter(pub(super) OwnedFd);

impl FrameWriter {
    pub(super) fn send(&self, message: &impl Serialize) {
        match encode(message) {
            Ok(frame) => self.send_frame(&frame),
            Err(_) => leave(),
        }
    }

    pub(super) fn send_frame(&self, mut frame: &[u8]) {
        while !frame.is_empty() {
            match rustix::io::write(&self.0, frame) {
                Ok(count) => frame = &frame[count..],
                Err(Errno::INTR) => {}
                Err(_) => leave(),
            }
        }
    }
}
