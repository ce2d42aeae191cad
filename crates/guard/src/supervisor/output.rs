//! Captured output of a program, within a bound.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

/// A captured output stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The output; if truncated, its beginning and end with a note between.
    pub bytes: Vec<u8>,
    /// Number of bytes written in total.
    pub total: u64,
    /// Whether something was omitted.
    pub truncated: bool,
}

impl Captured {
    /// The output as text, with invalid UTF-8 replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Collects a stream: the first and the last half of the cap, so that both the beginning and the
/// final error survive.
#[derive(Debug)]
pub(super) struct Collector {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_cap: usize,
    tail_cap: usize,
    total: u64,
}

impl Collector {
    pub(super) fn new(cap: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_cap: cap - cap / 2,
            tail_cap: cap / 2,
            total: 0,
        }
    }

    /// Reads `stream` to its end. Cancel-safe: what was read is kept.
    pub(super) async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(count) => self.push(&buffer[..count]),
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.head_cap - self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let kept = &rest[rest.len().saturating_sub(self.tail_cap)..];
        let overflow = (self.tail.len() + kept.len()).saturating_sub(self.tail_cap);
        self.tail.drain(..overflow);
        self.tail.extend(kept);
    }

    pub(super) fn finish(self) -> Captured {
        let mut bytes = self.head;
        let kept = (bytes.len() + self.tail.len()) as u64;
        let truncated = kept < self.total;
        if truncated {
            let note = format!("\n[{} bytes left out]\n", self.total - kept);
            bytes.extend_from_slice(note.as_bytes());
        }
        bytes.extend(self.tail);
        Captured {
            bytes,
            total: self.total,
            truncated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cap: usize, chunks: &[&str], expect: &str, truncated: bool) {
        let mut collector = Collector::new(cap);
        chunks
            .iter()
            .for_each(|chunk| collector.push(chunk.as_bytes()));
        let captured = collector.finish();
        assert_eq!(captured.text(), expect);
        assert_eq!(captured.truncated, truncated);
        assert_eq!(captured.total, chunks.concat().len() as u64);
    }

    #[test]
    fn beginning_and_end_survive() {
        check(6, &["abc", "def"], "abcdef", false);
        check(6, &["abcdefg"], "abc\n[1 bytes left out]\nefg", true);
        check(
            6,
            &["a", "bcdefghi", "jklmno"],
            "abc\n[9 bytes left out]\nmno",
            true,
        );
        check(5, &["abcdefghij"], "abc\n[5 bytes left out]\nij", true);
        check(0, &["abc"], "\n[3 bytes left out]\n", true);
        check(6, &[], "", false);
    }
}
