//! Output of background processes on nodes, for clients that watch them.
//!
//! A watch is a chain of requests: the gateway asks for output after a position, and the node answers as soon as there is
//! some. So nothing is sent without room for it, a slow reader blocks neither the node nor the process, and
//! skipped output can be counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An addition: a node answers `process.watch` with output of a background process.
pub const ADDITION_WATCH: &str = "process.watch";

/// Asks a node for the next output of a background process; answered by one `process.output` as soon as there is
/// some. An addition: `process.watch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessWatchEvent {
    /// The watch; the response has the same id.
    pub watch_id: String,
    /// The process's session id, from the result of `Bash`.
    pub session_id: String,
    /// Position to start at, in characters; default: the recent output first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
}

/// Ends a watch on a node. An addition: `process.watch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessUnwatchEvent {
    /// The watch.
    pub watch_id: String,
}

/// The next output of a process, at most 16,000 characters. From a node to the gateway, and from there, with secrets
/// redacted, to the client that opened the watch. An addition: `process.watch`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessOutputEvent {
    /// The watch.
    pub watch_id: String,
    /// Position of its first character. Output between the `next` of the previous event and this was skipped.
    pub at: u64,
    /// Position of the next output.
    pub next: u64,
    /// The output.
    pub text: String,
    /// Whether the watch has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<bool>,
    /// Why it ended although the process may still be running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Selects a process to watch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessWatchParams {
    /// The node it runs on.
    pub node_id: String,
    /// Its session id, as listed by the node's `Process`.
    pub session_id: String,
    /// Position to start at, in characters; default: the recent output first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
}

/// The watch was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessWatchResult {
    /// Id of the watch, used in `process.output`. Absent if the node does not support watches: poll the `log` of its
    /// `Process` instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch_id: Option<String>,
}

/// Selects the watch to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessUnwatchParams {
    /// The watch.
    pub watch_id: String,
}

/// The watch has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessUnwatchResult {
    /// Whether it existed.
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
