//! What is queued for export: ended spans and log events.

use std::sync::Arc;

/// The longest text of an attribute, in bytes. Queues are bounded by number, so each record has to be bounded too.
const MAX_TEXT: usize = 1_024;

/// The role of a span between processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Within this process.
    Internal,
    /// Work for a request of another process.
    Server,
    /// A request to another process.
    Client,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// True or false.
    Bool(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(bounded(text).to_owned())
    }
}

impl From<String> for Value {
    fn from(mut text: String) -> Self {
        text.truncate(bounded(&text).len());
        Self::Text(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

impl From<u16> for Value {
    fn from(number: u16) -> Self {
        Self::Int(number.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Double(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

/// The beginning of a text, cut between characters.
pub(crate) fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT)]
}

/// An ended span.
#[derive(Debug, Clone)]
pub(crate) struct SpanRecord {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
    pub(crate) parent: Option<Parent>,
    pub(crate) state: Option<Arc<str>>,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    /// Nanoseconds since the Unix epoch.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) attributes: Vec<(&'static str, Value)>,
    pub(crate) failed: bool,
}

/// The span that a span was started in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parent {
    pub(crate) span: [u8; 8],
    pub(crate) remote: bool,
}

/// A log event.
#[derive(Debug, Clone)]
pub(crate) struct LogRecord {
    /// Nanoseconds since the Unix epoch.
    pub(crate) at: u64,
    pub(crate) level: tracing::Level,
    /// The stable name of the event.
    pub(crate) event: Option<String>,
    pub(crate) body: String,
    pub(crate) attributes: Vec<(&'static str, Value)>,
    /// Trace and span, and whether they are sampled.
    pub(crate) context: Option<([u8; 16], [u8; 8], bool)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "é".repeat(MAX_TEXT);
        let Value::Text(cut) = Value::from(format!("x{long}")) else {
            panic!()
        };
        assert_eq!(cut.len(), MAX_TEXT - 1);
        assert_eq!(Value::from("short"), Value::Text("short".to_owned()));
    }
}
