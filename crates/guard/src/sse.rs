//! Server-sent events, parsed from chunks of any size.
//!
//! Not `sse-stream`: it buffers lines without a limit and fails on fields and lines that the
//! specification says to ignore, which some model providers send.

use std::time::Duration;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its data, with lines joined by line breaks. Bytes, because JSON is parsed without a copy.
    pub data: Vec<u8>,
}

/// An event exceeds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is too large")]
pub struct SseTooLong;

/// Incremental parser: accepts bytes and returns completed events.
#[derive(Debug)]
pub struct SseParser {
    /// Maximum event size.
    limit: usize,
    /// The line being received.
    line: Vec<u8>,
    /// The last byte was a carriage return, so a following line feed belongs to it.
    after_return: bool,
    /// The event being received.
    event: SseEvent,
    has_data: bool,
    started: bool,
    /// The last event id.
    last_id: Option<String>,
    /// Reconnection delay requested by the server.
    retry: Option<Duration>,
}

impl SseParser {
    /// A parser of events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_return: false,
            event: SseEvent::default(),
            has_data: false,
            started: false,
            last_id: None,
            retry: None,
        }
    }

    /// The last event id.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Reconnection delay requested by the server.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Parses `bytes` and returns the events they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, SseTooLong> {
        let mut completed = Vec::new();
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let length = end.unwrap_or(bytes.len());
            // A line contains its field name in addition to the data.
            if self.line.len() + self.event.data.len() + length > self.limit.saturating_add(64) {
                return Err(SseTooLong);
            }
            self.line.extend_from_slice(&bytes[..length]);
            let Some(end) = end else {
                break;
            };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            completed.extend(self.line_done());
        }
        Ok(completed)
    }

    /// Processes a complete line; an empty one ends the event.
    fn line_done(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let mut line: &[u8] = &line;
        if !std::mem::replace(&mut self.started, true) {
            // A byte order mark is allowed at the start of the stream only.
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            // Without data, the specification says to discard the event.
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) && value.len() <= MAX_ID => {
                self.last_id = String::from_utf8(value.to_vec()).ok();
            }
            b"retry" => {
                let millis = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok());
                self.retry = millis.map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
        None
    }
}

/// Maximum length of a remembered id, which is sent back in a header.
const MAX_ID: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut events = SseParser::new(1_000);
        let mut all = Vec::new();
        for chunk in chunks {
            for event in events.push(chunk).unwrap() {
                all.push((
                    event.name,
                    String::from_utf8_lossy(&event.data).into_owned(),
                ));
            }
        }
        all
    }

    #[track_caller]
    fn check(text: &str, expect: &[(&str, &str)]) {
        let expect: Vec<(String, String)> = expect
            .iter()
            .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
            .collect();
        assert_eq!(read(&[text.as_bytes()]), expect);
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(read(&bytes), expect, "byte by byte");
    }

    #[test]
    fn events_are_parsed_as_the_standard_says() {
        check("data: a\n\n", &[("", "a")]);
        check("event: x\ndata: a\ndata: b\n\n", &[("x", "a\nb")]);
        check("data:a\r\n\r\ndata:  b\r\r", &[("", "a"), ("", " b")]);
        check(": ping\n\ndata\n\n", &[("", "")]);
        check("\u{feff}data: a\n\n", &[("", "a")]);
        check("id: 1\nretry: 2\nevent: only\n\ndata: a\n\n", &[("", "a")]);
        check("data: the line never ends", &[]);
        check("data: \u{1f980}\n\n", &[("", "\u{1f980}")]);
    }

    #[test]
    fn the_last_id_and_the_retry_delay_are_recorded() {
        let mut events = SseParser::new(1_000);
        events
            .push(b"id: 7\nretry: 250\ndata:\n\nretry: soon\n")
            .unwrap();
        assert_eq!(events.last_id(), Some("7"));
        assert_eq!(events.retry(), Some(Duration::from_millis(250)));
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut events = SseParser::new(1_000);
        assert_eq!(events.push(&[b'x'; 1_000]), Ok(vec![]));
        assert_eq!(events.push(&[b'x'; 1_000]), Err(SseTooLong));
        let mut lines = SseParser::new(1_000);
        let refused = (0..1_000).any(|_| lines.push(b"data: abcdef\n").is_err());
        assert!(refused, "many lines are one event");
    }

    proptest! {
        #[test]
        fn where_the_chunks_end_does_not_matter(
            text in "(data: ?[a-zé{}:]{0,6}|event: [a-z]{1,3}|: c|)(\n|\r\n|\r){1,2}|((data: [a-z]{0,4}\n){1,3}\n){0,4}",
            cuts in proptest::collection::vec(0_usize..64, 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            prop_assert_eq!(read(&chunks), read(&[bytes]));
        }

        #[test]
        fn no_input_makes_it_panic(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
            read(&chunks);
        }
    }
}
