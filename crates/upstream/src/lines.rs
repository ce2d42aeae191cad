//! Lines of bounded length, from a stream that may never end one.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes at either end of an oversized line that are searched for its request id.
const GLIMPSE: usize = 256;
/// Read size.
const CHUNK: usize = 64 * 1024;
/// A line this many times longer than the limit ends the connection.
const MAX_SKIP_FACTOR: usize = 16;

/// Result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LineRead {
    /// A line, without its terminator.
    Complete(Bytes),
    /// An oversized line was skipped; this is its beginning and end.
    TooLong(Vec<u8>),
    /// End of stream.
    End,
    /// A line did not end.
    Endless,
}

/// Reads lines.
pub(crate) struct LineReader<R> {
    from: R,
    limit: usize,
    /// Bytes read and not returned yet.
    buffer: BytesMut,
    /// Prefix of the buffer known to contain no line end.
    searched: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(from: R, limit: usize) -> Self {
        Self {
            from,
            limit,
            buffer: BytesMut::new(),
            searched: 0,
        }
    }

    /// The next line that is not blank.
    pub(crate) async fn next(&mut self) -> LineRead {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                let end = self.searched + at;
                let mut line = self.buffer.split_to(end + 1);
                self.searched = 0;
                line.truncate(end);
                if line.len() > self.limit {
                    return LineRead::TooLong(glimpse(&line));
                }
                if line.iter().any(|b| !b.is_ascii_whitespace()) {
                    return LineRead::Complete(line.freeze());
                }
                continue;
            }
            // Remember how far we searched, or a long line in small reads would cost quadratic time.
            self.searched = self.buffer.len();
            if self.searched > self.limit {
                return self.skip_line().await;
            }
            self.buffer.reserve(CHUNK);
            match self.from.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return LineRead::End,
                Ok(_) => {}
            }
        }
    }

    /// Skips to the end of an oversized line, keeping only its two ends.
    async fn skip_line(&mut self) -> LineRead {
        let head = self.buffer[..GLIMPSE.min(self.buffer.len())].to_vec();
        let mut passed = self.buffer.len();
        let from = self.buffer.len().saturating_sub(GLIMPSE);
        let mut tail = self.buffer[from..].to_vec();
        // Releases the oversized buffer instead of keeping it for the life of the connection.
        self.buffer = BytesMut::new();
        self.searched = 0;
        // The rest of the line is read into a small buffer and thrown away.
        let mut chunk = Vec::with_capacity(CHUNK);
        loop {
            chunk.clear();
            match self.from.read_buf(&mut chunk).await {
                Ok(0) | Err(_) => return LineRead::End,
                Ok(_) => {}
            }
            let end = memchr::memchr(b'\n', &chunk);
            let own = &chunk[..end.unwrap_or(chunk.len())];
            tail.extend_from_slice(own);
            tail.drain(..tail.len().saturating_sub(GLIMPSE));
            if let Some(end) = end {
                self.buffer.extend_from_slice(&chunk[end + 1..]);
                return LineRead::TooLong([head, tail].concat());
            }
            passed += own.len();
            if passed > self.limit.saturating_mul(MAX_SKIP_FACTOR) {
                return LineRead::Endless;
            }
        }
    }
}

fn glimpse(line: &[u8]) -> Vec<u8> {
    let head = &line[..GLIMPSE.min(line.len())];
    let tail = &line[line.len().saturating_sub(GLIMPSE)..];
    [head, tail].concat()
}

/// The id of the message whose beginning and end is `seen`.
pub(crate) fn id_in(seen: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(seen);
    let mut ids = text.match_indices("\"id\":").map(|(at, key)| {
        let digits = text[at + key.len()..].trim_start();
        let end = digits.find(|c: char| !c.is_ascii_digit());
        digits[..end.unwrap_or(digits.len())].parse().ok()
    });
    let first = ids.next()??;
    // Content may contain an id too; if they differ, the message cannot be attributed.
    ids.all(|other| other == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8], limit: usize) -> Vec<LineRead> {
        let mut lines = LineReader::new(text, limit);
        let mut all = Vec::new();
        loop {
            let line = lines.next().await;
            let last = matches!(line, LineRead::End | LineRead::Endless);
            all.push(line);
            if last {
                return all;
            }
        }
    }

    #[tokio::test]
    async fn complete_lines_are_returned_and_empty_ones_skipped() {
        let complete = |text: &str| LineRead::Complete(Bytes::copy_from_slice(text.as_bytes()));
        let lines = read(b"a\n\n \r\nbc\r\nunfinished", 100).await;
        assert_eq!(lines, vec![complete("a"), complete("bc\r"), LineRead::End]);
    }

    #[tokio::test]
    async fn an_oversized_line_does_not_affect_the_next() {
        for size in [101, 1_000, 200_000] {
            let long = format!("{{\"id\":7,{}\nnext\n", "x".repeat(size));
            let limit = 100.max(size / 2);
            let lines = read(long.as_bytes(), limit).await;
            let LineRead::TooLong(seen) = &lines[0] else {
                panic!("{size}: {lines:?}");
            };
            assert_eq!(id_in(seen), Some(7));
            assert!(seen.len() <= 2 * GLIMPSE);
            assert_eq!(
                lines[1..],
                [
                    LineRead::Complete(Bytes::from_static(b"next")),
                    LineRead::End
                ]
            );
        }
    }

    #[tokio::test]
    async fn an_endless_line_ends_the_stream() {
        let endless = vec![b'x'; 100 * MAX_SKIP_FACTOR + 3 * CHUNK];
        assert_eq!(read(&endless, 100).await, vec![LineRead::Endless]);
    }

    #[test]
    fn the_id_of_an_oversized_message_is_found_at_its_ends() {
        assert_eq!(
            id_in(b"{\"jsonrpc\":\"2.0\",\"id\": 12,\"result\":{"),
            Some(12)
        );
        assert_eq!(id_in(b"aaaa\"},\"jsonrpc\":\"2.0\",\"id\":3}"), Some(3));
        assert_eq!(id_in(b"{\"id\":1,  \"id\":2}"), None);
        assert_eq!(id_in(b"{\"id\":\"x\"}"), None);
        assert_eq!(id_in(b"nothing"), None);
    }
}
