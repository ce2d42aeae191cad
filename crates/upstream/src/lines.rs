//! Lines of bounded length, from a stream that may never end one.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much of a line that is too long is looked at for whose it is.
const GLIMPSE: usize = 256;
/// How much is read at a time.
const PIECE: usize = 64 * 1024;
/// How many times the limit a line may have before the stream is given up.
const PATIENCE: usize = 16;

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line, without its end.
    Whole(Bytes),
    /// A line that was too long was passed over; this is what it began and ended with.
    TooLong(Vec<u8>),
    /// Nothing more comes.
    End,
    /// A line went on and on.
    Endless,
}

/// Reads lines.
pub(crate) struct Lines<R> {
    from: R,
    limit: usize,
    /// What was read and not handed out.
    buffer: BytesMut,
    /// How much of it is known to hold no end of a line.
    searched: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(from: R, limit: usize) -> Self {
        Self {
            from,
            limit,
            buffer: BytesMut::new(),
            searched: 0,
        }
    }

    /// The next line that is not empty.
    pub(crate) async fn next(&mut self) -> Line {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                let end = self.searched + at;
                let mut line = self.buffer.split_to(end + 1);
                self.searched = 0;
                line.truncate(end);
                if line.len() > self.limit {
                    return Line::TooLong(glimpse(&line));
                }
                if line.iter().any(|b| !b.is_ascii_whitespace()) {
                    return Line::Whole(line.freeze());
                }
                continue;
            }
            self.searched = self.buffer.len();
            if self.searched > self.limit {
                return self.pass_over().await;
            }
            self.buffer.reserve(PIECE);
            match self.from.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return Line::End,
                Ok(_) => {}
            }
        }
    }

    /// Reads to the end of a line that is too long, keeping little of it.
    async fn pass_over(&mut self) -> Line {
        let head = self.buffer[..GLIMPSE.min(self.buffer.len())].to_vec();
        let mut passed = self.buffer.len();
        let from = self.buffer.len().saturating_sub(GLIMPSE);
        let mut tail = self.buffer[from..].to_vec();
        self.buffer = BytesMut::new();
        self.searched = 0;
        let mut piece = Vec::with_capacity(PIECE);
        loop {
            piece.clear();
            match self.from.read_buf(&mut piece).await {
                Ok(0) | Err(_) => return Line::End,
                Ok(_) => {}
            }
            let end = memchr::memchr(b'\n', &piece);
            let own = &piece[..end.unwrap_or(piece.len())];
            tail.extend_from_slice(own);
            tail.drain(..tail.len().saturating_sub(GLIMPSE));
            if let Some(end) = end {
                self.buffer.extend_from_slice(&piece[end + 1..]);
                return Line::TooLong([head, tail].concat());
            }
            passed += own.len();
            if passed > self.limit.saturating_mul(PATIENCE) {
                return Line::Endless;
            }
        }
    }
}

fn glimpse(line: &[u8]) -> Vec<u8> {
    let head = &line[..GLIMPSE.min(line.len())];
    let tail = &line[line.len().saturating_sub(GLIMPSE)..];
    [head, tail].concat()
}

/// The id of the message of which `seen` is the beginning and the end.
pub(crate) fn id_in(seen: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(seen);
    let mut ids = text.match_indices("\"id\":").map(|(at, key)| {
        let digits = text[at + key.len()..].trim_start();
        let end = digits.find(|c: char| !c.is_ascii_digit());
        digits[..end.unwrap_or(digits.len())].parse().ok()
    });
    let first = ids.next()??;
    // Content may hold an id too; then it is not known whose the message is.
    ids.all(|other| other == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(text, limit);
        let mut all = Vec::new();
        loop {
            let line = lines.next().await;
            let last = matches!(line, Line::End | Line::Endless);
            all.push(line);
            if last {
                return all;
            }
        }
    }

    #[tokio::test]
    async fn lines_are_read_whole_and_empty_ones_passed_over() {
        let whole = |text: &str| Line::Whole(Bytes::copy_from_slice(text.as_bytes()));
        let lines = read(b"a\n\n \r\nbc\r\nunfinished", 100).await;
        assert_eq!(lines, vec![whole("a"), whole("bc\r"), Line::End]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_does_not_spoil_the_next() {
        for size in [101, 1_000, 200_000] {
            let long = format!("{{\"id\":7,{}\nnext\n", "x".repeat(size));
            let limit = 100.max(size / 2);
            let lines = read(long.as_bytes(), limit).await;
            let Line::TooLong(seen) = &lines[0] else {
                panic!("{size}: {lines:?}");
            };
            assert_eq!(id_in(seen), Some(7));
            assert!(seen.len() <= 2 * GLIMPSE);
            assert_eq!(
                lines[1..],
                [Line::Whole(Bytes::from_static(b"next")), Line::End]
            );
        }
    }

    #[tokio::test]
    async fn a_line_without_end_is_given_up() {
        let endless = vec![b'x'; 100 * PATIENCE + 3 * PIECE];
        assert_eq!(read(&endless, 100).await, vec![Line::Endless]);
    }

    #[test]
    fn whose_a_message_is_shows_at_its_beginning_or_end() {
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
