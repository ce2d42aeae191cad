//! The node's recent log, as structured lines that the gateway can request.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use manyhands_core::Clock;
use serde_json::{Value, json};

/// Number of retained lines.
const MAX_LINES: usize = 5_000;
/// Maximum length of a string in a line, in characters.
const MAX_TEXT: usize = 500;
/// Maximum size of a response: less than a frame.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The node's recent log. Clones share it.
#[derive(Clone)]
pub struct NodeLog {
    lines: Arc<Mutex<VecDeque<String>>>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for NodeLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeLog")
    }
}

impl NodeLog {
    /// Creates an empty log.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            lines: Arc::default(),
            clock,
        }
    }

    /// Logs a regular event. `event` is its stable name.
    pub fn info(&self, event: &str, message: &str, about: Value) {
        tracing::info!(target: "manyhands_node", event, %about, "{message}");
        self.write("info", event, message, about);
    }

    /// Logs an event the operator should know about.
    pub fn warn(&self, event: &str, message: &str, about: Value) {
        tracing::warn!(target: "manyhands_node", event, %about, "{message}");
        self.write("warn", event, message, about);
    }

    fn write(&self, level: &str, event: &str, message: &str, about: Value) {
        let mut line = json!({ "at": self.clock.now().rfc3339(), "level": level, "event": event });
        line["message"] = cut(message).into();
        if let Value::Object(fields) = about {
            for (name, value) in fields {
                line[name] = match value {
                    Value::String(text) => cut(&text).into(),
                    other => other,
                };
            }
        }
        // Formatted before the lock is taken: logging must not hold up other calls.
        let line = line.to_string();
        let mut lines = self.lines.lock().expect("no panic while held");
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Returns the last lines, oldest first, and whether there were more.
    pub fn last(&self, count: usize) -> (Vec<String>, bool) {
        let lines = self.lines.lock().expect("no panic while held");
        let mut budget = MAX_BYTES;
        let fits = |line: &&String| {
            let left = budget.checked_sub(line.len());
            budget = left.unwrap_or(0);
            left.is_some()
        };
        // Counted from the newest: if not all lines fit, the oldest are the ones to leave out.
        let newest = lines.iter().rev().take(count).take_while(fits);
        let mut last: Vec<String> = newest.cloned().collect();
        last.reverse();
        let more = last.len() < lines.len();
        (last, more)
    }
}

fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(MAX_TEXT);
    end.map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_core::{ManualClock, Timestamp};

    #[test]
    fn the_last_lines_are_kept_and_no_more() {
        let log = NodeLog::new(Arc::new(ManualClock::at(Timestamp(0))));
        assert_eq!(log.last(9), (Vec::new(), false));
        for number in 0..MAX_LINES + 5 {
            log.info("tool_call_finished", "call", json!({ "number": number }));
        }
        let (lines, more) = log.last(2);
        assert!(more && lines.len() == 2);
        let last: Value = serde_json::from_str(&lines[1]).unwrap();
        let expect = json!({
            "at": "1970-01-01T00:00:00Z", "level": "info", "event": "tool_call_finished", "message": "call", "number": MAX_LINES + 4,
        });
        assert_eq!(last, expect);
        let (all, more) = log.last(100_000);
        assert!(all.len() == MAX_LINES && !more);
    }

    #[test]
    fn a_long_text_is_cut_and_the_line_stays_json() {
        let log = NodeLog::new(Arc::new(ManualClock::at(Timestamp(0))));
        log.warn(
            "test",
            &"ä".repeat(10_000),
            json!({ "why": "\"".repeat(10_000) }),
        );
        let line: Value = serde_json::from_str(&log.last(1).0[0]).unwrap();
        for field in ["message", "why"] {
            assert_eq!(line[field].as_str().unwrap().chars().count(), MAX_TEXT);
        }
    }

    #[test]
    fn what_is_given_at_once_fits_into_a_frame() {
        let log = NodeLog::new(Arc::new(ManualClock::at(Timestamp(0))));
        let long = "\u{1}".repeat(MAX_TEXT);
        for _ in 0..MAX_LINES {
            log.info("test", &long, json!({}));
        }
        let (lines, more) = log.last(MAX_LINES);
        assert!(more && lines.iter().map(String::len).sum::<usize>() <= MAX_BYTES);
    }
}
