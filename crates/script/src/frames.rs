//! The messages on the pipes: a length of four bytes, followed by JSON.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::report::{Fault, Level};

/// Size of the length prefix.
pub(crate) const HEAD: usize = 4;

/// Maximum size of a frame besides its payload.
pub(crate) const OVERHEAD: usize = 64 << 10;

/// Maximum total size of unanswered calls, unless a single one is larger.
pub(crate) const MAX_IN_FLIGHT: usize = 32 << 20;

/// Messages to a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToWorker {
    /// The first frame; there is exactly one.
    Start(Box<Start>),
    /// The result of a request.
    Answer { id: u32, value: Box<RawValue> },
    /// The error of a request.
    Refusal {
        id: u32,
        code: String,
        message: String,
    },
}

/// The code and its limits.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) code: String,
    pub(crate) memory: usize,
    pub(crate) cpu_ms: u64,
    pub(crate) calls: u32,
    pub(crate) calls_at_once: usize,
    pub(crate) log_bytes: usize,
    pub(crate) log_lines: usize,
    pub(crate) output: usize,
    pub(crate) frame: usize,
}

/// Messages from a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromWorker {
    /// A line of the console.
    Log { level: Level, text: String },
    /// Further console output is dropped.
    LogsCut,
    /// A request to its host.
    Ask { id: u32, ask: RawRequest },
    /// The script returned this.
    Done { value: Box<RawValue> },
    /// The script failed.
    Failed(Box<Fault>),
}

/// A request with unparsed arguments.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RawRequest {
    Tool {
        server: String,
        tool: String,
        arguments: Box<RawValue>,
    },
    CreateArtifact {
        filename: String,
        content: String,
        file_type: Option<String>,
    },
    ReadArtifact {
        identifier: String,
    },
}

/// Encodes a message with its length.
pub(crate) fn encode(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut frame = vec![0; HEAD];
    serde_json::to_writer(&mut frame, message)?;
    // Frames are limited to a few MiB before they get here.
    let length = u32::try_from(frame.len() - HEAD).unwrap_or(u32::MAX);
    frame[..HEAD].copy_from_slice(&length.to_be_bytes());
    Ok(frame)
}

/// Bytes received so far.
#[derive(Debug, Default)]
pub(crate) struct FrameBuffer {
    bytes: Vec<u8>,
}

/// A frame that exceeds the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FrameTooLong(pub(crate) usize);

impl FrameBuffer {
    /// The buffer to append received bytes to.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The length of the next frame, once known.
    fn next_length(&self, limit: usize) -> Result<Option<usize>, FrameTooLong> {
        let Some(head) = self.bytes.first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*head) as usize;
        // Checked before the body arrives: a huge length must not make us allocate.
        if length > limit {
            return Err(FrameTooLong(length));
        }
        Ok(Some(length))
    }

    /// Returns the next frame if it is complete; fails if it is longer than `limit`.
    pub(crate) fn take(&mut self, limit: usize) -> Result<Option<Vec<u8>>, FrameTooLong> {
        let Some(length) = self.next_length(limit)? else {
            return Ok(None);
        };
        let Some(body) = self.bytes.get(HEAD..HEAD + length) else {
            return Ok(None);
        };
        let body = body.to_vec();
        self.bytes.drain(..HEAD + length);
        // The capacity needed by one large frame is not kept for the small ones after it.
        if self.bytes.is_empty() && self.bytes.capacity() > (1 << 20) {
            self.bytes = Vec::new();
        }
        Ok(Some(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_come_out_whole_however_they_are_cut(
            bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..8),
            piece in 1usize..50,
        ) {
            let mut sent = Vec::new();
            for body in &bodies {
                sent.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
                sent.extend(body);
            }
            let (mut incoming, mut received) = (FrameBuffer::default(), Vec::new());
            for piece in sent.chunks(piece) {
                incoming.bytes().extend_from_slice(piece);
                while let Some(body) = incoming.take(40).unwrap() {
                    received.push(body);
                }
            }
            prop_assert_eq!(received, bodies);
        }
    }

    #[test]
    fn a_length_over_the_bound_is_refused_before_its_bytes_come() {
        let mut incoming = FrameBuffer::default();
        incoming.bytes().extend(11u32.to_be_bytes());
        assert_eq!(incoming.take(10), Err(FrameTooLong(11)));
        assert_eq!(incoming.take(11), Ok(None));
    }
}
