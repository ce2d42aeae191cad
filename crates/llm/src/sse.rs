//! Server-sent events, parsed from chunks of any size.
//!
//! Not `sse-stream`: it buffers lines without a limit and fails on fields and lines that the
//! specification says to ignore, which some providers send.

use crate::error::Fault;

/// Maximum event size in bytes: the largest event is a complete tool call.
const MAX_EVENT: usize = 16 * 1024 * 1024;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SseEvent {
    /// Its name; empty if it has none.
    pub(crate) name: String,
    /// Its data, with lines joined by line breaks.
    pub(crate) data: String,
}

/// Incremental parser: accepts bytes and emits completed events.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// The line being received.
    line: Vec<u8>,
    /// The last byte was a carriage return, so a following line feed belongs to it.
    after_return: bool,
    /// The event being received.
    event: SseEvent,
    has_data: bool,
    started: bool,
}

impl Parser {
    /// Parses `bytes` and passes each event they complete to `each`.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        each: &mut dyn FnMut(SseEvent) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|b| matches!(b, b'\n' | b'\r'));
            let taken = end.unwrap_or(bytes.len());
            if self.line.len() + self.event.data.len() + taken > MAX_EVENT {
                return Err(Fault::garbage("one event is larger than 16 MiB"));
            }
            self.line.extend_from_slice(&bytes[..taken]);
            let Some(end) = end else {
                break;
            };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if let Some(event) = self.line_done() {
                each(event)?;
            }
        }
        Ok(())
    }

    /// Processes a complete line; an empty one ends the event.
    fn line_done(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let mut line: &[u8] = &line;
        if !std::mem::replace(&mut self.started, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = match line.iter().position(|b| *b == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(&value);
            }
            b"event" => self.event.name = value.into_owned(),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for piece in pieces {
            let mut each = |event: SseEvent| {
                events.push((event.name, event.data));
                Ok(())
            };
            parser.push(piece, &mut each).unwrap();
        }
        events
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
    fn events_are_read_as_the_standard_says() {
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
    fn an_event_without_end_is_refused() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 1024 * 1024];
        let refused = (0..20).find_map(|_| parser.push(&piece, &mut |_| Ok(())).err());
        assert!(refused.unwrap().message.contains("16 MiB"));
    }

    proptest! {
        #[test]
        fn where_the_pieces_end_does_not_matter(
            text in "(data: ?[a-zé{}:]{0,6}|event: [a-z]{1,3}|: c|)(\n|\r\n|\r){1,2}|((data: [a-z]{0,4}\n){1,3}\n){0,4}",
            cuts in proptest::collection::vec(0_usize..64, 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(read(&pieces), read(&[bytes]));
        }

        #[test]
        fn nothing_makes_it_panic(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            read(&pieces);
        }
    }
}
