//! Requests in a provider's API format, whose clients bring tools and run them themselves.
//!
//! A turn whose model calls a client's tool ends with that call. What the agent did before, which the client does not
//! see, goes into a [`Handover`] and is joined with the results in the client's next request.

use std::sync::Arc;

use manyhands_core::Taint;
use manyhands_llm::{Message, Sampling, ToolCall, ToolChoice, ToolDef, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Options of one request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientRequest {
    /// Tools that the client runs.
    pub tools: Vec<ClientTool>,
    /// Whether the first reply may, must or must not call tools.
    pub tool_choice: ToolChoice,
    /// Sampling parameters.
    pub sampling: Sampling,
    /// Maximum tokens of one reply.
    pub max_tokens: Option<u32>,
    /// There is no new message: the existing conversation is continued, for example after tool results.
    pub continues: bool,
    /// The untrusted text in the client's messages and in what the agent read before.
    pub taint: Taint,
}

/// A tool that the client of a request runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientTool {
    /// 1-64 of `A-Za-z0-9_-`.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Value,
}

impl ClientTool {
    pub(crate) fn shown(&self) -> ToolDef {
        ToolDef {
            name: self.name.clone(),
            description: self.description.clone(),
            input_schema: Arc::new(self.input_schema.clone()),
        }
    }
}

/// What a turn did before it ended with calls of the client's tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handover {
    /// Its replies and the results of its own calls; the last reply has the client's calls too.
    pub(crate) messages: Vec<Message>,
    /// The calls that the client has to run, with the model's ids.
    pub(crate) calls: Vec<ToolCall>,
    /// The untrusted text that was read.
    pub taint: Taint,
}

impl Handover {
    /// The calls that the client has to run.
    pub fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// The messages with the client's results, each given with the index of its call.
    pub fn joined(mut self, results: Vec<(usize, ToolResult)>) -> Vec<Message> {
        let theirs = results.into_iter().filter_map(|(number, result)| {
            // A result for a call that was never made is dropped: providers reject unknown ids.
            let call = self.calls.get(number)?;
            Some(ToolResult {
                id: call.id.clone(),
                name: call.name.clone(),
                ..result
            })
        });
        let theirs: Vec<ToolResult> = theirs.collect();
        // One reply's results are one message: the agent's own are already there, and the client's join them.
        match self.messages.last_mut() {
            Some(Message::Tool { results }) => results.extend(theirs),
            _ => self.messages.push(Message::Tool { results: theirs }),
        }
        self.messages
    }
}

#[cfg(test)]
mod tests {
    use manyhands_llm::{Arguments, Block, ReplyBlock};

    use super::*;

    fn call(id: &str, name: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: Arguments::parse("{}"),
            opaque: None,
        }
    }

    fn result(id: &str, name: &str, text: &str) -> ToolResult {
        ToolResult {
            id: id.to_owned(),
            name: name.to_owned(),
            content: vec![Block::text(text)],
            is_error: false,
        }
    }

    fn reply(calls: &[ToolCall]) -> Message {
        let content = calls.iter().cloned().map(ReplyBlock::Call).collect();
        Message::Assistant { content }
    }

    #[test]
    fn client_results_are_merged_with_agent_results_by_call_id() {
        let (own, theirs) = (call("a", "own"), call("b", "theirs"));
        let mixed = Handover {
            messages: vec![
                reply(&[own.clone(), theirs.clone()]),
                Message::Tool {
                    results: vec![result("a", "own", "1")],
                },
            ],
            calls: vec![theirs.clone()],
            taint: Taint::NONE,
        };
        let joined = mixed.joined(vec![(0, result("x", "", "2")), (7, result("y", "", "3"))]);
        let results = vec![result("a", "own", "1"), result("b", "theirs", "2")];
        assert_eq!(
            joined,
            [reply(&[own, theirs.clone()]), Message::Tool { results }]
        );
        let alone = Handover {
            messages: vec![reply(std::slice::from_ref(&theirs))],
            calls: vec![theirs.clone()],
            taint: Taint::NONE,
        };
        let joined = alone.joined(vec![(0, result("x", "", "2"))]);
        let results = vec![result("b", "theirs", "2")];
        assert_eq!(joined, [reply(&[theirs]), Message::Tool { results }]);
    }
}
