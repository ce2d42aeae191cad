//! What a program in the background of a node prints, told to whoever watches it.
//!
//! A watch is a chain of questions: the gateway asks for what comes after what it has, and the node
//! answers as soon as there is something. So nothing is sent that nobody has room for, a slow reader
//! holds up neither the node nor the program, and what was passed over meanwhile can be counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An addition: a node answers `process.watch` with what a program in its background prints.
pub const ADDITION_WATCH: &str = "process.watch";

/// Asks a node for the next piece of what a program in its background prints; it answers with one
/// `process.output` as soon as there is something to tell. An addition: `process.watch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessWatchEvent {
    /// The watch; the answer carries it.
    pub watch_id: String,
    /// The program's session, as `Bash` answered it.
    pub session_id: String,
    /// Which character of all it printed to begin with; left out, what it printed lately comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
}

/// Tells a node that nobody watches any more. An addition: `process.watch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessUnwatchEvent {
    /// The watch.
    pub watch_id: String,
}

/// The next piece of what a program prints: at most 16,000 characters. From a node to the gateway,
/// and from there, without secrets, to whoever opened the watch. An addition: `process.watch`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessOutputEvent {
    /// The watch.
    pub watch_id: String,
    /// Which character of all that was printed it begins with. What lies between this and the
    /// `next` of the piece before was left out.
    pub at: u64,
    /// Where the next piece begins.
    pub next: u64,
    /// The piece.
    pub text: String,
    /// Whether the watch is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<bool>,
    /// Why it is over although the program may run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Which program to watch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessWatchParams {
    /// The node it runs on.
    pub node_id: String,
    /// Its session, as the node's `Process` lists it.
    pub session_id: String,
    /// Which character of all it printed to begin with; left out, what it printed lately comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
}

/// The watch is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessWatchResult {
    /// The watch, as `process.output` names it. None when the node cannot be watched: ask its
    /// `Process` for the `log` from time to time then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch_id: Option<String>,
}

/// Which watch to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessUnwatchParams {
    /// The watch.
    pub watch_id: String,
}

/// The watch is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessUnwatchResult {
    /// Whether there was one.
    pub ok: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_str, to_string};

    #[test]
    fn a_question_and_its_answer_have_their_golden_text() {
        let ask = ProcessWatchEvent {
            watch_id: "w".into(),
            session_id: "s".into(),
            from: None,
        };
        let text = r#"{"watchId":"w","sessionId":"s"}"#;
        assert_eq!(to_string(&ask).unwrap(), text);
        let answer: ProcessOutputEvent =
            from_str(r#"{"watchId":"w","at":3,"next":5,"text":"hi","theirs":1}"#).unwrap();
        assert_eq!((answer.at, answer.next, answer.ended), (3, 5, None));
        assert_eq!(
            to_string(&answer).unwrap(),
            r#"{"watchId":"w","at":3,"next":5,"text":"hi"}"#
        );
    }
}
