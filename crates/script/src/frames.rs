//! What is said over the pipes: four bytes of length, then so many bytes of JSON.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::report::{Fault, Level};

/// How many bytes say how long a frame is.
pub(crate) const HEAD: usize = 4;

/// What a frame may hold beside what it carries.
pub(crate) const AROUND: usize = 64 << 10;

/// Bytes of calls that may be on their way at one time, unless one alone is more.
pub(crate) const AT_ONCE: usize = 32 << 20;

/// What a worker is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToWorker {
    /// The first frame, and there is one.
    Start(Box<Start>),
    /// What was asked for.
    Answer { id: u32, value: Box<RawValue> },
    /// Why it is not to be had.
    Refusal {
        id: u32,
        code: String,
        message: String,
    },
}

/// The code, and how much it may use.
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

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromWorker {
    /// A line of the console.
    Log { level: Level, text: String },
    /// From here on there is more on the console than is kept.
    LogsCut,
    /// It wants something of its host.
    Ask { id: u32, ask: RawAsk },
    /// The script returned this.
    Done { value: Box<RawValue> },
    /// The script came to nothing.
    Failed(Box<Fault>),
}

/// What it wants, with the arguments not looked at yet.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RawAsk {
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

/// `message` with its length before it.
pub(crate) fn encode(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut frame = vec![0; HEAD];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - HEAD).unwrap_or(u32::MAX);
    frame[..HEAD].copy_from_slice(&length.to_be_bytes());
    Ok(frame)
}

/// Bytes as they come in, until they are a frame.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    bytes: Vec<u8>,
}

/// A frame that is longer than any may be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong(pub(crate) usize);

impl Incoming {
    /// Where to add what was read.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The length of the next frame once that is known.
    fn next_length(&self, most: usize) -> Result<Option<usize>, TooLong> {
        let Some(head) = self.bytes.first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*head) as usize;
        if length > most {
            return Err(TooLong(length));
        }
        Ok(Some(length))
    }

    /// The next frame if it is there whole; one longer than `most` never will be.
    pub(crate) fn take(&mut self, most: usize) -> Result<Option<Vec<u8>>, TooLong> {
        let Some(length) = self.next_length(most)? else {
            return Ok(None);
        };
        let Some(body) = self.bytes.get(HEAD..HEAD + length) else {
            return Ok(None);
        };
        let body = body.to_vec();
        self.bytes.drain(..HEAD + length);
        // What one large frame needed is not kept for all the small ones after it.
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
            let (mut incoming, mut got) = (Incoming::default(), Vec::new());
            for piece in sent.chunks(piece) {
                incoming.bytes().extend_from_slice(piece);
                while let Some(body) = incoming.take(40).unwrap() {
                    got.push(body);
                }
            }
            prop_assert_eq!(got, bodies);
        }
    }

    #[test]
    fn a_length_over_the_bound_is_refused_before_its_bytes_come() {
        let mut incoming = Incoming::default();
        incoming.bytes().extend(11u32.to_be_bytes());
        assert_eq!(incoming.take(10), Err(TooLong(11)));
        assert_eq!(incoming.take(11), Ok(None));
    }
}
